// Layers of images: in functions, mapped, with gradients, what they draw, and what they refuse. Values of Keras are in
// layers_augmentation.json, which keras_layers.cc reads.
#include <gtest/gtest.h>

#include <cmath>
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

void expect_same(const Tensor& got, const Tensor& want, const std::string& what) {
  EXPECT_EQ(difference(got, want, {.relative = 1e-9, .floor = 1e-9}), "") << what;
}

struct One {
  const char* type;
  const char* config;
  Shape input;  // of one image
  Shape output;
  bool draws = true;
};
std::ostream& operator<<(std::ostream& out, const One& one) { return out << one.type; }

const One kAll[] = {
    {"Resizing", R"({"height": 3, "width": 7})", {5, 4, 2}, {3, 7, 2}, false},
    {"Resizing",
     R"({"height": 3, "width": 3, "interpolation": "lanczos3", "antialias": true, "crop_to_aspect_ratio": true})",
     {7, 5, 2},
     {3, 3, 2},
     false},
    {"Resizing",
     R"({"height": 4, "width": 4, "pad_to_aspect_ratio": true, "fill_value": 2, "data_format": "channels_first"})",
     {2, 3, 7},
     {2, 4, 4},
     false},
    {"CenterCrop", R"({"height": 3, "width": 2})", {6, 5, 2}, {3, 2, 2}, false},
    {"CenterCrop", R"({"height": 8, "width": 2})", {6, 5, 2}, {8, 2, 2}, false},
    {"RandomCrop", R"({"height": 3, "width": 2, "seed": 3})", {6, 5, 2}, {3, 2, 2}},
    {"RandomCrop", R"({"height": 3, "width": 2, "seed": 3, "data_format": "channels_first"})", {2, 6, 5}, {2, 3, 2}},
    {"RandomFlip", R"({"seed": 3})", {4, 5, 2}, {4, 5, 2}},
    {"RandomFlip", R"({"mode": "vertical", "seed": 3, "data_format": "channels_first"})", {2, 4, 5}, {2, 4, 5}},
    {"RandomRotation", R"({"factor": 0.3, "seed": 3})", {4, 5, 2}, {4, 5, 2}},
    {"RandomRotation", R"({"factor": 0.3, "seed": 3, "fill_mode": "wrap"})", {4, 5, 2}, {4, 5, 2}},
    {"RandomTranslation",
     R"({"height_factor": 0.3, "width_factor": [0.1, 0.5], "seed": 3, "fill_mode": "constant", "fill_value": 3})",
     {4, 5, 2},
     {4, 5, 2}},
    {"RandomTranslation",
     R"({"height_factor": 0.3, "width_factor": 0.4, "seed": 3, "interpolation": "nearest"})",
     {4, 5, 2},
     {4, 5, 2}},
    {"RandomZoom", R"({"height_factor": 0.3, "seed": 3, "fill_mode": "nearest"})", {4, 5, 2}, {4, 5, 2}},
    {"RandomZoom",
     R"({"height_factor": 0.3, "width_factor": 0.2, "seed": 3, "data_format": "channels_first"})",
     {2, 4, 5},
     {2, 4, 5}},
    {"RandomContrast", R"({"factor": [0.9, 0.5], "value_range": [-1, 1], "seed": 3})", {4, 5, 2}, {4, 5, 2}},
    {"RandomBrightness", R"({"factor": 0.6, "value_range": [-2, 2], "seed": 3})", {4, 5, 2}, {4, 5, 2}},
};

Shape batch_of(std::int64_t length, const Shape& example) {
  Shape shape({length});
  for (const std::int64_t dim : example) shape.push_back(dim);
  return shape;
}

class ImageLayers : public ::testing::TestWithParam<One> {
 protected:
  static Layer made() {
    std::string config = GetParam().config;
    config.insert(1, R"("dtype": "float64", )");
    return layer_of(GetParam().type, config);
  }
};

