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
#include "capstan/utils.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/named_errors.h"
#include "src/core/seed_stream.h"
#include "src/train/functional.h"
#include "src/train/layer_state.h"
#include "src/train/notes.h"

namespace capstan {

using detail::CallScope;
using detail::LayerState;
using detail::Weight;

namespace {

constinit std::atomic<std::uint64_t> next_id{1};
constinit std::atomic<std::uint64_t> version{1};

// The last part of a class's name as the compiler knows it: "Linear" of "(anonymous namespace)::Linear<float>".
std::string class_name(const LayerBase& layer) {
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
      training(asked.is_given() || context.layer_call == nullptr ? asked : context.layer_call->training),
      outer(context.layer_call) {
  context.layer_call = this;
}
CallScope::~CallScope() { context.layer_call = outer; }
CallScope* CallScope::current() { return context.layer_call; }

detail::ExampleScope::ExampleScope() { ++context.open_examples; }
detail::ExampleScope::~ExampleScope() { --context.open_examples; }
bool detail::ExampleScope::is_open() { return context.open_examples > 0; }

void detail::throw_empty_layer() {
  throw ValueError(join("layer: this handle is empty", help("it was moved from, or no layer was assigned to it")));
}

// --- Handles ---

Layer::Layer(std::shared_ptr<LayerBase> body) : body_(std::move(body)) {
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

void Layer::build(const Shape& input_shape) const { build_all({input_shape}); }

void Layer::build_all(const std::vector<Shape>& input_shapes) const {
  LayerBase& layer = body();
  LayerState& state = *layer.state_;
  for (const Shape& shape : input_shapes) {
    CAPSTAN_CHECK(shape.rank() >= 1, ShapeError, "build: ", state.name,
                  ": an input shape has a batch axis, but this is that of a scalar");
  }
  if (state.is_built) return;
  if (context.layer_call != nullptr) adopt(context.layer_call->layer, *this);
  const std::size_t own_weights = state.weights.size();
  {
    const CallScope scope(state, {});
    try {
      layer.make_weights(input_shapes);
    } catch (const Error&) {
      rethrow_with_layer(state);
    }
  }
  state.is_built = true;
  if (state.has_build) return;
  std::vector<Nest> examples;
  for (Shape example : input_shapes) {
    for (int axis = 0; axis < example.rank(); ++axis) {
      if (example[axis] < 0) example.set(axis, axis == 0 ? 1 : detail::kOpenLength);
    }
    examples.push_back(zeros(example, example_dtype(state)));
  }
  const PauseObservers pause;
  const detail::ExampleScope example;
  try {
    (*this)(examples.size() == 1 ? examples[0] : Nest::list(std::move(examples)), {.training = false});
  } catch (...) {
    first_call_failed(state, own_weights);
    throw;
  }
}

// --- A call ---

namespace {

// What differs between one tensor and a nest of them.
bool has_inputs(const Tensor& x) { return x.has_value(); }
bool has_inputs(const Nest& inputs) { return inputs.has_value(); }

std::vector<Shape> shapes_of(const Tensor& x) { return {x.shape()}; }
std::vector<Shape> shapes_of(const Nest& nest) {
  std::vector<Shape> shapes;
  detail::for_each_leaf(nest, [&](const Tensor& tensor) { shapes.push_back(tensor.shape()); });
  return shapes;
}

bool may_carry_masks(const Tensor& x) { return detail::notes_of(x) != nullptr; }
bool may_carry_masks(const Nest&) { return true; }

// The masks that inputs carry, in their structure; nothing if there are none.
Nest carried_masks(const Tensor& x) {
  const detail::Notes* const notes = detail::notes_of(x);
  return notes != nullptr && notes->mask.has_value() ? Nest(notes->mask) : Nest();
}
Nest carried_masks(const Nest& inputs) {
  if (inputs.is_tensor()) return carried_masks(inputs.tensor());
  bool found = false;
  std::vector<Nest> masks;
  for (const Nest& item : inputs.items()) {
    masks.push_back(carried_masks(item));
    found |= masks.back().has_value();
  }
  return found ? Nest::list(std::move(masks)) : Nest();
}

// The inputs, or what they are converted to, which is then in `storage`.
const Tensor& converted(const Tensor& x, const LayerState& state, Tensor& storage) {
  if (x.dtype() == state.compute_dtype || is_complex(x.dtype())) return x;
  if (!is_floating(x.dtype()) && !state.converts_integers) return x;
  return storage = cast(x, state.compute_dtype);
}
const Nest& converted(const Nest& inputs, const LayerState& state, Nest& storage) {
  storage = inputs;
  detail::replace_tensors(storage, [&](Tensor& x) {
    Tensor other;
    x = converted(x, state, other);
  });
  return storage;
}

void attach_mask(Tensor& y, const Nest& inputs, const Nest& mask) {
  if (!mask.is_tensor()) return;
  const detail::Notes* const notes = detail::notes_of(y);
  if (notes != nullptr && notes->mask.block() == mask.tensor().block()) return;
  // What a layer returns as it was given belongs to others, too.
  for (const Tensor& x : inputs.tensors()) {
    if (x.block() == y.block()) y = identity(y);
  }
  y = with_mask(y, mask.tensor());
}

}  // namespace

Tensor mask_of(const Tensor& tensor) {
  const detail::Notes* const notes = detail::notes_of(tensor);
  return notes != nullptr ? notes->mask : Tensor();
}

Tensor with_mask(const Tensor& tensor, const Tensor& mask) {
  CAPSTAN_CHECK(tensor.has_value(), ValueError, "with_mask: the tensor is empty");
  if (mask.has_value()) {
    CAPSTAN_CHECK(mask.dtype() == DType::kBool, DTypeError, "with_mask: the mask must be bool, not ", mask.dtype());
    bool fits = mask.rank() <= tensor.rank();
    for (int i = 0; fits && i < mask.rank(); ++i) fits = mask.dim(i) == tensor.dim(i) || mask.dim(i) == 1;
    CAPSTAN_CHECK(fits, ShapeError, "with_mask: a mask of shape ", mask.shape(), " does not fit a tensor of shape ",
                  tensor.shape());
  }
  // One more handle makes the result another tensor: the given one stays as it is.
  const Tensor held = tensor;  // NOLINT(performance-unnecessary-copy-initialization)
  std::unique_ptr<detail::Notes> notes = detail::copy_notes(tensor);
  notes->mask = mask;
  return detail::with_notes(tensor, std::move(notes));
}

class detail::LayerCall {
 public:
  // T is Tensor or Nest.
  template <class T>
  static T run(const Layer& handle, const T& inputs, const CallOptions& options) {
    LayerBase& layer = handle.body();  // Not the handle: a call may change the list that it is in.
    LayerState& state = *layer.state_;
    CAPSTAN_CHECK(has_inputs(inputs), ValueError, state.name, ": the input is an empty tensor");
    if (context.layer_call == nullptr && has_symbolic(inputs, options)) {
      const Nest symbolic = call_symbolically(handle, inputs, options);
      if constexpr (std::is_same_v<T, Tensor>) {
        return symbolic.tensor();
      } else {
        return symbolic;
      }
    }
    if (context.layer_call != nullptr) {
      if (state.latest_parent != context.layer_call->layer.id) adopt(context.layer_call->layer, handle);
    } else {
      state.call_losses.clear();
    }
    const CallScope scope(state, options.training);
    const bool learns_training = scope.training.is_given() && !options.training.is_given();
    const bool takes_masks = !options.mask.has_value() && may_carry_masks(inputs);
    // Most calls change nothing in the options, of which a copy costs more than the rest of a call.
    if (!learns_training && !takes_masks) return run_resolved(layer, inputs, options);
    CallOptions resolved = options;
    resolved.training = scope.training;
    if (takes_masks) resolved.mask = carried_masks(inputs);
    return run_resolved(layer, inputs, resolved);
  }

 private:
  template <class T>
  [[gnu::noinline]] static T run_resolved(LayerBase& layer, const T& inputs, const CallOptions& resolved) {
    LayerState& state = *layer.state_;
    const bool is_first = !state.is_built;
    const std::size_t own_weights = state.weights.size();
    T y;
    try {
      T storage;
      const T& input = state.converts_input ? converted(inputs, state, storage) : inputs;
      if (is_first) {
        layer.make_weights(shapes_of(input));
        state.is_built = true;
      }
      if constexpr (std::is_same_v<T, Tensor>) {
        y = layer.call_one(input, resolved);
      } else {
        y = layer.call_any(input, resolved);
      }
      if (resolved.mask.has_value() || state.computes_masks) set_masks(layer, inputs, resolved.mask, y);
    } catch (const Error&) {
      if (is_first) first_call_failed(state, own_weights);
      rethrow_with_layer(state);
    } catch (...) {
      if (is_first) first_call_failed(state, own_weights);
      throw;
    }
    if (state.output_shapes.empty()) state.output_shapes = shapes_of(y);
    if (state.activity_regularizer.has_value()) {
      for_each_leaf(y, [&](const Tensor& output) {
        Tensor penalty = state.activity_regularizer(output);
        layer.add_loss(output.rank() > 0 ? penalty / static_cast<double>(output.dim(0)) : penalty);
      });
    }
    return y;
  }

  // Masks of what a layer gives, one after the other.
  template <class T>
  static void set_masks(LayerBase& layer, const T& inputs, const Nest& given, T& y) {
    const Nest in(inputs);
    const Nest masks = layer.compute_mask(in, given);
    if (!masks.has_value()) return;
    std::size_t i = 0;
    const std::span<const Nest> items = masks.items();
    replace_tensors(y, [&](Tensor& output) {
      if (i < items.size()) attach_mask(output, in, items[i++]);
    });
  }
};

Tensor Layer::operator()(const Tensor& x, const CallOptions& options) const {
  return detail::LayerCall::run(*this, x, options);
}
Nest Layer::operator()(const Nest& inputs, const CallOptions& options) const {
  return detail::LayerCall::run(*this, inputs, options);
}

// --- Bodies ---

LayerBase::LayerBase(const char* type_name, const LayerOptions& options) : state_(std::make_unique<LayerState>()) {
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

LayerBase::~LayerBase() = default;
LayerBody::~LayerBody() = default;

const ClassInfo& LayerBase::class_info() const {
  static const ClassInfo info{kKind, kModule, "layer", "A layer of the program.", {}};
  return info;
}

std::string LayerBase::type_name() const { return *state_->type_name != 0 ? state_->type_name : class_name(*this); }

const std::string& LayerBase::resolve_name() const {
  if (state_->name.empty()) state_->name = auto_name(detail::snake_case(type_name()));
  return state_->name;
}

const std::string& LayerBase::name() const { return resolve_name(); }
bool LayerBase::trainable() const { return state_->trainable; }
DType LayerBase::dtype() const { return state_->dtype; }
DType LayerBase::compute_dtype() const { return state_->compute_dtype; }

Layer LayerBase::self() const {
  Layer layer;
  layer.body_ = state_->self.lock();
  CAPSTAN_CHECK(layer.has_value(), ValueError, type_name(), ": self() is for build() and call(), not for constructors");
  return layer;
}

void LayerBase::has_no_build() { state_->has_build = false; }
void LayerBody::build(const Shape&) { has_no_build(); }

void LayerBody::build_for(std::span<const Shape> input_shapes) {
  CAPSTAN_CHECK(input_shapes.size() == 1, ValueError, name(), ": it takes one tensor, not ", input_shapes.size());
  build(input_shapes[0]);
}

void LayerBase::passes_masks() { state_->passes_masks = true; }
void LayerBase::converts_integers() { state_->converts_integers = true; }
void LayerBase::takes_each_tensor() { state_->takes_each_tensor = true; }
Nest LayerBase::compute_mask(const Nest&, const Nest& mask) {
  state_->computes_masks = false;
  return state_->passes_masks ? mask : Nest();
}

void LayerBase::set_activity_regularizer(const Regularizer& regularizer) { state_->activity_regularizer = regularizer; }

void LayerBase::make_weights(std::span<const Shape> input_shapes) {
  LayerState& state = *state_;
  // The innermost scope may be that of this layer; the path is that of the one around it.
  const CallScope* outer = context.layer_call;
  if (outer != nullptr && &outer->layer == &state) outer = outer->outer;
  state.path = (outer != nullptr ? outer->layer.path + "/" : "") + state.name;
  const std::size_t before = state.weights.size();
  const UseSeedStream seeds(state.seeds);
  state.built_for.assign(input_shapes.begin(), input_shapes.end());
  state.accepts_weights = true;
  try {
    build_for(input_shapes);
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

Tensor LayerBase::value_of(const Variable& weight) const {
  return weight.dtype() == state_->compute_dtype ? weight.value() : cast(weight, state_->compute_dtype);
}

void LayerBase::add_loss(Tensor loss) {
  CallScope* outermost = context.layer_call;
  while (outermost != nullptr && outermost->outer != nullptr) outermost = outermost->outer;
  LayerState& state = outermost != nullptr ? outermost->layer : *state_;
  state.call_losses.push_back(std::move(loss));
}

void LayerBase::track(std::initializer_list<Layer> layers) {
  for (const Layer& layer : layers) adopt(*state_, layer, false);
}
void LayerBase::track(const Layer& layer, std::string_view member) {
  adopt(*state_, layer, false);
  state_->members.emplace(LayerState::of(layer).id, member);
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
