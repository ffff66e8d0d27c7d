// Transformations whose order golden values do not show, and what each refuses.
#include <gtest/gtest.h>

#include "tests/data/elements.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using datasets::range;
using testing::elements_of;
using testing::message_of;
using testing::Words;

TEST(Transformations, PutNumbersBeforeElements) {
  EXPECT_EQ(elements_of(from_range(std::vector<std::string>{"a", "b"}).enumerate(5)), (Words{"5|\"a\"|", "6|\"b\"|"}));
  EXPECT_EQ(range(4).enumerate().size(), 4);
}

TEST(Transformations, ZipJoinsAllParts) {
  const auto pairs = zip(range(2), range(5));
  const auto triples = zip(pairs, from_tensors(std::string("x")).repeat());
  static_assert(std::is_same_v<decltype(triples), const Dataset<std::int64_t, std::int64_t, std::string>>);
  EXPECT_EQ(elements_of(triples), (Words{"0|0|\"x\"|", "1|1|\"x\"|"}));
  EXPECT_EQ(triples.size(), 2);
}

TEST(Transformations, ReduceFoldsAllElements) {
  EXPECT_EQ(range(5).reduce(std::int64_t{0}, [](auto sum, auto x) { return sum + x; }), 10);
  EXPECT_EQ(message_of<ValueError>([] { range(5).repeat().reduce(0, [](int n, auto) { return n + 1; }); }),
            "reduce: the dataset is infinite\n  help: take() gives a finite one");
  EXPECT_EQ(
      message_of<DTypeError>([] { range(5).reduce(constant(0), [](const Tensor&, auto) { return constant(1.5F); }); }),
      "reduce: the dtype of the state changes from int32 to float32");
}

TEST(Transformations, ScanCarriesAState) {
  EXPECT_EQ(elements_of(range(4).scan(std::string("."),
                                      [](const std::string& s, std::int64_t x) { return std::tuple(s + "x", x, s); })),
            (Words{"0|\".\"|", "1|\".x\"|", "2|\".xx\"|", "3|\".xxx\"|"}));
  EXPECT_EQ(elements_of(
                range(1).scan(constant(0), [](const Tensor&, std::int64_t x) { return std::pair(constant(1.5F), x); })),
            Words{"error: scan: the dtype of the state changes from int32 to float32\n  scan: element 0"});
}

TEST(Transformations, FiltersAskForOneTruthValue) {
  EXPECT_EQ(elements_of(range(5).filter([](std::int64_t x) { return constant(x > 2); })), (Words{"3", "4"}));
  EXPECT_EQ(elements_of(range(1).filter([](std::int64_t) {
              return constant({1, 2});
            })),
            Words{"error: filter: the function gives no scalar bool\n  value: int32[2]\n  filter: element 0"});
  EXPECT_EQ(elements_of(range(9).take_while([](std::int64_t x) { return x < 2; })), (Words{"0", "1"}));
}

TEST(Transformations, UniqueComparesValues) {
  EXPECT_EQ(elements_of(from_range(std::vector<std::string>{"a", "b", "a"}).unique()), (Words{"\"a\"", "\"b\""}));
  const auto rows = from_tensor_slices(constant({{1, 2}, {3, 4}, {1, 2}}));
  EXPECT_EQ(elements_of(rows.unique()), (Words{"int32[2][1 2]", "int32[2][3 4]"}));
  EXPECT_EQ(elements_of(from_tensors(constant(1.5F)).unique()),
            Words{"error: unique: only texts and integers have equal ones, not float32[]"});
}

TEST(Transformations, CardinalityIsAsserted) {
  const auto odd = range(6).filter([](std::int64_t x) { return x % 2 == 1; });
  EXPECT_EQ(odd.cardinality(), kUnknown);
  EXPECT_EQ(odd.assert_cardinality(3).size(), 3);
  EXPECT_EQ(elements_of(odd.assert_cardinality(3)).size(), 3U);
  EXPECT_EQ(elements_of(odd.assert_cardinality(2)),
            (Words{"1", "3", "error: assert_cardinality: the dataset has more than 2 elements, not 2"}));
  EXPECT_THROW(
      {
        auto iterator = odd.assert_cardinality(4).begin();
        while (iterator.next()) {
        }
      },
      ValueError);
  EXPECT_THROW(odd.assert_cardinality(-3), ValueError);
  EXPECT_EQ(message_of<ValueError>([&] { odd.size(); }),
            "dataset: the number of elements is unknown\n  help: count them in a loop, or state it with "
            "assert_cardinality()");
  EXPECT_EQ(message_of<ValueError>([&] { range(1).repeat().size(); }),
            "dataset: the dataset is infinite, it has no size\n  help: take() gives a finite one");
}

