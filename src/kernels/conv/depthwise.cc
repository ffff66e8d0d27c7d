// Depthwise convolution: vectors over channels, blocks of four neighbouring pixels.
//
// There is no sum over channels, so there is nothing to gain from a matrix product: per tap an output costs one load
// of the image and one multiply-add. Four pixels of a row share the load of the filter. Forward pass and image
// gradient are the same loop, told apart by the lists of taps that reach each row and each column: strides, dilations
// and borders are only in these lists.
//
// With several filters per channel (a multiplier) the channels of an image row are repeated as often first, so the
// loops always see as many channels on both sides.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/conv/depthwise.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "src/core/thread_pool.h"
#include "src/kernels/conv/depthwise.h"
#include "src/kernels/scratch.h"

#ifndef CAPSTAN_KERNELS_DEPTHWISE_ONCE_
#define CAPSTAN_KERNELS_DEPTHWISE_ONCE_
namespace capstan {

// The taps that reach the positions of an axis.
struct DepthwiseAxis {
  struct Tap {
    std::int64_t kernel;
    std::int64_t source;
  };
  std::vector<std::size_t> first;  // [positions + 1], into taps
  std::vector<Tap> taps;
  // True if this position and the three that follow have the same taps, with sources `step` apart.
  std::vector<char> together;
  std::int64_t step = 1;

  // Outputs that read inputs, or (transposed) inputs that outputs have read.
  static DepthwiseAxis make(const ConvShape& s, int axis, bool transposed) {
    DepthwiseAxis result;
    const std::int64_t positions = transposed ? s.in[axis] : s.out[axis];
    for (std::int64_t p = 0; p < positions; ++p) {
      result.first.push_back(result.taps.size());
      for (std::int64_t k = 0; k < s.kernel[axis]; ++k) {
        if (transposed) {
          const std::int64_t from = p + s.pad[axis] - k * s.dilation[axis];
          if (from < 0) break;
          if (from % s.stride[axis] == 0 && from / s.stride[axis] < s.out[axis]) {
            result.taps.push_back({k, from / s.stride[axis]});
          }
        } else {
          const std::int64_t from = p * s.stride[axis] + k * s.dilation[axis] - s.pad[axis];
          if (from >= s.in[axis]) break;
          if (from >= 0) result.taps.push_back({k, from});
        }
      }
    }
    result.first.push_back(result.taps.size());
    result.step = transposed ? 1 : s.stride[axis];
    if (transposed && s.stride[axis] != 1) result.step = 0;
    result.together.assign(static_cast<std::size_t>(positions), 0);
    for (std::size_t p = 0; result.step != 0 && p + 3 < result.together.size(); ++p) {
      bool same = true;
      for (std::size_t i = 1; i < 4; ++i) same = same && result.follows(p, p + i, static_cast<std::int64_t>(i));
      result.together[p] = same;
    }
    return result;
  }

  std::size_t count(std::size_t p) const { return first[p + 1] - first[p]; }

 private:
  bool follows(std::size_t p, std::size_t q, std::int64_t distance) const {
    if (count(p) != count(q)) return false;
    for (std::size_t i = 0; i < count(p); ++i) {
      const Tap& a = taps[first[p] + i];
      const Tap& b = taps[first[q] + i];
      if (a.kernel != b.kernel || b.source != a.source + distance * step) return false;
    }
    return true;
  }
};

}  // namespace capstan
#endif  // CAPSTAN_KERNELS_DEPTHWISE_ONCE_

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Multiply-adds of a task; ten microseconds or so.
constexpr std::int64_t kTaskWork = 200'000;
// Parts of the filter gradient that are summed apart.
constexpr std::int64_t kFilterParts = 16;

// Calls body(channel, partial, mask) for vectors of channels; `partial` if only those of the mask exist.
template <class D, class Body>
HWY_INLINE void along_channels(D d, std::int64_t channels, const Body& body) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) body(c, std::false_type(), hn::FirstN(d, static_cast<std::size_t>(lanes)));
  if (c < channels) body(c, std::true_type(), hn::FirstN(d, static_cast<std::size_t>(channels - c)));
}
template <class Partial, class D, class M, class T>
HWY_INLINE hn::Vec<D> load(Partial, D d, M mask, const T* from) {
  if constexpr (Partial::value) return hn::MaskedLoad(mask, d, from);
  return hn::LoadU(d, from);
}
template <class Partial, class D, class M, class V, class T>
HWY_INLINE void store(Partial, D d, M mask, V v, T* to) {
  if constexpr (Partial::value) {
    hn::BlendedStore(v, mask, d, to);
  } else {
    hn::StoreU(v, d, to);
  }
}

