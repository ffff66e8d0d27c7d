// A curriculum by loss: easy examples first, and those that stay hard never (self-paced learning: Kumar, Packer,
// Koller 2010).
//
// A fifth of the labels is wrong by a lot. Plain least squares follows them. The curriculum keeps the loss of every
// example apart, takes the share with the smallest losses, and lets the share grow while it learns. Which ones count is
// decided by values, so it has no gradient: a comparison of losses cuts the path by itself.
#include "capstan/capstan.h"
#include "support/transcript.h"

#include <algorithm>

using namespace capstan;

namespace {

constexpr std::int64_t kExamples = 500;
constexpr int kSteps = 600;

struct Model {
  Variable w{zeros({3, 1})};
  Variable b{zeros({1})};
  Tensor operator()(const Tensor& x) const { return squeeze(matmul(x, w) + b, 1); }
};

// Trains with the easiest share(step) of the examples and returns the distance of the weights from the true ones.
template <class Share>
Tensor train(const Tensor& x, const Tensor& y, const Share& share) {
  const Model model;
  const optimizers::Adam optimizer({.learning_rate = 0.05});
  int step_number = 0;
  auto step = function([&](const Tensor& inputs, const Tensor& labels) {
    GradientTape tape;
    const Tensor losses = square(labels - model(inputs));
    const Tensor count = cast(host_value([&] { return share(step_number) * kExamples; }), int32);
    const Tensor hardest = gather(sort(losses), count - 1);
    const Tensor counts = cast(losses <= hardest, float32);
    const Tensor loss = reduce_sum(counts * losses) / reduce_sum(counts);
    optimizer.apply_gradients(tape.gradient(loss, {model.w, model.b}), {model.w, model.b});
  });
  for (; step_number < kSteps; ++step_number) step(x, y);
  return concat({reshape(model.w, {-1}), model.b}, 0);
}

}  // namespace

int main() {
  set_seed(1);
  examples::Transcript out;
  const Tensor truth = constant({2.0, -1.0, 0.5, 1.0});
  const Tensor x = random::normal({kExamples, 3});
  const Tensor clean = matvec(x, truth(slice(0, 3))) + truth[3] + random::normal({kExamples}, 0, 0.1);
  const Tensor wrong = cast(range(kExamples) < kExamples / 5, float32);
  const Tensor y = clean + wrong * random::normal({kExamples}, 8, 4);

  const auto report = [&](const char* name, const Tensor& weights) {
    const auto w = weights.to_vector<double>();
    out.print("%s: weights %.2f %.2f %.2f, bias %.2f, error %.3f", name, w[0], w[1], w[2], w[3],
              norm(weights - truth).item<double>());
  };
  report("all examples", train(x, y, [](int) { return 1.0; }));
  report("the easy ones first",
         train(x, y, [](int step) { return std::min(0.3 + 0.5 * step / (0.8 * kSteps), 0.75); }));
  report("no wrong labels", train(x, clean, [](int) { return 1.0; }));
  return out.finish({
      {"all examples: weights # # #, bias #, error #", {{1.5, 2.5}, {-1.5, -0.5}, {0.0, 1.0}, {2.4, 3.1}, {1.2, 2.5}}},
      {"the easy ones first: weights # # #, bias #, error #",
       {{1.95, 2.05}, {-1.05, -0.95}, {0.45, 0.55}, {0.95, 1.05}, {0, 0.04}}},
      {"no wrong labels: weights # # #, bias #, error #",
       {{1.95, 2.05}, {-1.05, -0.95}, {0.45, 0.55}, {0.95, 1.05}, {0, 0.04}}},
  });
}
