// Samples and references of the ops in src/ops/pool/pool_nd.cc.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/pool_reference.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::ints;

std::vector<OpSample> signal_samples() {
  return {
      {.inputs = {spread({1, 6, 1})}, .attributes = {{"ksize", 2}, {"strides", 2}, {"padding", "VALID"}}},
      {.inputs = {spread({2, 5, 2})}, .attributes = {{"ksize", 3}, {"strides", 1}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 4}}},
       .attributes = {{"ksize", 2}, {"strides", 2}, {"padding", "VALID"}},
       .error = "signals need rank 3"},
      {.inputs = {{.shape = {1, 4, 1}}},
       .attributes = {{"ksize", ints({2, 2, 2, 2})}, {"strides", 2}, {"padding", "VALID"}},
       .error = "must be one number"},
      {.inputs = {{.shape = {1, 4, 1}}},
       .attributes = {{"ksize", 2}, {"strides", -1}, {"padding", "VALID"}},
       .error = "strides must be 1 or more"},
  };
}
std::vector<OpSample> volume_samples() {
  return {
      {.inputs = {spread({1, 2, 4, 2, 1})}, .attributes = {{"ksize", 2}, {"strides", 2}, {"padding", "VALID"}}},
      {.inputs = {spread({2, 3, 2, 4, 1})},
       .attributes = {{"ksize", ints({2, 1, 2})}, {"strides", ints({1, 1, 2})}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 0, 2, 2, 1}}}, .attributes = {{"ksize", 2}, {"strides", 2}, {"padding", "VALID"}}},
      {.inputs = {{.shape = {1, 4, 4, 1}}},
       .attributes = {{"ksize", 2}, {"strides", 2}, {"padding", "VALID"}},
       .error = "volumes need rank 5"},
      {.inputs = {{.shape = {1, 2, 4, 4, 1}}},
       .attributes = {{"ksize", ints({2, 0, 2})}, {"strides", 2}, {"padding", "VALID"}},
       .error = "windows must be 1 or more"},
  };
}
std::vector<OpSample> general_samples() {
  return {
      {.inputs = {spread({1, 5, 6, 1})},
       .attributes = {{"window_shape", ints({2, 2})}, {"pooling_type", "MAX"}, {"dilations", ints({2, 3})}}},
      {.inputs = {spread({2, 5, 2})},
       .attributes = {{"window_shape", ints({3})}, {"pooling_type", "AVG"}, {"strides", ints({2})}}},
      {.inputs = {spread({1, 3, 4, 3, 1})},
       .attributes = {{"window_shape", ints({2, 1, 2})}, {"pooling_type", "AVG"}, {"dilations", ints({1, 2, 2})}}},
      {.inputs = {spread({1, 4, 5, 1})},
       .attributes = {{"window_shape", ints({2, 2})}, {"pooling_type", "AVG"}, {"padding", "SAME"}}},
      // The window exceeds the image.
      {.inputs = {spread({1, 4, 5, 1})},
       .attributes = {{"window_shape", ints({3, 2})}, {"pooling_type", "MAX"}, {"dilations", ints({2, 1})}}},
      {.inputs = {{.shape = {1, 4, 4, 1}}},
       .attributes = {{"window_shape", ints({2, 2})}, {"pooling_type", "MEDIAN"}},
       .error = "the pooling type must be \"MAX\" or \"AVG\""},
      {.inputs = {{.shape = {1, 4, 4, 1}}},
       .attributes = {{"window_shape", ints({2, 2})},
                      {"pooling_type", "MAX"},
                      {"strides", ints({2, 2})},
                      {"dilations", ints({2, 2})}},
       .error = "strides above 1 and dilations above 1 exclude each other"},
      {.inputs = {{.shape = {1, 4, 4, 1}}},
       .attributes = {{"window_shape", ints({2})}, {"pooling_type", "MAX"}},
       .error = "a window of 1 axes needs images of rank 3, not 4"},
      {.inputs = {{.shape = {1, 4, 4, 1}}},
       .attributes = {{"window_shape", ints({2, 2})}, {"pooling_type", "MAX"}, {"dilations", ints({0, 1})}},
       .error = "dilations must be 1 or more"},
  };
}

// Windows along one axis: [output] -> the elements that it covers.
std::vector<std::vector<std::int64_t>> windows_of(std::int64_t length, std::int64_t window, std::int64_t stride,
                                                  std::int64_t dilation, bool same) {
  const std::int64_t reach = (window - 1) * dilation + 1;
  const std::int64_t count =
      same ? (length + stride - 1) / stride : std::max<std::int64_t>(0, length - reach + stride) / stride;
  const std::int64_t before = same ? std::max<std::int64_t>(0, (count - 1) * stride + reach - length) / 2 : 0;
  std::vector<std::vector<std::int64_t>> windows;
  for (std::int64_t o = 0; o < count; ++o) {
    windows.emplace_back();
    for (std::int64_t k = 0; k < window; ++k) {
      const std::int64_t at = o * stride + k * dilation - before;
      if (at >= 0 && at < length) windows.back().push_back(at);
    }
  }
  return windows;
}

