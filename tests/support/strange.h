// Arguments that make little sense, drawn at random.
#pragma once

#include <cstdint>
#include <vector>

#include "capstan/tensor.h"
#include "tests/support/random.h"

namespace capstan::testing {

template <class T>
const T& pick(const std::vector<T>& list, Random& random) {
  return list[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(list.size()) - 1))];
}

// Small, negative, and around the powers of two where arithmetic overflows.
std::int64_t strange_integer(Random& random);

// Ordinary numbers, infinities, NaN.
double strange_number(Random& random);

// Like the sample, but for the dtype, the shape or the elements; sometimes row-sparse.
Tensor strange_tensor(Random& random, const Tensor& sample);

}  // namespace capstan::testing
