#include "src/checkpoint/tensorflow_objects.h"

#include <algorithm>
#include <unordered_map>

#include "capstan/models.h"
#include "capstan/ops/math.h"
#include "src/checkpoint/keras_attributes.h"
#include "src/checkpoint/keras_operations.h"
#include "src/checkpoint/keras_optimizer.h"
#include "src/train/layer_state.h"
#include "src/train/named_state.h"
#include "src/train/optimizer_state.h"

namespace capstan::detail {

namespace {

using io::TrackableNode;

Tensor counted(std::int64_t number) { return constant(std::span<const std::int64_t>(&number, 1), Shape()); }

class ObjectWriter {
 public:
  void add(const std::string& name, const State& state) {
    const StateOwner owner = state.owner();
    const NamedTensors saved = state.save();
    if (owner.layer != nullptr) return add_layer(0, name, name, *owner.layer);
    if (owner.optimizer != nullptr) return add_optimizer(0, name, name, *owner.optimizer);
    if (owner.number) {
      add_value(0, name, name, cast(saved.at(""), *owner.number));
      return;
    }
    for (const auto& [path, tensor] : saved) add_path(name_within(name, path), tensor);
  }

  TensorflowObjects finish() {
    // Now every variable that has a place among the objects has it.
    for (const auto& [node, optimizer] : optimizer_nodes_) {
      const std::size_t list = add_child(node, "_trainable_variables");
      const std::vector<Variable> targets = optimizer->updating().targets();
      for (std::size_t i = 0; i < targets.size(); ++i) {
        const auto known = variables_.find(targets[i].state());
        if (known != variables_.end()) link(list, std::to_string(i), known->second);
      }
    }
    io::set_keys(result_.nodes);
    for (const auto& [node, tensor] : values_) result_.tensors.emplace(result_.nodes[node].attributes[0].key, tensor);
    return std::move(result_);
  }

  std::size_t add_value(std::size_t parent, const std::string& name, const std::string& full_name,
                        const Tensor& tensor) {
    const std::size_t node = add_child(parent, name);
    set_value(node, full_name, tensor);
    return node;
  }

 private:
  void set_value(std::size_t node, const std::string& full_name, const Tensor& tensor) {
    result_.nodes[node].attributes = {{.full_name = full_name}};
    values_.emplace_back(node, tensor);
  }
  void link(std::size_t parent, const std::string& name, std::size_t child) {
    result_.nodes[parent].children.emplace_back(name, child);
  }
  std::size_t add_child(std::size_t parent, const std::string& name) {
    link(parent, name, result_.nodes.size());
    result_.nodes.emplace_back();
    return result_.nodes.size() - 1;
  }

  // A tensor of an object of which only names are known: "a/b" is `b` in `a`.
  void add_path(const std::string& path, const Tensor& tensor) {
    std::size_t node = 0;
    for (std::size_t begin = 0; begin < path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const auto [known, is_new] = groups_.emplace(path.substr(0, end), 0);
      if (is_new) known->second = add_child(node, path.substr(begin, end - begin));
      node = known->second;
      begin = end + 1;
    }
    set_value(node, path, tensor);
  }

  // Adds an object, or the one that it already is; then what is in it.
  template <class Id>
  std::size_t add_once(std::unordered_map<Id, std::size_t>& known, Id id, std::size_t parent, const std::string& name,
                       bool& is_new) {
    const auto [found, inserted] = known.emplace(id, result_.nodes.size());
    is_new = inserted;
    if (inserted) return add_child(parent, name);
    link(parent, name, found->second);
    return found->second;
  }

  void add_variable(std::size_t parent, const std::string& name, const std::string& full_name,
                    const Variable& variable) {
    const auto [found, is_new] = variables_.emplace(variable.state(), result_.nodes.size());
    if (!is_new) return link(parent, name, found->second);
    add_value(parent, name, full_name, State(variable).save().at(""));
  }

