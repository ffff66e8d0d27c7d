// What compile() was given as data, with Keras's keys, and back.
#include "capstan/models.h"
#include "src/core/check.h"
#include "src/train/compiled.h"

namespace capstan {

using Kind = AttributeValue::Kind;

namespace {

using Values = std::vector<AttributeValue>;

template <class T, class F>
AttributeValue list_of(const std::vector<T>& items, const F& value_of) {
  Values values;
  for (const T& item : items) values.push_back(value_of(item));
  return values;
}

template <class T, class F>
AttributeValue map_of(const std::map<std::string, T>& items, const F& value_of) {
  AttributeValue map = AttributeValue::map();
  for (const auto& [key, item] : items) map.set(key, value_of(item));
  return map;
}

AttributeValue config_of(const LossChoice& choice) {
  if (!choice.has_value()) return {};
  if (!choice.named.empty()) return map_of(choice.named, losses::serialize);
  return choice.is_one ? losses::serialize(choice.list[0]) : list_of(choice.list, losses::serialize);
}

AttributeValue config_of(const LossWeights& weights) {
  if (!weights.has_value()) return {};
  const auto number = [](double weight) { return AttributeValue(weight); };
  return weights.named.empty() ? list_of(weights.list, number) : map_of(weights.named, number);
}

AttributeValue config_of(const MetricChoice& choice) {
  if (!choice.has_value()) return {};
  const auto list = [](const std::vector<Metric>& metrics) { return list_of(metrics, metrics::serialize); };
  if (!choice.named.empty()) return map_of(choice.named, list);
  return choice.lists.empty() ? list(choice.list) : list_of(choice.lists, list);
}

// A map of a class, as serialize() gives it, not of outputs.
bool is_object(const AttributeValue& value) {
  return value.kind == Kind::kString || value.find("class_name") != nullptr;
}

template <class T, class F>
std::map<std::string, T> by_name(const AttributeValue& value, const F& made) {
  std::map<std::string, T> map;
  for (const auto& [key, item] : value.items) {
    if (item.has_value()) map.emplace(key, made(item));
  }
  return map;
}

LossChoice loss_of(const AttributeValue& value) {
  if (!value.has_value()) return {};
  if (value.kind == Kind::kString) return LossChoice(value.text);
  if (is_object(value)) return LossChoice(losses::get(value));
  if (value.kind == Kind::kMap) return by_name<Loss>(value, losses::get);
  CAPSTAN_CHECK(value.kind == Kind::kList, ValueError, "compile_from_config: \"loss\" is ", value.to_string());
  std::vector<Loss> list;
  for (const AttributeValue& item : value.list) list.push_back(losses::get(item));
  return list;
}

double number_of(const AttributeValue& value) {
  CAPSTAN_CHECK(value.is_number(), ValueError, "compile_from_config: a loss weight is ", value.to_string());
  return value.number;
}

LossWeights weights_of(const AttributeValue& value) {
  if (!value.has_value()) return {};
  if (value.kind == Kind::kMap) return by_name<double>(value, number_of);
  if (value.is_number()) return {value.number};
  std::vector<double> list;
  for (const AttributeValue& item : value.list) list.push_back(number_of(item));
  return list;
}

// A name is what compile() takes: "accuracy" follows from the shapes of the data, while Keras's class of that name,
// which metrics::get() gives, compares numbers.
Metric metric_of(const AttributeValue& value) {
  return value.kind == Kind::kString ? Metric(value.text) : metrics::get(value);
}

std::vector<Metric> metrics_of(const AttributeValue& value) {
  if (is_object(value)) return {metrics::get(value)};
  CAPSTAN_CHECK(value.kind == Kind::kList, ValueError, "compile_from_config: metrics of an output are ",
                value.to_string());
  std::vector<Metric> list;
  for (const AttributeValue& item : value.list) list.push_back(metric_of(item));
  return list;
}

MetricChoice metric_choice_of(const AttributeValue& value) {
  if (!value.has_value()) return {};
  if (value.kind == Kind::kMap && !is_object(value)) return by_name<std::vector<Metric>>(value, metrics_of);
  bool is_nested = false;
  for (const AttributeValue& item : value.list) is_nested |= item.kind == Kind::kList;
  if (!is_nested) return metrics_of(value);
  std::vector<std::vector<Metric>> lists;
  for (const AttributeValue& item : value.list) {
    lists.push_back(item.has_value() ? metrics_of(item) : std::vector<Metric>());
  }
  return lists;
}

}  // namespace

AttributeValue Model::get_compile_config() const {
  AttributeValue config = AttributeValue::map();
  if (!is_compiled()) return config;
  const CompileOptions& options = part().compiled_->options;
  if (options.describe) {
    if (const std::optional<AttributeValue> described = options.describe()) return *described;
  }
  config.set("optimizer", optimizers::serialize(*options.optimizer));
  config.set("loss", config_of(options.loss));
  config.set("loss_weights", config_of(options.loss_weights));
  config.set("metrics", config_of(options.metrics));
  config.set("weighted_metrics", config_of(options.weighted_metrics));
  config.set("run_eagerly", options.run_eagerly);
  config.set("steps_per_execution", options.steps_per_execution);
  config.set("jit_compile", false);
  return config;
}

void Model::compile_from_config(const AttributeValue& config) const {
  CAPSTAN_CHECK(config.kind == Kind::kMap, ValueError, "compile_from_config: a configuration is a map, not ",
                config.to_string());
  if (config.items.empty()) return;
  CompileOptions options;
  for (const auto& [key, value] : config.items) {
    if (key == "optimizer") {
      if (value.has_value()) options.optimizer = optimizers::get(value);
    } else if (key == "loss") {
      options.loss = loss_of(value);
    } else if (key == "loss_weights") {
      options.loss_weights = weights_of(value);
    } else if (key == "metrics") {
      options.metrics = metric_choice_of(value);
    } else if (key == "weighted_metrics") {
      options.weighted_metrics = metric_choice_of(value);
    } else if (key == "run_eagerly") {
      options.run_eagerly = value.truth;
    } else if (key == "steps_per_execution") {
      options.steps_per_execution = value.has_value() ? value.integer : 1;
    } else {
      CAPSTAN_CHECK(key == "jit_compile" || key == "auto_scale_loss", ValueError, "compile_from_config: \"", key,
                    "\" is no option of compile()");
    }
  }
  compile(options);
}

}  // namespace capstan
