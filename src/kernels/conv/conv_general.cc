// Convolution as matrix products of gathered patches: dilations, groups and three axes.
//
// The pixels that a tap sees are copied side by side for a tile of outputs that stays in the second
// cache, and the library's matrix product does the rest. The forward pass gathers all taps of a tile at
// once, [pixels, taps * channels], so that the product is deep even for few channels. The gradients go tap
// by tap: that for the image multiplies first and adds the products where the tap reads; that for the filter
// adds up over tiles. Every result element is one sum in one order, and tasks share none of them.
#include <algorithm>

#include "src/core/thread_pool.h"
#include "src/kernels/conv/conv.h"
#include "src/kernels/linalg/gemm.h"
#include "src/kernels/scratch.h"

namespace capstan {

namespace {

// Elements of a tile of gathered patches; 256 KiB of float32.
constexpr std::int64_t kTileElements = 65536;
constexpr std::int64_t kLeastPixels = 8;
constexpr std::int64_t kMostPixels = 512;
// With fewer images and groups than this, tasks also divide the channels.
constexpr std::int64_t kEnoughTasks = 16;
constexpr std::int64_t kChannelsOfTask = 32;

std::int64_t tile_pixels(std::int64_t row_elements) {
  return std::clamp(kTileElements / std::max<std::int64_t>(row_elements, 1), kLeastPixels, kMostPixels);
}

// Where the taps of an output pixel lie.
class Walk {
 public:
  Walk(const ConvShape& shape, std::int64_t pixel) : s_(shape) {
    at_[2] = pixel % s_.out[2];
    at_[1] = pixel / s_.out[2] % s_.out[1];
    at_[0] = pixel / s_.out[2] / s_.out[1];
  }
  void next() {
    if (++at_[2] < s_.out[2]) return;
    at_[2] = 0;
    if (++at_[1] < s_.out[1]) return;
    at_[1] = 0;
    ++at_[0];
  }
  // The input pixel that a tap reads, or -1 for one outside the image.
  std::int64_t source(const std::int64_t (&tap)[3]) const {
    std::int64_t pixel = 0;
    for (int i = 0; i < 3; ++i) {
      const std::int64_t position = at_[i] * s_.stride[i] + tap[i] * s_.dilation[i] - s_.pad[i];
      if (position < 0 || position >= s_.in[i]) return -1;
      pixel = pixel * s_.in[i] + position;
    }
    return pixel;
  }

