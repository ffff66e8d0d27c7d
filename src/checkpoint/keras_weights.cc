#include "src/checkpoint/keras_weights.h"

#include <map>
#include <optional>

#include "capstan/ops/math.h"
#include "src/checkpoint/keras_paths.h"
#include "src/core/check.h"
#include "src/io/byte_source.h"
#include "src/io/hdf5_file.h"
#include "src/io/hdf5_writer.h"

namespace capstan::detail {

namespace {

constexpr std::string_view kOptimizer = "optimizer/vars/", kSlots = "variables/";

// The numbers of Keras's variables of an optimizer: the count of updates, the rate unless a schedule gives it, and the
// slots, which are numbered by themselves here.
struct OptimizerLayout {
  explicit OptimizerLayout(const NamedTensors& own) : has_rate(own.contains("learning_rate")) {}

  std::size_t first_slot() const { return has_rate ? 2 : 1; }
  std::string path(const std::string& name) const {
    if (name == "iterations") return std::string(kOptimizer) + "0";
    if (name == "learning_rate") return std::string(kOptimizer) + "1";
    return std::string(kOptimizer) + std::to_string(std::stoul(name.substr(kSlots.size())) + first_slot());
  }
  // Nothing for what is no number.
  std::optional<std::string> name(const std::string& path) const {
    const std::string number = path.substr(kOptimizer.size());
    if (number.empty() || number.size() > 9 || number.find_first_not_of("0123456789") != number.npos)
      return std::nullopt;
    const std::size_t i = std::stoul(number);
    if (i == 0) return "iterations";
    if (i < first_slot()) return "learning_rate";
    return std::string(kSlots) + std::to_string(i - first_slot());
  }

  bool has_rate;
};

// The state of an optimizer whose variables a file can have. One that scales the loss has others in Keras.
std::optional<NamedTensors> state_of_optimizer(const Model& model) {
  if (!model.is_compiled()) return std::nullopt;
  NamedTensors state = State(model.optimizer()).save();
  if (state.contains("scale")) return std::nullopt;
  return state;
}

// The names of State for what stands in the file. The count of updates and the rate have other dtypes there.
NamedTensors take_optimizer(std::map<std::string, Tensor>& stored, const Model& model) {
  NamedTensors taken;
  const std::optional<NamedTensors> own = state_of_optimizer(model);
  for (auto at = stored.lower_bound(std::string(kOptimizer));
       at != stored.end() && at->first.starts_with(kOptimizer);) {
    if (own) {
      const std::string name = OptimizerLayout(*own).name(at->first).value_or(at->first);
      const auto same = own->find(name);
      const bool converts = name == "iterations" ? is_integer(at->second.dtype())
                                                 : same != own->end() && is_floating(same->second.dtype()) &&
                                                       is_floating(at->second.dtype());
      const DType dtype = name == "iterations" ? int64 : converts ? same->second.dtype() : at->second.dtype();
      taken.insert_or_assign(name, converts ? cast(at->second, dtype) : at->second);
    }
    at = stored.erase(at);
  }
  return taken;
}

}  // namespace

KerasWeights load_keras_weights(const std::string& path, const Model& model,
                                const std::vector<std::pair<std::string, Variable>>& weights) {
  const std::unique_ptr<io::ByteSource> source = io::open_plain_file("load_weights", path);
  const std::vector<std::byte> bytes = io::read_exactly(*source, source->most_bytes(), "the file");
  std::map<std::string, Tensor> stored = io::read_hdf5(*source, bytes);
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

void save_keras_weights(const std::string& path, const Model& model) {
  NamedTensors tensors;
  for (const auto& [place, variable] : keras_weight_paths(model)) tensors.emplace(place, variable.value());
  if (const std::optional<NamedTensors> state = state_of_optimizer(model)) {
    const OptimizerLayout layout(*state);
    for (const auto& [name, tensor] : *state) {
      tensors.emplace(layout.path(name), name == "learning_rate" ? cast(tensor, float32) : tensor);
    }
  }
  io::write_hdf5("save_weights", path, tensors);
}

}  // namespace capstan::detail
