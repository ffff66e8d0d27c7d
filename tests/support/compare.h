// Comparing tensors with what they should be.
#pragma once

#include <cstdint>
#include <string>

#include "capstan/tensor.h"

namespace capstan::testing {

// |got - want| <= relative * |want| + floor * (largest |want| of the tensor) + absolute.
struct Tolerance {
  double relative = 0;
  double floor = 0;
  double absolute = 0;
};

// Of values that were computed by another program.
Tolerance golden_tolerance(DType dtype);

// Nothing if `got` has the dtype, shape and elements of `want`, else what differs, with both
// values. NaN equals NaN, the sign of zero does not matter; integers and truth values must agree
// exactly.
std::string difference(const Tensor& got, const Tensor& want, Tolerance tolerance);

// True if the dtypes, shapes and all bytes agree.
bool same_bits(const Tensor& a, const Tensor& b);

// "[1, 2]", the position of element number i.
std::string position(const Shape& shape, std::int64_t i);

bool all_zero(const Tensor& tensor);

}  // namespace capstan::testing
