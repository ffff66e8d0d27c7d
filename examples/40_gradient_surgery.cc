// Several objectives whose gradients pull against each other (PCGrad: Yu and others 2020).
//
// Where two gradients point away from each other, each loses the part that undoes the other; only then are they added.
// With two objectives and small steps hardly any loss can rise: the sum of
// what is left points away from neither gradient. One
// forward pass on a persistent tape gives a gradient for each loss.
//
// A network has learned a first curve. A second head on the same hidden units shall learn another one, without harm to
// the first.
#include "capstan/capstan.h"
#include "support/transcript.h"

#include <algorithm>

using namespace capstan;

namespace {

constexpr int kSteps = 10000;
constexpr double kRate = 0.002;

using Gradients = std::vector<Tensor>;

Tensor dot(const Gradients& a, const Gradients& b) {
  Tensor sum = constant(0.0, float64);
  for (std::size_t i = 0; i < a.size(); ++i) sum += reduce_sum(a[i] * b[i]);
  return sum;
}

// The gradients of the losses, each without what undoes another, added up.
Gradients surgery(const std::vector<Gradients>& gradients) {
  Gradients sum;
  for (const Tensor& tensor : gradients[0]) sum.push_back(zeros_like(tensor));
  for (const Gradients& gradient : gradients) {
    Gradients projected = gradient;
    for (const Gradients& other : gradients) {
      if (&other == &gradient) continue;
      const Tensor share = divide_no_nan(minimum(dot(projected, other), 0.0), dot(other, other));
      for (std::size_t i = 0; i < other.size(); ++i) projected[i] -= share * other[i];
    }
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += projected[i];
  }
  return sum;
}

class TwoCurves {
 public:
  // How far each head is from its curve.
  std::vector<Tensor> losses(const Tensor& x) const {
    const Tensor hidden = tanh(matmul(x, in_) + bias_);
    const Tensor heads = matmul(hidden, out_);
    return {reduce_mean(square(heads(slice(), 0) - sin(3 * x(slice(), 0)))),
            10 * reduce_mean(square(heads(slice(), 1) - cos(5 * x(slice(), 0))))};
  }
  std::vector<Variable> variables() const { return {in_, bias_, out_}; }

 private:
  Variable in_{random::normal({1, 12}, 0, 2, float64)};
  Variable bias_{random::normal({12}, 0, 1, float64)};
  Variable out_{random::normal({12, 2}, 0, 0.3, float64)};
};

}  // namespace

int main() {
  examples::Transcript out;
  const Tensor x = expand_dims(linspace(constant(-1.0, float64), 1.0, 100), 1);
  for (const bool projects : {false, true}) {
    set_seed(3);
    const TwoCurves model;
    const std::vector<Variable> variables = model.variables();
    const optimizers::Adam adam({.learning_rate = 1e-2});
    auto learn_first = function([&] {
      GradientTape tape;
      adam.apply_gradients(tape.gradient(model.losses(x)[0], variables), variables);
    });
    for (int i = 0; i < 2000; ++i) learn_first();

    const optimizers::SGD optimizer({.learning_rate = kRate});
    auto step = function([&] {
      GradientTape tape({.persistent = true});
      const std::vector<Tensor> losses = model.losses(x);
      std::vector<Gradients> gradients;
      for (const Tensor& loss : losses) {
        gradients.push_back(tape.gradient(loss, variables, {.unconnected_gradients = UnconnectedGradients::kZero}));
      }
      const Gradients plain = tape.gradient(losses, variables);
      optimizer.apply_gradients(projects ? surgery(gradients) : plain, variables);
      return std::pair(losses, dot(gradients[0], gradients[1]));
    });
    double begin[2], end[2], worst = 0;
    int conflicts = 0;
    for (int i = 0; i < kSteps; ++i) {
      const auto [losses, product] = step();
      for (int k = 0; k < 2; ++k) end[k] = losses[static_cast<std::size_t>(k)].item<double>();
      if (i == 0) std::copy_n(end, 2, begin);
      worst = std::max(worst, end[0]);
      conflicts += product.item<double>() < 0;
    }
    out.print("%s gradients, %d conflicts in %d steps", projects ? "projected" : "added", conflicts, kSteps);
    out.print("  the first loss goes from %.5f to %.5f, at worst %.5f", begin[0], end[0], worst);
    out.print("  the second loss goes from %.3f to %.3f", begin[1], end[1]);
  }
  return out.finish({
      {"added gradients, # conflicts in 10000 steps", {{1000, 10000}}},
      {"  the first loss goes from # to #, at worst #", {{0, 1e-4}, {0.001, 0.02}, {0.004, 0.02}}},
      {"  the second loss goes from # to #", {{5, 9}, {0, 0.02}}},
      {"projected gradients, # conflicts in 10000 steps", {{1000, 10000}}},
      {"  the first loss goes from # to #, at worst #", {{0, 1e-4}, {0, 0.001}, {0, 0.002}}},
      {"  the second loss goes from # to #", {{5, 9}, {0, 0.02}}},
  });
}
