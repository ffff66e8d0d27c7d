#include <gtest/gtest.h>

#include <algorithm>

#include "src/core/seed_stream.h"
#include "tests/data/elements.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::elements_of;
using testing::message_of;
using testing::Words;

TEST(Sources, RangesCountInBothDirections) {
  EXPECT_EQ(elements_of(datasets::range(3)), (Words{"0", "1", "2"}));
  EXPECT_EQ(elements_of(datasets::range(2, 8, 3)), (Words{"2", "5"}));
  EXPECT_EQ(elements_of(datasets::range(3, 0, -2)), (Words{"3", "1"}));
  EXPECT_EQ(elements_of(datasets::range(-5)), Words{});
  EXPECT_EQ(message_of<ValueError>([] { datasets::range(0, 5, 0); }), "range: the step is 0");
  // All int64 but one are too many to count.
  const auto all = datasets::range(INT64_MIN, INT64_MAX);
  EXPECT_EQ(all.cardinality(), INT64_MAX);
  EXPECT_EQ(elements_of(all.take(1)), Words{std::to_string(INT64_MIN)});
  EXPECT_EQ(datasets::range(INT64_MAX, INT64_MIN, INT64_MIN).size(), 2);
  EXPECT_EQ(datasets::range(INT64_MIN, INT64_MAX, INT64_MAX).size(), 3);
}

TEST(Sources, CountersNeverEnd) {
  EXPECT_EQ(datasets::counter().cardinality(), kInfinite);
  EXPECT_EQ(elements_of(datasets::counter(5, -2).take(3)), (Words{"5", "3", "1"}));
  EXPECT_EQ(elements_of(datasets::counter(INT64_MAX).take(2)),
            (Words{std::to_string(INT64_MAX), std::to_string(INT64_MIN)}));
}

// As in a program that has not called set_seed().
struct WithoutProcessSeed {
  WithoutProcessSeed() { set_process_seed(std::nullopt); }
  ~WithoutProcessSeed() { set_process_seed(before); }
  std::optional<std::uint64_t> before = process_seed();
};

// tf.data.Dataset.random(seed=42).take(5) of TensorFlow 2.21.
TEST(Sources, RandomWordsAreThoseOfTensorFlow) {
  const WithoutProcessSeed without;
  const auto words = datasets::random({.seed = 42});
  const Words first = elements_of(words.take(5));
  EXPECT_EQ(first, (Words{"2985944072", "4132877644", "929418493", "249609589", "146598941"}));
  EXPECT_EQ(elements_of(words.take(5)), first);
  const auto others = datasets::random({.seed = 42, .rerandomize_each_iteration = true});
  EXPECT_NE(elements_of(others.take(5)), elements_of(others.take(5)));
  EXPECT_NE(elements_of(datasets::random({.seed = 43}).take(5)), first);
  set_seed(1);
  EXPECT_NE(elements_of(datasets::random({.seed = 42}).take(5)), first);
}

