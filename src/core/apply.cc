#include "src/core/apply.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "src/core/allocator.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/variable_state.h"

namespace capstan {

using detail::Block;

namespace {

constexpr int kInlineInputs = 8;

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
  for (std::size_t i = first; i < operands.size(); ++i) {
    if (blocks[i] != nullptr) return blocks[i]->dtype;
    all_bool &= operands[i].kind() == Operand::Kind::kBool;
    any_float |= operands[i].kind() == Operand::Kind::kFloat;
  }
  return any_float ? DType::kFloat32 : all_bool ? DType::kBool : DType::kInt32;
}

// Replaces what an op cannot read as it is: a row-sparse tensor becomes dense. A stand-in without data is an error
// unless only its shape is read; rules that reach for a value they did not declare end here.
[[gnu::cold, gnu::noinline]] void resolve_special(const OpDef& op, std::size_t position, Block*& block, Tensor& holder) {
  const std::size_t bit = op.arity == kVariadic ? 0 : position;
  if ((op.shape_inputs >> bit & 1) != 0) return;
  if ((block->flags & Block::kRowSparse) != 0) {
    detail::retain(block);
    holder = Tensor::adopt(block).to_dense();
    block = holder.block();
    return;
  }
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

// Finds the block of every operand; `holders` keeps alive what is made on the way.
inline void resolve(const OpDef& op, std::span<const Operand> operands, std::span<Block*> blocks,
                    std::span<Tensor> holders) {
  bool literals = false;
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
        for (Observer* o = context.observers; o != nullptr; o = o->outer) o->read(*variable);
        block = variable->value.block();
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
    if ((block->flags.load(std::memory_order_relaxed) & (Block::kRowSparse | Block::kShapeOnly)) != 0) [[unlikely]] {
      resolve_special(op, i, blocks[i], holders[i]);
    }
  }
  if (literals) resolve_literals(op, operands, blocks, holders);
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

// Lengths beyond the rank are zero, so shapes compare as a whole.
inline bool same_shape(const Block* a, const Block* b) {
  std::uint64_t x[4];
  std::uint64_t y[4];
  std::memcpy(x, a->dims, sizeof(x));
  std::memcpy(y, b->dims, sizeof(y));
  return a->rank == b->rank && ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3])) == 0;
}

// The result's shape, written into dims; returns its rank.
int broadcast_dims(const OpDef& op, std::span<Block* const> blocks, std::uint32_t* dims, std::int64_t* count) {
  Shape shape = TensorRef(blocks[0]).shape();
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    shape = broadcast_shapes(op.name, shape, TensorRef(blocks[i]).shape());
  }
  for (int i = 0; i < shape.rank(); ++i) dims[i] = static_cast<std::uint32_t>(shape[i]);
  *count = shape.size();
  return shape.rank();
}

// A given-up operand whose buffer the result can take over.
inline bool can_reuse(const Operand& operand, const Block* block, DType dtype, std::int64_t count) {
  return operand.kind() == Operand::Kind::kGiven && block->dtype == dtype && block->count == count &&
         block->refs.load(std::memory_order_acquire) == 1 && block->flags.load(std::memory_order_relaxed) == 0 &&
         operand.given()->block() == block;
}

// The whole of an elementwise op whose operands have one shape and need few elements: nothing is broadcast, nothing is
// split among threads.
constexpr std::int64_t kSmall = 16384;

