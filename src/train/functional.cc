// Functional models: a graph of calls of layers.
#include "src/train/functional.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "capstan/models.h"
#include "capstan/ops/array.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/train/fit_ranks.h"
#include "src/train/layer_state.h"
#include "src/train/model_config.h"
#include "src/train/notes.h"
#include "src/train/remembered_lookup.h"

namespace capstan {

using detail::FunctionalPlace;
using detail::LayerState;
using detail::SymbolicCall;
using detail::SymbolicValue;

// --- Symbolic values ---

namespace {

using detail::kOpenLength;
constexpr std::int64_t kOpenTwin = 96;

constinit std::atomic<std::uint64_t> next_call{0};

Tensor noted(const Tensor& tensor, SymbolicValue value) {
  std::unique_ptr<detail::Notes> notes = detail::copy_notes(tensor);
  notes->symbolic = std::make_shared<const SymbolicValue>(std::move(value));
  return detail::with_notes(tensor, std::move(notes));
}

bool is_symbolic_call(const Nest& nest) {
  if (!nest.has_value()) return false;
  bool found = false;
  detail::for_each_leaf(nest, [&](const Tensor& tensor) { found |= detail::symbolic_value(tensor) != nullptr; });
  return found;
}

}  // namespace

const SymbolicValue* detail::symbolic_value(const Tensor& tensor) {
  const Notes* const notes = notes_of(tensor);
  return notes == nullptr ? nullptr : notes->symbolic.get();
}

std::optional<Shape> open_shape(const Tensor& tensor) {
  const SymbolicValue* const value = detail::symbolic_value(tensor);
  return value != nullptr ? std::optional(value->shape) : std::nullopt;
}

std::string layer_name_of(const Tensor& tensor) {
  const SymbolicValue* const value = detail::symbolic_value(tensor);
  return value != nullptr ? value->call->layer.name() : "";
}

bool detail::has_symbolic(const Tensor& x, const CallOptions& options) {
  return symbolic_value(x) != nullptr || is_symbolic_call(options.initial_state) || is_symbolic_call(options.mask) ||
         symbolic_value(options.attention_mask) != nullptr;
}
bool detail::has_symbolic(const Nest& inputs, const CallOptions& options) {
  return is_symbolic_call(inputs) || has_symbolic(Tensor(), options);
}

namespace {

// What a call gave, from its results for two lists of lengths.
Nest symbolic_results(const std::shared_ptr<const SymbolicCall>& call, const Nest& results, const Nest& twins) {
  const std::vector<Tensor> others = twins.tensors();
  Nest symbolic = results;
  std::size_t i = 0;
  detail::replace_tensors(symbolic, [&](Tensor& result) {
    Shape shape = result.shape();
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (others[i].dim(axis) != shape[axis]) shape.set(axis, -1);
    }
    result = noted(result, {call, i, shape, others[i]});
    ++i;
  });
  return symbolic;
}

// What stands for an input in the list of a model's layers.
class InputBody final : public LayerBody {
 public:
  explicit InputBody(const LayerOptions& options) : LayerBody("InputLayer", options) { passes_masks(); }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override { return x; }
};

Tensor zeros_for(const Shape& shape, DType dtype, std::int64_t batch, std::int64_t open) {
  Shape lengths = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < 0) lengths.set(axis, axis == 0 ? batch : open);
  }
  return zeros(lengths, dtype);
}

}  // namespace

layers::InputLayer::InputLayer(const InputShape& shape, const InputOptions& options)
    : Layer(make_configurable<InputBody>(
          LayerOptions{.name = options.name, .input_shape = shape, .trainable = true, .dtype = floatx()})) {
  LayerState& state = LayerState::of(*this);
  state.converts_input = false;
  state.is_built = true;
  state.has_build = false;
}

