// The filter gradient of a filter of one pixel: image' * output_gradient, a product whose sums run over all pixels.
//
// Such a product is small and deep, so that tasks cannot divide its result: the pixels are cut into groups, each with
// a partial gradient, which are added in their order. How many depends on the shape only. A group goes by blocks of
// pixels that stay in the second-level cache, so nothing is packed and every image and gradient is read once.
#include <algorithm>

#include "src/core/thread_pool.h"
#include "src/kernels/conv/conv2d.h"
#include "src/kernels/scratch.h"

namespace capstan {

template <class T>
void pointwise_backward_filter(const Conv2DShape& s, const T* input, const T* output_gradient, T* filter_gradient) {
  constexpr std::int64_t kBlockElements = 65536;  // of the image
  const std::int64_t in = s.in_channels, out = s.out_channels, elements = in * out, count = pixels(s);
  const std::int64_t block = std::clamp<std::int64_t>(kBlockElements / std::max<std::int64_t>(in, 1), 64, 512);
  // Partial gradients of no more than a megabyte beyond the first, and a block for each of them.
  const auto bytes = std::max<std::int64_t>(elements * static_cast<std::int64_t>(sizeof(T)), 1);
  const std::int64_t groups = std::clamp<std::int64_t>(std::min(1 + (1 << 20) / bytes, count / block), 1, 16);
  const Scratch scratch(ScratchSlot::kCall, static_cast<std::size_t>((groups - 1) * elements) * sizeof(T));
  parallel_for(groups, [&](std::int64_t group) {
    T* const to = group == 0 ? filter_gradient : scratch.as<T>() + (group - 1) * elements;
    const std::int64_t first = count * group / groups, last = count * (group + 1) / groups;
    // Without pixels the product is empty, and clears.
    for (std::int64_t pixel = first; pixel == first || pixel < last; pixel += block) {
      gemm_serial({.m = in,
                   .n = out,
                   .k = std::min(block, last - pixel),
                   .lda = in,
                   .ldb = out,
                   .ldc = out,
                   .transpose_a = true,
                   .accumulate = pixel > first,
                   .following = std::clamp<std::int64_t>(last - pixel - block, 0, block)},
                  input + pixel * in, output_gradient + pixel * out, to);
    }
  });
  for (std::int64_t group = 1; group < groups; ++group) {
    const T* const from = scratch.as<T>() + (group - 1) * elements;
    for (std::int64_t i = 0; i < elements; ++i) filter_gradient[i] += from[i];
  }
}

template void pointwise_backward_filter<float>(const Conv2DShape&, const float*, const float*, float*);
template void pointwise_backward_filter<double>(const Conv2DShape&, const double*, const double*, double*);

}  // namespace capstan
