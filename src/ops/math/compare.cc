// Comparison, logic, and choosing: ops with a truth value as their result or their condition.
//
// A comparison with NaN is false, except not_equal. Results of comparisons are bool, so nothing
// here has a gradient but `where`, which passes the cotangent on to the chosen side, and
// clip_by_value, which is made of minimum and maximum and so gives a tie to x.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/math/compare.cc"
#include "src/ops/elementwise-inl.h"

#include <algorithm>
#include <complex>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/backend.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/row_sparse.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/identities.h"

// The same for every target; guarded, because this file includes itself.
#ifndef CAPSTAN_OPS_COMPARE_RULES
#define CAPSTAN_OPS_COMPARE_RULES
namespace capstan {
namespace {

// Whether a value is a constant whose elements all are this truth value.
bool is_all(const Expressions& graph, Expressions::Value value, bool truth) {
  const Tensor& constant = graph.constant(value);
  if (!constant.has_value() || constant.dtype() != DType::kBool || host_elements(constant) == nullptr) return false;
  const auto* const data = static_cast<const bool*>(constant.raw_data());
  return std::all_of(data, data + constant.size(), [&](bool element) { return element == truth; });
}

Expressions::Value chosen(const Expressions& graph, const Expressions::Call& call) {
  if (call.input(1) == call.input(2) || is_all(graph, call.input(0), true)) return call.input(1);
  return is_all(graph, call.input(0), false) ? call.input(2) : Expressions::kNone;
}

// True is neutral in a conjunction, false in the others.
template <bool kNeutral, bool kTwice>
Expressions::Value without_neutral(const Expressions& graph, const Expressions::Call& call) {
  if (kTwice && call.input(0) == call.input(1)) return call.input(0);
  if (is_all(graph, call.input(1), kNeutral)) return call.input(0);
  return is_all(graph, call.input(0), kNeutral) ? call.input(1) : Expressions::kNone;
}

}  // namespace
}  // namespace capstan
#endif

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

struct Comparison : BinaryOp {
  static constexpr Types types = Types::kNumbers;
  static constexpr bool differentiable = false;
  static constexpr bool boolean = true;
};

struct Equal : Comparison {
  using Complex = Equal;
  static constexpr OpText text{"equal", "True where two elements are equal."};
  static constexpr Types types = Types::kAll;
  PREDICATE f(X x, X y) { return x == y; }
};

struct NotEqual : Comparison {
  using Complex = NotEqual;
  static constexpr OpText text{"not_equal", "True where two elements differ."};
  static constexpr Types types = Types::kAll;
  PREDICATE f(X x, X y) { return x != y; }
};

struct Less : Comparison {
  static constexpr OpText text{"less", "True where x < y."};
  PREDICATE f(X x, X y) { return x < y; }
};

struct LessEqual : Comparison {
  static constexpr OpText text{"less_equal", "True where x <= y."};
  PREDICATE f(X x, X y) { return x <= y; }
};

struct Greater : Comparison {
  static constexpr OpText text{"greater", "True where x > y."};
  PREDICATE f(X x, X y) { return x > y; }
};

struct GreaterEqual : Comparison {
  static constexpr OpText text{"greater_equal", "True where x >= y."};
  PREDICATE f(X x, X y) { return x >= y; }
};