Tensor Input(const InputShape& shape, const InputOptions& options) {
  CAPSTAN_CHECK(shape.is_given(), ValueError, "input: the shape of an example must be given");
  const layers::InputLayer layer(shape, options);
  Shape whole{options.batch_size.value_or(-1)};
  for (const std::int64_t length : shape.shape()) whole.push_back(length);
  for (int axis = 0; axis < whole.rank(); ++axis) {
    CAPSTAN_CHECK(whole[axis] >= 1 || whole[axis] == -1, ShapeError, "input: axis ", axis,
                  " must have a length of at least 1, or -1 for any, not ", whole[axis]);
  }
  LayerState::of(layer).output_shapes = {whole};
  const auto call = std::make_shared<SymbolicCall>(SymbolicCall{layer, {}, {}, next_call++, 1});
  return noted(zeros_for(whole, options.dtype, 1, kOpenLength),
               {call, 0, whole, zeros_for(whole, options.dtype, 2, kOpenTwin)});
}

// --- A call of a layer on symbolic values ---

namespace {

// The zeros of a symbolic tensor, with their mask.
Tensor without_symbol(const Tensor& tensor) {
  std::unique_ptr<detail::Notes> notes = detail::copy_notes(tensor);
  notes->symbolic = nullptr;
  return detail::with_notes(make_view(tensor, tensor.shape()), std::move(notes));
}

}  // namespace

std::vector<Tensor> detail::arguments_of(const SymbolicCall& call) {
  Nest inputs = call.inputs;
  CallOptions options = call.options;
  std::vector<Tensor> result;
  for_each_argument(inputs, options, [&](const Tensor& tensor) { result.push_back(tensor); });
  return result;
}

Nest detail::call_symbolically(const Layer& layer, const Nest& inputs, const CallOptions& options) {
  const PauseObservers pause;
  const ExampleScope example;
  Nest results[2];
  for (const bool twins : {false, true}) {
    Nest now = inputs;
    CallOptions how = options;
    for_each_argument(now, how, [&](Tensor& tensor) {
      const SymbolicValue* const value = symbolic_value(tensor);
      if (value != nullptr) tensor = twins ? value->twin : without_symbol(tensor);
    });
    how.training = false;
    results[twins ? 1 : 0] = layer(now, how);
  }
  const auto call = std::make_shared<SymbolicCall>(SymbolicCall{
      layer, inputs, options, next_call++, results[0].tensors().size(), LayerState::of(layer).symbolic_calls++});
  const Nest symbolic = symbolic_results(call, results[0], results[1]);
  LayerState& state = LayerState::of(layer);
  state.output_shapes.clear();
  for_each_leaf(symbolic, [&](const Tensor& t) { state.output_shapes.push_back(symbolic_value(t)->shape); });
  return symbolic;
}

std::vector<Tensor> get_source_inputs(const Nest& outputs) {
  std::vector<Tensor> sources, open = outputs.tensors();
  std::unordered_set<const SymbolicCall*> seen;
  while (!open.empty()) {
    const Tensor next = std::move(open.back());
    open.pop_back();
    const SymbolicValue* const value = detail::symbolic_value(next);
    if (value == nullptr || !seen.insert(value->call.get()).second) continue;
    if (!value->call->inputs.has_value()) sources.push_back(next);
    const std::vector<Tensor> arguments = detail::arguments_of(*value->call);
    open.insert(open.end(), arguments.rbegin(), arguments.rend());
  }
  return sources;
}

// --- The model ---

namespace {

// One call with the places of its tensors: numbers of values that are known by then, or -1 for a constant.
struct Step {
  std::shared_ptr<const SymbolicCall> call;
  std::vector<int> places;
  int first_result = 0;
  std::size_t results = 0;
  const Layer* user = nullptr;  // of the result, if that is the input of one layer and nothing else
};

class FunctionalBody final : public ModelBodyOf<Nest(Nest)> {
 public:
  FunctionalBody(const Nest& inputs, const Nest& outputs, const std::string& name);
  detail::FunctionalGraph graph() const;
  const ClassInfo& class_info() const override { return detail::functional_class(); }

 protected:
  AttributeValue get_config() const override { return detail::functional_config(LayerBase::self()); }
  Nest call(const Nest& inputs, const CallOptions& options) override;
  std::vector<std::string> output_names() const override { return output_names_; }

