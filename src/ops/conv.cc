// Convolution and its two gradients.
//
// The three are closed under differentiation: each is linear in both operands, and the gradient of
// each for either operand is one of the three. So derivatives of any order exist, and all of them
// run on the same kernels.
#include "src/kernels/conv2d.h"

#include <cctype>
#include <string>

#include "capstan/ops/nn.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/op_test.h"
#include "src/ops/families.h"
#include "src/ops/wide.h"
#include "src/ops/window.h"

namespace capstan {

Padding::Padding(const char* name) : Padding(std::string_view(name)) {}

Padding::Padding(std::string_view name) {
  std::string upper(name);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  CAPSTAN_CHECK(upper == "SAME" || upper == "VALID", ValueError, "padding: padding \"", name,
                "\" is neither \"SAME\" nor \"VALID\"");
  kind = upper == "SAME" ? Kind::kSame : Kind::kValid;
}

Padding::Padding(std::array<std::int64_t, 4> top_bottom_left_right)
    : kind(Kind::kExplicit), pads(top_bottom_left_right) {
  for (std::int64_t pad : pads) CAPSTAN_CHECK(pad >= 0, ValueError, "padding: negative padding ", pad);
}

namespace {

struct ConvAttributes {
  HeightWidth strides;
  PackedPadding padding;
  HeightWidth dilations;
};
constexpr AttributeType kConvAttributes = attribute_type<ConvAttributes>(
    {field<&ConvAttributes::strides>("strides"), field<&ConvAttributes::padding>("padding"),
     field<&ConvAttributes::dilations>("dilations")});

// The four lengths of a result that the operands do not tell.
struct FourLengths {
  std::uint32_t lengths[4] = {};
};
void set_field(FourLengths& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  const Lengths lengths = pack_lengths(op, Shape(integers_of(value, op, name)));
  CAPSTAN_CHECK(lengths.rank == 4, ValueError, op, ": attribute \"", name, "\" must have four lengths, not ",
                value.to_string());
  std::copy_n(lengths.packed, 4, field.lengths);
}
AttributeValue get_field(const FourLengths& field) {
  const std::int64_t lengths[] = {field.lengths[0], field.lengths[1], field.lengths[2], field.lengths[3]};
  return list_of(lengths);
}
Shape unpack(const FourLengths& field) {
  return {field.lengths[0], field.lengths[1], field.lengths[2], field.lengths[3]};
}
FourLengths pack_four(std::string_view op, const Shape& shape) {
  CAPSTAN_CHECK(shape.rank() == 4, ShapeError, op, ": the result needs four lengths, not ", shape);
  const Lengths lengths = pack_lengths(op, shape);
  FourLengths four;
  std::copy_n(lengths.packed, 4, four.lengths);
  return four;
}

struct BackpropAttributes : ConvAttributes {
  FourLengths sizes;
};
// Fields are looked up by their own struct, so the inherited ones are spelled out.
template <auto Member>
constexpr AttributeField inherited(std::string_view name) {
  return {
      name, false,
      [](void* attributes, const AttributeValue& value, std::string_view op, std::string_view field_name) {
        set_field(static_cast<BackpropAttributes*>(attributes)->*Member, value, op, field_name);
      },
      [](const void* attributes) { return get_field(static_cast<const BackpropAttributes*>(attributes)->*Member); }};
}
constexpr AttributeType kBackpropInputAttributes = attribute_type<BackpropAttributes>(
    {field<&BackpropAttributes::sizes>("input_sizes", true), inherited<&ConvAttributes::strides>("strides"),
     inherited<&ConvAttributes::padding>("padding"), inherited<&ConvAttributes::dilations>("dilations")});
constexpr AttributeType kBackpropFilterAttributes = attribute_type<BackpropAttributes>(
    {field<&BackpropAttributes::sizes>("filter_sizes", true), inherited<&ConvAttributes::strides>("strides"),
     inherited<&ConvAttributes::padding>("padding"), inherited<&ConvAttributes::dilations>("dilations")});

// Checks everything and computes the sizes. `shown` lists the operands for messages.
template <class Shown>
Conv2DShape conv_shape(const OpDef& op, const Shape& x, const Shape& filters, const ConvAttributes& attributes,
                       const Shown& shown) {
  CAPSTAN_CHECK(x.rank() == 4, ShapeError, op.name, ": images need rank 4 (batch, height, width, channels), not ",
                x.rank(), shown());
  CAPSTAN_CHECK(filters.rank() == 4, ShapeError, op.name, ": filters need rank 4 (height, width, in, out), not ",
                filters.rank(), shown());
  CAPSTAN_CHECK(filters[0] > 0 && filters[1] > 0, ShapeError, op.name,
                ": filters need a height and a width, theirs are ", filters[0], " and ", filters[1], shown());
  const HeightWidth& strides = attributes.strides;
  const HeightWidth& dilations = attributes.dilations;
  CAPSTAN_CHECK(strides.height >= 1 && strides.width >= 1, ValueError, op.name, ": strides must be 1 or more, not ",
                strides.height, " and ", strides.width);
  CAPSTAN_CHECK(dilations.height >= 1 && dilations.width >= 1, ValueError, op.name,
                ": dilations must be 1 or more, not ", dilations.height, " and ", dilations.width);
  CAPSTAN_CHECK(x[3] == filters[2] || (filters[2] > 0 && x[3] % filters[2] == 0), ShapeError, op.name, ": images have ",
                x[3], " channels, filters take ", filters[2], shown());
  const std::int64_t groups = filters[2] == 0 ? 1 : x[3] / filters[2];
  CAPSTAN_CHECK(groups <= 1 || filters[3] % groups == 0, ShapeError, op.name, ": ", filters[3],
                " filters do not divide into ", groups, " groups", shown());
  CAPSTAN_CHECK(groups <= 1, ValueError, op.name, ": groups are not supported, images have ", x[3],
                " channels, filters take ", filters[2], shown());
  CAPSTAN_CHECK(dilations.height == 1 && dilations.width == 1, ValueError, op.name,
                ": dilations are not supported, they are ", dilations.height, " and ", dilations.width);
  Conv2DShape shape;
  shape.batch = x[0];
  shape.in_height = x[1];
  shape.in_width = x[2];
  shape.in_channels = x[3];
  shape.kernel_height = filters[0];
  shape.kernel_width = filters[1];
  shape.out_channels = filters[3];
  shape.stride_height = strides.height;
  shape.stride_width = strides.width;
  const WindowAxis rows = slide(x[1], filters[0], strides.height, attributes.padding, 0);
  const WindowAxis columns = slide(x[2], filters[1], strides.width, attributes.padding, 1);
  shape.out_height = rows.count;
  shape.out_width = columns.count;
  shape.pad_top = rows.before;
  shape.pad_left = columns.before;
  return shape;
}

void check_dtype(const Call& call) {
  const DType dtype = call.input(0).dtype();
  CAPSTAN_CHECK(is_floating(dtype) || dtype == DType::kInt32, DTypeError, call.op.name, ": dtype ",
                call.input(0).dtype(), " is not supported");
}

std::string shown_arguments(const Call& call, std::string_view first, std::string_view second) {
  return arguments({{first, call.input(0)}, {second, call.input(1)}});
}

Conv2DShape forward_shape(const Call& call) {
  return conv_shape(call.op, call.input(0).shape(), call.input(1).shape(), call.attributes<ConvAttributes>(),
                    [&] { return shown_arguments(call, "x", "filters"); });
}
// The gradient must have the shape that the forward convolution would give.
void check_gradient(const Call& call, const Conv2DShape& shape, std::string_view first) {
  const Shape due{shape.batch, shape.out_height, shape.out_width, shape.out_channels};
  CAPSTAN_CHECK(call.input(1).shape() == due, ShapeError, call.op.name, ": out_backprop has shape ",
                call.input(1).shape(), " where ", due, " is due", shown_arguments(call, first, "out_backprop"));
}
Conv2DShape backprop_input_shape(const Call& call) {
  const auto& attributes = call.attributes<BackpropAttributes>();
  return conv_shape(call.op, unpack(attributes.sizes), call.input(0).shape(), attributes,
                    [&] { return shown_arguments(call, "filters", "out_backprop"); });
}
Conv2DShape backprop_filter_shape(const Call& call) {
  const auto& attributes = call.attributes<BackpropAttributes>();
  return conv_shape(call.op, call.input(0).shape(), unpack(attributes.sizes), attributes,
                    [&] { return shown_arguments(call, "x", "out_backprop"); });
}

Padding padding_of(const ConvAttributes& attributes) { return unpack(attributes.padding); }

// --- Samples and references ---

#if CAPSTAN_TESTING

AttributeValue pair_of(int a, int b) { return {std::vector<AttributeValue>{a, b}}; }

std::vector<OpSample> conv_samples() {
  const AttributeValue pads(std::vector<AttributeValue>{pair_of(0, 0), pair_of(1, 0), pair_of(0, 2), pair_of(0, 0)});
  return {
      {.inputs = {{.shape = {1, 4, 4, 2}}, {.shape = {3, 3, 2, 2}}}},
      {.inputs = {{.shape = {2, 4, 3, 1}}, {.shape = {2, 2, 1, 2}}},
       .attributes = {{"strides", 2}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 5, 4, 1}}, {.shape = {3, 2, 1, 3}}}, .attributes = {{"strides", pair_of(2, 1)}}},
      {.inputs = {{.shape = {1, 3, 4, 1}}, {.shape = {2, 2, 1, 2}}}, .attributes = {{"padding", pads}}},
      {.inputs = {{.shape = {0, 3, 3, 1}}, {.shape = {2, 2, 1, 1}}}},
      {.inputs = {{.shape = {1, 4, 4, 3}}, {.shape = {2, 2, 2, 1}}}, .error = "images have 3 channels, filters take 2"},
      {.inputs = {{.shape = {4, 3}}, {.shape = {2, 2, 3, 1}}}, .error = "images need rank 4"},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {2, 2, 1, 1}}},
       .attributes = {{"strides", 0}},
       .error = "strides must be 1 or more, not 0 and 0"},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {2, 2, 1, 1}}},
       .attributes = {{"padding", "FULL"}},
       .error = "\"FULL\" is neither \"SAME\" nor \"VALID\""},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {2, 2, 1, 1}}},
       .attributes = {{"dilations", 2}},
       .error = "dilations are not supported"},
  };
}
std::vector<OpSample> backprop_input_samples() {
  const auto sizes = [](int n, int h, int w, int c) { return AttributeValue(std::vector<AttributeValue>{n, h, w, c}); };
  return {
      {.inputs = {{.shape = {2, 2, 1, 2}}, {.shape = {1, 3, 3, 2}}},
       .attributes = {{"input_sizes", sizes(1, 4, 4, 1)}}},
      {.inputs = {{.shape = {3, 3, 2, 1}}, {.shape = {2, 2, 2, 1}}},
       .attributes = {{"input_sizes", sizes(2, 4, 3, 2)}, {"strides", 2}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {2, 2, 1, 1}}, {.shape = {1, 2, 2, 1}}},
       .attributes = {{"input_sizes", sizes(1, 4, 4, 1)}},
       .error = "out_backprop has shape [1, 2, 2, 1] where [1, 3, 3, 1] is due"},
  };
}
std::vector<OpSample> backprop_filter_samples() {
  const auto sizes = [](int h, int w, int c, int k) { return AttributeValue(std::vector<AttributeValue>{h, w, c, k}); };
  return {
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {1, 3, 3, 2}}},
       .attributes = {{"filter_sizes", sizes(2, 2, 1, 2)}}},
      {.inputs = {{.shape = {2, 4, 3, 2}}, {.shape = {2, 2, 2, 1}}},
       .attributes = {{"filter_sizes", sizes(3, 3, 2, 1)}, {"strides", 2}, {"padding", "SAME"}}},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {1, 2, 2, 1}}},
       .attributes = {{"filter_sizes", sizes(2, 2, 1, 1)}},
       .error = "out_backprop has shape [1, 2, 2, 1] where [1, 3, 3, 1] is due"},
  };
}

