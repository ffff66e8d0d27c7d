// What follows from a formula without a loop: its calls, its steps as data, and what its derivatives read and cost. For
// one instruction set at a time, because a call is inlined into the loops of that (loops-inl.h).
#include <array>

#include "src/core/simd.h"
#include "src/formula/formula.h"

#include "hwy/highway.h"

#if defined(CAPSTAN_FORMULA_RECORD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_FORMULA_RECORD_INL_H
#undef CAPSTAN_FORMULA_RECORD_INL_H
#else
#define CAPSTAN_FORMULA_RECORD_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

// In the target's region as well: a function outside it could neither be inlined into a loop
// nor pass vectors.

// The value of F at x[0], x[1], x[2]; the parameters are doubles from the attributes.
template <class F>
struct ForwardCall {
  const double* parameters;

  template <class X>
  HWY_INLINE constexpr auto operator()(const X* x) const {
    if constexpr (F::parameters == 0)
      return call(x);
    else if constexpr (F::parameters == 1)
      return call(x, parameters[0]);
    else
      return call(x, parameters[0], parameters[1]);
  }
  template <class X, class... P>
  static HWY_INLINE constexpr auto call(const X* x, P... p) {
    if constexpr (F::arity == 1)
      return F::f(x[0], p...);
    else if constexpr (F::arity == 2)
      return F::f(x[0], x[1], p...);
    else
      return F::f(x[0], x[1], x[2], p...);
  }
};

// The derivative for input I; values are {g, x0, x1, x2, y} as in LoopArgs::in.
template <class F, int I>
struct DerivativeCall {
  const double* parameters;

  template <class X>
  HWY_INLINE constexpr X operator()(const X* v) const {
    if constexpr (F::parameters == 0)
      return call(v);
    else if constexpr (F::parameters == 1)
      return call(v, parameters[0]);
    else
      return call(v, parameters[0], parameters[1]);
  }
  template <class X, class... P>
  static HWY_INLINE constexpr X call(const X* v, P... p) {
    if constexpr (F::arity == 1)
      return F::df(v[0], v[1], v[4], p...);
    else if constexpr (F::arity == 3 && I == 0)
      return F::da(v[0], v[1], v[2], v[3], v[4], p...);
    else if constexpr (F::arity == 3 && I == 1)
      return F::db(v[0], v[1], v[2], v[3], v[4], p...);
    else if constexpr (F::arity == 3)
      return F::dc(v[0], v[1], v[2], v[3], v[4], p...);
    else if constexpr (I == 0)
      return F::da(v[0], v[1], v[2], v[4], p...);
    else
      return F::db(v[0], v[1], v[2], v[4], p...);
  }
};

// The formula, or its derivative for input I, as data; the inputs are the first steps.
template <class F, int I>
constexpr int record_derivative(Recording& recording) {
  Micro v[5];
  for (int i = 0; i < 5; ++i) v[i] = {&recording, recording.add(MicroOp::kInput, i)};
  const Micro p{&recording, recording.add(MicroOp::kParameter, 0)};
  const Micro q{&recording, recording.add(MicroOp::kParameter, 1)};
  if constexpr (F::parameters == 0)
    return DerivativeCall<F, I>::call(v).id;
  else if constexpr (F::parameters == 1)
    return DerivativeCall<F, I>::call(v, p).id;
  else
    return DerivativeCall<F, I>::call(v, p, q).id;
}
template <class F>
constexpr int record_forward(Recording& recording) {
  Micro v[3];
  for (int i = 0; i < 3; ++i) v[i] = {&recording, recording.add(MicroOp::kInput, i)};
  const Micro p{&recording, recording.add(MicroOp::kParameter, 0)};
  const Micro q{&recording, recording.add(MicroOp::kParameter, 1)};
  if constexpr (F::parameters == 0)
    return ForwardCall<F>::call(v).id;
  else if constexpr (F::parameters == 1)
    return ForwardCall<F>::call(v, p).id;
  else
    return ForwardCall<F>::call(v, p, q).id;
}

// What the derivative for input I reads, and whether it is the cotangent itself.
template <class F, int I>
constexpr std::uint8_t derivative_reads(bool* passes = nullptr) {
  Recording recording;
  const int result = record_derivative<F, I>(recording);
  if (passes != nullptr) *passes = result == 0;
  return recording.reads(result);
}

template <class F, int I>
constexpr bool derivative_passes() {
  bool passes = false;
  derivative_reads<F, I>(&passes);
  return passes;
}

// How dear a formula is, in steps.
template <class F, int I>
constexpr int derivative_steps() {
  Recording recording;
  record_derivative<F, I>(recording);
  return cost_of(std::span(recording.steps, static_cast<std::size_t>(recording.count)));
}
template <class F>
constexpr int forward_steps() {
  Recording recording;
  record_forward<F>(recording);
  return cost_of(std::span(recording.steps, static_cast<std::size_t>(recording.count)));
}

// The same as constants of just the length that is needed. `I` is the input, or -1 for the formula itself.
template <class F, int I>
constexpr int record(Recording& recording) {
  if constexpr (I < 0)
    return record_forward<F>(recording);
  else
    return record_derivative<F, I>(recording);
}
template <class F, int I>
constexpr int recorded_steps() {
  Recording recording;
  record<F, I>(recording);
  return recording.count;
}
template <class F, int I>
inline constexpr auto kSteps = [] {
  Recording recording;
  record<F, I>(recording);
  std::array<MicroStep, recorded_steps<F, I>()> steps{};
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = recording.steps[i];
  return steps;
}();
template <class F, int I>
constexpr MicroCode micro_code() {
  Recording recording;
  return {kSteps<F, I>, record<F, I>(recording)};
}
template <class F>
constexpr FormulaCode formula_code() {
  FormulaCode code;
  code.forward = micro_code<F, -1>();
  if constexpr (F::differentiable) {
    code.vjp[0] = micro_code<F, 0>();
    if constexpr (F::arity >= 2) code.vjp[1] = micro_code<F, 1>();
    if constexpr (F::arity >= 3) code.vjp[2] = micro_code<F, 2>();
  }
  return code;
}
template <class F>
inline constexpr FormulaCode kFormulaCode = formula_code<F>();

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif  // toggle
