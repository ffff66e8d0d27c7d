#pragma once

#include <vector>

#include "capstan/tensor.h"

namespace capstan {

/// Sets the key of the process's stream: all later draws without a seed of their own follow from
/// it. A program that never calls this gets the same numbers in every run.
CAPSTAN_EXPORT void set_seed(std::uint64_t seed);
/// The next key of the process's stream: what a draw without a seed uses. Safe to call from any
/// thread.
CAPSTAN_EXPORT std::uint64_t next_seed();

namespace random {

// Draws from Philox4x32, a function of the seed and an element's position, so the same seed gives
// the same bits on any number of threads. Without a seed a draw uses next_seed(). Draws have no
// gradient. Errors: ShapeError for a negative length, DTypeError, ValueError for an empty range of
// integers.

/// Evenly distributed in [minval, maxval); of floating dtypes, int32 or int64.
CAPSTAN_EXPORT Tensor uniform(const Shape& shape, double minval = 0, double maxval = 1, DType dtype = float32);
CAPSTAN_EXPORT Tensor uniform(const Shape& shape, double minval, double maxval, DType dtype, std::uint64_t seed);
/// Normally distributed.
CAPSTAN_EXPORT Tensor normal(const Shape& shape, double mean = 0, double stddev = 1, DType dtype = float32);
CAPSTAN_EXPORT Tensor normal(const Shape& shape, double mean, double stddev, DType dtype, std::uint64_t seed);
/// Normally distributed; what lies more than two standard deviations from the mean is drawn again.
CAPSTAN_EXPORT Tensor truncated_normal(const Shape& shape, double mean = 0, double stddev = 1, DType dtype = float32);
CAPSTAN_EXPORT Tensor truncated_normal(const Shape& shape, double mean, double stddev, DType dtype, std::uint64_t seed);

}  // namespace random

/// A random order of 0 ... n-1.
CAPSTAN_EXPORT std::vector<std::int64_t> random_permutation(std::int64_t n, std::uint64_t seed);

}  // namespace capstan
