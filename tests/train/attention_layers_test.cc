// Attention layers: what Keras's numbers do not show. Those are in tests/golden.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "capstan/testing.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

Tensor draw(const Shape& shape, std::uint64_t seed, DType dtype = float64) {
  return random::normal(shape, 0, 1, dtype, seed);
}

void expect_near(const Tensor& a, const Tensor& b, double tolerance = 1e-12) {
  EXPECT_EQ(testing::difference(a, b, {.absolute = tolerance}), "");
}

// One layer of each class and form, for query [2, 3, 4] and value [2, 5, 4].
struct Way {
  std::string name;
  std::function<Layer()> make;
  CallOptions options;
};

std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }

std::vector<Way> ways() {
  const Tensor seen =
      constant({{{true, false, true, true, false}, {true, true, true, true, true}, {false, false, true, false, false}},
                {{true, true, false, true, false}, {false, true, true, true, true}, {true, true, true, true, false}}});
  const Nest masks = {constant({{true, true, false}, {true, false, true}}),
                      constant({{true, true, false, true, true}, {true, false, true, true, false}})};
  const auto attention = [](layers::AttentionOptions o) {
    o.dtype = float64;
    return [o]() -> Layer { return layers::Attention(o); };
  };
  const auto additive = []() -> Layer { return layers::AdditiveAttention({.dtype = float64}); };
  const auto multi = []() -> Layer { return layers::MultiHeadAttention(2, 3, {.dtype = float64}); };
  const auto group = []() -> Layer { return layers::GroupQueryAttention(3, 4, 2, {.dtype = float64}); };
  return {
      {"attention", attention({}), {}},
      {"attention_scale_masks", attention({.use_scale = true}), {.mask = masks}},
      {"attention_causal", attention({}), {.mask = masks, .use_causal_mask = true}},
      {"attention_scores", attention({.use_scale = true}), {.mask = masks, .return_attention_scores = true}},
      {"attention_concat", attention({.use_scale = true, .score_mode = "concat"}), {.use_causal_mask = true}},
      {"additive", additive, {.mask = masks}},
      {"multi_head", multi, {}},
      {"multi_head_causal", multi, {.use_causal_mask = true}},
      {"multi_head_masks", multi, {.mask = masks, .attention_mask = seen}},
      {"multi_head_scores", multi, {.attention_mask = seen, .use_causal_mask = true, .return_attention_scores = true}},
      {"group_query", group, {}},
      {"group_query_masks", group, {.mask = masks, .use_causal_mask = true}},
      {"group_query_scores", group, {.attention_mask = seen, .return_attention_scores = true}},
  };
}

class AttentionLayers : public ::testing::TestWithParam<Way> {};

// All results in one tensor of rank 1.
Tensor flat(const Nest& results) {
  std::vector<Tensor> parts;
  for (const Tensor& part : results.tensors()) parts.push_back(reshape(part, {-1}));
  return concat(parts, 0);
}

TEST_P(AttentionLayers, HaveGradientsOfSecondOrder) {
  const Layer layer = GetParam().make();
  layer.build_all({{2, 3, 4}, {2, 5, 4}});
  check_gradients(
      [&](const std::vector<Tensor>& x) {
        return flat(layer(Nest{x[0], x[1]}, GetParam().options));
      },
      {draw({2, 3, 4}, 1), draw({2, 5, 4}, 2)}, {.order = 2});
}

TEST_P(AttentionLayers, AreTheSameInFunctionsAndMaps) {
  const Layer layer = GetParam().make();
  const CallOptions& options = GetParam().options;
  const Tensor query = draw({2, 3, 4}, 3), value = draw({2, 5, 4}, 4);
  const Tensor plain = flat(layer(Nest{query, value}, options));
  const auto run = [&](const Tensor& q, const Tensor& v) { return flat(layer(Nest{q, v}, options)); };
  expect_near(function(run)(query, value), plain);
  // Gradients of weights in a function.
  const auto step = [&](const Tensor& q, const Tensor& v) {
    GradientTape tape;
    tape.watch(q);
    const Tensor y = run(q, v);
    std::vector<Tensor> gradients = tape.gradient(reduce_sum(y * y), layer.trainable_variables());
    gradients.push_back(reduce_sum(y));
    return gradients;
  };
  const std::vector<Tensor> eager = step(query, value), traced = function(step)(query, value);
  for (std::size_t i = 0; i < eager.size(); ++i) expect_near(traced[i], eager[i], 1e-10);
  const Tensor queries = draw({3, 2, 3, 4}, 5), values = draw({3, 2, 5, 4}, 6);
  const Tensor mapped = vectorized_map([&](const std::pair<Tensor, Tensor>& x) { return run(x.first, x.second); },
                                       std::pair(queries, values));
  for (int i = 0; i < 3; ++i) expect_near(mapped[i], run(queries[i], values[i]));
}