ConvAttributes sample_attributes(const AttributeMap& attributes) {
  ConvAttributes a;
  for (const auto& [name, value] : attributes) {
    if (name == "strides") set_field(a.strides, value, "", "");
    if (name == "padding") set_field(a.padding, value, "", "");
  }
  return a;
}

// Calls visit(index of x, index of filters, index of the result) for every product of the
// definition.
template <class Visit>
Shape for_each_product(const OpDef& op, const Shape& x, const Shape& filters, const AttributeMap& attributes,
                       const Visit& visit) {
  const Conv2DShape s = conv_shape(op, x, filters, sample_attributes(attributes), [] { return ""; });
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t i = 0; i < s.out_height; ++i)
      for (std::int64_t j = 0; j < s.out_width; ++j)
        for (std::int64_t di = 0; di < s.kernel_height; ++di)
          for (std::int64_t dj = 0; dj < s.kernel_width; ++dj) {
            const std::int64_t row = i * s.stride_height + di - s.pad_top;
            const std::int64_t column = j * s.stride_width + dj - s.pad_left;
            if (row < 0 || row >= s.in_height || column < 0 || column >= s.in_width) continue;
            for (std::int64_t c = 0; c < s.in_channels; ++c)
              for (std::int64_t k = 0; k < s.out_channels; ++k) {
                visit(static_cast<std::size_t>(((n * s.in_height + row) * s.in_width + column) * s.in_channels + c),
                      static_cast<std::size_t>(((di * s.kernel_width + dj) * s.in_channels + c) * s.out_channels + k),
                      static_cast<std::size_t>(((n * s.out_height + i) * s.out_width + j) * s.out_channels + k));
              }
          }
  return {s.batch, s.out_height, s.out_width, s.out_channels};
}

