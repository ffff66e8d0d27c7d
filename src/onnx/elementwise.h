// Two values in one layout, for ops that broadcast.
#pragma once

#include "src/onnx/import.h"

namespace capstan::onnx {

struct Pair {
  Tensor a, b;
  bool channels_last = false;
};

/// Both with the channels last if one of them lies so, else both in ONNX's layout.
Pair aligned(const Value& a, const Value& b);

}  // namespace capstan::onnx
