// The layers of core, activation, normalization, regularization, reshaping and merging beyond the values of Keras: in
// functions, row by row, with derivatives of second order, and what they say to bad options and inputs.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "capstan/testing.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

Layer layer_of(const std::string& json) { return layer_from(AttributeValue::from_json(json)); }

// A layer in float64 and the shapes of its inputs; several make a list.
struct Example {
  std::string class_name;
  std::string config;  // without braces
  std::vector<Shape> shapes;
  bool is_smooth = true;       // has derivatives of second order away from corners
  bool draws = false;          // while training
  bool is_per_example = true;  // its result for an example does not depend on the others
};

std::vector<Example> examples() {
  const std::string dense = R"({"class_name": "Dense", "config": {"units": 2, "dtype": "float64"}})";
  return {
      {"EinsumDense", R"("equation": "abc,cde->abde", "output_shape": [null, 2, 3], "bias_axes": "de")", {{2, 3, 4}}},
      {"EinsumDense", R"("equation": "...x,xy->...y", "output_shape": 3, "activation": "tanh")", {{2, 3, 4}}},
      {"EinsumDense", R"("equation": "ax...,xy->ay...", "output_shape": [2], "bias_axes": "y")", {{2, 3, 4}}},
      {"Masking", "", {{2, 3, 2}}, false},
      {"Identity", "", {{2, 3}}},
      {"Activation", R"("activation": "softplus")", {{2, 3}}},
      {"ReLU", R"("max_value": 1, "negative_slope": 0.25, "threshold": 0.125)", {{2, 3}}},
      {"LeakyReLU", "", {{2, 3}}},
      {"ELU", R"("alpha": 0.5)", {{2, 3}}},
      {"PReLU", R"("alpha_initializer": "ones", "shared_axes": [1])", {{2, 3, 4}}},
      {"Softmax", "", {{2, 3}}},
      {"Softmax", R"("axis": [1, 2])", {{2, 3, 2}}},
      {"BatchNormalization", "", {{4, 3}}, true, false, false},
      {"LayerNormalization", "", {{2, 4}}},
      {"LayerNormalization", R"("axis": [2, 1])", {{2, 3, 4}}},
      {"LayerNormalization", R"("axis": 1)", {{2, 3, 4}}},
      {"GroupNormalization", R"("groups": 2)", {{2, 3, 4}}},
      {"RMSNormalization", "", {{2, 4}}},
      {"RMSNormalization", R"("axis": [1, 2])", {{2, 3, 4}}},
      {"RMSNormalization", R"("axis": 1)", {{2, 3, 4}}},
      {"UnitNormalization", R"("axis": [1, 2])", {{2, 3, 4}}},
      {"SpectralNormalization", R"("layer": )" + dense, {{2, 3}}, true, false, false},
      {"Dropout", R"("rate": 0.5)", {{4, 6}}, true, true},
      {"Dropout", R"("rate": 0.5, "noise_shape": [null, 1])", {{4, 6}}, true, true},
      {"SpatialDropout1D", R"("rate": 0.5)", {{2, 3, 6}}, true, true},
      {"SpatialDropout2D", R"("rate": 0.5)", {{2, 2, 3, 6}}, true, true},
      {"SpatialDropout3D", R"("rate": 0.5, "data_format": "channels_first")", {{2, 6, 2, 1, 2}}, true, true},
      {"GaussianNoise", R"("stddev": 0.5)", {{2, 3}}, true, true},
      {"GaussianDropout", R"("rate": 0.5)", {{2, 3}}, true, true},
      {"AlphaDropout", R"("rate": 0.5)", {{2, 3}}, true, true},
      {"ActivityRegularization", R"("l1": 0.5, "l2": 0.25)", {{2, 3}}},
      {"Flatten", R"("data_format": "channels_first")", {{2, 3, 4}}},
      {"Reshape", R"("target_shape": [2, -1])", {{2, 3, 4}}},
      {"Permute", R"("dims": [2, 1])", {{2, 3, 4}}},
      {"RepeatVector", R"("n": 3)", {{2, 4}}},
      {"Add", "", {{2, 3, 4}, {2, 4}}},
      {"Subtract", "", {{2, 3}, {2, 3}}},
      {"Multiply", "", {{2, 3}, {2, 3}, {2, 3}}},
      {"Average", "", {{2, 3}, {2, 3}}},
      {"Maximum", "", {{2, 3}, {2, 3}}},
      {"Minimum", "", {{2, 3}, {2, 3}}},
      {"Concatenate", R"("axis": 1)", {{2, 3, 2}, {2, 1, 2}}},
      {"Dot", R"("axes": [2, 1], "normalize": true)", {{2, 3, 4}, {2, 4, 2}}},
  };
}