// `operands` is null while somebody observes: then nothing is reused.
[[gnu::noinline]] Tensor run_broadcast(const OpDef& op, const Operand* operands, std::span<Block* const> blocks,
                                       const void* attributes) {
  const std::size_t first = has_flag(op, kConditionFirst) ? 1 : 0;
  const DType dtype = blocks[first]->dtype;
  bool dtypes_agree = first == 0 || blocks[0]->dtype == DType::kBool;
  for (std::size_t i = first + 1; i < blocks.size(); ++i) dtypes_agree &= blocks[i]->dtype == dtype;
  const Loop loop = loops_of(op, dtype).forward[static_cast<int>(dtype)];
  if (!dtypes_agree || loop == nullptr) [[unlikely]]
    throw_dtypes(op, blocks);
  const DType out_dtype = has_flag(op, kBooleanResult) ? DType::kBool : dtype;

  // One scalar beside a larger operand needs no general broadcasting.
  const Block* shape = nullptr;
  if (blocks.size() == 1 || blocks[1]->rank == 0) shape = blocks[0];
  if (blocks.size() == 2 && shape == nullptr && blocks[0]->rank == 0) shape = blocks[1];
  std::uint32_t broadcast[kMaxRank] = {};
  const std::uint32_t* dims = broadcast;
  int rank = 0;
  std::int64_t count = 0;
  if (shape != nullptr && blocks.size() <= 2) {
    dims = shape->dims;
    rank = shape->rank;
    count = shape->count;
  } else {
    rank = broadcast_dims(op, blocks, broadcast, &count);
  }

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

inline Tensor run_elementwise(const OpDef& op, const Operand* operands, std::span<Block* const> blocks,
                              const void* attributes) {
  const Block* a = blocks[0];
  if (blocks.size() == 2) {
    const Block* b = blocks[1];
    if (a->dtype != b->dtype || !same_shape(a, b)) return run_broadcast(op, operands, blocks, attributes);
  } else if (blocks.size() != 1) {
    return run_broadcast(op, operands, blocks, attributes);
  }
  const DType dtype = a->dtype;
  const Loop loop = loops_of(op, dtype).forward[static_cast<int>(dtype)];
  if (loop == nullptr || a->count > kSmall || a->count == 0) return run_broadcast(op, operands, blocks, attributes);
  const DType out_dtype = has_flag(op, kBooleanResult) ? DType::kBool : dtype;
  Block* out = nullptr;
  if (operands != nullptr) {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (can_reuse(operands[i], blocks[i], out_dtype, a->count)) {
        out = operands[i].given()->release();
        out->node = 0;
        break;
      }
    }
  }
  LoopArgs args;
  args.in[0] = a->data;
  args.in[1] = blocks.size() == 2 ? blocks[1]->data : nullptr;
  args.in[2] = args.in[3] = args.in[4] = nullptr;
  args.n = a->count;
  args.parameters = static_cast<const double*>(attributes);
  args.scalars = 0;
  args.accumulate = false;
  if (out == nullptr) out = new_tensor_block(out_dtype, a->rank, a->dims, a->count);
  args.out = out->data;
  loop(args);
  return Tensor::adopt(out);
}

[[noreturn, gnu::cold]] void wrong_operand_count(const OpDef& op, std::size_t count) {
  throw ValueError(detail::join(op.name, ": takes ", int{op.arity}, " arguments (", op.input_names, "), not ", count));
}

void check_same_dtypes(const OpDef& op, std::span<Block* const> blocks) {
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    if (blocks[i]->dtype != blocks[0]->dtype) throw_dtypes(op, blocks);
  }
}

static_assert(sizeof(TensorRef) == sizeof(Block*));

// Output tensors of a structured op: `inline_count` of them fit in the caller's array.
void run_structured(const OpDef& op, std::span<Block* const> blocks, const void* attributes,
                    std::vector<Tensor>* many, std::span<Tensor> few) {
  if (!has_flag(op, kTakesAnyDTypes)) check_same_dtypes(op, blocks);
  TensorRef inline_refs[kInlineInputs];
  std::vector<TensorRef> more_refs;
  std::span<TensorRef> refs(inline_refs, std::min<std::size_t>(blocks.size(), kInlineInputs));
  if (blocks.size() > kInlineInputs) {
    more_refs.resize(blocks.size());
    refs = more_refs;
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) refs[i] = TensorRef(blocks[i]);
  const Call call{op, refs, attributes};
  OutputSpecs specs;
  op.infer(call, specs);
  if (many != nullptr) {
    many->resize(static_cast<std::size_t>(specs.size()));
    few = *many;
  }
  if (!has_flag(op, kReturnsViews)) {
    for (int i = 0; i < specs.size(); ++i) few[static_cast<std::size_t>(i)] = new_tensor(specs[i].dtype, specs[i].shape);
  }
  op.kernel(call, few.first(static_cast<std::size_t>(specs.size())));
}

// --- Observed calls ---

[[gnu::noinline]] void notify(const OpDef& op, std::span<const ObservedInput> inputs, const void* attributes,
                              std::span<Tensor> outputs) {
  const ObservedCall call{op, inputs, attributes, outputs};
  for (Observer* o = context.observers; o != nullptr; o = o->outer) o->record(call);
}

// Everything apply does, for any number of operands and outputs.
struct Resolved {
  Block* inline_blocks[kInlineInputs];
  Tensor inline_holders[kInlineInputs];
  ObservedInput inline_inputs[kInlineInputs];
  std::vector<Block*> more_blocks;
  std::vector<Tensor> more_holders;
  std::vector<ObservedInput> more_inputs;
  std::span<Block*> blocks;
  std::span<Tensor> holders;
  std::span<ObservedInput> inputs;

  Resolved(const OpDef& op, std::span<const Operand> operands) {
    const std::size_t n = operands.size();
    if (n <= kInlineInputs) {
      blocks = std::span(inline_blocks, n);
      holders = std::span(inline_holders, n);
      inputs = std::span(inline_inputs, n);
    } else {
      more_blocks.resize(n);
      more_holders.resize(n);
      more_inputs.resize(n);
      blocks = more_blocks;
      holders = more_holders;
      inputs = more_inputs;
    }
    resolve(op, operands, blocks, holders);
    if (context.observers != nullptr) {
      for (std::size_t i = 0; i < n; ++i) inputs[i] = {blocks[i], blocks[i]->node};
    }
  }
};

