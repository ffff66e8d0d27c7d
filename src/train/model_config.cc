#include "src/train/model_config.h"

#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "src/core/check.h"
#include "src/train/functional.h"
#include "src/train/layer_state.h"
#include "src/train/op_layer.h"

namespace capstan {

using detail::FunctionalGraph;
using detail::FunctionalPlace;
using detail::LayerState;
using detail::SymbolicCall;
using detail::SymbolicValue;
using Kind = AttributeValue::Kind;

namespace {

using Values = std::vector<AttributeValue>;
using Items = std::vector<std::pair<std::string, AttributeValue>>;

constexpr const char kTensor[] = "__keras_tensor__", kTuple[] = "__tuple__";

AttributeValue map_of(Items items) {
  AttributeValue map = AttributeValue::map();
  map.items = std::move(items);
  return map;
}

// --- Shapes, and what stands for an input ---

// Open lengths are null.
AttributeValue value_of(const Shape& shape) { return get_field(InputShape(shape)); }

AttributeValue input_layer(const std::string& name, const Shape& batch_shape, DType dtype) {
  AttributeValue config = map_of({{"batch_shape", value_of(batch_shape)},
                                  {"dtype", std::string(name_of(dtype))},
                                  {"sparse", false},
                                  {"ragged", false},
                                  {"name", name},
                                  {"optional", false}});
  return map_of({{"module", "keras.layers"},
                 {"class_name", "InputLayer"},
                 {"config", std::move(config)},
                 {"registered_name", AttributeValue()}});
}

struct DeclaredInput {
  Shape example;
  InputOptions options;
};

const AttributeValue& required(const AttributeValue& map, std::string_view key, Kind kind, std::string_view what) {
  const AttributeValue* const value = map.find(key);
  constexpr const char* kNames[] = {"nothing", "a truth", "a whole number", "a number", "a text", "a list", "a map"};
  CAPSTAN_CHECK(value != nullptr, ValueError, what, ": \"", key, "\" is missing");
  CAPSTAN_CHECK(value->kind == kind, ValueError, what, ": \"", key, "\" must be ", kNames[static_cast<int>(kind)],
                ", not ", value->to_string());
  return *value;
}

bool is_class(const AttributeValue& node, std::string_view name) {
  const AttributeValue* const value = node.find("class_name");
  return value != nullptr && value->text == name;
}

DeclaredInput declared_input(const AttributeValue& node) {
  const AttributeValue& config = required(node, "config", Kind::kMap, "InputLayer");
  const bool is_old = config.find("batch_shape") == nullptr;
  InputShape whole;
  set_field(whole, required(config, is_old ? "batch_input_shape" : "batch_shape", Kind::kList, "InputLayer"),
            "InputLayer", "batch_shape");
  const Shape& shape = whole.shape();
  CAPSTAN_CHECK(shape.rank() >= 1, ValueError, "InputLayer: the shape has no batch axis");
  for (const char* const key : {"sparse", "ragged"}) {
    const AttributeValue* const value = config.find(key);
    CAPSTAN_CHECK(value == nullptr || !value->truth, ValueError, "InputLayer: ", key, " inputs are not supported");
  }
  DeclaredInput input{Shape(std::vector<std::int64_t>(shape.begin() + 1, shape.end())), {}};
  if (shape[0] >= 0) input.options.batch_size = shape[0];
  if (const AttributeValue* const dtype = config.find("dtype"); dtype != nullptr && dtype->has_value()) {
    input.options.dtype = dtype_from_name(required(config, "dtype", Kind::kString, "InputLayer").text);
  }
  if (const AttributeValue* const name = config.find("name")) input.options.name = name->text;
  return input;
}

std::string name_in(const AttributeValue& config) {
  const AttributeValue* const name = config.find("name");
  return name == nullptr ? "" : name->text;
}

// The body of a model, which make() of its class gives. One that is not trainable keeps all of its layers so.
std::shared_ptr<Configurable> finished(const Model& model, const AttributeValue& config) {
  const AttributeValue* const trainable = config.find("trainable");
  if (trainable != nullptr && trainable->kind == Kind::kBool && !trainable->truth) model.set_trainable(false);
  return LayerState::of(model).self.lock();
}

// --- Sequential ---

std::shared_ptr<Configurable> make_sequential(const ClassInfo&, const AttributeValue& config) {
  std::vector<Layer> layers;
  const Values& nodes = required(config, "layers", Kind::kList, "Sequential").list;
  const AttributeValue* const built_for = config.find("build_input_shape");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (is_class(nodes[i], "InputLayer")) {
      CAPSTAN_CHECK(i == 0, ValueError, "Sequential: layer ", i, " is an InputLayer, which can only be the first one");
      layers.push_back(layers::InputLayer(declared_input(nodes[i]).example));
    } else {
      layers.push_back(layer_from(nodes[i]));
    }
  }
  const bool has_input = !nodes.empty() && is_class(nodes[0], "InputLayer");
  if (!has_input && !nodes.empty() && built_for != nullptr && built_for->has_value()) {
    InputShape whole;
    set_field(whole, *built_for, "Sequential", "build_input_shape");
    const Shape& shape = whole.shape();
    CAPSTAN_CHECK(shape.rank() >= 1, ValueError, "Sequential: \"build_input_shape\" has no batch axis");
    layers.insert(layers.begin(), layers::InputLayer(Shape(std::vector<std::int64_t>(shape.begin() + 1, shape.end()))));
  }
  return finished(Sequential(layers, name_in(config)), config);
}

// --- Writing a functional model ---

class FunctionalWriter {
 public:
  explicit FunctionalWriter(const Layer& model) : model_(model), graph_(*detail::functional_graph(model)) {
    for (const std::shared_ptr<const SymbolicCall>& call : graph_.calls) {
      std::vector<const SymbolicCall*>& calls = calls_[&LayerState::of(call->layer)];
      numbers_.emplace(call.get(), calls.size());
      calls.push_back(call.get());
    }
    detail::for_each_leaf(graph_.inputs, [&](const Tensor& tensor) { add_input(*detail::symbolic_value(tensor)); });
  }

