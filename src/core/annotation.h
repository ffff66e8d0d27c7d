// What the library above the core attaches to a tensor: the logits of probabilities, the mask of a sequence.
//
// It is kept beside the blocks, since few tensors have any, and ends with the block. A block says by a sticky bit,
// kAnnotated, that there is something to look for.
#pragma once

#include <memory>

#include "capstan/tensor.h"

namespace capstan::detail {

struct Annotation {
  virtual ~Annotation() = default;
};

// What was attached to a tensor, or null.
Annotation* annotation_of(const Block* block);
// Attaches it in place of what was there. The block must not have been shown to other threads.
void annotate(Block* block, std::unique_ptr<Annotation> annotation);
// Of a block that is going away.
void drop_annotation(Block* block) noexcept;

}  // namespace capstan::detail
