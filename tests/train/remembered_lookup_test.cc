// Models in which a recurrent layer multiplies the table of an embedding, not the rows: results and gradients are those
// of the same layers called by hand, which multiply the rows.
#include "src/train/remembered_lookup.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;
using testing::same_bits;

constexpr std::int64_t kRows = 7, kWidth = 3, kUnits = 4;
const CallOptions kTraining{.training = true};

Tensor some_ids() { return constant({{0, 3, 3, 6, 1}, {2, 0, -1, 3, 0}}); }

// An embedding and a layer behind it.
struct Chain {
  Layer embedding, layer;
  Sequential model;

  explicit Chain(const Layer& layer, const layers::EmbeddingOptions& options = {.dtype = float64},
                 std::int64_t rows = kRows)
      : embedding(layers::Embedding(rows, kWidth, options)), layer(layer), model({embedding, layer}) {
    model(some_ids());
  }
  Tensor in_model(const Tensor& ids) const { return model(ids, kTraining); }
  Tensor by_hand(const Tensor& ids) const { return layer(embedding(ids, kTraining), kTraining); }
};

// The output, the gradients for all weights, and the gradients of these.
template <class F>
std::vector<Tensor> everything(const F& f, const std::vector<Variable>& weights) {
  GradientTape outer({.persistent = true});
  GradientTape inner;
  const Tensor y = f();
  const Tensor loss = reduce_sum(y * random::normal(y.shape(), 0, 1, y.dtype(), 11));
  std::vector<Tensor> all = inner.gradient(loss, weights);
  Tensor squares = zeros({}, y.dtype());
  for (Tensor& g : all) {
    g = g.to_dense();
    squares = squares + reduce_sum(square(g));
  }
  for (const Tensor& g : outer.gradient(squares, weights)) all.push_back(g.has_value() ? g.to_dense() : g);
  all.push_back(y);
  return all;
}

void expect_close(const std::vector<Tensor>& got, const std::vector<Tensor>& want, double tolerance = 1e-11) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].has_value(), want[i].has_value()) << i;
    if (!got[i].has_value()) continue;
    EXPECT_EQ(testing::difference(got[i], want[i], {.floor = tolerance, .absolute = tolerance}), "") << i;
  }
}

// Products of the table give it a dense gradient.
bool multiplies_table(const Chain& chain) {
  GradientTape tape;
  const Tensor y = chain.in_model(some_ids());
  return !tape.gradient(y, chain.embedding.weights()[0]).is_row_sparse();
}

void expect_same(const Layer& layer, const layers::EmbeddingOptions& options = {.dtype = float64}) {
  const Chain chain(layer, options);
  EXPECT_TRUE(multiplies_table(chain));
  const std::vector<Variable>& weights = chain.model.trainable_variables();
  const std::vector<Tensor> got = everything([&] { return chain.in_model(some_ids()); }, weights);
  expect_close(got, everything([&] { return chain.by_hand(some_ids()); }, weights));
  auto traced = function([&](const Tensor& ids) { return everything([&] { return chain.in_model(ids); }, weights); });
  const std::vector<Tensor> of_function = traced(some_ids());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i].has_value()) {
      EXPECT_TRUE(same_bits(of_function[i], got[i])) << i;
    }
  }
}

TEST(RememberedLookup, GivesWhatRowsGive) {
  const DTypePolicy dtype = float64;
  expect_same(layers::LSTM(kUnits, {.return_sequences = true, .dtype = dtype}));
  expect_same(layers::LSTM(kUnits, {.go_backwards = true, .dtype = dtype}));
  expect_same(layers::GRU(kUnits, {.return_sequences = true, .dtype = dtype}));
  expect_same(layers::GRU(kUnits, {.return_sequences = true, .go_backwards = true, .dtype = dtype}));
  expect_same(layers::LSTM(kUnits, {.use_bias = false, .dtype = dtype}));
}

