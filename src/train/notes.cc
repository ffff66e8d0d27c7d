#include "src/train/notes.h"

#include "capstan/ops/math.h"
#include "src/core/apply.h"

namespace capstan::detail {

std::unique_ptr<Notes> copy_notes(const Tensor& tensor) {
  auto notes = std::make_unique<Notes>();
  if (const Notes* const present = notes_of(tensor)) {
    notes->logits = present->logits;
    notes->axis = present->axis;
    notes->mask = present->mask;
    notes->lookup = present->lookup;
    notes->symbolic = present->symbolic;
  }
  return notes;
}

Tensor with_notes(const Tensor& tensor, std::unique_ptr<Notes> notes) {
  Tensor result = tensor;
  const Block* const block = tensor.block();
  if (is_symbolic(block)) {
    // It has no elements to be a view of, and its trace knows it by its block.
    if (notes_of(tensor) != nullptr) result = identity(tensor);
  } else if ((block->flags.load(std::memory_order_relaxed) & Block::kLeaf) != 0) {
    // Tapes know a tensor that is watched by its block, too.
    result = identity(tensor);
  } else if (block->refs.load(std::memory_order_acquire) != 2) {
    // Somebody beside the caller and this function has it.
    result = make_view(tensor, tensor.shape());
    // Tapes know a computed tensor by its number; with the same number this is the same tensor to them.
    result.block()->node = block->node;
  }
  annotate(result.block(), std::move(notes));
  return result;
}

}  // namespace capstan::detail
