// Convolution: the gradient with respect to the filter.
//
// filter_gradient[kernel row, kernel column, in, out] is a sum over all output pixels of the
// image's pixel that the tap reads times the output's gradient: for each tap a product [in
// channels, pixels] x [pixels, out channels]. An inner tile holds some input channels times up to
// two vectors of output channels in registers, and walks over the pixels of a band of rows. More vectors
// would have it load the gradient, which does not fit the first-level cache, twice as often. The
// image is copied into a block: blocks of 16 channels, columns split into phases by the stride, so that
// from one output pixel to the next is a constant distance. Pixels for which a tap reads beside the image are left out.
//
// Images of up to four channels give a tile too few rows, so there the kernel's columns and rows
// join in: with the copy's pixels dense, (kernel column, channel) is one contiguous index, and
// three kernel rows are three pointers.
//
// Up to four output channels leave most lanes of a vector empty; there the image's channels are the
// lanes, and the output's gradient is broadcast: the same tile with its arguments exchanged.
//
// The batch is cut into groups, whose number depends on the shape only. A task is one group and one
// block of channels; it has its own partial gradient, and the partial gradients are added in the
// order of the groups. So results do not depend on the number of threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/conv/conv2d_filter.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>

#include "src/core/thread_pool.h"
#include "src/kernels/ahead.h"
#include "src/kernels/conv/conv2d.h"
#include "src/kernels/conv/conv2d_copy-inl.h"
#include "src/kernels/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kChannelBlock = 16;
constexpr std::int64_t kFewChannels = 4;
constexpr std::int64_t kNarrow = 4;

// The pixels a tile sums over: of some images `rows` rows of `columns` pixels, with the distances
// from one to the next in the copied image and in the output's gradient.
struct Pixels {
  std::int64_t images, rows, columns;
  std::ptrdiff_t image_image, image_row, image_column;
  std::ptrdiff_t gradient_image, gradient_row, gradient_column;
};

// sums[m, channel] += sum over pixels of image[pixel + m] * gradient[pixel, channel] for kRows *
// kColumns values of m: kColumns neighbours in each of kRows copied rows. Rows of sums are `stride`
// apart, kernel rows `kernel_row`. A kDistance of zero means that the distance between pixels is
// known at run time only.
template <class T, int kDistance, int kRows, int kColumns, int kVectors>
HWY_NOINLINE void tile(const Pixels& pixels, const T* HWY_RESTRICT image, std::ptrdiff_t kernel_row_image,
                       const T* HWY_RESTRICT gradient, T* HWY_RESTRICT out, std::ptrdiff_t stride,
                       std::ptrdiff_t kernel_row) {
  const hn::ScalableTag<T> d;
  constexpr int kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  using V = hn::Vec<decltype(d)>;
  V sums[kRows][kColumns][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kColumns; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sums[r][i][j] = hn::LoadU(d, out + r * kernel_row + i * stride + j * kLanes);
    }
  }
  const std::ptrdiff_t image_column = kDistance > 0 ? kDistance : pixels.image_column;
  const std::ptrdiff_t gradient_column = pixels.gradient_column;
  for (std::int64_t n = 0; n < pixels.images; ++n) {
    const T* one_image = image + n * pixels.image_image;
    const T* one_gradient = gradient + n * pixels.gradient_image;
    for (std::int64_t y = 0; y < pixels.rows; ++y) {
      const T* s = one_image + y * pixels.image_row;
      const T* g = one_gradient + y * pixels.gradient_row;
      for (std::int64_t x = 0; x < pixels.columns; ++x) {
        V w[kVectors];
#pragma GCC unroll 4
        for (int j = 0; j < kVectors; ++j) w[j] = hn::LoadU(d, g + j * kLanes);
        // Three kernel rows at once: the gradient is read but for a few of them, and comes from memory.
        if constexpr (kRows == 3) __builtin_prefetch(g + 64 * gradient_column, 0, 2);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
          for (int i = 0; i < kColumns; ++i) {
            const V a = hn::Set(d, s[r * kernel_row_image + i]);
#pragma GCC unroll 4
            for (int j = 0; j < kVectors; ++j) sums[r][i][j] = hn::MulAdd(a, w[j], sums[r][i][j]);
          }
        }
        s += image_column;
        g += gradient_column;
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kColumns; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) hn::StoreU(sums[r][i][j], d, out + r * kernel_row + i * stride + j * kLanes);
    }
  }
}