// Each of `count` elements `times` over.
template <class T>
const T* repeated(const T* from, std::int64_t count, std::int64_t times, T* to) {
  if (times == 1) return from;
  T* out = to;
  for (std::int64_t i = 0; i < count; ++i) out = std::fill_n(out, times, from[i]);
  return to;
}

// A row of a plane that reaches a target row, and the filter row that it meets.
template <class T>
struct SourceRow {
  const T* row;
  const T* filter;
};

// One target row: target[p, c] = the sum over rows and column taps of source * filter.
template <class T>
void correlate_row(const DepthwiseAxis& columns, std::int64_t channels, const SourceRow<T>* rows, std::size_t row_count,
                   T* target) {
  const hn::ScalableTag<T> d;
  const std::size_t positions = columns.together.size();
  const std::int64_t step = columns.step * channels;
  for (std::size_t p = 0; p < positions;) {
    const DepthwiseAxis::Tap* const taps = columns.taps.data() + columns.first[p];
    const std::size_t tap_count = columns.count(p);
    T* const out = target + static_cast<std::int64_t>(p) * channels;
    if (columns.together[p] != 0) {
      along_channels(d, channels, [&](std::int64_t c, auto partial, auto mask) HWY_ATTR {
        auto a0 = hn::Zero(d);
        auto a1 = a0;
        auto a2 = a0;
        auto a3 = a0;
        for (std::size_t r = 0; r < row_count; ++r) {
          for (std::size_t t = 0; t < tap_count; ++t) {
            const auto f = load(partial, d, mask, rows[r].filter + taps[t].kernel * channels + c);
            const T* const x = rows[r].row + taps[t].source * channels + c;
            a0 = hn::MulAdd(load(partial, d, mask, x), f, a0);
            a1 = hn::MulAdd(load(partial, d, mask, x + step), f, a1);
            a2 = hn::MulAdd(load(partial, d, mask, x + 2 * step), f, a2);
            a3 = hn::MulAdd(load(partial, d, mask, x + 3 * step), f, a3);
          }
        }
        store(partial, d, mask, a0, out + c);
        store(partial, d, mask, a1, out + channels + c);
        store(partial, d, mask, a2, out + 2 * channels + c);
        store(partial, d, mask, a3, out + 3 * channels + c);
      });
      p += 4;
      continue;
    }
    along_channels(d, channels, [&](std::int64_t c, auto partial, auto mask) HWY_ATTR {
      auto sum = hn::Zero(d);
      for (std::size_t r = 0; r < row_count; ++r) {
        for (std::size_t t = 0; t < tap_count; ++t) {
          sum = hn::MulAdd(load(partial, d, mask, rows[r].row + taps[t].source * channels + c),
                           load(partial, d, mask, rows[r].filter + taps[t].kernel * channels + c), sum);
        }
      }
      store(partial, d, mask, sum, out + c);
    });
    ++p;
  }
}