class CoreLayers : public ::testing::TestWithParam<Example> {
 protected:
  Layer make() const {
    const Example& e = GetParam();
    return layer_of(R"({"class_name": ")" + e.class_name + R"(", "config": {"dtype": "float64")" +
                    (e.config.empty() ? "" : ", ") + e.config + "}}");
  }
  std::vector<Tensor> inputs(std::int64_t batch_factor = 1) const {
    std::vector<Tensor> all;
    for (Shape shape : GetParam().shapes) {
      shape.set(0, shape[0] * batch_factor);
      all.push_back(random::normal(shape, 0, 1, float64, 7 + all.size()));
    }
    return all;
  }
};

Tensor call(const Layer& layer, const std::vector<Tensor>& x, bool training = false) {
  const Nest y = layer(x.size() == 1 ? Nest(x[0]) : Nest(x), {.training = training});
  return y.tensor();
}

void expect_same(const Tensor& a, const Tensor& b, const char* what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  const std::vector<double> left = a.to_vector<double>(), right = b.to_vector<double>();
  for (std::size_t i = 0; i < left.size(); ++i) EXPECT_NEAR(left[i], right[i], 1e-12) << what;
}

TEST_P(CoreLayers, GiveTheSameInFunctions) {
  const Layer layer = make();
  const std::vector<Tensor> x = inputs();
  const Tensor y = call(layer, x);
  auto traced = function([&](const std::vector<Tensor>& in) { return call(layer, in); });
  expect_same(traced(x), y, "first");
  // Another length of the batch.
  const std::vector<Tensor> longer = inputs(2);
  expect_same(traced(longer), call(layer, longer), "longer");
}

TEST_P(CoreLayers, DrawInFunctionsWhatTheyDrawWithoutThem) {
  if (!GetParam().draws) return;
  const std::vector<Tensor> x = inputs();
  set_seed(5);
  const Layer one = make();
  set_seed(5);
  const Layer other = make();
  auto traced = function([&](const std::vector<Tensor>& in) { return call(other, in, true); });
  const Tensor first = call(one, x, true), second = call(one, x, true);
  expect_same(traced(x), first, "first");
  expect_same(traced(x), second, "second");
  EXPECT_FALSE(equal_tensors(first, second));
  expect_same(call(one, x), x[0], "inference");
}

TEST_P(CoreLayers, GiveTheSameRowByRow) {
  if (!GetParam().is_per_example) return;
  const Layer layer = make();
  const std::vector<Tensor> x = inputs();
  const Tensor y = call(layer, x);
  // A row is a batch of one.
  const Tensor mapped = vectorized_map(
      [&](const std::vector<Tensor>& row) {
        std::vector<Tensor> one;
        for (const Tensor& part : row) one.push_back(expand_dims(part, 0));
        return call(layer, one);
      },
      x);
  expect_same(reshape(mapped, y.shape()), y, "rows");
}

TEST_P(CoreLayers, HaveDerivativesOfSecondOrder) {
  if (!GetParam().is_smooth) return;
  const Layer layer = make();
  call(layer, inputs());
  check_gradients([&](const std::vector<Tensor>& in) { return reduce_sum(tanh(call(layer, in))); }, inputs(),
                  {.order = 2});
}

TEST_P(CoreLayers, AreMadeOfTheirConfigurations) {
  const Layer layer = make();
  const std::vector<Tensor> x = inputs();
  call(layer, x);
  const AttributeValue written = serialize(layer);
  const Layer again = layer_of(written.to_json());
  EXPECT_EQ(serialize(again).to_json(), written.to_json());
  call(again, x);
  again.set_weights(layer.get_weights());
  expect_same(call(again, x), call(layer, x), "again");
}

