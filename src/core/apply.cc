#include "src/core/apply.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>

#include "src/core/allocator.h"
#include "src/core/backend.h"
#include "src/core/call_kernel.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/dims.h"
#include "src/core/live.h"
#include "src/core/numbers.h"
#include "src/core/profiler.h"
#include "src/core/same_shape.h"
#include "src/core/variable_state.h"

namespace capstan {

using detail::Block;

namespace {

constexpr int kInlineInputs = 4;

// --- Operands ---

[[noreturn, gnu::cold]] void missing_operand(const OpDef& op, std::size_t position) {
  throw ValueError(detail::join(op.name, ": argument ", position, " is an empty tensor",
                                help("a missing gradient is an empty tensor; test it with has_value()")));
}

// The dtype that numbers take: that of the first tensor, or of the numbers themselves if there is none.
DType literal_dtype(const OpDef& op, std::span<const Operand> operands, std::span<Block* const> blocks) {
  const std::size_t first = has_flag(op, kConditionFirst) ? 1 : 0;
  bool all_bool = true;
  bool any_float = false;
  bool any_large = false;
  bool any_complex64 = false;
  bool any_complex128 = false;
  for (std::size_t i = first; i < operands.size(); ++i) {
    if (blocks[i] != nullptr) return blocks[i]->dtype;
    all_bool &= operands[i].kind() == Operand::Kind::kBool;
    any_float |= operands[i].kind() == Operand::Kind::kFloat;
    any_large |= operands[i].kind() == Operand::Kind::kInt && dtype_of_integer(operands[i].integer()) == DType::kInt64;
    any_complex64 |= operands[i].kind() == Operand::Kind::kComplex64;
    any_complex128 |= operands[i].kind() == Operand::Kind::kComplex128;
  }
  if (any_complex64 || any_complex128) return any_complex128 ? DType::kComplex128 : DType::kComplex64;
  return any_float ? floatx() : all_bool ? DType::kBool : any_large ? DType::kInt64 : DType::kInt32;
}

// What needs more than a look at a block.
constexpr unsigned kSpecial = Block::kRowSparse | Block::kShapeOnly | Block::kSymbolic | Block::kOnDevice;

// Replaces what an op cannot read as it is: a row-sparse tensor becomes dense. A stand-in without data is an error
// unless only its shape is read; rules that reach for a value they did not declare end here.
[[gnu::cold, gnu::noinline]] void resolve_special(const OpDef& op, std::size_t position, Block*& block,
                                                  Tensor& holder) {
  const std::size_t bit = op.inputs.count == kVariadic ? 0 : position;
  if ((op.shape_inputs >> bit & 1) != 0) return;
  if ((block->flags & Block::kRowSparse) != 0) {
    holder = share(block).to_dense();
    block = holder.block();
    return;
  }
  if (is_symbolic(block) || is_on_device(block)) return;
  throw Error(detail::join(op.name, ": argument ", position, " has a shape but no value"));
}

[[gnu::cold, gnu::noinline]] void resolve_literals(const OpDef& op, std::span<const Operand> operands,
                                                   std::span<Block*> blocks, std::span<Tensor> holders) {
  const DType dtype = literal_dtype(op, operands, blocks);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].is_literal()) continue;
    holders[i] = has_flag(op, kConditionFirst) && i == 0 ? to_tensor(operands[i]) : to_tensor(operands[i], dtype);
    blocks[i] = holders[i].block();
  }
}

