#include "src/checkpoint/keras_weights.h"

#include <map>
#include <string_view>

#include "capstan/ops/math.h"
#include "src/checkpoint/keras_optimizer.h"
#include "src/checkpoint/keras_paths.h"

namespace capstan::detail {

namespace {

constexpr const char kOptimizer[] = "optimizer/vars/", kInner[] = "optimizer/inner_optimizer/vars/";

bool scales_losses(const Optimizer& optimizer) { return State(optimizer).save().contains("scale"); }

}  // namespace

KerasOptimizer keras_optimizer_of(const Model& model) {
  if (!model.is_compiled()) return {};
  const Optimizer& optimizer = model.optimizer();
  const NamedTensors state = State(optimizer).save();
  const bool is_scaled = state.contains("scale");
  const std::size_t slots = optimizer.variables().size() - (is_scaled ? 2 : 0);
  if (numbered_tensors(state, "variables/").size() != slots) return {};
  const std::vector<Tensor> variables = keras_variables(optimizer);
  if (!is_scaled) return {variables};
  KerasOptimizer scaled{{zeros({}, int64), constant(0.0F), state.at("good_steps"), state.at("scale")}, variables};
  scaled.variables.insert(scaled.variables.end(), variables.begin(), variables.end());
  return scaled;
}

NamedTensors state_of_keras_optimizer(const KerasOptimizer& stored, const Model& model) {
  const auto& [own, inner] = stored;
  if (own.empty() || !model.is_compiled()) return {};
  const Optimizer& optimizer = model.optimizer();
  const bool is_scaled = scales_losses(optimizer) && !inner.empty() && own.size() >= 4;
  std::vector<Tensor> variables = is_scaled ? inner : own;
  const Tensor iterations = variables[0];
  std::optional<Tensor> rate;
  if (variables.size() > 1 && State(optimizer).save().contains("learning_rate")) rate = variables[1];
  variables.erase(variables.begin(), variables.begin() + (rate ? 2 : 1));
  if (ends_with_product(optimizer) && !variables.empty()) variables.pop_back();
  NamedTensors state = optimizer_state(optimizer, iterations, rate, std::move(variables));
  if (is_scaled) {
    state.emplace("good_steps", with_dtype(own[2], int64));
    state.emplace("scale", with_dtype(own[3], float32));
  }
  return state;
}

KerasWeights match_keras_weights(std::map<std::string, Tensor> stored, const std::string& path, const Model& model,
                                 const std::vector<std::pair<std::string, Variable>>& weights) {
  std::map<const void*, std::string> names;
  for (const auto& [name, variable] : weights) names.emplace(variable.state(), name);
  KerasWeights saved{io::NamedArrays(path, "load_weights")};
  saved.optimizer =
      state_of_keras_optimizer({numbered_tensors(stored, kOptimizer), numbered_tensors(stored, kInner)}, model);
  std::erase_if(stored, [](const auto& one) { return one.first.starts_with("optimizer/"); });
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
  if (!include_optimizer) return tensors;
  const auto [variables, inner] = keras_optimizer_of(model);
  for (std::size_t i = 0; i < inner.size(); ++i) tensors.emplace(kInner + std::to_string(i), inner[i]);
  for (std::size_t i = 0; i < variables.size(); ++i) tensors.emplace(kOptimizer + std::to_string(i), variables[i]);
  return tensors;
}

}  // namespace capstan::detail
