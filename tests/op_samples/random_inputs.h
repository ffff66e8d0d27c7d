// Inputs and attributes of draws.
#pragma once

#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

inline AttributeValue lengths_of(std::vector<AttributeValue> lengths) { return {std::move(lengths)}; }

// A parameter that gradients are not asked for.
inline SampleInput fixed(Shape shape, std::vector<double> values, DType dtype = float32) {
  return {.shape = std::move(shape), .values = std::move(values), .dtype = dtype, .differentiable = false};
}

}  // namespace capstan::testing
