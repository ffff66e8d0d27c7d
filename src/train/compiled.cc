#include "src/train/compiled.h"

#include <algorithm>
#include <map>
#include <set>

#include "capstan/ops/array.h"
#include "src/core/check.h"

namespace capstan {

// --- Choices ---

Loss LossChoice::by_name(const std::string& name) {
  if (name != "ce" && name != "crossentropy") return Loss(name);
  // As Keras chooses: by the shapes of labels and predictions.
  return Loss([](const Tensor& y_true, const Tensor& y_pred) {
    if (y_pred.rank() > 0 && y_pred.dim(-1) == 1) return losses::binary_crossentropy(y_true, y_pred);
    const bool sparse = y_true.rank() < y_pred.rank() || (y_true.rank() > 0 && y_true.dim(-1) == 1);
    return sparse ? losses::sparse_categorical_crossentropy(y_true, y_pred)
                  : losses::categorical_crossentropy(y_true, y_pred);
  });
}

// --- Outputs ---

namespace {

// Duplicates get "_1", "_2", and weighted ones a prefix.
void add_named(std::vector<std::pair<std::string, Metric>>& list, std::set<std::string>& taken,
               const std::vector<Metric>& metrics, const std::string& output, bool weighted) {
  for (const Metric& metric : metrics) {
    std::string name = output + metric.name();
    if (weighted && taken.contains(name)) name = output + "weighted_" + metric.name();
    std::string unique = name;
    for (int i = 1; taken.contains(unique); ++i) unique = name + "_" + std::to_string(i);
    taken.insert(unique);
    list.emplace_back(unique, metric);
  }
}

// The metrics that a choice has for one of several outputs.
std::vector<Metric> metrics_of(const MetricChoice& choice, std::size_t i, const std::string& name,
                               std::size_t outputs) {
  if (!choice.named.empty()) {
    const auto found = choice.named.find(name);
    return found == choice.named.end() ? std::vector<Metric>() : found->second;
  }
  if (!choice.lists.empty()) {
    CAPSTAN_CHECK(choice.lists.size() == outputs, ValueError, "compile: metrics for ", choice.lists.size(),
                  " outputs, but the model has ", outputs);
    return choice.lists[i];
  }
  if (outputs == 1 || choice.list.empty()) return choice.list;
  CAPSTAN_CHECK(choice.list.size() == outputs, ValueError, "compile: a list of ", choice.list.size(), " metrics for ",
                outputs, " outputs", help("give a list for each output, or a map by their names"));
  return {choice.list[i]};
}

void check_names(const char* what, const std::vector<std::string>& given, const std::vector<std::string>& outputs) {
  for (const std::string& name : given) {
    std::string known;
    for (const std::string& output : outputs) known += (known.empty() ? "\"" : ", \"") + output + "\"";
    CAPSTAN_CHECK(std::find(outputs.begin(), outputs.end(), name) != outputs.end(), ValueError, "compile: ", what,
                  " for an output \"", name, "\", which the model does not have; it has ", known);
  }
}

template <class T>
std::vector<std::string> keys_of(const std::map<std::string, T>& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

}  // namespace

bool ModelPart::Compiled::compares_outputs() const {
  return options.loss.has_value() || options.loss_weights.has_value() || options.metrics.has_value() ||
         options.weighted_metrics.has_value();
}

void ModelPart::Compiled::resolve(const Nest& y_pred, const std::vector<std::string>& names, const std::string& model) {
  if (!outputs.empty() || !compares_outputs()) return;
  const std::size_t count = y_pred.tensors().size();
  const std::vector<std::string> output_names =
      y_pred.is_map() && y_pred.size() == count ? std::vector(y_pred.keys().begin(), y_pred.keys().end()) : names;
  const LossChoice& loss_choice = options.loss;
  check_names("a loss", keys_of(loss_choice.named), output_names);
  check_names("metrics", keys_of(options.metrics.named), output_names);
  check_names("metrics", keys_of(options.weighted_metrics.named), output_names);
  CAPSTAN_CHECK(loss_choice.list.size() <= 1 || loss_choice.list.size() == count, ValueError,
                "compile: ", loss_choice.list.size(), " losses, but ", model, " has ", count, " outputs");
  const LossWeights& weights = options.loss_weights;
  check_names("a loss weight", keys_of(weights.named), output_names);
  CAPSTAN_CHECK(weights.list.empty() || weights.list.size() == count, ValueError, "compile: ", weights.list.size(),
                " loss weights, but ", model, " has ", count, " outputs");
  std::vector<CompiledOutput> made(count);
  std::set<std::string> taken = {"loss"};
  for (std::size_t i = 0; i < count; ++i) {
    CompiledOutput& output = made[i];
    output.name = i < output_names.size() ? output_names[i] : "output_" + std::to_string(i);
    if (!loss_choice.named.empty()) {
      const auto found = loss_choice.named.find(output.name);
      if (found != loss_choice.named.end()) output.loss = found->second;
    } else if (!loss_choice.list.empty()) {
      output.loss = loss_choice.list[loss_choice.list.size() == 1 ? 0 : i];
    }
    if (!weights.list.empty()) output.loss_weight = weights.list[i];
    if (const auto found = weights.named.find(output.name); found != weights.named.end())
      output.loss_weight = found->second;
    const std::string prefix = count > 1 ? output.name + "_" : "";
    add_named(output.metrics, taken, metrics_of(options.metrics, i, output.name, count), prefix, false);
    add_named(output.weighted_metrics, taken, metrics_of(options.weighted_metrics, i, output.name, count), prefix,
              true);
  }
  outputs = std::move(made);
}

Tensor ModelPart::Compiled::part_of(const Nest& labels, std::size_t output) const {
  if (!labels.has_value()) return {};
  if (labels.is_map()) {
    const auto keys = labels.keys();
    const auto found = std::find(keys.begin(), keys.end(), outputs[output].name);
    return found == keys.end() ? Tensor() : labels[static_cast<std::size_t>(found - keys.begin())].tensor_or_empty();
  }
  if (labels.is_tensor()) return output == 0 ? labels.tensor() : Tensor();
  return output < labels.size() ? labels[output].tensor_or_empty() : Tensor();
}

std::vector<std::pair<std::string, Metric>> ModelPart::Compiled::named_metrics() const {
  std::vector<std::pair<std::string, Metric>> all;
  for (const CompiledOutput& output : outputs) {
    if (outputs.size() > 1 && output.loss) all.emplace_back(output.name + "_loss", output.loss_so_far);
    all.insert(all.end(), output.metrics.begin(), output.metrics.end());
    all.insert(all.end(), output.weighted_metrics.begin(), output.weighted_metrics.end());
  }
  for (const Metric& metric : own_metrics) all.emplace_back(metric.name(), metric);
  return all;
}

void ModelPart::Compiled::forget_traces() {
  outputs.clear();
  runs_eagerly = options.run_eagerly;
  train.reset();
  test.reset();
  predict.reset();
}

StepLogs ModelPart::Compiled::results() const {
  StepLogs logs;
  if (is_compiled) logs["loss"] = loss.result();
  for (const auto& [name, metric] : named_metrics()) logs[name] = metric.result();
  return logs;
}

std::vector<Metric> ModelPart::Compiled::all_metrics() const {
  std::vector<Metric> all = {loss};
  for (const auto& [name, metric] : named_metrics()) all.push_back(metric);
  return all;
}

}  // namespace capstan
