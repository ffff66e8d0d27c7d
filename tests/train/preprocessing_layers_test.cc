// Normalization, Rescaling, Discretization, CategoryEncoding, Hashing and IntegerLookup beyond the values of Keras: in
// functions, in models and with bad options and data.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

// A layer that has learned what it needs, and an input.
struct Example {
  std::string name;
  Layer layer;
  Nest input;
};

Tensor numbers(std::int64_t rows) { return random::normal({rows, 3}, 1, 2, float32, 3); }
Tensor ids(std::int64_t rows) { return random::uniform({rows, 3}, 0, 6, int64, 5); }

layers::Normalization adapted(const layers::NormalizationOptions& options = {}) {
  const layers::Normalization layer(options);
  layer.adapt(numbers(20));
  return layer;
}

std::vector<Example> examples(std::int64_t rows) {
  const layers::Discretization quarters({.num_bins = 4, .output_mode = "one_hot"});
  quarters.adapt(numbers(50));
  const layers::IntegerLookup learned({.mask_token = 0, .output_mode = "tf_idf"});
  learned.adapt(constant({{1, 1, 2}, {3, 2, 0}}));
  return {
      {"Normalization", adapted(), numbers(rows)},
      {"Normalization, inverted", adapted({.invert = true}), numbers(rows)},
      {"Normalization, all", adapted({.axis = Axes()}), numbers(rows)},
      {"Rescaling", layers::Rescaling({0.5, 1.0, 2.0}, {.offset = -1.0}), numbers(rows)},
      {"Discretization", layers::Discretization({.bin_boundaries = {0.0, 1.5}}), numbers(rows)},
      {"Discretization, learned", quarters, numbers(rows)},
      {"CategoryEncoding", layers::CategoryEncoding(6), ids(rows)},
      {"CategoryEncoding, one-hot", layers::CategoryEncoding(6, {.output_mode = "one_hot"}), ids(rows)},
      {"CategoryEncoding, weights", layers::CategoryEncoding(6, {.output_mode = "count"}), {ids(rows), numbers(rows)}},
      {"IntegerLookup", layers::IntegerLookup({.vocabulary = {4, 2, 5}}), ids(rows)},
      {"IntegerLookup, places", layers::IntegerLookup({.num_oov_indices = 3, .vocabulary = {4, 2}}), ids(rows)},
      {"IntegerLookup, counts", layers::IntegerLookup({.vocabulary = {4, 2, 5}, .output_mode = "count"}), ids(rows)},
      {"IntegerLookup, inverted", layers::IntegerLookup({.vocabulary = {4, 2, 5}, .invert = true}), ids(rows)},
      {"IntegerLookup, learned", learned, ids(rows)},
  };
}

void expect_same(const Tensor& got, const Tensor& want, const std::string& what) {
  EXPECT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(got.shape(), want.shape()) << what;
  EXPECT_EQ(got.to_vector<double>(), want.to_vector<double>()) << what;
}

TEST(PreprocessingLayers, GiveTheSameInFunctionsOfAnyBatch) {
  const std::vector<Example> all = examples(4), longer = examples(7);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Layer& layer = all[i].layer;
    auto traced = function([&](const Nest& x) { return layer(x).tensor(); }, {.reduce_retracing = true});
    expect_same(traced(all[i].input), layer(all[i].input).tensor(), all[i].name);
    expect_same(traced(longer[i].input), layer(longer[i].input).tensor(), all[i].name);
    expect_same(traced(all[i].input), layer(all[i].input).tensor(), all[i].name);
  }
}

TEST(PreprocessingLayers, AreMadeOfTheirConfigurationsWithWhatTheyLearned) {
  for (const Example& one : examples(4)) {
    const Tensor y = one.layer(one.input).tensor();
    const std::string written = serialize(one.layer).to_json();
    const Layer again = layer_from(AttributeValue::from_json(written));
    again(one.input);
    again.set_weights(one.layer.get_weights());
    expect_same(again(one.input).tensor(), y, one.name);
    EXPECT_EQ(serialize(again).to_json(), written);
  }
}