// A layer with a seed draws the same after being made again, so that all ways can be compared.
TEST_P(ImageLayers, AgreeInEveryWayOfCalling) {
  const One& one = GetParam();
  const CallOptions training{.training = true};
  const Tensor x = random::normal(batch_of(3, one.input), 0, 1, float64, 7);
  const Tensor y = made()(x, training);
  EXPECT_EQ(y.shape(), batch_of(3, one.output));
  EXPECT_EQ(y.dtype(), float64);
  // What serialize gives makes a layer that does the same.
  const Layer layer = made();
  expect_same(layer_from(AttributeValue::from_json(serialize(layer).to_json()))(x, training), y, "made again");
  // A copy is the same layer: what it draws is the next draw of both.
  const Layer first = made();
  const Layer copy = first;
  first(x, training);
  const Layer other = made();
  other(x, training);
  expect_same(copy(x, training), other(x, training), "a copy");

  const auto value = [](const Tensor& in) { return made()(in, {.training = true}); };
  const auto gradient = [&](const Tensor& in) {
    GradientTape tape;
    tape.watch(in);
    return tape.gradient(reduce_sum(square(value(in)) * 0.5), in);
  };
  const auto second = [&](const Tensor& in) {
    GradientTape tape;
    tape.watch(in);
    return tape.gradient(reduce_sum(gradient(in) * (in + 1.0)), in);
  };
  auto traced = function([&](const Tensor& in) { return std::tuple(value(in), gradient(in), second(in)); });
  const auto [traced_value, traced_gradient, traced_second] = traced(x);
  expect_same(traced_value, y, "traced");
  expect_same(traced_gradient, gradient(x), "traced gradient");
  expect_same(traced_second, second(x), "traced gradient of the gradient");
  // The gradients along a direction, from differences; the layers are linear but for clipping.
  const Tensor direction = x + 1.0;
  const double step = 1e-6;
  const auto loss = [&](const Tensor& in) { return reduce_sum(square(value(in)) * 0.5); };
  const Tensor numeric = (loss(x + direction * step) - loss(x - direction * step)) / (2 * step);
  EXPECT_EQ(difference(reduce_sum(gradient(x) * direction), numeric, {.relative = 1e-5, .floor = 1e-5}), "");
  const Tensor numeric_second = (gradient(x + direction * step) - gradient(x - direction * step)) / (2 * step);
  EXPECT_EQ(difference(second(x) - gradient(x), numeric_second, {.relative = 1e-4, .floor = 1e-5, .absolute = 1e-6}),
            "");
}

TEST_P(ImageLayers, TakeOneImageAndMapOverImages) {
  const One& one = GetParam();
  const Tensor x = random::normal(batch_of(3, one.input), 0, 1, float64, 7);
  const Layer layer = made();
  const Tensor single = layer(x(0), {.training = true});
  EXPECT_EQ(single.shape(), one.output);
  const Tensor mapped = vectorized_map([&](const Tensor& image) { return layer(image, {.training = true}); }, x);
  EXPECT_EQ(mapped.shape(), batch_of(3, one.output));
  if (!one.draws) expect_same(mapped, layer(x), "mapped");
  const auto in_inference = [&](const Tensor& image) { return layer(image, {.training = false}); };
  expect_same(vectorized_map(in_inference, x), in_inference(x), "mapped in inference");
}

TEST_P(ImageLayers, GiveInInferenceWhatTheyAreGiven) {
  const One& one = GetParam();
  const Tensor x = random::normal(batch_of(2, one.input), 0, 1, float64, 7);
  const Layer layer = made();
  if (!one.draws) return expect_same(layer(x, {.training = true}), layer(x), "training makes no difference");
  // Nor is anything drawn.
  for (int i = 0; i < 2; ++i) {
    const Tensor y = layer(x);
    EXPECT_EQ(y.shape(), batch_of(2, one.output));
    if (one.input == one.output) expect_same(y, x, "inference");
  }
  expect_same(layer(x, {.training = true}), made()(x, {.training = true}), "the first draw");
}

TEST_P(ImageLayers, DrawAnewAtEveryCallOfAFunctionAsTheyDoWithoutOne) {
  const One& one = GetParam();
  if (!one.draws) return;
  const Tensor x = random::normal(batch_of(4, one.input), 0, 1, float64, 7);
  const Layer plain = made(), used = made();
  auto traced = function([&](const Tensor& in) { return used(in, {.training = true}); });
  std::vector<Tensor> seen;
  for (int i = 0; i < 4; ++i) {
    seen.push_back(traced(x));
    expect_same(seen.back(), plain(x, {.training = true}), "call " + std::to_string(i));
  }
  bool differ = false;
  for (const Tensor& y : seen) differ |= !equal_tensors(y, seen[0]);
  EXPECT_TRUE(differ);
}