// What forward pass and image gradient share. Channels count with the multiplier; the side that has fewer is
// repeated (a source) or added up (a target).
template <class T>
void correlate(const ConvShape& s, bool transposed, const T* source, const T* filter, T* target) {
  const std::int64_t multiplier = s.out_channels / s.in_channels;
  const std::int64_t channels = s.out_channels;
  const DepthwiseAxis rows = DepthwiseAxis::make(s, 1, transposed);
  const DepthwiseAxis columns = DepthwiseAxis::make(s, 2, transposed);
  const std::int64_t source_rows = transposed ? s.out[1] : s.in[1];
  const std::int64_t source_columns = transposed ? s.out[2] : s.in[2];
  const std::int64_t source_channels = transposed ? s.out_channels : s.in_channels;
  const std::int64_t target_rows = transposed ? s.in[1] : s.out[1];
  const std::int64_t target_columns = transposed ? s.in[2] : s.out[2];
  const std::int64_t target_channels = transposed ? s.in_channels : s.out_channels;
  const bool repeat = !transposed && multiplier != 1;
  const bool add_up = transposed && multiplier != 1;
  std::size_t most_rows = 0;
  for (std::size_t p = 0; p < rows.together.size(); ++p) most_rows = std::max(most_rows, rows.count(p));
  const std::int64_t source_row = source_columns * channels;  // with all channels repeated
  const std::int64_t scratch_elements =
      (repeat ? static_cast<std::int64_t>(most_rows) * source_row : 0) + (add_up ? target_columns * channels : 0);
  const std::int64_t all = s.batch * target_rows;
  const std::int64_t row_work = std::max<std::int64_t>(target_columns * channels * s.kernel[1] * s.kernel[2], 1);
  const std::int64_t per_task = std::max<std::int64_t>(kTaskWork / row_work, 1);
  parallel_for((all + per_task - 1) / per_task, [&](std::int64_t task) {
    const Scratch scratch(ScratchSlot::kTask, static_cast<std::size_t>(scratch_elements) * sizeof(T));
    std::vector<SourceRow<T>> reached(most_rows);
    for (std::int64_t row = task * per_task; row < std::min(all, (task + 1) * per_task); ++row) {
      const T* const image = source + row / target_rows * source_rows * source_columns * source_channels;
      const auto p = static_cast<std::size_t>(row % target_rows);
      for (std::size_t i = 0; i < rows.count(p); ++i) {
        const DepthwiseAxis::Tap& tap = rows.taps[rows.first[p] + i];
        reached[i] = {repeated(image + tap.source * source_columns * source_channels, source_columns * source_channels,
                               repeat ? multiplier : 1,
                               scratch.as<T>() + (repeat ? static_cast<std::int64_t>(i) * source_row : 0)),
                      filter + tap.kernel * s.kernel[2] * channels};
      }
      T* const out = target + row * target_columns * target_channels;
      T* const to = add_up ? scratch.as<T>() : out;
      correlate_row<T>(columns, channels, reached.data(), rows.count(p), to);
      if (!add_up) continue;
      for (std::int64_t i = 0; i < target_columns * target_channels; ++i) {
        T sum = to[i * multiplier];
        for (std::int64_t m = 1; m < multiplier; ++m) sum += to[i * multiplier + m];
        out[i] = sum;
      }
    }
  });
}

inline bool is_empty(const ConvShape& s) {
  return s.batch * s.in[1] * s.in[2] * s.in_channels == 0 || s.out[1] * s.out[2] * s.out_channels == 0;
}

template <class T>
void forward(const ConvShape& s, const T* input, const T* filter, T* output) {
  const std::int64_t elements = s.batch * s.out_pixels() * s.out_channels;
  if (is_empty(s)) {
    std::fill(output, output + elements, T(0));
  } else {
    correlate<T>(s, false, input, filter, output);
  }
}

template <class T>
void backward_input(const ConvShape& s, const T* output_gradient, const T* filter, T* input_gradient) {
  const std::int64_t elements = s.batch * s.in_pixels() * s.in_channels;
  if (is_empty(s)) {
    std::fill(input_gradient, input_gradient + elements, T(0));
  } else {
    correlate<T>(s, true, output_gradient, filter, input_gradient);
  }
}

