#include "src/train/remembered_lookup.h"

#include "capstan/ops/math.h"

namespace capstan::detail {

Tensor remember_lookup(const Tensor& rows, const Variable& table, const Tensor& ids, bool training) {
  // The innermost scope is that of the embedding.
  const CallScope* const model = CallScope::current() == nullptr ? nullptr : CallScope::current()->outer;
  if (!training || model == nullptr || !model->gives_to_one_layer || table.shape()[0] > kMostRememberedRows)
    return rows;
  std::unique_ptr<Notes> notes = copy_notes(rows);
  notes->lookup = {table, ids};
  return with_notes(rows, std::move(notes));
}

const Lookup* remembered_lookup(const Tensor& rows) {
  const Notes* const notes = notes_of(rows);
  return notes != nullptr && notes->lookup.ids.has_value() ? &notes->lookup : nullptr;
}

Tensor table_of(const Lookup& lookup, DType dtype) {
  return lookup.table.dtype() == dtype ? lookup.table.value() : cast(lookup.table, dtype);
}

}  // namespace capstan::detail
