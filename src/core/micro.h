// The formula of an elementwise op as data: what a compiler of loops needs to know of it.
//
// src/formula/formula.h records it at compile time from the one definition of the formula.
#pragma once

#include <cstdint>
#include <span>

// The functions of one argument that formulas may call; each is an op as well.
// The tool would move these lines back and forth.
// clang-format off
#define CAPSTAN_UNARY_PRIMITIVES(M)                                                                                      \
  M(abs) M(sign) M(sqrt) M(rsqrt) M(exp) M(expm1) M(log) M(log1p) M(sin) M(cos) M(tan) M(asin) M(acos) M(atan)    \
  M(sinh) M(cosh) M(tanh) M(asinh) M(acosh) M(atanh) M(erf) M(erfc) M(sigmoid) M(softplus)                         \
  M(floor) M(ceil) M(round)
// clang-format on
// Of one argument, with a truth value as the result.
#define CAPSTAN_PREDICATES(M) M(is_nan) M(is_inf) M(is_finite)
// Of two arguments. maximum and minimum take the first operand at ties; a NaN on either side gives NaN.
#define CAPSTAN_BINARY_PRIMITIVES(M) M(maximum) M(minimum) M(pow) M(atan2) M(floordiv) M(floormod) M(truncatemod)
// Those that only portable formulas may call: they have no vector form (src/ops/special/special_formula.h).
// clang-format off
#define CAPSTAN_SPECIAL_UNARY(M)                                                                                  \
  M(lgamma) M(digamma) M(erfinv) M(erfcinv) M(ndtri) M(bessel_i0) M(bessel_i1) M(bessel_i0e) M(bessel_i1e)        \
  M(bessel_j0) M(bessel_j1) M(bessel_y0) M(bessel_y1) M(bessel_k0) M(bessel_k1) M(bessel_k0e) M(bessel_k1e)       \
  M(dawsn) M(expint) M(spence) M(fresnel_cos) M(fresnel_sin)
// clang-format on
#define CAPSTAN_SPECIAL_BINARY(M) M(polygamma) M(zeta) M(igamma) M(igammac) M(igamma_grad_a) M(random_gamma_grad)

namespace capstan {

enum class MicroOp : std::uint8_t {
  kInput,
  kLiteral,
  kParameter,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kNegate,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
  kNot,
  kSelect,
  kZero,
  kConj,
#define CAPSTAN_MICRO(name) k_##name,
  CAPSTAN_UNARY_PRIMITIVES(CAPSTAN_MICRO) CAPSTAN_PREDICATES(CAPSTAN_MICRO) CAPSTAN_BINARY_PRIMITIVES(CAPSTAN_MICRO)
      CAPSTAN_SPECIAL_UNARY(CAPSTAN_MICRO) CAPSTAN_SPECIAL_BINARY(CAPSTAN_MICRO) k_betainc,
#undef CAPSTAN_MICRO
};

// One micro-operation: what it does with the values of the steps a, b, c before it.
struct MicroStep {
  MicroOp op = MicroOp::kInput;
  std::int16_t a = -1, b = -1, c = -1;  // kInput: a is its position in LoopArgs::in; kParameter: a is its number
  double literal = 0;
};

// A rough count of the instructions of a formula; a function counts as many.
constexpr int cost_of(std::span<const MicroStep> steps) {
  int cost = 0;
  for (const MicroStep& step : steps) {
    const MicroOp op = step.op;
    if (op == MicroOp::kInput || op == MicroOp::kParameter || op == MicroOp::kLiteral) continue;
    const bool cheap = op < MicroOp::k_abs || op == MicroOp::k_abs || op == MicroOp::k_sqrt || op == MicroOp::k_sign ||
                       op == MicroOp::k_maximum || op == MicroOp::k_minimum;
    cost += cheap ? 1 : 100;
  }
  return cost;
}

// A recorded formula: micro-operations in the order of evaluation.
struct Recording {
  MicroStep steps[128] = {};
  int count = 0;

  constexpr int add(MicroOp op, int a = -1, int b = -1, int c = -1, double literal = 0) {
    steps[count] = {op, static_cast<std::int16_t>(a), static_cast<std::int16_t>(b), static_cast<std::int16_t>(c),
                    literal};
    return count++;
  }
  // Bit i: the value `result` depends on input i.
  constexpr std::uint8_t reads(int result) const {
    bool reached[128] = {};
    reached[result] = true;
    std::uint8_t bits = 0;
    for (int i = result; i >= 0; --i) {
      if (!reached[i]) continue;
      if (steps[i].op == MicroOp::kInput) bits = static_cast<std::uint8_t>(bits | 1 << steps[i].a);
      if (steps[i].op == MicroOp::kInput || steps[i].op == MicroOp::kParameter || steps[i].op == MicroOp::kZero)
        continue;
      for (int k : {int{steps[i].a}, int{steps[i].b}, int{steps[i].c}}) {
        if (k >= 0) reached[k] = true;
      }
    }
    return bits;
  }
};

// One function of a formula: its steps in the order of evaluation, and the one that is its value.
struct MicroCode {
  std::span<const MicroStep> steps;
  int result = -1;
};

// A formula and its derivatives with respect to its inputs.
struct FormulaCode {
  MicroCode forward;
  MicroCode vjp[3];
};

}  // namespace capstan
