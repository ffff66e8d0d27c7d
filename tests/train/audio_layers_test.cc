// Spectrograms: in functions, mapped, with gradients, and what they refuse. Values of Keras are in layers_audio.json,
// which keras_layers.cc reads.
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
  Shape input;  // of one example
  Shape output;
};
std::ostream& operator<<(std::ostream& out, const One& one) { return out << one.type; }

const One kAll[] = {
    {"MelSpectrogram",
     R"({"fft_length": 16, "sequence_stride": 5, "num_mel_bins": 3, "sampling_rate": 4000, "power_to_db": false})",
     {40},
     {3, 9}},
    // What is far below the largest number depends on all examples.
    {"MelSpectrogram",
     R"({"fft_length": 16, "sequence_length": 10, "sequence_stride": 8, "num_mel_bins": 4, "top_db": 300})",
     {40},
     {4, 6}},
    {"STFTSpectrogram", R"({"mode": "magnitude", "frame_length": 8})", {30, 2}, {6, 10}},
    {"STFTSpectrogram", R"({"mode": "log", "frame_length": 6, "expand_dims": true})", {30, 2}, {9, 5, 2}},
    {"STFTSpectrogram", R"({"mode": "stft", "frame_length": 8, "data_format": "channels_first"})", {2, 30}, {20, 6}},
    {"STFTSpectrogram",
     R"({"mode": "psd", "frame_length": 8, "expand_dims": true, "data_format": "channels_first", "padding": "same"})",
     {2, 30},
     {2, 8, 5}},
};

class AudioLayers : public ::testing::TestWithParam<One> {};

TEST_P(AudioLayers, AgreeInEveryWayOfCalling) {
  const One& one = GetParam();
  std::string config = one.config;
  config.insert(1, R"("dtype": "float64", )");
  const Layer layer = layer_of(one.type, config);
  Shape shape({3});
  for (const std::int64_t dim : one.input) shape.push_back(dim);
  const Tensor x = random::normal(shape, 0, 1, float64, 7);
  const Tensor y = layer(x);
  Shape result({3});
  for (const std::int64_t dim : one.output) result.push_back(dim);
  EXPECT_EQ(y.shape(), result);
  EXPECT_EQ(y.dtype(), float64);
  const Layer again = layer_from(AttributeValue::from_json(serialize(layer).to_json()));
  expect_same(again(x), y, "made again");
  const auto loss = [&](const Tensor& in) { return reduce_mean(square(layer(in))); };
  const auto gradient = [&](const Tensor& in) {
    GradientTape tape;
    tape.watch(in);
    return tape.gradient(loss(in), in);
  };
  auto traced = function([&](const Tensor& in) { return std::tuple(layer(in), gradient(in)); });
  const auto [value, first] = traced(x);
  expect_same(value, y, "traced");
  expect_same(first, gradient(x), "traced gradient");
  const auto example = [&](const Tensor& in) { return squeeze(layer(expand_dims(in, 0)), {0}); };
  expect_same(vectorized_map(example, x), y, "vectorized");
  const Tensor direction = cos(x);
  const double step = 1e-6;
  const Tensor numeric = (loss(x + direction * step) - loss(x - direction * step)) / (2 * step);
  EXPECT_EQ(difference(reduce_sum(gradient(x) * direction), numeric, {.relative = 1e-5, .floor = 1e-5}), "");
  // Weights have gradients as well.
  if (!layer.trainable_variables().empty()) {
    GradientTape tape;
    const Tensor target = loss(x);
    for (const Tensor& g : tape.gradient(target, layer.trainable_variables())) {
      EXPECT_GT(reduce_max(abs(g)).item<double>(), 0);
    }
  }
  // No examples, and integers.
  result.set(0, 0);
  EXPECT_EQ(layer(x(Slice{0, 0})).shape(), result);
  EXPECT_EQ(layer(cast(x * 10.0, int32)).dtype(), float64);
}

INSTANTIATE_TEST_SUITE_P(All, AudioLayers, ::testing::ValuesIn(kAll), [](const auto& info) {
  return std::string(info.param.type) + "_" + std::to_string(info.index);
});

