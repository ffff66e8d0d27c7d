// Formulas: a scalar function and its derivative, written once over a type X.
//
//     struct Sqrt : UnaryOp {
//       static constexpr OpText text{"sqrt", "Square root, elementwise."};
//       FORMULA f(X x) { return sqrt(x); }
//       FORMULA df(X g, X, X y) { return select(g == 0.0, 0.0, 0.5 * g / y); }
//     };
//
// `df(g, x, y)` is the cotangent of the input given the cotangent g of the output y; because an elementwise Jacobian is
// diagonal it is also the tangent of the output. X is
//   - Scalar<T>: one element, in the reference and in the loops of integers and bfloat16;
//   - V<D>: a vector, in the kernels (src/formula/loops-inl.h);
//   - Micro: a recorder at compile time, which turns the formula into data. From it follow what a derivative reads and
//     what a tape saves, which nobody declares, and the gradient rule in library ops (src/ops/formula_rule.h), so that
//     gradients of any order exist.
//
// Over complex numbers a formula is taken to be analytic: its derivative is then the same formula, and the cotangent is
// conj(df(conj(g), x, y)), which is the convention of TensorFlow. See UnaryOp::Complex.
// So a formula has no branches (select only), plain literals, and only the functions listed below.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "src/core/micro.h"
#include "src/core/op_def.h"
#include "src/kernels/math/scalar_math.h"

// A formula is inlined into its loop, whatever its size.
#define FORMULA      \
  template <class X> \
  [[gnu::always_inline]] static constexpr X
// A formula with attributes: P is double, or a recorder.
#define FORMULA_WITH_PARAMETERS \
  template <class X, class P>   \
  [[gnu::always_inline]] static constexpr X
// A formula with a truth value as its result; for ops with `boolean = true`.
#define PREDICATE    \
  template <class X> \
  [[gnu::always_inline]] static constexpr auto

namespace capstan {

struct OpText {
  std::string_view name;
  std::string_view text;
};

// Which real dtypes an elementwise op takes.
enum class Types : std::uint8_t { kFloating, kNumbers, kIntegers, kAll, kBool };

constexpr bool takes(Types types, DType dtype) {
  switch (types) {
    case Types::kFloating:
      return is_floating(dtype);
    case Types::kNumbers:
      return dtype < DType::kBool;
    case Types::kIntegers:
      return is_integer(dtype);
    case Types::kBool:
      return dtype == DType::kBool;
    default:
      return dtype <= DType::kBool;
  }
}

// What every formula inherits; a formula overrides what differs.
struct UnaryOp {
  static constexpr int arity = 1;
  static constexpr int parameters = 0;
  static constexpr Types types = Types::kFloating;
  static constexpr bool differentiable = true;
  static constexpr bool boolean = false;  // the result is bool
  static constexpr std::uint16_t flags = kNoFlags;
  static constexpr std::string_view input_names = "x";
  static constexpr const AttributeType* attributes = nullptr;
  // The formula that complex numbers follow: itself, another with the same name, or void if the op does not take them.
  using Complex = void;
  // A formula of functions that have no vector form: its loops go from element to element in float64, and are compiled
  // once instead of once per instruction set. See CAPSTAN_PORTABLE_ELEMENTWISE.
  static constexpr bool portable = false;
  // What a call by name runs where the public function does more than the loop: checks, or another dtype.
  static constexpr Compose compose = nullptr;
  static constexpr const OpForPrograms* programs = nullptr;
};
struct BinaryOp : UnaryOp {
  static constexpr int arity = 2;
  static constexpr std::string_view input_names = "x, y";
};
// Portable formulas only.
struct TernaryOp : UnaryOp {
  static constexpr int arity = 3;
  static constexpr std::string_view input_names = "x, y, z";
};

// --- Scalar<T>: one element ---

template <class T>
struct Scalar {
  T v;
  constexpr Scalar() = default;
  constexpr explicit Scalar(T value) : v(value) {}
};

namespace detail {
// A literal of a formula as an element.
template <class T>
constexpr T number_as(double number) {
  if constexpr (requires { typename T::value_type; }) {
    return T(static_cast<typename T::value_type>(number));
  } else {
    return static_cast<T>(number);
  }
}
// Integer arithmetic wraps around instead of being undefined.
template <class T>
constexpr T wrap_add(T a, T b) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  } else {
    return static_cast<T>(a + b);
  }
}
template <class T>
constexpr T wrap_subtract(T a, T b) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) - static_cast<std::make_unsigned_t<T>>(b));
  } else {
    return static_cast<T>(a - b);
  }
}
template <class T>
constexpr T wrap_multiply(T a, T b) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return static_cast<T>(a * b);
  }
}
template <class T>
constexpr T checked_divide(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return T{0};  // The op refuses a zero divisor before the loop runs.
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return wrap_subtract(T{0}, a);
    }
  }
  return static_cast<T>(a / b);
}
}  // namespace detail