// Finds the block of every operand; `holders` keeps alive what is made on the way. The flags kSymbolic and kOnDevice,
// if one of them has them.
inline unsigned resolve(const OpDef& op, std::span<const Operand> operands, std::span<Block*> blocks,
                        std::span<Tensor> holders) {
  bool literals = false;
  unsigned seen = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    Block* block = nullptr;
    switch (operand.kind()) {
      case Operand::Kind::kLent:
        block = operand.lent();
        break;
      case Operand::Kind::kGiven:
        block = operand.given()->block();
        break;
      case Operand::Kind::kVariable: {
        detail::VariableState* variable = operand.variable();
        if (variable == nullptr) missing_operand(op, i);
        notify_read(*variable);
        block = current_value(*variable).block();
        break;
      }
      default:
        literals = true;
        blocks[i] = nullptr;
        continue;
    }
    if (block == nullptr) [[unlikely]]
      missing_operand(op, i);
    blocks[i] = block;
    if ((block->flags.load(std::memory_order_relaxed) & kSpecial) != 0) [[unlikely]] {
      resolve_special(op, i, blocks[i], holders[i]);
      seen |= blocks[i]->flags.load(std::memory_order_relaxed);
    }
  }
  if (literals) resolve_literals(op, operands, blocks, holders);
  return seen & (Block::kSymbolic | Block::kOnDevice);
}

// --- Running ---

[[noreturn, gnu::cold]] void throw_dtypes(const OpDef& op, std::span<Block* const> blocks) {
  const std::size_t first = has_flag(op, kConditionFirst) ? 1 : 0;
  std::string list;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    list += detail::join("\n  argument ", i, ": ", describe(TensorRef(blocks[i])));
  }
  if (first == 1 && blocks[0]->dtype != DType::kBool) {
    throw DTypeError(detail::join(op.name, ": the condition must be bool, not ", blocks[0]->dtype, list));
  }
  for (std::size_t i = first + 1; i < blocks.size(); ++i) {
    if (blocks[i]->dtype != blocks[first]->dtype) {
      throw DTypeError(detail::join(op.name, ": dtypes differ, ", blocks[first]->dtype, " and ", blocks[i]->dtype, list,
                                    help("convert one with cast(x, dtype)")));
    }
  }
  throw DTypeError(detail::join(op.name, ": dtype ", blocks[first]->dtype, " is not supported", list));
}

// The shape of an elementwise op's result.
Shape broadcast_blocks(const OpDef& op, std::span<Block* const> blocks) {
  Shape shape = TensorRef(blocks[0]).shape();
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    shape = broadcast_shapes(op.name, shape, TensorRef(blocks[i]).shape());
  }
  return shape;
}

// The same, written into dims; returns its rank.
int broadcast_dims(const OpDef& op, std::span<Block* const> blocks, std::uint32_t* dims, std::int64_t* count) {
  const Shape shape = broadcast_blocks(op, blocks);
  write_dims(shape, dims);
  *count = shape.size();
  return shape.rank();
}

// The dtype of an elementwise op's result and the dtype of its loop. Throws DTypeError.
struct ElementwiseTypes {
  DType result;
  DType loop;
};
ElementwiseTypes check_types(const OpDef& op, std::span<Block* const> blocks) {
  const std::size_t first = has_flag(op, kConditionFirst) ? 1 : 0;
  const DType dtype = blocks[first]->dtype;
  bool agree = first == 0 || blocks[0]->dtype == DType::kBool;
  for (std::size_t i = first + 1; i < blocks.size(); ++i) agree &= blocks[i]->dtype == dtype;
  if (!agree || loops_of(op, dtype).forward[static_cast<int>(dtype)] == nullptr) [[unlikely]]
    throw_dtypes(op, blocks);
  return {has_flag(op, kBooleanResult) ? DType::kBool : dtype, dtype};
}

// A given-up operand whose buffer the result can take over.
inline bool can_reuse(const Operand& operand, const Block* block, DType dtype, std::int64_t count) {
  return operand.kind() == Operand::Kind::kGiven && block->dtype == dtype && block->count == count &&
         block->refs.load(std::memory_order_acquire) == 1 && block->flags.load(std::memory_order_relaxed) == 0 &&
         operand.given()->block() == block;
}