template <class T>
using Tile = void (*)(const Pixels& pixels, const T* image, std::ptrdiff_t kernel_row_image, const T* gradient, T* out,
                      std::ptrdiff_t stride, std::ptrdiff_t kernel_row);

#if HWY_TARGET == HWY_AVX3
constexpr int kMaxVectors = 4;
constexpr int kChannels2 = 8, kChannels1 = 16;
#else
constexpr int kMaxVectors = 2;
constexpr int kChannels2 = 4, kChannels1 = 8;
#endif

// How the work is cut and where everything lies.
struct Plan {
  std::int64_t block_channels;  // channels of a task: 16, or all if they are few
  std::int64_t blocks;
  std::int64_t groups;
  std::int64_t out_stride;  // out channels, padded to whole vectors
  std::int64_t partial_elements;
  bool few;
  // Few output channels: partial gradients are [kernel row, block, out, kernel column, 16 channels]
  // instead of [kernel row, kernel column, in, out].
  bool narrow;
  bool copy_gradient;  // the last vector of a pixel's gradient is incomplete

  std::int64_t in_padded() const { return blocks * block_channels; }
};

template <class T>
Plan plan_for(const Conv2DShape& s) {
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  Plan p;
  p.few = s.in_channels <= kFewChannels;
  p.block_channels = p.few ? s.in_channels : kChannelBlock;
  p.blocks = (s.in_channels + p.block_channels - 1) / p.block_channels;
  p.out_stride = (s.out_channels + kLanes - 1) / kLanes * kLanes;
  p.narrow = !p.few && s.out_channels <= kNarrow;
  if (p.narrow) p.out_stride = s.out_channels;
  p.copy_gradient = p.out_stride != s.out_channels;
  p.partial_elements = s.kernel_height * s.kernel_width * p.in_padded() * p.out_stride;
  // About 16 tasks, partial gradients of no more than a megabyte beyond the first, and enough work
  // for each of them.
  const std::int64_t bytes = std::max<std::int64_t>(p.partial_elements * sizeof(T), 1);
  const std::int64_t pixels = s.out_height * s.out_width;
  p.groups = std::min((16 + p.blocks - 1) / p.blocks, 1 + (1 << 20) / bytes);
  p.groups = std::clamp<std::int64_t>(std::min(p.groups, s.batch * pixels / 256), 1, s.batch);
  return p;
}

// Output rows [begin, end) of the task's block of channels, of one image or of a few that are
// small.
template <class T>
struct Band {
  const Conv2DShape& shape;
  const Plan& plan;
  std::int64_t images;
  std::int64_t image_elements;  // from one image's copy to the next
  std::int64_t positions;       // columns of a phase in the copied image
  std::int64_t begin, end;
  std::int64_t first;               // the image's row that the copy begins with
  T* image;                         // the copy
  const T* gradient;                // of row `begin`
  T* partial;                       // the task's partial gradient, at its first channel
  Ahead next_image, next_gradient;  // of the next band, in a share per tap
};

// The output rows, or columns, in [begin, end) for which what a tap reads lies inside the image: row `from` for output
// row 0.
inline void keep_inside(std::int64_t from, std::int64_t stride, std::int64_t size, std::int64_t* begin,
                        std::int64_t* end) {
  while (*begin < *end && *begin * stride + from < 0) ++*begin;
  while (*begin < *end && (*end - 1) * stride + from >= size) --*end;
}

