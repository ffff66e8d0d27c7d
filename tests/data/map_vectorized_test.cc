// map() with vectorized_map behind it.
#include <gtest/gtest.h>

#include "tests/data/elements.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using datasets::range;
using testing::elements_of;
using testing::message_of;

TEST(MapVectorized, GivesWhatMapGives) {
  const auto rows = from_tensor_slices(reshape(cast(capstan::range(0, 33), float32), {11, 3}), capstan::range(0, 11));
  const auto f = [](const Tensor& x, const Tensor& y) { return std::pair(reduce_sum(x * x), cast(y, float32) + x); };
  for (const std::int64_t count : {1, 4, 11, 100}) {
    const auto vectorized = rows.map_vectorized(count, f);
    EXPECT_EQ(elements_of(vectorized), elements_of(rows.map(f))) << count;
    EXPECT_EQ(elements_of(rows.map_vectorized(count, f, {.num_parallel_calls = 2})), elements_of(rows.map(f)));
    EXPECT_EQ(vectorized.size(), 11);
  }
  EXPECT_EQ(elements_of(range(0).map_vectorized(3, [](const Tensor& x) { return x; })).size(), 0U);
}

TEST(MapVectorized, TakesNumbersAndStructures) {
  const auto squares = range(7).map_vectorized(3, [](const Tensor& x) { return x * x; });
  EXPECT_EQ(elements_of(squares), elements_of(range(7).map([](std::int64_t x) { return constant(x * x, int64); })));
  const auto maps = from_tensor_slices(std::map<std::string, Tensor>{{"a", constant({1.0F, 2.0F, 3.0F})}});
  const auto doubled = maps.map_vectorized(2, [](const std::map<std::string, Tensor>& x) {
    return std::map<std::string, Tensor>{{"b", x.at("a") * 2.0}};
  });
  EXPECT_EQ(testing::text_of(*++doubled.begin()), "b:float32[]4.0 ");
}

// The function sees what it does for all elements at once.
TEST(MapVectorized, CallsTheFunctionOnceForManyElements) {
  int calls = 0;
  const auto counted = range(10).map_vectorized(5, [&calls](const Tensor& x) {
    ++calls;
    return x + 1;
  });
  EXPECT_EQ(elements_of(counted).size(), 10U);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(elements_of(counted.map_vectorized(10, [](const Tensor& x) { return x - 1; })),
            elements_of(range(10).map_vectorized(1, [](const Tensor& x) { return x + 0; })));
}

// Batches of as many are handed on as they are; whatever else happens is what happens to elements.
TEST(MapVectorized, JoinsBatchesThatItHasNotTakenApart) {
  const auto f = [](const Tensor& x) { return x * 2; };
  for (const std::int64_t n : {0, 1, 7, 12, 13}) {
    const auto input = range(n).map([](std::int64_t x) { return constant(x, int64); });
    for (const bool drop : {false, true}) {
      for (const std::int64_t size : {3, 4}) {
        const auto batches = input.map_vectorized(4, f).batch(size, {.drop_remainder = drop});
        EXPECT_EQ(elements_of(batches), elements_of(input.map(f).batch(size, {.drop_remainder = drop})));
      }
    }
  }
  const auto unequal = zip(range(3), range(3)).map([](std::int64_t a, std::int64_t b) {
    return std::pair(zeros({2}), zeros({b == 1 ? 3 : 2 + a * 0}));
  });
  const auto fails = range(12).map([](std::int64_t x) {
    if (x == 5) throw ValueError("five");
    return x;
  });
  // With a filter between them the batch sees elements.
  const auto all = [](const auto&...) { return true; };
  EXPECT_EQ(elements_of(unequal.unbatch().batch(2)), elements_of(unequal.unbatch().filter(all).batch(2)));
  EXPECT_EQ(elements_of(fails.batch(4).unbatch().batch(4)), elements_of(fails.batch(4).unbatch().filter(all).batch(4)));
  EXPECT_EQ(elements_of(fails.batch(2).unbatch().batch(2)), elements_of(fails.batch(2).unbatch().filter(all).batch(2)));
  EXPECT_EQ(elements_of(from_tensor_slices(Texts{"a", "b", "c", "d"}).batch(2).unbatch().batch(2)),
            elements_of(from_tensor_slices(Texts{"a", "b", "c", "d"}).batch(2)));
}

TEST(MapVectorized, RefusesElementsThatDiffer) {
  EXPECT_EQ(message_of<ValueError>([] { range(3).map_vectorized(0, [](const Tensor& x) { return x; }); }),
            "batch: batch_size must be at least 1, not 0");
  const auto shapes = range(3).map([](std::int64_t n) { return zeros({n}); });
  EXPECT_THROW(shapes.map_vectorized(2, [](const Tensor& x) { return x; }).begin().next(), ShapeError);
  // What reads an element of its argument cannot be run for many.
  const auto reads = range(3).map_vectorized(2, [](const Tensor& x) { return constant(x.item<std::int64_t>() + 1); });
  EXPECT_THROW(reads.begin().next(), TraceError);
}

}  // namespace
}  // namespace capstan
