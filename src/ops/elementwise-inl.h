// The kernels of elementwise formulas, for one instruction set at a time.
//
// A family file (src/ops/math.cc and its kin) re-includes itself once per target; its formulas stand textually inside
// the target's region, because only then may they use the target's instructions. This header gives them V<D>, a vector
// with the operators and functions that formulas use, and the loops over memory.
//
//     #undef HWY_TARGET_INCLUDE
//     #define HWY_TARGET_INCLUDE "src/ops/math.cc"
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
#include "src/core/simd.h"
#include "src/ops/formula.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "src/kernels/vector_math-inl.h"

#if defined(CAPSTAN_OPS_ELEMENTWISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_OPS_ELEMENTWISE_INL_H
#undef CAPSTAN_OPS_ELEMENTWISE_INL_H
#else
#define CAPSTAN_OPS_ELEMENTWISE_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A vector and a mask as values with operators.
template <class D>
struct V {
  hn::Vec<D> v;
};
template <class D>
struct M {
  hn::Mask<D> m;
};

template <class D>
HWY_INLINE V<D> splat(double value) {
  return {hn::Set(D(), static_cast<hn::TFromD<D>>(value))};
}

#define CAPSTAN_V_OPERATOR(op, function)                  \
  template <class D>                                      \
  HWY_INLINE V<D> operator op(V<D> a, V<D> b) {           \
    return {hn::function(a.v, b.v)};                      \
  }                                                       \
  template <class D>                                      \
  HWY_INLINE V<D> operator op(V<D> a, double b) {         \
    return a op splat<D>(b);                              \
  }                                                       \
  template <class D>                                      \
  HWY_INLINE V<D> operator op(double a, V<D> b) {         \
    return splat<D>(a) op b;                              \
  }
CAPSTAN_V_OPERATOR(+, Add)
CAPSTAN_V_OPERATOR(-, Sub)
CAPSTAN_V_OPERATOR(*, Mul)
CAPSTAN_V_OPERATOR(/, Div)
#undef CAPSTAN_V_OPERATOR
#define CAPSTAN_V_COMPARISON(op, function)         \
  template <class D>                               \
  HWY_INLINE M<D> operator op(V<D> a, V<D> b) {    \
    return {hn::function(a.v, b.v)};               \
  }                                                \
  template <class D>                               \
  HWY_INLINE M<D> operator op(V<D> a, double b) {  \
    return a op splat<D>(b);                       \
  }
CAPSTAN_V_COMPARISON(==, Eq)
CAPSTAN_V_COMPARISON(!=, Ne)
CAPSTAN_V_COMPARISON(<, Lt)
CAPSTAN_V_COMPARISON(<=, Le)
CAPSTAN_V_COMPARISON(>, Gt)
CAPSTAN_V_COMPARISON(>=, Ge)
#undef CAPSTAN_V_COMPARISON
template <class D>
HWY_INLINE V<D> operator-(V<D> a) {
  return {hn::Neg(a.v)};
}
template <class D>
HWY_INLINE M<D> operator&&(M<D> a, M<D> b) {
  return {hn::And(a.m, b.m)};
}
template <class D>
HWY_INLINE M<D> operator||(M<D> a, M<D> b) {
  return {hn::Or(a.m, b.m)};
}
template <class D>
HWY_INLINE M<D> operator!(M<D> a) {
  return {hn::Not(a.m)};
}
template <class D>
HWY_INLINE V<D> select(M<D> c, V<D> a, V<D> b) {
  return {hn::IfThenElse(c.m, a.v, b.v)};
}
template <class D>
HWY_INLINE V<D> select(M<D> c, V<D> a, double b) {
  return select(c, a, splat<D>(b));
}
template <class D>
HWY_INLINE V<D> select(M<D> c, double a, V<D> b) {
  return select(c, splat<D>(a), b);
}
template <class D>
HWY_INLINE V<D> zero_of(V<D>) {
  return {hn::Zero(D())};
}
#define CAPSTAN_V_UNARY(name)             \
  template <class D>                      \
  HWY_INLINE V<D> name(V<D> a) {          \
    return {vector_math::name(D(), a.v)}; \
  }
