// Layers of convolution, pooling and resizing in traced functions, under vectorized_map, in gradients of gradients,
// with bad options and with bad inputs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::difference;
using testing::message_of;

Layer layer_of(const std::string& type, const std::string& config) {
  return layer_from(AttributeValue::from_json("{\"class_name\": \"" + type + "\", \"config\": " + config + "}"));
}

struct One {
  const char* type;
  const char* config;
  Shape input;  // of one example
  Shape output;
};
std::ostream& operator<<(std::ostream& out, const One& one) { return out << one.type; }

const One kAll[] = {
    {"Conv1D", R"({"filters": 2, "kernel_size": 3, "padding": "causal"})", {6, 3}, {6, 2}},
    {"Conv2D", R"({"filters": 2, "kernel_size": [3, 2], "activation": "tanh"})", {5, 4, 2}, {3, 3, 2}},
    {"Conv3D", R"({"filters": 2, "kernel_size": 2, "data_format": "channels_first"})", {2, 3, 4, 3}, {2, 2, 3, 2}},
    {"Conv1DTranspose", R"({"filters": 2, "kernel_size": 3, "strides": 2})", {4, 2}, {9, 2}},
    {"Conv1DTranspose",
     R"({"filters": 1, "kernel_size": 4, "strides": 2, "padding": "same", "output_padding": 0})",
     {4, 2},
     {6, 1}},
    {"Conv2DTranspose", R"({"filters": 2, "kernel_size": 3, "strides": 2, "padding": "same"})", {3, 2, 2}, {6, 4, 2}},
    {"Conv3DTranspose", R"({"filters": 1, "kernel_size": 2})", {2, 2, 3, 1}, {3, 3, 4, 1}},
    {"DepthwiseConv1D", R"({"kernel_size": 2, "depth_multiplier": 2})", {5, 3}, {4, 6}},
    {"DepthwiseConv2D", R"({"kernel_size": 2, "strides": [1, 2]})", {4, 5, 2}, {3, 2, 2}},
    {"SeparableConv1D", R"({"filters": 4, "kernel_size": 2})", {5, 3}, {4, 4}},
    {"SeparableConv2D", R"({"filters": 4, "kernel_size": 2, "data_format": "channels_first"})", {2, 4, 4}, {4, 3, 3}},
    {"MaxPooling1D", "{}", {6, 2}, {3, 2}},
    {"MaxPooling2D", R"({"padding": "same"})", {5, 4, 2}, {3, 2, 2}},
    {"MaxPooling3D", "{}", {4, 2, 4, 1}, {2, 1, 2, 1}},
    {"AveragePooling1D", R"({"pool_size": 3, "strides": 1})", {6, 2}, {4, 2}},
    {"AveragePooling2D", R"({"pool_size": 2})", {4, 4, 2}, {2, 2, 2}},
    {"AveragePooling3D", R"({"pool_size": [2, 1, 2]})", {4, 2, 4, 1}, {2, 2, 2, 1}},
    {"GlobalMaxPooling1D", "{}", {6, 2}, {2}},
    {"GlobalMaxPooling2D", R"({"keepdims": true})", {4, 3, 2}, {1, 1, 2}},
    {"GlobalMaxPooling3D", "{}", {4, 3, 2, 2}, {2}},
    {"GlobalAveragePooling1D", "{}", {6, 2}, {2}},
    {"GlobalAveragePooling2D", R"({"data_format": "channels_first"})", {4, 3, 2}, {4}},
    {"GlobalAveragePooling3D", "{}", {4, 3, 2, 2}, {2}},
    {"AdaptiveMaxPooling1D", R"({"output_size": 2})", {5, 2}, {2, 2}},
    {"AdaptiveMaxPooling2D", R"({"output_size": [2, 3], "data_format": "channels_first"})", {2, 5, 4}, {2, 2, 3}},
    {"AdaptiveMaxPooling3D", R"({"output_size": 2})", {5, 4, 3, 1}, {2, 2, 2, 1}},
    {"AdaptiveAveragePooling1D", R"({"output_size": 2})", {5, 2}, {2, 2}},
    {"AdaptiveAveragePooling2D", R"({"output_size": [2, 3]})", {5, 4, 2}, {2, 3, 2}},
    {"AdaptiveAveragePooling3D", R"({"output_size": 2})", {5, 4, 3, 1}, {2, 2, 2, 1}},
    {"ZeroPadding1D", R"({"padding": [2, 0]})", {4, 3}, {6, 3}},
    {"ZeroPadding2D", R"({"padding": [[1, 0], [0, 2]]})", {3, 4, 2}, {4, 6, 2}},
    {"ZeroPadding3D", R"({"padding": [1, 0, 2]})", {2, 3, 2, 2}, {4, 3, 6, 2}},
    {"Cropping1D", R"({"cropping": [0, 2]})", {4, 3}, {2, 3}},
    {"Cropping2D", R"({"cropping": [1, 0], "data_format": "channels_first"})", {2, 4, 3}, {2, 2, 3}},
    {"Cropping3D", "{}", {3, 3, 4, 2}, {1, 1, 2, 2}},
    {"UpSampling1D", R"({"size": 3})", {4, 3}, {12, 3}},
    {"UpSampling2D", R"({"size": [2, 3], "interpolation": "bilinear"})", {3, 4, 2}, {6, 12, 2}},
    {"UpSampling3D", R"({"size": [1, 2, 3]})", {2, 3, 2, 2}, {2, 6, 6, 2}},
};