TEST(PreprocessingLayers, AreHandlesOfOneLayer) {
  const layers::Normalization normalize;
  const Layer copy = normalize;
  layers::Normalization::of(copy).adapt(constant({{1.0f}, {3.0f}}));
  expect_same(normalize(constant({{4.0f}})), constant({{2.0f}}), "copy");
  EXPECT_EQ(copy.sublayers().size(), 0u);
  EXPECT_TRUE(message_of([&] { layers::Discretization::of(copy); }).starts_with("Discretization: the layer normaliz"));
  EXPECT_THROW(layers::Normalization::of(Layer()), ValueError);
}

// --- Normalization and Rescaling ---

TEST(Normalization, OverAllElementsFitsAnyRank) {
  const layers::Normalization layer({.axis = Axes()});
  layer.adapt(constant({1.0, 3.0}));
  EXPECT_EQ(layer(constant({{3.0}, {5.0}})).to_vector<float>(), (std::vector<float>{1, 3}));
  layer.adapt(constant({{0.0, 4.0}}));
  EXPECT_EQ(layer(constant({4.0})).to_vector<float>(), (std::vector<float>{1}));
}

TEST(Normalization, LearnsFromBatchesWhatItLearnsFromAll) {
  const Tensor x = numbers(23);
  const layers::Normalization whole, parts, first;
  whole.adapt(x);
  parts.adapt(from_tensor_slices(x, x).batch(5));
  for (std::size_t i = 0; i < 2; ++i) {
    const std::vector<double> want = whole.get_weights()[i].to_vector<double>();
    const std::vector<double> got = parts.get_weights()[i].to_vector<double>();
    for (std::size_t j = 0; j < want.size(); ++j) EXPECT_NEAR(got[j], want[j], 1e-6);
  }
  // A source without an end.
  first.adapt(BatchSource::from_generator([&]() -> std::optional<Batch> { return Batch{x, {}, {}}; }), 2);
  EXPECT_NEAR(first.get_weights()[1].to_vector<double>()[0], whole.get_weights()[1].to_vector<double>()[0], 1e-6);
}

TEST(Normalization, IsPartOfAModelAndItsWeightsStay) {
  const layers::Normalization normalize = adapted();
  const Sequential model({normalize, layers::Dense(1)});
  model.compile({.optimizer = optimizers::SGD(), .loss = "mse"});
  const std::vector<Tensor> before = normalize.get_weights();
  model.fit(numbers(12), numbers(12)(slice(0, 12), slice(0, 1)), {.epochs = 2, .verbose = 0});
  for (std::size_t i = 0; i < before.size(); ++i) expect_same(normalize.get_weights()[i], before[i], "weight");
  EXPECT_EQ(model.trainable_variables().size(), 2u);
  // What it learns later counts in functions, too.
  auto traced = function([&](const Tensor& x) { return normalize(x); });
  traced(numbers(4));
  normalize.adapt(numbers(4) * 3.0);
  expect_same(traced(numbers(4)), normalize(numbers(4)), "adapted again");
}

TEST(Normalization, PassesMasksAndTakesIntegers) {
  const Tensor mask = constant({true, false});
  const Tensor x = with_mask(constant({{1.0f}, {3.0f}}), mask);
  EXPECT_TRUE(mask_of(layers::Normalization({.mean = {0.0}, .variance = {1.0}})(x)).has_value());
  EXPECT_TRUE(mask_of(layers::Rescaling(2.0)(x)).has_value());
  expect_same(layers::Rescaling(0.5)(constant({1, 2})), constant({0.5f, 1.0f}), "integers");
  expect_same(layers::Normalization({.axis = Axes(), .mean = 1.0, .variance = 4.0})(constant({1, 5})),
              constant({0.0f, 2.0f}), "integers");
  EXPECT_EQ(layers::Rescaling(0.5, {.dtype = bfloat16})(constant({1, 2})).dtype(), bfloat16);
}

