#include "src/checkpoint/legacy_weights.h"

#include "capstan/ops/math.h"
#include "src/checkpoint/keras_attributes.h"
#include "src/io/byte_source.h"
#include "src/io/keras_archive.h"
#include "src/train/layer_state.h"

namespace capstan::detail {

namespace {

// A list that is too long for one attribute is in several, "layer_names0" and so on.
std::vector<std::string> list_of(const io::Hdf5Texts& texts, const std::string& group, const std::string& name) {
  const std::string key = group + "@" + name;
  if (const auto found = texts.find(key); found != texts.end()) return found->second;
  std::vector<std::string> all;
  for (int i = 0;; ++i) {
    const auto found = texts.find(key + std::to_string(i));
    if (found == texts.end()) return all;
    all.insert(all.end(), found->second.begin(), found->second.end());
  }
}

class LegacyFile {
 public:
  LegacyFile(const char* reader, const std::map<std::string, Tensor>& stored, const io::Hdf5Texts& texts,
             const std::string& path)
      : reader_(reader), stored_(stored), texts_(texts), path_(path) {
    if (!list("model_weights", "layer_names").empty()) root_ = "model_weights";
  }

  // The datasets of each layer that has some, in order, and the names of these layers.
  std::vector<std::vector<std::string>> layers(std::vector<std::string>& with_weights) const {
    const std::vector<std::string> names = list(root_, "layer_names");
    if (names.empty()) {
      io::fail_file(reader_, "it has no list of layers, which Keras writes as layer_names", path_,
                    "weights that Keras 3 wrote are in a file that ends with .weights.h5");
    }
    std::vector<std::vector<std::string>> all;
    for (const std::string& name : names) {
      std::vector<std::string> datasets = datasets_of(name);
      if (datasets.empty()) continue;
      all.push_back(std::move(datasets));
      with_weights.push_back(name);
    }
    return all;
  }
  // Those of the model itself.
  std::vector<std::string> top_level() const { return datasets_of("top_level_model_weights"); }

 private:
  std::vector<std::string> list(const std::string& group, const std::string& name) const {
    return list_of(texts_, group, name);
  }

  std::vector<std::string> datasets_of(const std::string& layer) const {
    const std::string group = name_within(root_, layer);
    std::vector<std::string> datasets;
    for (const std::string& name : list(group, "weight_names")) {
      const std::string& dataset = datasets.emplace_back(name_within(group, name));
      if (stored_.contains(dataset)) continue;
      io::fail_file(reader_, "a layer has the weight " + io::in_quotes(dataset) + ", which is not there", path_,
                    io::kFetchAgain);
    }
    return datasets;
  }