#define CAPSTAN_SCALAR_OPERATOR(op, function)                         \
  template <class T>                                                  \
  constexpr Scalar<T> operator op(Scalar<T> a, Scalar<T> b) {         \
    return Scalar<T>(detail::function(a.v, b.v));                     \
  }                                                                   \
  template <class T>                                                  \
  constexpr Scalar<T> operator op(Scalar<T> a, double b) {            \
    return Scalar<T>(detail::function(a.v, detail::number_as<T>(b))); \
  }                                                                   \
  template <class T>                                                  \
  constexpr Scalar<T> operator op(double a, Scalar<T> b) {            \
    return Scalar<T>(detail::function(detail::number_as<T>(a), b.v)); \
  }
CAPSTAN_SCALAR_OPERATOR(+, wrap_add)
CAPSTAN_SCALAR_OPERATOR(-, wrap_subtract)
CAPSTAN_SCALAR_OPERATOR(*, wrap_multiply)
CAPSTAN_SCALAR_OPERATOR(/, checked_divide)
#undef CAPSTAN_SCALAR_OPERATOR
template <class T>
constexpr Scalar<T> operator-(Scalar<T> x) {
  if constexpr (std::is_integral_v<T>)
    return Scalar<T>(detail::wrap_subtract(T{0}, x.v));
  else
    return Scalar<T>(-x.v);
}
#define CAPSTAN_SCALAR_COMPARISON(op)                            \
  template <class T>                                             \
  constexpr Scalar<bool> operator op(Scalar<T> a, Scalar<T> b) { \
    return Scalar<bool>(a.v op b.v);                             \
  }                                                              \
  template <class T>                                             \
  constexpr Scalar<bool> operator op(Scalar<T> a, double b) {    \
    return Scalar<bool>(a.v op detail::number_as<T>(b));         \
  }
CAPSTAN_SCALAR_COMPARISON(==)
CAPSTAN_SCALAR_COMPARISON(!=)
CAPSTAN_SCALAR_COMPARISON(<)
CAPSTAN_SCALAR_COMPARISON(<=)
CAPSTAN_SCALAR_COMPARISON(>)
CAPSTAN_SCALAR_COMPARISON(>=)
#undef CAPSTAN_SCALAR_COMPARISON
constexpr Scalar<bool> operator&&(Scalar<bool> a, Scalar<bool> b) { return Scalar<bool>(a.v && b.v); }
constexpr Scalar<bool> operator||(Scalar<bool> a, Scalar<bool> b) { return Scalar<bool>(a.v || b.v); }
constexpr Scalar<bool> operator!(Scalar<bool> a) { return Scalar<bool>(!a.v); }
template <class T>
constexpr Scalar<T> select(Scalar<bool> c, Scalar<T> a, Scalar<T> b) {
  return c.v ? a : b;
}
template <class T>
constexpr Scalar<T> select(Scalar<bool> c, Scalar<T> a, double b) {
  return c.v ? a : Scalar<T>(detail::number_as<T>(b));
}
template <class T>
constexpr Scalar<T> select(Scalar<bool> c, double a, Scalar<T> b) {
  return c.v ? Scalar<T>(detail::number_as<T>(a)) : b;
}
template <class T>
constexpr Scalar<T> zero_of(Scalar<T>) {
  return Scalar<T>(T{0});
}

