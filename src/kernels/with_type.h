// From a dtype to the C++ type of its elements.
#pragma once

#include <cstdint>
#include <type_traits>

#include "capstan/dtype.h"

namespace capstan {

// Calls run(T{}) with the element type of `dtype`, bool among them.
template <class Run>
void with_element_type(DType dtype, const Run& run) {
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
  }
}

// The same for numbers: whatever is left counts as uint8.
template <class Run>
void with_number_type(DType dtype, const Run& run) {
  if (dtype == DType::kBool) return run(std::uint8_t{});
  with_element_type(dtype, [&]<class T>(T tag) {
    if constexpr (!std::is_same_v<T, bool>) run(tag);
  });
}

}  // namespace capstan