// The blocks of operands that are tensors with elements; false if one of them is anything else.
inline bool resolve_tensors(const OpDef& op, std::span<const Operand> operands, Block** blocks) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    Block* block = nullptr;
    if (operand.kind() == Operand::Kind::kLent) {
      block = operand.lent();
    } else if (operand.kind() == Operand::Kind::kGiven) {
      block = operand.given()->block();
    } else {
      return false;
    }
    if (block == nullptr) [[unlikely]]
      missing_operand(op, i);
    if ((block->flags.load(std::memory_order_relaxed) & (Block::kRowSparse | Block::kShapeOnly)) != 0) return false;
    blocks[i] = block;
  }
  return true;
}

// An elementwise op with a number, a variable or a row-sparse tensor among its operands, or with an observer.
[[gnu::noinline]] Tensor apply_elementwise(const OpDef& op, std::span<Operand> operands, const void* attributes) {
  Block* blocks[3];
  Tensor holders[3];
  const std::size_t n = operands.size();
  const std::span<Block*> used(blocks, n);
  if (!resolve_tensors(op, operands, blocks)) resolve(op, operands, used, std::span(holders, n));
  if (context.observers == nullptr) return run_elementwise(op, operands.data(), used, attributes);
  // Every operand is lent: the observers may keep it.
  ObservedInput inputs[3];
  for (std::size_t i = 0; i < n; ++i) inputs[i] = {blocks[i], blocks[i]->node};
  Tensor out = run_elementwise(op, nullptr, used, attributes);
  const ObservedCall call{op, std::span<const ObservedInput>(inputs, n), attributes, std::span(&out, 1)};
  for (Observer* o = context.observers; o != nullptr; o = o->outer) o->record(call);
  return out;
}

}  // namespace

Tensor apply(const OpDef& op, std::span<Operand> operands, const void* attributes) {
  if (op.arity != kVariadic && operands.size() != static_cast<std::size_t>(op.arity)) [[unlikely]]
    wrong_operand_count(op, operands.size());
  if (op.kind == OpKind::kElementwise) {
    if (context.observers == nullptr) {
      Block* blocks[3];
      if (resolve_tensors(op, operands, blocks)) [[likely]] {
        return run_elementwise(op, operands.data(), std::span<Block* const>(blocks, operands.size()), attributes);
      }
    }
    return apply_elementwise(op, operands, attributes);
  }
  Resolved resolved(op, operands);
  Tensor out;
  run_structured(op, resolved.blocks, attributes, nullptr, std::span(&out, 1));
  if (context.observers != nullptr) notify(op, resolved.inputs, attributes, std::span(&out, 1));
  return out;
}

std::vector<Tensor> apply_all(const OpDef& op, std::span<Operand> operands, const void* attributes) {
  std::vector<Tensor> outputs;
  if (op.kind == OpKind::kComposite) {
    op.compose(operands, attributes, outputs);
    return outputs;
  }
  if (op.kind == OpKind::kElementwise) {
    outputs.push_back(apply(op, operands, attributes));
    return outputs;
  }
  if (op.arity != kVariadic && operands.size() != static_cast<std::size_t>(op.arity)) wrong_operand_count(op, operands.size());
  Resolved resolved(op, operands);
  run_structured(op, resolved.blocks, attributes, &outputs, {});
  if (context.observers != nullptr) notify(op, resolved.inputs, attributes, outputs);
  return outputs;
}

// --- Helpers ---

Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape shape;
  for (int i = 0; i < rank; ++i) {
    const int in_a = i - (rank - a.rank());
    const int in_b = i - (rank - b.rank());
    const std::int64_t length_a = in_a < 0 ? 1 : a[in_a];
    const std::int64_t length_b = in_b < 0 ? 1 : b[in_b];
    CAPSTAN_CHECK(length_a == length_b || length_a == 1 || length_b == 1, ShapeError, op,
                  ": shapes do not broadcast, ", a, " and ", b);
    shape.push_back(length_a == 1 ? length_b : length_a);
  }
  return shape;
}

