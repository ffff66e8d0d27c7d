// The loops of formulas, for one instruction set at a time: V<D>, a vector with the operators and functions that
// formulas use, and the loops over memory. Formulas are textually inside the target's region, because only then may
// they use the target's instructions, so this is included by files that highway includes once per target.
#include <complex>

#include "src/core/simd.h"
#include "src/formula/formula.h"

#include "hwy/highway.h"

#include "src/formula/record-inl.h"
#include "src/kernels/math/vector_math-inl.h"

#if defined(CAPSTAN_FORMULA_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_FORMULA_LOOPS_INL_H
#undef CAPSTAN_FORMULA_LOOPS_INL_H
#else
#define CAPSTAN_FORMULA_LOOPS_INL_H
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

#define CAPSTAN_V_OPERATOR(op, function)          \
  template <class D>                              \
  HWY_INLINE V<D> operator op(V<D> a, V<D> b) {   \
    return {hn::function(a.v, b.v)};              \
  }                                               \
  template <class D>                              \
  HWY_INLINE V<D> operator op(V<D> a, double b) { \
    return a op splat<D>(b);                      \
  }                                               \
  template <class D>                              \
  HWY_INLINE V<D> operator op(double a, V<D> b) { \
    return splat<D>(a) op b;                      \
  }
CAPSTAN_V_OPERATOR(+, Add)
CAPSTAN_V_OPERATOR(-, Sub)
CAPSTAN_V_OPERATOR(*, Mul)
CAPSTAN_V_OPERATOR(/, Div)
#undef CAPSTAN_V_OPERATOR
#define CAPSTAN_V_COMPARISON(op, function)        \
  template <class D>                              \
  HWY_INLINE M<D> operator op(V<D> a, V<D> b) {   \
    return {hn::function(a.v, b.v)};              \
  }                                               \
  template <class D>                              \
  HWY_INLINE M<D> operator op(V<D> a, double b) { \
    return a op splat<D>(b);                      \
  }
CAPSTAN_V_COMPARISON(==, Eq)
CAPSTAN_V_COMPARISON(<, Lt)
CAPSTAN_V_COMPARISON(<=, Le)
CAPSTAN_V_COMPARISON(>, Gt)
CAPSTAN_V_COMPARISON(>=, Ge)
#undef CAPSTAN_V_COMPARISON
// Highway's Ne is false for NaN.
template <class D>
HWY_INLINE M<D> operator!=(V<D> a, V<D> b) {
  return {hn::Not(hn::Eq(a.v, b.v))};
}
template <class D>
HWY_INLINE M<D> operator!=(V<D> a, double b) {
  return a != splat<D>(b);
}
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

// Vectors per turn of a loop. A cheap formula is limited by the loop around it, one with a function or two by the
// latency of its chain of operations; more only grow. Where a vector is one number, a turn is one.
template <int kSteps>
inline constexpr int kUnroll = HWY_TARGET == HWY_SCALAR || kSteps >= 220 ? 1
                               : kSteps <= 8                             ? 4
                                                                         : 2;

// Where an operand's vectors come from: memory that advances, or splat vectors that do not.
template <class D, int kVectors>
struct Cursor {
  using T = hn::TFromD<D>;
  static constexpr std::size_t kSplat = kVectors * HWY_MAX_BYTES / sizeof(T);
  const T* position;
  std::size_t step;  // per vector

  // `splat` has room for kSplat elements; it is not a member, so that position and step live in registers.
  HWY_INLINE void start(D d, const void* memory, bool repeats, T* splat) {
    position = static_cast<const T*>(memory);
    step = hn::Lanes(d);
    if (repeats) {
      const auto value = hn::Set(d, *position);
      for (int i = 0; i < kVectors; ++i) hn::Store(value, d, splat + static_cast<std::size_t>(i) * hn::Lanes(d));
      position = splat;
      step = 0;
    }
  }
  HWY_INLINE V<D> load(D d, std::size_t offset) const { return {hn::LoadU(d, position + offset)}; }
  HWY_INLINE V<D> tail(D d, hn::Mask<D> mask) const { return {hn::MaskedLoad(mask, d, position)}; }
  HWY_INLINE void advance(std::size_t vectors) { position += vectors * step; }
};

