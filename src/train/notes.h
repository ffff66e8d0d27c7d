// What layers attach to a tensor, beside its elements.
//
// An activation notes its logits, a layer the mask of what it gives, an embedding its table and ids, a functional model
// how a value came about. Notes are on the tensor itself: any op in between makes another tensor, without them.
#pragma once

#include <memory>

#include "capstan/tensor.h"
#include "capstan/variable.h"
#include "src/core/annotation.h"

namespace capstan::detail {

struct SymbolicValue;  // see src/train/functional.h

struct Lookup {
  Variable table;
  Tensor ids;
};

struct Notes final : Annotation {
  Tensor logits;  // of probabilities
  int axis = 0;   // of the softmax that made them, or kSigmoidAxis
  Tensor mask;
  Lookup lookup;  // of rows; see remembered_lookup.h
  std::shared_ptr<const SymbolicValue> symbolic;
};

// Null if there are none.
inline const Notes* notes_of(const TensorRef& tensor) {
  const Block* const block = tensor.block();
  if (block == nullptr || (block->flags.load(std::memory_order_relaxed) & Block::kAnnotated) == 0) [[likely]]
    return nullptr;
  return static_cast<const Notes*>(annotation_of(block));
}

// A copy of the notes that a tensor has, to be changed.
std::unique_ptr<Notes> copy_notes(const Tensor& tensor);
// The same tensor, for tapes and traces too, with these notes.
Tensor with_notes(const Tensor& tensor, std::unique_ptr<Notes> notes);

}  // namespace capstan::detail