TEST(Normalization, RefusesWhatDoesNotFit) {
  const auto made = [](const layers::NormalizationOptions& options) {
    return message_of([&] { layers::Normalization{options}; });
  };
  EXPECT_EQ(made({.mean = 1.0}), "Normalization: mean and variance must be given together, but only mean is");
  EXPECT_NE(made({.mean = 1.0, .variance = {1.0, 2.0}}).find("must have the same shape, not [] and [2]"),
            std::string::npos);
  EXPECT_NE(made({.axis = Axes(), .mean = {1.0}, .variance = {1.0}}).find("more than the number of axes, 0"),
            std::string::npos);
  EXPECT_NE(made({.mean = 1.0, .variance = -1.0}).find("must not be negative, but is -1"), std::string::npos);
  const layers::Normalization given({.mean = {1.0, 2.0}, .variance = {1.0, 1.0}}), plain, far({.axis = 5});
  EXPECT_NE(message_of([&] { given(numbers(2)); }).find("a mean of shape [2] does not fit the axes"),
            std::string::npos);
  EXPECT_NE(message_of([&] { given.adapt(numbers(2)); }).find("was given its mean and variance"), std::string::npos);
  EXPECT_THROW(far(numbers(2)), IndexError);
  EXPECT_THROW(far.adapt(numbers(2)), IndexError);
  plain.adapt(numbers(2));
  EXPECT_THROW(plain(zeros({2, 4})), ShapeError);
  EXPECT_THROW(plain(zeros({2, 2, 3})), ShapeError);
  EXPECT_THROW(plain.adapt(zeros({2, 4})), ShapeError);
  EXPECT_NE(message_of([&] { plain.adapt(zeros({0, 3})); }).find("there are no examples"), std::string::npos);
  EXPECT_NE(message_of([&] {
              plain.adapt(BatchSource([] { return [] { return std::optional<Batch>(); }; }));
            }).find("there are no batches"),
            std::string::npos);
  EXPECT_THROW(plain.adapt(Tensor()), ShapeError);
  EXPECT_NE(message_of([] { layers::Rescaling{layers::Numbers()}; }).find("\"scale\" must be given"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              layer_from(AttributeValue::from_json(
                  R"({"class_name": "Rescaling", "config": {"scale": [[1.0, 2.0], [3.0]]}})"));
            }).find("lists of numbers of equal lengths"),
            std::string::npos);
}

// --- Discretization ---

TEST(Discretization, TakesNumbersThatAreNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const layers::Discretization layer({.bin_boundaries = {0.0, 1.0}, .dtype = float64});
  expect_same(layer(constant({-inf, 0.0, 0.5, 1.0, inf, nan})), constant({0, 1, 1, 2, 2, 2}), "bins");
  // Integers that float32 does not hold.
  const layers::Discretization large({.bin_boundaries = {16777217.0}});
  expect_same(large(constant({16777216, 16777217})), constant({0, 1}), "integers");
}

