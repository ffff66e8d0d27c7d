// Variables: reading, assigning, and the row updates.
//
// A write is invisible to tapes. The value of a variable lies in a block of the variable's own;
// when nobody else holds it (no tape, no snapshot) a write happens in place, else the variable gets
// a new block and the others keep the old value.
#include "src/ops/family.h"
#include "src/ops/state.h"

#include <atomic>
#include <cstring>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/segment.h"
#include "capstan/variable.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/backend.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/live.h"
#include "src/core/named_errors.h"
#include "src/core/profiler.h"
#include "src/core/same_shape.h"
#include "src/core/variable_state.h"
#include "src/ops/array/array.h"
#include "src/ops/array/shape.h"
#include "src/ops/batching.h"
#include "src/ops/indices.h"
#include "src/ops/math/math.h"
#include "src/ops/optimizer/optimizer.h"

namespace capstan {

using detail::Block;
using detail::VariableState;

namespace {

constinit std::atomic<std::uint64_t> next_serial{1};

VariableState& checked(VariableState* state) {
  CAPSTAN_CHECK(state != nullptr, ValueError, "variable: this handle is empty");
  return *state;
}

// A tensor with the elements of `value` that nobody else holds and that no tape knows.
Tensor own_copy(Tensor value) {
  Block* block = value.block();
  const bool is_whole = (block->flags.load(std::memory_order_relaxed) & ~Block::kOnDevice) == 0;
  if (block->refs.load(std::memory_order_acquire) == 1 && is_whole) {
    block->node = 0;
    return value;
  }
  const Tensor dense = value.to_dense();
  Backend* const backend = backend_of(dense.block());
  Tensor copy = new_tensor_on(backend, dense.dtype(), dense.shape());
  copy_bytes(backend, copy.block()->data, dense.block()->data,
             static_cast<std::size_t>(dense.size()) * size_of(dense.dtype()));
  return copy;
}

// True if the variable's buffer may be written in place, by a loop of the processor.
bool exclusive(const VariableState& variable) {
  const Block* block = variable.value.block();
  return block->refs.load(std::memory_order_acquire) == 1 &&
         (block->flags.load(std::memory_order_relaxed) & (Block::kView | Block::kOnDevice)) == 0;
}

bool fits(const VariableState& variable, const Block* value) {
  const Block* own = variable.value.block();
  return value != nullptr && own->dtype == value->dtype && same_shape(own, value) &&
         (value->flags.load(std::memory_order_relaxed) & Block::kSymbolic) == 0;
}

void check_fits(const VariableState& variable, const Tensor& value, const char* what) {
  if (fits(variable, value.block())) [[likely]]
    return;
  check_live(what, value);
  CAPSTAN_CHECK(value.dtype() == variable.value.dtype(), DTypeError, what, ": variable \"", variable.name, "\" is ",
                variable.value.dtype(), ", the value ", value.dtype(), help("convert the value with cast(x, dtype)"));
  CAPSTAN_CHECK(value.shape() == variable.value.shape(), ShapeError, what, ": variable \"", variable.name,
                "\" has shape ", variable.value.shape(), ", the value ", value.shape());
}

// Replaces the value, or what stands for it in a trace.
void write(VariableState& variable, Tensor value) {
  if (context.tracer != nullptr) return context.tracer->assign(variable, value.to_dense());
  variable.value = own_copy(std::move(value));
}

// A row-sparse operand of a dtype that is updated by rows, or nothing.
Tensor rows_of(const Operand& delta) {
  const bool is_tensor = delta.kind() == Operand::Kind::kLent || delta.kind() == Operand::Kind::kGiven;
  Block* const block = !is_tensor                             ? nullptr
                       : delta.kind() == Operand::Kind::kLent ? delta.lent()
                                                              : delta.given()->block();
  const bool is_rows = block != nullptr && (block->flags.load(std::memory_order_relaxed) & Block::kRowSparse) != 0 &&
                       has_vector_loops(block->dtype);
  return is_rows ? share(block) : Tensor();
}

// variable = variable op delta, in place where possible; tapes do not see it.
void update(VariableState& variable, const Operand& delta, const OpDef& op, const char* what) {
  PauseObservers pause;
  if (const Tensor rows = rows_of(delta); rows.has_value()) {
    check_fits(variable, rows, what);
    return add_rows(Variable::share(&variable), rows, &op != &kAdd, what);
  }
  if (context.tracer != nullptr) {
    const Tensor value = to_tensor(delta, variable.value.dtype()).to_dense();
    check_fits(variable, value, what);
    return write(variable, apply(op, current_value(variable), value));
  }
  const Span span(SpanKind::kOp, what);
  Tensor holder;  // what delta stands for, if it is not a dense tensor
  const Block* value = nullptr;
  if (delta.kind() == Operand::Kind::kLent) value = delta.lent();
  if (delta.kind() == Operand::Kind::kGiven) value = delta.given()->block();
  if (value == nullptr || (value->flags.load(std::memory_order_relaxed) & Block::kRowSparse) != 0) {
    holder = to_tensor(delta, variable.value.dtype()).to_dense();
    value = holder.block();
  }
  if (!fits(variable, value)) {
    detail::retain(const_cast<Block*>(value));
    check_fits(variable, Tensor::adopt(const_cast<Block*>(value)), what);
  }
  const Block* target = variable.value.block();
  if (is_on_device(target) || is_on_device(value)) {
    const Tensor operand = share(const_cast<Block*>(value));
    variable.value = own_copy(apply(op, variable.value, operand));
    return;
  }
  const Loop loop = loops_of(op, target->dtype).forward[static_cast<int>(target->dtype)];
  CAPSTAN_CHECK(loop != nullptr, DTypeError, what, ": dtype ", target->dtype, " is not supported");
  Tensor result;
  if (!exclusive(variable)) {
    result = Tensor::adopt(new_tensor_block(target->dtype, target->rank, target->dims, target->count));
  }
  run_pair(loop, result.has_value() ? result.block() : target, target, value);
  if (result.has_value()) variable.value = std::move(result);
}

}  // namespace

void detail::release(VariableState* state) noexcept {
  if (!count_down(state->refs)) return;
  if (state->word_died != nullptr) state->word_died(state->word);
  delete state;
}

void replace_value(VariableState& variable, Tensor value) {
  check_fits(variable, value, "assign");
  write(variable, std::move(value));
}

Variable::Variable(Literal initial, const VariableOptions& options)
    : Variable(options.dtype ? constant(initial, *options.dtype) : constant(initial), options) {}

Variable::Variable(Tensor initial, const VariableOptions& options) {
  CAPSTAN_CHECK(initial.has_value(), ValueError, "variable: the initial value is an empty tensor");
  CAPSTAN_CHECK(!options.dtype || *options.dtype == initial.dtype(), DTypeError, "variable: the initial value is ",
                initial.dtype(), ", not ", *options.dtype);
  if ((initial.block()->flags.load(std::memory_order_relaxed) & Block::kSymbolic) != 0) {
    detail::throw_symbolic("variable", initial.block());
  }
  const CreateVariables create;
  auto* state = new VariableState;
  state->trainable = options.trainable;
  state->name = options.name;
  state->path = options.name;
  state->serial = next_serial.fetch_add(1, std::memory_order_relaxed);
  state->value = own_copy(std::move(initial));
  state_ = state;
}

Variable::Variable(const Variable& other) : state_(other.state_) {
  if (state_ != nullptr) detail::retain(state_);
}

Variable::~Variable() {
  if (state_ != nullptr) detail::release(state_);
}

Variable Variable::share(VariableState* state) {
  Variable variable;
  detail::retain(state);
  variable.state_ = state;
  return variable;
}

Operands::Operands(const std::vector<Variable>& variables) : operands_(variables.begin(), variables.end()) {}

Tensor::Tensor(const Variable& variable) : Tensor(variable.value()) {}

Tensor Variable::value() const { return apply(kReadVariable, *this); }

const Variable& Variable::assign(Operand value) const {
  VariableState& variable = checked(state_);
  notify_read(variable);
  PauseObservers pause;
  Tensor tensor = value.is_literal() ? to_tensor(value, variable.value.dtype()) : take(value);
  check_fits(variable, tensor, "assign");
  write(variable, std::move(tensor));
  return *this;
}

const Variable& Variable::assign_add(Operand delta) const {
  VariableState& variable = checked(state_);
  notify_read(variable);
  update(variable, delta, kAdd, "assign_add");
  return *this;
}

const Variable& Variable::assign_sub(Operand delta) const {
  VariableState& variable = checked(state_);
  notify_read(variable);
  update(variable, delta, kSubtract, "assign_sub");
  return *this;
}

namespace {

// The value of a variable with updates scattered into it; tapes do not see it.
using Scatter = Tensor (*)(Operand value, Operand indices, Operand updates);
void scatter_into(const char* name, VariableState* state, Scatter scatter, const Operand& indices,
                  const Operand& updates) {
  VariableState& variable = checked(state);
  notify_read(variable);
  PauseObservers pause;
  write(variable, with_errors_of(name, [&] { return scatter(current_value(variable), indices, updates); }));
}

// By rows: a row number is one coordinate.
template <Scatter kScatter>
Tensor by_rows(Operand value, Operand indices, Operand updates) {
  return kScatter(value, expand_dims(indices, 1), updates);
}

// What the updates of each row multiply to; 1 for rows without any.
Tensor row_products(const Tensor& value, const Operand& indices, const Operand& updates, std::string_view op) {
  const Tensor rows = to_tensor(indices);
  const Tensor factors = to_tensor(updates, value.dtype());
  check_indices(op, rows);
  CAPSTAN_CHECK(value.rank() > 0, ShapeError, op, ": a scalar has no rows");
  Shape wanted{rows.size()};
  for (int i = 1; i < value.rank(); ++i) wanted.push_back(value.dim(i));
  CAPSTAN_CHECK(rows.rank() == 1 && factors.shape() == wanted, ShapeError, op, ": updates must have the shape ", wanted,
                ", not ", factors.shape(), arguments({{"indices", rows}, {"updates", factors}}));
  CAPSTAN_CHECK(factors.dtype() == value.dtype(), DTypeError, op, ": dtypes differ, ", value.dtype(), " and ",
                factors.dtype());
  with_indices(rows, [&](const auto* row) {
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      if (row[i] < 0 || row[i] >= value.dim(0)) throw_index(op, row[i], 0, value.dim(0));
    }
  });
  return unsorted_segment_prod(factors, rows, value.dim(0));
}
Tensor multiply_rows(Operand value, Operand indices, Operand updates) {
  const Tensor tensor = to_tensor(value);
  return multiply(tensor, row_products(tensor, indices, updates, "scatter_mul"));
}
Tensor divide_rows(Operand value, Operand indices, Operand updates) {
  const Tensor tensor = to_tensor(value);
  const Tensor products = row_products(tensor, indices, updates, "scatter_div");
  return is_floating(tensor.dtype()) ? divide(tensor, products) : truncatediv(tensor, products);
}

}  // namespace