// Five cursors, of which those with a bit in kReads exist. Spelled out, because only then do they live in registers.
template <unsigned kReads, class D, int kVectors>
struct Cursors {
  Cursor<D, kVectors> c0, c1, c2, c3, c4;

  template <class T>
  HWY_INLINE void start(D d, const LoopArgs& args, T* splats) {
    constexpr std::size_t size = Cursor<D, kVectors>::kSplat;
    if constexpr ((kReads & 1) != 0) c0.start(d, args.in[0], (args.scalars & 1) != 0, splats);
    if constexpr ((kReads & 2) != 0) c1.start(d, args.in[1], (args.scalars & 2) != 0, splats + size);
    if constexpr ((kReads & 4) != 0) c2.start(d, args.in[2], (args.scalars & 4) != 0, splats + 2 * size);
    if constexpr ((kReads & 8) != 0) c3.start(d, args.in[3], (args.scalars & 8) != 0, splats + 3 * size);
    if constexpr ((kReads & 16) != 0) c4.start(d, args.in[4], (args.scalars & 16) != 0, splats + 4 * size);
  }
  HWY_INLINE void load(D d, std::size_t offset, V<D>* v) const {
    if constexpr ((kReads & 1) != 0) v[0] = c0.load(d, offset);
    if constexpr ((kReads & 2) != 0) v[1] = c1.load(d, offset);
    if constexpr ((kReads & 4) != 0) v[2] = c2.load(d, offset);
    if constexpr ((kReads & 8) != 0) v[3] = c3.load(d, offset);
    if constexpr ((kReads & 16) != 0) v[4] = c4.load(d, offset);
  }
  HWY_INLINE void advance(std::size_t vectors) {
    if constexpr ((kReads & 1) != 0) c0.advance(vectors);
    if constexpr ((kReads & 2) != 0) c1.advance(vectors);
    if constexpr ((kReads & 4) != 0) c2.advance(vectors);
    if constexpr ((kReads & 8) != 0) c3.advance(vectors);
    if constexpr ((kReads & 16) != 0) c4.advance(vectors);
  }
  HWY_INLINE void tail(D d, hn::Mask<D> mask, V<D>* v) const {
    if constexpr ((kReads & 1) != 0) v[0] = c0.tail(d, mask);
    if constexpr ((kReads & 2) != 0) v[1] = c1.tail(d, mask);
    if constexpr ((kReads & 4) != 0) v[2] = c2.tail(d, mask);
    if constexpr ((kReads & 8) != 0) v[3] = c3.tail(d, mask);
    if constexpr ((kReads & 16) != 0) v[4] = c4.tail(d, mask);
  }
};

template <class D>
HWY_INLINE void store(D d, V<D> result, bool accumulate, hn::TFromD<D>* out) {
  if (accumulate) result = V<D>{hn::LoadU(d, out)} + result;
  hn::StoreU(result.v, d, out);
}
template <class D>
HWY_INLINE void store_first(D d, V<D> result, std::size_t n, bool accumulate, hn::TFromD<D>* out) {
  const auto mask = hn::FirstN(d, n);
  if (accumulate) result = V<D>{hn::MaskedLoad(mask, d, out)} + result;
  hn::BlendedStore(result.v, mask, d, out);
}

// One vector, or the first n < lanes elements of one. A function, because in a loop the compiler would load all
// constants of the formula before the first turn, which for short tensors is the longer part.
template <class Cursors, class T, class Formula>
HWY_NOINLINE void vector_or_part(Cursors cursors, std::size_t n, const Formula formula, bool accumulate, T* out) {
  const hn::ScalableTag<T> d;
  V<hn::ScalableTag<T>> values[5];
  const bool whole = n >= hn::Lanes(d);
  if (whole) {
    cursors.load(d, 0, values);
  } else {
    cursors.tail(d, hn::FirstN(d, n), values);
  }
  const auto result = formula(values);
  if (whole) {
    store(d, result, accumulate, out);
  } else {
    store_first(d, result, n, accumulate, out);
  }
}