// Before they have learned: what a model of them gives follows what they learn.
TEST(LearningLayers, MayBePartsOfModelsBefore) {
  const layers::Discretization bins({.num_bins = 3, .output_mode = "one_hot"});
  const Tensor x = Input({1});
  const Model of_bins(x, bins(x));
  EXPECT_THROW(of_bins(ones({2, 1})), ValueError);
  bins.adapt(constant({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}));
  EXPECT_EQ(argmax(of_bins(constant({{0.0F}, {3.5F}, {9.0F}})), -1).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, 1, 2}));

  const layers::IntegerLookup look_up;
  const Tensor ids = Input({2}, {.dtype = int64});
  const Model of_ids(ids, layers::Embedding(6, 2)(look_up(ids)));
  look_up.adapt(constant({7, 7, 9}, int64));
  const Tensor found = of_ids(constant({{7, 8}}, int64));
  EXPECT_EQ(found.shape(), Shape({1, 2, 2}));
  // The length of vectors would follow the vocabulary.
  EXPECT_THROW(layers::IntegerLookup({.output_mode = "multi_hot"})(ids), ValueError);
  const layers::IntegerLookup padded({.max_tokens = 5, .output_mode = "multi_hot", .pad_to_max_tokens = true});
  const layers::Dense dense(3);
  const Model of_vectors(ids, dense(padded(ids)));
  EXPECT_EQ(dense.weights()[0].shape(), Shape({5, 3}));
}

TEST(Discretization, RefusesWhatDoesNotFit) {
  const auto made = [](const layers::DiscretizationOptions& options) {
    return message_of([&] { layers::Discretization{options}; });
  };
  EXPECT_NE(made({}).find("either bin_boundaries or num_bins must be given"), std::string::npos);
  EXPECT_NE(made({.bin_boundaries = {1.0}, .num_bins = 2}).find("cannot be given together"), std::string::npos);
  EXPECT_NE(made({.bin_boundaries = {1.0, 0.5}}).find("must ascend, but 0.5 follows 1"), std::string::npos);
  EXPECT_NE(made({.num_bins = 0}).find("num_bins"), std::string::npos);
  EXPECT_NE(made({.num_bins = 2, .epsilon = 0}).find("epsilon"), std::string::npos);
  EXPECT_NE(made({.num_bins = 2, .output_mode = "tf_idf"}).find("\"tf_idf\""), std::string::npos);
  const layers::Discretization quarters({.num_bins = 4}), given({.bin_boundaries = {1.0}});
  EXPECT_NE(message_of([&] { quarters(numbers(2)); }).find("has no boundaries yet"), std::string::npos);
  EXPECT_NE(message_of([&] { given.adapt(numbers(2)); }).find("was given its boundaries"), std::string::npos);
  EXPECT_NE(message_of([&] { quarters.adapt(zeros({0})); }).find("there are no elements"), std::string::npos);
  EXPECT_NE(message_of([&] {
              quarters.adapt(constant({1.0, std::numeric_limits<double>::quiet_NaN()}));
            }).find("must be finite, but hold nan"),
            std::string::npos);
  EXPECT_TRUE(quarters.bin_boundaries().empty());
}

// --- CategoryEncoding ---

TEST(CategoryEncoding, TreatsTheLastAxisAsASampleInAnyRank) {
  const layers::CategoryEncoding encode(3, {.output_mode = "count"});
  expect_same(encode(constant({{{0, 1}, {1, 1}}, {{2, 2}, {0, 2}}})),
              constant({{{1.0f, 1.0f, 0.0f}, {0.0f, 2.0f, 0.0f}}, {{0.0f, 0.0f, 2.0f}, {1.0f, 0.0f, 1.0f}}}), "rank 3");
  expect_same(encode(zeros({2, 0}, int32)), zeros({2, 3}), "no ids");
  expect_same(encode(zeros({0, 2}, int32)), zeros({0, 3}), "no rows");
  expect_same(encode(zeros({2, 3, 0}, int32)), zeros({2, 3, 3}), "no ids of rank 3");
  const layers::CategoryEncoding in_bfloat16(3, {.output_mode = "count", .dtype = bfloat16});
  EXPECT_EQ(in_bfloat16(zeros({1000}, int32)).to_vector<double>()[0], 1000);
}

TEST(CategoryEncoding, OfWeightsHasAGradient) {
  const layers::CategoryEncoding encode(3, {.output_mode = "count"});
  const Variable weights({{2.0f, 3.0f}});
  GradientTape tape;
  const Tensor y = encode(Nest{constant({{2, 0}}), weights.value()}).tensor();
  const Tensor loss = reduce_sum(y * constant({{5.0f, 6.0f, 7.0f}}));
  expect_same(tape.gradient(loss, weights), constant({{7.0f, 5.0f}}), "gradient");
}