Shape sizes_of(const AttributeMap& attributes, const char* name) {
  FourLengths sizes;
  set_field(sizes, attributes.at(name), "", "");
  return unpack(sizes);
}

void conv_reference(const std::vector<ReferenceTensor>&, const AttributeMap&, std::vector<ReferenceTensor>&);
void backprop_input_reference(const std::vector<ReferenceTensor>&, const AttributeMap&, std::vector<ReferenceTensor>&);
void backprop_filter_reference(const std::vector<ReferenceTensor>&, const AttributeMap&, std::vector<ReferenceTensor>&);

const OpTest kConv2DTest = {.samples = conv_samples, .reference = conv_reference};
const OpTest kConv2DBackpropInputTest = {.samples = backprop_input_samples, .reference = backprop_input_reference};
const OpTest kConv2DBackpropFilterTest = {.samples = backprop_filter_samples, .reference = backprop_filter_reference};

#endif

}  // namespace

constinit const OpDef kConv2D = {
    .name = "conv2d",
    .text = "Two-dimensional convolution of images with filters.",
    .arity = 2,
    .input_names = "x, filters",
    .attributes = &kConvAttributes,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          check_dtype(call);
          const Conv2DShape shape = forward_shape(call);
          outputs.add(call.input(0).dtype(), {shape.batch, shape.out_height, shape.out_width, shape.out_channels});
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const Conv2DShape shape = forward_shape(call);
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            conv2d_forward<T>(shape, WideInput<T>(call.input(0)), WideInput<T>(call.input(1)),
                              WideOutput<T>(outputs[0]));
          });
        },
    .saves = {.inputs = 3},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& a = call.attributes<ConvAttributes>();
          const Tensor& x = call.input(0);
          const Tensor& filters = call.input(1);
          if (call.needs(0)) {
            cotangents[0] =
                conv2d_backprop_input(x.shape(), filters, call.cotangent(), to_array(a.strides), padding_of(a));
          }
          if (call.needs(1)) {
            cotangents[1] =
                conv2d_backprop_filter(x, filters.shape(), call.cotangent(), to_array(a.strides), padding_of(a));
          }
        },
    .test = CAPSTAN_OP_TEST(kConv2DTest),
};

