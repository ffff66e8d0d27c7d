// What the ops of long short-term memories share.
#pragma once

#include "src/core/op_def.h"
#include "src/kernels/recurrent/lstm.h"

namespace capstan {

extern const OpDef kLstmGradients, kLstmTangents;

// Input, forget, candidate and output gate.
inline constexpr std::int64_t kLstmGates = 4;

// The kernels of this processor.
template <class T>
const LstmKernels<T>& lstm_kernels_here() {
  static const LstmKernels<T> kernels = lstm_kernels<T>(instruction_set());
  return kernels;
}

}  // namespace capstan