TEST(CategoryEncoding, RefusesWhatDoesNotFit) {
  EXPECT_THROW(layers::CategoryEncoding(0), ValueError);
  EXPECT_THROW(layers::CategoryEncoding(3, {.output_mode = "int"}), ValueError);
  const layers::CategoryEncoding encode(3), count(3, {.output_mode = "count"});
  for (const int id : {-1, 3}) {
    EXPECT_NE(message_of([&] {
                encode(constant({0, id}));
              }).find("an id must be from 0 to num_tokens - 1"),
              std::string::npos);
    auto traced = function([&](const Tensor& x) { return encode(x); });
    EXPECT_THROW(traced(constant({0, id})), ValueError);
  }
  EXPECT_NE(message_of([&] {
              encode({constant({1}), ones({1})});
            }).find("weights are for output_mode \"count\""),
            std::string::npos);
  EXPECT_THROW(count({constant({1}), ones({2})}), ShapeError);
  EXPECT_THROW(count({constant({1}), ones({1}), ones({1})}), ValueError);
}

// --- Hashing ---

TEST(Hashing, RefusesWhatDoesNotFit) {
  EXPECT_THROW(layers::Hashing(0), ValueError);
  EXPECT_THROW(layers::Hashing(3, {.output_mode = "tf_idf"}), ValueError);
  EXPECT_NE(message_of([] { layers::Hashing(3, {.dtype = float32}); }).find("dtype must be int32 or int64"),
            std::string::npos);
  EXPECT_THROW(layers::Hashing(3, {.mask_value = 0})({"a"}), ValueError);
  EXPECT_THROW(layers::Hashing(3, {.mask_value = ""})(constant({1})), ValueError);
  EXPECT_THROW(layers::Hashing(3)(constant({true})), DTypeError);
  const layers::Hashing hash(3);
  EXPECT_THROW(function([&](const Tensor& x) { return hash(x); })(constant({1, 2})), TraceError);
  EXPECT_EQ(hash(Texts()).shape(), Shape({0}));
  EXPECT_THROW(hash(Texts::rows({{"a"}, {"b", "c"}})), ShapeError);
}

TEST(HashedCrossing, RefusesWhatDoesNotFit) {
  const layers::HashedCrossing cross(5);
  EXPECT_THROW(layers::HashedCrossing(0), ValueError);
  EXPECT_THROW(layers::HashedCrossing(3, {.output_mode = "count"}), ValueError);
  EXPECT_NE(message_of([&] { cross(std::vector<layers::CrossedFeature>{Texts{"a"}}); }).find("two or more features"),
            std::string::npos);
  EXPECT_THROW(cross({Texts{"a"}, constant({1, 2})}), ShapeError);
  EXPECT_THROW(cross({Texts{"a"}, constant({1.0})}), DTypeError);
  EXPECT_THROW(cross({Texts{"a"}, Tensor()}), ValueError);
  EXPECT_THROW(cross({constant({{1, 2}}), constant({{1, 2}})}), ShapeError);
}

// --- IntegerLookup ---

TEST(IntegerLookup, IsPartOfAFunctionalModel) {
  const layers::IntegerLookup look_up({.vocabulary = {7, 9}});
  const Nest in = Input({3}, {.dtype = int64});
  const Model model(in, layers::Embedding(look_up.vocabulary_size(), 2)(look_up(in)));
  EXPECT_EQ(model.predict(constant({{7, 9, 11}})).shape(), Shape({1, 3, 2}));
}