  AttributeValue config() {
    Values layers;
    for (const FunctionalPlace& place : graph_.places) {
      layers.push_back(place.input.has_value() ? input_node(place.input) : layer_node(place.layer));
    }
    AttributeValue config = map_of({{"name", model_.name()}, {"trainable", model_.trainable()}});
    config.set("layers", std::move(layers));
    config.set("input_layers", ends(graph_.inputs));
    config.set("output_layers", ends(graph_.outputs));
    return config;
  }

 private:
  void add_input(const SymbolicValue& value) {
    std::string name = value.call->layer.name();
    if (value.call->inputs.has_value()) name += "_input";
    std::string unique = name;
    for (int i = 1; taken_.contains(unique); ++i) unique = name + "_" + std::to_string(i);
    taken_.insert(unique);
    inputs_.emplace(&value, unique);
  }

  AttributeValue input_node(const Tensor& tensor) const {
    const SymbolicValue& value = *detail::symbolic_value(tensor);
    const std::string& name = inputs_.at(&value);
    AttributeValue node = input_layer(name, value.shape, tensor.dtype());
    node.set("name", name);
    node.set("inbound_nodes", Values());
    return node;
  }

  // The name of the layer, the number of the call, the number of the tensor.
  Values history(const SymbolicValue& value) const {
    const auto input = inputs_.find(&value);
    if (input != inputs_.end()) return {input->second, 0, 0};
    return {value.call->layer.name(), static_cast<std::int64_t>(numbers_.at(value.call.get())),
            static_cast<std::int64_t>(value.index)};
  }

  AttributeValue tensor_node(const Tensor& tensor) const {
    const SymbolicValue* const value = detail::symbolic_value(tensor);
    CAPSTAN_CHECK(value != nullptr, ValueError, "get_config: \"", model_.name(),
                  "\" calls a layer on a tensor with data, which a configuration does not hold",
                  help("make it an input of the model"));
    AttributeValue config = map_of({{"shape", value_of(value->shape)},
                                    {"dtype", std::string(name_of(tensor.dtype()))},
                                    {"keras_history", history(*value)}});
    return map_of({{"class_name", kTensor}, {"config", std::move(config)}});
  }