TEST(MelSpectrogram, FindsATone) {
  // 1000 Hz are 1000 mel; the bands are 100 mel apart, so band 9 is the one.
  const double highest = 700 * (std::exp(2100 / 1127.0) - 1);
  const layers::MelSpectrogram layer({.fft_length = 512,
                                      .sequence_stride = 256,
                                      .sampling_rate = 8000,
                                      .num_mel_bins = 20,
                                      .min_freq = 0,
                                      .max_freq = highest});
  const Tensor time = cast(range(4000), float32) / 8000.0;
  const Tensor y = layer(sin(time * (2 * 3.14159265358979 * 1000)));
  EXPECT_EQ(y.shape(), Shape({20, 16}));
  EXPECT_EQ(argmax(y(ellipsis, 8), 0).item<std::int64_t>(), 9);
  // Decibels go as far below the largest number as they may.
  EXPECT_NEAR(reduce_max(y).item<float>() - reduce_min(y).item<float>(), 80, 1e-3);
}

struct Bad {
  const char* type;
  const char* config;
  Shape input;  // empty: the options are refused
  std::vector<const char*> says;
};

const Bad kBad[] = {
    {"MelSpectrogram", R"({"fft_length": 0})", {}, {"fft_length", "at least 1", "0"}},
    {"MelSpectrogram", R"({"fft_length": 8, "sequence_length": 9})", {}, {"fft_length is 8", "9"}},
    {"MelSpectrogram", R"({"sequence_stride": 0})", {}, {"sequence_stride", "0"}},
    {"MelSpectrogram", R"({"window": "kaiser"})", {}, {"window", "\"kaiser\"", "hann"}},
    {"MelSpectrogram", R"({"min_freq": 500, "max_freq": 400})", {}, {"max_freq is 400", "500"}},
    {"MelSpectrogram", R"({"min_power": 0})", {}, {"min_power", "more than 0"}},
    {"MelSpectrogram", R"({"fft_length": 16})", {2, 3, 40}, {"rank 3", "[batch, samples]"}},
    {"MelSpectrogram", R"({"fft_length": 16})", {2, 8}, {"8 samples", "16"}},
    {"STFTSpectrogram", R"({"mode": "phase"})", {}, {"mode", "\"phase\"", "angle"}},
    {"STFTSpectrogram", R"({"frame_length": 1})", {}, {"frame_length", "at least 2"}},
    {"STFTSpectrogram", R"({"frame_length": 8, "frame_step": 9})", {}, {"frame_step is 9", "8"}},
    {"STFTSpectrogram", R"({"frame_length": 8, "fft_length": 7})", {}, {"fft_length is 7", "8"}},
    {"STFTSpectrogram", R"({"frame_length": 9223372036854775807})", {}, {"fft_length", "frame_length"}},
    {"STFTSpectrogram", R"({"scaling": "power"})", {}, {"scaling", "\"power\""}},
    {"STFTSpectrogram", R"({"padding": "causal"})", {}, {"padding", "\"causal\""}},
    {"STFTSpectrogram", R"({"frame_length": 8})", {2, 30}, {"rank 3", "[2, 30]"}},
    {"STFTSpectrogram", R"({"frame_length": 8})", {2, 7, 1}, {"[8]", "[2, 7, 1]"}},
};

TEST(AudioLayers, SayWhatIsWrong) {
  for (const Bad& bad : kBad) {
    SCOPED_TRACE(std::string(bad.type) + " " + bad.config);
    const std::string message = message_of([&] {
      const Layer layer = layer_of(bad.type, bad.config);
      if (bad.input.rank() > 0) layer(ones(bad.input));
    });
    for (const char* part : bad.says) EXPECT_NE(message.find(part), message.npos) << part << " in: " << message;
  }
  EXPECT_THROW(layers::MelSpectrogram({.fft_length = 8})(zeros({20}, complex64)), DTypeError);
}

}  // namespace
}  // namespace capstan