// `operands` is null while somebody observes: then nothing is reused.
[[gnu::noinline]] Tensor run_broadcast(const OpDef& op, const Operand* operands, std::span<Block* const> blocks,
                                       const void* attributes) {
  const auto [out_dtype, dtype] = check_types(op, blocks);
  const Loop loop = loops_of(op, dtype).forward[static_cast<int>(dtype)];

  std::uint32_t dims[kMaxRank];
  std::int64_t count = 0;
  const int rank = broadcast_dims(op, blocks, dims, &count);

  Block* out = nullptr;
  if (operands != nullptr) {
    for (std::size_t i = 0; i < blocks.size() && out == nullptr; ++i) {
      if (can_reuse(operands[i], blocks[i], out_dtype, count) && blocks[i]->rank == rank &&
          std::memcmp(blocks[i]->dims, dims, sizeof(out->dims)) == 0) {
        out = operands[i].given()->release();
        out->node = 0;
      }
    }
  }
  if (out == nullptr) out = new_tensor_block(out_dtype, rank, dims, count);
  Tensor result = Tensor::adopt(out);
  run_loop({loop, static_cast<const double*>(attributes), false}, out,
           std::span<const Block* const>(blocks.data(), blocks.size()));
  return result;
}

// An op of N operands that have one shape, or of which one is a scalar. N is a constant, so that its loops are none.
// (An op with a condition has three operands.)
template <int N>
[[gnu::always_inline]] inline Tensor run_few(const OpDef& op, const Operand* operands, Block* const* blocks,
                                             const void* attributes) {
  const Block* shape = blocks[0];
  std::uint32_t scalars = 0;
  if constexpr (N == 2) {
    const Block* b = blocks[1];
    if (shape->dtype != b->dtype) [[unlikely]]
      return run_broadcast(op, operands, std::span(blocks, N), attributes);
    if (!same_shape(shape, b)) {
      if (b->rank == 0) {
        scalars = 2;
      } else if (shape->rank == 0) {
        shape = b;
        scalars = 1;
      } else {
        return run_broadcast(op, operands, std::span(blocks, N), attributes);
      }
    }
  }
  const DType dtype = shape->dtype;
  const Loop loop = loops_of(op, dtype).forward[static_cast<int>(dtype)];
  // No element is more than any limit, as an unsigned number.
  if (loop == nullptr || static_cast<std::uint64_t>(shape->count) - 1 >= std::uint64_t{kDirectLoop}) [[unlikely]]
    return run_broadcast(op, operands, std::span(blocks, N), attributes);
  const DType out_dtype = has_flag(op, kBooleanResult) ? DType::kBool : dtype;
  LoopArgs args;
  for (int i = 0; i < 5; ++i) args.in[i] = i < N ? blocks[i]->data : nullptr;
  args.n = shape->count;
  args.parameters = static_cast<const double*>(attributes);
  args.scalars = scalars;
  args.accumulate = false;
  Block* out = nullptr;
  if (operands != nullptr) {
    for (int i = 0; i < N && out == nullptr; ++i) {
      if ((scalars >> i & 1) == 0 && can_reuse(operands[i], blocks[i], out_dtype, shape->count)) {
        out = operands[i].given()->release();
        out->node = 0;
      }
    }
  }
  if (out == nullptr) out = new_tensor_block(out_dtype, shape->rank, shape->dims, shape->count);
  args.out = out->data;
  Tensor result = Tensor::adopt(out);
  loop(args);  // may refuse an operand
  return result;
}

inline Tensor run_elementwise(const OpDef& op, const Operand* operands, std::span<Block* const> blocks,
                              const void* attributes, unsigned seen) {
  if ((seen & Block::kOnDevice) != 0) [[unlikely]]
    return run_on_device(op, blocks, attributes);
  if (blocks.size() == 2) return run_few<2>(op, operands, blocks.data(), attributes);
  if (blocks.size() == 1) return run_few<1>(op, operands, blocks.data(), attributes);
  return run_broadcast(op, operands, blocks, attributes);
}

[[noreturn, gnu::cold]] void wrong_operand_count(const OpDef& op, std::size_t count) {
  throw ValueError(
      detail::join(op.name, ": takes ", int{op.inputs.count}, " arguments (", op.inputs.names, "), not ", count));
}

void check_same_dtypes(const OpDef& op, std::span<Block* const> blocks) {
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    if (blocks[i]->dtype != blocks[0]->dtype) throw_dtypes(op, blocks);
  }
}