const Variable& Variable::scatter_add(Operand indices, Operand updates) const {
  scatter_into("scatter_add", state_, by_rows<tensor_scatter_nd_add>, indices, updates);
  return *this;
}
const Variable& Variable::scatter_sub(Operand indices, Operand updates) const {
  scatter_into("scatter_sub", state_, by_rows<tensor_scatter_nd_sub>, indices, updates);
  return *this;
}
const Variable& Variable::scatter_update(Operand indices, Operand updates) const {
  scatter_into("scatter_update", state_, by_rows<tensor_scatter_nd_update>, indices, updates);
  return *this;
}
const Variable& Variable::scatter_max(Operand indices, Operand updates) const {
  scatter_into("scatter_max", state_, by_rows<tensor_scatter_nd_max>, indices, updates);
  return *this;
}
const Variable& Variable::scatter_min(Operand indices, Operand updates) const {
  scatter_into("scatter_min", state_, by_rows<tensor_scatter_nd_min>, indices, updates);
  return *this;
}
const Variable& Variable::scatter_mul(Operand indices, Operand updates) const {
  scatter_into("scatter_mul", state_, multiply_rows, indices, updates);
  return *this;
}
const Variable& Variable::scatter_div(Operand indices, Operand updates) const {
  scatter_into("scatter_div", state_, divide_rows, indices, updates);
  return *this;
}
const Variable& Variable::scatter_nd_add(Operand indices, Operand updates) const {
  scatter_into("scatter_nd_add", state_, tensor_scatter_nd_add, indices, updates);
  return *this;
}
const Variable& Variable::scatter_nd_sub(Operand indices, Operand updates) const {
  scatter_into("scatter_nd_sub", state_, tensor_scatter_nd_sub, indices, updates);
  return *this;
}
const Variable& Variable::scatter_nd_update(Operand indices, Operand updates) const {
  scatter_into("scatter_nd_update", state_, tensor_scatter_nd_update, indices, updates);
  return *this;
}