// tf.data.Dataset.sample_from_datasets of TensorFlow 2.21, with seed=7.
TEST(Sources, SamplesAreThoseOfTensorFlow) {
  const WithoutProcessSeed without;
  const std::vector inputs = {datasets::range(1).repeat(), datasets::range(1, 2).repeat(),
                              datasets::range(2, 3).repeat()};
  const auto numbers = [&](const SampleOptions& options) {
    std::vector<std::int64_t> all;
    for (const std::int64_t x : sample_from_datasets(inputs, options).take(20)) all.push_back(x);
    return all;
  };
  EXPECT_EQ(numbers({.weights = {0.5, 0.25, 0.25}, .seed = 7}),
            (std::vector<std::int64_t>{1, 0, 2, 0, 0, 1, 1, 2, 0, 2, 2, 2, 0, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(numbers({.seed = 7}),
            (std::vector<std::int64_t>{1, 0, 2, 0, 1, 1, 1, 2, 0, 2, 2, 2, 0, 0, 1, 0, 2, 0, 1, 0}));
}

TEST(Sources, OneElementHasAllParts) {
  const auto one = from_tensors(ones({2}), 3, "text");
  static_assert(std::is_same_v<decltype(one), const Dataset<Tensor, int, std::string>>);
  EXPECT_EQ(one.size(), 1);
  EXPECT_EQ(testing::text_of(one.get_single_element()), "float32[2][1. 1.]|3|\"text\"|");
}

TEST(Sources, RangesOfTheLanguageAreCopied) {
  std::vector<std::pair<int, std::string>> list = {{1, "a"}, {2, "b"}};
  const auto dataset = from_range(list);
  list.clear();
  EXPECT_EQ(elements_of(dataset), (Words{"1|\"a\"|", "2|\"b\"|"}));
  EXPECT_EQ(dataset.size(), 2);
}

TEST(Sources, GeneratorsStartAnewInEachPass) {
  int opened = 0;
  const auto dataset = from_generator([&opened] {
    ++opened;
    return [i = std::int64_t{0}]() mutable -> std::optional<std::int64_t> {
      if (i == 3) return std::nullopt;
      return i++;
    };
  });
  EXPECT_EQ(dataset.cardinality(), kUnknown);
  EXPECT_EQ(elements_of(dataset), (Words{"0", "1", "2"}));
  EXPECT_EQ(elements_of(dataset), (Words{"0", "1", "2"}));
  EXPECT_EQ(opened, 2);
}

// Otherwise ignore_errors() would read one that fails again and again for ever.
TEST(Sources, GeneratorsThatThrowHaveEnded) {
  const auto dataset = from_generator([] {
    return [i = 0]() mutable -> std::optional<std::int64_t> {
      if (i == 1) throw ValueError("broken");
      return i++;
    };
  });
  EXPECT_EQ(elements_of(dataset), (Words{"0", "error: broken\n  from_generator: element 1"}));
  EXPECT_EQ(elements_of(dataset.ignore_errors()), Words{"0"});
}

TEST(Sources, ChoicesNameDatasets) {
  const std::vector<Dataset<std::int64_t>> inputs = {datasets::range(2), datasets::range(10, 20)};
  const auto choices = from_range(std::vector<std::int64_t>{0, 1, 0, 0, 1});
  EXPECT_EQ(elements_of(choose_from_datasets(inputs, choices)), (Words{"0", "10", "1"}));
  EXPECT_EQ(elements_of(choose_from_datasets(inputs, choices, {.stop_on_empty_dataset = false})),
            (Words{"0", "10", "1", "11"}));
  EXPECT_EQ(elements_of(choose_from_datasets(inputs, from_range(std::vector<std::int64_t>{2, 1}))),
            (Words{"error: choose_from_datasets: the choice 2 is not one of 2 datasets", "10"}));
  EXPECT_THROW(choose_from_datasets(std::vector<Dataset<std::int64_t>>{}, choices), ValueError);
}

// TensorFlow would ask for choices for ever.
TEST(Sources, ChoicesThatAreNeverOfUseAreAnError) {
  const std::vector<Dataset<std::int64_t>> inputs = {datasets::range(2), datasets::range(10, 20)};
  const auto endless = datasets::range(1).repeat();
  auto iterator = choose_from_datasets(inputs, endless, {.stop_on_empty_dataset = false}).begin();
  EXPECT_EQ(iterator.next(), 0);
  EXPECT_EQ(iterator.next(), 1);
  EXPECT_EQ(message_of<ValueError>([&] { iterator.next(); }),
            "choose_from_datasets: 16777216 choices in a row are datasets that have ended, and one that has not is "
            "never chosen\n  help: end the choices, or set stop_on_empty_dataset");
  EXPECT_EQ(elements_of(choose_from_datasets(inputs, endless)), (Words{"0", "1"}));
}

TEST(Sources, SamplesFollowTheWeights) {
  const std::vector inputs = {datasets::range(1).repeat(), datasets::range(1, 2).repeat(),
                              datasets::range(2, 3).repeat()};
  const auto sampled = sample_from_datasets(inputs, {.weights = {3, 0, 1}, .seed = 7});
  std::vector<int> counts(3);
  for (const std::int64_t x : sampled.take(4000)) ++counts[static_cast<std::size_t>(x)];
  EXPECT_NEAR(counts[0], 3000, 100);
  EXPECT_EQ(counts[1], 0);
  EXPECT_EQ(elements_of(sampled.take(50)), elements_of(sampled.take(50)));
  EXPECT_EQ(message_of<ValueError>([&] {
              sample_from_datasets(inputs, {.weights = {1, 2}});
            }),
            "sample_from_datasets: there are 2 weights for 3");
  EXPECT_THROW(sample_from_datasets(inputs, {.weights = {1, -1, 1}}), ValueError);
  EXPECT_THROW(sample_from_datasets(inputs, {.weights = {0, 0, 0}}), ValueError);
}

TEST(Sources, SamplesGoOnWithoutDatasetsThatEnded) {
  const std::vector inputs = {datasets::range(2), datasets::range(10, 14)};
  Words all = elements_of(sample_from_datasets(inputs, {.seed = 1}));
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (Words{"0", "1", "10", "11", "12", "13"}));
  const std::vector unequal = {datasets::range(2), datasets::range(10, 1000)};
  EXPECT_LT(elements_of(sample_from_datasets(unequal, {.seed = 1, .stop_on_empty_dataset = true})).size(), 100U);
}

}  // namespace
}  // namespace capstan
