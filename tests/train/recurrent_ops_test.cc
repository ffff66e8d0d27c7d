// Recurrent layers whose steps are one op compute what the steps one by one do.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "capstan/capstan.h"

namespace capstan::testing {
namespace {

using namespace layers;

Tensor drawn(const Shape& shape, std::uint64_t seed, DType dtype = float64) {
  return random::normal(shape, 0, 1, dtype, seed);
}

struct Case {
  bool gru, sequences, backwards, masked, zero_output, initial, use_bias = true;
};

// The same layer as one op, and unrolled, which runs step by step.
struct Pair {
  Layer whole, unrolled;
  Pair(const Case& c, std::int64_t units, const Tensor& x) {
    for (Layer* const layer : {&whole, &unrolled}) {
      const bool unroll = layer == &unrolled;
      if (c.gru) {
        *layer = GRU(units, {.use_bias = c.use_bias,
                             .bias_initializer = "glorot_uniform",
                             .return_sequences = c.sequences,
                             .return_state = true,
                             .go_backwards = c.backwards,
                             .unroll = unroll,
                             .zero_output_for_mask = c.zero_output,
                             .dtype = x.dtype()});
      } else {
        *layer = LSTM(units, {.use_bias = c.use_bias,
                              .return_sequences = c.sequences,
                              .return_state = true,
                              .go_backwards = c.backwards,
                              .unroll = unroll,
                              .zero_output_for_mask = c.zero_output,
                              .dtype = x.dtype()});
      }
      (*layer)(Nest(x));
    }
    unrolled.set_weights(whole.get_weights());
  }
};

// Outputs, gradients and gradients of these, of a sum in which every element has its own factor.
std::vector<Tensor> everything(const Layer& layer, const Case& c, const Tensor& x, const std::vector<Tensor>& states) {
  const Tensor mask = constant({{false, true, false, true, true}, {true, true, true, false, false}});
  std::vector<Tensor> sources;
  sources.push_back(x);
  for (const Tensor& state : states) {
    if (c.initial) sources.push_back(state);
  }
  GradientTape outer({.persistent = true});
  for (const Tensor& source : sources) outer.watch(source);
  GradientTape inner({.persistent = true});
  for (const Tensor& source : sources) inner.watch(source);
  const Nest result =
      layer(Nest(x), {.mask = c.masked ? Nest(mask) : Nest(), .initial_state = c.initial ? Nest(states) : Nest()});
  std::vector<Tensor> all = result.tensors();
  Tensor total = zeros({}, x.dtype());
  for (std::size_t i = 0; i < all.size(); ++i) total = total + reduce_sum(all[i] * drawn(all[i].shape(), 100 + i));
  std::vector<Tensor> first = inner.gradient(total, sources);
  for (const Tensor& g : inner.gradient(total, layer.trainable_variables())) first.push_back(g);
  Tensor squares = zeros({}, x.dtype());
  for (const Tensor& g : first) squares = squares + reduce_sum(square(g));
  for (const Tensor& g : first) all.push_back(g);
  for (const Tensor& g : outer.gradient(squares, sources)) all.push_back(g);
  for (const Tensor& g : outer.gradient(squares, layer.trainable_variables())) all.push_back(g);
  return all;
}

TEST(RecurrentOps, AreTheStepsWithAllGradients) {
  const Tensor x = drawn({2, 5, 3}, 1);
  for (int bits = 0; bits < 64; ++bits) {
    const auto bit = [&](int i) { return (bits >> i & 1) != 0; };
    const Case c{bit(0), bit(1), bit(2), bit(3), bit(4), bit(5), bits % 3 != 0};
    if (c.zero_output && !c.masked) continue;
    SCOPED_TRACE(bits);
    const Pair layers(c, 4, x);
    std::vector<Tensor> states;
    states.push_back(drawn({2, 4}, 2));
    if (!c.gru) states.push_back(drawn({2, 4}, 3));
    const std::vector<Tensor> want = everything(layers.unrolled, c, x, states);
    const std::vector<Tensor> got = everything(layers.whole, c, x, states);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].shape(), want[i].shape()) << i;
      const double size = reduce_max(abs(want[i])).item<double>();
      EXPECT_GT(size, 0) << i;
      EXPECT_LE(reduce_max(abs(got[i] - want[i])).item<double>(), 1e-11 * (1 + size)) << i;
    }
  }
}

