#include "src/checkpoint/tensorflow_match.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <unordered_map>

#include "capstan/models.h"
#include "src/checkpoint/keras_attributes.h"
#include "src/checkpoint/keras_optimizer.h"
#include "src/core/check.h"
#include "src/io/byte_source.h"
#include "src/train/layer_state.h"
#include "src/train/named_state.h"
#include "src/train/optimizer_state.h"

namespace capstan::detail {

namespace {

using io::TrackableNode;

// Objects of the program that only know names may lie so deep.
constexpr int kDeepest = 64;

bool has_weights(const Layer& layer) { return !layer.weights().empty(); }

// The graph of a file, with what is asked of it.
class ObjectFile {
 public:
  ObjectFile(const std::string& reader, const std::string& prefix, const std::vector<TrackableNode>& nodes,
             const io::TensorBundle& bundle)
      : reader_(reader), prefix_(prefix), nodes_(nodes), bundle_(bundle), has_values_(nodes.size()) {
    find_values();
  }

  const std::vector<std::pair<std::string, std::size_t>>& children(std::size_t node) const {
    return nodes_[node].children;
  }
  std::optional<std::size_t> child(std::size_t node, std::string_view name) const {
    for (const auto& [own, number] : nodes_[node].children) {
      if (own == name) return number;
    }
    return {};
  }
  // A weight "kernel" may be kept under "_kernel", whatever version wrote it.
  std::optional<std::size_t> child_like(std::size_t node, const std::string& attribute, const std::string& name) const {
    for (const std::string& one : {attribute, name, "_" + name}) {
      if (const auto found = child(node, one)) return found;
    }
    return {};
  }

  // The elements of a list, in order, or the children that are called by a text and a number.
  std::vector<std::size_t> list(std::size_t node, std::string_view prefix = "") const {
    std::vector<std::pair<std::uint32_t, std::size_t>> numbered;
    for (const auto& [name, child] : nodes_[node].children) {
      if (!name.starts_with(prefix)) continue;
      std::uint32_t number = 0;
      const char* const last = name.data() + name.size();
      const auto [end, error] = std::from_chars(name.data() + prefix.size(), last, number);
      if (error == std::errc() && end == last) numbered.emplace_back(number, child);
    }
    std::sort(numbered.begin(), numbered.end());
    std::vector<std::size_t> result;
    for (const auto& [number, child] : numbered) result.push_back(child);
    return result;
  }

  // Whether it is a variable or leads to one.
  bool has_values(std::size_t node) const { return has_values_[node]; }
  bool is_variable(std::size_t node) const { return key(node) != nullptr; }

  // The value of a variable, which counts as taken; nothing for another object, and for texts.
  std::optional<Tensor> take(std::size_t node) {
    const std::string* const own = key(node);
    if (own == nullptr) return {};
    const auto found = bundle_.tensors.find(*own);
    if (found == bundle_.tensors.end()) {
      if (bundle_.texts.contains(*own)) return {};
      io::fail_file(reader_, "an object has the tensor " + io::in_quotes(*own) + ", which is not there",
                    prefix_ + ".index");
    }
    taken_.insert(*own);
    return found->second;
  }
  std::optional<Tensor> take(std::size_t node, std::string_view name) {
    const std::optional<std::size_t> found = child(node, name);
    return found ? take(*found) : std::nullopt;
  }
  bool is_taken(const std::string& key) const { return taken_.contains(key); }
  bool has_taken() const { return !taken_.empty(); }

 private:
  const std::string* key(std::size_t node) const {
    for (const io::TrackableAttribute& one : nodes_[node].attributes) {
      if (one.name == io::kVariableValue) return &one.key;
    }
    return nullptr;
  }

  // From the variables upwards.
  void find_values() {
    std::vector<std::vector<std::size_t>> parents(nodes_.size());
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const auto& [name, child] : nodes_[i].children) parents[child].push_back(i);
      if (is_variable(i)) {
        has_values_[i] = true;
        open.push_back(i);
      }
    }
    while (!open.empty()) {
      const std::size_t node = open.back();
      open.pop_back();
      for (const std::size_t parent : parents[node]) {
        if (has_values_[parent]) continue;
        has_values_[parent] = true;
        open.push_back(parent);
      }
    }
  }

  const std::string& reader_;
  const std::string& prefix_;
  const std::vector<TrackableNode>& nodes_;
  const io::TensorBundle& bundle_;
  std::vector<bool> has_values_;
  std::set<std::string> taken_;
};