 private:
  void add_step(const std::shared_ptr<const SymbolicCall>& call);
  void find_users();
  void describe_connections();
  int place_of(const Tensor& tensor) const;
  // The tensors that were given, in the order of the model's inputs.
  std::vector<Tensor> in_order(const Nest& given) const;

  Nest inputs_, outputs_;
  std::vector<std::string> input_names_, output_names_;
  std::vector<Shape> input_shapes_;
  std::vector<Step> steps_;
  std::vector<FunctionalPlace> places_;
  std::vector<int> results_;  // places of the outputs
  int values_ = 0;

  // While the steps are made: the place of what a call gave first, and of inputs.
  std::unordered_map<const SymbolicCall*, int> first_;
  std::vector<const SymbolicValue*> given_;
};

// The calls that the outputs need, in the order in which a search from the outputs, depth first, leaves them: each
// after those that it needs. The inputs of the model are among them if Input() made them. Without recursion: models can
// be deep.
class CallsBelow {
 public:
  using Call = std::shared_ptr<const SymbolicCall>;

  // `given`: the inputs of the model, in order.
  CallsBelow(const Nest& outputs, std::vector<Tensor> given) : given_(std::move(given)) {
    for (const Tensor& input : given_) {
      const SymbolicValue* const value = detail::symbolic_value(input);
      if (value->call->inputs.has_value()) {
        inner_inputs_.insert(value);
      } else {
        input_calls_.insert(value->call.get());
      }
    }
    detail::for_each_leaf(outputs, [&](const Tensor& tensor) {
      enter(tensor);
      while (!open_.empty()) {
        if (open_.back().next == open_.back().arguments.size()) {
          calls_.push_back(std::move(open_.back().call));
          open_.pop_back();
        } else {
          enter(Tensor(open_.back().arguments[open_.back().next++]));
        }
      }
    });
  }

  // Those to run, in the order in which the program made them. Errors: ValueError for an input that is not given.
  std::vector<Call> to_run() const;
  // The inputs and layers in Keras's order: the farthest from the outputs first, of those the first that the search
  // met.
  std::vector<FunctionalPlace> places() const;

 private:
  struct Open {
    Call call;
    std::vector<Tensor> arguments;
    std::size_t next = 0;
  };

  void enter(const Tensor& tensor) {
    const SymbolicValue* const value = detail::symbolic_value(tensor);
    if (value == nullptr) return;
    if (inner_inputs_.contains(value)) {
      met_.emplace(value, 1 + met_.size());
      return;
    }
    if (!seen_.insert(value->call.get()).second) return;
    met_.emplace(&LayerState::body_of(value->call->layer), 1 + met_.size());
    open_.push_back({value->call, detail::arguments_of(*value->call)});
  }

