// A Highway target that records.
//
// The vector functions of src/kernels (exp, tanh, log, ...) are written over a small set of Highway's functions and are
// included once per instruction set. Here they are included once more, for a target whose vectors are positions in a
// Program and whose functions append instructions to it. So the expansion of exp is in one place, and emitted code
// computes what the library's loops compute, instruction for instruction.
//
// This target says it is AVX-512, because that is the one instruction set for which a function has a text of its own;
// what it records follows from the width of the vectors (see MaxLanes), which is that of the program.
//
// A function that goes from lane to lane refuses the program.
#pragma once

#include "src/core/simd.h"

#include "hwy/highway.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "src/core/context.h"
#include "src/emit/program.h"

// The names are Highway's.
// NOLINTBEGIN(readability-identifier-naming)
namespace hwy {
namespace N_RECORD {

using capstan::emit::Program;
using capstan::emit::VectorOp;

// The program that is being recorded on this thread.
inline Program& recording() { return *capstan::context.recorded; }

// Vectors are of the width of `kBytes`, of elements of T.
template <class T, int kBytes>
struct Tag {};
// A position in the program; what Highway has here is the native vector.
template <class T, int kBytes>
struct Raw {
  int id = -1;
};
template <class T, int kBytes>
struct Vector {
  Raw<T, kBytes> raw;
};
template <class T, int kBytes>
struct MaskOf {
  int id = -1;
};

template <class D>
struct Of;
template <class D>
struct Of<const D> : Of<D> {};
template <class T, int kBytes>
struct Of<Tag<T, kBytes>> {
  using Element = T;
  using Vec = Vector<T, kBytes>;
  using Mask = MaskOf<T, kBytes>;
  using Unsigned = Tag<MakeUnsigned<T>, kBytes>;
  static constexpr std::size_t kLanes = kBytes / sizeof(T);
};
template <class D>
using TFromD = typename Of<D>::Element;
template <class D>
using Vec = typename Of<D>::Vec;
template <class D>
using Mask = typename Of<D>::Mask;
template <class D>
using RebindToUnsigned = typename Of<D>::Unsigned;

template <class D>
constexpr std::size_t MaxLanes(D) {
  return Of<D>::kLanes;
}

template <class T>
std::uint64_t bits_of(T value) {
  MakeUnsigned<T> bits;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

// --- Constants ---

template <class D>
Vec<D> Set(D, TFromD<D> value) {
  return {{recording().constant(bits_of(value))}};
}
template <class D>
Vec<D> Zero(D) {
  return {{recording().constant(0)}};
}
template <class D>
Vec<D> SignBit(D) {
  return {{recording().constant(std::uint64_t{1} << (sizeof(TFromD<D>) * 8 - 1))}};
}
template <class D>
Vec<D> Inf(D d) {
  return Set(d, static_cast<TFromD<D>>(__builtin_inf()));
}
// With all bits of the mantissa set, as Highway has it.
template <class D>
Vec<D> NaN(D) {
  constexpr int kBits = sizeof(TFromD<D>) * 8;
  return {{recording().constant((std::uint64_t{1} << (kBits - 1)) - 1)}};
}

// --- Arithmetic ---

#define CAPSTAN_RECORD_BINARY(name, op)                              \
  template <class T, int kBytes>                                     \
  Vector<T, kBytes> name(Vector<T, kBytes> a, Vector<T, kBytes> b) { \
    return {{recording().add(VectorOp::op, a.raw.id, b.raw.id)}};    \
  }
CAPSTAN_RECORD_BINARY(Mul, kMultiply)
CAPSTAN_RECORD_BINARY(Div, kDivide)
CAPSTAN_RECORD_BINARY(Min, kMin)
CAPSTAN_RECORD_BINARY(Max, kMax)
CAPSTAN_RECORD_BINARY(And, kAnd)
CAPSTAN_RECORD_BINARY(Or, kOr)
CAPSTAN_RECORD_BINARY(Xor, kXor)
CAPSTAN_RECORD_BINARY(AndNot, kAndNot)
#undef CAPSTAN_RECORD_BINARY

template <class T, int kBytes>
Vector<T, kBytes> Add(Vector<T, kBytes> a, Vector<T, kBytes> b) {
  constexpr VectorOp op = std::is_floating_point_v<T> ? VectorOp::kAdd : VectorOp::kAddInteger;
  return {{recording().add(op, a.raw.id, b.raw.id)}};
}
template <class T, int kBytes>
Vector<T, kBytes> Sub(Vector<T, kBytes> a, Vector<T, kBytes> b) {
  constexpr VectorOp op = std::is_floating_point_v<T> ? VectorOp::kSubtract : VectorOp::kSubtractInteger;
  return {{recording().add(op, a.raw.id, b.raw.id)}};
}
template <class T, int kBytes>
Vector<T, kBytes> MulAdd(Vector<T, kBytes> a, Vector<T, kBytes> b, Vector<T, kBytes> c) {
  return {{recording().add(VectorOp::kMultiplyAdd, a.raw.id, b.raw.id, c.raw.id)}};
}
template <class T, int kBytes>
Vector<T, kBytes> NegMulAdd(Vector<T, kBytes> a, Vector<T, kBytes> b, Vector<T, kBytes> c) {
  return {{recording().add(VectorOp::kNegMultiplyAdd, a.raw.id, b.raw.id, c.raw.id)}};
}

#define CAPSTAN_RECORD_UNARY(name, op)                  \
  template <class T, int kBytes>                        \
  Vector<T, kBytes> name(Vector<T, kBytes> a) {         \
    return {{recording().add(VectorOp::op, a.raw.id)}}; \
  }
CAPSTAN_RECORD_UNARY(Sqrt, kSqrt)
CAPSTAN_RECORD_UNARY(Floor, kFloor)
CAPSTAN_RECORD_UNARY(Ceil, kCeil)
CAPSTAN_RECORD_UNARY(Round, kRound)
#undef CAPSTAN_RECORD_UNARY

template <class T, int kBytes>
Vector<T, kBytes> Neg(Vector<T, kBytes> a) {
  return Xor(a, SignBit(Tag<T, kBytes>()));
}
template <class T, int kBytes>
Vector<T, kBytes> Abs(Vector<T, kBytes> a) {
  return AndNot(SignBit(Tag<T, kBytes>()), a);
}
template <class T, int kBytes>
Vector<T, kBytes> CopySignToAbs(Vector<T, kBytes> magnitude, Vector<T, kBytes> sign) {
  return Or(magnitude, And(SignBit(Tag<T, kBytes>()), sign));
}

template <int kBits, class T, int kBytes>
Vector<T, kBytes> ShiftLeft(Vector<T, kBytes> a) {
  return {{recording().add({VectorOp::kShiftLeft, false, a.raw.id, -1, -1, kBits})}};
}
template <int kBits, class T, int kBytes>
Vector<T, kBytes> ShiftRight(Vector<T, kBytes> a) {
  return {{recording().add({VectorOp::kShiftRight, false, a.raw.id, -1, -1, kBits})}};
}
template <class D, class T, int kBytes>
Vec<D> BitCast(D, Vector<T, kBytes> a) {
  return {{a.raw.id}};
}

// The two functions that src/kernels takes from the compiler, not from Highway.
template <int kBytes>
Raw<float, kBytes> _mm512_scalef_ps(Raw<float, kBytes> a, Raw<float, kBytes> b) {
  return {recording().add(VectorOp::kScale, a.id, b.id)};
}
template <int kBytes>
Raw<double, kBytes> _mm512_scalef_pd(Raw<double, kBytes> a, Raw<double, kBytes> b) {
  return {recording().add(VectorOp::kScale, a.id, b.id)};
}

// --- Masks ---

#define CAPSTAN_RECORD_COMPARISON(name, op, first, second)                    \
  template <class T, int kBytes>                                              \
  MaskOf<T, kBytes> name(Vector<T, kBytes> a, Vector<T, kBytes> b) {          \
    return {recording().add_mask(VectorOp::op, first.raw.id, second.raw.id)}; \
  }
CAPSTAN_RECORD_COMPARISON(Eq, kEqual, a, b)
CAPSTAN_RECORD_COMPARISON(Lt, kLess, a, b)
CAPSTAN_RECORD_COMPARISON(Le, kLessEqual, a, b)
CAPSTAN_RECORD_COMPARISON(Gt, kLess, b, a)
CAPSTAN_RECORD_COMPARISON(Ge, kLessEqual, b, a)
CAPSTAN_RECORD_COMPARISON(TestBit, kTestBits, a, b)
#undef CAPSTAN_RECORD_COMPARISON

#define CAPSTAN_RECORD_MASK(name, op)                                \
  template <class T, int kBytes>                                     \
  MaskOf<T, kBytes> name(MaskOf<T, kBytes> a, MaskOf<T, kBytes> b) { \
    return {recording().add_mask(VectorOp::op, a.id, b.id)};         \
  }
CAPSTAN_RECORD_MASK(And, kMaskAnd)
CAPSTAN_RECORD_MASK(Or, kMaskOr)
CAPSTAN_RECORD_MASK(Xor, kMaskXor)
CAPSTAN_RECORD_MASK(AndNot, kMaskAndNot)
#undef CAPSTAN_RECORD_MASK
template <class T, int kBytes>
MaskOf<T, kBytes> Not(MaskOf<T, kBytes> a) {
  return {recording().add_mask(VectorOp::kMaskNot, a.id)};
}
template <class D, class T, int kBytes>
Mask<D> RebindMask(D, MaskOf<T, kBytes> a) {
  return {a.id};
}
template <class T, int kBytes>
Vector<T, kBytes> IfThenElse(MaskOf<T, kBytes> mask, Vector<T, kBytes> yes, Vector<T, kBytes> no) {
  if (yes.raw.id == no.raw.id) return yes;
  return {{recording().add(VectorOp::kSelect, mask.id, yes.raw.id, no.raw.id)}};
}

// --- Functions without a vector form ---

template <class D>
Vec<D> for_each_lane(D, Vec<D> x, double (*)(double)) {
  recording().refuse();
  return x;
}
template <class D>
Vec<D> for_each_lane(D, Vec<D> x, Vec<D>, TFromD<D> (*)(TFromD<D>, TFromD<D>)) {
  recording().refuse();
  return x;
}
// Asks whether lanes must go one by one; here they would always have to.
template <class D>
bool AllFalse(D, Mask<D>) {
  return false;
}
// Only the remainder, which goes from lane to lane, has masks as vectors.
template <class D>
Vec<D> VecFromMask(D, Mask<D> mask) {
  recording().refuse();
  return {{mask.id}};
}
template <class T, int kBytes>
MaskOf<T, kBytes> MaskFromVec(Vector<T, kBytes> a) {
  recording().refuse();
  return {a.raw.id};
}

}  // namespace N_RECORD
}  // namespace hwy
// NOLINTEND(readability-identifier-naming)

#define CAPSTAN_RECORDING_TARGET
#undef HWY_NAMESPACE
#define HWY_NAMESPACE N_RECORD
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX3

#include "src/kernels/math/vector_math-inl.h"