INSTANTIATE_TEST_SUITE_P(All, CoreLayers, ::testing::ValuesIn(examples()),
                         [](const auto& info) { return info.param.class_name + "_" + std::to_string(info.index); });

// --- What they say ---

struct Refused {
  std::string json;
  std::vector<std::string> texts;  // all are in the message
};

TEST(CoreLayerErrors, OfOptionsNameLayerAndValue) {
  const Refused refused[] = {
      {R"({"class_name": "Dropout", "config": {"rate": 1.5}})", {"Dropout", "rate", "1.5"}},
      {R"({"class_name": "AlphaDropout", "config": {"rate": 2.0}})", {"AlphaDropout", "rate", "2"}},
      {R"({"class_name": "GaussianDropout", "config": {"rate": -1.0}})", {"GaussianDropout", "-1"}},
      {R"({"class_name": "GaussianNoise", "config": {"stddev": 2.0}})", {"GaussianNoise", "stddev", "2"}},
      {R"({"class_name": "SpatialDropout2D", "config": {"rate": 0.5, "data_format": "nchw"}})",
       {"data_format", "nchw"}},
      {R"({"class_name": "ReLU", "config": {"max_value": -1.0}})", {"max_value", "-1"}},
      {R"({"class_name": "LeakyReLU", "config": {"negative_slope": null}})", {"LeakyReLU", "negative_slope"}},
      {R"({"class_name": "Softmax", "config": {"axis": null}})", {"softmax", "axis"}},
      {R"({"class_name": "Permute", "config": {"dims": [1, 3]}})", {"permute", "[1, 3]"}},
      {R"({"class_name": "Permute", "config": {"dims": [0, 1]}})", {"permute", "[0, 1]"}},
      {R"({"class_name": "Permute", "config": {"dims": []}})", {"permute", "0"}},
      {R"({"class_name": "RepeatVector", "config": {"n": 2.5}})", {"RepeatVector", "n"}},
      {R"({"class_name": "RepeatVector", "config": {"n": 0}})", {"RepeatVector", "at least 1"}},
      {R"({"class_name": "Reshape", "config": {"target_shape": [-1, -1]}})", {"reshape", "[-1, -1]"}},
      {R"({"class_name": "Embedding", "config": {"input_dim": 0, "output_dim": 1}})", {"Embedding", "input_dim"}},
      {R"({"class_name": "Embedding", "config": {"input_dim": 3, "output_dim": -1}})", {"output_dim", "-1"}},
      {R"({"class_name": "BatchNormalization", "config": {"renorm_clipping": {"foo": 1.0}}})", {"foo", "rmax"}},
      {R"({"class_name": "BatchNormalization", "config": {"renorm_clipping": 3}})", {"renorm_clipping", "3"}},
      {R"({"class_name": "BatchNormalization", "config": {"renorm_clipping": {"rmax": 0.5, "rmin": 1}}})", {"0.5"}},
      {R"({"class_name": "GroupNormalization", "config": {"groups": 0}})", {"group_normalization", "0"}},
      {R"({"class_name": "LayerNormalization", "config": {"axis": []}})", {"layer_normalization", "axis"}},
      {R"({"class_name": "SpectralNormalization", "config": {"layer": null}})", {"spectral_normalization", "empty"}},
      {R"({"class_name": "SpectralNormalization", "config": {}})", {"layer", "must be given"}},
      {R"({"class_name": "EinsumDense", "config": {"equation": "ab,bc", "output_shape": 3}})", {"ab,bc"}},
      {R"({"class_name": "EinsumDense", "config": {"equation": "ab,bc->ad", "output_shape": 3}})", {"ab,bc->ad"}},
      {R"({"class_name": "EinsumDense", "config": {"equation": "ab,bc->ac", "output_shape": [3, 4]}})", {"[3, 4]"}},
      {R"({"class_name": "EinsumDense", "config": {"equation": "ab,bc->ac", "output_shape": 3, "bias_axes": "b"}})",
       {"'b'"}},
      {R"({"class_name": "ActivityRegularization", "config": {"l1": -1}})", {"l1", "-1"}},
      {R"({"class_name": "Dot", "config": {"axes": [1, 2, 3]}})", {"dot", "3"}},
      {R"({"class_name": "Lambda", "config": {}})", {"Lambda"}},
  };
  for (const Refused& one : refused) {
    const std::string message = message_of<ValueError>([&] { layer_of(one.json); });
    for (const std::string& text : one.texts) {
      EXPECT_NE(message.find(text), std::string::npos) << one.json << "\n" << message;
    }
  }
}