// Runs a structured op into `few`, or into `many` if that is given, which is sized here.
void run_structured(const OpDef& op, std::span<Block* const> blocks, const void* attributes, std::vector<Tensor>* many,
                    std::span<Tensor> few, unsigned seen) {
  if ((seen & Block::kOnDevice) != 0 || (blocks.empty() && context.backend != nullptr)) [[unlikely]]
    return run_on_device(op, blocks, attributes, many, few);
  if (!has_flag(op, kTakesAnyDTypes)) check_same_dtypes(op, blocks);
  TensorRef inline_refs[kInlineInputs];
  std::vector<TensorRef> more_refs;
  std::span<TensorRef> refs(inline_refs, std::min<std::size_t>(blocks.size(), kInlineInputs));
  if (blocks.size() > kInlineInputs) {
    more_refs.resize(blocks.size());
    refs = more_refs;
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) refs[i] = TensorRef(blocks[i]);
  Call call{op, refs, attributes};
  OutputSpecs specs;
  op.infer(call, specs);
  call.geometry_data = specs.geometry().data();
  if (many != nullptr) {
    many->resize(static_cast<std::size_t>(specs.size()));
    few = *many;
  }
  if (!has_flag(op, kReturnsViews)) {
    for (int i = 0; i < specs.size(); ++i)
      few[static_cast<std::size_t>(i)] = new_tensor(specs[i].dtype, specs[i].shape);
  }
  call_kernel(call, few.first(static_cast<std::size_t>(specs.size())));
}

// --- Traced calls ---

// Whether a call is one of a trace.
inline bool is_traced(const OpDef& op, unsigned seen) {
  return (seen & Block::kSymbolic) != 0 || (context.tracer != nullptr && has_flag(op, kStateful));
}

[[gnu::cold, gnu::noinline]] void trace(const OpDef& op, std::span<Block* const> blocks, const void* attributes,
                                        std::vector<Tensor>& outputs) {
  for (Block* block : blocks) check_live(op.name, TensorRef(block));
  context.tracer->trace(op, blocks, attributes, outputs);
}

Tensor trace_one(const OpDef& op, std::span<Block* const> blocks, const void* attributes) {
  std::vector<Tensor> outputs;
  trace(op, blocks, attributes, outputs);
  return std::move(outputs[0]);
}

// --- Observed calls ---

inline void notify(const OpDef& op, std::span<const ObservedInput> inputs, const void* attributes,
                   std::span<Tensor> outputs) {
  if (context.observers != nullptr) notify(context.observers, ObservedCall{op, inputs, attributes, outputs});
}

// The operands of a structured op, resolved; few of them need no allocation.
struct Resolved {
  struct Many {
    std::vector<Block*> blocks;
    std::vector<Tensor> holders;
    std::vector<ObservedInput> inputs;
  };
  Block* inline_blocks[kInlineInputs];
  Tensor inline_holders[kInlineInputs];
  ObservedInput inline_inputs[kInlineInputs];
  std::unique_ptr<Many> many;
  std::span<Block*> blocks;
  std::span<Tensor> holders;
  std::span<ObservedInput> inputs;
  unsigned seen;  // see resolve

  Resolved(const OpDef& op, std::span<const Operand> operands) {
    const std::size_t n = operands.size();
    if (n <= kInlineInputs) {
      blocks = std::span(inline_blocks, n);
      holders = std::span(inline_holders, n);
      inputs = std::span(inline_inputs, n);
    } else {
      many = std::make_unique<Many>();
      many->blocks.resize(n);
      many->holders.resize(n);
      many->inputs.resize(n);
      blocks = many->blocks;
      holders = many->holders;
      inputs = many->inputs;
    }
    seen = resolve(op, operands, blocks, holders);
    if (context.observers != nullptr) {
      for (std::size_t i = 0; i < n; ++i) inputs[i] = {blocks[i], blocks[i]->node};
    }
  }
};