#define CAPSTAN_V_BINARY(name)                 \
  template <class D>                           \
  HWY_INLINE V<D> name(V<D> a, V<D> b) {       \
    return {vector_math::name(D(), a.v, b.v)}; \
  }
#define CAPSTAN_V_PREDICATE(name)         \
  template <class D>                      \
  HWY_INLINE M<D> name(V<D> a) {          \
    return {vector_math::name(D(), a.v)}; \
  }
CAPSTAN_UNARY_PRIMITIVES(CAPSTAN_V_UNARY)
CAPSTAN_PREDICATES(CAPSTAN_V_PREDICATE)
CAPSTAN_BINARY_PRIMITIVES(CAPSTAN_V_BINARY)
#undef CAPSTAN_V_UNARY
#undef CAPSTAN_V_PREDICATE
#undef CAPSTAN_V_BINARY

// --- Loops over float32 and float64 ---

// Where an operand's next vector comes from: memory that advances, or one splat vector that does not.
template <class D>
struct Cursor {
  using T = hn::TFromD<D>;
  const T* position;
  std::size_t step;
  HWY_ALIGN T splat[HWY_MAX_BYTES / sizeof(T)];

  HWY_INLINE void start(D d, const void* memory, bool repeats) {
    position = static_cast<const T*>(memory);
    step = hn::Lanes(d);
    if (repeats) {
      hn::Store(hn::Set(d, *position), d, splat);
      position = splat;
      step = 0;
    }
  }
  HWY_INLINE V<D> next(D d) {
    V<D> value{hn::LoadU(d, position)};
    position += step;
    return value;
  }
  HWY_INLINE V<D> tail(D d, hn::Mask<D> mask) const { return {hn::MaskedLoad(mask, d, position)}; }
};

// Evaluates `formula(values)` over a run; `kReads` has a bit for each position of LoopArgs::in that is read.
template <unsigned kReads, bool kAccumulate, class T, class Formula>
HWY_INLINE void vector_run(const LoopArgs& args, const Formula& formula) {
  const hn::ScalableTag<T> d;
  using D = hn::ScalableTag<T>;
  const std::size_t lanes = hn::Lanes(d);
  Cursor<D> cursor[5];
  for (unsigned k = 0; k < 5; ++k) {
    if ((kReads >> k & 1) != 0) cursor[k].start(d, args.in[k], (args.scalars >> k & 1) != 0);
  }
  auto* out = static_cast<T*>(args.out);
  V<D> values[5];
  auto n = static_cast<std::size_t>(args.n);
  for (; n >= lanes; n -= lanes, out += lanes) {
    for (unsigned k = 0; k < 5; ++k) {
      if ((kReads >> k & 1) != 0) values[k] = cursor[k].next(d);
    }
    V<D> result = formula(values);
    if constexpr (kAccumulate) result = V<D>{hn::LoadU(d, out)} + result;
    hn::StoreU(result.v, d, out);
  }
  if (n > 0) {
    const auto mask = hn::FirstN(d, n);
    for (unsigned k = 0; k < 5; ++k) {
      if ((kReads >> k & 1) != 0) values[k] = cursor[k].tail(d, mask);
    }
    V<D> result = formula(values);
    if constexpr (kAccumulate) result = V<D>{hn::MaskedLoad(mask, d, out)} + result;
    hn::BlendedStore(result.v, mask, d, out);
  }
}