  const char* reader_;
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

// Options of optimizers of Keras 2 that mean nothing as they are mostly written. A decay of the rate stays, and is an
// unknown option.
AttributeValue without_old_options(AttributeValue optimizer) {
  const AttributeValue* const given = optimizer.find("config");
  if (given == nullptr || given->kind != AttributeValue::Kind::kMap) return optimizer;
  AttributeValue config = *given;
  std::erase_if(config.items, [](const auto& item) {
    const auto& [name, value] = item;
    return (name == "decay" && value.is_number() && value.number == 0) || name == "is_legacy_optimizer" ||
           name == "jit_compile";
  });
  optimizer.set("config", std::move(config));
  return optimizer;
}

}  // namespace

KerasWeights match_legacy_weights(const char* reader, const std::map<std::string, Tensor>& stored,
                                  const io::Hdf5Texts& texts, const std::string& path, const Model& model,
                                  const std::vector<std::pair<std::string, Variable>>& weights, LayerNames layers) {
  const LegacyFile file(reader, stored, texts, path);
  std::vector<std::string> their_names, own_names;
  std::vector<std::vector<std::string>> theirs = file.layers(their_names);
  std::vector<std::vector<Variable>> own;
  for (const Layer& layer : model.layers()) {
    std::vector<Variable> all = weights_of(layer);
    if (all.empty()) continue;
    own.push_back(std::move(all));
    own_names.push_back(layer.name());
  }
  if (layers == LayerNames::kAreTheModels && their_names != own_names) {
    io::fail_file(reader, "the layers that have weights are not those of the configuration, or in another order", path,
                  io::kFetchAgain);
  }
  std::vector<Variable>& top_level = own.emplace_back();
  for (const Weight& weight : LayerState::of(model).weights) top_level.push_back(weight.variable);
  theirs.push_back(file.top_level());

  std::map<const void*, std::string> names;
  for (const auto& [name, variable] : weights) names.emplace(variable.state(), name);
  KerasWeights saved{io::NamedArrays(path, reader)};
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

AttributeValue legacy_config(const char* reader, const io::Hdf5Texts& texts, const std::string& path) {
  const std::vector<std::string> model = list_of(texts, "", "model_config");
  if (model.size() != 1) {
    io::fail_file(reader, "it has no configuration of a model, which Keras writes as model_config", path,
                  "load_weights() takes over the weights of such a file");
  }
  AttributeValue config = AttributeValue::from_json(model[0]);
  const std::vector<std::string> training = list_of(texts, "", "training_config");
  if (training.size() != 1) return config;
  const AttributeValue written = AttributeValue::from_json(training[0]);
  AttributeValue compiled = AttributeValue::map();
  for (const char* key :
       {"loss", "loss_weights", "metrics", "weighted_metrics", "run_eagerly", "steps_per_execution"}) {
    if (const AttributeValue* const value = written.find(key)) compiled.set(key, *value);
  }
  if (const AttributeValue* const optimizer = written.find("optimizer_config")) {
    compiled.set("optimizer", without_old_options(*optimizer));
  }
  config.set("compile_config", compiled);
  return config;
}

NamedTensors legacy_optimizer(const std::map<std::string, Tensor>& stored, const io::Hdf5Texts& texts,
                              const Model& model) {
  const std::string group = "optimizer_weights";
  const std::vector<std::string> names = list_of(texts, group, "weight_names");
  if (names.empty() || !names[0].ends_with("/iteration")) return {};
  KerasOptimizer optimizer;
  for (const std::string& name : names) {
    const auto found = stored.find(name_within(group, name));
    if (found == stored.end()) break;
    // Those after the first four are of the inner one, if there is one.
    if (optimizer.variables.size() >= 4) optimizer.inner.push_back(found->second);
    optimizer.variables.push_back(found->second);
  }
  return state_of_keras_optimizer(optimizer, model);
}

LegacyModel legacy_model(const Model& model, const AttributeValue& config, bool include_optimizer) {
  LegacyModel file;
  auto& [texts, lists] = file.attributes;
  // The lists of a group and its tensors. Names that are there twice get a number.
  const auto add_group = [&](const std::string& group, const std::vector<std::pair<std::string, Tensor>>& weights) {
    std::vector<std::string>& names = lists[group + "@weight_names"];
    for (const auto& [name, tensor] : weights) {
      std::string own = name;
      for (int i = 1; !file.tensors.emplace(name_within(group, own), tensor).second; ++i) {
        own = name + "_" + std::to_string(i);
      }
      names.push_back(own);
    }
  };
  const auto named = [](std::span<const Variable> variables) {
    std::vector<std::pair<std::string, Tensor>> all;
    for (const Variable& variable : variables) all.emplace_back(variable.path(), variable.value());
    return all;
  };
  AttributeValue own = AttributeValue::map();
  for (const char* key : {"class_name", "config"}) own.set(key, *config.find(key));
  texts["@model_config"] = own.to_json();
  for (const char* group : {"", "model_weights"}) {
    texts[std::string(group) + "@keras_version"] = io::kKerasVersion;
    texts[std::string(group) + "@backend"] = "tensorflow";
  }
  std::vector<std::string>& layers = lists["model_weights@layer_names"];
  for (const Layer& layer : model.layers()) {
    layers.push_back(layer.name());
    add_group(name_within("model_weights", layer.name()), named(weights_of(layer)));
  }
  std::vector<Variable> top_level;
  for (const Weight& weight : LayerState::of(model).weights) top_level.push_back(weight.variable);
  add_group("model_weights/top_level_model_weights", named(top_level));

  const AttributeValue* const compiled = config.find("compile_config");
  const AttributeValue* const optimizer = compiled == nullptr ? nullptr : compiled->find("optimizer");
  if (!include_optimizer || optimizer == nullptr) return file;
  AttributeValue training = *compiled, optimizer_config = AttributeValue::map();
  std::erase_if(training.items, [](const auto& item) { return item.first == "optimizer"; });
  for (const char* key : {"class_name", "config"}) {
    if (const AttributeValue* const value = optimizer->find(key)) optimizer_config.set(key, *value);
  }
  training.set("optimizer_config", optimizer_config);
  texts["@training_config"] = training.to_json();
  const std::vector<Tensor> variables = keras_optimizer_of(model).variables;
  std::vector<std::pair<std::string, Tensor>> numbered;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    numbered.emplace_back("optimizer/" + (i == 0 ? "iteration" : "variable_" + std::to_string(i)), variables[i]);
  }
  if (!numbered.empty()) add_group("optimizer_weights", numbered);
  return file;
}

}  // namespace capstan::detail