class SpatialLayers : public ::testing::TestWithParam<One> {};

Shape batch_of(std::int64_t length, const Shape& example) {
  Shape shape({length});
  for (const std::int64_t dim : example) shape.push_back(dim);
  return shape;
}

void expect_same(const Tensor& got, const Tensor& want, const std::string& what) {
  EXPECT_EQ(difference(got, want, {.relative = 1e-9, .floor = 1e-9}), "") << what;
}

TEST_P(SpatialLayers, AgreeInEveryWayOfCalling) {
  const One& one = GetParam();
  std::string config = one.config;
  config.insert(1, config == "{}" ? R"("dtype": "float64")" : R"("dtype": "float64", )");
  const Layer layer = layer_of(one.type, config);
  EXPECT_EQ(layer.type_name(), one.type);
  const Tensor x = random::normal(batch_of(3, one.input), 0, 1, float64, 7);
  const Tensor y = layer(x);
  EXPECT_EQ(y.shape(), batch_of(3, one.output));
  // What serialize gives makes a layer that does the same.
  const Layer again = layer_from(AttributeValue::from_json(serialize(layer).to_json()));
  again.build(x.shape());
  again.set_weights(layer.get_weights());
  expect_same(again(x), y, "made again");
  const auto loss = [&](const Tensor& in) { return reduce_sum(square(layer(in))); };
  const auto gradient = [&](const Tensor& in) {
    GradientTape tape;
    tape.watch(in);
    return tape.gradient(loss(in), in);
  };
  const auto second = [&](const Tensor& in) {
    GradientTape tape;
    tape.watch(in);
    return tape.gradient(reduce_sum(gradient(in) * (in + 1.0)), in);
  };
  auto traced = function([&](const Tensor& in) { return std::tuple(layer(in), gradient(in), second(in)); });
  const auto [value, first, hessian] = traced(x);
  expect_same(value, y, "traced");
  expect_same(first, gradient(x), "traced gradient");
  expect_same(hessian, second(x), "traced gradient of the gradient");
  const Tensor shorter = x(Slice{0, 2});
  expect_same(std::get<0>(traced(shorter)), layer(shorter), "traced with another batch");
  // One example at a time.
  const auto example = [&](const Tensor& in) { return squeeze(layer(expand_dims(in, 0)), {0}); };
  expect_same(vectorized_map(example, x), y, "vectorized");
  // The gradient of the gradient along a direction, from differences.
  const Tensor direction = x + 1.0;
  const double step = 1e-6;
  const Tensor numeric = (gradient(x + direction * step) - gradient(x - direction * step)) / (2 * step);
  EXPECT_EQ(difference(second(x) - gradient(x), numeric, {.relative = 1e-4, .floor = 1e-5, .absolute = 1e-6}), "");
}

INSTANTIATE_TEST_SUITE_P(All, SpatialLayers, ::testing::ValuesIn(kAll), [](const auto& info) {
  return std::string(info.param.type) + "_" + std::to_string(info.index);
});

struct Bad {
  const char* type;
  const char* config;
  Shape input;  // empty: the options are refused
  std::vector<const char*> says;
};