constinit const OpDef kConv2DBackpropInput = {
    .name = "conv2d_backprop_input",
    .text = "The gradient of conv2d for its images.",
    .arity = 2,
    .input_names = "filters, out_backprop",
    .attributes = &kBackpropInputAttributes,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          check_dtype(call);
          check_gradient(call, backprop_input_shape(call), "filters");
          outputs.add(call.input(0).dtype(), unpack(call.attributes<BackpropAttributes>().sizes));
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const Conv2DShape shape = backprop_input_shape(call);
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            conv2d_backward_input<T>(shape, WideInput<T>(call.input(1)), WideInput<T>(call.input(0)),
                                     WideOutput<T>(outputs[0]));
          });
        },
    .saves = {.inputs = 3},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& a = call.attributes<BackpropAttributes>();
          const Tensor& filters = call.input(0);
          const Tensor& gradient = call.input(1);
          if (call.needs(0)) {
            cotangents[0] =
                conv2d_backprop_filter(call.cotangent(), filters.shape(), gradient, to_array(a.strides), padding_of(a));
          }
          if (call.needs(1)) cotangents[1] = conv2d(call.cotangent(), filters, to_array(a.strides), padding_of(a));
        },
    .test = CAPSTAN_OP_TEST(kConv2DBackpropInputTest),
};

