// Pooling: vectors over channels, one window after the other.
//
// Where a maximum lies is not stored by the forward pass; the gradient finds it again. That costs a
// second look at the window, which is in cache, and saves an index per output. Places inside a
// window are numbered in the order of its elements and kept as numbers of type T, so that they
// select with the vectors' own masks.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/pool/pool.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "src/core/thread_pool.h"
#include "src/kernels/pool/pool.h"
#include "src/kernels/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The part of a window that lies inside the image. A template argument of two says that it is a
// whole window of 2 x 2, the common case, whose loops the compiler then unrolls; zero says nothing.
template <int kSize>
struct Window {
  std::int64_t first;  // offset of its first pixel in the image
  std::int64_t row_count, column_count;
  std::int64_t row_step, pixel_step;

  HWY_INLINE std::int64_t rows() const { return kSize != 0 ? kSize : row_count; }
  HWY_INLINE std::int64_t columns() const { return kSize != 0 ? kSize : column_count; }

  // Calls body(number, offset) for all of its pixels, in order.
  template <class Body>
  HWY_INLINE void for_each(const Body& body) const {
    std::int64_t number = 0;
    for (std::int64_t r = 0; r < rows(); ++r) {
      for (std::int64_t c = 0; c < columns(); ++c) {
        body(number++, first + r * row_step + c * pixel_step);
      }
    }
  }
};

// A vector of channels of the pixels of a whole window of 2 x 2.
template <class D>
struct FourPixels {
  using V = hn::Vec<D>;
  V first, second, third, fourth;

  template <class T>
  HWY_INLINE FourPixels(D d, const Window<2>& window, const T* x)
      : first(hn::LoadU(d, x + window.first)),
        second(hn::LoadU(d, x + window.first + window.pixel_step)),
        third(hn::LoadU(d, x + window.first + window.row_step)),
        fourth(hn::LoadU(d, x + window.first + window.row_step + window.pixel_step)) {}

  HWY_INLINE bool any_is_nan(D d) const {
    // Infinities of both signs give NaN, too, which costs time only.
    const V sum = hn::Add(hn::Add(first, second), hn::Add(third, fourth));
    return !hn::AllFalse(d, hn::IsNaN(sum));
  }
  // The first of the largest.
  static HWY_INLINE V larger(V a, V b) { return hn::IfThenElse(hn::Gt(b, a), b, a); }
  HWY_INLINE V largest() const { return larger(larger(larger(first, second), third), fourth); }
};

// Each kernel is a class with operator()(d, window, out): it handles one vector of channels of one
// window; offsets point at its first channel, `out` at the window's output.

template <class T>
struct Max {
  const T* x;
  T* y;
  template <class D, int kSize>
  HWY_INLINE void operator()(D d, const Window<kSize>& window, std::int64_t out) const {
    if constexpr (kSize == 2) {
      const FourPixels pixels(d, window, x);
      if (HWY_LIKELY(!pixels.any_is_nan(d))) return hn::StoreU(pixels.largest(), d, y + out);
    }
    // NaN is replaced by whatever comes next, so it stays only if nothing else comes.
    auto best = hn::Set(d, window.rows() * window.columns() == 0 ? -std::numeric_limits<T>::infinity()
                                                                 : std::numeric_limits<T>::quiet_NaN());
    window.for_each([&](std::int64_t, std::int64_t offset) HWY_ATTR {
      const auto v = hn::LoadU(d, x + offset);
      best = hn::IfThenElse(hn::Or(hn::Gt(v, best), hn::Not(hn::Eq(best, best))), v, best);
    });
    hn::StoreU(best, d, y + out);
  }
};

