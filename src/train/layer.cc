// The base of all layers: building, calling, and the lists of weights.
//
// A layer object is a handle, but a user's class adds members of its own, such as the Variable that `build` made. So
// every object runs `build` once: the first one makes the weights, and each copy that was taken before gets the same
// weights again, in the same order (see add_weight).
//
// Sublayers are found when they are called inside another layer's `call`. Members could not be found at construction:
// C++ makes the base before them and tells nobody when the object is complete. Their order is that of construction,
// for that of calls is open where two are in one expression, and compilers differ.
#include "capstan/layers.h"

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

// How many weights a copy of a built layer has got again so far; counts only inside its `build`.
struct Replay {
  LayerState* layer = nullptr;
  std::size_t next = 0;
};
constinit thread_local Replay replay;

// The last part of a class's name as the compiler knows it: "LinearModel" of "(anonymous namespace)::LinearModel".
std::string class_name(const Layer& layer) {
  int status = 0;
  char* text = abi::__cxa_demangle(typeid(layer).name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : "layer";
  std::free(text);
  const std::size_t arguments = name.find('<');
  if (arguments != std::string::npos) name.resize(arguments);
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

Layer::Layer(const LayerOptions& options) : Layer("", options) {}

Layer::Layer(const char* type_name, const LayerOptions& options) : state_(std::make_shared<LayerState>()) {
  check_name(options.name);
  state_->id = next_id.fetch_add(1, std::memory_order_relaxed);
  state_->seeds = open_seed_stream();
  state_->name = !options.name.empty() ? options.name : *type_name != 0 ? detail::automatic_name(type_name) : "";
  state_->dtype = options.dtype.variable_dtype();
  state_->compute_dtype = options.dtype.compute_dtype();
  state_->trainable = options.trainable;
  state_->input_shape = options.input_shape;
}

Layer::~Layer() = default;

const std::string& Layer::resolve_name() const {
  if (state_->name.empty()) {
    state_->name = detail::automatic_name(detail::snake_case(type_name()));
  }
  return state_->name;
}

std::string Layer::type_name() const { return class_name(body_ ? *body_ : state_->body ? *state_->body : *this); }
const std::string& Layer::name() const { return resolve_name(); }
bool Layer::is_built() const { return state_->is_built; }
bool Layer::trainable() const { return state_->trainable; }
DType Layer::dtype() const { return state_->dtype; }
DType Layer::compute_dtype() const { return state_->compute_dtype; }
const std::vector<Layer>& Layer::sublayers() const { return state_->sublayers; }

void Layer::build(const Shape& input_shape) {
  if (body_) body_->ensure_built(input_shape);
}

void Layer::keep_class(std::shared_ptr<Layer> layer) {
  // The copy lives in the state and must not own it.
  layer->state_ = std::shared_ptr<LayerState>(std::shared_ptr<void>(), state_.get());
  state_->body = std::move(layer);
}

Tensor Layer::call(const Tensor&, const CallOptions&) {
  if (typeid(*this) == typeid(Layer)) {
    throw Error(detail::join("layer: this handle to \"", name(), "\" has lost the layer's class",
                             help("put layers into a std::vector<Layer> with emplace_back, not push_back")));
  }
  throw Error(
      detail::join("layer: \"", name(), "\" has no call()",
                   help("a layer of your own overrides Tensor call(const Tensor& x, const CallOptions& options)")));
}

void Layer::ensure_built(const Shape& input_shape) {
  if (built_here_) return;
  LayerState& state = *state_;
  if (!state.is_built) {
    const CallScope* outer = current_scope;
    // In a call the innermost scope is that of this layer; the path is that of the one around it.
    if (outer != nullptr && &outer->layer == &state) outer = outer->outer;
    state.path = (outer != nullptr ? outer->layer.path + "/" : "") + resolve_name();
    const std::size_t before = state.weights.size();
    const UseSeedStream seeds(state.seeds);
    try {
      build(input_shape);
    } catch (...) {
      // A later call builds again, from the start.
      state.weights.resize(before);
      throw;
    }
    state.is_built = true;
    detail::structure_changed();
  } else {
    const Replay saved = replay;
    replay = {&state, 0};
    build(input_shape);
    replay = saved;
  }
  built_here_ = true;
}

Tensor Layer::operator()(const Tensor& x, const CallOptions& options) const {
  if (body_) return (*body_)(x, options);
  if (state_->body && typeid(*this) == typeid(Layer)) {
    // The parent shall hold this handle, which owns the state, not the layer inside.
    if (current_scope != nullptr) adopt(current_scope->layer, *this);
    return (*state_->body)(x, options);
  }
  Layer& self = const_cast<Layer&>(*this);  // A const handle is one to the same layer.
  LayerState& state = *state_;
  CAPSTAN_CHECK(x.has_value(), ValueError, name(), ": the input is an empty tensor");
  if (current_scope != nullptr) {
    adopt(current_scope->layer, *this);
  } else {
    state.call_losses.clear();
  }
  CallScope scope(state, options.training);
  const bool convert = state.converts_input && is_floating(x.dtype()) && x.dtype() != state.compute_dtype;
  Tensor y;
  try {
    const Tensor input = convert ? cast(x, state.compute_dtype) : x;
    if (!built_here_) self.ensure_built(input.shape());
    y = self.call(input, {scope.training, options.mask});
  } catch (const Error&) {
    // The innermost layer is named; those around it find its name there.
    const ErrorLine line{"layer", state.path.empty() ? name() : state.path};
    rethrow_with(std::span(&line, 1));
  }
  if (!state.has_output_shape) {
    state.output_shape = y.shape();
    state.has_output_shape = true;
  }
  if (state.activity_regularizer.has_value()) {
    Tensor penalty = state.activity_regularizer(y);
    self.add_loss(y.rank() > 0 ? penalty / static_cast<double>(y.dim(0)) : penalty);
  }
  return y;
}

Variable Layer::add_weight(const WeightOptions& options) {
  LayerState& state = *state_;
  if (replay.layer == &state) {
    CAPSTAN_CHECK(replay.next < state.weights.size(), Error, resolve_name(), ": build() makes weight ", replay.next + 1,
                  " in a copy, but made only ", state.weights.size(), " at first");
    return state.weights[replay.next++].variable;
  }
  CAPSTAN_CHECK(!state.is_built, Error, resolve_name(), ": a weight cannot be added to a layer that is built",
                help("make weights in build()"));
  if (state.path.empty()) state.path = resolve_name();
  const CreateVariables create;
  Variable variable(options.initializer(options.shape, state.dtype),
                    {.trainable = options.trainable && state.trainable, .name = options.name});
  variable.set_path(state.path + "/" + options.name);
  set_constraint(variable, options.constraint);
  state.weights.push_back({variable, options.trainable, options.regularizer});
  // A direct call of build() needs no other.
  if (current_scope == nullptr || &current_scope->layer != &state) built_here_ = true;
  detail::structure_changed();
  return variable;
}

const Variable& Layer::own_weight(std::size_t i) const { return state_->weights[i].variable; }
Tensor Layer::own_value(std::size_t i) const {
  const Variable& variable = own_weight(i);
  return variable.dtype() == compute_dtype() ? variable.value() : cast(variable, compute_dtype());
}

void Layer::add_loss(Tensor loss) {
  CallScope* outermost = current_scope;
  while (outermost != nullptr && outermost->outer != nullptr) outermost = outermost->outer;
  LayerState& state = outermost != nullptr ? outermost->layer : *state_;
  state.call_losses.push_back(std::move(loss));
}

void Layer::track(std::initializer_list<Layer> layers) {
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

const std::vector<Variable>& Layer::weights() const { return state_->list(&LayerState::all); }
const std::vector<Variable>& Layer::trainable_variables() const { return state_->list(&LayerState::trainable_list); }
const std::vector<Variable>& Layer::non_trainable_variables() const {
  return state_->list(&LayerState::non_trainable_list);
}

void Layer::set_trainable(bool trainable) const {
  set_trainable_below(*state_, trainable);
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
  std::vector<Tensor> losses = state_->call_losses;
  collect_losses(*state_, losses);
  return losses;
}

}  // namespace capstan