  AttributeValue argument(const Nest& nest) const {
    if (!nest.has_value()) return {};
    if (nest.is_tensor()) return tensor_node(nest.tensor());
    Values values;
    for (const Nest& item : nest.items()) values.push_back(argument(item));
    if (nest.is_list()) return values;
    AttributeValue map = AttributeValue::map();
    for (std::size_t i = 0; i < values.size(); ++i) map.set(nest.keys()[i], std::move(values[i]));
    return map;
  }

  AttributeValue call_node(const SymbolicCall& call) const {
    Values args = {argument(call.inputs)};
    if (LayerState::of(call.layer).takes_each_tensor && call.inputs.is_list()) args = Values(std::move(args[0].list));
    AttributeValue kwargs = AttributeValue::map();
    const CallOptions& o = call.options;
    if (o.training.is_given()) kwargs.set("training", static_cast<bool>(o.training));
    if (o.mask.has_value()) kwargs.set("mask", argument(o.mask));
    if (o.initial_state.has_value()) kwargs.set("initial_state", argument(o.initial_state));
    if (o.attention_mask.has_value()) kwargs.set("attention_mask", tensor_node(o.attention_mask));
    if (o.use_causal_mask) kwargs.set("use_causal_mask", true);
    if (o.return_attention_scores) kwargs.set("return_attention_scores", true);
    return map_of({{"args", std::move(args)}, {"kwargs", std::move(kwargs)}});
  }

  AttributeValue layer_node(const Layer& layer) const {
    if (detail::is_op_layer(layer)) {
      const std::vector<Tensor> inputs = calls_.at(&LayerState::of(layer))[0]->inputs.tensors();
      return detail::op_node(layer, [&](std::size_t i) { return tensor_node(inputs.at(i)); });
    }
    AttributeValue node = serialize(layer);
    node.set("name", layer.name());
    Values nodes;
    for (const SymbolicCall* call : calls_.at(&LayerState::of(layer))) nodes.push_back(call_node(*call));
    node.set("inbound_nodes", std::move(nodes));
    return node;
  }

  // A functional model that is called counts its own graph as call 0, here but not above.
  AttributeValue end(const Tensor& tensor) const {
    const SymbolicValue& value = *detail::symbolic_value(tensor);
    Values place = history(value);
    if (!inputs_.contains(&value) && detail::functional_graph(value.call->layer)) {
      place[1] = place[1].integer + 1;
    }
    return place;
  }
  AttributeValue ends(const Nest& nest) const {
    if (nest.is_tensor()) return end(nest.tensor());
    Values values;
    for (const Nest& item : nest.items()) values.push_back(ends(item));
    if (nest.is_list()) return values;
    AttributeValue map = AttributeValue::map();
    for (std::size_t i = 0; i < values.size(); ++i) map.set(nest.keys()[i], std::move(values[i]));
    return map;
  }

  Layer model_;
  FunctionalGraph graph_;
  std::unordered_map<const LayerState*, std::vector<const SymbolicCall*>> calls_;
  std::unordered_map<const SymbolicCall*, std::size_t> numbers_;
  std::unordered_map<const SymbolicValue*, std::string> inputs_;
  std::unordered_set<std::string> taken_;
};

// --- Reading one ---

// Layers are called in any order in which what they take is there. A call that waits is in the list of the layer
// that it waits for and goes on with the argument that it had come to, so time is linear in the configuration.
class FunctionalReader {
 public:
  explicit FunctionalReader(const AttributeValue& config) : config_(config) {
    for (const AttributeValue& node : required(config, "layers", Kind::kList, "Functional").list) add(node);
    for (Entry& entry : entries_) {
      if (!entry.calls.empty()) ready_.push_back(&entry);
    }
    while (!ready_.empty()) {
      Entry& entry = *ready_.front();
      ready_.pop_front();
      run(entry);
    }
    for (const Entry& entry : entries_) {
      CAPSTAN_CHECK(entry.next == entry.calls.size(), ValueError, "Functional: call ", entry.next, " of \"", entry.name,
                    "\" takes what depends on it, or on a call that is not there");
    }
  }