// `block_tile` is for so many channels.
template <class T>
void block_tiles(Band<T>& band, std::int64_t n, Tile<T> block_tile, std::int64_t channels) {
  const Conv2DShape& s = band.shape;
  const std::int64_t row_elements = s.stride_width * band.positions * kChannelBlock;
  const std::int64_t gradient_row = s.out_width * band.plan.out_stride;
  const std::int64_t tap_elements = band.plan.in_padded() * band.plan.out_stride;
  for (std::int64_t kh = 0; kh < s.kernel_height; ++kh) {
    std::int64_t begin = band.begin, end = band.end;
    keep_inside(kh - s.pad_top, s.stride_height, s.in_height, &begin, &end);
    if (begin == end) continue;
    Pixels pixels;
    pixels.images = band.images, pixels.rows = end - begin, pixels.columns = s.out_width;
    pixels.image_image = band.image_elements;
    pixels.image_row = s.stride_height * row_elements;
    pixels.image_column = kChannelBlock;
    pixels.gradient_image = s.out_height * gradient_row;
    pixels.gradient_row = gradient_row;
    pixels.gradient_column = band.plan.out_stride;
    const T* image = band.image + (begin * s.stride_height - s.pad_top + kh - band.first) * row_elements;
    const T* gradient = band.gradient + (begin - band.begin) * gradient_row + n;
    for (std::int64_t kw = 0; kw < s.kernel_width; ++kw) {
      const T* pixel = image + (kw % s.stride_width * band.positions + kw / s.stride_width) * kChannelBlock;
      T* out = band.partial + (kh * s.kernel_width + kw) * tap_elements + n;
      std::int64_t column = 0, columns = s.out_width;
      keep_inside(kw - s.pad_left, s.stride_width, s.in_width, &column, &columns);
      pixels.columns = columns - column;
      pixel += column * kChannelBlock;
      band.next_image.fetch();
      band.next_gradient.fetch();
      for (std::int64_t i = 0; i < kChannelBlock; i += channels) {
        block_tile(pixels, pixel + i, 0, gradient + column * band.plan.out_stride, out + i * band.plan.out_stride,
                   band.plan.out_stride, 0);
      }
    }
  }
}

// Few channels: the copy has zero rows where the kernel leaves the image, so that some kernel rows share their pixels.
// Of tiles for one, two and three neighbours there are those of `rows` kernel rows and those of one.
template <class T>
void few_tiles(const Band<T>& band, std::int64_t n, std::int64_t rows, const Tile<T>* tiles_of_rows,
               const Tile<T>* tiles_of_one) {
  const Conv2DShape& s = band.shape;
  const std::int64_t row_elements = s.stride_width * band.positions * s.in_channels;
  const std::int64_t stride = band.plan.out_stride;
  const std::int64_t columns = s.kernel_width * s.in_channels;
  const std::int64_t kernel_row = columns * stride;
  Pixels pixels;
  pixels.images = band.images, pixels.rows = band.end - band.begin, pixels.columns = s.out_width;
  pixels.image_image = band.image_elements;
  pixels.image_row = s.stride_height * row_elements;
  pixels.image_column = s.stride_width * s.in_channels;
  pixels.gradient_image = s.out_height * s.out_width * stride;
  pixels.gradient_row = s.out_width * stride;
  pixels.gradient_column = stride;
  for (std::int64_t kh = 0; kh < s.kernel_height;) {
    const bool several = kh + rows <= s.kernel_height;
    const Tile<T>* const tiles = several ? tiles_of_rows : tiles_of_one;
    for (std::int64_t m = 0; m < columns; m += 3) {
      tiles[std::min<std::int64_t>(columns - m, 3) - 1](
          pixels, band.image + kh * row_elements + m, row_elements, band.gradient + n,
          band.partial + kh * kernel_row + m * stride + n, stride, kernel_row);
    }
    kh += several ? rows : 1;
  }
}

// Few output channels: lanes are the image's channels, and without a stride the kernel's columns too, which are
// neighbours in the copied image. There are tiles of one vector, of two and of the most.
template <class T>
void narrow_tiles(const Band<T>& band, const Tile<T>* tiles) {
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const Conv2DShape& s = band.shape;
  const std::int64_t channels = band.plan.out_stride;
  const std::int64_t row_elements = s.stride_width * band.positions * kChannelBlock;
  const std::int64_t kernel_row = band.plan.blocks * channels * s.kernel_width * kChannelBlock;
  const bool dense = s.stride_width == 1;
  const std::int64_t runs = dense ? 1 : s.kernel_width;
  const std::int64_t run = (dense ? s.kernel_width : 1) * kChannelBlock;
  for (std::int64_t kh = 0; kh < s.kernel_height; ++kh) {
    std::int64_t begin = band.begin, end = band.end;
    keep_inside(kh - s.pad_top, s.stride_height, s.in_height, &begin, &end);
    if (begin == end) continue;
    Pixels pixels;  // what the tile calls the image is the gradient
    pixels.images = band.images, pixels.rows = end - begin, pixels.columns = s.out_width;
    pixels.image_image = s.out_height * s.out_width * channels;
    pixels.image_row = s.out_width * channels;
    pixels.image_column = channels;
    pixels.gradient_image = band.image_elements;
    pixels.gradient_row = s.stride_height * row_elements;
    pixels.gradient_column = kChannelBlock;
    const T* gradient = band.gradient + (begin - band.begin) * s.out_width * channels;
    const T* row = band.image + (begin * s.stride_height - s.pad_top + kh - band.first) * row_elements;
    for (std::int64_t kw = 0; kw < runs; ++kw) {
      const T* image = row + (kw % s.stride_width * band.positions + kw / s.stride_width) * kChannelBlock;
      T* out = band.partial + kh * kernel_row + kw * kChannelBlock;
      for (std::int64_t n = 0; n < run;) {
        const std::int64_t left = (run - n) / kLanes;
        const std::int64_t vectors = left >= kMaxVectors ? kMaxVectors : left >= 2 ? 2 : 1;
        const Tile<T> narrow_tile = tiles[left >= kMaxVectors ? 2 : vectors - 1];
        narrow_tile(pixels, gradient, 0, image + n, out + n, s.kernel_width * kChannelBlock, 0);
        n += vectors * kLanes;
      }
    }
  }
}