// More sequences than a task has, and units that fill no block.
TEST(RecurrentOps, AreTheStepsForOddLengthsInFunctions) {
  for (const bool gru : {false, true}) {
    for (const std::int64_t units : {1, 21, 40}) {
      SCOPED_TRACE(units);
      const Tensor x = drawn({67, 4, 5}, 4, float32);
      const Case c{gru, true, false, false, false, false};
      const Pair layers(c, units, x);
      const auto step = [](const Layer& layer) {
        return function([layer](const Tensor& in) {
          GradientTape tape;
          const Tensor y = layer(Nest(in))[0].tensor();
          std::vector<Tensor> results = tape.gradient(reduce_sum(y * y), layer.trainable_variables());
          results.push_back(y);
          return results;
        });
      };
      const std::vector<Tensor> want = step(layers.unrolled)(x), got = step(layers.whole)(x);
      for (std::size_t i = 0; i < got.size(); ++i) {
        const float size = reduce_max(abs(want[i])).item<float>();
        EXPECT_LE(reduce_max(abs(got[i] - want[i])).item<float>(), 1e-5f * (1 + size)) << i;
      }
    }
  }
}

// What other threads do changes no bit.
TEST(RecurrentOps, HaveTheSameBitsForAnyNumberOfThreads) {
  const Tensor z = drawn({70, 3, 80}, 5, float32), u = drawn({20, 80}, 6, float32), h = drawn({70, 20}, 7, float32);
  const int before = num_threads();
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    const LstmSequence all = lstm(z, u, h, h);
    const LstmGradients g = lstm_gradients(all.gates, all.cells, u, h, all.h, zeros({0, 0}, bool_));
    results.push_back(
        concat({reshape(all.h, {-1}), reshape(g.z, {-1}), reshape(g.first_h, {-1})}, 0).to_vector<float>());
  }
  set_num_threads(before);
  EXPECT_EQ(results[0], results[1]);
}

// Other activations, and dropout of the states, have no op.
TEST(RecurrentOps, AreNotUsedForAnythingElse) {
  const Tensor x = drawn({2, 3, 4}, 8, float32);
  const auto ops_of = [&](const Layer& layer) {
    layer(Nest(x), {.training = true});
    const Profile seen = profile([&] { layer(Nest(x), {.training = true}); });
    std::vector<std::string> names;
    for (const ProfileRow& row : seen.rows()) names.push_back(row.name);
    return names;
  };
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  EXPECT_TRUE(has(ops_of(LSTM(2)), "lstm"));
  EXPECT_TRUE(has(ops_of(LSTM(2, {.dropout = 0.5})), "lstm"));
  EXPECT_TRUE(has(ops_of(GRU(2)), "gru"));
  EXPECT_TRUE(has(ops_of(Bidirectional(GRU(2))), "gru"));
  EXPECT_FALSE(has(ops_of(LSTM(2, {.activation = "relu"})), "lstm"));
  EXPECT_FALSE(has(ops_of(LSTM(2, {.recurrent_activation = "hard_sigmoid"})), "lstm"));
  EXPECT_FALSE(has(ops_of(LSTM(2, {.recurrent_dropout = 0.5})), "lstm"));
  EXPECT_FALSE(has(ops_of(LSTM(2, {.unroll = true})), "lstm"));
  EXPECT_FALSE(has(ops_of(GRU(2, {.reset_after = false})), "gru"));
}

}  // namespace
}  // namespace capstan::testing
