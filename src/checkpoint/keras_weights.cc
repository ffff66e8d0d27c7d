#include "src/checkpoint/keras_weights.h"

#include <map>
#include <string_view>

#include "capstan/ops/math.h"
#include "capstan/update_rule.h"
#include "src/checkpoint/keras_paths.h"

namespace capstan::detail {

namespace {

constexpr std::string_view kOptimizer = "optimizer/vars/", kSlots = "variables/";

// Keras numbers the variables of an optimizer: the count of updates, the rate unless a schedule gives it, and the
// slots. Two classes have numbers among the slots that no slot here corresponds to: Nadam ends with the product of its
// factors, which follows from the count, and Adafactor has two zeros before the slot of a variable of fewer than two
// axes.
std::string_view class_of(const Optimizer& optimizer) { return optimizer.rule().class_info().name; }

Tensor product_of_nadam(const Optimizer& optimizer, std::int64_t updates) {
  const double beta = optimizer.get_config().find("beta_1")->number;
  double product = 1, power = 1;
  for (std::int64_t i = 0; i < updates; ++i) product *= beta * (1 - 0.5 * (power *= 0.96));
  return constant(static_cast<float>(product));
}

std::vector<Tensor> as_keras_has_them(const Optimizer& optimizer, const std::vector<Tensor>& slots) {
  std::vector<Tensor> all;
  const std::vector<Variable> variables = optimizer.variables();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (class_of(optimizer) == "Adafactor" && slots[i].rank() < 2 && variables[i].name().ends_with("_velocity")) {
      all.insert(all.end(), 2, constant(0));
    }
    all.push_back(slots[i]);
  }
  if (class_of(optimizer) == "Nadam" && !all.empty()) {
    all.push_back(product_of_nadam(optimizer, optimizer.iterations()));
  }
  return all;
}

std::vector<Tensor> as_they_are_here(const Optimizer& optimizer, std::vector<Tensor> slots) {
  if (class_of(optimizer) == "Nadam" && !slots.empty()) slots.pop_back();
  if (class_of(optimizer) == "Adafactor") {
    std::erase_if(slots, [](const Tensor& slot) { return slot.rank() == 0 && is_integer(slot.dtype()); });
  }
  return slots;
}

// The tensors "prefix0", "prefix1", ...
std::vector<Tensor> numbered(const std::map<std::string, Tensor>& tensors, std::string_view prefix) {
  std::vector<Tensor> list;
  for (auto at = tensors.end();; list.push_back(at->second)) {
    at = tensors.find(std::string(prefix) + std::to_string(list.size()));
    if (at == tensors.end()) return list;
  }
}

Tensor with_dtype(const Tensor& tensor, DType dtype) {
  const bool converts = is_integer(dtype) ? is_integer(tensor.dtype()) : is_floating(tensor.dtype());
  return converts ? cast(tensor, dtype) : tensor;
}

// Takes the optimizer out of the file, under the names that State has.
NamedTensors take_optimizer(std::map<std::string, Tensor>& stored, const Model& model) {
  std::vector<Tensor> slots = numbered(stored, kOptimizer);
  std::erase_if(stored, [](const auto& one) { return one.first.starts_with("optimizer/"); });
  if (slots.empty() || !model.is_compiled()) return {};
  const Optimizer& optimizer = model.optimizer();
  const NamedTensors own = State(optimizer).save();
  NamedTensors taken = {{"iterations", with_dtype(slots[0], int64)}};
  std::size_t first = 1;
  if (own.contains("learning_rate") && slots.size() > 1) {
    taken.emplace("learning_rate", with_dtype(slots[1], float64));
    first = 2;
  }
  slots.erase(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(first));
  slots = as_they_are_here(optimizer, std::move(slots));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::string name = std::string(kSlots) + std::to_string(i);
    const auto same = own.find(name);
    taken.emplace(name, same == own.end() ? slots[i] : with_dtype(slots[i], same->second.dtype()));
  }
  return taken;
}

// One that scales the loss of another has other variables in Keras, and one that waits for slots that a Checkpoint
// restored cannot say which they are.
void put_optimizer(NamedTensors& tensors, const Optimizer& optimizer) {
  const NamedTensors own = State(optimizer).save();
  const std::vector<Tensor> slots = numbered(own, kSlots);
  if (own.contains("scale") || slots.size() != optimizer.variables().size()) return;
  std::vector<Tensor> all = {own.at("iterations")};
  if (own.contains("learning_rate")) all.push_back(cast(own.at("learning_rate"), float32));
  for (Tensor& slot : as_keras_has_them(optimizer, slots)) all.push_back(std::move(slot));
  for (std::size_t i = 0; i < all.size(); ++i) tensors.emplace(std::string(kOptimizer) + std::to_string(i), all[i]);
}

}  // namespace

KerasWeights match_keras_weights(std::map<std::string, Tensor> stored, const std::string& path, const Model& model,
                                 const std::vector<std::pair<std::string, Variable>>& weights) {
  std::map<const void*, std::string> names;
  for (const auto& [name, variable] : weights) names.emplace(variable.state(), name);
  KerasWeights saved{io::NamedArrays(path, "load_weights")};
  saved.optimizer = take_optimizer(stored, model);
  const auto has_group = [&](const std::string& group) {
    const auto next = stored.lower_bound(group + "/");
    return next != stored.end() && next->first.starts_with(group + "/");
  };
  std::vector<std::string> taken;
  for (const auto& [place, variable] : keras_weight_paths(model, has_group)) {
    const auto found = stored.find(place);
    if (found == stored.end()) continue;
    // Any floating type serves, as in Keras.
    const bool converts = is_floating(found->second.dtype()) && is_floating(variable.dtype());
    saved.weights.emplace(names.at(variable.state()), converts ? cast(found->second, variable.dtype()) : found->second);
    taken.push_back(place);
  }
  for (const std::string& place : taken) stored.erase(place);
  for (auto& [place, tensor] : stored) saved.weights.emplace(place, std::move(tensor));
  return saved;
}

NamedTensors keras_weights_of(const Model& model, bool include_optimizer) {
  NamedTensors tensors;
  for (const auto& [place, variable] : keras_weight_paths(model)) tensors.emplace(place, variable.value());
  if (include_optimizer && model.is_compiled()) put_optimizer(tensors, model.optimizer());
  return tensors;
}

}  // namespace capstan::detail