template <class T, int kRows, int kVectors>
constexpr Tile<T> kFewTiles[] = {&tile<T, 0, kRows, 1, kVectors>, &tile<T, 0, kRows, 2, kVectors>,
                                 &tile<T, 0, kRows, 3, kVectors>};
template <class T, int kOut>
constexpr Tile<T> kNarrowTiles[] = {&tile<T, 0, 1, kOut, 1>, &tile<T, 0, 1, kOut, 2>,
                                    &tile<T, 0, 1, kOut, kMaxVectors>};

template <class T>
void band_tiles(Band<T>& band) {
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  constexpr int kRowsOfTwo = HWY_TARGET == HWY_AVX3 ? 3 : 1;
  if (band.plan.narrow) {
    static constexpr const Tile<T>* kTiles[] = {kNarrowTiles<T, 1>, kNarrowTiles<T, 2>, kNarrowTiles<T, 3>,
                                                kNarrowTiles<T, 4>};
    return narrow_tiles(band, kTiles[band.plan.out_stride - 1]);
  }
  for (std::int64_t n = 0; n < band.plan.out_stride;) {
    const bool two = band.plan.out_stride - n >= 2 * kLanes;
    if (band.plan.few) {
      few_tiles(band, n, two ? kRowsOfTwo : 3, two ? kFewTiles<T, kRowsOfTwo, 2> : kFewTiles<T, 3, 1>,
                two ? kFewTiles<T, 1, 2> : kFewTiles<T, 1, 1>);
    } else if (two) {
      block_tiles<T>(band, n, &tile<T, kChannelBlock, 1, kChannels2, 2>, kChannels2);
    } else {
      block_tiles<T>(band, n, &tile<T, kChannelBlock, 1, kChannels1, 1>, kChannels1);
    }
    n += two ? 2 * kLanes : kLanes;
  }
}

// What the band after output rows up to `end` of some images reads: `rows` more, or those of the next images.
template <class T>
HWY_NOINLINE void fetch_next(const Conv2DShape& s, std::int64_t image, std::int64_t images, std::int64_t end,
                             std::int64_t rows, const T* input, const T* output_gradient, Ahead* next_image,
                             Ahead* next_gradient) {
  std::int64_t out_first = image * s.out_height + end, in_first = image * s.in_height + end * s.stride_height;
  std::int64_t out_rows = std::min(rows, s.out_height - end), in_rows = out_rows * s.stride_height;
  if (end == s.out_height) {
    const std::int64_t next = image + images;
    out_first = next * s.out_height, in_first = next * s.in_height;
    out_rows = images * std::min(rows, s.out_height);
    in_rows = images * std::min(rows * s.stride_height, s.in_height);
  }
  const std::int64_t taps = s.kernel_height * s.kernel_width;
  const auto range = [&](const T* from, std::int64_t first, std::int64_t count, std::int64_t all, std::int64_t line) {
    first = std::min(first, all);
    return Ahead(from + first * line, std::min(count, all - first) * line, taps);
  };
  *next_image = range(input, in_first, in_rows, s.batch * s.in_height, s.in_width * s.in_channels);
  *next_gradient = range(output_gradient, out_first, out_rows, s.batch * s.out_height, s.out_width * s.out_channels);
}