constinit const OpDef kConv2DBackpropFilter = {
    .name = "conv2d_backprop_filter",
    .text = "The gradient of conv2d for its filters.",
    .arity = 2,
    .input_names = "x, out_backprop",
    .attributes = &kBackpropFilterAttributes,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          check_dtype(call);
          check_gradient(call, backprop_filter_shape(call), "x");
          outputs.add(call.input(0).dtype(), unpack(call.attributes<BackpropAttributes>().sizes));
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const Conv2DShape shape = backprop_filter_shape(call);
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            conv2d_backward_filter<T>(shape, WideInput<T>(call.input(0)), WideInput<T>(call.input(1)),
                                      WideOutput<T>(outputs[0]));
          });
        },
    .saves = {.inputs = 3},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& a = call.attributes<BackpropAttributes>();
          const Tensor& x = call.input(0);
          const Tensor& gradient = call.input(1);
          if (call.needs(0)) {
            cotangents[0] =
                conv2d_backprop_input(x.shape(), call.cotangent(), gradient, to_array(a.strides), padding_of(a));
          }
          if (call.needs(1)) cotangents[1] = conv2d(x, call.cotangent(), to_array(a.strides), padding_of(a));
        },
    .test = CAPSTAN_OP_TEST(kConv2DBackpropFilterTest),
};

Tensor conv2d(Operand x, Operand filters, std::array<std::int64_t, 2> strides, Padding padding) {
  const ConvAttributes attributes{height_width(strides), pack(padding), {}};
  return apply(kConv2D, x, filters, &attributes);
}

Tensor conv2d_backprop_input(const Shape& input_sizes, Operand filters, Operand out_backprop,
                             std::array<std::int64_t, 2> strides, Padding padding) {
  const BackpropAttributes attributes{{height_width(strides), pack(padding), {}},
                                      pack_four(kConv2DBackpropInput.name, input_sizes)};
  return apply(kConv2DBackpropInput, filters, out_backprop, &attributes);
}

Tensor conv2d_backprop_filter(Operand x, const Shape& filter_sizes, Operand out_backprop,
                              std::array<std::int64_t, 2> strides, Padding padding) {
  const BackpropAttributes attributes{{height_width(strides), pack(padding), {}},
                                      pack_four(kConv2DBackpropFilter.name, filter_sizes)};
  return apply(kConv2DBackpropFilter, x, out_backprop, &attributes);
}

#if CAPSTAN_TESTING
namespace {

void conv_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  std::vector<double> sums(100000, 0.0);
  ReferenceTensor out{.dtype = inputs[0].dtype};
  out.shape = for_each_product(
      kConv2D, inputs[0].shape, inputs[1].shape, attributes,
      [&](std::size_t x, std::size_t f, std::size_t y) { sums[y] += inputs[0].values[x] * inputs[1].values[f]; });
  sums.resize(static_cast<std::size_t>(out.shape.size()));
  out.values = sums;
  outputs = {out};
}
void backprop_input_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                              std::vector<ReferenceTensor>& outputs) {
  ReferenceTensor out{.dtype = inputs[0].dtype, .shape = sizes_of(attributes, "input_sizes")};
  out.values.assign(static_cast<std::size_t>(out.shape.size()), 0);
  for_each_product(kConv2D, out.shape, inputs[0].shape, attributes, [&](std::size_t x, std::size_t f, std::size_t y) {
    out.values[x] += inputs[0].values[f] * inputs[1].values[y];
  });
  outputs = {out};
}
void backprop_filter_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                               std::vector<ReferenceTensor>& outputs) {
  ReferenceTensor out{.dtype = inputs[0].dtype, .shape = sizes_of(attributes, "filter_sizes")};
  out.values.assign(static_cast<std::size_t>(out.shape.size()), 0);
  for_each_product(kConv2D, inputs[0].shape, out.shape, attributes, [&](std::size_t x, std::size_t f, std::size_t y) {
    out.values[f] += inputs[0].values[x] * inputs[1].values[y];
  });
  outputs = {out};
}

}  // namespace
#endif

OpFamily conv_ops() {
  static constexpr const OpDef* ops[] = {&kConv2D, &kConv2DBackpropInput, &kConv2DBackpropFilter};
  return ops;
}

}  // namespace capstan