// Four vectors at a time, as long as there are as many.
template <class D, class Cursors, class Formula>
HWY_INLINE void run_fours(D d, Cursors& cursors, std::size_t& n, const Formula formula, bool accumulate,
                          hn::TFromD<D>*& out) {
  const std::size_t lanes = hn::Lanes(d);
  for (; n >= 4 * lanes; n -= 4 * lanes, out += 4 * lanes) {
    V<D> a[5], b[5], c[5], e[5];
    cursors.load(d, 0, a);
    cursors.load(d, lanes, b);
    cursors.load(d, 2 * lanes, c);
    cursors.load(d, 3 * lanes, e);
    cursors.advance(4);
    store(d, formula(a), accumulate, out);
    store(d, formula(b), accumulate, out + lanes);
    store(d, formula(c), accumulate, out + 2 * lanes);
    store(d, formula(e), accumulate, out + 3 * lanes);
  }
}

// Evaluates `formula(values)` over a run; `kReads` has a bit for each position of LoopArgs::in that is read. Formulas
// are what fills the library, so `accumulate` is a branch in a loop, not another loop, but where the formula is cheap
// beside it.
template <unsigned kReads, int kVectors, class T, class Formula>
HWY_INLINE void vector_run(const LoopArgs& args, const Formula formula, bool accumulate) {
  const hn::ScalableTag<T> d;
  using D = hn::ScalableTag<T>;
  const std::size_t lanes = hn::Lanes(d);
  Cursors<kReads, D, kVectors> cursors;
  HWY_ALIGN T splats[5 * Cursor<D, kVectors>::kSplat];
  cursors.start(d, args, splats);
  auto* out = static_cast<T*>(args.out);
  auto n = static_cast<std::size_t>(args.n);
  if constexpr (kVectors == 4) {
    if (accumulate) {
      run_fours(d, cursors, n, formula, true, out);
    } else {
      run_fours(d, cursors, n, formula, false, out);
    }
  }
  if constexpr (kVectors == 2) {
    for (; n >= 2 * lanes; n -= 2 * lanes, out += 2 * lanes) {
      V<D> a[5], b[5];
      cursors.load(d, 0, a);
      cursors.load(d, lanes, b);
      cursors.advance(2);
      // Both results before either is stored, so that the two chains overlap.
      const V<D> first = formula(a);
      const V<D> second = formula(b);
      store(d, first, accumulate, out);
      store(d, second, accumulate, out + lanes);
    }
  }
  if constexpr (kVectors == 2) {
    if (n >= lanes) {
      vector_or_part(cursors, lanes, formula, accumulate, out);
      cursors.advance(1);
      n -= lanes;
      out += lanes;
    }
    if (n > 0) vector_or_part(cursors, n, formula, accumulate, out);
    return;
  }
  for (; n >= lanes; n -= lanes, out += lanes) {
    V<D> values[5];
    cursors.load(d, 0, values);
    cursors.advance(1);
    store(d, formula(values), accumulate, out);
  }
  if (n > 0) {
    V<D> values[5];
    cursors.tail(d, hn::FirstN(d, n), values);
    store_first(d, formula(values), n, accumulate, out);
  }
}

// The type that a formula computes in one element at a time.
template <class F, class T>
using Computed = std::conditional_t<F::portable, double, std::conditional_t<std::is_same_v<T, BFloat16>, float, T>>;
// Whether a formula has vector loops for T.
template <class F, class T>
inline constexpr bool kVectorLoop = !F::portable && (std::is_same_v<T, float> || std::is_same_v<T, double>);

// The same, one element at a time, for integers, bool, complex numbers, bfloat16 (which computes in float) and
// portable formulas.
template <unsigned kReads, class C, class In, class Out, class Formula>
HWY_INLINE void scalar_run(const LoopArgs& args, const Formula formula, bool accumulate) {
  const In* const in[5] = {static_cast<const In*>(args.in[0]), static_cast<const In*>(args.in[1]),
                           static_cast<const In*>(args.in[2]), static_cast<const In*>(args.in[3]),
                           static_cast<const In*>(args.in[4])};
  auto* out = static_cast<Out*>(args.out);
  for (std::size_t i = 0; i < static_cast<std::size_t>(args.n); ++i) {
    Scalar<C> values[5];
    for (unsigned k = 0; k < 5; ++k) {
      if ((kReads >> k & 1) != 0) values[k] = Scalar<C>(static_cast<C>(in[k][(args.scalars >> k & 1) != 0 ? 0 : i]));
    }
    auto result = formula(values).v;
    if constexpr (std::is_same_v<In, Out>) {
      if (accumulate) result = static_cast<decltype(result)>(static_cast<C>(out[i]) + result);
    }
    out[i] = static_cast<Out>(result);
  }
}