Tensor make_view(const TensorRef& base, const Shape& shape, std::int64_t offset) {
  Block* owner = base.block();
  if ((owner->flags & Block::kView) != 0) owner = owner->owner;  // Views refer to the buffer's owner directly.
  Block* view = new_block(base.dtype());
  view->rank = static_cast<std::uint8_t>(shape.rank());
  std::memset(view->dims, 0, sizeof(view->dims));
  for (int i = 0; i < shape.rank(); ++i) view->dims[i] = static_cast<std::uint32_t>(shape[i]);
  view->count = shape.size();
  view->data = static_cast<std::byte*>(base.block()->data) + static_cast<std::size_t>(offset) * size_of(base.dtype());
  view->flags = Block::kView;
  view->owner = owner;
  detail::retain(owner);
  return Tensor::adopt(view);
}

Tensor shape_only(const TensorRef& like) {
  Block* block = new_block(like.block()->dtype);
  block->rank = like.block()->rank;
  std::memcpy(block->dims, like.block()->dims, sizeof(block->dims));
  block->count = like.block()->count;
  block->data = nullptr;
  block->flags = Block::kShapeOnly;
  return Tensor::adopt(block);
}

Tensor make_row_sparse(Tensor indices, Tensor values, const Shape& dense_shape) {
  Block* block = new_block(values.dtype());
  block->rank = static_cast<std::uint8_t>(dense_shape.rank());
  std::memset(block->dims, 0, sizeof(block->dims));
  for (int i = 0; i < dense_shape.rank(); ++i) block->dims[i] = static_cast<std::uint32_t>(dense_shape[i]);
  block->count = dense_shape.size();
  block->data = nullptr;
  block->flags = Block::kRowSparse;
  block->sparse.indices = indices.release();
  block->sparse.values = values.release();
  return Tensor::adopt(block);
}

Tensor scalar(double number, DType dtype) {
  static constexpr std::uint32_t no_dims[kMaxRank] = {};
  Tensor tensor = Tensor::adopt(new_tensor_block(dtype, 0, no_dims, 1));
  void* data = mutable_raw_data(tensor);
  const auto integer_in_range = [&](double low, double high) {
    CAPSTAN_CHECK(number >= low && number <= high && number == std::floor(number), ValueError, "constant: the number ",
                  number, " does not fit ", dtype);
  };
  switch (dtype) {
    case DType::kFloat32:
      *static_cast<float*>(data) = static_cast<float>(number);
      break;
    case DType::kFloat64:
      *static_cast<double*>(data) = number;
      break;
    case DType::kBFloat16:
      *static_cast<BFloat16*>(data) = BFloat16(static_cast<float>(number));
      break;
    case DType::kInt32:
      integer_in_range(-2147483648.0, 2147483647.0);
      *static_cast<std::int32_t*>(data) = static_cast<std::int32_t>(number);
      break;
    case DType::kInt64:
      integer_in_range(-9223372036854775808.0, 9223372036854774784.0);
      *static_cast<std::int64_t*>(data) = static_cast<std::int64_t>(number);
      break;
    case DType::kUInt8:
      integer_in_range(0, 255);
      *static_cast<std::uint8_t*>(data) = static_cast<std::uint8_t>(number);
      break;
    case DType::kBool:
      integer_in_range(0, 1);
      *static_cast<bool*>(data) = number != 0;
      break;
  }
  return tensor;
}

Tensor to_tensor(Operand operand) {
  switch (operand.kind()) {
    case Operand::Kind::kFloat:
      return scalar(operand.number(), DType::kFloat32);
    case Operand::Kind::kInt:
      return to_tensor(operand, DType::kInt32);
    case Operand::Kind::kBool:
      return scalar(operand.number(), DType::kBool);
    case Operand::Kind::kGiven:
      return std::move(*operand.given());
    case Operand::Kind::kVariable:
      CAPSTAN_CHECK(operand.variable() != nullptr, ValueError, "variable: this handle is empty");
      return Variable::share(operand.variable()).value();
    default: {
      if (operand.lent() == nullptr) detail::throw_no_value("value");
      detail::retain(operand.lent());
      return Tensor::adopt(operand.lent());
    }
  }
}

Tensor to_tensor(Operand operand, DType dtype) {
  if (!operand.is_literal()) return to_tensor(operand);
  if (operand.kind() == Operand::Kind::kInt && dtype == DType::kInt64) {
    Tensor tensor = scalar(0, dtype);
    *mutable_data<std::int64_t>(tensor) = operand.integer();
    return tensor;
  }
  CAPSTAN_CHECK(operand.kind() != Operand::Kind::kFloat || is_floating(dtype), DTypeError, "a floating number, ",
                operand.number(), ", meets a tensor of dtype ", dtype, help("convert the tensor with cast(x, float32)"));
  CAPSTAN_CHECK((operand.kind() == Operand::Kind::kBool) == (dtype == DType::kBool), DTypeError,
                operand.kind() == Operand::Kind::kBool ? "a truth value" : "a number", " meets a tensor of dtype ", dtype);
  return scalar(operand.number(), dtype);
}

}  // namespace capstan
