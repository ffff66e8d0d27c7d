#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>

#include "capstan/export.h"

namespace capstan {

/// The type of a tensor's elements.
enum class DType : std::uint8_t {
  kFloat32,
  kFloat64,
  kBFloat16,
  kInt32,
  kInt64,
  kUInt8,
  kBool,
  kComplex64,
  kComplex128
};

inline constexpr int kDTypes = 9;

/// The dtypes under the names they have in TensorFlow; `bool` is a keyword of C++, hence `bool_`.
inline constexpr DType float32 = DType::kFloat32;
inline constexpr DType float64 = DType::kFloat64;
inline constexpr DType bfloat16 = DType::kBFloat16;
inline constexpr DType int32 = DType::kInt32;
inline constexpr DType int64 = DType::kInt64;
inline constexpr DType uint8 = DType::kUInt8;
inline constexpr DType bool_ = DType::kBool;
/// Complex numbers of two float32 or two float64, as std::complex<float> and std::complex<double> hold them.
inline constexpr DType complex64 = DType::kComplex64;
inline constexpr DType complex128 = DType::kComplex128;

/// A 16-bit float with the exponent of float32; arithmetic on it is done in float32 and rounded to nearest even.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  constexpr explicit BFloat16(float value) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<std::uint16_t>((word >> 16) | 0x40u);  // A NaN stays a NaN.
    } else {
      bits = static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
    }
  }
  constexpr operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

namespace detail {
// Outside of their functions, where every call would build them anew.
inline constexpr std::uint8_t kSizes[kDTypes] = {4, 8, 2, 4, 8, 1, 1, 8, 16};
inline constexpr std::string_view kNames[kDTypes] = {"float32", "float64", "bfloat16",  "int32",     "int64",
                                                     "uint8",   "bool",    "complex64", "complex128"};
}  // namespace detail

/// Bytes per element.
constexpr std::size_t size_of(DType dtype) { return detail::kSizes[static_cast<int>(dtype)]; }

/// "float32", "int64", ...
constexpr std::string_view name_of(DType dtype) { return detail::kNames[static_cast<int>(dtype)]; }

/// Writes the name.
CAPSTAN_EXPORT std::ostream& operator<<(std::ostream& out, DType dtype);

/// True for float32, float64 and bfloat16.
constexpr bool is_floating(DType dtype) { return dtype <= DType::kBFloat16; }

/// True for int32, int64 and uint8.
constexpr bool is_integer(DType dtype) { return dtype >= DType::kInt32 && dtype <= DType::kUInt8; }

/// True for complex64 and complex128.
constexpr bool is_complex(DType dtype) { return dtype >= DType::kComplex64; }

/// True for the dtypes that can have gradients: floating and complex ones.
constexpr bool is_differentiable(DType dtype) { return is_floating(dtype) || is_complex(dtype); }

/// The dtype of the real and the imaginary part: float32 for complex64, float64 for complex128; any other is its own.
constexpr DType real_dtype(DType dtype) {
  return dtype == DType::kComplex64 ? DType::kFloat32 : dtype == DType::kComplex128 ? DType::kFloat64 : dtype;
}

/// The complex dtype with parts of `dtype`: complex128 for float64, complex64 for any other; a complex one is its own.
constexpr DType complex_dtype(DType dtype) {
  return dtype == DType::kFloat64 || dtype == DType::kComplex128 ? DType::kComplex128 : DType::kComplex64;
}

/// The dtype whose name is `name`. Throws ValueError for any other text.
///
///     dtype_from_name("int64") == int64;  // true
CAPSTAN_EXPORT DType dtype_from_name(std::string_view name);

/// The dtype of floating numbers that nothing else decides: of literals, and wherever a default is written
/// `= floatx()`, as in creation ops, draws and specs, and of layers (dtype_policy()). float32 until set_floatx()
/// changes it, for the whole process. A function is traced anew when it is called under another one.
///
///     zeros({2}, floatx());
CAPSTAN_EXPORT DType floatx() noexcept;

/// Changes floatx(); what exists keeps its dtype. Call it first, before tensors, layers and optimizers are made.
/// Errors: DTypeError for a dtype that is not floating.
///
///     set_floatx(float64);
///     constant({1.0, 2.0}).dtype();     // float64
///     layers::Dense(3);                 // weights and results in float64
CAPSTAN_EXPORT void set_floatx(DType dtype);

namespace detail {
template <class T>
inline constexpr bool kNever = false;
/// A type of C++ that no dtype has.
template <class T>
struct DTypeOf {
  static_assert(kNever<T>,
                "an element type is float, double, BFloat16, std::int32_t, std::int64_t, std::uint8_t, bool, "
                "std::complex<float> or std::complex<double>");
  static constexpr DType value = DType::kFloat32;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kFloat64;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::kBFloat16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::kInt32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::kInt64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::kUInt8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};
/// std::complex<float> and std::complex<double>, known by what they have: <complex> costs a fifth of a second in every
/// file, so only who uses it includes it.
template <class T>
concept ComplexNumber = requires(const T& z) {
  typename T::value_type;
  z.real();
  z.imag();
}
&&(std::is_same_v<typename T::value_type, float> || std::is_same_v<typename T::value_type, double>)&&sizeof(T) ==
    2 * sizeof(typename T::value_type);
template <ComplexNumber T>
struct DTypeOf<T> {
  static constexpr DType value = std::is_same_v<typename T::value_type, float> ? DType::kComplex64 : DType::kComplex128;
};
}  // namespace detail

/// The dtype of a C++ element type: `kDTypeOf<float>` is float32.
template <class T>
inline constexpr DType kDTypeOf = detail::DTypeOf<T>::value;

namespace detail {
/// The element type that holds numbers of T: itself, or for what no dtype has the smallest that holds every value;
/// unsigned 64-bit numbers are checked, and long double is rounded.
template <class T>
auto element_of() {
  if constexpr (std::is_same_v<T, long double>) {
    return double{};
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, std::uint8_t>) {
    return std::conditional_t<(sizeof(T) < 4 || (sizeof(T) == 4 && std::is_signed_v<T>)), std::int32_t, std::int64_t>{};
  } else {
    static_assert(is_floating(kDTypeOf<T>) || !is_floating(kDTypeOf<T>));  // There is one.
    return T{};
  }
}
template <class T>
using ElementOf = decltype(element_of<T>());
}  // namespace detail

}  // namespace capstan
