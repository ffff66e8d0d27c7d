#include "src/train/callbacks/monitor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "src/core/check.h"
#include "src/core/hooks.h"
#include "src/train/trainer.h"

namespace capstan {

namespace {

// Classes of metrics whose values fall while a model learns; others of the library rise.
constexpr std::array<std::string_view, 20> kFalling = {"MeanSquaredError",
                                                       "RootMeanSquaredError",
                                                       "MeanAbsoluteError",
                                                       "LogCoshError",
                                                       "MeanSquaredLogarithmicError",
                                                       "MeanAbsolutePercentageError",
                                                       "Hinge",
                                                       "SquaredHinge",
                                                       "CategoricalHinge",
                                                       "BinaryCrossentropy",
                                                       "CategoricalCrossentropy",
                                                       "SparseCategoricalCrossentropy",
                                                       "KLDivergence",
                                                       "Poisson",
                                                       "FalsePositives",
                                                       "FalseNegatives"};
// Those without a direction.
constexpr std::array<std::string_view, 4> kUndirected = {"Mean", "Sum", "MeanMetricWrapper", "function"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

Monitor::Monitor(const char* owner, std::string name, std::string mode, double min_delta)
    : owner_(owner), name_(std::move(name)), mode_(std::move(mode)), min_delta_(std::fabs(min_delta)) {}

void Monitor::reset(const Model& model) {
  if (mode_ != "auto") {
    is_max_ = mode_ == "max";
    return;
  }
  const std::string name = name_.starts_with("val_") ? name_.substr(4) : name_;
  if (name == "loss" || name.ends_with("_loss")) {
    is_max_ = false;
    return;
  }
  for (const auto& [known, metric] : Trainer::state(model).named_metrics()) {
    if (known != name) continue;
    const std::string_view type = metric.body()->class_info().name;
    if (contains(kUndirected, type)) break;
    is_max_ = !contains(kFalling, type);
    return;
  }
  throw ValueError(detail::join(owner_, ": it is not known whether \"", name_, "\" should rise or fall",
                                help("give mode = \"min\" or \"max\"")));
}

std::optional<double> Monitor::read(const Logs& logs) const {
  const auto found = logs.find(name_);
  if (found != logs.end()) return found->second;
  std::string known;
  for (const auto& [name, value] : logs) known += (known.empty() ? "" : ", ") + name;
  warn(detail::join(owner_, " looks at \"", name_, "\", which is not among the values: ", known));
  return std::nullopt;
}

bool Monitor::is_better(double value, std::optional<double> best) const {
  if (!best) return true;
  return is_max_ ? value > *best + min_delta_ : value < *best - min_delta_;
}

}  // namespace capstan
