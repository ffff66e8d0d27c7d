// Arithmetic: the elementwise ops of two operands, and the operators.
//
// Integers follow TensorFlow: sums and products wrap around; `/` of integers is a floating quotient; a zero divisor of
// floordiv, floormod, truncatediv and truncatemod, and a negative exponent, are errors of the loops, wherever these
// run.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/math/arithmetic.cc"
#include "src/ops/elementwise-inl.h"

#include <algorithm>

#include "capstan/ops/math.h"
#include "src/core/check.h"
#include "src/core/variable_state.h"
#include "src/ops/examples.h"
#include "src/ops/family.h"
#include "src/ops/identities.h"
#include "src/ops/math/math.h"

// The same for every target; guarded, because this file includes itself.
#ifndef CAPSTAN_OPS_ARITHMETIC_RULES
#define CAPSTAN_OPS_ARITHMETIC_RULES
namespace capstan {
namespace {

using Value = Expressions::Value;

Value without_ones(const Expressions& graph, const Expressions::Call& call) {
  // Of a complex number, each part would meet a product with zero.
  if (is_complex(graph.dtype(call.result))) return Expressions::kNone;
  if (is_all(graph, call.input(1), 1)) return call.input(0);
  return is_all(graph, call.input(0), 1) ? call.input(1) : Expressions::kNone;
}

Value without_divisor_one(const Expressions& graph, const Expressions::Call& call) {
  return is_all(graph, call.input(1), 1) ? call.input(0) : Expressions::kNone;
}

// Of floating numbers these round.
Value without_integer_one(const Expressions& graph, const Expressions::Call& call) {
  return is_integer(graph.dtype(call.result)) ? without_divisor_one(graph, call) : Expressions::kNone;
}

// -0 is the neutral one: -0 + 0 is 0.
Value without_zeros(const Expressions& graph, const Expressions::Call& call) {
  if (is_all(graph, call.input(1), -0.0)) return call.input(0);
  return is_all(graph, call.input(0), -0.0) ? call.input(1) : Expressions::kNone;
}

Value without_subtrahend(const Expressions& graph, const Expressions::Call& call) {
  return is_all(graph, call.input(1), 0) ? call.input(0) : Expressions::kNone;
}

// What reaches a value in two ways is added.
std::optional<ExampleStep> sum_of_examples(const ExampleCall& call) {
  return call.is_row(0) && call.is_row(1) ? by_element(call) : std::nullopt;
}

constexpr OpForPrograms kSum{.identity = without_zeros, .example = sum_of_examples};
constexpr OpForPrograms kIntegerQuotient{.identity = without_integer_one, .refuses_elements = true};
constexpr OpForPrograms kRefuses{.refuses_elements = true};

}  // namespace
}  // namespace capstan
#endif

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

struct Add : BinaryOp {
  using Complex = Add;
  static constexpr OpText text{"add", "The sum of two tensors."};
  static constexpr const OpForPrograms* programs = &kSum;
  static constexpr Types types = Types::kNumbers;
  FORMULA f(X x, X y) { return x + y; }
  FORMULA da(X g, X, X, X) { return g; }
  FORMULA db(X g, X, X, X) { return g; }
};