TEST(RememberedLookup, GivesWhatRowsGiveStepByStep) {
  const DTypePolicy dtype = float64;
  expect_same(layers::SimpleRNN(kUnits, {.return_sequences = true, .dtype = dtype}));
  expect_same(layers::SimpleRNN(kUnits, {.go_backwards = true, .dtype = dtype}));
  expect_same(layers::LSTM(kUnits, {.activation = "softsign", .return_sequences = true, .dtype = dtype}));
  expect_same(layers::LSTM(kUnits, {.unroll = true, .dtype = dtype}));
  expect_same(layers::GRU(kUnits, {.reset_after = false, .dtype = dtype}));
  expect_same(layers::RNN(
      layers::StackedRNNCells({layers::LSTMCell(kUnits, {.dtype = dtype}), layers::GRUCell(kUnits, {.dtype = dtype})},
                              {.dtype = dtype}),
      {.dtype = dtype}));
}

TEST(RememberedLookup, GivesWhatRowsGiveInBothDirections) {
  expect_same(
      layers::Bidirectional(layers::LSTM(kUnits, {.return_sequences = true, .dtype = float64}), {.dtype = float64}));
}

TEST(RememberedLookup, KeepsTheMask) {
  const layers::EmbeddingOptions options{.mask_zero = true, .dtype = float64};
  for (const bool sequences : {false, true}) {
    expect_same(layers::LSTM(kUnits, {.return_sequences = sequences, .dtype = float64}), options);
    expect_same(layers::GRU(kUnits, {.return_sequences = sequences, .dtype = float64}), options);
    expect_same(layers::SimpleRNN(kUnits, {.return_sequences = sequences, .dtype = float64}), options);
  }
}

TEST(RememberedLookup, ServesTablesThatAreNotTrained) {
  const Chain chain(layers::LSTM(kUnits, {.dtype = float64}), {.trainable = false, .dtype = float64});
  const std::vector<Variable>& weights = chain.model.trainable_variables();
  ASSERT_EQ(weights.size(), 3U);
  expect_close(everything([&] { return chain.in_model(some_ids()); }, weights),
               everything([&] { return chain.by_hand(some_ids()); }, weights));
}

TEST(RememberedLookup, KeepsStatesFromCallToCall) {
  const layers::LSTM lstm(kUnits, {.stateful = true, .dtype = float64});
  const Chain chain(lstm);
  std::vector<Tensor> results[2];
  for (const bool by_hand : {false, true}) {
    lstm.reset_state();
    for (int i = 0; i < 3; ++i) {
      results[by_hand ? 1 : 0].push_back(by_hand ? chain.by_hand(some_ids()) : chain.in_model(some_ids()));
    }
  }
  expect_close(results[0], results[1]);
}

// Each use adds its part to the gradient, of the table or of rows.
TEST(RememberedLookup, AddsUpTheUsesOfATable) {
  const layers::Embedding embedding(kRows, kWidth, {.activity_regularizer = "l2", .dtype = float64});
  const layers::LSTM lstm(kUnits, {.dtype = float64});
  const Tensor a = Input({-1}, {.dtype = int32}), b = Input({-1}, {.dtype = int32});
  const Tensor flat = layers::GlobalAveragePooling1D({.dtype = float64})(embedding(b));
  const Model model(Nest{a, b}, Nest{lstm(embedding(a)), flat});
  const Tensor ids = some_ids(), others = constant({{1, 1}, {4, 5}});
  const std::vector<Variable>& weights = model.trainable_variables();
  const auto loss_of = [](const Tensor& x, const Tensor& y, const Layer& top) {
    Tensor loss = reduce_sum(square(x)) + reduce_sum(square(y));
    for (const Tensor& more : top.losses()) loss = loss + more;
    return loss;
  };
  GradientTape tape;
  const Nest results = model(Nest{ids, others}, kTraining);
  const std::vector<Tensor> got = tape.gradient(loss_of(results[0].tensor(), results[1].tensor(), model), weights);
  GradientTape by_hand;
  const Tensor rows = embedding(ids, kTraining), other_rows = embedding(others, kTraining);
  Tensor loss = reduce_sum(square(lstm(rows, kTraining))) + reduce_sum(square(reduce_mean(other_rows, 1)));
  for (const Tensor& x : {rows, other_rows}) loss = loss + 0.01 * reduce_sum(square(x)) / 2;
  std::vector<Tensor> want = by_hand.gradient(loss, weights);
  for (Tensor& g : want) g = g.to_dense();
  std::vector<Tensor> dense = got;
  for (Tensor& g : dense) g = g.to_dense();
  expect_close(dense, want);
}