  std::vector<Tensor> given_;
  std::unordered_set<const SymbolicValue*> inner_inputs_;  // inputs that a layer of another model gave
  std::unordered_set<const SymbolicCall*> input_calls_;    // what Input() made of the inputs
  std::unordered_set<const SymbolicCall*> seen_;
  std::unordered_map<const void*, std::size_t> met_;  // a number from 1 for each layer and each inner input
  std::vector<Open> open_;
  std::vector<Call> calls_;
};

std::vector<CallsBelow::Call> CallsBelow::to_run() const {
  std::vector<Call> result;
  for (const Call& call : calls_) {
    if (input_calls_.contains(call.get())) continue;
    CAPSTAN_CHECK(call->inputs.has_value(), ValueError, "model: the outputs depend on the input \"", call->layer.name(),
                  "\", which is not among the inputs of the model");
    result.push_back(call);
  }
  std::sort(result.begin(), result.end(), [](const Call& a, const Call& b) { return a->number < b->number; });
  return result;
}

// As in Keras's map_graph: a layer that is called several times counts with its largest depth that is known by then.
// Keras makes an input layer for an inner input, so that has a place of its own, too.
std::vector<FunctionalPlace> CallsBelow::places() const {
  struct Place {
    int depth;
    std::size_t met;  // 0: not at all
    FunctionalPlace what;
  };
  std::unordered_map<const void*, int> call_depths, depths;  // of calls; of layers and inner inputs
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    int& depth = depths[&LayerState::body_of((*call)->layer)];
    depth = std::max(depth, call_depths[call->get()]);
    for (const Tensor& tensor : detail::arguments_of(**call)) {
      const SymbolicValue* const value = detail::symbolic_value(tensor);
      if (value == nullptr) continue;
      int& before = inner_inputs_.contains(value) ? depths[value] : call_depths[value->call.get()];
      before = std::max(before, depth + 1);
    }
  }
  std::vector<Place> places;
  const auto place = [&](const void* key, FunctionalPlace what) {
    const auto met = met_.find(key);
    places.push_back({depths[key], met == met_.end() ? 0 : met->second, std::move(what)});
  };
  for (const Tensor& input : given_) {
    const SymbolicValue* const value = detail::symbolic_value(input);
    const bool is_inner = inner_inputs_.contains(value);
    const void* const key = is_inner ? static_cast<const void*>(value) : &LayerState::body_of(value->call->layer);
    place(key, {value->call->layer, input});
  }
  std::unordered_set<const LayerBase*> placed;
  for (const Call& call : calls_) {
    const LayerBase* const body = &LayerState::body_of(call->layer);
    if (call->inputs.has_value() && placed.insert(body).second) place(body, {call->layer, {}});
  }
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return a.depth != b.depth ? a.depth > b.depth : a.met < b.met;
  });
  std::vector<FunctionalPlace> result;
  for (Place& one : places) result.push_back(std::move(one.what));
  return result;
}

FunctionalBody::FunctionalBody(const Nest& inputs, const Nest& outputs, const std::string& name)
    : ModelBodyOf("Functional", {.name = name}), inputs_(inputs), outputs_(outputs) {
  std::vector<Layer> layers;
  const auto add_layer = [&](const Layer& layer) {
    for (const Layer& known : layers) {
      if (&LayerState::of(known) == &LayerState::of(layer)) return;
      CAPSTAN_CHECK(known.name() != layer.name(), ValueError, "model: two layers have the name \"", layer.name(), "\"");
    }
    layers.push_back(layer);
  };
  detail::for_each_leaf(inputs, [&](const Tensor& tensor) {
    const SymbolicValue* const value = detail::symbolic_value(tensor);
    CAPSTAN_CHECK(value != nullptr, ValueError, "model: input ", given_.size(), " is a tensor with data",
                  help("make inputs by Input(shape)"));
    CAPSTAN_CHECK(std::find(given_.begin(), given_.end(), value) == given_.end(), ValueError, "model: input ",
                  given_.size(), " is given twice");
    given_.push_back(value);
    input_names_.push_back(value->call->layer.name());
    input_shapes_.push_back(value->shape);
  });
  CAPSTAN_CHECK(!given_.empty(), ValueError, "model: there are no inputs");
  values_ = static_cast<int>(given_.size());
  const CallsBelow calls(outputs, inputs.tensors());
  for (const CallsBelow::Call& call : calls.to_run()) add_step(call);
  places_ = calls.places();
  for (const FunctionalPlace& place : places_) {
    if (!place.is_inner_input()) add_layer(place.layer);
  }
  int number = 0;
  detail::for_each_leaf(outputs, [&](const Tensor& tensor) {
    CAPSTAN_CHECK(detail::symbolic_value(tensor) != nullptr, ValueError, "model: output ", number,
                  " does not depend on the inputs by layers alone",
                  help("an op between layers is not seen; write it as a layer, such as layers::Add or layers::Lambda"));
    results_.push_back(place_of(tensor));
    output_names_.push_back(detail::symbolic_value(tensor)->call->layer.name());
    ++number;
  });
  CAPSTAN_CHECK(number > 0, ValueError, "model: there are no outputs");
  LayerState& state = LayerState::of(*this);
  for (const Layer& layer : layers) state.sublayers.push_back(layer);
  state.placed = layers.size();
  state.is_built = true;
  state.has_build = false;
  detail::for_each_leaf(outputs,
                        [&](const Tensor& t) { state.output_shapes.push_back(detail::symbolic_value(t)->shape); });
  find_users();
  describe_connections();
  detail::structure_changed();
  first_.clear();
  given_.clear();
}