// The number of the first maximum in its window.
template <class D, int kSize, class T>
HWY_INLINE hn::Vec<D> place_of_max(D d, const Window<kSize>& window, const T* x) {
  auto best = hn::LoadU(d, x + window.first);
  auto place = hn::Zero(d);
  window.for_each([&](std::int64_t number, std::int64_t offset) HWY_ATTR {
    if (number == 0) return;
    const auto v = hn::LoadU(d, x + offset);
    const auto larger = hn::Gt(v, best);
    best = hn::IfThenElse(larger, v, best);
    place = hn::IfThenElse(larger, hn::Set(d, static_cast<T>(number)), place);
  });
  return place;
}

// kOverlap: windows may share pixels, so gradients add up; otherwise each is written once.
template <class T, bool kOverlap>
struct MaxGradient {
  const T* x;
  const T* dy;
  T* dx;
  template <class D, int kSize>
  HWY_INLINE void operator()(D d, const Window<kSize>& window, std::int64_t out) const {
    if (window.rows() * window.columns() == 0) return;
    const auto gradient = hn::LoadU(d, dy + out);
    if constexpr (kSize == 2 && !kOverlap) {
      const FourPixels p(d, window, x);
      const auto two = p.larger(p.first, p.second), three = p.larger(two, p.third);
      const auto is_fourth = hn::Gt(p.fourth, three), is_third = hn::Gt(p.third, two);
      T* const to = dx + window.first;
      // A large image is in no cache when it is written: its lines are asked for two rows ahead, a sixth less time.
      for (const std::int64_t row : {2, 3}) {
        for (const std::int64_t pixel : {0, 1}) {
          __builtin_prefetch(to + row * window.row_step + pixel * window.pixel_step, 1);
        }
      }
      hn::StoreU(hn::IfThenElseZero(is_fourth, gradient), d, to + window.row_step + window.pixel_step);
      auto rest = hn::IfThenZeroElse(is_fourth, gradient);
      hn::StoreU(hn::IfThenElseZero(is_third, rest), d, to + window.row_step);
      rest = hn::IfThenZeroElse(is_third, rest);
      const auto is_second = hn::Gt(p.second, p.first);
      hn::StoreU(hn::IfThenElseZero(is_second, rest), d, to + window.pixel_step);
      hn::StoreU(hn::IfThenZeroElse(is_second, rest), d, to);
      return;
    }
    const auto place = place_of_max(d, window, x);
    window.for_each([&](std::int64_t number, std::int64_t offset) HWY_ATTR {
      const auto here = hn::Eq(place, hn::Set(d, static_cast<T>(number)));
      auto v = hn::IfThenElseZero(here, gradient);
      if (kOverlap) v = hn::Add(hn::LoadU(d, dx + offset), v);
      hn::StoreU(v, d, dx + offset);
    });
  }
};

template <class T>
struct MaxGather {
  const T* x;
  const T* from;
  T* y;
  template <class D, int kSize>
  HWY_INLINE void operator()(D d, const Window<kSize>& window, std::int64_t out) const {
    auto value = hn::Zero(d);
    if (window.rows() * window.columns() != 0) {
      const auto place = place_of_max(d, window, x);
      window.for_each([&](std::int64_t number, std::int64_t offset) HWY_ATTR {
        const auto here = hn::Eq(place, hn::Set(d, static_cast<T>(number)));
        value = hn::IfThenElse(here, hn::LoadU(d, from + offset), value);
      });
    }
    hn::StoreU(value, d, y + out);
  }
};

template <class T>
struct MaxPlaces {
  const T* x;
  std::int64_t* places;
  std::int64_t in_width, channels, image_elements;
  template <class D, int kSize>
  HWY_INLINE void operator()(D d, const Window<kSize>& window, std::int64_t out) const {
    const int lanes = static_cast<int>(hn::Lanes(d));
    if (window.rows() * window.columns() == 0) {
      for (int i = 0; i < lanes; ++i) places[out + i] = -1;
      return;
    }
    HWY_ALIGN T numbers[hn::MaxLanes(d)];
    hn::Store(place_of_max(d, window, x), d, numbers);
    for (int i = 0; i < lanes; ++i) {
      const std::int64_t number = static_cast<std::int64_t>(numbers[i]);
      places[out + i] = (window.first + number / window.columns() * window.row_step +
                         number % window.columns() * window.pixel_step + i) %
                        image_elements;
    }
  }
};

