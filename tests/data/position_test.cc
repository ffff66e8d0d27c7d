// Positions: an iterator of an equal pipeline goes on exactly where another one stood.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/data/elements.h"
#include "tests/support/message_of.h"

namespace capstan {

// Of a type that only can be copied.
struct Secret {
  int value = 0;
};

namespace {

using datasets::range;
using testing::elements_of;
using testing::message_of;
using testing::rest_of;
using testing::squared;
using testing::Words;

// At every place of a pass: what another iterator gives after it took over.
template <class Make>
void expect_positions(const std::string& what, const Make& make) {
  SCOPED_TRACE(what);
  const std::size_t count = elements_of(make()).size();
  ASSERT_GT(count, 0U);
  for (std::size_t cut = 0; cut <= count; ++cut) {
    SCOPED_TRACE(cut);
    const auto dataset = make();
    auto iterator = dataset.begin();
    for (std::size_t i = 0; i < cut; ++i) ASSERT_TRUE(iterator.next().has_value());
    const DatasetPosition position = iterator.save();
    const auto another = make();
    auto restored = another.begin();
    if (cut % 2 == 1) restored.next();  // wherever it stands
    restored.restore(position);
    // A position that is saved again says the same.
    const DatasetPosition again = restored.save();
    EXPECT_EQ(again.size(), position.size());
    const Words rest = rest_of(iterator);
    EXPECT_EQ(rest.size(), count - cut);
    EXPECT_EQ(rest_of(restored), rest);
    // So do later passes.
    EXPECT_EQ(elements_of(another), elements_of(dataset));
    auto third = make().begin();
    third.restore(again);
    EXPECT_EQ(rest_of(third), rest);
  }
}

TEST(Positions, OfSources) {
  expect_positions("slices", [] { return from_tensor_slices(constant({1, 2, 3}), constant({{1.0}, {2.0}, {3.0}})); });
  expect_positions("tensors", [] { return from_tensors(constant({1, 2}), std::string("x")); });
  expect_positions("texts", [] { return from_tensor_slices(Texts{"a", "b", "c"}); });
  expect_positions("structures", [] {
    return from_tensor_slices(std::map<std::string, Tensor>{{"a", constant({1, 2, 3})}});
  });
  expect_positions("range", [] { return range(3, 9, 2); });
  expect_positions("counter", [] { return datasets::counter(4, -3).take(4); });
  expect_positions("random", [] { return datasets::random({.seed = 5}).take(6); });
  expect_positions("random, other words in each pass",
                   [] { return datasets::random({.seed = 5, .rerandomize_each_iteration = true}).take(6); });
}

TEST(Positions, OfOrder) {
  expect_positions("shuffle", [] { return range(8).shuffle(3, {.seed = 4}); });
  expect_positions("shuffle of all", [] { return range(8).shuffle(100, {.seed = 4}); });
  expect_positions("shuffle of rows", [] {
    return from_tensor_slices(constant({1, 2, 3, 4, 5})).shuffle(3, {.seed = 4});
  });
  expect_positions("shuffle of texts", [] {
    return from_tensor_slices(Texts{"a", "b", "c", "d"}).shuffle(2, {.seed = 4});
  });
  expect_positions("shuffle of shuffle", [] { return range(8).shuffle(3, {.seed = 4}).shuffle(4, {.seed = 5}); });
  expect_positions("repeat", [] { return range(3).shuffle(3, {.seed = 4}).repeat(3); });
  expect_positions("shuffle of repeat", [] { return range(3).repeat(3).shuffle(3, {.seed = 4}); });
  expect_positions("repeat for ever", [] { return range(3).shuffle(2, {.seed = 4}).repeat().take(8); });
  expect_positions("skip and shard", [] { return range(9).skip(2).shard(2, 1); });
  expect_positions("filters", [] {
    return range(12).filter([](auto x) { return x % 3 != 0; }).take_while([](auto x) { return x < 9; });
  });
  expect_positions("unique", [] { return from_range(std::vector<int>{1, 2, 1, 3, 2, 4}).map(squared).unique(); });
  expect_positions("zip", [] { return zip(range(4).shuffle(2, {.seed = 1}), range(6).skip(1)); });
  expect_positions("concatenate", [] { return range(3).concatenate(range(5, 8)).enumerate(); });
  expect_positions("choose", [] {
    return choose_from_datasets(std::vector{range(3), range(10, 15)}, range(9).map([](auto x) { return x % 2; }));
  });
  expect_positions("sample", [] { return sample_from_datasets(std::vector{range(3), range(10, 15)}, {.seed = 3}); });
  expect_positions("resample", [] {
    return range(40).rejection_resample([](auto x) { return x % 4 == 0 ? 1 : 0; }, {0.5, 0.5}, {.seed = 3});
  });
  expect_positions("counted", [] { return range(3).ignore_errors().assert_cardinality(3); });
}

TEST(Positions, OfBatches) {
  expect_positions("batch", [] { return range(7).batch(2); });
  expect_positions("batch of rows", [] { return from_tensor_slices(constant({1, 2, 3, 4, 5})).batch(2); });
  expect_positions("padded", [] { return range(1, 6).map([](auto n) { return zeros({n}); }).padded_batch(2); });
  expect_positions("unbatch", [] { return range(7).batch(3).unbatch(); });
  expect_positions("batches as they were", [] { return range(13).batch(3).unbatch().batch(3); });
  expect_positions("rebatch", [] { return range(9).batch(4).rebatch({2, 1, 3}); });
  expect_positions("window",
                   [] { return range(7).window(3, {.shift = 2}).flat_map([](const auto& w) { return w.batch(2); }); });
  expect_positions("windows that wait", [] {
    return range(7).window(3, {.shift = 1}).shuffle(3, {.seed = 2}).flat_map([](const auto& w) { return w; });
  });
  expect_positions("groups", [] {
    return range(11).group_by_window([](auto x) { return x % 3; }, [](auto, const auto& g) { return g.batch(2); }, 3);
  });
  expect_positions("buckets", [] {
    return range(1, 12)
        .map([](auto n) { return zeros({n * 7 % 11}); })
        .bucket_by_sequence_length([](const Tensor& x) { return x.dim(0); }, {4, 8}, {2, 2, 1});
  });
}

TEST(Positions, OfFunctions) {
  expect_positions("map", [] { return range(5).map(squared); });
  expect_positions("vectorized map", [] { return range(11).map_vectorized(3, [](const Tensor& x) { return x * x; }); });
  expect_positions("scan", [] {
    return range(5).scan(std::string("s"), [](const std::string& s, auto x) { return std::tuple(s + "x", s, x); });
  });
  const auto open = [](std::int64_t x) { return range(x, x + 1 + x % 3).shuffle(2, {.seed = 1}); };
  expect_positions("flat_map", [=] { return range(5).flat_map(open); });
  expect_positions("interleave", [=] { return range(7).interleave(open, {.cycle_length = 3, .block_length = 2}); });
  expect_positions("cache", [] { return range(5).cache(); });
  expect_positions("repeated cache", [] { return range(3).shuffle(3, {.seed = 1}).cache().repeat(3); });
}

TEST(Positions, OfThreads) {
  const auto open = [](std::int64_t x) { return range(x, x + 1 + x % 3).shuffle(2, {.seed = 1}).prefetch(1); };
  expect_positions("prefetch", [] { return range(8).shuffle(3, {.seed = 2}).batch(2).prefetch(2); });
  expect_positions("parallel map", [] { return range(20).map(squared, {.num_parallel_calls = 3}); });
  expect_positions("parallel batch",
                   [] { return range(17).shuffle(5, {.seed = 2}).batch(3, {.num_parallel_calls = 2}); });
  expect_positions("parallel batch without the last",
                   [] { return range(17).batch(3, {.drop_remainder = true, .num_parallel_calls = 3}); });
  expect_positions("parallel batch of rows", [] {
    return from_tensor_slices(constant({1, 2, 3, 4, 5})).shuffle(3, {.seed = 1}).batch(2, {.num_parallel_calls = 2});
  });
  expect_positions("parallel padded batch", [] {
    return range(1, 12).map([](auto n) { return zeros({n % 4}); }).padded_batch(2, {.num_parallel_calls = 2});
  });
  expect_positions("parallel interleave", [=] {
    return range(7).interleave(open, {.cycle_length = 3, .block_length = 2, .num_parallel_calls = 2});
  });
  expect_positions("all", [=] {
    return range(9)
        .shuffle(4, {.seed = 3})
        .map(squared, {.num_parallel_calls = 2})
        .interleave(open, {.cycle_length = 2, .num_parallel_calls = 2})
        .batch(3)
        .prefetch();
  });
}

// Nothing is lost or given twice.
TEST(Positions, OfWorkersWithoutOrder) {
  const auto make = [] { return range(30).map(squared, {.num_parallel_calls = 3, .deterministic = false}); };
  const auto dataset = make();
  auto iterator = dataset.begin();
  Words all;
  for (int i = 0; i < 11; ++i) all.push_back(testing::text_of(*iterator.next()));
  auto restored = make().begin();
  restored.restore(iterator.save());
  for (const std::string& text : rest_of(restored)) all.push_back(text);
  Words want = elements_of(range(30).map(squared));
  std::sort(all.begin(), all.end());
  std::sort(want.begin(), want.end());
  EXPECT_EQ(all, want);
}

// A loop reads the element where it stands; the position is behind it.
TEST(Positions, AreBehindTheElementOfALoop) {
  const auto dataset = range(4);
  DatasetPosition position;
  for (auto iterator = dataset.begin(); iterator != dataset.end(); ++iterator) {
    if (*iterator == 1) position = iterator.save();
  }
  auto restored = dataset.begin();
  restored.restore(position);
  EXPECT_EQ(*restored, 2);
}

TEST(Positions, NameWhatCannotBeWritten) {
  const auto generator = from_generator(
      [] { return [i = 0]() mutable -> std::optional<int> { return i < 3 ? std::optional(i++) : std::nullopt; }; });
  EXPECT_EQ(message_of<ValueError>([&] { generator.batch(2).begin().save(); }),
            "save: from_generator has a state of its own, which cannot be written");
  const auto secrets = range(3).map([](auto) { return Secret(); });
  EXPECT_EQ(message_of<ValueError>([&] { secrets.shuffle(2).begin().save(); }),
            "save: shuffle holds elements of capstan::Secret, which cannot be written\n  help: specialise "
            "DatasetTraits for this type, with save() and restore()");
  // One that holds no elements can.
  EXPECT_EQ(secrets.take(2).begin().save().size(), 4U);
  auto inner = range(2).map([](auto) { return range(3); }).prefetch(1).begin();
  inner.next();
  const std::string text = "save: an element is a dataset other than a window, which cannot be written";
  auto waiting = range(2).map([](auto) { return range(3); }).shuffle(2).begin();
  waiting.next();
  EXPECT_EQ(message_of<ValueError>([&] { waiting.save(); }), text);
  auto failing = range(3)
                     .map([](std::int64_t x) -> std::int64_t {
                       if (x == 1) throw ValueError("one");
                       return x;
                     })
                     .prefetch(3)
                     .begin();
  failing.next();
  // The error arrives sooner or later.
  std::string message;
  while ((message = message_of<ValueError>([&] { failing.save(); })) == "nothing was thrown") {
  }
  EXPECT_EQ(message, "save: prefetch holds an error of its input; read on before the position is saved");
}

TEST(Positions, OfOtherPipelinesAreRefused) {
  const auto dataset = range(9).shuffle(3, {.seed = 1}).batch(2);
  auto iterator = dataset.begin();
  iterator.next();
  const DatasetPosition position = iterator.save();
  const auto refusal = [&](const auto& other, const DatasetPosition& from) {
    auto its = other.begin();
    its.next();
    const std::string text = message_of<ValueError>([&] { its.restore(from); });
    its.next();  // it stays where it was
    return text;
  };
  EXPECT_EQ(refusal(range(9).batch(2), position),
            "restore: the position has no \"batch/range/at\"\n  help: it belongs to another pipeline");
  DatasetPosition more = position;
  more["other/at"] = constant(1);
  EXPECT_EQ(refusal(dataset, more),
            "restore: the pipeline has no \"other/at\"\n  help: the position belongs to another pipeline");
  EXPECT_EQ(refusal(range(3).shuffle(3, {.seed = 1}).batch(2), position),
            "restore: \"batch/shuffle/range/at\" does not fit this pipeline\n  help: the position belongs to another "
            "pipeline");
}

// Positions may come from files. Whatever a tensor holds, the answer is an error or a pass.
TEST(Positions, ThatWereChangedAreErrorsAndNothingElse) {
  const auto make = [] {
    return from_tensor_slices(constant({1, 2, 3, 4, 5, 6}), Texts{"a", "b", "c", "d", "e", "f"})
        .shuffle(3, {.seed = 2})
        .window(2)
        .flat_map([](const auto& w) { return w; })
        .batch(2)
        .unbatch()
        .cache()
        .repeat(2)
        .prefetch(2);
  };
  const auto dataset = make();
  auto iterator = dataset.begin();
  for (int i = 0; i < 3; ++i) iterator.next();
  const DatasetPosition position = iterator.save();
  ASSERT_GT(position.size(), 20U);
  const std::vector<Tensor> strange = {Tensor(),
                                       cast(constant(-1), int64),
                                       cast(constant(1), int64),
                                       cast(constant(1000000), int64),
                                       constant(std::vector<std::int64_t>{INT64_MAX, -5}),
                                       constant(std::vector<std::int64_t>{-3}),
                                       constant(std::vector<std::int64_t>{2, 2, 2, 2}),
                                       zeros({0}, int64),
                                       constant(1.5F),
                                       zeros({2, 2})};
  int refused = 0;
  for (const auto& [key, value] : position) {
    for (const Tensor& other : strange) {
      DatasetPosition changed = position;
      changed[key] = other;
      auto its = make().begin();
      try {
        its.restore(changed);
        for (int i = 0; i < 30 && its.next(); ++i) {
        }
      } catch (const Error&) {
        ++refused;
      }
    }
    DatasetPosition fewer = position;
    fewer.erase(key);
    auto its = make().begin();
    EXPECT_THROW(its.restore(fewer), ValueError) << key;
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace capstan