void pool_reference(const std::vector<ReferenceTensor>& inputs, bool max, const std::vector<std::int64_t>& window,
                    const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& dilations, bool same,
                    std::vector<ReferenceTensor>& outputs) {
  const Shape x = inputs[0].shape;
  const int axes = x.rank() - 2;
  const auto number = [](const std::vector<std::int64_t>& list, int i) {
    return list.empty() ? 1 : list[list.size() == 1 ? 0 : static_cast<std::size_t>(i)];
  };
  std::vector<std::vector<std::vector<std::int64_t>>> windows;
  Shape shape{x[0]};
  for (int i = 0; i < axes; ++i) {
    windows.push_back(windows_of(x[i + 1], number(window, i), number(strides, i), number(dilations, i), same));
    shape.push_back(static_cast<std::int64_t>(windows.back().size()));
  }
  shape.push_back(x[-1]);
  outputs = {reference::build(inputs[0].dtype, shape, [&](const reference::Position& at) {
    Shape inside;
    for (int i = 0; i < axes; ++i) {
      const auto u = static_cast<std::size_t>(i);
      inside.push_back(static_cast<std::int64_t>(windows[u][static_cast<std::size_t>(at[u + 1])].size()));
    }
    double largest = -1e300;
    double sum = 0;
    reference::for_each(inside, [&](const reference::Position& k) {
      reference::Position from = at;
      for (std::size_t i = 0; i < k.size(); ++i) {
        from[i + 1] = windows[i][static_cast<std::size_t>(at[i + 1])][static_cast<std::size_t>(k[i])];
      }
      const double v = reference::at(inputs[0], from);
      largest = std::max(largest, v);
      sum += v;
    });
    return max ? largest : sum / static_cast<double>(inside.size());
  })};
}
template <bool kMax>
void pool_nd_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                       std::vector<ReferenceTensor>& outputs) {
  pool_reference(inputs, kMax, reference::integers(attributes, "ksize"), reference::integers(attributes, "strides"), {},
                 attributes.at("padding").text == "SAME", outputs);
}
void general_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                       std::vector<ReferenceTensor>& outputs) {
  pool_reference(inputs, attributes.at("pooling_type").text == "MAX", reference::integers(attributes, "window_shape"),
                 reference::integers(attributes, "strides"), reference::integers(attributes, "dilations"),
                 attributes.contains("padding") && attributes.at("padding").text == "SAME", outputs);
}
std::vector<OpSample> argmax_samples() {
  return {
      {.inputs = {spread({2, 4, 4, 2})}, .attributes = {{"ksize", 2}, {"strides", 2}, {"padding", "VALID"}}},
      {.inputs = {spread({2, 3, 5, 1})},
       .attributes = {{"ksize", 2}, {"strides", 2}, {"padding", "SAME"}, {"include_batch_in_index", true}}},
      {.inputs = {{.shape = {3, 3}}},
       .attributes = {{"ksize", 2}, {"strides", 2}, {"padding", "SAME"}},
       .error = "images need rank 4"},
      {.inputs = {{.shape = {1, 3, 3, 1}}},
       .attributes = {{"ksize", 2}, {"strides", 0}, {"padding", "SAME"}},
       .error = "strides must be 1 or more"},
  };
}
void places_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
  pool_nd_reference<true>(inputs, attributes, outputs);
  // Samples have distinct elements within an image.
  const std::size_t image = inputs[0].values.size() / static_cast<std::size_t>(inputs[0].shape[0]);
  const std::size_t out_image = outputs[0].values.size() / static_cast<std::size_t>(inputs[0].shape[0]);
  outputs[0].dtype = DType::kInt64;
  for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
    const std::size_t first = i / out_image * image;
    std::size_t place = 0;
    while (inputs[0].values[first + place] != outputs[0].values[i]) ++place;
    outputs[0].values[i] = static_cast<double>(place + (attributes.contains("include_batch_in_index") ? first : 0));
  }
}
void argmax_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
  std::vector<ReferenceTensor> places;
  places_reference(inputs, attributes, places);
  pool_nd_reference<true>(inputs, attributes, outputs);
  outputs.push_back(places[0]);
}

const OpTests kPoolNdTests = {
    {"max_pool1d", {.samples = signal_samples, .reference = pool_nd_reference<true>}},
    {"avg_pool1d", {.samples = signal_samples, .reference = pool_nd_reference<false>}},
    {"max_pool3d", {.samples = volume_samples, .reference = pool_nd_reference<true>}},
    {"avg_pool3d", {.samples = volume_samples, .reference = pool_nd_reference<false>}},
    {"pool", {.samples = general_samples, .reference = general_reference}},
    {"max_pool2d_places", {.samples = argmax_samples, .reference = places_reference}},
    {"max_pool_with_argmax", {.samples = argmax_samples, .reference = argmax_reference}},
};

}  // namespace

}  // namespace capstan::testing
