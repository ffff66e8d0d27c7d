#include "src/train/remembered_logits.h"

#include "src/core/apply.h"

namespace capstan::detail {

Tensor remember_logits(const Tensor& probabilities, const Tensor& logits, int axis) {
  // A symbolic tensor has no elements to be a view of, and a trace knows it by its block; it was made just now.
  const bool is_new = is_symbolic(probabilities.block());
  Tensor result = is_new ? probabilities : make_view(probabilities, probabilities.shape());
  Block* block = result.block();
  // Tapes know a computed tensor by its number; with the same number this is the same tensor to them.
  block->node = probabilities.block()->node;
  block->remembered.logits = logits.block();
  block->remembered.axis = axis;
  retain(logits.block());
  block->flags.fetch_or(Block::kRemembersLogits, std::memory_order_relaxed);
  return result;
}

Tensor remembered_logits(const Tensor& probabilities, int axis) {
  Block* block = probabilities.block();
  if (block == nullptr || (block->flags.load(std::memory_order_relaxed) & Block::kRemembersLogits) == 0) return {};
  if (block->remembered.axis != axis) return {};
  retain(block->remembered.logits);
  return Tensor::adopt(block->remembered.logits);
}

}  // namespace capstan::detail