// Adds the images [begin, end) of one block of channels to a partial gradient, which points at the
// block's first element.
template <class T>
void add_images(const Conv2DShape& s, const Plan& plan, std::int64_t block, std::int64_t begin_image,
                std::int64_t end_image, const T* input, const T* output_gradient, T* partial) {
  const std::int64_t channel = block * plan.block_channels;
  const std::int64_t width = std::min(plan.block_channels, s.in_channels - channel);
  const std::int64_t positions = s.out_width + (s.kernel_width - 1) / s.stride_width;
  const std::int64_t row_elements = s.stride_width * positions * plan.block_channels;
  // Few channels lie dense: nothing is split into phases.
  const RowLayout layout{s.in_width, s.in_channels, plan.few ? 1 : s.stride_width,
                         plan.few ? s.stride_width * positions : positions, s.pad_left};
  // Bands of a few hundred pixels: enough to pay for loading and storing the sums, few enough for
  // the first-level cache. Small images are taken several at a time.
  const std::int64_t band_pixels = plan.few ? 1024 : 256;  // few channels: one look per gradient
  const std::int64_t rows = std::clamp<std::int64_t>(band_pixels / s.out_width, 1, s.out_height);
  const std::int64_t together =
      std::clamp<std::int64_t>(144 / (s.out_height * s.out_width), 1, end_image - begin_image);
  const std::int64_t copied_rows = (rows - 1) * s.stride_height + s.kernel_height;
  const std::int64_t image_elements = copied_rows * row_elements;
  const std::int64_t gradient_row = s.out_width * plan.out_stride;
  const std::int64_t gradient_elements = plan.copy_gradient ? rows * gradient_row : 0;
  Scratch scratch(ScratchSlot::kTask, together * (image_elements + gradient_elements) * sizeof(T));
  T* image_copy = scratch.as<T>();
  T* gradient_copy = image_copy + together * image_elements;
  std::fill(image_copy, image_copy + together * image_elements, T(0));
  for (std::int64_t image = begin_image; image < end_image; image += together) {
    const std::int64_t images = std::min(together, end_image - image);
    for (std::int64_t begin = 0; begin < s.out_height; begin += rows) {
      const std::int64_t end = std::min(s.out_height, begin + rows);
      std::int64_t first = begin * s.stride_height - s.pad_top;
      std::int64_t last = (end - 1) * s.stride_height - s.pad_top + s.kernel_height;
      if (!plan.few) {  // kernel rows outside of the image are skipped
        first = std::clamp<std::int64_t>(first, 0, s.in_height);
        last = std::clamp<std::int64_t>(last, first, s.in_height);
      }
      for (std::int64_t n = 0; n < images; ++n) {
        const T* source = input + (image + n) * s.in_height * s.in_width * s.in_channels + channel;
        for (std::int64_t r = first; r < last; ++r) {
          T* to = image_copy + n * image_elements + (r - first) * row_elements;
          if (r < 0 || r >= s.in_height) {
            std::fill(to, to + row_elements, T(0));
          } else {
            copy_row(layout, source + r * s.in_width * s.in_channels, width, plan.block_channels, to);
          }
        }
      }
      const T* gradient = output_gradient + (image * s.out_height + begin) * s.out_width * s.out_channels;
      if (plan.copy_gradient) {  // with several images a band is all rows, so they are one run
        T* to = gradient_copy;
        for (std::int64_t p = 0; p < images * (end - begin) * s.out_width; ++p) {
          const T* from = gradient + p * s.out_channels;
          std::fill(std::copy(from, from + s.out_channels, to), to + plan.out_stride, T(0));
          to += plan.out_stride;
        }
        gradient = gradient_copy;
      }
      Band<T> band{s, plan, images, image_elements, positions, begin, end, first, image_copy, gradient, partial};
      // Later blocks of channels find in cache what the first one has read.
      if (block == 0)
        fetch_next(s, image, images, end, rows, input, output_gradient, &band.next_image, &band.next_gradient);
      band_tiles<T>(band);
    }
  }
}