template <class T>
struct Average {
  const T* x;
  T* y;
  template <class D, int kSize>
  HWY_INLINE void operator()(D d, const Window<kSize>& window, std::int64_t out) const {
    auto sum = hn::Zero(d);
    window.for_each([&](std::int64_t, std::int64_t offset) HWY_ATTR { sum = hn::Add(sum, hn::LoadU(d, x + offset)); });
    const std::int64_t count = std::max<std::int64_t>(window.rows() * window.columns(), 1);
    hn::StoreU(hn::Div(sum, hn::Set(d, static_cast<T>(count))), d, y + out);
  }
};

template <class T, bool kOverlap>
struct AverageGradient {
  const T* dy;
  T* dx;
  template <class D, int kSize>
  HWY_INLINE void operator()(D d, const Window<kSize>& window, std::int64_t out) const {
    const std::int64_t count = std::max<std::int64_t>(window.rows() * window.columns(), 1);
    const auto share = hn::Div(hn::LoadU(d, dy + out), hn::Set(d, static_cast<T>(count)));
    window.for_each([&](std::int64_t, std::int64_t offset) HWY_ATTR {
      hn::StoreU(kOverlap ? hn::Add(hn::LoadU(d, dx + offset), share) : share, d, dx + offset);
    });
  }
};

// All channels of one window.
template <class T, class Kernel, int kSize>
HWY_INLINE void run_window(const Kernel& kernel, Window<kSize> window, std::int64_t out, std::int64_t channels) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const std::int64_t lanes = hn::Lanes(d);
  const std::int64_t first = window.first;
  std::int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) {
    window.first = first + c;
    kernel(d, window, out + c);
  }
  for (; c < channels; ++c) {
    window.first = first + c;
    kernel(one, window, out + c);
  }
}

// The same for windows of 2 x 2 one after the other, the first at element `window.first`, `step` elements apart.
template <class T, class Kernel>
HWY_NOINLINE void run_twos(const Kernel kernel, Window<2> window, std::int64_t step, std::int64_t out,
                           std::int64_t end) {
  const std::int64_t channels = window.pixel_step;
  for (; out < end; out += channels, window.first += step) run_window<T>(kernel, window, out, channels);
}

// The rows of an image that an output row reads.
struct SourceRows {
  std::int64_t image, begin, end;
  SourceRows(const Pool2DShape& s, std::int64_t row) : image(row / s.out_height) {
    const std::int64_t top = row % s.out_height * s.stride_height - s.pad_top;
    begin = std::max<std::int64_t>(top, 0);
    end = std::max(begin, std::min(top + s.window_height, s.in_height));
  }
};

