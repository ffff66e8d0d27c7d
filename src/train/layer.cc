// The base of all layers: building, calling, and the lists of weights.
//
// Whatever the handles do, a body is made once and builds once, so a weight is a plain member of its class.
//
// Sublayers are found when they are called inside another layer's `call`. Members could not be found at construction:
// C++ makes the base before them and tells nobody when the object is complete. Their order is that of construction,
// for that of calls is open where two are in one expression, and compilers differ.
#include "capstan/layer.h"

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <typeinfo>
#include <unordered_set>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/named_errors.h"
#include "src/core/seed_stream.h"
#include "src/train/layer_state.h"

namespace capstan {

using detail::CallScope;
using detail::LayerState;
using detail::Weight;

namespace {

constinit std::atomic<std::uint64_t> next_id{1};
constinit std::atomic<std::uint64_t> version{1};
constinit thread_local CallScope* current_scope = nullptr;

// The last part of a class's name as the compiler knows it: "Linear" of "(anonymous namespace)::Linear<float>".
std::string class_name(const LayerBody& layer) {
  int status = 0;
  char* text = abi::__cxa_demangle(typeid(layer).name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : "layer";
  std::free(text);
  if (name.ends_with('>')) {
    int open = 0;
    do {
      open += name.back() == '>' ? 1 : name.back() == '<' ? -1 : 0;
      name.pop_back();
    } while (open > 0 && !name.empty());
  }
  const std::size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

void check_name(const std::string& name) {
  CAPSTAN_CHECK(name.find('/') == std::string::npos, ValueError, "layer: the name \"", name, "\" contains '/'");
}

// Makes `child`, which was called or tracked, a sublayer of `parent` unless it is one.
void adopt(LayerState& parent, const Layer& child, bool called = true) {
  LayerState& state = LayerState::of(child);
  if (state.latest_parent == parent.id || &state == &parent) return;
  state.latest_parent = parent.id;
  for (const Layer& known : parent.sublayers) {
    if (&LayerState::of(known) == &state) return;
  }
  const auto found = parent.sublayers.begin() + static_cast<std::ptrdiff_t>(parent.placed);
  const auto place = called ? std::find_if(found, parent.sublayers.end(),
                                           [&](const Layer& known) { return LayerState::of(known).id > state.id; })
                            : found;
  parent.sublayers.insert(place, child);
  parent.placed += called ? 0 : 1;
  detail::structure_changed();
}

}  // namespace

std::uint64_t detail::structure_version() { return version.load(std::memory_order_acquire); }
void detail::structure_changed() { version.fetch_add(1, std::memory_order_acq_rel); }

CallScope::CallScope(LayerState& layer, Training asked)
    : layer(layer),
      training(asked.is_given() ? bool{asked} : current_scope != nullptr && current_scope->training),
      outer(current_scope) {
  current_scope = this;
}
CallScope::~CallScope() { current_scope = outer; }
CallScope* CallScope::current() { return current_scope; }

void detail::throw_empty_layer() {
  throw ValueError(join("layer: this handle is empty", help("it was moved from, or no layer was assigned to it")));
}

// --- Handles ---

Layer::Layer(std::shared_ptr<LayerBody> body) : body_(std::move(body)) {
  LayerState& state = *body_->state_;
  state.self = body_;
  state.accepts_weights = false;
  body_->resolve_name();
}

std::string Layer::type_name() const { return body().type_name(); }
const std::string& Layer::name() const { return body().name(); }
bool Layer::is_built() const { return LayerState::of(*this).is_built; }
bool Layer::trainable() const { return body().trainable(); }
DType Layer::dtype() const { return body().dtype(); }
DType Layer::compute_dtype() const { return body().compute_dtype(); }
const std::vector<Layer>& Layer::sublayers() const { return LayerState::of(*this).sublayers; }

namespace {

// Within a handler: the innermost layer is named; those around it find its name there.
[[noreturn, gnu::cold]] void rethrow_with_layer(const LayerState& state) {
  const ErrorLine line{"layer", state.path.empty() ? state.name : state.path};
  rethrow_with(std::span(&line, 1));
}

// The first call of a layer without a `build` of its own makes the weights of its sublayers; one that failed did not.
[[gnu::cold]] void first_call_failed(LayerState& state, std::size_t own_weights) {
  if (state.has_build) return;
  state.is_built = false;
  state.weights.resize(own_weights);
  detail::structure_changed();
}

// The dtype of an example for a layer: a model leaves that to its first layer.
DType example_dtype(const LayerState& layer) {
  const LayerState* first = &layer;
  while (!first->converts_input && !first->sublayers.empty()) first = &LayerState::of(first->sublayers[0]);
  return first->compute_dtype;
}

}  // namespace

void Layer::build(const Shape& input_shape) const {
  LayerBody& layer = body();
  LayerState& state = *layer.state_;
  CAPSTAN_CHECK(input_shape.rank() >= 1, ShapeError, "build: ", state.name,
                ": an input shape has a batch axis, but this is that of a scalar");
  if (state.is_built) return;
  if (current_scope != nullptr) adopt(current_scope->layer, *this);
  const std::size_t own_weights = state.weights.size();
  {
    const CallScope scope(state, {});
    try {
      layer.make_weights(input_shape);
    } catch (const Error&) {
      rethrow_with_layer(state);
    }
  }
  state.is_built = true;
  if (state.has_build) return;
  Shape example = input_shape;
  if (example[0] < 0) example.set(0, 1);
  const PauseObservers pause;
  try {
    (*this)(zeros(example, example_dtype(state)), {.training = false});
  } catch (...) {
    first_call_failed(state, own_weights);
    throw;
  }
}

Tensor Layer::operator()(const Tensor& x, const CallOptions& options) const {
  LayerBody& layer = body();  // Not *this: a call may change the list that this handle is in.
  LayerState& state = *layer.state_;
  CAPSTAN_CHECK(x.has_value(), ValueError, state.name, ": the input is an empty tensor");
  if (current_scope != nullptr) {
    adopt(current_scope->layer, *this);
  } else {
    state.call_losses.clear();
  }
  CallScope scope(state, options.training);
  const bool is_first = !state.is_built;
  const std::size_t own_weights = state.weights.size();
  const bool convert = state.converts_input && is_floating(x.dtype()) && x.dtype() != state.compute_dtype;
  Tensor y;
  try {
    const Tensor input = convert ? cast(x, state.compute_dtype) : x;
    if (is_first) {
      layer.make_weights(input.shape());
      state.is_built = true;
    }
    CallOptions resolved = options;
    resolved.training = scope.training;
    y = layer.call(input, resolved);
  } catch (const Error&) {
    if (is_first) first_call_failed(state, own_weights);
    rethrow_with_layer(state);
  } catch (...) {
    if (is_first) first_call_failed(state, own_weights);
    throw;
  }
  if (!state.has_output_shape) {
    state.output_shape = y.shape();
    state.has_output_shape = true;
  }
  if (state.activity_regularizer.has_value()) {
    Tensor penalty = state.activity_regularizer(y);
    layer.add_loss(y.rank() > 0 ? penalty / static_cast<double>(y.dim(0)) : penalty);
  }
  return y;
}

// --- Bodies ---

LayerBody::LayerBody(const LayerOptions& options) : LayerBody("", options) {}

LayerBody::LayerBody(const char* type_name, const LayerOptions& options) : state_(std::make_unique<LayerState>()) {
  check_name(options.name);
  state_->id = next_id.fetch_add(1, std::memory_order_relaxed);
  state_->seeds = open_seed_stream();
  state_->name = options.name;
  state_->type_name = type_name;
  state_->dtype = options.dtype.variable_dtype();
  state_->compute_dtype = options.dtype.compute_dtype();
  state_->trainable = options.trainable;
  state_->input_shape = options.input_shape;
}

LayerBody::~LayerBody() = default;

std::string LayerBody::type_name() const { return *state_->type_name != 0 ? state_->type_name : class_name(*this); }

const std::string& LayerBody::resolve_name() const {
  if (state_->name.empty()) state_->name = detail::automatic_name(detail::snake_case(type_name()));
  return state_->name;
}

const std::string& LayerBody::name() const { return resolve_name(); }
bool LayerBody::trainable() const { return state_->trainable; }
DType LayerBody::dtype() const { return state_->dtype; }
DType LayerBody::compute_dtype() const { return state_->compute_dtype; }

Layer LayerBody::self() const {
  Layer layer;
  layer.body_ = state_->self.lock();
  CAPSTAN_CHECK(layer.has_value(), ValueError, type_name(), ": self() is for build() and call(), not for constructors");
  return layer;
}

void LayerBody::build(const Shape&) { state_->has_build = false; }

void LayerBody::make_weights(const Shape& input_shape) {
  LayerState& state = *state_;
  // The innermost scope may be that of this layer; the path is that of the one around it.
  const CallScope* outer = current_scope;
  if (outer != nullptr && &outer->layer == &state) outer = outer->outer;
  state.path = (outer != nullptr ? outer->layer.path + "/" : "") + state.name;
  const std::size_t before = state.weights.size();
  const UseSeedStream seeds(state.seeds);
  state.accepts_weights = true;
  try {
    build(input_shape);
  } catch (...) {
    // A later call builds again, from the start.
    state.accepts_weights = false;
    state.weights.resize(before);
    detail::structure_changed();
    throw;
  }
  state.accepts_weights = false;
  detail::structure_changed();
}

Variable LayerBody::add_weight(const WeightOptions& options) {
  LayerState& state = *state_;
  CAPSTAN_CHECK(state.accepts_weights, Error, name(), ": the weight \"", options.name,
                "\" cannot be added to a layer that is ", state.is_built ? "built" : "not being built",
                help("make weights in build(), which the layer's first call runs, or in a constructor"));
  if (state.path.empty()) state.path = resolve_name();
  const CreateVariables create;
  Variable variable(options.initializer(options.shape, state.dtype),
                    {.trainable = options.trainable && state.trainable, .name = options.name});
  variable.set_path(state.path + "/" + options.name);
  set_constraint(variable, options.constraint);
  state.weights.push_back({variable, options.trainable, options.regularizer});
  detail::structure_changed();
  return variable;
}

Tensor LayerBody::value_of(const Variable& weight) const {
  return weight.dtype() == state_->compute_dtype ? weight.value() : cast(weight, state_->compute_dtype);
}

void LayerBody::add_loss(Tensor loss) {
  CallScope* outermost = current_scope;
  while (outermost != nullptr && outermost->outer != nullptr) outermost = outermost->outer;
  LayerState& state = outermost != nullptr ? outermost->layer : *state_;
  state.call_losses.push_back(std::move(loss));
}

void LayerBody::track(std::initializer_list<Layer> layers) {
  for (const Layer& layer : layers) adopt(*state_, layer, false);
}

// --- Lists ---

namespace {

void collect_weights(const LayerState& state, std::unordered_set<const void*>& seen, std::vector<Variable>& all) {
  for (const bool trainable : {true, false}) {
    for (const Weight& weight : state.weights) {
      if (weight.trainable == trainable && seen.insert(weight.variable.state()).second) all.push_back(weight.variable);
    }
  }
  for (const Layer& layer : state.sublayers) collect_weights(LayerState::of(layer), seen, all);
}

void collect_losses(const LayerState& state, std::vector<Tensor>& losses) {
  for (const Weight& weight : state.weights) {
    if (weight.regularizer.has_value() && weight.variable.trainable())
      losses.push_back(weight.regularizer(weight.variable.value()));
  }
  for (const Layer& layer : state.sublayers) collect_losses(LayerState::of(layer), losses);
}

void set_trainable_below(LayerState& state, bool trainable) {
  state.trainable = trainable;
  for (const Weight& weight : state.weights) weight.variable.set_trainable(weight.trainable && trainable);
  for (const Layer& layer : state.sublayers) set_trainable_below(LayerState::of(layer), trainable);
}

}  // namespace

const std::vector<Variable>& LayerState::list(const std::vector<Variable> LayerState::*which) {
  const std::uint64_t now = structure_version();
  if (lists_version != now) {
    all.clear();
    trainable_list.clear();
    non_trainable_list.clear();
    std::unordered_set<const void*> seen;
    collect_weights(*this, seen, all);
    for (const Variable& variable : all) {
      (trainable && variable.trainable() ? trainable_list : non_trainable_list).push_back(variable);
    }
    lists_version = now;
  }
  return this->*which;
}

const std::vector<Variable>& Layer::weights() const { return LayerState::of(*this).list(&LayerState::all); }
const std::vector<Variable>& Layer::trainable_variables() const {
  return LayerState::of(*this).list(&LayerState::trainable_list);
}
const std::vector<Variable>& Layer::non_trainable_variables() const {
  return LayerState::of(*this).list(&LayerState::non_trainable_list);
}

void Layer::set_trainable(bool trainable) const {
  set_trainable_below(LayerState::of(*this), trainable);
  detail::structure_changed();
}

std::vector<Tensor> Layer::get_weights() const {
  std::vector<Tensor> values;
  for (const Variable& variable : weights()) values.push_back(variable.value());
  return values;
}

void Layer::set_weights(const std::vector<Tensor>& values) const {
  const std::vector<Variable>& variables = weights();
  CAPSTAN_CHECK(values.size() == variables.size(), ValueError, "set_weights: ", name(), " has ", variables.size(),
                " weights, the list ", values.size(),
                is_built() ? "" : help("weights are made at the first call, or by build(input_shape)"));
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPSTAN_CHECK(values[i].has_value(), ValueError, "set_weights: value ", i, " is an empty tensor");
    CAPSTAN_CHECK(values[i].shape() == variables[i].shape(), ShapeError, "set_weights: \"", variables[i].path(),
                  "\" has shape ", variables[i].shape(), ", the value ", values[i].shape());
  }
  for (std::size_t i = 0; i < values.size(); ++i) variables[i].assign(cast(values[i], variables[i].dtype()));
}

std::int64_t Layer::count_params() const {
  CAPSTAN_CHECK(is_built(), ValueError, "count_params: ", name(), " has no weights yet",
                help("weights are made at the first call, or by build(input_shape)"));
  std::int64_t count = 0;
  for (const Variable& variable : weights()) count += variable.size();
  return count;
}

std::vector<Tensor> Layer::losses() const {
  const LayerState& state = LayerState::of(*this);
  std::vector<Tensor> losses = state.call_losses;
  collect_losses(state, losses);
  return losses;
}

}  // namespace capstan