// Rows that a program can see have gradients of their own.
TEST(RememberedLookup, IsNotForRowsThatOthersSee) {
  const layers::Embedding embedding(kRows, kWidth);
  const layers::LSTM lstm(kUnits);
  const Tensor ids = Input({-1}, {.dtype = int32});
  const Tensor rows = embedding(ids);
  const Model model(ids, Nest{rows, lstm(rows)});
  GradientTape tape({.persistent = true});
  const Nest results = model(Nest(some_ids()), kTraining);
  const Tensor loss = reduce_sum(results[1].tensor());
  EXPECT_TRUE(tape.gradient(loss, results[0].tensor()).has_value());
  EXPECT_TRUE(tape.gradient(loss, embedding.weights()[0]).is_row_sparse());
  // Nor if the embedding is called outside of a model.
  const Tensor seen = embedding(some_ids(), kTraining);
  EXPECT_TRUE(tape.gradient(reduce_sum(lstm(seen, kTraining)), seen).has_value());
}

// A layer of the program may ask for the gradient of its input.
TEST(RememberedLookup, IsNotForLayersOfThePrograms) {
  struct Asks : LayerBody {
    layers::LSTM lstm{kUnits};
    Tensor slope;
    Tensor call(const Tensor& x, const CallOptions&) override {
      GradientTape tape;
      tape.watch(x);
      const Tensor y = lstm(x);
      slope = tape.gradient(reduce_sum(y), x);
      return y;
    }
  };
  const LayerOf<Asks> asks;
  const Sequential model({layers::Embedding(kRows, kWidth), asks});
  model(some_ids(), kTraining);
  EXPECT_TRUE(asks->slope.has_value());
}

// What is written for inputs is not changed by the table: the masks of dropout differ from sequence to sequence.
TEST(RememberedLookup, IsNotForDropoutOfInputs) {
  EXPECT_FALSE(multiplies_table(Chain(layers::LSTM(kUnits, {.dropout = 0.5, .dtype = float64}))));
  EXPECT_TRUE(multiplies_table(Chain(layers::LSTM(kUnits, {.recurrent_dropout = 0.5, .dtype = float64}))));
}

TEST(RememberedLookup, IsForShortTablesInTraining) {
  const auto with_rows = [](std::int64_t rows) {
    return Chain(layers::LSTM(kUnits, {.dtype = float64}), {.dtype = float64}, rows);
  };
  EXPECT_TRUE(multiplies_table(with_rows(detail::kMostRememberedRows)));
  EXPECT_FALSE(multiplies_table(with_rows(detail::kMostRememberedRows + 1)));
  const Chain chain = with_rows(kRows);
  GradientTape tape;
  const Tensor y = chain.model(some_ids());
  EXPECT_TRUE(same_bits(y, chain.layer(chain.embedding(some_ids()))));
  EXPECT_TRUE(tape.gradient(y, chain.embedding.weights()[0]).is_row_sparse());
}