template <class F, class T>
void forward_loop(const LoopArgs& args) {
  constexpr unsigned reads = (1u << F::arity) - 1;
  const ForwardCall<F> formula{args.parameters};
  if constexpr (F::boolean) {
    scalar_run<reads, Computed<F, T>, T, bool>(args, formula, false);
  } else if constexpr (kVectorLoop<F, T>) {
    vector_run<reads, kUnroll<forward_steps<F>()>, T>(args, formula, false);
  } else {
    scalar_run<reads, Computed<F, T>, T, T>(args, formula, false);
  }
}

template <class F, int I, class T>
void vjp_loop(const LoopArgs& args) {
  constexpr unsigned reads = derivative_reads<F, I>();
  const DerivativeCall<F, I> formula{args.parameters};
  if constexpr (kVectorLoop<F, T>) {
    vector_run<reads, kUnroll<derivative_steps<F, I>()>, T>(args, formula, args.accumulate);
  } else {
    scalar_run<reads, Computed<F, T>, T, T>(args, formula, args.accumulate);
  }
}

// Whether this instruction set has a loop of F over T.
// Integers, bool and bfloat16 have no vector loops: one set of loops serves every instruction set (see loops_of).
template <class F, class T>
inline constexpr bool kHasLoop = takes(F::types, kDTypeOf<T>) &&
                                 (has_vector_loops(kDTypeOf<T>) || HWY_TARGET == HWY_SCALAR);

template <class F, class T>
constexpr void fill_loops(LoopTable& table) {
  constexpr int dtype = static_cast<int>(kDTypeOf<T>);
  if constexpr (kHasLoop<F, T>) {
    table.forward[dtype] = &forward_loop<F, T>;
    if constexpr (F::differentiable && is_floating(kDTypeOf<T>)) {
      table.vjp[0][dtype] = &vjp_loop<F, 0, T>;
      if constexpr (F::arity >= 2) table.vjp[1][dtype] = &vjp_loop<F, 1, T>;
      if constexpr (F::arity >= 3) table.vjp[2][dtype] = &vjp_loop<F, 2, T>;
    }
  }
}

// The derivative of an analytic formula as TensorFlow has it.
template <class F, int I>
struct ConjugateDerivativeCall {
  const double* parameters;

  template <class X>
  HWY_INLINE X operator()(const X* v) const {
    const X conjugate[5] = {conj(v[0]), v[1], v[2], v[3], v[4]};
    return conj(DerivativeCall<F, I>{parameters}(conjugate));
  }
};

// F is a formula for complex numbers, T complex. One set of loops serves every instruction set.
template <class F, class T>
void complex_forward_loop(const LoopArgs& args) {
  constexpr unsigned reads = (1u << F::arity) - 1;
  scalar_run<reads, T, T, std::conditional_t<F::boolean, bool, T>>(args, ForwardCall<F>{args.parameters}, false);
}
template <class F, int I, class T>
void complex_vjp_loop(const LoopArgs& args) {
  constexpr unsigned reads = derivative_reads<F, I>();
  scalar_run<reads, T, T, T>(args, ConjugateDerivativeCall<F, I>{args.parameters}, args.accumulate);
}

template <class F, class T>
constexpr void fill_complex_loops(LoopTable& table) {
  if constexpr (!std::is_void_v<F> && HWY_TARGET == HWY_SCALAR) {
    constexpr int dtype = static_cast<int>(kDTypeOf<T>);
    table.forward[dtype] = &complex_forward_loop<F, T>;
    if constexpr (F::differentiable) {
      table.vjp[0][dtype] = &complex_vjp_loop<F, 0, T>;
      if constexpr (F::arity == 2) table.vjp[1][dtype] = &complex_vjp_loop<F, 1, T>;
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
  fill_complex_loops<typename F::Complex, std::complex<float>>(table);
  fill_complex_loops<typename F::Complex, std::complex<double>>(table);
  return table;
}

template <class F>
inline constexpr LoopTable kLoops = make_loops<F>();

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif  // toggle
