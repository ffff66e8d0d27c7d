// The special functions in formulas: on single elements and as data. There is no vector form, so only
// portable formulas (UnaryOp::portable) may call them.
#pragma once

#include "capstan/ops/special.h"
#include "src/kernels/special/special_math.h"
#include "src/formula/formula.h"

namespace capstan {

#define CAPSTAN_SPECIAL_FORMS(name)                                            \
  template <class T>                                                           \
  Scalar<T> name(Scalar<T> x) {                                                \
    return Scalar<T>(static_cast<T>(special::name(static_cast<double>(x.v)))); \
  }                                                                            \
  constexpr Micro name(Micro a) { return micro(a, MicroOp::k_##name); }
CAPSTAN_SPECIAL_UNARY(CAPSTAN_SPECIAL_FORMS)
#undef CAPSTAN_SPECIAL_FORMS

#define CAPSTAN_SPECIAL_FORMS(name)                                                                      \
  template <class T>                                                                                     \
  Scalar<T> name(Scalar<T> x, Scalar<T> y) {                                                             \
    return Scalar<T>(static_cast<T>(special::name(static_cast<double>(x.v), static_cast<double>(y.v)))); \
  }                                                                                                      \
  constexpr Micro name(Micro a, Micro b) { return micro(a, b, MicroOp::k_##name); }
CAPSTAN_SPECIAL_BINARY(CAPSTAN_SPECIAL_FORMS)
#undef CAPSTAN_SPECIAL_FORMS

template <class T>
Scalar<T> betainc(Scalar<T> a, Scalar<T> b, Scalar<T> x) {
  return Scalar<T>(
      static_cast<T>(special::betainc(static_cast<double>(a.v), static_cast<double>(b.v), static_cast<double>(x.v))));
}
constexpr Micro betainc(Micro a, Micro b, Micro x) {
  return {a.recording, a.recording->add(MicroOp::k_betainc, a.id, b.id, x.id)};
}

}  // namespace capstan
