#include "src/ops/batching.h"

#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/row_shape.h"

namespace capstan {

Tensor repeated(const Tensor& x, std::int64_t size) {
  Shape shape = {size};
  for (int k = 0; k < x.rank(); ++k) shape.push_back(-1);
  return broadcast_to(x, shape);
}

Tensor with_items(const BatchCall& call, int i) {
  return call.is_batched(i) ? call.input(i) : repeated(call.input(i), call.size);
}

Tensor shape_with_items(const BatchCall& call, int i) {
  const Tensor& x = call.input(i);
  if (is_symbolic(x.block())) return with_items(call, i);
  return shape_only(x.dtype(), stacked_shape(call.size, x.shape()));
}

Tensor aligned(const BatchCall& call, int i, int item_rank) {
  Tensor x = call.input(i);
  if (!call.is_batched(i)) return x;
  while (x.rank() <= item_rank) x = expand_dims(std::move(x), 1);
  return x;
}

Tensor merge_items(const Tensor& x) {
  Shape shape = {x.dim(0) * x.dim(1)};
  for (int i = 2; i < x.rank(); ++i) shape.push_back(x.dim(i));
  return reshape(x, shape);
}

Tensor split_items(const Tensor& x, std::int64_t size) {
  Shape shape = {size, x.dim(0) / size};
  for (int i = 1; i < x.rank(); ++i) shape.push_back(x.dim(i));
  return reshape(x, shape);
}

Tensor ids_of_all(const Tensor& ids, std::int64_t n) {
  const std::int64_t size = ids.dim(0);
  Shape column = {size};
  for (int i = 1; i < ids.rank(); ++i) column.push_back(1);
  const Tensor x = cast(ids, DType::kInt64);
  const Tensor end = scalar(static_cast<double>(n), DType::kInt64);
  const Tensor starts = reshape(cast(range(static_cast<long>(size)), DType::kInt64) * end, column);
  const Tensor beyond = scalar(static_cast<double>(n * size), DType::kInt64);
  return where(less(x, 0), x, where(less(x, end), x + starts, beyond));
}

Tensor move_axis(const Tensor& x, int from, int to) {
  if (from == to) return x;
  int order[kMaxRank];
  for (int i = 0; i < x.rank(); ++i) order[i] = i;
  if (from < to) {
    std::rotate(order + from, order + from + 1, order + to + 1);
  } else {
    std::rotate(order + to, order + from, order + from + 1);
  }
  return transpose(x, Axes(std::span<const int>(order, static_cast<std::size_t>(x.rank()))));
}

bool has_room(const BatchCall& call) {
  for (int i = 0; i < call.input_count(); ++i) {
    if (call.item_rank(i) >= kMaxRank) return false;
  }
  return true;
}

bool call_again(const BatchCall& call, std::vector<Tensor> inputs, const void* attributes,
                std::vector<Tensor>& outputs) {
  std::vector<Operand> operands;
  operands.reserve(inputs.size());
  for (Tensor& input : inputs) operands.emplace_back(std::move(input));
  outputs = apply_all(call.op, operands, attributes);
  return true;
}

std::vector<Tensor> all_with_items(const BatchCall& call) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < call.input_count(); ++i) inputs.push_back(with_items(call, i));
  return inputs;
}

bool call_with_items(const BatchCall& call, const void* attributes, std::vector<Tensor>& outputs) {
  return has_room(call) && call_again(call, all_with_items(call), attributes, outputs);
}

bool batch_broadcasting(const BatchCall& call, std::vector<Tensor>& outputs) {
  int rank = 0;
  for (int i = 0; i < call.input_count(); ++i) rank = std::max(rank, call.item_rank(i));
  if (rank >= kMaxRank) return false;
  std::vector<Tensor> inputs;
  for (int i = 0; i < call.input_count(); ++i) inputs.push_back(aligned(call, i, rank));
  return call_again(call, std::move(inputs), call.attribute_data, outputs);
}

bool batch_leading(const BatchCall& call, std::vector<Tensor>& outputs) {
  return call_with_items(call, call.attribute_data, outputs);
}

bool batch_like(const BatchCall& call, std::vector<Tensor>& outputs) {
  if (call.item_rank(1) == kMaxRank) return false;
  return call_again(call, {call.input(0), shape_with_items(call, 1)}, call.attribute_data, outputs);
}

bool batch_examples(const BatchCall& call, std::vector<Tensor>& outputs) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < call.input_count(); ++i) {
    const Tensor& x = call.input(i);
    if ((call.op.shape_inputs >> i & 1) == 0 || is_symbolic(x.block())) {
      inputs.push_back(merge_items(with_items(call, i)));
    } else {
      Shape shape = x.shape();
      shape.set(0, call.size * shape[0]);
      inputs.push_back(shape_only(x.dtype(), shape));
    }
  }
  call_again(call, std::move(inputs), call.attribute_data, outputs);
  for (Tensor& output : outputs) output = split_items(output, call.size);
  return true;
}

Axes item_axes(const Axes& axes, int rank) {
  int shifted[kMaxRank];
  const int count = axes.all() ? rank : axes.size();
  for (int i = 0; i < count; ++i) shifted[i] = static_cast<int>(item_axis(axes.all() ? i : axes[i]));
  return Axes(std::span<const int>(shifted, static_cast<std::size_t>(count)));
}

}  // namespace capstan