TEST_P(ImageLayers, ConvertIntegers) {
  const One& one = GetParam();
  const std::string config = one.config;
  const Layer layer = layer_of(one.type, config);
  const Tensor x = cast(random::uniform(batch_of(2, one.input), 0, 200, float32, 3), uint8);
  for (const bool training : {false, true}) {
    const Tensor y = layer(x, {.training = training});
    EXPECT_EQ(y.shape(), batch_of(2, one.output));
    EXPECT_EQ(y.dtype(), std::string(one.type) == "Resizing" ? uint8 : float32) << training;
  }
  const Layer narrow = layer_of(one.type, std::string(R"({"dtype": "bfloat16", )") + config.substr(1));
  EXPECT_EQ(narrow(random::normal(batch_of(2, one.input)), {.training = true}).dtype(), bfloat16);
}

// A signature with an open length is refused if anything in the trace depends on that length.
TEST_P(ImageLayers, ServeBatchesOfAnyLengthWithOneSignature) {
  const One& one = GetParam();
  const Layer layer = made(), plain = made();
  auto traced = function([&](const Tensor& in) { return layer(in, {.training = true}); },
                         {.input_signature = {TensorSpec(batch_of(-1, one.input), float64)}});
  for (const std::int64_t length : {2, 5, 3, 4}) {
    const Tensor x = random::normal(batch_of(length, one.input), 0, 1, float64, 7);
    expect_same(traced(x), plain(x, {.training = true}), "batch of " + std::to_string(length));
  }
  EXPECT_EQ(tracing_count(traced), 1);
}

TEST_P(ImageLayers, TakeNoImages) {
  const One& one = GetParam();
  EXPECT_EQ(made()(zeros(batch_of(0, one.input), float64), {.training = true}).shape(), batch_of(0, one.output));
}

INSTANTIATE_TEST_SUITE_P(All, ImageLayers, ::testing::ValuesIn(kAll), [](const auto& info) {
  return std::string(info.param.type) + "_" + std::to_string(info.index);
});

// --- What is drawn ---

// [images, 4, 6, 1], all the same, with pixels that are all different.
Tensor same_images(std::int64_t count) {
  return broadcast_to(reshape(cast(range(24), float32), {1, 4, 6, 1}), {count, 4, 6, 1});
}

TEST(RandomFlip, MirrorsHalfOfTheImagesEachByItself) {
  set_seed(4);
  const Tensor x = same_images(2000);
  for (const char* mode : {"horizontal", "vertical", "horizontal_and_vertical"}) {
    const Tensor y = layers::RandomFlip(mode)(x, {.training = true});
    const Axes axes = mode[0] == 'v' ? Axes(1) : std::string(mode) == "horizontal" ? Axes(2) : Axes({1, 2});
    const Tensor is_turned = reduce_all(equal(y, reverse(x, axes)), {1, 2, 3});
    const Tensor is_kept = reduce_all(equal(y, x), {1, 2, 3});
    EXPECT_TRUE(reduce_all(not_equal(is_turned, is_kept)).item<bool>()) << mode;
    EXPECT_NEAR(reduce_mean(cast(is_turned, float32)).item<float>(), 0.5, 0.05) << mode;
  }
}

TEST(RandomBrightness, DrawsEvenlyFromItsRangeForEachImage) {
  set_seed(4);
  const Tensor x = fill({3000, 2, 2, 1}, 100.0f);
  const Tensor y = layers::RandomBrightness({-0.1, 0.3})(x, {.training = true}) - x;
  const Tensor each = y(ellipsis, 0, 0, 0);
  EXPECT_LT(reduce_max(abs(y - reshape(each, {-1, 1, 1, 1}))).item<float>(), 1e-4);
  EXPECT_GE(reduce_min(each).item<float>(), -25.51);
  EXPECT_LE(reduce_max(each).item<float>(), 76.51);
  EXPECT_NEAR(reduce_mean(each).item<float>(), 25.5, 2);
  EXPECT_NEAR(reduce_std(each).item<float>(), 102 / std::sqrt(12.0), 1.5);
}

TEST(RandomContrast, OfANumberGoesAsFarBelowOneAsAbove) {
  set_seed(4);
  const Tensor x = broadcast_to(reshape(constant({90.0f, 110.0f}), {1, 1, 2, 1}), {3000, 1, 2, 1});
  const Tensor y = layers::RandomContrast(0.4)(x, {.training = true});
  const Tensor factor = (y(ellipsis, 0, 1, 0) - y(ellipsis, 0, 0, 0)) / 20.0;
  EXPECT_NEAR(reduce_min(factor).item<float>(), 0.6, 0.01);
  EXPECT_NEAR(reduce_max(factor).item<float>(), 1.4, 0.01);
  EXPECT_NEAR(reduce_mean(factor).item<float>(), 1, 0.02);
}