struct LogicalAnd : Comparison {
  static constexpr OpText text{"logical_and", "True where both are true."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<without_neutral<true, true>>;
  static constexpr Types types = Types::kBool;
  PREDICATE f(X x, X y) { return x && y; }
};

struct LogicalOr : Comparison {
  static constexpr OpText text{"logical_or", "True where one or both are true."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<without_neutral<false, true>>;
  static constexpr Types types = Types::kBool;
  PREDICATE f(X x, X y) { return x || y; }
};

struct LogicalXor : Comparison {
  static constexpr OpText text{"logical_xor", "True where exactly one is true."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<without_neutral<false, false>>;
  static constexpr Types types = Types::kBool;
  PREDICATE f(X x, X y) { return (x || y) && !(x && y); }
};

struct Predicate : UnaryOp {
  static constexpr bool differentiable = false;
  static constexpr bool boolean = true;
};

struct LogicalNot : Predicate {
  static constexpr OpText text{"logical_not", "True where x is false."};
  static constexpr const OpForPrograms* programs = &kWithIdentity<undone>;
  static constexpr Types types = Types::kBool;
  PREDICATE f(X x) { return !x; }
};

struct IsNan : Predicate {
  using Complex = IsNan;
  static constexpr OpText text{"is_nan", "True where x is not a number."};
  PREDICATE f(X x) { return is_nan(x); }
};

struct IsInf : Predicate {
  using Complex = IsInf;
  static constexpr OpText text{"is_inf", "True where x is infinite."};
  PREDICATE f(X x) { return is_inf(x); }
};

struct IsFinite : Predicate {
  using Complex = IsFinite;
  static constexpr OpText text{"is_finite", "True where x is neither infinite nor NaN."};
  PREDICATE f(X x) { return is_finite(x); }
};

// --- where: the condition is bool, so its loops are its own ---

// A mask of the lanes whose condition, at `condition`, is true.
template <class D>
HWY_INLINE hn::Mask<D> condition_mask(D d, const std::uint8_t* condition) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint8_t, D> d8;
  hn::Vec<decltype(du)> wide;
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    wide = hn::PromoteTo(du, hn::PromoteTo(hn::Rebind<std::uint32_t, D>(), hn::LoadU(d8, condition)));
  } else {
    wide = hn::PromoteTo(du, hn::LoadU(d8, condition));
  }
  return hn::RebindMask(d, hn::Ne(wide, hn::Zero(du)));
}

// out = condition ? yes : no, or out += that. Bit 0 of `scalars` says that the condition repeats,
// bits 1 and 2 that `yes` and `no` do; a null side stands for zero.
template <class T>
void choose(T* out, const bool* condition, const T* yes, const T* no, std::int64_t n, std::uint32_t scalars,
            bool accumulate) {
  static constexpr T zero{};
  if (yes == nullptr) yes = &zero, scalars |= 2;
  if (no == nullptr) no = &zero, scalars |= 4;
  const std::int64_t step_c = (scalars & 1) != 0 ? 0 : 1;
  const std::int64_t step_yes = (scalars & 2) != 0 ? 0 : 1;
  const std::int64_t step_no = (scalars & 4) != 0 ? 0 : 1;
  std::int64_t i = 0;
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    if (step_c == 1 && !accumulate) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(condition);
      const auto yes_splat = hn::Set(d, *yes);
      const auto no_splat = hn::Set(d, *no);
      for (; i + lanes <= n; i += lanes) {
        const auto a = step_yes == 1 ? hn::LoadU(d, yes + i) : yes_splat;
        const auto b = step_no == 1 ? hn::LoadU(d, no + i) : no_splat;
        hn::StoreU(hn::IfThenElse(condition_mask(d, bytes + i), a, b), d, out + i);
      }
    }
  }
  for (; i < n; ++i) {
    const T value = condition[i * step_c] ? yes[i * step_yes] : no[i * step_no];
    if constexpr (std::is_same_v<T, BFloat16>) {
      out[i] = accumulate ? BFloat16(static_cast<float>(out[i]) + static_cast<float>(value)) : value;
    } else {
      out[i] = accumulate ? static_cast<T>(out[i] + value) : value;
    }
  }
}

template <class T>
void where_forward(const LoopArgs& args) {
  choose(static_cast<T*>(args.out), static_cast<const bool*>(args.in[0]), static_cast<const T*>(args.in[1]),
         static_cast<const T*>(args.in[2]), args.n, args.scalars, false);
}

// The cotangent is in[0], the condition in[1].
template <class T, int kInput>
void where_vjp(const LoopArgs& args) {
  const auto* g = static_cast<const T*>(args.in[0]);
  const std::uint32_t scalars = (args.scalars >> 1 & 1) | (args.scalars & 1) << kInput;
  choose<T>(static_cast<T*>(args.out), static_cast<const bool*>(args.in[1]), kInput == 1 ? g : nullptr,
            kInput == 2 ? g : nullptr, args.n, scalars, args.accumulate);
}

template <class T>
constexpr void fill_where(LoopTable& table) {
  constexpr int dtype = static_cast<int>(kDTypeOf<T>);
  table.forward[dtype] = &where_forward<T>;
  if constexpr (is_differentiable(kDTypeOf<T>)) {
    table.vjp[1][dtype] = &where_vjp<T, 1>;
    table.vjp[2][dtype] = &where_vjp<T, 2>;
  }
}

inline constexpr LoopTable kWhereTable = [] {
  LoopTable table{};
  fill_where<float>(table);
  fill_where<double>(table);
  fill_where<BFloat16>(table);
  fill_where<std::int32_t>(table);
  fill_where<std::int64_t>(table);
  fill_where<std::uint8_t>(table);
  fill_where<bool>(table);
  if constexpr (HWY_TARGET == HWY_SCALAR) {
    fill_where<std::complex<float>>(table);
    fill_where<std::complex<double>>(table);
  }
  return table;
}();

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_ELEMENTWISE(kEqual, Equal);
CAPSTAN_ELEMENTWISE(kNotEqual, NotEqual);
CAPSTAN_ELEMENTWISE(kLess, Less);
CAPSTAN_ELEMENTWISE(kLessEqual, LessEqual);
CAPSTAN_ELEMENTWISE(kGreater, Greater);
CAPSTAN_ELEMENTWISE(kGreaterEqual, GreaterEqual);
CAPSTAN_ELEMENTWISE(kLogicalAnd, LogicalAnd);
CAPSTAN_ELEMENTWISE(kLogicalOr, LogicalOr);
CAPSTAN_ELEMENTWISE(kLogicalXor, LogicalXor);
CAPSTAN_ELEMENTWISE(kLogicalNot, LogicalNot);
CAPSTAN_ELEMENTWISE(kIsNan, IsNan);
CAPSTAN_ELEMENTWISE(kIsInf, IsInf);
CAPSTAN_ELEMENTWISE(kIsFinite, IsFinite);