TEST(CoreLayerErrors, OfInputsNameLayerAndValue) {
  struct Call {
    Layer layer;
    std::vector<Shape> shapes;
    std::string text;
    CallOptions options = {};
  };
  const Call calls[] = {
      {layers::Reshape({3}), {{1, 4}}, "4 elements"},
      {layers::Reshape({-1, 3}), {{1, 4}}, "[-1, 3]"},
      {layers::Permute({2, 1}), {{1, 2, 3, 4}}, "rank 3"},
      {layers::RepeatVector(2), {{1, 2, 3}}, "rank 2, not 3"},
      {layers::Concatenate(), {{1, 2}, {2, 2}}, "same shape"},
      {layers::Concatenate({.axis = 3}), {{1, 2}, {1, 2}}, "axis 3"},
      {layers::Concatenate(), {{1, 2}}, "list"},
      {layers::Add(), {{1, 2}, {1, 3}}, "do not broadcast"},
      {layers::Add(), {{2, 2}, {3, 2}}, "batches of 2 and 3"},
      {layers::Add(), {{1, 2}}, "list"},
      {layers::Subtract(), {{1, 2}, {1, 2}, {1, 2}}, "two tensors, not 3"},
      {layers::Dot(1), {{1, 2}, {1, 3}}, "lengths 2 and 3"},
      {layers::Dot(0), {{1, 2}, {1, 2}}, "batch"},
      {layers::Dot(1), {{1, 2}, {1, 2}, {1, 2}}, "two tensors, not 3"},
      {layers::GroupNormalization(3), {{1, 4}}, "4 channels"},
      {layers::GroupNormalization(8), {{1, 4}}, "8 groups"},
      {layers::GroupNormalization(2, {.axis = 0}), {{2, 4}}, "batch"},
      {layers::LayerNormalization({.axis = 5}), {{1, 2, 3}}, "axis 5"},
      {layers::LayerNormalization({.axis = {1, -2}}), {{1, 2, 3}}, "twice"},
      {layers::BatchNormalization({.axis = 5}), {{1, 2, 3}}, "axis 5"},
      {layers::EinsumDense("abc,cd->abd", {3, 5}), {{2, 4}}, "rank 3, not 2"},
      {layers::EinsumDense("abc,cd->abd", {3, 5}), {{2, 4, 4}}, "'b'"},
      {layers::EinsumDense("ab,bc->ac", {-1}), {{2, 4}}, "'c'"},
      {layers::PReLU({.shared_axes = std::vector<int>{3}}), {{1, 2, 3}}, "axis 3"},
      {layers::Softmax({.axis = 2}), {{1, 2}}, "axis 2"},
      {layers::SpatialDropout1D(0.5), {{2, 3}}, "rank 3, not 2", {.training = true}},
      {layers::Dropout(0.5, {.noise_shape = Shape{-1, 1, 1}}), {{2, 3}}, "noise_shape", {.training = true}},
      {layers::AlphaDropout(1), {{2, 3}}, "rate of 1", {.training = true}},
      {layers::GaussianDropout(1), {{2, 3}}, "rate of 1", {.training = true}},
      {layers::SpectralNormalization(layers::ReLU()), {{2, 3}}, "no kernel"},
  };
  for (const Call& one : calls) {
    std::vector<Tensor> x;
    for (const Shape& shape : one.shapes) x.push_back(ones(shape));
    const std::string message = message_of([&] { one.layer(x.size() == 1 ? Nest(x[0]) : Nest(x), one.options); });
    EXPECT_NE(message.find(one.text), std::string::npos) << message;
    EXPECT_NE(message.find(one.layer.name()), std::string::npos) << message;
  }
  const layers::PReLU slopes;
  slopes(ones({1, 3}));
  EXPECT_NE(message_of<ShapeError>([&] { slopes(ones({1, 4})); }).find("[3]"), std::string::npos);
  EXPECT_NE(message_of<ValueError>([] { layers::Lambda(std::function<Tensor(const Tensor&)>()); }).find("empty"),
            std::string::npos);
  const Layer none;
  EXPECT_NE(message_of<ValueError>([&] { (void)layers::SpectralNormalization(none); }).find("empty handle"),
            std::string::npos);
}