template <class T>
void backward_filter(const Conv2DShape& s, const T* input, const T* output_gradient, T* filter_gradient) {
  const std::int64_t taps = s.kernel_height * s.kernel_width;
  const std::int64_t elements = taps * s.in_channels * s.out_channels;
  if (elements == 0) return;
  if (s.batch * s.out_height * s.out_width == 0 || s.in_height * s.in_width == 0) {
    std::fill(filter_gradient, filter_gradient + elements, T(0));
    return;
  }
  const Plan plan = plan_for<T>(s);
  // Where the padded layout is the filter's own, the first group works in place.
  const bool in_place = !plan.narrow && plan.partial_elements == elements;
  const std::int64_t extra = plan.groups - (in_place ? 1 : 0);
  Scratch scratch(ScratchSlot::kCall, extra * plan.partial_elements * sizeof(T));
  auto partial = [&](std::int64_t group) {
    if (in_place && group == 0) return filter_gradient;
    return scratch.as<T>() + (group - (in_place ? 1 : 0)) * plan.partial_elements;
  };
  parallel_for(plan.groups * plan.blocks, [&](std::int64_t task) {
    const std::int64_t group = task / plan.blocks, block = task % plan.blocks;
    // The block's part of the partial gradient: runs of `count`, one per tap or per kernel row.
    const std::int64_t runs = plan.narrow ? s.kernel_height : taps;
    const std::int64_t count = taps / runs * plan.block_channels * plan.out_stride;
    T* first = partial(group) + block * count;
    for (std::int64_t i = 0; i < runs; ++i) {
      std::fill(first + i * plan.blocks * count, first + (i * plan.blocks + 1) * count, T(0));
    }
    add_images(s, plan, block, s.batch * group / plan.groups, s.batch * (group + 1) / plan.groups, input,
               output_gradient, first);
  });
  if (in_place && plan.groups == 1) return;
  auto join_narrow_tap = [&](std::int64_t tap) {
    const std::int64_t kh = tap / s.kernel_width, kw = tap % s.kernel_width;
    T* to = filter_gradient + tap * s.in_channels * s.out_channels;
    for (std::int64_t i = 0; i < s.in_channels; ++i) {
      for (std::int64_t o = 0; o < s.out_channels; ++o) {
        const std::int64_t offset =
            (((kh * plan.blocks + i / kChannelBlock) * s.out_channels + o) * s.kernel_width + kw) * kChannelBlock +
            i % kChannelBlock;
        T sum = partial(0)[offset];
        for (std::int64_t group = 1; group < plan.groups; ++group) sum += partial(group)[offset];
        *to++ = sum;
      }
    }
  };
  auto join_tap = [&](std::int64_t tap) {
    if (plan.narrow) return join_narrow_tap(tap);
    for (std::int64_t i = 0; i < s.in_channels; ++i) {
      T* to = filter_gradient + (tap * s.in_channels + i) * s.out_channels;
      const std::int64_t offset = (tap * plan.in_padded() + i) * plan.out_stride;
      if (!in_place) std::copy(partial(0) + offset, partial(0) + offset + s.out_channels, to);
      for (std::int64_t group = 1; group < plan.groups; ++group) {
        const T* from = partial(group) + offset;
        for (std::int64_t o = 0; o < s.out_channels; ++o) to[o] += from[o];
      }
    }
  };
  if (elements * plan.groups < 32768) {
    for (std::int64_t tap = 0; tap < taps; ++tap) join_tap(tap);
  } else {
    parallel_for(taps, join_tap);
  }
}

}  // namespace

void conv2d_filter_float(const Conv2DShape& shape, const float* input, const float* output_gradient,
                         float* filter_gradient) {
  backward_filter(shape, input, output_gradient, filter_gradient);
}
void conv2d_filter_double(const Conv2DShape& shape, const double* input, const double* output_gradient,
                          double* filter_gradient) {
  backward_filter(shape, input, output_gradient, filter_gradient);
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

Conv2DFilterKernel<float> conv2d_filter_kernel_float(int instruction_set) {
  static constexpr Conv2DFilterKernel<float> kTable[] = CAPSTAN_TARGET_TABLE(conv2d_filter_float);
  return kTable[instruction_set];
}

Conv2DFilterKernel<double> conv2d_filter_kernel_double(int instruction_set) {
  static constexpr Conv2DFilterKernel<double> kTable[] = CAPSTAN_TARGET_TABLE(conv2d_filter_double);
  return kTable[instruction_set];
}

}  // namespace capstan
#endif  // HWY_ONCE