namespace {

constexpr const LoopTable* kWhereLoops[] = {&N_SCALAR::kWhereTable, &N_AVX2::kWhereTable, &N_AVX3::kWhereTable};

// The formula as data, by hand because its operands differ in dtype. Positions are those of LoopArgs::in.
constexpr MicroStep kWhereSteps[] = {
    {MicroOp::kInput, 0}, {MicroOp::kInput, 1}, {MicroOp::kInput, 2}, {MicroOp::kSelect, 0, 1, 2}};
constexpr MicroStep kWhereVjpSteps[] = {{MicroOp::kInput, 0},
                                        {MicroOp::kInput, 1},
                                        {MicroOp::kLiteral},
                                        {MicroOp::kSelect, 1, 0, 2},
                                        {MicroOp::kSelect, 1, 2, 0}};
constexpr FormulaCode kWhereCode{{kWhereSteps, 3}, {{}, {kWhereVjpSteps, 3}, {kWhereVjpSteps, 4}}};

void where_vjp_rule(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& condition = call.input(0);
  const Tensor& g = call.cotangent();
  if (call.needs(1)) cotangents[1] = where(condition, g, zeros_like(g));
  if (call.needs(2)) cotangents[2] = where(condition, zeros_like(g), g);
}

}  // namespace

constinit const OpDef kWhere = {
    .name = "where",
    .text = "The elements of x where the condition is true, those of y elsewhere.",
    .kind = OpKind::kElementwise,
    .flags = kConditionFirst,
    .inputs = "condition, x, y",
    .loops = kWhereLoops,
    .reads = {0, kReadsCotangent | kReadsInput0, kReadsCotangent | kReadsInput0},
    .formula = &kWhereCode,
    .vjp = &where_vjp_rule,
    .programs = &kWithIdentity<chosen>,
};

constinit const OpDef kClipByValue = composite<&clip_by_value, "x, low, high">(
    "clip_by_value", "The elements of x, raised to `low` and lowered to `high`.");

Tensor equal(Operand x, Operand y) { return apply(kEqual, x, y); }
Tensor not_equal(Operand x, Operand y) { return apply(kNotEqual, x, y); }
Tensor less(Operand x, Operand y) { return apply(kLess, x, y); }
Tensor less_equal(Operand x, Operand y) { return apply(kLessEqual, x, y); }
Tensor greater(Operand x, Operand y) { return apply(kGreater, x, y); }
Tensor greater_equal(Operand x, Operand y) { return apply(kGreaterEqual, x, y); }
Tensor logical_and(Operand x, Operand y) { return apply(kLogicalAnd, x, y); }
Tensor logical_or(Operand x, Operand y) { return apply(kLogicalOr, x, y); }
Tensor logical_xor(Operand x, Operand y) { return apply(kLogicalXor, x, y); }
Tensor logical_not(Operand x) { return apply(kLogicalNot, x); }
Tensor is_nan(Operand x) { return apply(kIsNan, x); }
Tensor is_inf(Operand x) { return apply(kIsInf, x); }
Tensor is_finite(Operand x) { return apply(kIsFinite, x); }

Tensor where(Operand condition, Operand x, Operand y) { return apply(kWhere, condition, x, y); }

Tensor clip_by_value(Operand x, Operand low, Operand high) try {
  return on_values(to_tensor(x), [&](const Tensor& value) {
    Tensor clipped = with_errors_of("clip_by_value", [&] { return maximum(minimum(value, high), low); });
    CAPSTAN_CHECK(clipped.shape() == value.shape(), ShapeError, "clip_by_value: the result would grow from ",
                  value.shape(), " to ", clipped.shape());
    return clipped;
  });
} catch (const Error&) {
  rethrow_as("clip_by_value");
}

namespace detail {
Tensor operator<(Operand a, Operand b) { return less(a, b); }
Tensor operator<=(Operand a, Operand b) { return less_equal(a, b); }
Tensor operator>(Operand a, Operand b) { return greater(a, b); }
Tensor operator>=(Operand a, Operand b) { return greater_equal(a, b); }
Tensor operator!(Operand x) { return logical_not(x); }
}  // namespace detail

CAPSTAN_OPS(compare, &kEqual, &kNotEqual, &kLess, &kLessEqual, &kGreater, &kGreaterEqual, &kLogicalAnd, &kLogicalOr,
            &kLogicalXor, &kLogicalNot, &kIsNan, &kIsInf, &kIsFinite, &kWhere, &kClipByValue);

}  // namespace capstan
#endif  // HWY_ONCE