  void add_layer(std::size_t parent, const std::string& name, const std::string& path, const Layer& layer) {
    const LayerState& its = LayerState::of(layer);
    const std::string_view type = its.type_name;
    bool is_new = false;
    const std::size_t node = add_once(layers_, its.id, parent, name, is_new);
    if (!is_new) return;
    std::map<std::string, int> counts;
    for (const Weight& weight : its.weights) {
      const std::string weight_name = number_name(weight.variable.name(), counts);
      add_variable(node, weight_attribute(type, weight_name), name_within(path, weight_name), weight.variable);
    }
    if (type == "Sequential" || type == "Functional") {
      const std::size_t list = add_child(type == "Sequential" ? add_child(node, "_functional") : node, "_operations");
      const std::vector<std::size_t> places = operation_places(layer);
      for (std::size_t i = 0; i < places.size(); ++i) {
        add_layer(list, std::to_string(places[i]), name_within(path, its.sublayers[i].name()), its.sublayers[i]);
      }
    } else {
      add_sublayers(node, path, layer, counts);
    }
    if (its.model == nullptr) return;
    const Model model(layer);
    if (model.is_compiled()) add_optimizer(node, "optimizer", path + "/optimizer", model.optimizer());
  }

  void add_sublayers(std::size_t node, const std::string& path, const Layer& layer,
                     std::map<std::string, int>& counts) {
    const LayerState& its = LayerState::of(layer);
    const std::string_view type = its.type_name;
    const std::span<const std::string_view> attributes = sublayer_attributes(type);
    std::size_t list = 0;
    for (std::size_t i = 0; i < its.sublayers.size(); ++i) {
      const Layer& sublayer = its.sublayers[i];
      const std::string counted = number_name(keras_class_name(sublayer), counts);
      std::size_t parent = node;
      std::string name = has_given_name(sublayer) ? sublayer.name() : counted;
      if (i < attributes.size()) {
        name = tensorflow_attribute(type, attributes[i]);
      } else if (!is_own_class(layer)) {
        if (list == 0) list = add_child(node, type == "StackedRNNCells" ? "cells" : "layers");
        parent = list;
        name = std::to_string(i);
      }
      add_layer(parent, name, name_within(path, name), sublayer);
    }
  }

  void add_optimizer(std::size_t parent, const std::string& name, const std::string& path, const Optimizer& optimizer) {
    OptimizerState& state = OptimizerState::of(optimizer);
    bool is_new = false;
    const std::size_t node = add_once(optimizers_, &state, parent, name, is_new);
    if (!is_new) return;
    optimizer_nodes_.emplace_back(node, &state);
    const std::vector<Tensor> variables = keras_variables(optimizer);
    const bool has_rate = !state.updating().settings.learning_rate.is_schedule();
    if (state.scaling() == nullptr) {
      add_optimizer_variables(node, path, variables, has_rate);
      return;
    }
    // Its own count and rate stay as they are made.
    const NamedTensors saved = State(optimizer).save();
    const std::vector<Tensor> own = {counted(0), constant(0.0f), saved.at("good_steps"), saved.at("scale")};
    const std::vector<std::size_t> nodes = add_optimizer_variables(node, path, own, true);
    link(node, "step_counter", nodes[2]);
    link(node, "dynamic_scale", nodes[3]);
    const std::size_t inner = add_child(node, "inner_optimizer");
    optimizer_nodes_.emplace_back(inner, &state);
    add_optimizer_variables(inner, path + "/inner_optimizer", variables, has_rate);
  }

  std::vector<std::size_t> add_optimizer_variables(std::size_t node, const std::string& path,
                                                   const std::vector<Tensor>& variables, bool has_rate) {
    const std::size_t list = add_child(node, "_variables");
    std::vector<std::size_t> nodes;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const std::string name = std::to_string(i);
      nodes.push_back(add_value(list, name, name_within(path + "/variables", name), variables[i]));
    }
    link(node, "_iterations", nodes[0]);
    if (has_rate) link(node, "_learning_rate", nodes[1]);
    return nodes;
  }

  TensorflowObjects result_{std::vector<TrackableNode>(1), {}};
  std::vector<std::pair<std::size_t, Tensor>> values_;
  std::map<std::string, std::size_t> groups_;
  std::unordered_map<const void*, std::size_t> variables_;
  std::unordered_map<std::uint64_t, std::size_t> layers_;
  std::unordered_map<OptimizerState*, std::size_t> optimizers_;
  std::vector<std::pair<std::size_t, OptimizerState*>> optimizer_nodes_;
};

}  // namespace

TensorflowObjects tensorflow_objects(const std::vector<std::pair<std::string, State>>& objects,
                                     std::int64_t save_counter) {
  // As TensorFlow, by name.
  std::vector<const std::pair<std::string, State>*> sorted;
  for (const auto& object : objects) sorted.push_back(&object);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  ObjectWriter writer;
  for (const auto* object : sorted) writer.add(object->first, object->second);
  writer.add_value(0, "save_counter", "save_counter", counted(save_counter));
  return writer.finish();
}

}  // namespace capstan::detail