// Adds to sums[tap of the filter row, c] what one row of the output gradient gives for one row of the image.
template <class T>
void add_row(const ConvShape& s, const T* source, const T* gradient, T* sums) {
  const hn::ScalableTag<T> d;
  const std::int64_t channels = s.out_channels;
  const std::int64_t step = s.stride[2] * channels;
  for (std::int64_t k = 0; k < s.kernel[2]; ++k) {
    // Outputs [begin, end) read inside the image at this tap.
    const std::int64_t offset = k * s.dilation[2] - s.pad[2];
    const std::int64_t begin = offset < 0 ? (-offset + s.stride[2] - 1) / s.stride[2] : 0;
    const std::int64_t end = offset >= s.in[2] ? 0 : std::min(s.out[2], (s.in[2] - 1 - offset) / s.stride[2] + 1);
    if (begin >= end) continue;
    const T* const first = source + (begin * s.stride[2] + offset) * channels;
    along_channels(d, channels, [&](std::int64_t c, auto partial, auto mask) HWY_ATTR {
      auto a0 = hn::Zero(d);
      auto a1 = a0;
      auto a2 = a0;
      auto a3 = a0;
      const T* x = first + c;
      const T* g = gradient + begin * channels + c;
      std::int64_t left = end - begin;
      for (; left >= 4; left -= 4, x += 4 * step, g += 4 * channels) {
        a0 = hn::MulAdd(load(partial, d, mask, x), load(partial, d, mask, g), a0);
        a1 = hn::MulAdd(load(partial, d, mask, x + step), load(partial, d, mask, g + channels), a1);
        a2 = hn::MulAdd(load(partial, d, mask, x + 2 * step), load(partial, d, mask, g + 2 * channels), a2);
        a3 = hn::MulAdd(load(partial, d, mask, x + 3 * step), load(partial, d, mask, g + 3 * channels), a3);
      }
      for (; left > 0; --left, x += step, g += channels) {
        a0 = hn::MulAdd(load(partial, d, mask, x), load(partial, d, mask, g), a0);
      }
      T* const to = sums + k * channels + c;
      store(partial, d, mask, hn::Add(load(partial, d, mask, to), hn::Add(hn::Add(a0, a1), hn::Add(a2, a3))), to);
    });
  }
}

template <class T>
void backward_filter(const ConvShape& s, const T* input, const T* output_gradient, T* filter_gradient) {
  const std::int64_t channels = s.out_channels;
  const std::int64_t elements = s.kernel[1] * s.kernel[2] * channels;
  std::fill(filter_gradient, filter_gradient + elements, T(0));
  if (is_empty(s)) return;
  const std::int64_t multiplier = s.out_channels / s.in_channels;
  const DepthwiseAxis rows = DepthwiseAxis::make(s, 1, false);
  const std::int64_t all = s.batch * s.out[1];
  const std::int64_t row_elements = s.in[2] * s.in_channels;
  const std::int64_t work = all * s.out[2] * elements;
  const std::int64_t parts = std::clamp<std::int64_t>(work / kTaskWork, 1, std::min(all, kFilterParts));
  // The first part adds to the result itself.
  const Scratch sums(ScratchSlot::kCall, static_cast<std::size_t>((parts - 1) * elements) * sizeof(T));
  std::fill_n(sums.as<T>(), (parts - 1) * elements, T(0));
  parallel_for(parts, [&](std::int64_t part) {
    T* const to = part == 0 ? filter_gradient : sums.as<T>() + (part - 1) * elements;
    const Scratch scratch(ScratchSlot::kTask,
                          multiplier == 1 ? 0 : static_cast<std::size_t>(row_elements * multiplier) * sizeof(T));
    for (std::int64_t row = all * part / parts; row < all * (part + 1) / parts; ++row) {
      const auto p = static_cast<std::size_t>(row % s.out[1]);
      for (std::size_t i = 0; i < rows.count(p); ++i) {
        const DepthwiseAxis::Tap& tap = rows.taps[rows.first[p] + i];
        const T* const source = input + (row / s.out[1] * s.in[1] + tap.source) * row_elements;
        add_row<T>(s, repeated(source, row_elements, multiplier, scratch.as<T>()),
                   output_gradient + row * s.out[2] * channels, to + tap.kernel * s.kernel[2] * channels);
      }
    }
  });
  for (std::int64_t part = 1; part < parts; ++part) {
    const T* const from = sums.as<T>() + (part - 1) * elements;
    for (std::int64_t i = 0; i < elements; ++i) filter_gradient[i] += from[i];
  }
}

template <class T>
constexpr DepthwiseKernels<T> kKernels = {&forward<T>, &backward_input<T>, &backward_filter<T>};

}  // namespace

CAPSTAN_TARGET_KERNELS(DepthwiseKernels, depthwise)

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

CAPSTAN_CHOOSE_KERNELS(DepthwiseKernels, depthwise)

}  // namespace capstan
#endif  // HWY_ONCE