namespace detail {
// The functions on single numbers, in their own precision or in double; see src/kernels/math/scalar_math.h for those
// the standard library lacks.

// The `compose` of an op whose public function is `function`.
template <Tensor (*function)(Operand, Operand)>
void call_function(std::span<const Operand> inputs, const void*, std::vector<Tensor>& outputs) {
  outputs.push_back(function(inputs[0], inputs[1]));
}

template <Tensor (*function)(Operand)>
void call_function(std::span<const Operand> inputs, const void*, std::vector<Tensor>& outputs) {
  outputs.push_back(function(inputs[0]));
}

template <class T>
T scalar_call(double (*function)(double), T x) {
  return static_cast<T>(function(static_cast<double>(x)));
}
template <class T>
constexpr T scalar_sign(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x > 0 ? T(1) : x < 0 ? T(-1) : x;
  else
    return static_cast<T>((x > T(0)) - (x < T(0)));
}
template <class T>
T scalar_abs(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fabs(x);
  else
    return x < T(0) ? wrap_subtract(T(0), x) : x;
}
template <class T>
T scalar_round(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::nearbyint(x);
  else
    return x;
}
template <class T>
T scalar_floordiv(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::floor(x / y);
  } else {
    const T quotient = checked_divide(x, y);
    return y != 0 && wrap_multiply(quotient, y) != x && (x < 0) != (y < 0) ? static_cast<T>(quotient - 1) : quotient;
  }
}
template <class T>
T scalar_floormod(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    const T r = std::fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
  } else {
    if (y == 0 || (std::is_signed_v<T> && y == T(-1))) return T(0);
    const T r = static_cast<T>(x % y);
    return r != 0 && (r < 0) != (y < 0) ? static_cast<T>(r + y) : r;
  }
}
template <class T>
T scalar_truncatemod(T x, T y) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmod(x, y);
  else
    return y == 0 || (std::is_signed_v<T> && y == T(-1)) ? T(0) : static_cast<T>(x % y);
}
template <class T>
T scalar_pow(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::pow(x, y);
  } else {
    T result = 1;  // by squaring; negative exponents are refused before the loop runs
    for (; y > 0; y = static_cast<T>(y >> 1)) {
      if ((y & 1) != 0) result = wrap_multiply(result, x);
      x = wrap_multiply(x, x);
    }
    return result;
  }
}
}  // namespace detail

#define CAPSTAN_SCALAR_FUNCTION(name, expression) \
  template <class T>                              \
  Scalar<T> name(Scalar<T> s) {                   \
    const T x = s.v;                              \
    return Scalar<T>(static_cast<T>(expression)); \
  }
