// Runs the steps of optimizers: the loop of a rule over variables and their slots, where they lie.
//
// All row-sparse gradients of a step are merged before the first variable is updated: only the numbers of their rows
// can be wrong, and what nothing that fails follows is updated where it lies.
#include "src/ops/optimizer/optimizer.h"

#include <algorithm>
#include <cstring>

#include "capstan/ops/optimizer.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/backend.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/live.h"
#include "src/core/op_for_programs.h"
#include "src/core/profiler.h"
#include "src/core/row_sparse.h"
#include "src/core/same_shape.h"
#include "src/core/variable_state.h"
#include "src/ops/math/math.h"

namespace capstan {

using detail::Block;
using detail::VariableState;

namespace {

void set_gradient(SteppedPart& part, const TensorRef& dense) {
  part.gradient = static_cast<const std::byte*>(dense.raw_data());
}
void set_gradient(SteppedPart& part, const TensorRef& indices, const TensorRef& values) {
  part.is_rows = true;
  part.picked = indices.size();
  part.rows = indices.data<std::int64_t>();
  part.gradient = static_cast<const std::byte*>(values.raw_data());
  part.width = std::max<std::int64_t>(1, values.size() / std::max<std::int64_t>(1, part.picked));
}

// Tells tapes of the access, and makes sure that nobody else holds the value.
std::byte* writable(VariableState& variable) {
  notify_read(variable);
  const Block* block = variable.value.block();
  if (block->refs.load(std::memory_order_acquire) != 1 ||
      (block->flags.load(std::memory_order_relaxed) & Block::kView) != 0) {
    Tensor copy = Tensor::adopt(new_tensor_block(block->dtype, block->rank, block->dims, block->count));
    std::memcpy(mutable_raw_data(copy), block->data, static_cast<std::size_t>(block->count) * size_of(block->dtype));
    variable.value = std::move(copy);
  }
  return static_cast<std::byte*>(variable.value.block()->data);
}

void check_fits(const VariableState& variable, const TensorRef& other, const char* op, const char* what) {
  CAPSTAN_CHECK(other.has_value(), ValueError, op, ": the ", what, " of \"", variable.path, "\" is an empty tensor");
  check_live(op, other);
  const Block* a = variable.value.block();
  const Block* b = other.block();
  CAPSTAN_CHECK(a->dtype == b->dtype, DTypeError, op, ": \"", variable.path, "\" is ", a->dtype, ", its ", what, " ",
                b->dtype);
  CAPSTAN_CHECK(same_shape(a, b), ShapeError, op, ": \"", variable.path, "\" has shape ", variable.value.shape(),
                ", its ", what, " ", other.shape());
}

// Everything is checked before anything is changed. Returns the gradient with each row once.
Tensor checked_gradient(const char* op, std::span<const Variable> slots, const Tensor& gradient) {
  const VariableState& variable = *slots[0].state();
  check_fits(variable, gradient, op, "gradient");
  for (const Variable& slot : slots.subspan(1)) check_fits(variable, slot.state()->value, op, "slot");
  check_rows(op, gradient);
  if (!gradient.is_row_sparse()) return gradient;
  const PauseObservers pause;
  return merge_rows(gradient);
}

// Then the step is an op, and no walk over memory.
bool is_on_a_device(std::span<const Variable> slots, const Tensor& gradient) {
  const Tensor dense = gradient.is_row_sparse() ? gradient.values() : gradient;
  return is_on_device(dense.block()) || std::any_of(slots.begin(), slots.end(), [](const Variable& slot) {
           return is_on_device(slot.state()->value.block());
         });
}

}  // namespace

void run_step(const char* op, const StepLoop& loop, Elsewhere elsewhere, std::span<const Variable> slots,
              const Tensor& gradient, const void* const* numbers) {
  const Span span(SpanKind::kOp, op);
  const Tensor merged = checked_gradient(op, slots, gradient);
  if (is_on_a_device(slots, merged)) {
    std::vector<Tensor> scalars;
    for (std::size_t k = 0; k < loop.numbers; ++k)
      scalars.push_back(detail::copy_of(numbers[k], 1, loop.dtype, Shape{}));
    const SteppedVariable stepped{slots, merged};
    return trace_steps(op, loop, elsewhere, std::span(&stepped, 1), scalars);
  }
  SteppedPart part{slots[0].state()->value.size()};
  for (std::size_t k = 0; k < slots.size(); ++k) part.slots[k] = writable(*slots[k].state());
  if (merged.is_row_sparse()) {
    set_gradient(part, merged.indices(), merged.values());
  } else {
    set_gradient(part, merged);
  }
  run_parts(loop, elsewhere, numbers, std::span(&part, 1));
}

// --- Rows that are added ---

namespace {

class RowAddition final : public StepLoop {
 public:
  RowAddition(const char* name, const OpDef& op, DType dtype) : StepLoop(name, dtype, 1, 0), op_(op) {}

  void run(void* const* slots, const void* gradient, const void* const*, std::int64_t n) const override {
    const Loop loop = loops_of(op_, dtype).forward[static_cast<int>(dtype)];
    loop({slots[0], {slots[0], gradient}, n, nullptr, 0, false});
  }

