// Which training point is to blame? What a model's loss on new points would be without one training point, from
// derivatives alone (Koh, Liang 2017): the change is gradient . inverse Hessian . gradient of that point's loss, over
// the number of points.
//
// The model is a logistic regression, small enough to train it again without each point and compare.
#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

constexpr std::int64_t kPoints = 200;
constexpr std::int64_t kFeatures = 6;
constexpr double kDecay = 0.01;

// The loss of a point [features], or of each of several [points, features].
Tensor losses_of(const Tensor& w, const Tensor& x, const Tensor& y) {
  const Tensor logits = reduce_sum(x * w, -1);
  return softplus(logits) - y * logits;
}

// What training minimises; `weights` says how much each point counts.
Tensor objective(const Tensor& w, const Tensor& x, const Tensor& y, const Tensor& weights) {
  return reduce_sum(weights * losses_of(w, x, y)) / kPoints + kDecay / 2 * reduce_sum(square(w));
}

double correlation(const Tensor& a, const Tensor& b) {
  const Tensor x = a - reduce_mean(a);
  const Tensor y = b - reduce_mean(b);
  return (reduce_sum(x * y) / sqrt(reduce_sum(square(x)) * reduce_sum(square(y)))).item<double>();
}

}  // namespace

int main() {
  set_seed(4);
  examples::Transcript out;
  // Labels follow from the first features, but those of a few points are wrong.
  const auto draw = [](std::int64_t count) {
    const Tensor x = random::normal({count, kFeatures}, 0, 1, float64);
    const Tensor noise = random::normal({count}, 0, 0.5, float64);
    return std::pair(x, cast(x(slice(), 0) + 2 * x(slice(), 1) - x(slice(), 2) + noise > 0, float64));
  };
  Tensor x, true_y, new_x, new_y;
  std::tie(x, true_y) = draw(kPoints);
  std::tie(new_x, new_y) = draw(500);
  const Tensor wrong = cast(range(kPoints) < 10, float64);
  const Tensor y = abs(true_y - wrong);

  // Newton's method; a few steps are enough from anywhere near.
  auto newton_step = function([&](const Tensor& w, const Tensor& weights) {
    const auto f = [&](const Tensor& at) { return objective(at, x, y, weights); };
    const Tensor gradient = value_and_gradient(f, w).second;
    return w - squeeze(solve(hessian(f, w), expand_dims(gradient, 1)), {1});
  });
  const auto train = [&](Tensor w, const Tensor& weights) {
    for (int i = 0; i < 8; ++i) w = newton_step(w, weights);
    return w;
  };
  const auto new_loss = [&](const Tensor& w) { return reduce_mean(losses_of(w, new_x, new_y)); };

  const Tensor all = ones({kPoints}, float64);
  const Tensor w = train(zeros({kFeatures}, float64), all);
  out.print("loss on new points: %.4f", new_loss(w).item<double>());

  // The gradient of the loss on new points, and that of the loss of each training point: [points, features].
  const auto [loss, of_new] = value_and_gradient(new_loss, w);
  const Tensor of_points = per_example_gradients(
      [&](const Tensor& point, const Tensor& label) { return losses_of(w, point, label); }, std::tuple(x, y), w);
  const Tensor curvature = hessian([&](const Tensor& at) { return objective(at, x, y, all); }, w);
  const Tensor influence = squeeze(matmul(of_points, solve(curvature, expand_dims(of_new, 1))), {1}) / kPoints;

  // What really happens without each point.
  std::vector<Tensor> changes;
  for (std::int64_t i = 0; i < kPoints; ++i) {
    const Tensor without = train(w, all - one_hot(i, kPoints, 1, 0, -1, float64));
    changes.push_back(new_loss(without) - loss);
  }
  const Tensor change = stack(changes);
  out.print("correlation of influence and truth over %d points: %.4f", static_cast<int>(kPoints),
            correlation(influence, change));
  out.print("the most harmful point: %d, without it the loss falls by %.6f; predicted %.6f",
            argmin(change).item<std::int32_t>(), -reduce_min(change).item<double>(),
            -influence[argmin(change).item<std::int64_t>()].item<double>());
  const auto order = argsort(influence).to_vector<std::int64_t>();
  int found = 0;
  for (int i = 0; i < 10; ++i) found += order[static_cast<std::size_t>(i)] < 10;
  out.print("of the ten points with the worst influence %d have wrong labels", found);
  return out.finish({
      {"loss on new points: #", {{0.2, 0.4}}},
      {"correlation of influence and truth over 200 points: #", {{0.98, 1.0}}},
      {"the most harmful point: #, without it the loss falls by #; predicted #",
       {{0, 9}, {0.012, 0.017}, {0.012, 0.017}}},
      {"of the ten points with the worst influence # have wrong labels", {{6, 10}}},
  });
}