TEST(RandomTranslation, MovesDownAndToTheRight) {
  const Tensor x = same_images(1);
  const layers::RandomTranslation layer({0.25, 0.25}, {0.5, 0.5}, {.fill_mode = "constant", .fill_value = -1});
  const Tensor y = layer(x, {.training = true});
  EXPECT_EQ(y(0, 0, ellipsis, 0).to_vector<float>(), (std::vector<float>{-1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(y(0, 1, ellipsis, 0).to_vector<float>(), (std::vector<float>{-1, -1, -1, 0, 1, 2}));
  EXPECT_EQ(y(0, 3, ellipsis, 0).to_vector<float>(), (std::vector<float>{-1, -1, -1, 12, 13, 14}));
}

TEST(RandomTranslation, DrawsBothWaysEvenlyForEachImage) {
  set_seed(4);
  // The brightness of a pixel is its column, so what is there tells how far the image has moved.
  const Tensor columns = broadcast_to(reshape(cast(range(41), float32), {1, 1, 41, 1}), {2000, 3, 41, 1});
  const Tensor y = layers::RandomTranslation(0.0, 0.25)(columns, {.training = true});
  const Tensor moved = (20.0 - y(ellipsis, 1, 20, 0)) / 41.0;
  EXPECT_GE(reduce_min(moved).item<float>(), -0.2501);
  EXPECT_LE(reduce_max(moved).item<float>(), 0.2501);
  EXPECT_NEAR(reduce_mean(moved).item<float>(), 0, 0.015);
  EXPECT_NEAR(reduce_std(moved).item<float>(), 0.5 / std::sqrt(12.0), 0.01);
}

TEST(RandomRotation, TurnsCounterClockwise) {
  const Tensor x = reshape(cast(range(25), float64), {1, 5, 5, 1});
  const layers::RandomRotation layer({0.25, 0.25}, {.dtype = float64});
  // Angles are float32 numbers.
  EXPECT_EQ(difference(layer(x, {.training = true}), image::rot90(x), {.absolute = 1e-4}), "");
}

TEST(RandomZoom, WithAPositiveFactorShowsMore) {
  const Tensor x = same_images(1);
  const layers::RandomZoom out({1, 1}, {.width_factor = 0, .fill_mode = "constant", .fill_value = -1});
  EXPECT_EQ(out(x, {.training = true})(0, ellipsis, 0, 0).to_vector<float>(), (std::vector<float>{-1, 3, 15, -1}))
      << "rows -1.5, 0.5, 2.5 and 4.5 of the image";
  // One factor serves both sides.
  const Tensor y = layers::RandomZoom({-0.5, -0.5})(same_images(1), {.training = true});
  EXPECT_NEAR(y(0, 0, 0, 0).item<float>(), 0.75 * 6 + 1.25, 1e-4);
}

TEST(RandomCrop, TakesAllPlacesAndOneForAllImages) {
  set_seed(4);
  const layers::RandomCrop layer(3, 4);
  std::map<float, int> seen;
  for (int i = 0; i < 300; ++i) {
    const Tensor y = layer(same_images(2), {.training = true});
    ASSERT_EQ(y.shape(), Shape({2, 3, 4, 1}));
    EXPECT_TRUE(equal_tensors(y(0), y(1)));
    const float first = y(0, 0, 0, 0).item<float>();
    EXPECT_TRUE(equal_tensors(
        y(0),
        same_images(1)(0)(Slice{static_cast<std::int64_t>(first) / 6, static_cast<std::int64_t>(first) / 6 + 3},
                          Slice{static_cast<std::int64_t>(first) % 6, static_cast<std::int64_t>(first) % 6 + 4})));
    ++seen[first];
  }
  ASSERT_EQ(seen.size(), 6u);  // two rows and three columns
  for (const auto& [first, count] : seen) EXPECT_NEAR(count, 50, 30) << first;
}

TEST(RandomLayers, GiveEachImageADrawOfItsOwn) {
  const Tensor x = same_images(6) + 100.0;
  const auto differing = [](const Tensor& y) {
    int count = 0;
    for (int i = 1; i < 6; ++i) count += equal_tensors(y(i), y(0)) ? 0 : 1;
    return count;
  };
  const std::vector<Layer> all = {layers::RandomRotation(0.3, {.seed = 2}), layers::RandomTranslation(0.3, 0.3),
                                  layers::RandomZoom(0.3), layers::RandomContrast(0.3), layers::RandomBrightness(0.3)};
  set_seed(3);
  for (const Layer& layer : all) {
    EXPECT_EQ(differing(layer(x, {.training = true})), 5) << layer.name();
    // In a map, too.
    const auto one = [&](const Tensor& image) { return layer(image, {.training = true}); };
    EXPECT_EQ(differing(vectorized_map(one, x)), 5) << layer.name();
  }
}

TEST(RandomLayers, TakeWhatTheLayerAroundThemDoes) {
  Sequential model({layers::RandomBrightness({0.5, 0.5}), layers::Flatten()});
  const Tensor x = zeros({2, 2, 2, 1});
  EXPECT_EQ(reduce_max(model(x)).item<float>(), 0);
  EXPECT_EQ(reduce_max(model(x, {.training = true})).item<float>(), 127.5);
  EXPECT_EQ(reduce_max(model.predict(x)).item<float>(), 0);
}

// --- Limits ---

TEST(Resizing, RoundsAndLimitsIntegers) {
  const Tensor x = cast(constant({{{0.0f}, {255.0f}, {255.0f}, {0.0f}}}), uint8);
  const Tensor y = layers::Resizing(1, 12, {.interpolation = "bicubic"})(x);
  EXPECT_EQ(y.dtype(), uint8);
  // The cubic overshoots on both sides.
  EXPECT_EQ(reduce_max(cast(y, int32)).item<int>(), 255);
  EXPECT_EQ(y(0, 0, 0).item<std::uint8_t>(), 0);
  const Tensor flags = constant({{{true}, {false}}});
  EXPECT_EQ(layers::Resizing(1, 4, {.interpolation = "nearest"})(flags).dtype(), bool_);
}

TEST(Resizing, KeepsTheAspectRatioByCroppingOrPadding) {
  const Tensor x = same_images(1);
  const Tensor cropped = layers::Resizing(4, 4, {.crop_to_aspect_ratio = true})(x);
  EXPECT_TRUE(equal_tensors(cropped, x(ellipsis, Slice{1, 5}, Slice{})));
  const Tensor padded = layers::Resizing(6, 6, {.pad_to_aspect_ratio = true, .fill_value = 9})(x);
  EXPECT_EQ(padded(0, 0, ellipsis, 0).to_vector<float>(), (std::vector<float>(6, 9)));
  EXPECT_TRUE(equal_tensors(padded(ellipsis, Slice{1, 5}, Slice{}, Slice{}), x));
}

struct Bad {
  const char* type;
  const char* config;
  Shape input;  // empty: the options are refused
  std::vector<const char*> says;
};

const Bad kBad[] = {
    {"Resizing", R"({"height": 0, "width": 2})", {}, {"Resizing", "height", "at least 1", "0"}},
    {"Resizing", R"({"height": 2})", {}, {"Resizing", "width", "must be given"}},
    {"Resizing", R"({"height": 2, "width": 2, "interpolation": "cubicish"})", {}, {"interpolation", "\"cubicish\""}},
    {"Resizing", R"({"height": 2, "width": 2, "fill_mode": "wrap"})", {}, {"fill_mode", "\"wrap\"", "constant"}},
    {"Resizing",
     R"({"height": 2, "width": 2, "crop_to_aspect_ratio": true, "pad_to_aspect_ratio": true})",
     {},
     {"crop_to_aspect_ratio", "pad_to_aspect_ratio"}},
    {"Resizing", R"({"height": 2, "width": 2, "data_format": "middle"})", {}, {"data_format", "\"middle\""}},
    {"Resizing", R"({"height": 2, "width": 2})", {2, 3}, {"rank 2", "[batch, height, width, channels]"}},
    {"Resizing", R"({"height": 2, "width": 2})", {2, 0, 3, 1}, {"no pixels"}},
    {"Resizing",
     R"({"height": 1, "width": 9000000000, "pad_to_aspect_ratio": true})",
     {1, 9, 1, 1},
     {"padded", "9000000000"}},
    {"CenterCrop", R"({"height": 2, "width": -2})", {}, {"width", "-2"}},
    {"CenterCrop", R"({"height": 2, "width": 2})", {2, 3, 3, 1, 1}, {"rank 5"}},
    {"RandomCrop", R"({"height": 2, "width": 2, "seed": "no"})", {}, {"seed", "\"no\""}},
    {"RandomFlip", R"({"mode": "both"})", {}, {"mode", "\"both\"", "horizontal"}},
    {"RandomRotation", R"({"factor": 1.5})", {}, {"factor", "1.5", "at most 1"}},
    {"RandomRotation", R"({"factor": [-2, 0.5]})", {}, {"factor", "-2"}},
    {"RandomRotation", R"({"factor": [0.1, 0.2, 0.3]})", {}, {"factor", "a list of two", "[0.1, 0.2, 0.3]"}},
    {"RandomRotation", R"({"factor": "much"})", {}, {"factor", "\"much\""}},
    {"RandomRotation", R"({"factor": 0.5, "fill_mode": "edge"})", {}, {"fill_mode", "\"edge\"", "reflect"}},
    {"RandomRotation", R"({"factor": 0.5, "interpolation": "area"})", {}, {"interpolation", "\"area\""}},
    {"RandomRotation", R"({"factor": 0.5})", {2, 3, 0, 1}, {"no pixels"}},
    {"RandomTranslation", R"({"height_factor": 0.5})", {}, {"width_factor", "must be given"}},
    {"RandomTranslation", R"({"height_factor": 0.5, "width_factor": [0, 1.1]})", {}, {"width_factor", "1.1"}},
    {"RandomZoom", R"({"height_factor": -1.5})", {}, {"height_factor", "1.5"}},
    {"RandomContrast", R"({"factor": -0.1})", {}, {"factor", "at least 0", "-0.1"}},
    {"RandomContrast", R"({"factor": 0.1, "value_range": 255})", {}, {"value_range", "two numbers", "255"}},
    {"RandomContrast", R"({"factor": 0.1, "value_range": [3, 3]})", {}, {"value_range", "3"}},
    {"RandomBrightness", R"({"factor": 2})", {}, {"factor", "2"}},
    {"RandomBrightness", R"({"factor": 0.5})", {2, 3}, {"rank 2"}},
};

TEST(ImageLayers, SayWhatIsWrong) {
  for (const Bad& bad : kBad) {
    SCOPED_TRACE(std::string(bad.type) + " " + bad.config);
    for (const bool training : {false, true}) {
      const std::string message = message_of([&] {
        const Layer layer = layer_of(bad.type, bad.config);
        if (bad.input.rank() > 0) layer(ones(bad.input), {.training = training});
      });
      for (const char* part : bad.says) EXPECT_NE(message.find(part), message.npos) << part << " in: " << message;
    }
  }
  EXPECT_THROW(layers::RandomRotation(NAN), ValueError);
  EXPECT_THROW(layers::RandomRotation({0.1, NAN}), ValueError);
  EXPECT_THROW(layers::RandomRotation({NAN, 0.1}), ValueError);
  EXPECT_THROW(layers::RandomContrast({NAN, 0.1}), ValueError);
  EXPECT_THROW(layers::RandomBrightness(0.1, {.value_range = {0, INFINITY}}), ValueError);
  EXPECT_THROW(layers::RandomBrightness(0.1, {.value_range = {0, NAN}}), ValueError);
  EXPECT_THROW(layers::RandomFlip()(zeros({2, 2, 2, 1}, complex64)), DTypeError);
}

TEST(ImageLayers, HaveConfigurationsThatKerasReads) {
  const std::string zoom = layers::RandomZoom({-0.25, 0.5}, {.seed = 3}).get_config().to_json();
  const std::string own = R"("height_factor": [-0.25, 0.5], "width_factor": null, "fill_mode": "reflect", )"
                          R"("interpolation": "bilinear", "seed": 3, "fill_value": 0.0)";
  EXPECT_NE(zoom.find(own), zoom.npos) << zoom;
  EXPECT_EQ(layers::RandomRotation(0.5).get_config().find("factor")->to_json(), "0.5");
  EXPECT_EQ(layers::RandomContrast(0.5).get_config().find("factor")->to_json(), "[0.5, 0.5]");
  EXPECT_EQ(layers::RandomBrightness(0.5).get_config().find("value_range")->to_json(), "[0.0, 255.0]");
}

}  // namespace
}  // namespace capstan
