// One step of a policy gradient: the expected reward of a softmax policy, maximised by minimising its negative.
#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

Tensor policy_action_prob(const Tensor& params) { return softmax(params); }

Tensor objective(const Tensor& params) {
  const Tensor probs = policy_action_prob(params);
  const Tensor reward = constant({1.0, 2.0});
  return reduce_sum(probs * reward);
}

}  // namespace

int main() {
  examples::Transcript out;
  const Variable theta({0.5, -0.5});
  GradientTape tape;
  const Tensor loss = -objective(theta);
  const Tensor grad = tape.gradient(loss, theta);
  theta.assign_sub(0.1 * grad);
  const auto values = theta.to_vector<double>();
  const auto gradients = grad.to_vector<double>();
  out.print("[ %.7f %.7f]", values[0], values[1]);
  out.print("%.6f [%.6f, %.6f]", loss.item<double>(), gradients[0], gradients[1]);
  return out.finish({{"[ 0.4803388 -0.4803388]"}, {"-1.268941 [0.196612, -0.196612]"}});
}