// The block of an operand, or null if it is a number, empty, or needs more than a look-up.
[[gnu::always_inline]] inline Block* look_up(const Operand& operand) {
  Block* block = nullptr;
  if (operand.kind() == Operand::Kind::kLent) [[likely]] {
    block = operand.lent();
  } else if (operand.kind() == Operand::Kind::kGiven) {
    block = operand.given()->block();
  } else if (operand.kind() == Operand::Kind::kVariable && operand.variable() != nullptr) {
    notify_read(*operand.variable());
    block = current_value(*operand.variable()).block();
  }
  if (block == nullptr || (block->flags.load(std::memory_order_relaxed) & kSpecial) != 0) return nullptr;
  return block;
}

template <int N>
[[gnu::always_inline]] inline Tensor run_and_notify(const OpDef& op, const Operand* operands, Block* const* blocks,
                                                    const void* attributes) {
  if (context.observers == nullptr) return run_few<N>(op, operands, blocks, attributes);
  // Every operand is lent: the observers may keep it. Its number is noted before the op runs.
  ObservedInput inputs[N];
  for (int i = 0; i < N; ++i) inputs[i] = {blocks[i], blocks[i]->node};
  Tensor out = run_few<N>(op, nullptr, blocks, attributes);
  notify(context.observers, ObservedCall{op, std::span(inputs, N), attributes, std::span(&out, 1)});
  return out;
}

// Any elementwise op: with three operands, a condition, only numbers, a row-sparse tensor, or one on a device.
[[gnu::noinline]] Tensor apply_elementwise(const OpDef& op, std::span<Operand> operands, const void* attributes) {
  Block* blocks[3];
  Tensor holders[3];
  const std::size_t n = operands.size();
  const std::span<Block*> used(blocks, n);
  const unsigned seen = resolve(op, operands, used, std::span(holders, n));
  const bool symbolic = (seen & Block::kSymbolic) != 0;
  if (context.observers == nullptr && !symbolic) return run_elementwise(op, operands.data(), used, attributes, seen);
  ObservedInput inputs[3];
  for (std::size_t i = 0; i < n; ++i) inputs[i] = {blocks[i], blocks[i]->node};
  Tensor out = symbolic ? trace_one(op, used, attributes) : run_elementwise(op, nullptr, used, attributes, seen);
  notify(op, std::span<const ObservedInput>(inputs, n), attributes, std::span(&out, 1));
  return out;
}

// Two operands of which look_up did not find both. For a number beside a tensor the tensor's dtype is enough; nobody
// keeps the number if nobody observes, so it lives on the stack.
[[gnu::noinline]] Tensor apply_pair(const OpDef& op, std::span<Operand> operands, Block** blocks,
                                    const void* attributes) {
  const int number = blocks[0] == nullptr ? 0 : 1;
  if (blocks[1 - number] == nullptr || !operands[static_cast<std::size_t>(number)].is_literal())
    return apply_elementwise(op, operands, attributes);
  const DType dtype = blocks[1 - number]->dtype;
  if (context.observers != nullptr) {
    const Tensor holder = to_tensor(operands[static_cast<std::size_t>(number)], dtype);
    blocks[number] = holder.block();
    return run_and_notify<2>(op, operands.data(), blocks, attributes);
  }
  Block scalar_block;
  scalar_block.dtype = dtype;
  scalar_block.rank = 0;
  scalar_block.flags.store(0, std::memory_order_relaxed);
  std::memset(scalar_block.dims, 0, sizeof(scalar_block.dims));
  scalar_block.count = 1;
  scalar_block.data = scalar_block.inline_data;
  write_number(operands[static_cast<std::size_t>(number)], dtype, scalar_block.data);
  blocks[number] = &scalar_block;
  return run_few<2>(op, operands.data(), blocks, attributes);
}

