#pragma once

#include "capstan/tensor.h"

namespace capstan {

/// Sets the seed of all following draws of this process without a seed of their own. The same seed gives the same bits.
CAPSTAN_EXPORT void set_seed(std::uint64_t seed);
/// The next key of the process's stream: what draws without a seed use.
CAPSTAN_EXPORT std::uint64_t next_seed();

namespace random {

/// Draws from keyed Philox: an element depends on the seed and its position only.
CAPSTAN_EXPORT Tensor uniform(const Shape& shape, double minval = 0, double maxval = 1, DType dtype = float32);
CAPSTAN_EXPORT Tensor uniform(const Shape& shape, double minval, double maxval, DType dtype, std::uint64_t seed);
CAPSTAN_EXPORT Tensor normal(const Shape& shape, double mean = 0, double stddev = 1, DType dtype = float32);
CAPSTAN_EXPORT Tensor normal(const Shape& shape, double mean, double stddev, DType dtype, std::uint64_t seed);
CAPSTAN_EXPORT Tensor truncated_normal(const Shape& shape, double mean = 0, double stddev = 1, DType dtype = float32);
CAPSTAN_EXPORT Tensor truncated_normal(const Shape& shape, double mean, double stddev, DType dtype, std::uint64_t seed);

}  // namespace random

/// A random order of 0 ... n-1.
CAPSTAN_EXPORT std::vector<std::int64_t> random_permutation(std::int64_t n, std::uint64_t seed);

}  // namespace capstan
