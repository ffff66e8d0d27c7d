// A trained model as a file that a program without its code runs and trains further: two functions, one of them a
// training step, whose variables they share.
#include <cstdio>
#include <filesystem>

#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

// The program that has the model: learns whether a point lies in a ring, and saves what it has.
void train_and_save(const std::string& folder, const Tensor& x, const Tensor& y) {
  const Sequential model({layers::Dense(24, {.activation = "tanh", .input_shape = {2}}), layers::Dense(1)});
  const auto loss_of = [&](const Tensor& points, const Tensor& labels) {
    return reduce_mean(sigmoid_cross_entropy_with_logits(labels, model(points)));
  };
  const auto step = [&](const Tensor& points, const Tensor& labels) {
    GradientTape tape;
    const Tensor loss = loss_of(points, labels);
    const std::vector<Variable> variables = model.trainable_variables();
    const std::vector<Tensor> gradients = tape.gradient(loss, variables);
    for (std::size_t i = 0; i < variables.size(); ++i) variables[i].assign_sub(1.0 * gradients[i]);
    return loss;
  };
  auto traced = function(step);
  for (int i = 0; i < 1000; ++i) traced(x, y);
  const TensorSpec points({-1, 2}, float32, "points"), labels({-1, 1}, float32, "labels");
  saved_model::save(folder, {saved_model::entry("in_ring", [&](const Tensor& p) { return sigmoid(model(p)); }, {points},
                                                {"probability"}),
                             saved_model::entry("train", step, {points, labels}, {"loss"})});
}

}  // namespace

int main() {
  set_seed(3);
  examples::Transcript out;
  const Tensor x = random::uniform({256, 2}, -2, 2);
  const Tensor radius = sqrt(reduce_sum(square(x), 1, {.keepdims = true}));
  const Tensor y = cast(logical_and(radius > 0.7, radius < 1.5), float32);
  const std::string folder = (std::filesystem::temp_directory_path() / "capstan_saved_model").string();
  train_and_save(folder, x, y);

  // Another program: it has the file alone.
  const saved_model::Loaded loaded = saved_model::load(folder);
  const saved_model::LoadedFunction &in_ring = loaded.function("in_ring"), &train = loaded.function("train");
  const auto accuracy = [&] {
    return reduce_mean(cast(equal(cast(in_ring({x})[0] > 0.5, float32), y), float32)).item<double>();
  };
  const double before = train({x, y})[0].item<double>();
  out.print("It takes %s and gives %s.", in_ring.inputs()[0].to_string().c_str(),
            in_ring.outputs()[0].to_string().c_str());
  out.print("As loaded: loss %.3f, accuracy %.3f", before, accuracy());
  for (int i = 0; i < 1000; ++i) train({x, y});
  const double after = train({x, y})[0].item<double>();
  out.print("Trained further: loss %.3f, accuracy %.3f", after, accuracy());

  // It is a function like any other: how the probability changes with the point.
  GradientTape tape;
  const Tensor point = constant({{1.0f, 0.2f}});
  tape.watch(point);
  const Tensor slope = tape.gradient(in_ring({point})[0], point);
  std::filesystem::remove_all(folder);
  if (!(after < before) || !slope.has_value()) {
    std::fprintf(stderr, "example: the loss does not fall, or there is no slope\n");
    return 1;
  }
  return out.finish({{"It takes float32[?, #] points and gives float32[?, #] probability.", {{2, 2}, {1, 1}}},
                     {"As loaded: loss #, accuracy #", {{0.0, 0.6}, {0.7, 1.0}}},
                     {"Trained further: loss #, accuracy #", {{0.0, 0.4}, {0.85, 1.0}}}});
}