// Output rows [begin, end), counted through the batch. Not inlined, for it is called in two places and is large.
template <class T, class Kernel>
HWY_NOINLINE void run_rows_in_memory(const Pool2DShape& s, const Kernel kernel, std::int64_t begin, std::int64_t end) {
  const std::int64_t row_step = s.in_width * s.channels;
  const bool square2 = s.window_height == 2 && s.window_width == 2;
  // Columns whose windows are not cut off.
  const std::int64_t first_whole =
      std::clamp<std::int64_t>((s.pad_left + s.stride_width - 1) / s.stride_width, 0, s.out_width);
  const std::int64_t reach = s.in_width + s.pad_left - s.window_width;
  const std::int64_t end_of_whole =
      std::clamp<std::int64_t>(reach < 0 ? 0 : reach / s.stride_width + 1, first_whole, s.out_width);
  for (std::int64_t row = begin; row < end; ++row) {
    const SourceRows from(s, row);
    const std::int64_t r0 = from.begin, r1 = from.end;
    const std::int64_t row_first = (from.image * s.in_height + r0) * row_step;
    const auto run_column = [&](std::int64_t ow) HWY_ATTR {
      const std::int64_t left = ow * s.stride_width - s.pad_left;
      const std::int64_t c0 = std::max<std::int64_t>(left, 0);
      const std::int64_t c1 = std::max(c0, std::min(left + s.window_width, s.in_width));
      const Window<0> window{row_first + c0 * s.channels, r1 - r0, c1 - c0, row_step, s.channels};
      run_window<T>(kernel, window, (row * s.out_width + ow) * s.channels, s.channels);
    };
    const bool twos = square2 && r1 - r0 == 2 && first_whole < end_of_whole;
    for (std::int64_t ow = 0; ow < s.out_width;) {
      if (!twos || ow != first_whole) {
        run_column(ow++);
        continue;
      }
      const std::int64_t first = row_first + (ow * s.stride_width - s.pad_left) * s.channels;
      const std::int64_t out = row * s.out_width * s.channels;
      run_twos<T>(kernel, Window<2>{first, 2, 2, row_step, s.channels}, s.stride_width * s.channels,
                  out + ow * s.channels, out + end_of_whole * s.channels);
      ow = end_of_whole;
    }
  }
}

// The same where a prologue may make the image: some rows at a time, which stay in the first cache. A kernel without an
// image has no prologue.
template <class T, class Kernel>
HWY_INLINE void run_rows(const Pool2DShape& s, Kernel kernel, const Prologue* prologue, std::int64_t begin,
                         std::int64_t end) {
  constexpr std::int64_t kMadeElements = 4096;
  if constexpr (requires { kernel.x; }) {
    for (std::int64_t row = begin; prologue != nullptr && row < end;) {
      const std::int64_t step = s.in_width * s.channels;
      const SourceRows first(s, row);
      SourceRows last = first;
      const std::int64_t from = row++;
      for (; row < end; ++row) {
        const SourceRows next(s, row);
        if (next.image != first.image || (next.end - first.begin) * step > kMadeElements) break;
        last = next;
      }
      const std::int64_t skipped = (first.image * s.in_height + first.begin) * step;
      const std::int64_t elements = (std::max(first.end, last.end) - first.begin) * step;
      const Scratch made(ScratchSlot::kMade, static_cast<std::size_t>(elements) * sizeof(T));
      (*prologue)(skipped, skipped + elements, made.as<T>());
      // Where the image would begin.
      kernel.x = reinterpret_cast<const T*>(reinterpret_cast<std::uintptr_t>(made.as<T>()) -
                                            static_cast<std::uintptr_t>(skipped) * sizeof(T));
      run_rows_in_memory<T>(s, kernel, from, row);
    }
    if (prologue != nullptr) return;
  }
  run_rows_in_memory<T>(s, kernel, begin, end);
}

template <class Kernel>
const Prologue* prologue_of(const Execution& execution) {
  if constexpr (requires(Kernel kernel) { kernel.x; }) return execution.prologue;
  return nullptr;
}

// Elements of a task; a few microseconds.
constexpr std::int64_t kTaskElements = 32768;

// Kernels that write outputs: any rows in any order. The last come first, as they are what is left in cache of an image
// that has just been written.
template <class T, class Kernel>
void run_forward(const Pool2DShape& s, const Kernel& kernel, const Execution& execution) {
  const std::int64_t rows = s.batch * s.out_height;
  // No window covers more than the image.
  const std::int64_t row_elements =
      s.out_width * s.channels * std::min(s.window_height, s.in_height) * std::min(s.window_width, s.in_width);
  if (rows * row_elements == 0) return;
  const Prologue* const prologue = prologue_of<Kernel>(execution);
  const std::int64_t per_task = std::max<std::int64_t>(kTaskElements / row_elements, 1);
  parallel_for((rows + per_task - 1) / per_task, [&](std::int64_t task) HWY_ATTR {
    const std::int64_t end = rows - task * per_task;
    run_rows<T>(s, kernel, prologue, std::max<std::int64_t>(end - per_task, 0), end);
  });
}

