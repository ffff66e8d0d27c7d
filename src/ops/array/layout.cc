#include "src/ops/array/layout.h"

namespace capstan {

std::optional<Layout> layout_of(const Call& call) {
  if (call.inputs.empty() || call.input(0).size() == 0) return std::nullopt;
  if (has_flag(call.op, kReshapes)) return Layout{};
  if (const std::optional<Layout> slice = layout_of_slice(call)) return slice;
  return layout_of_pad(call);
}

}  // namespace capstan