 private:
  const OpDef& op_;
};

const RowAddition& row_addition(DType dtype, bool subtract) {
  static const RowAddition* const all[] = {new RowAddition("add_rows", kAdd, DType::kFloat32),
                                           new RowAddition("add_rows", kAdd, DType::kFloat64),
                                           new RowAddition("subtract_rows", kSubtract, DType::kFloat32),
                                           new RowAddition("subtract_rows", kSubtract, DType::kFloat64)};
  return *all[(dtype == DType::kFloat64 ? 1 : 0) + (subtract ? 2 : 0)];
}

}  // namespace

void add_rows(const Variable& variable, const Tensor& rows, bool subtract, const char* op) {
  const StepLoop& loop = row_addition(rows.dtype(), subtract);
  if (context.tracer == nullptr) return run_step(op, loop, Elsewhere::kNothing, std::span(&variable, 1), rows, nullptr);
  const SteppedVariable stepped{std::span(&variable, 1), rows};
  trace_steps(op, loop, Elsewhere::kNothing, std::span(&stepped, 1), {});
}

// --- A step as an op ---

namespace {

// A loop, in attributes.
struct LoopReference {
  const StepLoop* loop = nullptr;
};
void set_field(LoopReference&, const AttributeValue&, std::string_view op, std::string_view) {
  throw ValueError(detail::join(op, ": made by optimizers alone"));
}
AttributeValue get_field(const LoopReference& field) { return field.loop == nullptr ? "" : field.loop->name; }

struct StepAttributes {
  LoopReference loop;
  bool rows = false;       // the gradients are row-sparse
  bool only_rows = false;  // and nothing happens between their rows
};

void run_node(const Call& call, std::span<Tensor> outputs) {
  const auto& a = call.attributes<StepAttributes>();
  const StepLoop& loop = *a.loop.loop;
  std::vector<SteppedPart> parts;
  parts.reserve(outputs.size() / loop.slots);
  std::size_t next = outputs.size();  // the gradient that comes next
  for (std::size_t first = 0; first < outputs.size(); first += loop.slots) {
    SteppedPart& part = parts.emplace_back(SteppedPart{outputs[first].size()});
    for (std::size_t k = 0; k < loop.slots; ++k) {
      part.slots[k] = static_cast<std::byte*>(mutable_raw_data(outputs[first + k]));
      const auto* const before = static_cast<const std::byte*>(call.inputs[first + k].raw_data());
      if (before != part.slots[k]) part.before[k] = before;
    }
    if (a.rows) {
      set_gradient(part, call.inputs[next], call.inputs[next + 1]);
    } else {
      set_gradient(part, call.inputs[next]);
    }
    next += a.rows ? 2 : 1;
  }
  const void* numbers[kMostNumbers];
  for (std::size_t k = 0; k < loop.numbers; ++k) numbers[k] = call.inputs[next + k].raw_data();
  run_parts(loop, a.only_rows ? Elsewhere::kNothing : Elsewhere::kZeroGradient, numbers, parts);
}

// Makes the node, and assigns what it gives.
void trace_node(const StepAttributes& attributes, std::span<const Variable> slots, std::span<const Tensor> gradients,
                std::span<const Tensor> numbers) {
  if (slots.empty()) return;
  std::vector<Operand> operands(slots.begin(), slots.end());
  operands.insert(operands.end(), gradients.begin(), gradients.end());
  operands.insert(operands.end(), numbers.begin(), numbers.end());
  const std::vector<Tensor> after = apply_all(kOptimizerStep, operands, &attributes);
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i].assign(after[i]);
}

}  // namespace

constinit const OpDef kOptimizerStep = {
    .name = "optimizer_step",
    .text = "One step of an optimizer for several variables; made in traces and for variables on a device.",
    .flags = kNotDifferentiable | kUpdatesInPlace | kTakesAnyDTypes,
    .outputs = kVariadic,
    .inputs = {"variables with their slots, gradients, numbers", kVariadic},
    .attributes = &attribute_table<StepAttributes, "loop, rows, only_rows">,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          const auto& a = call.attributes<StepAttributes>();
          const auto slots = static_cast<int>(a.loop.loop->slots);
          const int numbers = static_cast<int>(a.loop.loop->numbers);
          const int variables = (call.input_count() - numbers) / (slots + (a.rows ? 2 : 1));
          for (int i = 0; i < variables * slots; ++i) outputs.add(call.input(i).dtype(), call.input(i).shape());
        },
    .kernel = run_node,
    .programs = &kNeverFails,
};

void trace_steps(const char* op, const StepLoop& loop, Elsewhere elsewhere, std::span<const SteppedVariable> variables,
                 std::span<const Tensor> numbers) {
  const PauseObservers pause;
  std::vector<Tensor> gradients;
  for (const SteppedVariable& of : variables) gradients.push_back(checked_gradient(op, of.slots, of.gradient));
  StepAttributes attributes{.loop = {&loop}, .rows = false, .only_rows = elsewhere == Elsewhere::kNothing};
  std::vector<Variable> dense_slots;
  std::vector<Tensor> dense;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (gradients[i].is_row_sparse()) continue;
    dense_slots.insert(dense_slots.end(), variables[i].slots.begin(), variables[i].slots.end());
    dense.push_back(gradients[i]);
  }
  trace_node(attributes, dense_slots, dense, numbers);
  attributes.rows = true;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (!gradients[i].is_row_sparse()) continue;
    const Tensor rows[] = {gradients[i].indices(), gradients[i].values()};
    trace_node(attributes, variables[i].slots, rows, numbers);
  }
}

}  // namespace capstan
