// Gradients of every example of a batch against the gradient of their mean loss, on a small convolutional network.
//
//     per_example [EXAMPLES] [SECONDS]
//
// Both are traced functions of a batch (64). Prints the best time of each, in milliseconds, their ratio, and how far
// the mean of the one lies from the other, relative to the largest element.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <vector>

#include "capstan/capstan.h"

using namespace capstan;

namespace {

Sequential build_model() {
  std::vector<Layer> list;
  bool first = true;
  for (const std::vector<int>& block : {std::vector<int>{16}, {32, 32}, {64, 64, 64}}) {
    for (const int filters : block) {
      layers::Conv2DOptions options{.padding = "same"};
      if (first) options.input_shape = {28, 28, 1};
      first = false;
      list.push_back(layers::Conv2D(filters, {3, 3}, options));
      list.push_back(layers::Activation("relu"));
      list.push_back(layers::BatchNormalization());
    }
    list.push_back(layers::MaxPooling2D({2, 2}));
  }
  list.push_back(layers::Flatten());
  list.push_back(layers::Dense(256, {.activation = "relu"}));
  list.push_back(layers::Dense(10));
  return Sequential(list);
}

template <class Run>
double best_milliseconds(double seconds, const Run& run) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 3; ++i) run();
  double best = 1e9;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    run();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count() * 1e3);
  } while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds);
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t examples = argc > 1 ? std::atol(argv[1]) : 64;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 3;
  set_seed(1);
  const Sequential model = build_model();
  const std::vector<Variable> weights = model.trainable_variables();
  const Tensor x = random::uniform({examples, 28, 28, 1});
  const Tensor y = cast(random::uniform({examples}, 0, 10), int32);
  const auto mean_loss = [&](const Tensor& images, const Tensor& labels) {
    return reduce_mean(sparse_softmax_cross_entropy_with_logits(labels, model(images)));
  };
  auto plain = function([&](const Tensor& images, const Tensor& labels) {
    GradientTape tape;
    return tape.gradient(mean_loss(images, labels), weights);
  });
  auto per_example = function([&](const Tensor& images, const Tensor& labels) {
    return per_example_gradients(
        [&](const Tensor& image, const Tensor& label) {
          return mean_loss(expand_dims(image, 0), expand_dims(label, 0));
        },
        std::tuple(images, labels), weights);
  });
  const std::vector<Tensor> means = plain(x, y);
  const std::vector<Tensor> all = per_example(x, y);
  double worst = 0;
  for (std::size_t i = 0; i < means.size(); ++i) {
    const double largest = reduce_max(abs(means[i])).item<double>();
    const double off = reduce_max(abs(reduce_mean(all[i], 0) - means[i])).item<double>();
    if (largest > 1e-6) worst = std::max(worst, off / largest);
  }
  const double one = best_milliseconds(seconds, [&] { plain(x, y); });
  const double each = best_milliseconds(seconds, [&] { per_example(x, y); });
  std::printf(
      "the gradient of the mean: %.2f ms\nthe gradients of all: %.2f ms\nratio: %.2f\nlargest difference: %.1e\n", one,
      each, each / one, worst);
  return 0;
}
