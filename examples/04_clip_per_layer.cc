// Gradients clipped per layer, in a function: a tight norm for the head, a loose one for the backbone.
//
// A variable's name is "kernel" or "bias"; which layer it belongs to is said by its path, "head/kernel". (The tutorial
// looks for "head" in the name, which clips nothing of the head in today's Keras.) Plain C++, as the choice of a norm
// and the count, runs while the function is traced; the check of the norms is part of the graph and runs at every call.
#include <cstdio>

#include "capstan/capstan.h"
#include "support/npz.h"
#include "support/transcript.h"

using namespace capstan;

int main() {
  set_seed(42);
  examples::Transcript out;
  const Sequential backbone({
      layers::Dense(64, {.activation = "relu", .name = "backbone_1", .input_shape = {20}}),
      layers::Dense(32, {.activation = "relu", .name = "backbone_2"}),
  });
  const layers::Dense head(5, {.name = "head"});
  const optimizers::Adam optimizer({.learning_rate = 0.001});
  const losses::SparseCategoricalCrossentropy loss_fn({.from_logits = true});

  int clipped_tightly = 0;
  auto train_step = function(
      [&](const Tensor& x_batch, const Tensor& y_batch) {
        GradientTape tape;
        const Tensor features = backbone(x_batch, {.training = true});
        const Tensor logits = head(features, {.training = true});
        const Tensor loss = loss_fn(y_batch, logits);

        std::vector<Variable> all_vars = backbone.trainable_variables();
        for (const Variable& variable : head.trainable_variables()) all_vars.push_back(variable);
        const std::vector<Tensor> gradients = tape.gradient(loss, all_vars);

        clipped_tightly = 0;
        std::vector<Tensor> clipped;
        for (std::size_t i = 0; i < gradients.size(); ++i) {
          if (!gradients[i].has_value()) {
            clipped.push_back(gradients[i]);
          } else if (all_vars[i].path().find("head") != std::string::npos) {
            clipped.push_back(clip_by_norm(gradients[i], 1.0));  // tight for the head
            debugging::assert_less_equal(norm(clipped.back()), 1.0001);
            ++clipped_tightly;
          } else {
            clipped.push_back(clip_by_norm(gradients[i], 5.0));  // looser for the backbone
          }
        }
        optimizer.apply_gradients(clipped, all_vars);
        return loss;
      },
      {.input_signature = {TensorSpec({-1, 20}), TensorSpec({-1}, int64)}});

  const auto data = examples::load_npz("001_clipping");
  int i = 0;
  for (const auto& [x_batch, y_batch] : from_tensor_slices(data.at("x"), data.at("y")).batch(32)) {
    out.print("Batch %d: loss=%.4f", i++, train_step(x_batch, y_batch).item<double>());
  }
  if (clipped_tightly != 2 || tracing_count(train_step) != 1) {  // kernel and bias of the head
    std::fprintf(stderr, "example: %d gradients of the head were clipped, in %d traces\n", clipped_tightly,
                 tracing_count(train_step));
    return 1;
  }
  return out.finish({
      {"Batch 0: loss=#", {{1.40, 2.14}}},
      {"Batch 1: loss=#", {{1.34, 2.13}}},
      {"Batch 2: loss=#", {{1.40, 2.08}}},
      {"Batch 3: loss=#", {{0.97, 2.68}}},
  });
}
