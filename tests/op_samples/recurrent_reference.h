// Masks that the samples of all recurrent ops use.
#pragma once

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

// Masks of two sequences with three steps.
inline const SampleInput kAllSteps{.shape = {0, 0}, .dtype = DType::kBool, .differentiable = false};
inline const SampleInput kSomeSteps{
    .shape = {2, 3}, .values = {0, 1, 1, 1, 0, 1}, .dtype = DType::kBool, .differentiable = false};

}  // namespace capstan::testing