detail::FunctionalGraph FunctionalBody::graph() const {
  detail::FunctionalGraph graph{inputs_, outputs_, {}, places_};
  for (const Step& step : steps_) graph.calls.push_back(step.call);
  return graph;
}

void FunctionalBody::find_users() {
  struct Uses {
    int count = 0;
    const Layer* by = nullptr;
  };
  std::vector<Uses> uses(static_cast<std::size_t>(values_));
  const auto use = [&](int place, const Layer* by) {
    if (place < 0) return;
    Uses& of = uses[static_cast<std::size_t>(place)];
    ++of.count;
    of.by = by;
  };
  for (const Step& step : steps_) {
    // A state or a mask is not the input, and of several inputs none is the input.
    const bool is_input = step.call->inputs.is_tensor();
    for (std::size_t i = 0; i < step.places.size(); ++i) {
      use(step.places[i], is_input && i == 0 ? &step.call->layer : nullptr);
    }
  }
  for (const int place : results_) use(place, nullptr);
  for (Step& step : steps_) {
    const Uses& of = uses[static_cast<std::size_t>(step.first_result)];
    if (step.results == 1 && of.count == 1) step.user = of.by;
  }
}

void FunctionalBody::describe_connections() {
  LayerState& state = LayerState::of(*this);
  bool is_chain = given_.size() == 1 && results_.size() == 1;
  int last = 0;
  std::map<std::uint64_t, std::string> texts;
  for (const Step& step : steps_) {
    is_chain &= step.places.size() == 1 && step.places[0] == last && step.results == 1;
    last = step.first_result;
    std::string& text = texts[LayerState::of(step.call->layer).id];
    is_chain &= text.empty();
    for (const Tensor& tensor : detail::arguments_of(*step.call)) {
      const SymbolicValue* const value = detail::symbolic_value(tensor);
      if (value == nullptr) continue;
      text += (text.empty() ? "" : ", ") + value->call->layer.name() + "[" + std::to_string(value->call->node) + "][" +
              std::to_string(value->index) + "]";
    }
  }
  if (!is_chain) state.connections = std::move(texts);
}

int FunctionalBody::place_of(const Tensor& tensor) const {
  const SymbolicValue* const value = detail::symbolic_value(tensor);
  if (value == nullptr) return -1;
  const auto given = std::find(given_.begin(), given_.end(), value);
  if (given != given_.end()) return static_cast<int>(given - given_.begin());
  return first_.at(value->call.get()) + static_cast<int>(value->index);
}

void FunctionalBody::add_step(const std::shared_ptr<const SymbolicCall>& call) {
  Step step{.call = call, .places = {}};
  for (const Tensor& tensor : detail::arguments_of(*call)) step.places.push_back(place_of(tensor));
  step.first_result = values_;
  step.results = call->results;
  first_.emplace(call.get(), values_);
  values_ += static_cast<int>(call->results);
  steps_.push_back(std::move(step));
}

std::vector<Tensor> FunctionalBody::in_order(const Nest& given) const {
  std::vector<Tensor> tensors;
  if (given.is_map() && !inputs_.is_map()) {
    for (const std::string& input : input_names_) tensors.push_back(given[input].tensor());
  } else if (given.is_map()) {
    for (const std::string& key : inputs_.keys()) {
      for (const Tensor& tensor : given[key].tensors()) tensors.push_back(tensor);
    }
  } else {
    tensors = given.tensors();
  }
  CAPSTAN_CHECK(tensors.size() == input_names_.size(), ValueError, name(), ": the model has ", input_names_.size(),
                " inputs, but ", tensors.size(), " tensors were given");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Shape& due = input_shapes_[i];
    if (tensors[i].rank() != due.rank()) tensors[i] = detail::fit_input(tensors[i], due);
    bool fits = tensors[i].rank() == due.rank();
    for (int axis = 0; fits && axis < due.rank(); ++axis) fits = due[axis] < 0 || due[axis] == tensors[i].dim(axis);
    CAPSTAN_CHECK(fits, ShapeError, name(), ": input \"", input_names_[i], "\" must have shape ", due, ", not ",
                  tensors[i].shape());
  }
  return tensors;
}

