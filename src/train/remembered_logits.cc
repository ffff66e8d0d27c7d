#include "src/train/remembered_logits.h"

#include "src/train/notes.h"

namespace capstan::detail {

Tensor remember_logits(const Tensor& probabilities, const Tensor& logits, int axis) {
  auto notes = std::make_unique<Notes>();
  notes->logits = logits;
  notes->axis = axis;
  return with_notes(probabilities, std::move(notes));
}

Tensor remembered_logits(const Tensor& probabilities, int axis) {
  const Notes* const notes = notes_of(probabilities);
  return notes != nullptr && notes->axis == axis ? notes->logits : Tensor();
}

}  // namespace capstan::detail
