// A tensor as three axes: one of its own, those before it as one, and those after it as one.
#pragma once

#include <cstdint>

namespace capstan {

// A dense tensor [outer, n, inner], whose rows run along n.
struct AxisView {
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;
};

}  // namespace capstan