// The same, one element at a time, for integers, bool and bfloat16 (which computes in float).
template <unsigned kReads, bool kAccumulate, class In, class Out, class Formula>
HWY_INLINE void scalar_run(const LoopArgs& args, const Formula& formula) {
  using C = std::conditional_t<std::is_same_v<In, BFloat16>, float, In>;
  const In* in[5];
  std::size_t step[5];
  for (unsigned k = 0; k < 5; ++k) {
    in[k] = static_cast<const In*>(args.in[k]);
    step[k] = (args.scalars >> k & 1) != 0 ? 0 : 1;
  }
  auto* out = static_cast<Out*>(args.out);
  for (std::size_t i = 0; i < static_cast<std::size_t>(args.n); ++i) {
    Scalar<C> values[5];
    for (unsigned k = 0; k < 5; ++k) {
      if ((kReads >> k & 1) != 0) values[k] = Scalar<C>(static_cast<C>(in[k][i * step[k]]));
    }
    auto result = formula(values).v;
    if constexpr (kAccumulate) result = static_cast<decltype(result)>(static_cast<C>(out[i]) + result);
    out[i] = static_cast<Out>(result);
  }
}

template <class F, class T>
void forward_loop(const LoopArgs& args) {
  constexpr unsigned reads = (1u << F::arity) - 1;
  const auto formula = [&](auto* x) {
    return detail::with_parameters<F>(args.parameters, [&](auto... p) { return detail::call_forward<F>(x, p...); });
  };
  if constexpr (F::boolean) {
    scalar_run<reads, false, T, bool>(args, formula);
  } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    vector_run<reads, false, T>(args, formula);
  } else {
    scalar_run<reads, false, T, T>(args, formula);
  }
}

template <class F, int I, class T>
void vjp_loop(const LoopArgs& args) {
  constexpr unsigned reads = detail::derivative_reads<F, I>();
  const auto formula = [&](auto* v) {
    return detail::with_parameters<F>(args.parameters, [&](auto... p) { return detail::call_derivative<F, I>(v, p...); });
  };
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    if (args.accumulate) {
      vector_run<reads, true, T>(args, formula);
    } else {
      vector_run<reads, false, T>(args, formula);
    }
  } else {
    if (args.accumulate) {
      scalar_run<reads, true, T, T>(args, formula);
    } else {
      scalar_run<reads, false, T, T>(args, formula);
    }
  }
}

template <class F, class T>
constexpr void fill_loops(LoopTable& table) {
  constexpr int dtype = static_cast<int>(kDTypeOf<T>);
  if constexpr (takes(F::types, kDTypeOf<T>)) {
    table.forward[dtype] = &forward_loop<F, T>;
    if constexpr (F::differentiable && is_floating(kDTypeOf<T>)) {
      table.vjp[0][dtype] = &vjp_loop<F, 0, T>;
      if constexpr (F::arity == 2) table.vjp[1][dtype] = &vjp_loop<F, 1, T>;
    }
  }
}

template <class F>
constexpr LoopTable make_loops() {
  LoopTable table{};
  fill_loops<F, float>(table);
  fill_loops<F, double>(table);
  fill_loops<F, BFloat16>(table);
  fill_loops<F, std::int32_t>(table);
  fill_loops<F, std::int64_t>(table);
  fill_loops<F, std::uint8_t>(table);
  fill_loops<F, bool>(table);
  return table;
}

template <class F>
inline constexpr LoopTable kLoops = make_loops<F>();

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif  // toggle

// Defines the OpDef `constant` of the formula struct `Formula`; stands in the HWY_ONCE part of a family file.
#undef CAPSTAN_ELEMENTWISE
#define CAPSTAN_ELEMENTWISE(constant, Formula)                                                         \
  static constexpr const LoopTable* constant##Loops[] = {&N_SCALAR::kLoops<N_SCALAR::Formula>,         \
                                                         &N_AVX2::kLoops<N_AVX2::Formula>,             \
                                                         &N_AVX3::kLoops<N_AVX3::Formula>};            \
  constinit const OpDef constant =                                                                     \
      elementwise_op<N_SCALAR::Formula>(constant##Loops, CAPSTAN_FORMULA_TEST(N_SCALAR::Formula))
