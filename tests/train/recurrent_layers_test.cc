// Recurrent layers beyond single calls: states that are kept, functions, batches of functions, cells of a program.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "capstan/testing.h"
#include "tests/support/message_of.h"
#include "tests/support/compare.h"

namespace capstan::testing {
namespace {

using namespace layers;

Tensor drawn(const Shape& shape, std::uint64_t seed, DType dtype = float64) {
  return random::normal(shape, 0, 1, dtype, seed);
}

void expect_near(const Tensor& got, const Tensor& want, double tolerance = 1e-12) {
  ASSERT_EQ(got.shape(), want.shape());
  EXPECT_LE(reduce_max(abs(got - want)).item<double>(), tolerance);
}

// h = h / 2 + x, with the sum of all steps as a second state; the output is neither.
class Halving : public CellBody {
 public:
  Halving() : CellBody({.dtype = "float64"}) {}
  std::vector<Shape> state_shapes(const Shape& input_shape) const override {
    return {{input_shape[-1]}, {input_shape[-1]}};
  }
  void build(const std::vector<Shape>& shapes) override {
    ASSERT_EQ(shapes.size(), 3u);
    factor_ = add_weight({.name = "factor", .shape = {shapes[0][-1]}, .initializer = "ones"});
  }
  Nest call(const Nest& inputs, const CallOptions&) override {
    const Tensor h = inputs[1][0].tensor() * 0.5 + inputs[0].tensor() * factor_;
    return {h * 10.0, {h, inputs[1][1].tensor() + inputs[0].tensor()}};
  }
  Variable factor_;
};

struct Kind {
  std::string name;
  std::function<Layer(bool sequences, bool backwards)> make;
};

std::vector<Kind> kinds() {
  const DTypePolicy dtype = "float64";
  return {
      {"SimpleRNN",
       [=](bool s, bool b) { return SimpleRNN(3, {.return_sequences = s, .go_backwards = b, .dtype = dtype}); }},
      {"LSTM", [=](bool s, bool b) { return LSTM(3, {.return_sequences = s, .go_backwards = b, .dtype = dtype}); }},
      {"GRU", [=](bool s, bool b) { return GRU(3, {.return_sequences = s, .go_backwards = b, .dtype = dtype}); }},
      {"GRUResetBefore",
       [=](bool s, bool b) {
         return GRU(3, {.reset_after = false, .return_sequences = s, .go_backwards = b, .dtype = dtype});
       }},
      {"Stacked",
       [=](bool s, bool b) {
         return RNN(StackedRNNCells({LSTMCell(2, {.dtype = dtype}), GRUCell(3, {.dtype = dtype})}, {.dtype = dtype}),
                    {.return_sequences = s, .go_backwards = b, .dtype = dtype});
       }},
      {"OwnCell",
       [=](bool s, bool b) {
         return RNN(LayerOf<Halving>(), {.return_sequences = s, .go_backwards = b, .dtype = dtype});
       }},
      {"Bidirectional",
       [=](bool s, bool b) {
         return Bidirectional(LSTM(3, {.return_sequences = s, .go_backwards = b, .dtype = dtype}), {.dtype = dtype});
       }},
  };
}

class EveryRecurrentLayer : public ::testing::TestWithParam<int> {
 protected:
  Layer make(bool sequences, bool backwards = false) const {
    return kinds()[static_cast<std::size_t>(GetParam())].make(sequences, backwards);
  }
};

TEST_P(EveryRecurrentLayer, IsTheSameInFunctions) {
  const Tensor mask = constant({{true, false, true, true}, {false, true, true, false}});
  for (const bool sequences : {false, true}) {
    for (const bool backwards : {false, true}) {
      for (const bool masked : {false, true}) {
        const Layer layer = make(sequences, backwards);
        const Tensor x = drawn({2, 4, 3}, 1);
        const CallOptions options{.mask = masked ? Nest(mask) : Nest()};
        const auto step = [&](const Tensor& in) {
          GradientTape tape;
          tape.watch(in);
          const Tensor y = layer(in, options);
          return std::vector<Tensor>{y, tape.gradient(reduce_sum(y * y), in)};
        };
        const std::vector<Tensor> plain = step(x);
        const std::vector<Tensor> traced = function(step)(x);
        expect_near(traced[0], plain[0]);
        expect_near(traced[1], plain[1], 1e-10);
      }
    }
  }
}

TEST_P(EveryRecurrentLayer, TakesBatchesOfAllLengthsInFunctions) {
  const Layer layer = make(true);
  layer(drawn({2, 4, 3}, 1));
  auto f = function([&](const Tensor& x) { return layer(x); }, {.reduce_retracing = true});
  for (const std::int64_t batch : {2, 3, 5, 7, 4}) {
    const Tensor x = drawn({batch, 4, 3}, 7);
    expect_near(f(x), layer(x));
  }
}

TEST_P(EveryRecurrentLayer, RunsUnderVectorizedMap) {
  const Layer layer = make(true);
  const Tensor x = drawn({3, 2, 4, 3}, 3);
  layer(x[0]);
  const Tensor all = vectorized_map([&](const Tensor& one) { return layer(one); }, x);
  for (int i = 0; i < 3; ++i) expect_near(all[i], layer(x[i]));
}

TEST_P(EveryRecurrentLayer, HasGradientsOfSecondOrder) {
  const Layer layer = make(false);
  layer(drawn({2, 3, 2}, 1));
  check_gradients([&](const std::vector<Tensor>& inputs) { return layer(inputs[0]); }, {drawn({2, 3, 2}, 5)},
                  {.order = 2, .directions = 2});
}

TEST_P(EveryRecurrentLayer, MaskedStepsDoNotCount) {
  const Layer layer = make(false);
  const Tensor x = drawn({1, 4, 3}, 3);
  const Tensor shorter = concat({x(slice(), slice(0, 1)), x(slice(), slice(2, 3))}, 1);
  expect_near(layer(x, {.mask = constant({{true, false, true, false}})}), layer(shorter));
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryRecurrentLayer, ::testing::Range(0, 7),
                         [](const auto& info) { return kinds()[static_cast<std::size_t>(info.param)].name; });

TEST(RecurrentLayers, CellsOfAProgram) {
  const RNN rnn(LayerOf<Halving>(), {.return_sequences = true, .return_state = true, .dtype = "float64"});
  const Nest result = rnn(Nest(constant({{{1.0}, {2.0}, {3.0}}})));
  ASSERT_EQ(result.size(), 3u);
  EXPECT_EQ(result[0].tensor().to_vector<double>(), (std::vector<double>{10, 25, 42.5}));
  EXPECT_EQ(result[1].tensor().to_vector<double>(), (std::vector<double>{4.25}));
  EXPECT_EQ(result[2].tensor().to_vector<double>(), (std::vector<double>{6}));
  EXPECT_EQ(rnn.weights().size(), 1u);
}

TEST(RecurrentLayers, CellsComputeOneStep) {
  const LSTM lstm(3, {.return_state = true, .dtype = "float64"});
  const Tensor x = drawn({2, 1, 4}, 1), h = drawn({2, 3}, 2), c = drawn({2, 3}, 3);
  const Nest whole = lstm(Nest(x), {.initial_state = {h, c}});
  const Nest step = lstm.cell()({x(slice(), 0), {h, c}});
  expect_near(step[0].tensor(), whole[0].tensor());
  expect_near(step[1][1].tensor(), whole[2].tensor());
}

TEST(RecurrentLayers, DropTheSameOfAllSteps) {
  for (const double recurrent : {0.0, 0.5}) {
    const auto make = [&](std::uint64_t seed) {
      set_seed(5);
      return LSTM(4, {.dropout = 0.5, .recurrent_dropout = recurrent, .seed = seed, .return_sequences = true});
    };
    const Tensor x = ones({2, 3, 5}, float32);
    const LSTM layer = make(3), same = make(3);
    const Tensor first = layer(x, {.training = true}), second = layer(x, {.training = true});
    EXPECT_GT(reduce_max(abs(first - second)).item<float>(), 0) << "each call draws anew";
    expect_near(same(x, {.training = true}), first, 0);
    expect_near(function([&](const Tensor& in) { return same(in, {.training = true}); })(x), second, 1e-6);
    EXPECT_EQ(reduce_max(abs(layer(x) - same(x))).item<float>(), 0);
  }
  // Everything is dropped: what is left does not depend on the input.
  const SimpleRNN nothing(2, {.dropout = 1.0});
  const Tensor x = drawn({2, 3, 5}, 4, float32);
  expect_near(nothing(x, {.training = true}), nothing(zeros({2, 3, 5}, float32)), 0);
  // Dropout of a known seed: the mask of the first step is that of all steps.
  const SimpleRNN linear(2, {.activation = "linear",
                             .kernel_initializer = "ones",
                             .recurrent_initializer = "zeros",
                             .dropout = 0.5,
                             .return_sequences = true});
  const Tensor y = linear(ones({6, 4, 3}, float32), {.training = true});
  for (int t = 1; t < 4; ++t) expect_near(y(slice(), t), y(slice(), 0), 0);
}

TEST(RecurrentLayers, ConfigurationsGoThereAndBack) {
  const std::vector<Layer> all = {LSTM(3, {.unit_forget_bias = false, .dropout = 0.25, .seed = 4}),
                                  RNN(StackedRNNCells({LSTMCell(2), GRUCell(3)}), {.return_state = true}),
                                  Bidirectional(GRU(2, {.stateful = true}), {.merge_mode = {}}),
                                  TimeDistributed(Dense(3))};
  for (const Layer& layer : all) {
    const std::string text = serialize(layer).to_json();
    EXPECT_EQ(serialize(layer_from(AttributeValue::from_json(text))).to_json(), text);
  }
  const AttributeValue config = all[0].get_config();
  for (const char* key : {"name",
                          "trainable",
                          "dtype",
                          "return_sequences",
                          "return_state",
                          "go_backwards",
                          "stateful",
                          "unroll",
                          "zero_output_for_mask",
                          "units",
                          "activation",
                          "recurrent_activation",
                          "use_bias",
                          "unit_forget_bias",
                          "kernel_initializer",
                          "recurrent_initializer",
                          "bias_initializer",
                          "kernel_regularizer",
                          "recurrent_regularizer",
                          "bias_regularizer",
                          "activity_regularizer",
                          "kernel_constraint",
                          "recurrent_constraint",
                          "bias_constraint",
                          "dropout",
                          "recurrent_dropout",
                          "seed"}) {
    EXPECT_NE(config.find(key), nullptr) << key;
  }
}

TEST(RecurrentLayers, MasksTravelOnlyWithSequences) {
  const Tensor x = with_mask(drawn({2, 3, 4}, 1, float32), constant({{true, true, false}, {true, false, false}}));
  EXPECT_TRUE(mask_of(LSTM(2, {.return_sequences = true})(x)).has_value());
  EXPECT_FALSE(mask_of(LSTM(2)(x)).has_value());
  const Nest result = LSTM(2, {.return_sequences = true, .return_state = true})(Nest(x));
  EXPECT_TRUE(mask_of(result[0].tensor()).has_value());
  EXPECT_FALSE(mask_of(result[1].tensor()).has_value());
  EXPECT_TRUE(mask_of(TimeDistributed(Dense(2))(x)).has_value());
}

TEST(RecurrentLayers, WorkInFunctionalModels) {
  const Tensor in = Input({-1, 4});
  const Nest encoded = LSTM(3, {.return_state = true})(Nest(in));
  const Tensor y = LSTM(3, {.return_sequences = true})(Nest(in), {.initial_state = {encoded[1], encoded[2]}}).tensor();
  const Model model(in, TimeDistributed(Dense(2))(y));
  EXPECT_EQ(model(zeros({5, 7, 4})).shape(), Shape({5, 7, 2}));
  EXPECT_EQ(model(zeros({1, 2, 4})).shape(), Shape({1, 2, 2}));
}

TEST(RecurrentLayers, ConvolutionalOnesAgreeWithChannelsFirst) {
  const Tensor x = drawn({2, 3, 5, 4, 2}, 1);
  const ConvLSTM2D last(3, {2, 3},
                        {.strides = {2, 1}, .dropout = 0.5, .seed = 1, .return_sequences = true, .dtype = "float64"});
  const ConvLSTM2D first(
      3, {2, 3}, {.strides = {2, 1}, .data_format = "channels_first", .return_sequences = true, .dtype = "float64"});
  const Tensor y = last(x), swapped = transpose(x, {0, 1, 4, 2, 3});
  EXPECT_EQ(y.shape(), Shape({2, 3, 2, 2, 3}));
  first(swapped);
  first.set_weights(last.get_weights());
  expect_near(transpose(first(swapped), {0, 1, 3, 4, 2}), y);
  expect_near(function([&](const Tensor& in) { return last(in); })(x), y);
  EXPECT_GT(reduce_max(abs(last(x, {.training = true}) - y)).item<double>(), 0);
}

// Keras takes nothing else from a file.
TEST(ConvLSTMLayers, ConfigurationsHaveALengthForEveryAxis) {
  const AttributeValue config = ConvLSTM2D(2, {3}).get_config();
  EXPECT_EQ(config.find("kernel_size")->to_json(), "[3, 3]");
  EXPECT_EQ(config.find("strides")->to_json(), "[1, 1]");
  EXPECT_EQ(config.find("dilation_rate")->to_json(), "[1, 1]");
}

TEST(RecurrentLayers, ErrorsSayWhatWasExpected) {
  const Tensor x = zeros({2, 3, 4}, float32);
  const auto says = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(message_of<ValueError>([] { LSTM(0); }), "\"units\" must be at least 1, not 0");
  says(message_of<ValueError>([] { GRU(2, {.dropout = 1.5}); }),
       "\"dropout\" must be at least 0.0 and at most 1.0, not 1.5");
  says(message_of<ValueError>([] { RNN(Dense(2)); }), "a cell has states");
  says(message_of<ValueError>([] { StackedRNNCells({}); }), "at least one cell");
  says(message_of<ValueError>([] { Bidirectional(Dense(2)); }), "must be recurrent");
  says(message_of<ValueError>([] { Bidirectional(LSTM(2), {.merge_mode = "max"}); }), "\"merge_mode\"");
  says(message_of<ValueError>([] { Bidirectional(LSTM(2), {.backward_layer = LSTM(2)}); }), "go_backwards");
  says(message_of<ValueError>([] {
         layer_from(AttributeValue::from_json(R"({"class_name": "TimeDistributed", "config": {"layer": 3}})"));
       }),
       "\"layer\" must be a layer, not 3");
  says(message_of<ShapeError>([&] { LSTM(2)(x[0]); }), "must be [batch, time, features], not [3, 4]");
  says(message_of<ShapeError>([&] { LSTM(2)(zeros({2, 0, 4}, float32)); }), "at least one step");
  says(message_of<ShapeError>([&] { TimeDistributed(Dense(1))(x[0]); }), "[batch, time, ...], not [3, 4]");
  says(message_of<ValueError>([] { ConvLSTM2D(2, {1, 2, 3}); }), "1 or 2 lengths, not 3");
  says(message_of<ValueError>([] { ConvLSTM2D(2, {0}); }), "\"kernel_size\" must be at least 1");
  says(message_of<ValueError>([] { ConvLSTM2D(2, {3}, {.strides = {2}, .dilation_rate = {2}}); }),
       "exclude each other");
  says(message_of<ShapeError>([&] { ConvLSTM1D(2, {3})(x); }), "must have rank 4");
  says(message_of<ShapeError>([&] { ConvLSTM1D(2, {5})(zeros({1, 2, 4, 1}, float32)); }), "spans 5 does not fit");
  const GRU gru(2);
  gru(x);
  says(message_of<ShapeError>([&] { gru(zeros({2, 3, 5}, float32)); }), "must have length 4, not 5");
  says(message_of<ValueError>([&] { gru(x, {.initial_state = {x, x}}); }), "1 states, not 2");
  says(message_of<ShapeError>([&] { gru(x, {.initial_state = {zeros({2, 3}, float32)}}); }), "[2, 2], not [2, 3]");
  says(message_of<ShapeError>([&] { gru(x, {.mask = constant({{true, true}, {true, true}})}); }), "[2, 3], not [2, 2]");
  says(message_of<DTypeError>([&] { gru(x, {.mask = zeros({2, 3}, float32)}); }), "must be bool");
  says(message_of<ValueError>([&] { gru({x, x}); }), "initial_state");
  says(message_of<ValueError>([&] { gru.reset_state(); }), ".stateful = true");
  says(message_of<ValueError>([&] { RNN::from(Dense(2)); }), "no recurrent layer");
  const GRU keeping(2, {.stateful = true});
  keeping(x);
  says(message_of<ShapeError>([&] { keeping(zeros({3, 3, 4}, float32)); }), "[3, 2], not [2, 2]");
  says(message_of<ValueError>([&] { GRUCell(2)(x[0]); }), "list of states");
}

}  // namespace
}  // namespace capstan::testing