// --- Single layers ---

TEST(Embedding, CountsNegativeIdsFromTheEnd) {
  const layers::Embedding table(3, 2);
  table.build({-1, 2});
  table.set_weights({constant({{0.0f, 1.0f}, {2.0f, 3.0f}, {4.0f, 5.0f}})});
  EXPECT_EQ(table(constant({{-1, 0}, {-3, 1}})).to_vector<float>(), (std::vector<float>{4, 5, 0, 1, 0, 1, 2, 3}));
  // Ids of another dtype are cast to integers.
  EXPECT_EQ(table(constant({2.0f})).to_vector<float>(), (std::vector<float>{4, 5}));
  for (const int id : {3, -4}) {
    const std::string message = message_of<IndexError>([&] { table(constant({id})); });
    EXPECT_NE(message.find("input_dim 3"), std::string::npos) << message;
    EXPECT_NE(message.find(table.name()), std::string::npos) << message;
  }
}

TEST(Embedding, HasRowSparseGradientsInEveryPolicy) {
  for (const DTypePolicy& policy : {DTypePolicy(float32), DTypePolicy("mixed_bfloat16")}) {
    const layers::Embedding table(400, 2, {.dtype = policy});
    GradientTape tape;
    // 301 is not a number of bfloat16, but its id must not be rounded.
    const Tensor y = table(constant({301.0f, 301.0f, -1.0f}));
    EXPECT_EQ(y.dtype(), policy.compute_dtype());
    const Tensor gradient = tape.gradient(reduce_sum(y), table.weights()[0]);
    EXPECT_EQ(gradient.shape(), (Shape{400, 2}));
    EXPECT_EQ(reduce_sum(gradient).item<float>(), 6);
    EXPECT_EQ(reduce_sum(gradient(301)).item<float>(), 4);
  }
}

