// The loops of fit, evaluate and predict.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "capstan/callbacks.h"
#include "capstan/models.h"
#include "src/train/compiled.h"

namespace capstan {

class Trainer {
 public:
  using Compiled = ModelPart::Compiled;

  // Throws ValueError before compile(), in the name of a public function.
  static Compiled& compiled(const char* what, const Model& model);
  static ModelPart& part(const Model& model) { return model.part(); }
  static Compiled& state(const Model& model) { return *model.part().compiled_; }

  // Makes weights, losses and metrics of the model by its first batch, outside of traces.
  static void prepare(const Model& model, const Batch& batch, bool trains);

  static StepLogs train_step(const Model& model, const Batch& batch);
  static StepLogs test_step(const Model& model, const Batch& batch);
  static Nest predict_step(const Model& model, const Nest& x);

  // For a callback of the training that begins.
  static void begin_at(const Model& model, std::int64_t epoch, std::int64_t batch, std::function<void()> when_there);

  static History fit(const Model& model, const BatchSource& batches, const FitOptions& options);
  static StepLogs evaluate(const Model& model, const BatchSource& batches, std::optional<std::int64_t> steps,
                           Callbacks& callbacks);
  static Nest predict(const Model& model, const BatchSource& batches, std::optional<std::int64_t> steps,
                      Callbacks& callbacks);
};

}  // namespace capstan
