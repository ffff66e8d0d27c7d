#include "src/checkpoint/legacy_weights.h"

#include "capstan/ops/math.h"
#include "src/checkpoint/keras_attributes.h"
#include "src/io/byte_source.h"
#include "src/train/layer_state.h"

namespace capstan::detail {

namespace {

constexpr const char kReader[] = "load_weights";

class LegacyFile {
 public:
  LegacyFile(const std::map<std::string, Tensor>& stored, const io::Hdf5Texts& texts, const std::string& path)
      : stored_(stored), texts_(texts), path_(path) {
    if (!list("model_weights", "layer_names").empty()) root_ = "model_weights";
  }

  // The datasets of each layer that has some, in order.
  std::vector<std::vector<std::string>> layers() const {
    const std::vector<std::string> names = list(root_, "layer_names");
    if (names.empty()) {
      io::fail_file(kReader, "it has no list of layers, which Keras writes as layer_names", path_,
                    "weights that Keras 3 wrote are in a file that ends with .weights.h5");
    }
    std::vector<std::vector<std::string>> all;
    for (const std::string& name : names) {
      std::vector<std::string> datasets = datasets_of(name);
      if (!datasets.empty()) all.push_back(std::move(datasets));
    }
    return all;
  }
  // Those of the model itself.
  std::vector<std::string> top_level() const { return datasets_of("top_level_model_weights"); }

 private:
  // A list that is too long for one attribute is in several, "layer_names0" and so on.
  std::vector<std::string> list(const std::string& group, const std::string& name) const {
    const std::string key = group + "@" + name;
    if (const auto found = texts_.find(key); found != texts_.end()) return found->second;
    std::vector<std::string> all;
    for (int i = 0;; ++i) {
      const auto found = texts_.find(key + std::to_string(i));
      if (found == texts_.end()) return all;
      all.insert(all.end(), found->second.begin(), found->second.end());
    }
  }

  std::vector<std::string> datasets_of(const std::string& layer) const {
    const std::string group = name_within(root_, layer);
    std::vector<std::string> datasets;
    for (const std::string& name : list(group, "weight_names")) {
      const std::string& dataset = datasets.emplace_back(name_within(group, name));
      if (stored_.contains(dataset)) continue;
      io::fail_file(kReader, "a layer has the weight " + io::in_quotes(dataset) + ", which is not there", path_,
                    io::kFetchAgain);
    }
    return datasets;
  }

  const std::map<std::string, Tensor>& stored_;
  const io::Hdf5Texts& texts_;
  const std::string& path_;
  std::string root_;
};

// In Keras's order: first what is trained.
std::vector<Variable> weights_of(const Layer& layer) {
  std::vector<Variable> all = layer.trainable_variables();
  const std::vector<Variable>& others = layer.non_trainable_variables();
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace

KerasWeights match_legacy_weights(const std::map<std::string, Tensor>& stored, const io::Hdf5Texts& texts,
                                  const std::string& path, const Model& model,
                                  const std::vector<std::pair<std::string, Variable>>& weights) {
  const LegacyFile file(stored, texts, path);
  std::vector<std::vector<std::string>> theirs = file.layers();
  std::vector<std::vector<Variable>> own;
  for (const Layer& layer : model.layers()) {
    if (std::vector<Variable> all = weights_of(layer); !all.empty()) own.push_back(std::move(all));
  }
  std::vector<Variable>& top_level = own.emplace_back();
  for (const Weight& weight : LayerState::of(model).weights) top_level.push_back(weight.variable);
  theirs.push_back(file.top_level());

  std::map<const void*, std::string> names;
  for (const auto& [name, variable] : weights) names.emplace(variable.state(), name);
  KerasWeights saved{io::NamedArrays(path, kReader)};
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const bool is_alike = theirs.size() == own.size() && theirs[i].size() == own[i].size();
    for (std::size_t j = 0; j < theirs[i].size(); ++j) {
      const Tensor& tensor = stored.at(theirs[i][j]);
      if (!is_alike) {
        saved.weights.emplace(theirs[i][j], tensor);
        continue;
      }
      const Variable& variable = own[i][j];
      const bool converts = is_floating(tensor.dtype()) && is_floating(variable.dtype());
      saved.weights.emplace(names.at(variable.state()), converts ? cast(tensor, variable.dtype()) : tensor);
    }
  }
  return saved;
}

}  // namespace capstan::detail