TEST(RememberedLookup, RefusesIdsThatAreOutOfRange) {
  const Chain chain(layers::LSTM(kUnits, {.dtype = float64}));
  auto traced = function([&](const Tensor& ids) { return chain.in_model(ids); });
  traced(some_ids());
  for (const int id : {7, -8}) {
    const Tensor ids = constant({{0, id, 0, 0, 0}, {0, 0, 0, 0, 0}});
    EXPECT_NE(message_of<IndexError>([&] { chain.in_model(ids); }).find("out of range for input_dim 7"),
              std::string::npos);
    EXPECT_NE(message_of<IndexError>([&] { traced(ids); }).find("out of range"), std::string::npos);
  }
}

TEST(RememberedLookup, ComputesInBFloat16) {
  const layers::LSTM lstm(kUnits, {.dtype = "mixed_bfloat16"});
  const Chain chain(lstm, {.dtype = "mixed_bfloat16"});
  GradientTape tape({.persistent = true});
  const Tensor got = chain.in_model(some_ids()), want = chain.by_hand(some_ids());
  EXPECT_EQ(got.dtype(), bfloat16);
  expect_close({cast(got, float32)}, {cast(want, float32)}, 0.02);
  const Tensor slope = tape.gradient(got, chain.embedding.weights()[0]);
  EXPECT_EQ(slope.dtype(), float32);
  expect_close({slope}, {tape.gradient(want, chain.embedding.weights()[0]).to_dense()}, 0.05);
}

TEST(RememberedLookup, IsSeenByOtherTransforms) {
  const Chain chain(layers::LSTM(kUnits, {.dtype = float64}));
  const Variable& table = chain.embedding.weights()[0];
  const Tensor direction = random::normal({kRows, kWidth}, 0, 1, float64, 5);
  const ForwardAccumulator accumulator(table, direction);
  const Tensor got = chain.in_model(some_ids()), want = chain.by_hand(some_ids());
  expect_close({accumulator.jvp(got)}, {accumulator.jvp(want)});
  const auto slope_of = [&](const auto& f) {
    return vectorized_map(
        [&](const Tensor& ids) {
          GradientTape tape;
          return tape.gradient(f(expand_dims(ids, 0)), table).to_dense();
        },
        some_ids());
  };
  expect_close({slope_of([&](const Tensor& ids) { return chain.in_model(ids); })},
               {slope_of([&](const Tensor& ids) { return chain.by_hand(ids); })});
}

// One graph serves all lengths of a signature, and so does that of the rows.
TEST(RememberedLookup, ServesOpenLengths) {
  const Chain chain(layers::LSTM(kUnits, {.return_sequences = true, .dtype = float64}));
  const auto gradients = [&](const Tensor& ids, bool by_hand) {
    GradientTape tape;
    const Tensor y = by_hand ? chain.by_hand(ids) : chain.in_model(ids);
    std::vector<Tensor> all = tape.gradient(reduce_sum(square(y)), chain.model.trainable_variables());
    for (Tensor& g : all) g = g.to_dense();
    return all;
  };
  for (const bool by_hand : {false, true}) {
    auto step = function([&](const Tensor& ids) { return gradients(ids, by_hand); },
                         {.input_signature = {TensorSpec({-1, -1}, int32)}});
    for (const Tensor& ids : {some_ids(), constant({{5, 0}, {0, 6}}), constant({{1, 2}, {3, 4}, {5, 6}})}) {
      expect_close(step(ids), gradients(ids, true));
    }
    EXPECT_EQ(tracing_count(step), 1);
  }
}

TEST(RememberedLookup, TrainsWithFit) {
  const Chain chain(layers::LSTM(kUnits), {});
  chain.model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  const Tensor y = random::normal({2, kUnits}, 0, 1, float32, 9);
  const double before = chain.model.fit(some_ids(), y, {.verbose = 0})["loss"].back();
  EXPECT_LT(chain.model.fit(some_ids(), y, {.epochs = 20, .verbose = 0})["loss"].back(), before);
}

}  // namespace
}  // namespace capstan