TEST(Masks, BeginAtEmbeddingAndMasking) {
  const Tensor words = constant({{3, 0, 1}});
  const Tensor h = layers::Embedding(5, 2, {.mask_zero = true})(words);
  EXPECT_EQ(mask_of(h).to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_FALSE(mask_of(layers::Embedding(5, 2)(words)).has_value());
  // Layers that keep steps apart pass it on; those that move elements do not.
  for (const Layer& layer : std::vector<Layer>{layers::Dropout(0.5), layers::ReLU(), layers::LayerNormalization(),
                                               layers::BatchNormalization(), layers::Softmax(), layers::Identity(),
                                               layers::GaussianNoise(0.5), layers::ActivityRegularization()}) {
    EXPECT_TRUE(mask_of(layer(h)).has_value()) << layer.name();
  }
  for (const Layer& layer : std::vector<Layer>{layers::Flatten(), layers::Reshape({-1}), layers::Permute({2, 1})}) {
    EXPECT_FALSE(mask_of(layer(h)).has_value()) << layer.name();
  }
  const Tensor both = layers::Add()({h, h * 1.0f});
  EXPECT_FALSE(mask_of(both).has_value()) << "one of the inputs has none";
}

TEST(Lambda, TakesTensorsNestsAndOptions) {
  const Tensor x = constant({1.0f, 2.0f});
  EXPECT_EQ(layers::Lambda([](const Tensor& in) { return in * 2.0; })(x).to_vector<float>(),
            (std::vector<float>{2, 4}));
  const layers::Lambda pick([](const Nest& in) { return in[1]; });
  EXPECT_EQ(pick({x, x + 1.0}).tensor().to_vector<float>(), (std::vector<float>{2, 3}));
  const layers::Lambda trains([](const Tensor& in, const CallOptions& o) { return o.training ? in : -in; });
  EXPECT_EQ(trains(x, {.training = true}).to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(trains(x).to_vector<float>(), (std::vector<float>{-1, -2}));
  EXPECT_NE(message_of<ValueError>([&] { (void)pick.get_config(); }).find("function of the program"),
            std::string::npos);
  const layers::Lambda masked([](const Tensor& in) { return in * 1.0; },
                              {.mask = [](const Nest& in, const Nest&) { return Nest(in.tensor() > 1.0); }});
  EXPECT_EQ(mask_of(masked(x)).to_vector<bool>(), (std::vector<bool>{false, true}));
}

TEST(SpectralNormalization, LeavesAKernelOfZeros) {
  const layers::SpectralNormalization layer(layers::Dense(2, {.kernel_initializer = "zeros"}));
  layer(ones({2, 3}), {.training = true});
  for (const Tensor& weight : layer.get_weights()) EXPECT_TRUE(reduce_all(is_finite(weight)).item<bool>());
  EXPECT_EQ(reduce_sum(abs(layer.weights()[0])).item<float>(), 0);
}

TEST(SpectralNormalization, MakesTheNormOne) {
  const layers::SpectralNormalization layer(layers::Dense(2), {.power_iterations = 30});
  layer(ones({2, 2}), {.training = true});
  const Tensor kernel = layer.get_weights()[0];
  // The larger root of the characteristic equation of its square.
  const Tensor square = matmul(kernel, kernel, {.transpose_a = true});
  const double trace_of = trace(square).item<float>();
  const auto v = square.to_vector<float>();
  const double det = double{v[0]} * v[3] - double{v[1]} * v[2];
  EXPECT_NEAR(trace_of / 2 + std::sqrt(trace_of * trace_of / 4 - det), 1, 1e-5);
}

TEST(Noise, HasTheMomentsThatItPromises) {
  const Tensor x = fill({200000}, 2.0f);
  const auto moments_of = [&](const Layer& layer) {
    const Moments m = moments(layer(x, {.training = true}), 0);
    return std::pair(m.mean.item<float>(), m.variance.item<float>());
  };
  for (const bool seeded : {false, true}) {
    const Seed seed = seeded ? Seed(3) : Seed();
    const auto [mean, variance] = moments_of(layers::GaussianNoise(0.5, {.seed = seed}));
    EXPECT_NEAR(mean, 2, 0.01);
    EXPECT_NEAR(variance, 0.25, 0.01);
    const auto [dropout_mean, dropout_variance] = moments_of(layers::GaussianDropout(0.2, {.seed = seed}));
    EXPECT_NEAR(dropout_mean, 2, 0.02);
    EXPECT_NEAR(dropout_variance, 4 * 0.25, 0.02);
  }
  const Tensor normal = random::normal({200000}, 0, 1, float32, 11);
  const Moments alpha = moments(layers::AlphaDropout(0.3)(normal, {.training = true}), 0);
  EXPECT_NEAR(alpha.mean.item<float>(), 0, 0.02);
  EXPECT_NEAR(alpha.variance.item<float>(), 1, 0.02);
}

TEST(MergingLayers, AreNodesOfFunctionalModels) {
  const Tensor words = Input({-1}, {.dtype = int32}), x = Input({4});
  const Tensor h = layers::Embedding(10, 4, {.mask_zero = true})(words);
  const Tensor sum = layers::Lambda([](const Tensor& in) { return reduce_sum(in, 1); })(h);
  const Tensor joined = layers::Concatenate()({layers::Add()({sum, x}), layers::Multiply()({sum, x})});
  const Model model({words, x}, {layers::Dense(2)(joined), layers::Dot(1)({sum, x})});
  const Nest y = model({constant({{1, 2, 0}, {3, 0, 0}}), ones({2, 4})});
  EXPECT_EQ(y[0].tensor().shape(), (Shape{2, 2}));
  EXPECT_EQ(y[1].tensor().shape(), (Shape{2, 1}));
}

TEST(MergingLayers, CastToTheWidestDtype) {
  const Tensor x = constant({{1.5f, 2.0f}}), ids = constant({{1, 0}}), is_on = constant({{true, false}});
  expect_same(layers::Concatenate()({x, ids, is_on}), constant({{1.5f, 2.0f, 1.0f, 0.0f, 1.0f, 0.0f}}), "values");
  expect_same(layers::Add()({ids, x}), constant({{2.5f, 2.0f}}), "values");
  expect_same(layers::Maximum()({is_on, x}), constant({{1.5f, 2.0f}}), "values");
  expect_same(layers::Dot(1)({x, ids}), constant({{1.5f}}), "values");
  EXPECT_EQ(layers::Add()({ids, cast(ids, int64)}).dtype(), int64);
  EXPECT_EQ(layers::Concatenate()({is_on, ids}).dtype(), int32);
  EXPECT_EQ(layers::Multiply()({cast(ids, uint8), is_on}).dtype(), uint8);
  const Tensor a = Input({2}), b = Input({2}, {.dtype = int64});
  const Model model({a, b}, layers::Concatenate()({a, b}));
  expect_same(model({x, cast(ids, int64)}).tensor(), constant({{1.5f, 2.0f, 1.0f, 0.0f}}), "values");
}

// The values are Keras's, but those of normalisations, which it computes in integers.
TEST(Layers, TakeIntegers) {
  const Tensor steps = constant({{{1, 2}, {4, 5}}});
  const auto floats = [](const Tensor& x) { return cast(x, float32); };
  const std::vector<std::function<Layer()>> converting = {
      [] { return layers::Dense(2, {.kernel_initializer = "ones"}); },
      [] {
        return layers::EinsumDense("abc,cd->abd", {-1, 2}, {.kernel_initializer = "ones"});
      },
      [] { return layers::BatchNormalization(); },
      [] { return layers::LayerNormalization(); },
      [] { return layers::GroupNormalization(1); },
      [] { return layers::LeakyReLU(); },
      [] { return layers::GlobalAveragePooling1D(); },
      [] { return layers::TimeDistributed(layers::Dense(1, {.kernel_initializer = "ones"})); },
      [] { return layers::LSTM(2, {.kernel_initializer = "ones", .recurrent_initializer = "ones"}); },
      [] { return layers::GRU(2, {.kernel_initializer = "ones", .recurrent_initializer = "ones"}); },
      [] { return layers::SimpleRNN(2, {.kernel_initializer = "ones", .recurrent_initializer = "ones"}); },
  };
  for (const auto& make : converting) {
    const Layer layer = make();
    for (const DType dtype : {int32, int64, uint8}) {
      const Tensor y = layer(cast(steps, dtype));
      EXPECT_EQ(y.dtype(), float32) << layer.name();
      expect_same(y, make()(floats(steps)), layer.name().c_str());
    }
  }
  expect_same(layers::GlobalAveragePooling1D()(steps), constant({{2.5f, 3.5f}}), "the mean is no integer");
  expect_same(layers::Average()({steps, steps + 1}), floats(steps) + 0.5f, "nor is this");
  EXPECT_EQ(layers::Average()({steps, steps}).dtype(), float64);
  EXPECT_EQ(layers::GlobalMaxPooling1D()(steps).dtype(), int32);
  EXPECT_EQ(layers::Flatten()(steps).dtype(), int32);
  const Tensor masked = layers::Masking()(constant({{{1, 2}, {0, 0}}}));
  EXPECT_EQ(masked.dtype(), int32);
  expect_same(cast(mask_of(masked), int32), constant({{1, 0}}), "mask");
  EXPECT_THROW(layers::Conv1D(2, 2)(steps), DTypeError);  // as in Keras
}

TEST(SpatialDropout, DropsWholeChannels) {
  const Tensor y = layers::SpatialDropout1D(0.5)(ones({4, 5, 6}), {.training = true});
  EXPECT_TRUE(equal_tensors(reduce_max(y, 1), reduce_min(y, 1)));
  EXPECT_NE(reduce_max(y).item<float>(), reduce_min(y).item<float>());
}

}  // namespace
}  // namespace capstan