Nest FunctionalBody::call(const Nest& inputs, const CallOptions& options) {
  std::vector<Tensor> values = in_order(inputs);
  if (options.mask.has_value()) {
    const std::span<const Nest> masks = options.mask.items();
    for (std::size_t i = 0; i < masks.size() && i < values.size(); ++i) {
      if (masks[i].is_tensor()) values[i] = with_mask(values[i], masks[i].tensor());
    }
  }
  values.resize(static_cast<std::size_t>(values_));
  const auto value = [&](int place) -> Tensor& { return values[static_cast<std::size_t>(place)]; };
  for (const Step& step : steps_) {
    CallOptions how = step.call->options;
    // As in Keras: what the model is called with counts, not what the layers were.
    if (options.training.is_given()) how.training = options.training;
    detail::give_to_one_layer(*detail::CallScope::current(), step.user);
    if (step.places.size() == 1 && step.results == 1 && step.call->inputs.is_tensor()) {
      value(step.first_result) = step.call->layer(value(step.places[0]), how);
      continue;
    }
    Nest arguments = step.call->inputs;
    std::size_t i = 0;
    detail::for_each_argument(arguments, how, [&](Tensor& tensor) {
      const int place = step.places[i++];
      if (place >= 0) tensor = value(place);
    });
    const Nest results = step.call->layer(arguments, how);
    int place = step.first_result;
    detail::for_each_leaf(results, [&](const Tensor& tensor) { value(place++) = tensor; });
  }
  Nest outputs = outputs_;
  std::size_t i = 0;
  detail::replace_tensors(outputs, [&](Tensor& tensor) { tensor = value(results_[i++]); });
  return outputs;
}

}  // namespace

std::optional<detail::FunctionalGraph> detail::functional_graph(const Layer& model) {
  const auto* const body = dynamic_cast<const FunctionalBody*>(&LayerState::body_of(model));
  if (body == nullptr) return {};
  return body->graph();
}

namespace {

detail::FunctionalGraph graph_of(const char* function, const Model& model) {
  std::optional<detail::FunctionalGraph> graph = detail::functional_graph(model);
  CAPSTAN_CHECK(graph, ValueError, function, ": \"", model.name(), "\" is no functional model");
  return *std::move(graph);
}

}  // namespace

Nest Model::inputs() const { return graph_of("inputs", *this).inputs; }
Nest Model::outputs() const { return graph_of("outputs", *this).outputs; }

// A call does not hold what it gave: that is found among what later calls took, and the outputs.
Nest Model::output_of(const std::string& layer_name) const {
  const detail::FunctionalGraph graph = graph_of("output_of", *this);
  get_layer(layer_name);  // which throws
  std::vector<Tensor> found;
  const detail::SymbolicCall* call = nullptr;
  const auto look = [&](const Tensor& tensor) {
    const detail::SymbolicValue* const value = detail::symbolic_value(tensor);
    if (value == nullptr || value->call->layer.name() != layer_name) return;
    CAPSTAN_CHECK(call == nullptr || call == value->call.get(), ValueError, "output_of: the model calls \"", layer_name,
                  "\" several times");
    call = value->call.get();
    found.resize(call->results);
    found[value->index] = tensor;
  };
  for (const auto& one : graph.calls) {
    for (const Tensor& tensor : detail::arguments_of(*one)) look(tensor);
  }
  for (const Tensor& tensor : graph.outputs.tensors()) look(tensor);
  for (const Tensor& tensor : found) {
    CAPSTAN_CHECK(tensor.has_value(), ValueError, "output_of: the model uses only a part of what \"", layer_name,
                  "\" gives");
  }
  return found.size() == 1 ? Nest(found[0]) : Nest(found);
}

Model::Model(const Nest& inputs, const Nest& outputs, const std::string& name)
    : Model(make_configurable<FunctionalBody>(inputs, outputs, name)) {}

}  // namespace capstan