TEST(IntegerLookup, WithoutUnknownTokensIsPartOfModels) {
  // What a model is built with is no data: 0 is not in the vocabulary.
  const layers::IntegerLookup look_up({.num_oov_indices = 0, .vocabulary = {7, 9}, .output_mode = "multi_hot"});
  const Nest in = Input({3}, {.dtype = int64});
  const layers::Lambda as_numbers([](const Tensor& x) { return cast(x, float32); });
  const Model model(in, layers::Dense(2)(as_numbers(look_up(in))));
  EXPECT_EQ(model.predict(constant({{7, 9, 9}})).shape(), Shape({1, 2}));
  EXPECT_THROW(model.predict(constant({{7, 9, 8}})), ValueError);
  const Sequential chain({look_up});
  chain.build({-1, 3});
  EXPECT_THROW(chain(constant({{0, 7, 9}})), ValueError);
}

TEST(IntegerLookup, RefusesWhatDoesNotFit) {
  const auto made = [](const layers::IntegerLookupOptions& options) {
    return message_of([&] { layers::IntegerLookup{options}; });
  };
  EXPECT_NE(made({.vocabulary = {1, 2, 1}}).find("the token 1 twice"), std::string::npos);
  EXPECT_NE(made({.mask_token = 2, .vocabulary = {1, 2}}).find("holds the mask token 2"), std::string::npos);
  EXPECT_NE(
      made({.max_tokens = 2, .vocabulary = {1, 2}}).find("has 3 tokens with the special ones, more than max_tokens"),
      std::string::npos);
  EXPECT_NE(made({.max_tokens = 1}).find("leaves no place for tokens"), std::string::npos);
  EXPECT_NE(made({.pad_to_max_tokens = true}).find("needs max_tokens"), std::string::npos);
  EXPECT_NE(made({.invert = true, .output_mode = "count"}).find("invert needs output_mode \"int\""), std::string::npos);
  EXPECT_NE(made({.vocabulary = {1}, .output_mode = "tf_idf"}).find("needs 1 idf_weights"), std::string::npos);
  EXPECT_NE(made({.vocabulary = {1}, .idf_weights = {1.0}}).find("idf_weights are for"), std::string::npos);
  EXPECT_NE(made({.idf_weights = {1.0}}).find("idf_weights need a vocabulary"), std::string::npos);
  EXPECT_NE(made({.salt = 3}).find("salt is for oov_method \"farmhash\""), std::string::npos);
  EXPECT_NE(made({.oov_method = "md5"}).find("\"md5\""), std::string::npos);
  EXPECT_NE(made({.num_oov_indices = -1}).find("num_oov_indices"), std::string::npos);
  EXPECT_NE(made({.num_oov_indices = std::int64_t{1} << 60}).find("num_oov_indices"), std::string::npos);
  const layers::IntegerLookup none({.num_oov_indices = 0, .vocabulary = {1}}), empty;
  EXPECT_NE(message_of([&] {
              none(constant({1, 5}));
            }).find("all tokens must be in the vocabulary"),
            std::string::npos);
  EXPECT_THROW(function([&](const Tensor& x) { return none(x); })(constant({1, 5})), ValueError);
  EXPECT_NE(message_of([&] { empty(constant({1})); }).find("has no vocabulary yet"), std::string::npos);
  EXPECT_NE(message_of([&] { none.adapt(constant({1})); }).find("was given its vocabulary"), std::string::npos);
  EXPECT_NE(message_of([&] { empty.adapt(zeros({0}, int64)); }).find("hold no tokens"), std::string::npos);
  EXPECT_NE(message_of([&] { empty.adapt(constant({-1, -1})); }).find("hold no tokens"), std::string::npos);
  EXPECT_THROW(empty.set_vocabulary({}), ValueError);
  const layers::IntegerLookup hashed({.num_oov_indices = 2, .vocabulary = {1}, .oov_method = "farmhash"});
  EXPECT_THROW(function([&](const Tensor& x) { return hashed(x); })(constant({1, 5})), TraceError);
}

}  // namespace
}  // namespace capstan
