// Ops whose result lies in the memory of their first operand, or around it: what a program knows of them when it gives
// values their places, so that a run has nothing left to do for them.
//
// An op says this beside its kernel, which remains what it does everywhere else.
#pragma once

#include <cstdint>
#include <optional>

#include "src/core/op_def.h"

namespace capstan {

// The elements of the result in order: `before` times `fill`, those of the first operand from element `from` on, and
// `after` times `fill`. One of both only: what cuts elements off adds none.
struct Layout {
  std::int64_t from = 0;
  std::int64_t before = 0;
  std::int64_t after = 0;
  double fill = 0;

  bool adds() const { return before != 0 || after != 0; }
};

// Nothing if the result is laid out in another way, or has no elements.
std::optional<Layout> layout_of(const Call& call);

// Of the files of such ops.
std::optional<Layout> layout_of_slice(const Call& call);
std::optional<Layout> layout_of_pad(const Call& call);

}  // namespace capstan