struct Subtract : BinaryOp {
  using Complex = Subtract;
  static constexpr OpText text{"subtract", "The difference of two tensors."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<without_subtrahend>;
  static constexpr Types types = Types::kNumbers;
  FORMULA f(X x, X y) { return x - y; }
  FORMULA da(X g, X, X, X) { return g; }
  FORMULA db(X g, X, X, X) { return -g; }
};

struct Multiply : BinaryOp {
  using Complex = Multiply;
  static constexpr OpText text{"multiply", "The product of two tensors, element by element."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<without_ones>;
  static constexpr Types types = Types::kNumbers;
  FORMULA f(X x, X y) { return x * y; }
  FORMULA da(X g, X, X y, X) { return g * y; }
  FORMULA db(X g, X x, X, X) { return g * x; }
};

struct Divide : BinaryOp {
  using Complex = Divide;
  static constexpr OpText text{"divide", "The quotient of two tensors."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<without_divisor_one>;
  static constexpr Compose compose = &detail::call_function<capstan::divide>;
  FORMULA f(X x, X y) { return x / y; }
  FORMULA da(X g, X, X y, X) { return g / y; }
  FORMULA db(X g, X x, X y, X) { return g * (-x / y / y); }
};

// The inner select keeps an infinite quotient out of the derivative of the derivative.
struct DivideNoNan : BinaryOp {
  using Complex = DivideNoNan;
  static constexpr OpText text{"divide_no_nan", "The quotient, and 0 where the divisor is 0."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<without_divisor_one>;
  FORMULA f(X x, X y) { return select(y == 0.0, 0.0, x / y); }
  FORMULA da(X g, X, X y, X) { return select(y == 0.0, 0.0, g / select(y == 0.0, 1.0, y)); }
  FORMULA db(X g, X x, X y, X) {
    X divisor = select(y == 0.0, 1.0, y);
    return g * (-select(y == 0.0, 0.0, x) / divisor / divisor);
  }
};

// Zeros are special only where a product with zero is not zero, so that second derivatives hold everywhere else.
struct MultiplyNoNan : BinaryOp {
  using Complex = MultiplyNoNan;
  static constexpr OpText text{"multiply_no_nan", "The product, and 0 where y is 0 even if x is infinite or NaN."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<without_divisor_one>;
  FORMULA f(X x, X y) { return select(y == 0.0 && !is_finite(x), 0.0, x * y); }
  FORMULA da(X g, X, X y, X) { return select(y == 0.0 && !is_finite(g), 0.0, g * y); }
  FORMULA db(X g, X x, X, X) { return select(g == 0.0 && !is_finite(x), 0.0, x * g); }
};

struct IntegerDivision : BinaryOp {
  static constexpr std::string_view refusal = "division of an integer by zero";
  template <class T>
  static bool refuses(T y) {
    return y == 0;
  }
};

struct Floordiv : IntegerDivision {
  static constexpr OpText text{"floordiv", "The quotient rounded down."};
  static constexpr const OpForPrograms* programs = &kIntegerQuotient;
  static constexpr Types types = Types::kNumbers;
  static constexpr bool differentiable = false;
  FORMULA f(X x, X y) { return floordiv(x, y); }
};

struct Truncatediv : IntegerDivision {
  static constexpr OpText text{"truncatediv", "The quotient of integers rounded towards zero."};
  static constexpr const OpForPrograms* programs = &kIntegerQuotient;
  static constexpr Types types = Types::kIntegers;
  static constexpr bool differentiable = false;
  FORMULA f(X x, X y) { return x / y; }
};

struct Floormod : IntegerDivision {
  static constexpr OpText text{"floormod", "The remainder of floordiv; it has the sign of the divisor."};
  static constexpr const OpForPrograms* programs = &kRefuses;
  static constexpr Types types = Types::kNumbers;
  FORMULA f(X x, X y) { return floormod(x, y); }
  FORMULA da(X g, X, X, X) { return g; }
  FORMULA db(X g, X x, X y, X) { return -g * floor(x / y); }
};

struct Truncatemod : IntegerDivision {
  static constexpr OpText text{"truncatemod", "The remainder of truncatediv; it has the sign of the dividend."};
  static constexpr const OpForPrograms* programs = &kRefuses;
  static constexpr Types types = Types::kNumbers;
  FORMULA f(X x, X y) { return truncatemod(x, y); }
  FORMULA da(X g, X, X, X) { return g; }
  FORMULA db(X g, X x, X y, X) {
    X quotient = x / y;
    return -g * select(quotient < 0.0, ceil(quotient), floor(quotient));
  }
};

struct PowOfComplex;
struct Pow : BinaryOp {
  using Complex = PowOfComplex;
  static constexpr OpText text{"pow", "x to the power of y."};
  static constexpr const OpForPrograms* programs = &kRefuses;
  static constexpr std::string_view refusal =
      "an integer to a negative power\n  help: convert the base with cast(x, float32)";
  template <class T>
  static bool refuses(T y) {
    return std::is_signed_v<T> && y < T{0};
  }
  static constexpr Types types = Types::kNumbers;
  FORMULA f(X x, X y) { return pow(x, y); }
  FORMULA da(X g, X x, X y, X) { return g * y * pow(x, y - 1.0); }
  // The logarithm counts as 0 where there is none.
  FORMULA db(X g, X x, X, X z) { return g * z * select(x > 0.0, log(select(x > 0.0, x, 1.0)), 0.0); }
};

struct PowOfComplex : Pow {
  FORMULA db(X g, X x, X, X z) { return g * z * select(x == 0.0, 0.0, log(select(x == 0.0, 1.0, x))); }
};

// A tie is the first operand's.
struct Maximum : BinaryOp {
  static constexpr OpText text{"maximum", "The larger of two elements; NaN if either is."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<both_operands>;
  static constexpr Types types = Types::kNumbers;
  FORMULA f(X x, X y) { return maximum(x, y); }
  FORMULA da(X g, X x, X y, X) { return select(x >= y, g, 0.0); }
  FORMULA db(X g, X x, X y, X) { return select(x >= y, 0.0, g); }
};

struct Minimum : BinaryOp {
  static constexpr OpText text{"minimum", "The smaller of two elements; NaN if either is."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<both_operands>;
  static constexpr Types types = Types::kNumbers;
  FORMULA f(X x, X y) { return minimum(x, y); }
  FORMULA da(X g, X x, X y, X) { return select(x <= y, g, 0.0); }
  FORMULA db(X g, X x, X y, X) { return select(x <= y, 0.0, g); }
};

struct SquaredDifferenceOfComplex;
struct SquaredDifference : BinaryOp {
  using Complex = SquaredDifferenceOfComplex;
  static constexpr OpText text{"squared_difference",
                               "The square of the difference; of complex numbers that of its magnitude."};
  static constexpr Types types = Types::kNumbers;
  FORMULA f(X x, X y) {
    X difference = x - y;
    return difference * difference;
  }
  FORMULA da(X g, X x, X y, X) { return 2.0 * g * (x - y); }
  FORMULA db(X g, X x, X y, X) { return -2.0 * g * (x - y); }
};

// The square of the magnitude, which is not analytic: g and its conjugate both count.
struct SquaredDifferenceOfComplex : SquaredDifference {
  FORMULA f(X x, X y) {
    X difference = x - y;
    return difference * conj(difference);
  }
  FORMULA da(X g, X x, X y, X) { return (g + conj(g)) * conj(x - y); }
  FORMULA db(X g, X x, X y, X) { return -(g + conj(g)) * conj(x - y); }
};

struct Atan2 : BinaryOp {
  static constexpr OpText text{"atan2", "The angle of the point (x, y) with the first axis, from -pi to pi."};
  static constexpr std::string_view input_names = "y, x";
  FORMULA f(X y, X x) { return atan2(y, x); }
  FORMULA da(X g, X y, X x, X) { return g * (x / (x * x + y * y)); }
  FORMULA db(X g, X y, X x, X) { return g * (-y / (x * x + y * y)); }
};

struct Xlogy : BinaryOp {
  using Complex = Xlogy;
  static constexpr OpText text{"xlogy", "x times the logarithm of y, and 0 where x is 0."};
  FORMULA f(X x, X y) { return select(x == 0.0, 0.0, x * log(y)); }
  FORMULA da(X g, X x, X y, X) { return g * select(x == 0.0, 0.0, log(select(x == 0.0, 1.0, y))); }
  FORMULA db(X g, X x, X y, X) { return g * select(x == 0.0, 0.0, x / select(x == 0.0, 1.0, y)); }
};

struct Xlog1py : BinaryOp {
  using Complex = Xlog1py;
  static constexpr OpText text{"xlog1py", "x times the logarithm of 1 + y, and 0 where x is 0."};
  FORMULA f(X x, X y) { return select(x == 0.0, 0.0, x * log1p(y)); }
  FORMULA da(X g, X x, X y, X) { return g * select(x == 0.0, 0.0, log1p(select(x == 0.0, 1.0, y))); }
  FORMULA db(X g, X x, X y, X) { return g * select(x == 0.0, 0.0, x / (1.0 + select(x == 0.0, 1.0, y))); }
};

struct Xdivy : BinaryOp {
  using Complex = Xdivy;
  static constexpr OpText text{"xdivy", "x divided by y, and 0 where x is 0."};
  FORMULA f(X x, X y) { return select(x == 0.0, 0.0, x / y); }
  FORMULA da(X g, X x, X y, X) { return g * select(x == 0.0, 0.0, 1.0 / select(x == 0.0, 1.0, y)); }
  FORMULA db(X g, X x, X y, X) {
    X divisor = select(x == 0.0, 1.0, y);
    return g * select(x == 0.0, 0.0, -x / (divisor * divisor));
  }
};

// The loop of F over integers, which throws before it begins if F refuses a divisor or exponent.
template <class F, class T>
void refusing_loop(const LoopArgs& args) {
  const T* const y = static_cast<const T*>(args.in[1]);
  const std::int64_t n = (args.scalars & 2) != 0 ? 1 : args.n;
  CAPSTAN_CHECK(std::none_of(y, y + n, F::template refuses<T>), ValueError, F::text.name, ": ", F::refusal);
  forward_loop<F, T>(args);
}

template <class F>
constexpr LoopTable refusing_loops() {
  LoopTable table = make_loops<F>();
  const auto refuse = [&]<class T>(T) {
    if constexpr (kHasLoop<F, T>) table.forward[static_cast<int>(kDTypeOf<T>)] = &refusing_loop<F, T>;
  };
  refuse(std::int32_t{});
  refuse(std::int64_t{});
  refuse(std::uint8_t{});
  return table;
}

template <>
inline constexpr LoopTable kLoops<Floordiv> = refusing_loops<Floordiv>();
template <>
inline constexpr LoopTable kLoops<Truncatediv> = refusing_loops<Truncatediv>();
template <>
inline constexpr LoopTable kLoops<Floormod> = refusing_loops<Floormod>();
template <>
inline constexpr LoopTable kLoops<Truncatemod> = refusing_loops<Truncatemod>();
template <>
inline constexpr LoopTable kLoops<Pow> = refusing_loops<Pow>();

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_ELEMENTWISE(kAdd, Add);
CAPSTAN_ELEMENTWISE(kSubtract, Subtract);
CAPSTAN_ELEMENTWISE(kMultiply, Multiply);
CAPSTAN_ELEMENTWISE(kDivide, Divide);
CAPSTAN_ELEMENTWISE(kDivideNoNan, DivideNoNan);
CAPSTAN_ELEMENTWISE(kMultiplyNoNan, MultiplyNoNan);
CAPSTAN_ELEMENTWISE(kFloordiv, Floordiv);
CAPSTAN_ELEMENTWISE(kTruncatediv, Truncatediv);
CAPSTAN_ELEMENTWISE(kFloormod, Floormod);
CAPSTAN_ELEMENTWISE(kTruncatemod, Truncatemod);
CAPSTAN_ELEMENTWISE(kPow, Pow);
CAPSTAN_ELEMENTWISE(kMaximum, Maximum);
CAPSTAN_ELEMENTWISE(kMinimum, Minimum);
CAPSTAN_ELEMENTWISE(kSquaredDifference, SquaredDifference);
CAPSTAN_ELEMENTWISE(kAtan2, Atan2);
CAPSTAN_ELEMENTWISE(kXlogy, Xlogy);
CAPSTAN_ELEMENTWISE(kXlog1py, Xlog1py);
CAPSTAN_ELEMENTWISE(kXdivy, Xdivy);

namespace {

// The block of an operand; null for a number, and for an empty tensor, which apply refuses.
const detail::Block* block_of(const Operand& operand) {
  switch (operand.kind()) {
    case Operand::Kind::kLent:
      return operand.lent();
    case Operand::Kind::kGiven:
      return operand.given()->block();
    case Operand::Kind::kVariable:
      return operand.variable() == nullptr ? nullptr : operand.variable()->value.block();
    default:
      return nullptr;
  }
}

// True if the operands are integers: the first tensor decides.
bool is_integer_call(const Operand& x, const Operand& y) {
  const detail::Block* block = block_of(x);
  if (block == nullptr) block = block_of(y);
  if (block != nullptr) return is_integer(block->dtype);
  return x.kind() == Operand::Kind::kInt && y.kind() == Operand::Kind::kInt;
}

}  // namespace

Tensor add(Operand x, Operand y) { return apply(kAdd, x, y); }
Tensor subtract(Operand x, Operand y) { return apply(kSubtract, x, y); }
Tensor multiply(Operand x, Operand y) { return apply(kMultiply, x, y); }
Tensor divide(Operand x, Operand y) {
  // A floating number beside integers is apply's error.
  const bool floating_number = x.kind() == Operand::Kind::kFloat || y.kind() == Operand::Kind::kFloat;
  if (is_integer_call(x, y) && !floating_number) [[unlikely]] {
    const detail::Block* block = block_of(x) != nullptr ? block_of(x) : block_of(y);
    const DType dtype = block == nullptr ? DType::kInt32 : block->dtype;
    const DType floating = dtype == DType::kUInt8 ? DType::kFloat32 : DType::kFloat64;
    return apply(kDivide, cast(to_tensor(x, dtype), floating), cast(to_tensor(y, dtype), floating));
  }
  return apply(kDivide, x, y);
}
Tensor divide_no_nan(Operand x, Operand y) { return apply(kDivideNoNan, x, y); }
Tensor multiply_no_nan(Operand x, Operand y) { return apply(kMultiplyNoNan, x, y); }
Tensor floordiv(Operand x, Operand y) { return apply(kFloordiv, x, y); }
Tensor truncatediv(Operand x, Operand y) { return apply(kTruncatediv, x, y); }
Tensor floormod(Operand x, Operand y) { return apply(kFloormod, x, y); }
Tensor truncatemod(Operand x, Operand y) { return apply(kTruncatemod, x, y); }
Tensor pow(Operand x, Operand y) { return apply(kPow, x, y); }
Tensor maximum(Operand x, Operand y) { return apply(kMaximum, x, y); }
Tensor minimum(Operand x, Operand y) { return apply(kMinimum, x, y); }
Tensor squared_difference(Operand x, Operand y) { return apply(kSquaredDifference, x, y); }
Tensor atan2(Operand y, Operand x) { return apply(kAtan2, y, x); }
Tensor xlogy(Operand x, Operand y) { return apply(kXlogy, x, y); }
Tensor xlog1py(Operand x, Operand y) { return apply(kXlog1py, x, y); }
Tensor xdivy(Operand x, Operand y) { return apply(kXdivy, x, y); }

namespace detail {
Tensor operator+(Operand a, Operand b) { return add(a, b); }
Tensor operator-(Operand a, Operand b) { return subtract(a, b); }
Tensor operator*(Operand a, Operand b) { return multiply(a, b); }
Tensor operator/(Operand a, Operand b) { return divide(a, b); }
Tensor operator%(Operand a, Operand b) { return floormod(a, b); }
}  // namespace detail

CAPSTAN_OPS(arithmetic, &kAdd, &kSubtract, &kMultiply, &kDivide, &kDivideNoNan, &kMultiplyNoNan, &kFloordiv,
            &kTruncatediv, &kFloormod, &kTruncatemod, &kPow, &kMaximum, &kMinimum, &kSquaredDifference, &kAtan2,
            &kXlogy, &kXlog1py, &kXdivy);

}  // namespace capstan
#endif  // HWY_ONCE
