// The OpDefs of formulas.
//
// A family file (src/ops/math/math.cc and its kin) re-includes itself once per target; its formulas are textually
// inside the target's region (src/formula/loops-inl.h).
//
//     #undef HWY_TARGET_INCLUDE
//     #define HWY_TARGET_INCLUDE "src/ops/math/math.cc"
//     #include "src/ops/elementwise-inl.h"   // brings simd.h, foreach_target.h and highway.h
//     HWY_BEFORE_NAMESPACE();
//     namespace capstan::HWY_NAMESPACE { struct Sqrt : UnaryOp { ... }; }
//     HWY_AFTER_NAMESPACE();
//     #if HWY_ONCE
//     namespace capstan {
//     CAPSTAN_ELEMENTWISE(kSqrt, Sqrt);
//     Tensor sqrt(Operand x) { return apply(kSqrt, x); }
//     }
//     #endif
#include "src/core/apply.h"
#include "src/core/simd.h"
#include "src/ops/formula_rule.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "src/formula/loops-inl.h"

#if defined(CAPSTAN_OPS_ELEMENTWISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_OPS_ELEMENTWISE_INL_H
#undef CAPSTAN_OPS_ELEMENTWISE_INL_H
#else
#define CAPSTAN_OPS_ELEMENTWISE_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

// The rule in library ops.
template <class F>
inline constexpr FormulaRule kRule = [] {
  FormulaRule rule{&kFormulaCode<F>, nullptr, F::arity};
  if constexpr (!std::is_void_v<typename F::Complex>) rule.complex = &kFormulaCode<typename F::Complex>;
  return rule;
}();
template <class F>
void formula_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  run_formula_rule(kRule<F>, call, cotangents);
}

// What the derivatives for input I read, over real or complex numbers.
template <class F, int I>
constexpr std::uint8_t all_reads() {
  std::uint8_t reads = derivative_reads<F, I>();
  if constexpr (!std::is_void_v<typename F::Complex>) {
    reads = static_cast<std::uint8_t>(reads | derivative_reads<typename F::Complex, I>());
  }
  return reads;
}

// The OpDef of a formula.
template <class F>
constexpr OpDef elementwise_op(const LoopTable* const* loops) {
  OpDef op;
  op.name = F::text.name;
  op.text = F::text.text;
  op.kind = OpKind::kElementwise;
  op.flags = static_cast<std::uint16_t>(F::flags | (F::boolean ? kBooleanResult : 0) |
                                        (F::differentiable ? 0 : kNotDifferentiable));
  static_assert(InputNames(F::input_names).count == F::arity);
  op.inputs = F::input_names;
  op.attributes = F::attributes;
  op.loops = loops;
  // A portable formula is computed in float64 by other functions than the vector ones, so nothing may be made of it.
  if constexpr (!F::portable) op.formula = &kFormulaCode<F>;
  if constexpr (F::differentiable) {
    op.reads[0] = all_reads<F, 0>();
    if (derivative_passes<F, 0>()) op.passes = static_cast<std::uint8_t>(op.passes | 1);
    if constexpr (F::arity >= 2) {
      op.reads[1] = all_reads<F, 1>();
      if (derivative_passes<F, 1>()) op.passes = static_cast<std::uint8_t>(op.passes | 2);
    }
    if constexpr (F::arity >= 3) op.reads[2] = all_reads<F, 2>();
    op.vjp = &formula_vjp<F>;
  }
  op.compose = F::compose;
  op.programs = F::programs;
  return op;
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif  // toggle

// Defines the OpDef `constant` of the formula struct `Formula`; is in the HWY_ONCE part of a family file.
#undef CAPSTAN_ELEMENTWISE
#define CAPSTAN_ELEMENTWISE(constant, Formula)                                                                   \
  static constexpr const LoopTable* constant##Loops[] = {                                                        \
      &N_SCALAR::kLoops<N_SCALAR::Formula>, &N_AVX2::kLoops<N_AVX2::Formula>, &N_AVX3::kLoops<N_AVX3::Formula>}; \
  constinit const OpDef constant = N_SCALAR::elementwise_op<N_SCALAR::Formula>(constant##Loops)

// The same for a portable formula; the file defines HWY_COMPILE_ONLY_SCALAR before it includes anything.
#undef CAPSTAN_PORTABLE_ELEMENTWISE
#define CAPSTAN_PORTABLE_ELEMENTWISE(constant, Formula)                                         \
  static constexpr const LoopTable* constant##Loops[] = {&N_SCALAR::kLoops<N_SCALAR::Formula>,  \
                                                         &N_SCALAR::kLoops<N_SCALAR::Formula>,  \
                                                         &N_SCALAR::kLoops<N_SCALAR::Formula>}; \
  constinit const OpDef constant = N_SCALAR::elementwise_op<N_SCALAR::Formula>(constant##Loops)
