// The table and the ids of rows that an embedding gave.
//
// A product of such rows with a matrix repeats that of each row of the table as often as its id comes: for a table of
// 65 characters and 4096 steps, sixty times. The product of the table, of which rows are then taken, has the same
// elements, and in the reverse pass the gradients are summed by ids first. It saves both gradients most of their work.
//
// Products made so depend on the table and no longer on the rows themselves, so a gradient for the rows would be
// missing. Therefore they are noted only where no program can ask for one: within a model that hands them to one layer
// and to nobody else, which says so in its CallScope.
//
// Which way is taken follows from nothing that may be open in a signature: the length of the table, and that the model
// is trained, where steps are many. (A function keeps one graph for all lengths, and there it must have the same ops.)
#pragma once

#include "src/train/layer_state.h"
#include "src/train/notes.h"

namespace capstan::detail {

// Longer tables might have more rows than a batch has ids.
inline constexpr std::int64_t kMostRememberedRows = 256;

// `rows`, the same tensor for tapes, which remembers `table` and `ids` if they are of use to the layer that is called
// next. To be called by an embedding for what it gives.
Tensor remember_lookup(const Tensor& rows, const Variable& table, const Tensor& ids, bool training);

// For a model in its scope, before it calls a layer: whether what this gives is an input of `user`, and seen by nobody
// else.
inline void give_to_one_layer(CallScope& model, const Layer* user) {
  model.gives_to_one_layer = user != nullptr && LayerState::of(*user).takes_lookups;
}

// The table and the ids of `rows`, or null.
const Lookup* remembered_lookup(const Tensor& rows);

// The table as a tensor of this dtype.
Tensor table_of(const Lookup& lookup, DType dtype);

}  // namespace capstan::detail