const Bad kBad[] = {
    {"Conv2D", R"({"filters": 0, "kernel_size": 3})", {}, {"Conv2D", "filters", "0"}},
    {"Conv2D", R"({"filters": 1, "kernel_size": 0})", {}, {"Conv2D", "kernel_size", "0"}},
    {"Conv2D", R"({"filters": 1, "kernel_size": [3, 3, 3]})", {}, {"kernel_size", "list of 2", "[3, 3, 3]"}},
    {"Conv2D", R"({"filters": 1, "kernel_size": 2, "strides": 0})", {}, {"strides", "0"}},
    {"Conv2D", R"({"filters": 1, "kernel_size": 2, "groups": 0})", {}, {"groups", "0"}},
    {"Conv2D", R"({"filters": 3, "kernel_size": 3, "groups": 2})", {}, {"Conv2D", "3 filters", "2 groups"}},
    {"Conv2D", R"({"filters": 3, "kernel_size": 3, "strides": 2, "dilation_rate": 2})", {}, {"strides", "dilation"}},
    {"Conv2D", R"({"filters": 3, "kernel_size": 3, "padding": "causal"})", {}, {"padding", "\"same\"", "\"causal\""}},
    {"Conv2D", R"({"filters": 3, "kernel_size": 3, "data_format": "middle"})", {}, {"data_format", "\"middle\""}},
    {"SeparableConv1D", R"({"filters": 2, "kernel_size": 2, "padding": "causal"})", {}, {"padding", "\"causal\""}},
    {"DepthwiseConv2D", R"({"kernel_size": 2, "depth_multiplier": 0})", {}, {"depth_multiplier", "0"}},
    {"Conv1DTranspose",
     R"({"filters": 1, "kernel_size": 3, "strides": 2, "output_padding": 2})",
     {},
     {"output_padding", "[2]"}},
    {"MaxPooling2D", R"({"pool_size": 0})", {}, {"MaxPooling2D", "pool_size", "0"}},
    {"MaxPooling2D", R"({"padding": "causal"})", {}, {"padding", "\"causal\""}},
    {"AdaptiveMaxPooling2D", R"({"output_size": 0})", {}, {"output_size", "0"}},
    {"ZeroPadding1D", R"({"padding": [-1, 2]})", {}, {"padding", "at least 0", "-1"}},
    {"ZeroPadding2D", R"({"padding": [1, 2, 3]})", {}, {"padding", "[1, 2, 3]"}},
    {"UpSampling2D", R"({"interpolation": "cubicish"})", {}, {"interpolation", "\"cubicish\"", "bicubic"}},
    {"Conv2D", R"({"filters": 3, "kernel_size": 3})", {1, 5, 5}, {"rank 4", "[1, 5, 5]"}},
    {"Conv2D", R"({"filters": 1, "kernel_size": 3})", {1, 2, 2, 1}, {"[3, 3]", "[1, 2, 2, 1]", "same"}},
    {"Conv2D", R"({"filters": 4, "kernel_size": 1, "groups": 2})", {1, 2, 2, 3}, {"3 channels", "2 groups"}},
    {"Conv2DTranspose", R"({"filters": 1, "kernel_size": 2})", {1, 4, 4}, {"rank 4", "[1, 4, 4]"}},
    {"DepthwiseConv2D", R"({"kernel_size": 2})", {1, 4, 4}, {"rank 4", "[1, 4, 4]"}},
    {"MaxPooling2D", "{}", {1, 4, 4}, {"rank 4", "[1, 4, 4]"}},
    {"MaxPooling1D", R"({"pool_size": 3})", {1, 2, 1}, {"[3]", "[1, 2, 1]"}},
    {"GlobalAveragePooling2D", "{}", {2, 3}, {"rank 4", "[2, 3]"}},
    {"Cropping1D", R"({"cropping": 1})", {1, 2, 1}, {"nothing is left", "2"}},
    {"Cropping2D", R"({"cropping": 2})", {1, 4, 4, 1}, {"nothing is left", "4"}},
};

TEST(SpatialLayers, SayWhatIsWrong) {
  for (const Bad& bad : kBad) {
    SCOPED_TRACE(std::string(bad.type) + " " + bad.config);
    const std::string message = message_of([&] {
      const Layer layer = layer_of(bad.type, bad.config);
      if (bad.input.rank() > 0) layer(ones(bad.input));
    });
    for (const char* part : bad.says) EXPECT_NE(message.find(part), message.npos) << part << " in: " << message;
  }
  const layers::Conv2D conv(1, 1);
  conv(ones({1, 2, 2, 3}));
  EXPECT_NE(message_of<ShapeError>([&] { conv(ones({1, 2, 2, 2})); }).find("3 channels, not 2"), std::string::npos);
}

TEST(SpatialLayers, AreMadeWithNumbersAndLists) {
  const Tensor x = ones({1, 3, 4, 2});
  EXPECT_EQ(layers::ZeroPadding2D()(x).shape(), Shape({1, 5, 6, 2}));
  EXPECT_EQ(layers::ZeroPadding2D({1, 2})(x).shape(), Shape({1, 5, 8, 2}));
  EXPECT_EQ(layers::ZeroPadding2D({{1, 0}, {0, 2}})(x).shape(), Shape({1, 4, 6, 2}));
  EXPECT_EQ(layers::Cropping2D()(x).shape(), x.shape());
  EXPECT_EQ(layers::Cropping2D(1)(x).shape(), Shape({1, 1, 2, 2}));
  EXPECT_EQ(layers::UpSampling2D({2, 1})(x).shape(), Shape({1, 6, 4, 2}));
  EXPECT_EQ(layers::Conv2D(5, {3, 1}, {.strides = {1, 2}})(x).shape(), Shape({1, 1, 2, 5}));
  EXPECT_EQ(layers::MaxPooling2D(2, {.strides = 1})(x).shape(), Shape({1, 2, 3, 2}));
  EXPECT_EQ(layers::ZeroPadding1D({2, 0})(ones({1, 3, 2})).shape(), Shape({1, 5, 2}));
}

TEST(GlobalAveragePooling1D, ReadsTheMaskThatTheInputCarries) {
  const Tensor x = with_mask(constant({{{1.0f}, {2.0f}, {9.0f}}}), constant({{true, true, false}}));
  const Tensor y = layers::GlobalAveragePooling1D()(x);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1.5f}));
  EXPECT_FALSE(mask_of(y).has_value());
}

}  // namespace
}  // namespace capstan
