// What the slow references of convolutions of any rank share.
#pragma once

#include <vector>

#include "src/ops/conv/conv_op.h"
#include "tests/op_samples/op_test.h"

namespace capstan::testing {

template <int R>
ConvAttributes<R> sample_attributes(const AttributeMap& attributes) {
  ConvAttributes<R> a;
  for (const auto& [name, value] : attributes) {
    if (name == "strides") set_field(a.strides, value, "", "");
    if (name == "padding") set_field(a.padding, value, "", "");
    if (name == "dilations") set_field(a.dilations, value, "", "");
  }
  return a;
}

// Calls visit(index of x, index of filters, index of the result) for every product of the definition.
template <int R, class Visit>
Shape for_each_product(const Shape& x, const Shape& filters, const AttributeMap& attributes, const Visit& visit) {
  const ConvShape s =
      conv_shape<R>(ConvOps<R>::forward(), x, filters, sample_attributes<R>(attributes), [] { return ""; });
  const std::int64_t in = s.in_channels / s.groups;
  const std::int64_t out = s.out_channels / s.groups;
  for (std::int64_t y = 0; y < s.batch * s.out_pixels(); ++y)
    for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
      // Positions along the axes, last axis first.
      std::int64_t pixel = y;
      std::int64_t rest = tap;
      std::int64_t source = 0;
      std::int64_t step = 1;
      bool inside = true;
      for (int axis = 2; axis >= 0; --axis) {
        const std::int64_t at =
            pixel % s.out[axis] * s.stride[axis] + rest % s.kernel[axis] * s.dilation[axis] - s.pad[axis];
        inside = inside && at >= 0 && at < s.in[axis];
        source += at * step;
        step *= s.in[axis];
        pixel /= s.out[axis];
        rest /= s.kernel[axis];
      }
      if (!inside) continue;
      source += pixel * step;
      for (std::int64_t k = 0; k < s.out_channels; ++k)
        for (std::int64_t c = 0; c < in; ++c) {
          visit(static_cast<std::size_t>(source * s.in_channels + k / out * in + c),
                static_cast<std::size_t>((tap * in + c) * s.out_channels + k),
                static_cast<std::size_t>(y * s.out_channels + k));
        }
    }
  return result_shape<R>(s);
}

template <int R>
Shape sizes_of(const AttributeMap& attributes, const char* name) {
  ExactLengths<R + 2> sizes;
  set_field(sizes, attributes.at(name), "", "");
  return sizes.shape();
}

template <int R>
void conv_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  ReferenceTensor out{.dtype = inputs[0].dtype};
  out.shape = for_each_product<R>(inputs[0].shape, inputs[1].shape, attributes, [](auto, auto, auto) {});
  out.values.assign(static_cast<std::size_t>(out.shape.size()), 0);
  for_each_product<R>(inputs[0].shape, inputs[1].shape, attributes, [&](std::size_t x, std::size_t f, std::size_t y) {
    out.values[y] += inputs[0].values[x] * inputs[1].values[f];
  });
  outputs = {out};
}
template <int R>
void backprop_input_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                              std::vector<ReferenceTensor>& outputs) {
  ReferenceTensor out{.dtype = inputs[0].dtype, .shape = sizes_of<R>(attributes, "input_sizes")};
  out.values.assign(static_cast<std::size_t>(out.shape.size()), 0);
  for_each_product<R>(out.shape, inputs[0].shape, attributes, [&](std::size_t x, std::size_t f, std::size_t y) {
    out.values[x] += inputs[0].values[f] * inputs[1].values[y];
  });
  outputs = {out};
}
template <int R>
void backprop_filter_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                               std::vector<ReferenceTensor>& outputs) {
  ReferenceTensor out{.dtype = inputs[0].dtype, .shape = sizes_of<R>(attributes, "filter_sizes")};
  out.values.assign(static_cast<std::size_t>(out.shape.size()), 0);
  for_each_product<R>(inputs[0].shape, out.shape, attributes, [&](std::size_t x, std::size_t f, std::size_t y) {
    out.values[f] += inputs[0].values[x] * inputs[1].values[y];
  });
  outputs = {out};
}

// The same for every item, if operands have such an axis.
template <int R, auto kOfItem>
void by_items(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
              std::vector<ReferenceTensor>& outputs) {
  std::int64_t items = -1;
  for (const ReferenceTensor& x : inputs) {
    if (x.shape.rank() == R + 3) items = x.shape[0];
  }
  if (items < 0) return kOfItem(inputs, attributes, outputs);
  ReferenceTensor all{.dtype = inputs[0].dtype};
  for (std::int64_t item = 0; item < items; ++item) {
    std::vector<ReferenceTensor> one = inputs;
    for (ReferenceTensor& x : one) {
      if (x.shape.rank() != R + 3) continue;
      x.shape = item_of<R>(x.shape);
      const auto begin = x.values.begin() + static_cast<std::ptrdiff_t>(item * x.shape.size());
      x.values = std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(x.shape.size()));
    }
    kOfItem(one, attributes, outputs);
    all.values.insert(all.values.end(), outputs[0].values.begin(), outputs[0].values.end());
  }
  all.shape = {items};
  for (const std::int64_t length : outputs[0].shape) all.shape.push_back(length);
  outputs = {all};
}

}  // namespace capstan::testing