CAPSTAN_SCALAR_FUNCTION(abs, detail::scalar_abs(x))
CAPSTAN_SCALAR_FUNCTION(sign, detail::scalar_sign(x))
CAPSTAN_SCALAR_FUNCTION(sqrt, std::sqrt(x))
CAPSTAN_SCALAR_FUNCTION(rsqrt, T(1) / std::sqrt(x))
CAPSTAN_SCALAR_FUNCTION(exp, std::exp(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(expm1, std::expm1(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(log, std::log(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(log1p, std::log1p(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(sin, std::sin(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(cos, std::cos(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(tan, std::tan(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(asin, std::asin(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(acos, std::acos(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(atan, std::atan(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(sinh, std::sinh(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(cosh, std::cosh(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(tanh, std::tanh(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(asinh, std::asinh(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(acosh, std::acosh(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(atanh, std::atanh(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(erf, std::erf(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(erfc, std::erfc(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(sigmoid, detail::sigmoid(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(softplus, detail::softplus(static_cast<double>(x)))
CAPSTAN_SCALAR_FUNCTION(floor, std::floor(x))
CAPSTAN_SCALAR_FUNCTION(ceil, std::ceil(x))
CAPSTAN_SCALAR_FUNCTION(round, detail::scalar_round(x))
#undef CAPSTAN_SCALAR_FUNCTION
template <class T>
Scalar<bool> is_nan(Scalar<T> x) {
  return Scalar<bool>(std::isnan(x.v));
}
template <class T>
Scalar<bool> is_inf(Scalar<T> x) {
  return Scalar<bool>(std::isinf(x.v));
}
template <class T>
Scalar<bool> is_finite(Scalar<T> x) {
  return Scalar<bool>(std::isfinite(x.v));
}
// With a NaN on either side the comparison is false and the sum is NaN.
template <class T>
constexpr Scalar<T> maximum(Scalar<T> a, Scalar<T> b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a.v != a.v || b.v != b.v ? Scalar<T>(a.v + b.v) : a.v >= b.v ? a : b;
  } else {
    return a.v >= b.v ? a : b;
  }
}
template <class T>
constexpr Scalar<T> minimum(Scalar<T> a, Scalar<T> b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a.v != a.v || b.v != b.v ? Scalar<T>(a.v + b.v) : a.v <= b.v ? a : b;
  } else {
    return a.v <= b.v ? a : b;
  }
}
template <class T>
Scalar<T> pow(Scalar<T> a, Scalar<T> b) {
  return Scalar<T>(detail::scalar_pow(a.v, b.v));
}
template <class T>
Scalar<T> atan2(Scalar<T> a, Scalar<T> b) {
  return Scalar<T>(std::atan2(a.v, b.v));
}
template <class T>
Scalar<T> floordiv(Scalar<T> a, Scalar<T> b) {
  return Scalar<T>(detail::scalar_floordiv(a.v, b.v));
}
template <class T>
Scalar<T> floormod(Scalar<T> a, Scalar<T> b) {
  return Scalar<T>(detail::scalar_floormod(a.v, b.v));
}
template <class T>
Scalar<T> truncatemod(Scalar<T> a, Scalar<T> b) {
  return Scalar<T>(detail::scalar_truncatemod(a.v, b.v));
}

}  // namespace capstan

#include "src/formula/complex_scalar.h"

namespace capstan {

// --- Micro: the formula as data ---

struct Micro {
  Recording* recording = nullptr;
  int id = -1;
};
constexpr Micro micro(Micro a, MicroOp op) { return {a.recording, a.recording->add(op, a.id)}; }
constexpr Micro micro(Micro a, Micro b, MicroOp op) { return {a.recording, a.recording->add(op, a.id, b.id)}; }
constexpr Micro micro_literal(Recording* recording, double value) {
  return {recording, recording->add(MicroOp::kLiteral, -1, -1, -1, value)};
}
#define CAPSTAN_MICRO_OPERATOR(op, code)                                                                            \
  constexpr Micro operator op(Micro a, Micro b) { return micro(a, b, MicroOp::code); }                              \
  constexpr Micro operator op(Micro a, double b) { return micro(a, micro_literal(a.recording, b), MicroOp::code); } \
  constexpr Micro operator op(double a, Micro b) { return micro(micro_literal(b.recording, a), b, MicroOp::code); }
CAPSTAN_MICRO_OPERATOR(+, kAdd)
CAPSTAN_MICRO_OPERATOR(-, kSubtract)
CAPSTAN_MICRO_OPERATOR(*, kMultiply)
CAPSTAN_MICRO_OPERATOR(/, kDivide)
CAPSTAN_MICRO_OPERATOR(==, kEqual)
CAPSTAN_MICRO_OPERATOR(!=, kNotEqual)
CAPSTAN_MICRO_OPERATOR(<, kLess)
CAPSTAN_MICRO_OPERATOR(<=, kLessEqual)
CAPSTAN_MICRO_OPERATOR(>, kGreater)
CAPSTAN_MICRO_OPERATOR(>=, kGreaterEqual)
#undef CAPSTAN_MICRO_OPERATOR
constexpr Micro operator-(Micro a) { return micro(a, MicroOp::kNegate); }
constexpr Micro operator&&(Micro a, Micro b) { return micro(a, b, MicroOp::kAnd); }
constexpr Micro operator||(Micro a, Micro b) { return micro(a, b, MicroOp::kOr); }
constexpr Micro operator!(Micro a) { return micro(a, MicroOp::kNot); }
constexpr Micro select(Micro c, Micro a, Micro b) {
  return {c.recording, c.recording->add(MicroOp::kSelect, c.id, a.id, b.id)};
}
constexpr Micro select(Micro c, Micro a, double b) { return select(c, a, micro_literal(c.recording, b)); }
constexpr Micro select(Micro c, double a, Micro b) { return select(c, micro_literal(c.recording, a), b); }
constexpr Micro zero_of(Micro a) { return micro(a, MicroOp::kZero); }
constexpr Micro conj(Micro a) { return micro(a, MicroOp::kConj); }
#define CAPSTAN_MICRO_UNARY(name) \
  constexpr Micro name(Micro a) { return micro(a, MicroOp::k_##name); }
#define CAPSTAN_MICRO_BINARY(name) \
  constexpr Micro name(Micro a, Micro b) { return micro(a, b, MicroOp::k_##name); }
CAPSTAN_UNARY_PRIMITIVES(CAPSTAN_MICRO_UNARY)
CAPSTAN_PREDICATES(CAPSTAN_MICRO_UNARY)
CAPSTAN_BINARY_PRIMITIVES(CAPSTAN_MICRO_BINARY)
#undef CAPSTAN_MICRO_UNARY
#undef CAPSTAN_MICRO_BINARY

}  // namespace capstan
