// What the samples and references of all recurrent ops use.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

// Masks of two sequences with three steps.
inline const SampleInput kAllSteps{.shape = {0, 0}, .dtype = DType::kBool, .differentiable = false};
inline const SampleInput kSomeSteps{
    .shape = {2, 3}, .values = {0, 1, 1, 1, 0, 1}, .dtype = DType::kBool, .differentiable = false};

// A sample with one input of a wrong shape.
inline OpSample with_wrong(std::vector<SampleInput> inputs, std::size_t which, const Shape& shape,
                           const std::string& error) {
  inputs[which] = {.shape = shape};
  return {.inputs = std::move(inputs), .error = error};
}

inline double naive_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace capstan::testing
