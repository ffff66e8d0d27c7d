// The common rules of batching, and what others are written with. An op's own rule stands beside the op.
//
// See BatchCall in src/core/op_def.h: batched inputs have the axis of the items in front, and so have all outputs.
#pragma once

#include <vector>

#include "src/core/apply.h"
#include "src/core/op_def.h"
#include "src/ops/axes.h"

namespace capstan {

// An input with the axis of the items, repeated along it if it is the same for all.
Tensor with_items(const BatchCall& call, int i);

// Of an input that is the same for all items only the shape, with the axis of the items in front.
Tensor shape_with_items(const BatchCall& call, int i);

// An input that broadcasts against those of calls whose item has this rank: behind the axis of the items stand as many
// axes of length 1 as its item lacks.
Tensor aligned(const BatchCall& call, int i, int item_rank);

// A tensor whose first axis is the items and whose second one was the first axis of an item, with both in one; and
// back.
Tensor merge_items(const Tensor& x);
Tensor split_items(const Tensor& x, std::int64_t size);

// Calls the op with other inputs and attributes. Returns true.
bool call_again(const BatchCall& call, std::vector<Tensor> inputs, const void* attributes,
                std::vector<Tensor>& outputs);

// All inputs with the axis of the items.
std::vector<Tensor> all_with_items(const BatchCall& call);

// Elementwise ops, and others whose inputs broadcast and which work on the last axes (matmul).
bool batch_broadcasting(const BatchCall& call, std::vector<Tensor>& outputs);

// Ops to which leading axes are a batch, the same for all inputs (cholesky).
bool batch_leading(const BatchCall& call, std::vector<Tensor>& outputs);

// Ops whose first input has an axis of examples in front, which the items join, and whose others are the same for all
// items (pooling). Falls back to one by one if they are not.
bool batch_examples(const BatchCall& call, std::vector<Tensor>& outputs);

// An axis of an item, counted from either end, as one of the batched input. `rank` is that of the item.
inline std::int64_t item_axis(std::int64_t axis, int rank) { return (axis < 0 ? axis + rank : axis) + 1; }
// The same for several, where none given means all.
Axes item_axes(const Axes& axes, int rank);
// And for one that may be absent: then `absent` is meant.
inline OptionalInt item_axis(OptionalInt axis, int rank, std::int64_t absent) {
  return item_axis(axis.has_value ? axis.value : absent, rank);
}

// Ops whose one attribute that knows of axes is this field, which are axes of the first input; the other inputs have
// its rank.
template <auto Member>
bool batch_axis(const BatchCall& call, std::vector<Tensor>& outputs) {
  using A = typename MemberOf<Member>::Struct;
  A attributes = call.attributes<A>();
  const int rank = call.item_rank(0);
  if (rank >= kMaxRank) return false;
  if constexpr (std::is_same_v<typename MemberOf<Member>::Field, Axes>) {
    attributes.*Member = item_axes(attributes.*Member, rank);
  } else {
    attributes.*Member = item_axis(attributes.*Member, rank);
  }
  return call_again(call, all_with_items(call), &attributes, outputs);
}

}  // namespace capstan