  std::shared_ptr<Configurable> model() {
    const Nest inputs = ends(required_ends("input_layers")), outputs = ends(required_ends("output_layers"));
    return finished(Model(inputs, outputs, name_in(config_)), config_);
  }

 private:
  struct Entry;
  struct Place {
    Entry* entry;
    std::size_t call, index;
  };
  struct Entry {
    std::string name;
    Layer layer;  // an empty handle: an input
    bool is_functional = false, is_op = false;
    std::vector<const AttributeValue*> calls;
    std::size_t next = 0;                   // the call to be made
    std::vector<Place> needed;              // by the call to be made
    std::size_t at = 0;                     // what of it is there
    std::vector<std::vector<Tensor>> made;  // what calls gave
    std::vector<Entry*> waiting;            // for the next call of this one
  };

  void add(const AttributeValue& node) {
    const AttributeValue* name = node.find("name");
    const AttributeValue* const config = node.find("config");
    if (name == nullptr && config != nullptr) name = config->find("name");
    CAPSTAN_CHECK(name != nullptr && name->kind == Kind::kString, ValueError, "Functional: a layer has no name");
    Entry& entry = entries_.emplace_back();
    entry.name = name->text;
    CAPSTAN_CHECK(by_name_.emplace(entry.name, &entry).second, ValueError, "Functional: two layers have the name \"",
                  entry.name, "\"");
    if (is_class(node, "InputLayer")) {
      DeclaredInput input = declared_input(node);
      input.options.name = entry.name;
      entry.made.push_back({Input(InputShape(input.example), input.options)});
      return;
    }
    const Values& calls = required(node, "inbound_nodes", Kind::kList, entry.name).list;
    entry.is_op = detail::is_op_node(node);
    CAPSTAN_CHECK(!entry.is_op || calls.size() == 1, ValueError, "Functional: the op \"", entry.name, "\" has ",
                  calls.size(), " calls instead of one");
    entry.layer = layer_from(node);
    entry.is_functional = detail::functional_graph(entry.layer).has_value();
    for (const AttributeValue& call : calls) {
      CAPSTAN_CHECK(call.kind == Kind::kMap, ValueError, "Functional: \"", entry.name,
                    "\" is called as Keras 2 writes it, which is not supported",
                    help("load and save the model with Keras 3"));
      entry.calls.push_back(&call);
    }
  }

  Entry& named(const std::string& name) {
    const auto found = by_name_.find(name);
    CAPSTAN_CHECK(found != by_name_.end(), ValueError, "Functional: there is no layer \"", name, "\"");
    return *found->second;
  }

  Place place_of(const AttributeValue& history, bool is_end) {
    const bool fits = history.kind == Kind::kList && history.list.size() == 3 &&
                      history.list[0].kind == Kind::kString && history.list[1].kind == Kind::kInt &&
                      history.list[2].kind == Kind::kInt;
    CAPSTAN_CHECK(fits, ValueError, "Functional: a value must be [layer, call, tensor], not ", history.to_string());
    Entry& entry = named(history.list[0].text);
    const std::int64_t call = history.list[1].integer - (is_end && entry.is_functional ? 1 : 0);
    const std::int64_t index = history.list[2].integer;
    const auto calls = static_cast<std::int64_t>(entry.layer.has_value() ? entry.calls.size() : 1);
    CAPSTAN_CHECK(call >= 0 && call < calls && index >= 0, ValueError, "Functional: ", history.to_string(),
                  " is no value: \"", entry.name, "\" is called ", calls, " times");
    return {&entry, static_cast<std::size_t>(call), static_cast<std::size_t>(index)};
  }

  const Tensor& value(const Place& place) const {
    const std::vector<Tensor>& made = place.entry->made.at(place.call);
    CAPSTAN_CHECK(place.index < made.size(), ValueError, "Functional: \"", place.entry->name, "\" gives ", made.size(),
                  " tensors, so there is no tensor ", place.index);
    return made[place.index];
  }

