#include "src/core/live.h"

#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/hooks.h"

namespace capstan {

using detail::Block;

std::string_view trace_name(const Block* symbolic) {
  return reinterpret_cast<const char*>(symbolic->inline_data);  // it ends with a zero
}

void detail::check_live_block(std::string_view what, const Block* block) {
  if ((block->flags.load(std::memory_order_relaxed) & Block::kRowSparse) != 0) {
    check_live_block(what, block->sparse.indices);
    check_live_block(what, block->sparse.values);
  }
  if (!is_symbolic(block) || (context.tracer != nullptr && context.tracer->is_live(block))) return;
  throw TraceError(join(what, ": ", describe(TensorRef(const_cast<Block*>(block))),
                        " is a value of the traced function \"", trace_name(block), "\", whose trace has ended",
                        place_of_caller(),
                        help("return it from the function and use what a call returns, or keep it in a variable")));
}

void detail::throw_symbolic(std::string_view what, const Block* block) {
  check_live_block(what, block);
  throw ValueNeededError(
      join(what, ": ", describe(TensorRef(const_cast<Block*>(block))), " stands for a value of the traced function \"",
           trace_name(block), "\", which exists only when the function is called", place_of_caller(),
           help("return it from the function and read it there; choose by values with where() or cond()")));
}

}  // namespace capstan
