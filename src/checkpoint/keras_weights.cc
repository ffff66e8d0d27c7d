#include "src/checkpoint/keras_weights.h"

#include <map>
#include <string_view>

#include "capstan/ops/math.h"
#include "src/checkpoint/keras_optimizer.h"
#include "src/checkpoint/keras_paths.h"

namespace capstan::detail {

namespace {

constexpr const char kOptimizer[] = "optimizer/vars/";

// Takes the optimizer out of the file, under the names that State has.
NamedTensors take_optimizer(std::map<std::string, Tensor>& stored, const Model& model) {
  std::vector<Tensor> variables = numbered_tensors(stored, kOptimizer);
  std::erase_if(stored, [](const auto& one) { return one.first.starts_with("optimizer/"); });
  if (variables.empty() || !model.is_compiled()) return {};
  const Tensor iterations = variables[0];
  std::optional<Tensor> rate;
  if (variables.size() > 1 && State(model.optimizer()).save().contains("learning_rate")) rate = variables[1];
  variables.erase(variables.begin(), variables.begin() + (rate ? 2 : 1));
  if (ends_with_product(model.optimizer()) && !variables.empty()) variables.pop_back();
  return optimizer_state(model.optimizer(), iterations, rate, std::move(variables));
}

// One that scales the loss of another has other variables in Keras, and one that waits for slots that a Checkpoint
// restored cannot say which they are.
void put_optimizer(NamedTensors& tensors, const Optimizer& optimizer) {
  const NamedTensors own = State(optimizer).save();
  if (own.contains("scale") || numbered_tensors(own, "variables/").size() != optimizer.variables().size()) return;
  const std::vector<Tensor> all = keras_variables(optimizer);
  for (std::size_t i = 0; i < all.size(); ++i) tensors.emplace(kOptimizer + std::to_string(i), all[i]);
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
