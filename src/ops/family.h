// The ops of a file, for the registry.
#pragma once

#include <span>

#include "src/core/op_def.h"

namespace capstan {

using OpFamily = std::span<const OpDef* const>;

// Lists the ops that can be called by name, at the end of a file of src/ops: CAPSTAN_OPS(softmax, &kSoftmax,
// &kLogSoftmax) in softmax.cc. The build finds the files that have such a line and makes the list of them that the
// registry reads (cmake/CapstanOps.cmake), so an op that is linked in is an op that can be called.
#define CAPSTAN_OPS(file, ...)                           \
  OpFamily ops_of_##file() {                             \
    static constexpr const OpDef* ops[] = {__VA_ARGS__}; \
    return ops;                                          \
  }                                                      \
  static_assert(true)

}  // namespace capstan