 private:
  const ConvShape& s_;
  std::int64_t at_[3];
};

struct Tap {
  std::int64_t position[3];
};
Tap tap_of(const ConvShape& s, std::int64_t number) {
  return {{number / s.kernel[2] / s.kernel[1], number / s.kernel[2] % s.kernel[1], number % s.kernel[2]}};
}

bool is_empty(const ConvShape& s) {
  return s.batch * s.out_pixels() == 0 || s.in_pixels() * s.taps() == 0 || s.in_channels == 0 || s.out_channels == 0;
}

}  // namespace

template <class T>
void conv_general_forward(const ConvShape& s, const T* input, const T* filter, T* output) {
  const std::int64_t pixels = s.out_pixels();
  if (is_empty(s)) {
    std::fill(output, output + s.batch * pixels * s.out_channels, T(0));
    return;
  }
  const std::int64_t in_group = s.in_channels / s.groups;
  const std::int64_t out_group = s.out_channels / s.groups;
  const std::int64_t row = s.taps() * in_group;
  const std::int64_t tile = std::min(tile_pixels(row), pixels);
  const std::int64_t tiles = (pixels + tile - 1) / tile;
  parallel_for(s.batch * tiles, [&](std::int64_t task) {
    const std::int64_t image = task / tiles;
    const std::int64_t begin = task % tiles * tile;
    const std::int64_t end = std::min(pixels, begin + tile);
    const Scratch scratch(ScratchSlot::kTask, static_cast<std::size_t>(tile * row) * sizeof(T));
    const T* const source = input + image * s.in_pixels() * s.in_channels;
    for (std::int64_t group = 0; group < s.groups; ++group) {
      T* to = scratch.as<T>();
      Walk walk(s, begin);
      for (std::int64_t pixel = begin; pixel < end; ++pixel, walk.next()) {
        std::int64_t tap[3];
        for (tap[0] = 0; tap[0] < s.kernel[0]; ++tap[0])
          for (tap[1] = 0; tap[1] < s.kernel[1]; ++tap[1])
            for (tap[2] = 0; tap[2] < s.kernel[2]; ++tap[2], to += in_group) {
              const std::int64_t from = walk.source(tap);
              if (from < 0) {
                std::fill(to, to + in_group, T(0));
              } else {
                std::copy_n(source + from * s.in_channels + group * in_group, in_group, to);
              }
            }
      }
      gemm_serial(
          {.m = end - begin, .n = out_group, .k = row, .lda = row, .ldb = s.out_channels, .ldc = s.out_channels},
          scratch.as<T>(), filter + group * out_group,
          output + (image * pixels + begin) * s.out_channels + group * out_group);
    }
  });
}

template <class T>
void conv_general_backward_input(const ConvShape& s, const T* output_gradient, const T* filter, T* input_gradient) {
  const std::int64_t image_elements = s.in_pixels() * s.in_channels;
  std::fill(input_gradient, input_gradient + s.batch * image_elements, T(0));
  if (is_empty(s)) return;
  const std::int64_t pixels = s.out_pixels();
  const std::int64_t in_group = s.in_channels / s.groups;
  const std::int64_t out_group = s.out_channels / s.groups;
  const std::int64_t width =
      s.batch * s.groups < kEnoughTasks ? std::min(in_group, kChannelsOfTask) : in_group;  // channels of a task
  const std::int64_t parts = (in_group + width - 1) / width;
  const std::int64_t tile = std::min(tile_pixels(width + out_group), pixels);
  parallel_for(s.batch * s.groups * parts, [&](std::int64_t task) {
    const std::int64_t image = task / parts / s.groups;
    const std::int64_t group = task / parts % s.groups;
    const std::int64_t channel = task % parts * width;
    const std::int64_t channels = std::min(width, in_group - channel);
    const Scratch scratch(ScratchSlot::kTask, static_cast<std::size_t>(tile * width) * sizeof(T));
    T* const target = input_gradient + image * image_elements + group * in_group + channel;
    for (std::int64_t begin = 0; begin < pixels; begin += tile) {
      const std::int64_t end = std::min(pixels, begin + tile);
      for (std::int64_t number = 0; number < s.taps(); ++number) {
        gemm_serial({.m = end - begin,
                     .n = channels,
                     .k = out_group,
                     .lda = s.out_channels,
                     .ldb = s.out_channels,
                     .ldc = channels,
                     .transpose_b = true},
                    output_gradient + (image * pixels + begin) * s.out_channels + group * out_group,
                    filter + (number * in_group + channel) * s.out_channels + group * out_group, scratch.as<T>());
        const Tap tap = tap_of(s, number);
        const T* from = scratch.as<T>();
        Walk walk(s, begin);
        for (std::int64_t pixel = begin; pixel < end; ++pixel, walk.next(), from += channels) {
          const std::int64_t to = walk.source(tap.position);
          if (to < 0) continue;
          T* const sums = target + to * s.in_channels;
          for (std::int64_t c = 0; c < channels; ++c) sums[c] += from[c];
        }
      }
    }
  });
}

template <class T>
void conv_general_backward_filter(const ConvShape& s, const T* input, const T* output_gradient, T* filter_gradient) {
  const std::int64_t in_group = s.groups == 0 ? 0 : s.in_channels / s.groups;
  if (is_empty(s)) {
    std::fill(filter_gradient, filter_gradient + s.taps() * in_group * s.out_channels, T(0));
    return;
  }
  const std::int64_t pixels = s.out_pixels();
  const std::int64_t out_group = s.out_channels / s.groups;
  const std::int64_t tile = std::min(tile_pixels(in_group + out_group), pixels);
  parallel_for(s.groups * s.taps(), [&](std::int64_t task) {
    const std::int64_t group = task / s.taps();
    const Tap tap = tap_of(s, task % s.taps());
    const Scratch scratch(ScratchSlot::kTask, static_cast<std::size_t>(tile * in_group) * sizeof(T));
    T* const target = filter_gradient + task % s.taps() * in_group * s.out_channels + group * out_group;
    for (std::int64_t image = 0; image < s.batch; ++image) {
      const T* const source = input + image * s.in_pixels() * s.in_channels + group * in_group;
      for (std::int64_t begin = 0; begin < pixels; begin += tile) {
        const std::int64_t end = std::min(pixels, begin + tile);
        T* to = scratch.as<T>();
        Walk walk(s, begin);
        for (std::int64_t pixel = begin; pixel < end; ++pixel, walk.next(), to += in_group) {
          const std::int64_t from = walk.source(tap.position);
          if (from < 0) {
            std::fill(to, to + in_group, T(0));
          } else {
            std::copy_n(source + from * s.in_channels, in_group, to);
          }
        }
        gemm_serial({.m = in_group,
                     .n = out_group,
                     .k = end - begin,
                     .lda = in_group,
                     .ldb = s.out_channels,
                     .ldc = s.out_channels,
                     .transpose_a = true,
                     .accumulate = image > 0 || begin > 0},
                    scratch.as<T>(), output_gradient + (image * pixels + begin) * s.out_channels + group * out_group,
                    target);
      }
    }
  });
}

template void conv_general_forward<float>(const ConvShape&, const float*, const float*, float*);
template void conv_general_forward<double>(const ConvShape&, const double*, const double*, double*);
template void conv_general_backward_input<float>(const ConvShape&, const float*, const float*, float*);
template void conv_general_backward_input<double>(const ConvShape&, const double*, const double*, double*);
template void conv_general_backward_filter<float>(const ConvShape&, const float*, const float*, float*);
template void conv_general_backward_filter<double>(const ConvShape&, const double*, const double*, double*);

}  // namespace capstan
