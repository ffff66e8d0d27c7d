// Model-agnostic meta-learning on sine waves (Finn, Abbeel, Levine 2017): a start from which one step of descent on ten
// points suffices.
//
// The loss behind the step depends on the start through the step's gradient, so training the start takes second
// derivatives. The first-order form stops the gradient there and treats the step as a constant. All waves of a batch
// are learned at once: each has its own copy of the weights, along a leading axis that the products carry with them.
#include "capstan/capstan.h"
#include "support/transcript.h"

#include <numbers>

using namespace capstan;

namespace {

constexpr std::int64_t kTasks = 25;
constexpr std::int64_t kPoints = 10;
constexpr double kInnerRate = 0.01;

using Weights = std::vector<Tensor>;

std::vector<Variable> new_start() {
  const initializers::GlorotUniform draw;
  std::vector<Variable> start;
  for (const auto& [rows, columns] : {std::pair(1, 40), {40, 40}, {40, 1}}) {
    start.emplace_back(draw({rows, columns}));
    start.emplace_back(zeros({1, columns}));
  }
  return start;
}

// A network of three layers for each task: [tasks, points, 1] to the same.
Tensor predict(const Weights& weights, const Tensor& x) {
  Tensor h = x;
  for (std::size_t i = 0; i < weights.size(); i += 2) {
    h = matmul(h, weights[i]) + weights[i + 1];
    if (i + 2 < weights.size()) h = relu(h);
  }
  return h;
}

// The mean squared error of each task: [tasks].
Tensor task_losses(const Weights& weights, const Tensor& x, const Tensor& y) {
  return reduce_mean(square(predict(weights, x) - y), {1, 2});
}

// One step of descent for each task.
Weights adapt(const Weights& weights, const Tensor& x, const Tensor& y, bool second_order) {
  GradientTape tape;
  tape.watch(weights);
  const Weights gradients = tape.gradient(task_losses(weights, x, y), weights);
  Weights adapted;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Tensor& gradient = gradients[i];
    adapted.push_back(weights[i] - kInnerRate * (second_order ? gradient : stop_gradient(gradient)));
  }
  return adapted;
}

// The mean loss on new points of new waves, behind a step on ten points of each.
Tensor loss_after_adaptation(const std::vector<Variable>& start, std::int64_t tasks, bool second_order) {
  const Tensor amplitude = random::uniform({tasks, 1, 1}, 0.1, 5.0);
  const Tensor phase = random::uniform({tasks, 1, 1}, 0, std::numbers::pi);
  const Tensor x = random::uniform({tasks, kPoints, 1}, -5, 5);
  const Tensor new_x = random::uniform({tasks, kPoints, 1}, -5, 5);
  Weights copies;
  for (const Variable& weight : start) copies.push_back(tile(expand_dims(weight, 0), {tasks, 1, 1}));
  const Weights adapted = adapt(copies, x, amplitude * sin(x - phase), second_order);
  return reduce_mean(task_losses(adapted, new_x, amplitude * sin(new_x - phase)));
}

double train_start(std::vector<Variable>& start, bool second_order) {
  const optimizers::Adam optimizer({.learning_rate = 2e-3});
  auto step = function([&] {
    GradientTape tape;
    const Tensor loss = loss_after_adaptation(start, kTasks, second_order);
    optimizer.apply_gradients(tape.gradient(loss, start), start);
  });
  for (int i = 0; i < 1500; ++i) step();
  return loss_after_adaptation(start, 1000, false).item<double>();
}

}  // namespace

int main() {
  set_seed(2);
  examples::Transcript out;
  std::vector<Variable> start = new_start();
  const double untrained = loss_after_adaptation(start, 1000, false).item<double>();
  out.print("loss after one step from a random start: %.2f", untrained);
  const double second = train_start(start, true);
  out.print("from a start that was trained for it: %.2f", second);
  std::vector<Variable> other = new_start();
  const double first = train_start(other, false);
  out.print("the same with first derivatives only: %.2f", first);
  out.print("shares: %.2f and %.2f", second / untrained, first / untrained);
  return out.finish({
      {"loss after one step from a random start: #", {{3.0, 6.0}}},
      {"from a start that was trained for it: #", {{0.2, 1.2}}},
      {"the same with first derivatives only: #", {{0.3, 1.6}}},
      {"shares: # and #", {{0.05, 0.5}, {0.05, 0.5}}},
  });
}
