// A loop along a row in vectors, the last of which may be part of one. Included once per instruction set.
#if defined(CAPSTAN_KERNELS_ALONG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAPSTAN_KERNELS_ALONG_INL_H_
#undef CAPSTAN_KERNELS_ALONG_INL_H_
#else
#define CAPSTAN_KERNELS_ALONG_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Where a body works: loads and stores of the elements from `at` on, which are all of a vector or the first of it.
template <class D>
struct Place {
  D d;
  std::int64_t at;
  hn::Mask<D> mask;
  bool partial;

  template <class T>
  HWY_INLINE hn::Vec<D> load(const T* row) const {
    return partial ? hn::MaskedLoad(mask, d, row + at) : hn::LoadU(d, row + at);
  }
  template <class T>
  HWY_INLINE void store(hn::Vec<D> v, T* row) const {
    if (partial) {
      hn::BlendedStore(v, mask, d, row + at);
    } else {
      hn::StoreU(v, d, row + at);
    }
  }
};

// Calls body(place) along n elements.
template <class D, class Body>
HWY_INLINE void along(D d, std::int64_t n, const Body& body) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto all = hn::FirstN(d, static_cast<std::size_t>(lanes));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(Place<D>{d, i, all, false});
  if (i < n) body(Place<D>{d, i, hn::FirstN(d, static_cast<std::size_t>(n - i)), true});
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#endif  // toggle
