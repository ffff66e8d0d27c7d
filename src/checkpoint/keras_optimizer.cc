#include "src/checkpoint/keras_optimizer.h"

#include <string_view>

#include "capstan/ops/math.h"
#include "capstan/update_rule.h"
#include "src/core/check.h"
#include "src/train/optimizer_state.h"

namespace capstan::detail {

namespace {

constexpr const char kSlots[] = "variables/";

// The one that makes the updates.
const OptimizerState& updating(const Optimizer& optimizer) { return OptimizerState::of(optimizer).updating(); }
std::string_view class_of(const Optimizer& optimizer) { return updating(optimizer).rule->class_info().name; }

Tensor product_of_nadam(const Optimizer& optimizer) {
  const double beta = optimizer_option(optimizer, "beta_1").number;
  double product = 1, power = 1;
  for (std::int64_t i = 0; i < optimizer.iterations(); ++i) product *= beta * (1 - 0.5 * (power *= 0.96));
  return constant(static_cast<float>(product));
}

std::vector<Tensor> as_keras_has_them(const Optimizer& optimizer, const std::vector<Tensor>& slots) {
  const OptimizerState& state = updating(optimizer);
  const bool is_adafactor = class_of(optimizer) == "Adafactor";
  CAPSTAN_CHECK(!is_adafactor || slots.empty() || state.is_built(), ValueError, optimizer.name(),
                ": its slots were restored, and wait for the variables that they belong to",
                help("build(variables) makes them"));
  std::vector<Tensor> all;
  const std::size_t first = state.averages.size() + state.accumulators.size();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (is_adafactor && i >= first && slots[i].rank() < 2 && state.slots[i - first].name().ends_with("_velocity")) {
      all.insert(all.end(), 2, constant(0));
    }
    all.push_back(slots[i]);
  }
  if (ends_with_product(optimizer) && !all.empty()) all.push_back(product_of_nadam(optimizer));
  return all;
}

}  // namespace

std::vector<Tensor> numbered_tensors(const std::map<std::string, Tensor>& tensors, const std::string& prefix) {
  std::vector<Tensor> list;
  for (auto at = tensors.end();; list.push_back(at->second)) {
    at = tensors.find(prefix + std::to_string(list.size()));
    if (at == tensors.end()) return list;
  }
}

Tensor with_dtype(const Tensor& tensor, DType dtype) {
  const bool converts = is_integer(dtype) ? is_integer(tensor.dtype()) : is_floating(tensor.dtype());
  return converts ? cast(tensor, dtype) : tensor;
}

AttributeValue optimizer_option(const Optimizer& optimizer, std::string_view name) {
  const UpdateRule& rule = *updating(optimizer).rule;
  const AttributeValue config = config_of(rule.class_info(), rule.options_data());
  const AttributeValue* const value = config.find(name);
  return value == nullptr ? AttributeValue() : *value;
}

bool ends_with_product(const Optimizer& optimizer) { return class_of(optimizer) == "Nadam"; }

std::vector<Tensor> keras_variables(const Optimizer& optimizer) {
  const NamedTensors own = State(optimizer).save();
  std::vector<Tensor> all = {own.at("iterations")};
  if (own.contains("learning_rate")) all.push_back(cast(own.at("learning_rate"), float32));
  for (Tensor& slot : as_keras_has_them(optimizer, numbered_tensors(own, kSlots))) all.push_back(std::move(slot));
  return all;
}

NamedTensors optimizer_state(const Optimizer& optimizer, const Tensor& iterations, const std::optional<Tensor>& rate,
                             std::vector<Tensor> slots) {
  const NamedTensors own = State(optimizer).save();
  NamedTensors state = {{"iterations", with_dtype(iterations, int64)}};
  if (rate) state.emplace("learning_rate", with_dtype(*rate, float64));
  if (class_of(optimizer) == "Adafactor") {
    std::erase_if(slots, [](const Tensor& slot) { return slot.rank() == 0 && is_integer(slot.dtype()); });
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::string name = kSlots + std::to_string(i);
    const auto same = own.find(name);
    state.emplace(name, same == own.end() ? slots[i] : with_dtype(slots[i], same->second.dtype()));
  }
  return state;
}

}  // namespace capstan::detail