// Kernels that write images: windows of one image may overlap, so an image is one task, and finished when that ends.
template <class T, template <class, bool> class Kernel, class... Pointers>
void run_backward(const Pool2DShape& s, const Execution& execution, T* dx, Pointers... pointers) {
  const std::int64_t image = s.in_height * s.in_width * s.channels;
  if (s.batch * image == 0) return;
  const bool overlap = s.stride_height < s.window_height || s.stride_width < s.window_width;
  const bool covered = !overlap && s.stride_height == s.window_height && s.stride_width == s.window_width &&
                       s.pad_top >= 0 && s.pad_left >= 0 && s.out_height * s.stride_height - s.pad_top >= s.in_height &&
                       s.out_width * s.stride_width - s.pad_left >= s.in_width;
  const Prologue* const prologue = prologue_of<Kernel<T, false>>(execution);
  const Epilogue* const epilogue = execution.take_epilogue(dx, s.batch * image);
  const std::int64_t per_task = std::max<std::int64_t>(kTaskElements / image, 1);
  parallel_for((s.batch + per_task - 1) / per_task, [&](std::int64_t task) HWY_ATTR {
    const std::int64_t end = std::min(s.batch, (task + 1) * per_task);
    for (std::int64_t n = task * per_task; n < end; ++n) {
      if (!covered) std::fill(dx + n * image, dx + (n + 1) * image, T(0));
      const std::int64_t row = n * s.out_height;
      if (overlap) {
        run_rows<T>(s, Kernel<T, true>{pointers..., dx}, prologue, row, row + s.out_height);
      } else {
        run_rows<T>(s, Kernel<T, false>{pointers..., dx}, prologue, row, row + s.out_height);
      }
      if (epilogue != nullptr) (*epilogue)(n * image, (n + 1) * image);
    }
  });
}

template <class T>
void max(const Pool2DShape& shape, const T* x, T* y, const Execution& execution) {
  run_forward<T>(shape, Max<T>{x, y}, execution);
}
template <class T>
void max_gradient(const Pool2DShape& shape, const T* x, const T* dy, T* dx, const Execution& execution) {
  run_backward<T, MaxGradient>(shape, execution, dx, x, dy);
}
template <class T>
void max_gather(const Pool2DShape& shape, const T* x, const T* from, T* y, const Execution& execution) {
  run_forward<T>(shape, MaxGather<T>{x, from, y}, execution);
}
template <class T>
void max_places(const Pool2DShape& shape, const T* x, std::int64_t* places, const Execution& execution) {
  const std::int64_t image = std::max<std::int64_t>(shape.in_height * shape.in_width * shape.channels, 1);
  run_forward<T>(shape, MaxPlaces<T>{x, places, shape.in_width, shape.channels, image}, execution);
}
template <class T>
void average(const Pool2DShape& shape, const T* x, T* y, const Execution& execution) {
  run_forward<T>(shape, Average<T>{x, y}, execution);
}
template <class T>
void average_gradient(const Pool2DShape& shape, const T* dy, T* dx, const Execution& execution) {
  run_backward<T, AverageGradient>(shape, execution, dx, dy);
}

template <class T>
constexpr Pool2DKernels<T> kKernels = {&max<T>,        &max_gradient<T>, &max_gather<T>,
                                       &max_places<T>, &average<T>,      &average_gradient<T>};

}  // namespace

CAPSTAN_TARGET_KERNELS(Pool2DKernels, pool2d)

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_CHOOSE_KERNELS(Pool2DKernels, pool2d)

}  // namespace capstan
#endif  // HWY_ONCE
