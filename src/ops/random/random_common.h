// What the families of random ops share: stores of float64 results.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "capstan/ops/random.h"
#include "capstan/seed.h"
#include "src/core/allocator.h"
#include "src/core/attributes.h"
#include "src/ops/seed.h"

namespace capstan {

template <class T>
void store(const Tensor& out, std::int64_t i, double value) {
  mutable_data<T>(out)[i] = T(static_cast<std::conditional_t<std::is_same_v<T, BFloat16>, float, T>>(value));
}

// Calls run(T{}) for a floating dtype.
template <class Run>
void with_floating_type(DType dtype, const Run& run) {
  if (dtype == DType::kFloat32) return run(float{});
  if (dtype == DType::kFloat64) return run(double{});
  return run(BFloat16{});
}

}  // namespace capstan
