// The lanes of a vector as one number, joined by halving: the upper half with the lower one, down to a single lane.
// Included once per instruction set.
#if defined(CAPSTAN_KERNELS_FOLD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_KERNELS_FOLD_INL_H_
#undef CAPSTAN_KERNELS_FOLD_INL_H_
#else
#define CAPSTAN_KERNELS_FOLD_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D, class Join>
HWY_INLINE hn::TFromD<D> fold_lanes(D, hn::Vec<D> v, const Join& join) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    return fold_lanes(half, join(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), join);
  }
#endif
  static_cast<void>(join);
  return hn::GetLane(v);
}

template <class D>
HWY_INLINE hn::TFromD<D> sum_lanes(D d, hn::Vec<D> v) {
  return fold_lanes(d, v, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif  // toggle
