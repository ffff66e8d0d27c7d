// The common rules of batching, and what others are written with. An op's own rule is beside the op.
//
// See BatchCall in src/core/op_def.h: batched inputs have the axis of the items in front, and so have all outputs.
#pragma once

#include <vector>

#include "src/core/apply.h"
#include "src/core/op_def.h"
#include "src/ops/axes.h"

namespace capstan {

// A tensor that is the same for all items, repeated along an axis of items in front.
Tensor repeated(const Tensor& x, std::int64_t size);

// An input with the axis of the items, repeated along it if it is the same for all.
Tensor with_items(const BatchCall& call, int i);

// Of an input that is the same for all items only the shape, with the axis of the items in front.
Tensor shape_with_items(const BatchCall& call, int i);

// An input that broadcasts against those of calls whose item has this rank: after the axis of the items come as many
// axes of length 1 as its item lacks.
Tensor aligned(const BatchCall& call, int i, int item_rank);

// A tensor whose first axis is the items and whose second one was the first axis of an item, with both in one; and
// back.
Tensor merge_items(const Tensor& x);
Tensor split_items(const Tensor& x, std::int64_t size);

// Ids from 0 to below n, with the items in front, as ids of all items together: those of item i begin at i n. Negative
// ones stay negative, and those not below n remain too large.
Tensor ids_of_all(const Tensor& ids, std::int64_t n);

// An axis at another place among the others.
Tensor move_axis(const Tensor& x, int from, int to);

// Whether each input has room for the axis of the items.
bool has_room(const BatchCall& call);

// Calls the op with other inputs and attributes. Returns true.
bool call_again(const BatchCall& call, std::vector<Tensor> inputs, const void* attributes,
                std::vector<Tensor>& outputs);

// All inputs with the axis of the items.
std::vector<Tensor> all_with_items(const BatchCall& call);

// Calls the op with these and other attributes. Returns false if there is no room.
bool call_with_items(const BatchCall& call, const void* attributes, std::vector<Tensor>& outputs);

// Elementwise ops, and others whose inputs broadcast and which work on the last axes (matmul).
bool batch_broadcasting(const BatchCall& call, std::vector<Tensor>& outputs);

// Ops to which leading axes are a batch, the same for all inputs (cholesky).
bool batch_leading(const BatchCall& call, std::vector<Tensor>& outputs);

// Ops whose inputs have an axis of examples in front, which the items join (pooling and its gradients, sequences).
bool batch_examples(const BatchCall& call, std::vector<Tensor>& outputs);

// Ops that read of their second input the shape alone, which is that of the result (reshape_like).
bool batch_like(const BatchCall& call, std::vector<Tensor>& outputs);

// An axis of an item as one of the batched input. One that is counted from the end stays.
inline std::int64_t item_axis(std::int64_t axis, int = 0) { return axis < 0 ? axis : axis + 1; }
// The same for several, where none given means all of the item's, whose number is `rank`.
Axes item_axes(const Axes& axes, int rank);
inline Axes item_axis(const Axes& axes, int rank) { return item_axes(axes, rank); }

// Ops whose one attribute that knows of axes is this field, which are axes of the first input or of a result; the other
// inputs have the rank of the first.
template <auto Member>
bool batch_axis(const BatchCall& call, std::vector<Tensor>& outputs) {
  using A = typename detail::MemberOf<Member>::Struct;
  A attributes = call.attributes<A>();
  attributes.*Member = item_axis(attributes.*Member, call.item_rank(0));
  return call_with_items(call, &attributes, outputs);
}

}  // namespace capstan
