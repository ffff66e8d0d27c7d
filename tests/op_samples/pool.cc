// Samples and references of the ops in src/ops/pool/pool.cc.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/ops/pool/pool_op.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/pool_reference.h"

namespace capstan::testing {

namespace {

// Distinct values far apart, so that small steps do not change which one is the largest.
SampleInput spread_image(Shape shape) {
  SampleInput image{.shape = shape};
  const std::int64_t count = shape.size();
  for (std::int64_t i = 0; i < count; ++i) {
    image.values.push_back(0.25 * static_cast<double>(i * 7 % (count % 7 == 0 ? count + 1 : count)) - 2);
  }
  return image;
}
AttributeMap window_attributes(AttributeValue ksize, AttributeValue strides, const char* padding) {
  return {{"ksize", std::move(ksize)}, {"strides", std::move(strides)}, {"padding", padding}};
}
const std::vector<AttributeValue> kTwoThree = {2, 3};

std::vector<OpSample> pool_samples() {
  return {
      {.inputs = {spread_image({1, 4, 4, 2})}, .attributes = window_attributes(2, 2, "VALID")},
      {.inputs = {spread_image({2, 5, 4, 1})}, .attributes = window_attributes(3, 2, "SAME")},
      {.inputs = {spread_image({1, 4, 5, 1})}, .attributes = window_attributes(kTwoThree, 1, "SAME")},
      {.inputs = {{.shape = {0, 4, 4, 1}}}, .attributes = window_attributes(2, 2, "VALID")},
      {.inputs = {{.shape = {4, 4}}}, .attributes = window_attributes(2, 2, "VALID"), .error = "images need rank 4"},
      {.inputs = {{.shape = {1, 4, 4, 1}}},
       .attributes = window_attributes(0, 2, "VALID"),
       .error = "windows must be 1 or more, not 0 by 0"},
      {.inputs = {{.shape = {1, 4, 4, 1}}},
       .attributes = window_attributes(2, 0, "VALID"),
       .error = "strides must be 1 or more, not 0 and 0"},
      {.inputs = {{.shape = {1, 4, 4, 1}}},
       .attributes = window_attributes(2, 2, "CAUSAL"),
       .error = "\"CAUSAL\" is neither \"SAME\" nor \"VALID\""},
  };
}
std::vector<OpSample> scatter_samples() {
  return {
      {.inputs = {spread_image({1, 4, 4, 2}), {.shape = {1, 2, 2, 2}}}, .attributes = window_attributes(2, 2, "VALID")},
      {.inputs = {spread_image({2, 5, 4, 1}), {.shape = {2, 3, 2, 1}}}, .attributes = window_attributes(3, 2, "SAME")},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {1, 3, 3, 1}}},
       .attributes = window_attributes(2, 2, "VALID"),
       .error = "the gradient has shape [1, 3, 3, 1] where [1, 2, 2, 1] is expected"},
  };
}
std::vector<OpSample> gather_samples() {
  return {
      {.inputs = {spread_image({1, 4, 4, 2}), {.shape = {1, 4, 4, 2}}}, .attributes = window_attributes(2, 2, "VALID")},
      {.inputs = {spread_image({2, 5, 4, 1}), {.shape = {2, 5, 4, 1}}}, .attributes = window_attributes(3, 2, "SAME")},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {1, 3, 3, 1}}},
       .attributes = window_attributes(2, 2, "VALID"),
       .error = "shapes differ, [1, 4, 4, 1] and [1, 3, 3, 1]"},
  };
}

// Calls visit(index of the result, indices of x in its window) for every window.
template <class Visit>
Shape for_each_window(const Shape& x, const AttributeMap& attributes, const Visit& visit) {
  PoolAttributes a;
  set_field(a.ksize, attributes.at("ksize"), "", "");
  set_field(a.strides, attributes.at("strides"), "", "");
  set_field(a.padding, attributes.at("padding"), "", "");
  const Pool2DShape s = pool_shape("reference", x, a);
  std::size_t out = 0;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t i = 0; i < s.out_height; ++i)
      for (std::int64_t j = 0; j < s.out_width; ++j)
        for (std::int64_t c = 0; c < s.channels; ++c) {
          std::vector<std::size_t> window;
          for (std::int64_t di = 0; di < s.window_height; ++di)
            for (std::int64_t dj = 0; dj < s.window_width; ++dj) {
              const std::int64_t row = i * s.stride_height + di - s.pad_top;
              const std::int64_t column = j * s.stride_width + dj - s.pad_left;
              if (row < 0 || row >= s.in_height || column < 0 || column >= s.in_width) continue;
              window.push_back(
                  static_cast<std::size_t>(((n * s.in_height + row) * s.in_width + column) * s.channels + c));
            }
          visit(out++, window);
        }
  return result_of(s);
}
std::size_t largest_of(const std::vector<double>& x, const std::vector<std::size_t>& window) {
  std::size_t best = window.front();
  for (std::size_t i : window) {
    if (x[i] > x[best]) best = i;
  }
  return best;
}
double mean_of(const std::vector<double>& x, const std::vector<std::size_t>& window) {
  double sum = 0;
  for (std::size_t i : window) sum += x[i];
  return sum / static_cast<double>(window.size());
}

template <bool kMaximum>
void pool_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  const std::vector<double>& x = inputs[0].values;
  ReferenceTensor out{.dtype = inputs[0].dtype};
  out.shape = for_each_window(inputs[0].shape, attributes, [&](std::size_t, const std::vector<std::size_t>& window) {
    out.values.push_back(kMaximum ? x[largest_of(x, window)] : mean_of(x, window));
  });
  outputs = {out};
}
template <bool kMaximum>
void scatter_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                       std::vector<ReferenceTensor>& outputs) {
  ReferenceTensor out = inputs[0];
  std::fill(out.values.begin(), out.values.end(), 0.0);
  for_each_window(inputs[0].shape, attributes, [&](std::size_t y, const std::vector<std::size_t>& window) {
    const double g = inputs[1].values[y];
    if (kMaximum) {
      out.values[largest_of(inputs[0].values, window)] += g;
    } else {
      for (std::size_t i : window) out.values[i] += g / static_cast<double>(window.size());
    }
  });
  outputs = {out};
}
void gather_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
  ReferenceTensor out{.dtype = inputs[0].dtype};
  out.shape = for_each_window(inputs[0].shape, attributes, [&](std::size_t, const std::vector<std::size_t>& window) {
    out.values.push_back(inputs[1].values[largest_of(inputs[0].values, window)]);
  });
  outputs = {out};
}

const OpTests kPoolTests = {
    {"max_pool2d", {.samples = pool_samples, .reference = pool_reference<true>}},
    {"max_pool2d_scatter", {.samples = scatter_samples, .reference = scatter_reference<true>}},
    {"max_pool2d_gather", {.samples = gather_samples, .reference = gather_reference}},
    {"avg_pool2d", {.samples = pool_samples, .reference = pool_reference<false>}},
    {"avg_pool2d_scatter", {.samples = scatter_samples, .reference = scatter_reference<false>}},
};

}  // namespace

}  // namespace capstan::testing
