// Whether two pictures show the same digit, by a network that has seen neither: a siamese network.
//
//     52_siamese [--data DIR] [--picture FILE]
//
// One encoder is called on both pictures, so its layers are shared, and gives a point for each. The loss (Hadsell,
// Chopra, LeCun 2006) pulls the points of a pair of the same digit together, and pushes others apart up to a margin. It
// is trained on pairs of 0 to 7. What it has learned is how digits are compared, not which there are: the last test has
// pairs of 8 and 9 alone. The picture shows pairs.
#include "capstan/capstan.h"
#include "support/arguments.h"
#include "support/digits.h"
#include "support/pictures.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

constexpr double kMargin = 1;

// Two images each, and whether both show the same digit, [pairs, 1].
struct Pairs {
  Tensor first, second, same;
};

// Half of the pairs are of the same digit.
Pairs pairs_of(const examples::Digits& digits, std::int64_t count) {
  const auto labels = digits.labels.to_vector<std::int32_t>();
  std::vector<std::vector<std::int64_t>> places(10);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    places[static_cast<std::size_t>(labels[i])].push_back(static_cast<std::int64_t>(i));
  }
  const auto numbers = random::uniform({2 * count}).to_vector<float>();
  std::vector<std::int64_t> first, second;
  std::vector<float> same;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
    const auto a = static_cast<std::size_t>(numbers[i] * static_cast<float>(labels.size()));
    const auto& kin = places[static_cast<std::size_t>(labels[a])];
    auto b = static_cast<std::size_t>(numbers[i + 1] * static_cast<float>(labels.size()));
    const bool wanted = i % 4 == 0;
    while (!wanted && labels[b] == labels[a]) b = (b + 1) % labels.size();
    first.push_back(static_cast<std::int64_t>(a));
    second.push_back(wanted ? kin[b % kin.size()] : static_cast<std::int64_t>(b));
    same.push_back(wanted ? 1.0f : 0.0f);
  }
  return {gather(digits.images, constant(first)), gather(digits.images, constant(second)), constant(same, {count, 1})};
}

// The distance of two points, [batch, 1]. The small number keeps the root's derivative finite where both are one.
Tensor distance(const Nest& points) {
  const Tensor apart = points[0].tensor() - points[1].tensor();
  return sqrt(reduce_sum(square(apart), -1, {.keepdims = true}) + 1e-6);
}

// [batch] of [batch, 1].
Tensor contrastive(const Tensor& same, const Tensor& distance) {
  return reduce_mean(same * square(distance) + (1 - same) * square(relu(kMargin - distance)), -1);
}

Tensor is_right(const Tensor& same, const Tensor& distance) {
  return cast(equal(same > 0.5, distance < 0.5 * kMargin), float32);
}

}  // namespace

int main(int argc, char** argv) {
  const examples::Arguments arguments(argc, argv,
                                      {"--data DIR      the MNIST files", "--picture FILE  receives the picture"});
  set_seed(1);
  examples::Transcript out;
  const auto [all, test] = examples::load_digits(arguments.value("--data"), 5000, 2000);
  const Pairs train = pairs_of(examples::between(all, 0, 7), 6000);
  const Pairs known = pairs_of(examples::between(test, 0, 7), 1000);
  const Pairs unknown = pairs_of(examples::between(test, 8, 9), 1000);

  // 1. One encoder, called twice: a layer like any other.
  const Sequential encoder({
      layers::Conv2D(16, {3, 3}, {.strides = 2, .activation = "relu", .input_shape = {28, 28, 1}}),
      layers::Conv2D(32, {3, 3}, {.strides = 2, .activation = "relu"}),
      layers::Flatten(),
      layers::Dense(16),
  });
  const Tensor first = Input({28, 28, 1}), second = Input({28, 28, 1});
  const Model model(Nest{first, second}, layers::Lambda(distance)(Nest{encoder(first), encoder(second)}));
  out.print("weights: %lld, of them the encoder's: %lld", static_cast<long long>(model.count_params()),
            static_cast<long long>(encoder.count_params()));

  // 2. A loss and a metric of the program's own are functions.
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 2e-3}),
                 .loss = contrastive,
                 .metrics = {Metric(is_right, "right")}});
  const History history =
      model.fit(Nest{train.first, train.second}, train.same, {.batch_size = 64, .epochs = 6, .verbose = 2});
  out.print("loss %.3f, then %.3f", history["loss"].front(), history["loss"].back());
  const auto right = [&](const Pairs& pairs) {
    return model.evaluate(Nest{pairs.first, pairs.second}, pairs.same)["right"];
  };
  out.print("new pairs of 0 to 7: %.3f right", right(known));
  out.print("pairs of 8 and 9, which it has never seen: %.3f right", right(unknown));

  // 3. The distance is one: the same both ways, and that of a picture from itself is nothing.
  const Slice shown = slice(0, 12);
  const Tensor there = model(Nest{known.first(shown), known.second(shown)}).tensor();
  const Tensor back = model(Nest{known.second(shown), known.first(shown)}).tensor();
  const Tensor none = model(Nest{known.first(shown), known.first(shown)}).tensor();
  out.print("there and back: %.0e", reduce_max(abs(there - back)).item<double>());
  out.print("from itself: %.3f", reduce_max(none).item<double>());

  const std::string path = examples::picture_path(arguments.value("--picture"), "capstan_siamese.png");
  out.print("picture written: %s",
            examples::write_pictures(path, {known.first(shown), known.second(shown)}) ? "yes" : "no");
  return out.finish({
      {"weights: 23248, of them the encoder's: 23248"},
      {"loss #, then #", {{0.1, 0.3}, {0.0, 0.1}}},
      {"new pairs of 0 to 7: # right", {{0.88, 1.0}}},
      {"pairs of 8 and 9, which it has never seen: # right", {{0.6, 1.0}}},
      {"there and back: #", {{0, 1e-6}}},
      {"from itself: #", {{0, 0.002}}},
      {"picture written: yes"},
  });
}
