// From a dtype to the C++ type of its elements.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "capstan/dtype.h"

namespace capstan {

// Calls run(T{}) with the element type of `dtype`, if it is one whose elements have an order: all but complex ones.
template <class Run>
void with_ordered_type(DType dtype, const Run& run) {
  switch (dtype) {
    case DType::kFloat32:
      return run(float{});
    case DType::kFloat64:
      return run(double{});
    case DType::kBFloat16:
      return run(BFloat16{});
    case DType::kInt32:
      return run(std::int32_t{});
    case DType::kInt64:
      return run(std::int64_t{});
    case DType::kUInt8:
      return run(std::uint8_t{});
    case DType::kBool:
      return run(bool{});
    default:
      return;
  }
}

// The same for floating dtypes.
template <class Run>
void with_floating_type(DType dtype, const Run& run) {
  if (dtype == DType::kFloat32) return run(float{});
  if (dtype == DType::kFloat64) return run(double{});
  run(BFloat16{});
}

// The same for real numbers: floating and integer ones.
template <class Run>
void with_real_type(DType dtype, const Run& run) {
  with_ordered_type(dtype, [&]<class T>(T tag) {
    if constexpr (!std::is_same_v<T, bool>) run(tag);
  });
}

// The same for real and complex numbers.
template <class Run>
void with_any_number_type(DType dtype, const Run& run) {
  if (dtype == DType::kComplex64) return run(std::complex<float>{});
  if (dtype == DType::kComplex128) return run(std::complex<double>{});
  with_real_type(dtype, run);
}

}  // namespace capstan