class ObjectMatcher {
 public:
  explicit ObjectMatcher(ObjectFile& file) : file_(file) {}

  // Finds what layers, models and optimizers have; the others are found when they are taken.
  void find(const std::string& name, const State& state) {
    const std::optional<std::size_t> node = file_.child(0, name);
    if (!node) return;
    const StateOwner owner = state.owner();
    if (owner.layer != nullptr) find_layer(*owner.layer, *node);
    if (owner.optimizer != nullptr) optimizers_.emplace(&OptimizerState::of(*owner.optimizer), *node);
  }

  // Variables that no attribute led to, in the order in which an optimizer trains them.
  void find_trained(const std::string& name, const Optimizer& optimizer, const std::vector<Variable>& trainable) {
    const auto found = optimizers_.find(&OptimizerState::of(optimizer));
    const std::optional<std::size_t> node = found != optimizers_.end() ? found->second : file_.child(0, name);
    const std::optional<std::size_t> list = node ? file_.child(*node, "_trainable_variables") : std::nullopt;
    if (!list) return;
    const OptimizerState& state = OptimizerState::of(optimizer).updating();
    const std::vector<Variable> trained = state.is_built() ? state.targets() : trainable;
    const std::vector<std::size_t> nodes = file_.list(*list);
    if (nodes.size() != trained.size()) return;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!places_.contains(nodes[i])) find_variable(trained[i], nodes[i]);
    }
  }

  NamedTensors take(const std::string& name, const State& state) {
    const StateOwner owner = state.owner();
    if (owner.layer != nullptr) return take_layer(*owner.layer, state);
    if (owner.optimizer != nullptr) return take_optimizer(*owner.optimizer);
    const std::optional<std::size_t> node = file_.child(0, name);
    if (!node) return {};
    NamedTensors taken;
    if (owner.number) {
      if (const std::optional<Tensor> value = file_.take(*node)) {
        taken.emplace("", with_dtype(*value, is_integer(*owner.number) ? int64 : float64));
      }
    } else if (state.is_comparable()) {
      for (const auto& [path, own] : state.save()) take_path(*node, path, taken);
    } else {
      opened_.clear();
      take_all(*node, "", 0, taken);
    }
    return taken;
  }

 private:
  void find_variable(const Variable& variable, std::size_t node) {
    if (variables_.emplace(variable.state(), node).second) places_.insert(node);
  }

  void find_layer(const Layer& layer, std::size_t node) {
    const LayerState& its = LayerState::of(layer);
    if (!layers_.emplace(its.id, node).second) return;
    const std::string_view type = its.type_name;
    const std::optional<std::size_t> functional = file_.child(node, "_functional");
    const std::optional<std::size_t> operations = file_.child(functional.value_or(node), "_operations");
    if (type == "Sequential" || type == "Functional") {
      if (operations) find_operations(layer, file_.list(*operations));
      if (!operations) find_in_order(its.sublayers, file_.list(node, "layer_with_weights-"));  // of Keras 2
    } else {
      find_members(layer, node);
    }
    if (its.model == nullptr) return;
    const Model model(layer);
    const std::optional<std::size_t> optimizer = file_.child(node, "optimizer");
    if (optimizer && model.is_compiled()) optimizers_.emplace(&OptimizerState::of(model.optimizer()), *optimizer);
  }

  // Pairs those with weights with nodes that lead to variables, if they are as many.
  bool find_in_order(const std::vector<Layer>& layers, std::vector<std::size_t> nodes) {
    std::vector<const Layer*> own;
    for (const Layer& layer : layers) {
      if (has_weights(layer)) own.push_back(&layer);
    }
    std::erase_if(nodes, [&](std::size_t node) { return !file_.has_values(node); });
    if (own.size() != nodes.size()) return false;
    for (std::size_t i = 0; i < own.size(); ++i) find_layer(*own[i], nodes[i]);
    return true;
  }

  // TensorFlow does not find the weights of every layer: not those of a list of cells. Then all layers count.
  void find_operations(const Layer& model, const std::vector<std::size_t>& nodes) {
    const std::vector<Layer>& layers = model.sublayers();
    if (find_in_order(layers, nodes)) return;
    const std::size_t inputs = LayerState::of(model).type_name == std::string_view("Sequential") ? 1 : 0;
    if (nodes.size() != inputs + layers.size()) return;
    for (std::size_t i = 0; i < layers.size(); ++i) find_layer(layers[i], nodes[inputs + i]);
  }

  void find_members(const Layer& layer, std::size_t node) {
    const LayerState& its = LayerState::of(layer);
    const std::string_view type = its.type_name;
    const std::span<const std::string_view> attributes = sublayer_attributes(type);
    std::set<std::size_t> found;
    std::vector<Variable> weights;
    std::vector<Layer> sublayers;
    std::map<std::string, int> counts;
    for (const Weight& weight : its.weights) {
      const std::string name = number_name(weight.variable.name(), counts);
      const auto child = file_.child_like(node, weight_attribute(type, name), name);
      if (child) {
        found.insert(*child);
        find_variable(weight.variable, *child);
      } else {
        weights.push_back(weight.variable);
      }
    }
    const std::optional<std::size_t> list = file_.child(node, type == "StackedRNNCells" ? "cells" : "layers");
    for (std::size_t i = 0; i < its.sublayers.size(); ++i) {
      const Layer& sublayer = its.sublayers[i];
      const std::string counted = number_name(keras_class_name(sublayer), counts);
      std::optional<std::size_t> child;
      if (i < attributes.size()) {
        child = file_.child_like(node, tensorflow_attribute(type, attributes[i]), std::string(attributes[i]));
      } else if (is_own_class(layer)) {
        child = file_.child(node, has_given_name(sublayer) ? sublayer.name() : counted);
      } else if (list) {
        child = file_.child(*list, std::to_string(i));
      }
      if (child) {
        found.insert(*child);
        find_layer(sublayer, *child);
      } else {
        sublayers.push_back(sublayer);
      }
    }
    if (!is_own_class(layer)) return;
    std::vector<std::size_t> variables, objects;
    for (const auto& [name, child] : file_.children(node)) {
      if (name == "optimizer" || !found.insert(child).second) continue;
      (file_.is_variable(child) ? variables : objects).push_back(child);
    }
    if (variables.size() == weights.size()) {
      for (std::size_t i = 0; i < weights.size(); ++i) find_variable(weights[i], variables[i]);
    }
    find_in_order(sublayers, objects);
  }

  // The names of a layer here; the keys of what it draws are not in the file, and stay.
  NamedTensors take_layer(const Layer& layer, const State& state) {
    NamedTensors taken, own = state.save();
    for (const auto& [name, variable] : named_weights(layer)) {
      own.erase(name);
      const auto found = variables_.find(variable.state());
      const std::optional<Tensor> value = found == variables_.end() ? std::nullopt : file_.take(found->second);
      if (value) taken.emplace(name, *value);
    }
    taken.merge(own);
    return taken;
  }

  NamedTensors take_optimizer(const Optimizer& optimizer) {
    OptimizerState& state = OptimizerState::of(optimizer);
    const auto found = optimizers_.find(&state);
    if (found == optimizers_.end()) return {};
    std::size_t node = found->second;
    NamedTensors scaling;
    if (state.scaling() != nullptr) {
      if (const auto steps = file_.take(node, "step_counter")) scaling.emplace("good_steps", with_dtype(*steps, int64));
      if (const auto scale = file_.take(node, "dynamic_scale")) scaling.emplace("scale", *scale);
      // Its own count and rate, which say nothing.
      file_.take(node, "_iterations");
      file_.take(node, "_learning_rate");
      const std::optional<std::size_t> inner = file_.child(node, "inner_optimizer");
      if (!inner) return scaling;
      node = *inner;
    }
    const std::optional<Tensor> iterations = file_.take(node, "_iterations");
    if (!iterations) return scaling;
    const std::optional<std::size_t> rate_node = file_.child(node, "_learning_rate");
    std::optional<Tensor> rate;
    // One that a schedule stands for here is left over.
    const bool has_schedule = state.updating().settings.learning_rate.is_schedule();
    if (rate_node && !has_schedule) rate = file_.take(*rate_node);
    if (has_schedule) file_.take(node, "_current_learning_rate");  // of Keras 2
    NamedTensors taken = optimizer_state(optimizer, *iterations, rate, slots_of(optimizer, node));
    taken.merge(scaling);
    return taken;
  }

  // The variables of an optimizer but for its count and rate, and what has no slot here.
  std::vector<Tensor> slots_of(const Optimizer& optimizer, std::size_t node) {
    std::set<std::size_t> others;
    for (const char* name : {"_iterations", "_learning_rate", "_u_product"}) {
      if (const auto child = file_.child(node, name)) others.insert(*child);
    }
    file_.take(node, "_u_product");  // of Nadam
    // Keras 2 has them without a momentum, too.
    const AttributeValue momentum = optimizer_option(optimizer, "momentum");
    const std::optional<std::size_t> unused = file_.child(node, "momentums");
    if (unused && momentum.is_number() && momentum.number == 0) {
      for (const std::size_t child : file_.list(*unused)) {
        others.insert(child);
        file_.take(child);
      }
    }
    std::vector<Tensor> slots;
    const std::optional<std::size_t> list = file_.child(node, "_variables");
    for (const std::size_t child : list ? file_.list(*list) : std::vector<std::size_t>()) {
      if (others.contains(child)) continue;
      if (const std::optional<Tensor> slot = file_.take(child)) slots.push_back(*slot);
    }
    return slots;
  }

  // "a/b" is `b` in `a`.
  void take_path(std::size_t node, const std::string& path, NamedTensors& taken) {
    for (std::size_t begin = 0; begin < path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const std::optional<std::size_t> child = file_.child(node, path.substr(begin, end - begin));
      if (!child) return;
      node = *child;
      begin = end + 1;
    }
    if (const std::optional<Tensor> value = file_.take(node)) taken.emplace(path, *value);
  }

  // All that is below, for an object that alone knows what it can take.
  void take_all(std::size_t node, const std::string& path, int depth, NamedTensors& taken) {
    if (depth > kDeepest || !opened_.insert(node).second) return;
    if (const std::optional<Tensor> value = file_.take(node)) taken.emplace(path, *value);
    for (const auto& [name, child] : file_.children(node)) {
      take_all(child, name_within(path, name), depth + 1, taken);
    }
  }

  ObjectFile& file_;
  std::unordered_map<std::uint64_t, std::size_t> layers_;
  std::unordered_map<const void*, std::size_t> variables_;
  std::set<std::size_t> places_;  // of the variables
  std::unordered_map<const OptimizerState*, std::size_t> optimizers_;
  std::set<std::size_t> opened_;
};