// All of apply but its spans; a part of it, because a call would cost more than the test for a profiler.
[[gnu::always_inline]] inline Tensor apply_now(const OpDef& op, std::span<Operand> operands, const void* attributes) {
  if (op.inputs.count != kVariadic && operands.size() != static_cast<std::size_t>(op.inputs.count)) [[unlikely]]
    wrong_operand_count(op, operands.size());
  if (op.kind == OpKind::kElementwise) {
    if (operands.size() == 2) {
      Block* blocks[] = {look_up(operands[0]), look_up(operands[1])};
      if (blocks[0] == nullptr || blocks[1] == nullptr) return apply_pair(op, operands, blocks, attributes);
      return run_and_notify<2>(op, operands.data(), blocks, attributes);
    }
    if (operands.size() == 1) {
      Block* const block = look_up(operands[0]);
      if (block != nullptr) return run_and_notify<1>(op, operands.data(), &block, attributes);
    }
    return apply_elementwise(op, operands, attributes);
  }
  Resolved resolved(op, operands);
  Tensor out;
  if (is_traced(op, resolved.seen)) [[unlikely]] {
    out = trace_one(op, resolved.blocks, attributes);
  } else {
    run_structured(op, resolved.blocks, attributes, nullptr, std::span(&out, 1), resolved.seen);
  }
  if (context.observers != nullptr) notify(op, resolved.inputs, attributes, std::span(&out, 1));
  return out;
}

// The same for those who are in no hurry.
[[gnu::noinline]] Tensor apply_unprofiled(const OpDef& op, std::span<Operand> operands, const void* attributes) {
  return apply_now(op, operands, attributes);
}

std::vector<Tensor> apply_all_now(const OpDef& op, std::span<Operand> operands, const void* attributes) {
  std::vector<Tensor> outputs;
  if (op.kind == OpKind::kComposite) {
    op.compose(operands, attributes, outputs);
    return outputs;
  }
  if (op.kind == OpKind::kElementwise) {
    outputs.push_back(apply_unprofiled(op, operands, attributes));
    return outputs;
  }
  if (op.inputs.count != kVariadic && operands.size() != static_cast<std::size_t>(op.inputs.count))
    wrong_operand_count(op, operands.size());
  Resolved resolved(op, operands);
  if (is_traced(op, resolved.seen)) [[unlikely]] {
    trace(op, resolved.blocks, attributes, outputs);
  } else {
    run_structured(op, resolved.blocks, attributes, &outputs, {}, resolved.seen);
  }
  if (context.observers != nullptr) notify(op, resolved.inputs, attributes, outputs);
  return outputs;
}

// --- Profiled calls ---

[[gnu::cold, gnu::noinline]] Tensor apply_profiled(const OpDef& op, std::span<Operand> operands,
                                                   const void* attributes) {
  Span span(SpanKind::kOp, op.name, blocks_of(operands), &op);
  Tensor output = apply_unprofiled(op, operands, attributes);
  span.close(std::span(&output, 1));
  return output;
}

[[gnu::cold, gnu::noinline]] std::vector<Tensor> apply_all_profiled(const OpDef& op, std::span<Operand> operands,
                                                                    const void* attributes) {
  Span span(SpanKind::kOp, op.name, blocks_of(operands), &op);
  std::vector<Tensor> outputs = apply_all_now(op, operands, attributes);
  span.close(outputs);
  return outputs;
}

}  // namespace

Tensor apply(const OpDef& op, std::span<Operand> operands, const void* attributes) {
  if (active_profiler() != nullptr) [[unlikely]]
    return apply_profiled(op, operands, attributes);
  return apply_now(op, operands, attributes);
}

std::vector<Tensor> apply_all(const OpDef& op, std::span<Operand> operands, const void* attributes) {
  if (active_profiler() != nullptr) [[unlikely]]
    return apply_all_profiled(op, operands, attributes);
  return apply_all_now(op, operands, attributes);
}

void infer_outputs(const OpDef& op, std::span<Block* const> blocks, const void* attributes, OutputSpecs& outputs) {
  if (op.kind == OpKind::kElementwise) {
    const DType dtype = check_types(op, blocks).result;  // the first complaint, as in a plain call
    outputs.add(dtype, broadcast_blocks(op, blocks));
    return;
  }
  if (!has_flag(op, kTakesAnyDTypes)) check_same_dtypes(op, blocks);
  const std::vector<TensorRef> refs(blocks.begin(), blocks.end());
  op.infer({op, refs, attributes}, outputs);
}

}  // namespace capstan