  void find_needed(Entry& entry, const AttributeValue& argument) {
    if (is_class(argument, kTensor)) {
      const AttributeValue& config = required(argument, "config", Kind::kMap, kTensor);
      entry.needed.push_back(place_of(required(config, "keras_history", Kind::kList, kTensor), false));
      return;
    }
    for (const AttributeValue& item : argument.list) find_needed(entry, item);
    for (const auto& [key, item] : argument.items) find_needed(entry, item);
  }

  Nest nest_of(const AttributeValue& argument) {
    if (!argument.has_value()) return {};
    if (is_class(argument, kTensor)) {
      return value(place_of(*argument.find("config")->find("keras_history"), false));
    }
    if (is_class(argument, kTuple)) {
      const AttributeValue* const config = argument.find("config");
      return nest_of(required(config == nullptr ? argument : *config, "items", Kind::kList, kTuple));
    }
    std::vector<Nest> items;
    if (argument.kind == Kind::kList) {
      for (const AttributeValue& item : argument.list) items.push_back(nest_of(item));
      return Nest::list(std::move(items));
    }
    CAPSTAN_CHECK(argument.kind == Kind::kMap && !argument.find("class_name"), ValueError,
                  "an argument must be a value of the model, not ", argument.to_string());
    std::vector<std::string> keys;
    for (const auto& [key, item] : argument.items) {
      keys.push_back(key);
      items.push_back(nest_of(item));
    }
    return Nest::map(std::move(keys), std::move(items));
  }

  static bool truth_of(const AttributeValue& value, const std::string& key) {
    CAPSTAN_CHECK(value.kind == Kind::kBool, ValueError, "\"", key, "\" must be true or false, not ",
                  value.to_string());
    return value.truth;
  }

  std::vector<Tensor> make_call(const Layer& layer, const AttributeValue& call) {
    const Values& args = required(call, "args", Kind::kList, "a call").list;
    std::map<std::string, Nest> attended;
    std::vector<Nest> inputs;
    for (const AttributeValue& argument : args) inputs.push_back(nest_of(argument));
    CallOptions options;
    for (const auto& [key, value] : required(call, "kwargs", Kind::kMap, "a call").items) {
      if (!value.has_value()) continue;
      if (key == "training") {
        options.training = truth_of(value, key);
      } else if (key == "mask") {
        options.mask = nest_of(value);
      } else if (key == "initial_state") {
        options.initial_state = nest_of(value);
      } else if (key == "attention_mask") {
        options.attention_mask = nest_of(value).tensor();
      } else if (key == "use_causal_mask") {
        options.use_causal_mask = truth_of(value, key);
      } else if (key == "return_attention_scores") {
        options.return_attention_scores = truth_of(value, key);
      } else if (key == "query" || key == "value" || key == "key") {
        attended.emplace(key, nest_of(value));
      } else {
        CAPSTAN_CHECK(value.kind == Kind::kBool && !value.truth, ValueError, "the argument \"", key,
                      "\" is not supported");
      }
    }
    for (const char* const key : {"query", "value", "key"}) {
      if (attended.contains(key)) inputs.push_back(attended.at(key));
    }
    // What a recurrent layer is given second is its state.
    const bool has_state = inputs.size() == 2 && !options.initial_state.has_value() && is_recurrent(layer);
    if (has_state) {
      options.initial_state = inputs[1];
      inputs.pop_back();
    }
    CAPSTAN_CHECK(!inputs.empty(), ValueError, "it is called on nothing");
    return layer(inputs.size() == 1 ? inputs[0] : Nest::list(std::move(inputs)), options).tensors();
  }

  std::vector<Tensor> call_op(const Entry& entry) const {
    std::vector<Nest> inputs;
    for (const Place& place : entry.needed) inputs.emplace_back(value(place));
    CAPSTAN_CHECK(!inputs.empty(), ValueError, "it is called on nothing");
    return entry.layer(Nest::list(std::move(inputs))).tensors();
  }

  static bool is_recurrent(const Layer& layer) {
    const std::string type = layer.type_name();
    for (const char* const name : {"LSTM", "GRU", "RNN", "Bidirectional"}) {
      if (type.find(name) != type.npos) return true;
    }
    return false;
  }