// The variables of the models, if there is only one.
std::vector<Variable> trainable_of(const std::vector<std::pair<std::string, State>>& objects) {
  const Layer* only = nullptr;
  for (const auto& [name, state] : objects) {
    const Layer* const layer = state.owner().layer;
    if (layer == nullptr) continue;
    if (only != nullptr) return {};
    only = layer;
  }
  return only == nullptr ? std::vector<Variable>() : only->trainable_variables();
}

}  // namespace

MatchedObjects match_tensorflow_objects(const std::string& reader, const std::string& prefix,
                                        const std::vector<TrackableNode>& nodes, const io::TensorBundle& bundle,
                                        const std::vector<std::pair<std::string, State>>& objects) {
  MatchedObjects matched;
  if (nodes.empty()) return matched;
  ObjectFile file(reader, prefix, nodes, bundle);
  ObjectMatcher matcher(file);
  for (const auto& [name, state] : objects) matcher.find(name, state);
  const std::vector<Variable> trainable = trainable_of(objects);
  for (const auto& [name, state] : objects) {
    const Optimizer* const optimizer = state.owner().optimizer;
    if (optimizer != nullptr) matcher.find_trained(name, *optimizer, trainable);
  }
  for (const auto& [object, state] : objects) {
    for (auto& [name, tensor] : matcher.take(object, state)) {
      matched.tensors.emplace(name_within(object, name), tensor);
    }
  }
  matched.has_any = file.has_taken();
  if (const std::optional<Tensor> counter = file.take(0, "save_counter")) {
    matched.tensors.emplace("save_counter", with_dtype(*counter, int64));
  }
  for (const auto& [key, tensor] : bundle.tensors) {
    if (!file.is_taken(key)) matched.left_over.push_back(join("\"", key, "\", ", describe(tensor)));
  }
  for (const auto& [key, texts] : bundle.texts) {
    // The graph, and how objects are made, which Keras 2 also writes.
    if (key == io::kObjectGraphKey || key.ends_with("/OBJECT_CONFIG_JSON")) continue;
    matched.left_over.push_back(join("\"", key, "\", texts"));
  }
  return matched;
}

}  // namespace capstan::detail