TEST_P(AttentionLayers, GoThroughConfigurations) {
  const Layer layer = GetParam().make();
  const Layer again = layer_from(serialize(layer));
  EXPECT_EQ(again.get_config().to_json(), layer.get_config().to_json());
  const Tensor query = draw({2, 3, 4}, 7), value = draw({2, 5, 4}, 8);
  const Tensor y = flat(layer(Nest{query, value}, GetParam().options));
  again.build_all({{2, 3, 4}, {2, 5, 4}});
  again.set_weights(layer.get_weights());
  expect_near(flat(again(Nest{query, value}, GetParam().options)), y);
}

INSTANTIATE_TEST_SUITE_P(Ways, AttentionLayers, ::testing::ValuesIn(ways()),
                         [](const auto& info) { return info.param.name; });

TEST(MultiHeadAttention, GivesTheSameWithAndWithoutScores) {
  const layers::MultiHeadAttention layer(2, 3, {.value_dim = 5, .output_shape = {{2, 6}}, .dtype = float64});
  const Tensor x = draw({2, 4, 3}, 1);
  for (const bool causal : {false, true}) {
    const Tensor y = layer(x, x, {.use_causal_mask = causal});
    EXPECT_EQ(y.shape(), Shape({2, 4, 2, 6}));
    const Nest both = layer(Nest{x, x}, {.use_causal_mask = causal, .return_attention_scores = true});
    expect_near(both[0].tensor(), y);
    EXPECT_EQ(both[1].tensor().shape(), Shape({2, 2, 4, 4}));
    expect_near(reduce_sum(both[1].tensor(), -1), ones({2, 2, 4}, float64));
  }
}

TEST(MultiHeadAttention, AttendsAlongSeveralAxesAsAlongTheirProduct) {
  const layers::MultiHeadAttention layer(2, 3, {.dtype = float64});
  const Tensor q = draw({2, 2, 3, 4}, 1), v = draw({2, 2, 2, 4}, 2);
  const layers::MultiHeadAttention flat_layer(2, 3, {.dtype = float64});
  const Tensor q_flat = reshape(q, {2, 6, 4}), v_flat = reshape(v, {2, 4, 4});
  const Tensor mask = draw({2, 2, 3, 2, 2}, 3) > -0.5;
  const CallOptions options{.attention_mask = mask}, flat_options{.attention_mask = reshape(mask, {2, 6, 4})};
  const Tensor y = layer(q, v, options);
  flat_layer.build_all({q_flat.shape(), v_flat.shape()});
  flat_layer.set_weights(layer.get_weights());
  expect_near(reshape(y, {2, 6, 4}), flat_layer(q_flat, v_flat, flat_options));
  CallOptions scores = options;
  scores.return_attention_scores = true;
  EXPECT_EQ(layer(Nest{q, v}, scores)[1].tensor().shape(), Shape({2, 2, 2, 3, 2, 2}));
  EXPECT_NE(message_of<ValueError>([&] { layer(q, v, {.use_causal_mask = true}); }).find("not 2"), std::string::npos);
}

TEST(MultiHeadAttention, DrawsKernelsByTheLengthsOfTheProduct) {
  const layers::MultiHeadAttention layer(4, 64);
  layer.build_all({{1, 2, 256}, {1, 2, 256}});
  const double limit = std::sqrt(6.0 / 512);
  for (const std::size_t i : {0u, 2u, 4u, 6u}) {
    const double largest = reduce_max(abs(layer.weights()[i])).item<float>();
    EXPECT_LE(largest, limit);
    EXPECT_GT(largest, 0.999 * limit);
  }
  EXPECT_GT(reduce_max(abs(layer.weights()[0] - layer.weights()[2])).item<float>(), 0.01f) << "each draws for itself";
}

TEST(MultiHeadAttention, PassesTheMaskThatTheQueryCarries) {
  const layers::MultiHeadAttention layer(1, 2);
  const Tensor x = draw({2, 3, 4}, 1, float32);
  const Tensor mask = constant({{true, true, false}, {true, false, false}});
  EXPECT_FALSE(mask_of(layer(x, x)).has_value());
  const Tensor y = layer(with_mask(x, mask), x);
  EXPECT_EQ(mask_of(y).to_vector<bool>(), mask.to_vector<bool>());
  EXPECT_FALSE(mask_of(x).has_value()) << "with_mask leaves its argument as it is";
  // Keys that do not count have no influence.
  const Tensor spoiled = where(expand_dims(mask, -1), x, 7.0f);
  expect_near(layer(x, with_mask(x, mask)), layer(x, with_mask(spoiled, mask)), 1e-6);
}

TEST(MultiHeadAttention, DropsScoresWhenTraining) {
  const layers::MultiHeadAttention layer(2, 3, {.dropout = 0.5, .seed = 7});
  const layers::MultiHeadAttention same(2, 3, {.dropout = 0.5, .seed = 7});
  const Tensor x = draw({2, 6, 4}, 1, float32);
  const Tensor plain = layer(x, x);
  same(x, x);
  same.set_weights(layer.get_weights());
  expect_near(layer(x, x), plain, 0);
  const Tensor dropped = layer(x, x, {.training = true});
  EXPECT_GT(reduce_max(abs(dropped - plain)).item<float>(), 1e-3f);
  expect_near(same(x, x, {.training = true}), dropped, 0);
}