TEST(Transformations, OneElementIsOne) {
  EXPECT_EQ(range(1).get_single_element(), 0);
  EXPECT_EQ(message_of<ValueError>([] { range(0).get_single_element(); }),
            "get_single_element: the dataset has no element");
  EXPECT_EQ(message_of<ValueError>([] { range(2).get_single_element(); }),
            "get_single_element: the dataset has more than one element");
}

TEST(Transformations, PaddingHasAShapeAndAValue) {
  const auto ragged = range(1, 4).map([](std::int64_t n) { return std::pair(fill({n, 2}, static_cast<float>(n)), n); });
  const auto [x, n] = *ragged.padded_batch(3, {.padding_values = {constant(-1.0F), Tensor()}}).begin();
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 1, -1, -1, -1, -1, 2, 2, 2, 2, -1, -1, 3, 3, 3, 3, 3, 3}));
  EXPECT_EQ(n.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 3}));
  const auto [y, m] = *ragged.padded_batch(2, {.padded_shapes = {{2, -1}, {}}}).begin();
  EXPECT_EQ(y.shape(), (Shape{2, 2, 2}));
  const auto refusal = [&](const PaddedBatchOptions& options) {
    return elements_of(
        ragged.padded_batch(2, options).map([](const Tensor& t, const Tensor&) { return t.shape().rank(); }))[0];
  };
  EXPECT_EQ(refusal({.padded_shapes = {{1, 2}, {}}}),
            "error: padded_batch: an element is larger than its shape, 2 and 1 along axis 0");
  EXPECT_EQ(refusal({.padded_shapes = {{5}, {}}}),
            "error: padded_batch: an element is float32[1, 2], another float32[1, 2], to be of rank 1");
  EXPECT_EQ(refusal({.padding_values = {constant(1), Tensor()}}),
            "error: padded_batch: the padding value is int32[], the elements are float32[1, 2]");
  EXPECT_EQ(message_of<ValueError>([&] { ragged.padded_batch(2, {.padded_shapes = {{2}}}); }),
            "padded_batch: there are 1 shapes for 2 parts of an element");
  EXPECT_THROW(ragged.padded_batch(0), ValueError);
  EXPECT_THROW(ragged.padded_batch(1, {.padded_shapes = {{-2, 1}, {}}}), ValueError);
  EXPECT_THROW(ragged.padded_batch(1, {.padding_values = {zeros({2}), Tensor()}}), ShapeError);
}

TEST(Transformations, BucketsAreChecked) {
  const auto dataset = range(1, 9).map([](std::int64_t n) { return zeros({n}); });
  const auto length = [](const Tensor& x) { return x.dim(0); };
  EXPECT_EQ(message_of<ValueError>([&] {
              dataset.bucket_by_sequence_length(length, {3, 5}, {1, 1});
            }),
            "bucket_by_sequence_length: 2 boundaries make 3 buckets, but there are 2 batch sizes");
  EXPECT_EQ(message_of<ValueError>([&] {
              dataset.bucket_by_sequence_length(length, {5, 3}, {1, 1, 1});
            }),
            "bucket_by_sequence_length: boundaries do not rise, 5 and 3");
  const auto bounded = dataset.bucket_by_sequence_length(length, {8}, {7, 1}, {.pad_to_bucket_boundary = true});
  auto iterator = bounded.begin();
  EXPECT_EQ(iterator.next()->shape(), (Shape{7, 7}));
  EXPECT_EQ(message_of<ValueError>([&] { iterator.next(); }),
            "bucket_by_sequence_length: an element of length 8 is beyond the last boundary\n  group_by_window: element "
            "7\n  help: with pad_to_bucket_boundary every element is below the last boundary");
}