const Variable& Variable::scatter_nd_max(Operand indices, Operand updates) const {
  scatter_into("scatter_nd_max", state_, tensor_scatter_nd_max, indices, updates);
  return *this;
}
const Variable& Variable::scatter_nd_min(Operand indices, Operand updates) const {
  scatter_into("scatter_nd_min", state_, tensor_scatter_nd_min, indices, updates);
  return *this;
}

const Variable& Variable::assign_slice(std::span<const Index> indices, Operand value) const {
  VariableState& variable = checked(state_);
  notify_read(variable);
  PauseObservers pause;
  const Tensor replacement =
      with_errors_of("assign_slice", [&] { return slice_replacement(current_value(variable), indices, value); });
  if (context.tracer == nullptr && exclusive(variable) && !is_symbolic(replacement.block())) {
    const Span span(SpanKind::kOp, "assign_slice");
    overwrite_slice(variable.value, indices, replacement);
  } else {
    write(variable, with_slice(current_value(variable), indices, replacement));
  }
  return *this;
}

Tensor Variable::sparse_read(Operand indices) const { return gather(*this, indices, 0); }
Tensor Variable::gather_nd(Operand indices) const { return capstan::gather_nd(*this, indices); }

DType Variable::dtype() const { return checked(state_).value.dtype(); }
Shape Variable::shape() const { return checked(state_).value.shape(); }
bool Variable::trainable() const { return checked(state_).trainable; }
void Variable::set_trainable(bool trainable) const { checked(state_).trainable = trainable; }
const std::string& Variable::name() const { return checked(state_).name; }
const std::string& Variable::path() const { return checked(state_).path; }
void Variable::set_path(std::string path) const { checked(state_).path = std::move(path); }

// --- read_variable ---

constinit const OpDef kReadVariable = {
    .name = "read_variable",
    .text = "The current value of a variable, as a tensor that later writes do not change.",
    .kind = OpKind::kStructured,
    .flags = kReturnsViews | kReshapes | kKeepsRowSparse | kLinear,
    .infer = infer_first,
    .kernel = view_first,
    .vjp = [](const VjpCall& call, std::span<Tensor> cotangents) { cotangents[0] = call.cotangent(); },
    .batch = batch_leading,
};

CAPSTAN_OPS(state, &kReadVariable);

}  // namespace capstan
