// The border of a trace.
//
// A symbolic tensor stands for a value of a traced function and means something only while that function, or one that
// is traced inside of it, is being traced. Nothing keeps a program from storing one elsewhere and using it later. What
// is given to an op is checked in apply; what enters the library on another road (the value of an assignment, an
// argument of a function, a target, a weight or a tangent of a derivative, the rows of a dataset) is checked with this.
#pragma once

#include <string_view>

#include "capstan/tensor.h"

namespace capstan {

namespace detail {
void check_live_block(std::string_view what, const Block* block);
}

// Throws TraceError, with `what` in front, if a tensor stands for a value of a trace that is not under way on this
// thread. An empty tensor passes.
inline void check_live(std::string_view what, const TensorRef& tensor) {
  const detail::Block* const block = tensor.block();
  constexpr unsigned kSuspicious = detail::Block::kSymbolic | detail::Block::kRowSparse;
  if (block != nullptr && (block->flags.load(std::memory_order_relaxed) & kSuspicious) != 0) [[unlikely]]
    detail::check_live_block(what, block);
}

// The name of the function in whose trace a symbolic tensor was made, cut to what a block has room for.
inline constexpr std::size_t kTraceNameSize = sizeof(detail::Block::inline_data);
std::string_view trace_name(const detail::Block* symbolic);

}  // namespace capstan