TEST(Transformations, RejectionMeetsTheTarget) {
  // Class 0 nine times as often as class 1.
  const auto skewed = range(20000).map([](std::int64_t x) { return x % 10 == 0 ? std::int64_t{1} : std::int64_t{0}; });
  for (const std::vector<double>& initial : {std::vector<double>{}, std::vector<double>{0.9, 0.1}}) {
    const auto even =
        skewed.rejection_resample([](std::int64_t c) { return c; }, {0.5, 0.5}, {.initial_dist = initial, .seed = 3});
    double ones = 0, all = 0;
    for (const auto& [its_class, x] : even) {
      ASSERT_EQ(its_class, x);
      ones += static_cast<double>(its_class);
      ++all;
    }
    EXPECT_GT(all, 3000);
    EXPECT_NEAR(ones / all, 0.5, 0.03);
  }
  EXPECT_EQ(elements_of(range(3).rejection_resample([](std::int64_t x) { return x; }, {1, 1}).skip(2)),
            Words{"error: rejection_resample: the class 2 is not one of 2\n  rejection_resample: element 2"});
  EXPECT_THROW(skewed.rejection_resample([](std::int64_t c) { return c; }, {}), ValueError);
}

TEST(Transformations, RefuseWhatMakesNoSense) {
  EXPECT_EQ(message_of<ValueError>([] { range(3).shard(2, 2); }), "shard: index 2 is not in [0, 2)");
  EXPECT_EQ(message_of<ValueError>([] { range(3).shard(0, 0); }), "shard: num_shards must be at least 1, not 0");
  EXPECT_EQ(message_of<ValueError>([] { range(3).window(2, {.shift = 0}); }),
            "window: size, shift and stride must be at least 1, not 2, 0 and 1");
  EXPECT_EQ(message_of<ValueError>([] { range(3).prefetch(-2); }),
            "prefetch: buffer_size is -2\n  help: 0 is none, kAutotune chooses");
  EXPECT_EQ(message_of<ValueError>([] { range(3).batch(2).rebatch(0); }),
            "rebatch: batch_size must be at least 1, not 0");
  EXPECT_EQ(message_of<ValueError>([] { range(3).batch(2).rebatch(std::vector<std::int64_t>{}); }),
            "rebatch: there are no sizes");
  EXPECT_THROW(range(3).shuffle(0), ValueError);
  EXPECT_THROW(range(3).shuffle(-1), ValueError);
  EXPECT_EQ(message_of<ValueError>([] { range(3).repeat().shuffle(kUnknown); }),
            "shuffle: a buffer that holds all elements of an infinite dataset never fills");
  EXPECT_EQ(message_of<ValueError>([] { range(3).repeat().batch(INT64_MAX); }),
            "batch: a batch of all elements of an infinite dataset never ends");
  EXPECT_EQ(
      elements_of(range(3).group_by_window([](auto x) { return x; }, [](auto, const auto& d) { return d; }, 0).take(1)),
      Words{"error: group_by_window: the window of key 0 has the size 0"});
  EXPECT_EQ(elements_of(range(3).shuffle(kUnknown)).size(), 3U);
}

TEST(Transformations, WindowsCanBeLargerThanAnything) {
  EXPECT_EQ(range(3).window(INT64_MAX, {.stride = INT64_MAX}).size(), 1);
  EXPECT_EQ(range(3).window(INT64_MAX, {.stride = INT64_MAX, .drop_remainder = true}).size(), 0);
  const auto joined =
      range(3).window(2, {.shift = INT64_MAX, .stride = INT64_MAX}).flat_map([](const auto& w) { return w; });
  EXPECT_EQ(elements_of(joined), Words{"0"});
}

TEST(Transformations, CachesKeepWholePassesOnly) {
  int calls = 0;
  const auto dataset = range(4)
                           .map([&calls](std::int64_t x) {
                             ++calls;
                             return x;
                           })
                           .cache();
  elements_of(dataset.take(2));
  EXPECT_EQ(calls, 2);
  elements_of(dataset);
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(elements_of(dataset), (Words{"0", "1", "2", "3"}));
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(elements_of(range(0).cache()), Words{});
}

TEST(Transformations, ApplyGivesWhatAFunctionDoes) {
  EXPECT_EQ(elements_of(range(4).apply([](const auto& d) { return d.skip(1).batch(2); })).size(), 2U);
}

TEST(Transformations, TwoIteratorsDoNotDisturbEachOther) {
  const auto dataset = range(6).shuffle(3, {.seed = 1, .reshuffle_each_iteration = false}).batch(2);
  auto a = dataset.begin(), b = dataset.begin();
  for (int i = 0; i < 3; ++i) {
    const std::string left = testing::text_of(*a.next()), right = testing::text_of(*b.next());
    EXPECT_EQ(left, right);
  }
}

}  // namespace
}  // namespace capstan