  // Makes the calls of a layer until one waits.
  void run(Entry& entry) {
    while (entry.next < entry.calls.size()) {
      const AttributeValue& call = *entry.calls[entry.next];
      if (entry.at == 0) {
        entry.needed.clear();
        find_needed(entry, call);
      }
      for (; entry.at < entry.needed.size(); ++entry.at) {
        const Place& needed = entry.needed[entry.at];
        if (needed.entry->made.size() > needed.call) continue;
        needed.entry->waiting.push_back(&entry);
        return;
      }
      try {
        entry.made.push_back(entry.is_op ? call_op(entry) : make_call(entry.layer, call));
      } catch (const ValueError& error) {
        throw ValueError(detail::join("Functional: \"", entry.name, "\": ", error.what()));
      }
      ++entry.next;
      entry.at = 0;
      ready_.insert(ready_.end(), entry.waiting.begin(), entry.waiting.end());
      entry.waiting.clear();
    }
  }

  const AttributeValue& required_ends(const char* key) {
    const AttributeValue* const value = config_.find(key);
    CAPSTAN_CHECK(value != nullptr, ValueError, "Functional: \"", key, "\" is missing");
    return *value;
  }

  Nest ends(const AttributeValue& value) {
    if (value.kind == Kind::kList && !value.list.empty() && value.list[0].kind == Kind::kString) {
      return this->value(place_of(value, true));
    }
    if (is_class(value, kTuple)) return ends(required(value, "items", Kind::kList, kTuple));
    std::vector<Nest> items;
    if (value.kind == Kind::kMap) {
      std::vector<std::string> keys;
      for (const auto& [key, item] : value.items) {
        keys.push_back(key);
        items.push_back(ends(item));
      }
      return Nest::map(std::move(keys), std::move(items));
    }
    CAPSTAN_CHECK(value.kind == Kind::kList, ValueError, "Functional: inputs and outputs are values, not ",
                  value.to_string());
    for (const AttributeValue& item : value.list) items.push_back(ends(item));
    return Nest::list(std::move(items));
  }

  const AttributeValue& config_;
  std::deque<Entry> entries_;
  std::unordered_map<std::string, Entry*> by_name_;
  std::deque<Entry*> ready_;
};

std::shared_ptr<Configurable> make_functional(const ClassInfo&, const AttributeValue& config) {
  return FunctionalReader(config).model();
}

}  // namespace

AttributeValue detail::sequential_config(const Layer& model) {
  const LayerState& its = LayerState::of(model);
  AttributeValue config = map_of({{"name", model.name()}, {"trainable", model.trainable()}});
  config.set("dtype", get_field(DTypePolicy(model.dtype())));
  Values layers;
  std::optional<Shape> built_for;
  const InputShape& given = sequential_input(its);
  if (given.is_given()) {
    built_for = Shape{-1};
    for (const std::int64_t length : given.shape()) built_for->push_back(length);
  } else if (its.built_for.size() == 1) {
    built_for = its.built_for[0];
    built_for->set(0, -1);
  }
  if (built_for) layers.push_back(input_layer("input_layer", *built_for, DType::kFloat32));
  for (const Layer& layer : its.sublayers) layers.push_back(serialize(layer));
  config.set("layers", std::move(layers));
  if (built_for) config.set("build_input_shape", value_of(*built_for));
  return config;
}

AttributeValue detail::functional_config(const Layer& model) { return FunctionalWriter(model).config(); }

std::string Model::to_json() const { return serialize(*this).to_json(); }

Model model_from_json(std::string_view json) { return Model(layer_from(AttributeValue::from_json(json))); }

const ClassInfo& detail::sequential_class() {
  static const ClassInfo info{LayerBase::kKind, "keras", "Sequential", "Layers one after the other.", {},
                              make_sequential,  {}};
  return info;
}

const ClassInfo& detail::functional_class() {
  static const ClassInfo info{LayerBase::kKind,
                              "keras.src.models.functional",
                              "Functional",
                              "A graph of calls of layers.",
                              {},
                              make_functional,
                              {}};
  return info;
}

}  // namespace capstan
