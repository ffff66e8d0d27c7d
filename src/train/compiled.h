// What compile() makes of its options: the optimizer, and for each output of the model its loss and its metrics.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capstan/function.h"
#include "capstan/models.h"

namespace capstan {

// Loss and metrics of one output.
struct CompiledOutput {
  std::string name;
  std::optional<Loss> loss;
  double loss_weight = 1;
  metrics::Mean loss_so_far{"loss"};                    // shown if there are several outputs
  std::vector<std::pair<std::string, Metric>> metrics;  // under the names that logs have
  std::vector<std::pair<std::string, Metric>> weighted_metrics;
};

struct ModelPart::Compiled {
  using Step = std::function<StepLogs(const Batch&)>;
  using Predict = std::function<Nest(const Nest&)>;

  bool is_compiled = false;
  CompileOptions options;
  metrics::Mean loss{"loss"};
  std::vector<Metric> own_metrics;
  // Known once the outputs of the model are.
  std::vector<CompiledOutput> outputs;
  bool stop_training = false;
  // Where fit() begins, if a callback says so.
  struct Start {
    std::int64_t epoch = 0, batch = 0;
    std::function<void()> when_there;
  };
  std::optional<Start> start;

  std::optional<Function<Step>> train, test;
  std::optional<Function<Predict>> predict;
  bool runs_eagerly = false;  // options.run_eagerly, or a step needs values which a trace does not have

  // What follows from the layers as they were.
  void forget_traces();
  // Whether there is a loss or a metric of outputs. Without them a model with a step of its own may be trained on data
  // that its call does not take, as a GAN is.
  bool compares_outputs() const;
  // Finds out which loss and which metrics each output has.
  void resolve(const Nest& y_pred, const std::vector<std::string>& names, const std::string& model);
  // What belongs to an output among labels or weights, in its place or under its name; empty if nothing does.
  Tensor part_of(const Nest& labels, std::size_t output) const;
  StepLogs results() const;
  std::vector<Metric> all_metrics() const;
  // Under the names that logs have, that of the loss left out.
  std::vector<std::pair<std::string, Metric>> named_metrics() const;
};

}  // namespace capstan