TEST(MultiHeadAttention, FollowsPoliciesModelsAndRegularizers) {
  const layers::MultiHeadAttention mixed(2, 4, {.kernel_regularizer = "l2", .dtype = "mixed_bfloat16"});
  const Tensor x = Input({-1, 8});
  const Model model(x, Layer(mixed)({x, x}).tensor());
  EXPECT_EQ(model(draw({3, 5, 8}, 1, float32)).dtype(), bfloat16);
  EXPECT_EQ(model(draw({2, 7, 8}, 1, float32)).shape(), Shape({2, 7, 8}));
  EXPECT_EQ(mixed.weights()[0].dtype(), float32);
  EXPECT_EQ(mixed.losses().size(), 4u);
  EXPECT_EQ(mixed.trainable_variables().size(), 8u);
  mixed.set_trainable(false);
  EXPECT_EQ(mixed.trainable_variables().size(), 0u);
}

TEST(MultiHeadAttention, OneTraceServesBatchesOfSeveralLengths) {
  const layers::MultiHeadAttention layer(2, 3);
  layer.build_all({{1, 4, 3}, {1, 4, 3}});
  const auto run = [&](const Tensor& x) { return layer(x, x, {.use_causal_mask = true}); };
  auto traced = function(run, {.input_signature = {TensorSpec({-1, 4, 3}, float32)}});
  for (const std::int64_t batch : {2, 5, 1}) {
    const Tensor x = draw({batch, 4, 3}, 1, float32);
    expect_near(traced(x), run(x), 1e-6);
  }
}

template <class E, class F>
void expect_message(const F& f, const std::string& part) {
  const std::string message = message_of<E>(f);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(AttentionErrors, NameLayerAndValues) {
  const Tensor x = zeros({1, 2, 3}), y = zeros({1, 2, 5});
  expect_message<ValueError>([] { layers::Attention({.score_mode = "add"}); }, "\"add\"");
  expect_message<ValueError>([] { layers::Attention({.dropout = 1.5}); }, "1.5");
  expect_message<ValueError>([&] { layers::Attention()(x); }, "not 1 tensor");
  expect_message<ValueError>([&] { layers::Attention()({x, x, x, x}); }, "not 4 tensors");
  expect_message<ShapeError>([&] { layers::Attention()({x, y}); }, "differ in depth, 3 and 5");
  expect_message<ShapeError>([&] { layers::Attention()({x, zeros({1, 4, 3}), x}); }, "2 keys have 4 values");
  expect_message<ShapeError>([&] { layers::AdditiveAttention()({zeros({2, 3}), zeros({2, 3})}); }, "rank 3, not 2");
  expect_message<ValueError>(
      [&] {
        layers::Attention()({x, x}, {.mask = ones({1, 2}, bool_)});
      },
      "mask must be a list");
  expect_message<ValueError>([] { layers::MultiHeadAttention(0, 2); }, "\"num_heads\"");
  expect_message<ValueError>([] { layers::MultiHeadAttention(1, 2, {.value_dim = 0}); }, "\"value_dim\"");
  expect_message<ValueError>([] { layers::MultiHeadAttention(1, 2, {.output_shape = {{0}}}); }, "not 0");
  expect_message<ValueError>([] { layers::MultiHeadAttention(1, 2, {.dropout = -1}); }, "-1");
  expect_message<ValueError>([&] { layers::MultiHeadAttention(1, 2)(Nest(x)); }, "not 1 tensor");
  expect_message<IndexError>([&] { layers::MultiHeadAttention(1, 2, {.attention_axes = {{2}}})(x, x); }, "axis 2");
  expect_message<ShapeError>([&] { layers::MultiHeadAttention(1, 2)(zeros({2, 3}), zeros({2, 3})); }, "not 2");
  expect_message<ShapeError>([&] { layers::MultiHeadAttention(1, 2)(x, zeros({2, 2, 3})); }, "axis 0");
  expect_message<ShapeError>([&] { layers::MultiHeadAttention(1, 2)(x, x, {.attention_mask = ones({2}, bool_)}); },
                             "attention_mask must have rank");
  const layers::MultiHeadAttention built(1, 2);
  built(x, x);
  expect_message<ShapeError>([&] { built(x, y); }, "length 3, not 5");
  expect_message<ValueError>([] { layers::GroupQueryAttention(2, 3, 2); }, "3 and 2");
  expect_message<ValueError>([] { layers::GroupQueryAttention(2, 2, 0); }, "\"num_key_value_heads\"");
  expect_message<ShapeError>([&] { layers::GroupQueryAttention(2, 2, 2)(x, zeros({2, 2, 3})); }, "[2, 2, 3]");
  EXPECT_TRUE(layers::GroupQueryAttention(2, 2, 2).name().starts_with("grouped_query_attention"));
}

}  // namespace
}  // namespace capstan
