// Errors of users' functions: at their element, with its number, and the loop goes on behind it.
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/data/elements.h"

namespace capstan {
namespace {

using datasets::range;
using testing::elements_of;
using testing::Words;

std::int64_t refuse_two(std::int64_t x) {
  if (x == 2) throw ShapeError("two: does not fit\n  help: take another");
  return x;
}

const std::string kRefusal = "error: two: does not fit\n  map: element 2\n  help: take another";

TEST(UserErrors, ArriveAtTheirElement) {
  EXPECT_EQ(elements_of(range(4).map(refuse_two)), (Words{"0", "1", kRefusal, "3"}));
  for (const std::int64_t calls : {1, 2, 5}) {
    const auto dataset = range(4).map(refuse_two, {.num_parallel_calls = calls});
    EXPECT_EQ(elements_of(dataset), (Words{"0", "1", kRefusal, "3"}));
    EXPECT_EQ(elements_of(dataset.prefetch(3)), (Words{"0", "1", kRefusal, "3"}));
  }
}

TEST(UserErrors, KeepTheirClass) {
  auto iterator = range(4).skip(2).map(refuse_two, {.num_parallel_calls = 2}).begin();
  EXPECT_THROW(iterator.next(), ShapeError);
  EXPECT_EQ(iterator.next(), 3);
}

// An exception that is not the library's becomes one that is, with the original in it.
TEST(UserErrors, OfOtherClassesAreNested) {
  auto iterator = range(1).map([](std::int64_t) -> int { throw std::out_of_range("far"); }).begin();
  try {
    iterator.next();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "far\n  map: element 0");
    EXPECT_THROW(std::rethrow_if_nested(error), std::out_of_range);
  }
  auto number = range(1).map([](std::int64_t) -> int { throw 3; }).begin();
  EXPECT_THROW(number.next(), int);
}

TEST(UserErrors, TakeTheirBatchWithThem) {
  const auto failing = range(6).map(refuse_two);
  EXPECT_EQ(elements_of(failing.batch(2)), (Words{"int64[2][0 1]", kRefusal, "int64[2][4 5]"}));
  EXPECT_EQ(elements_of(failing.padded_batch(2)), (Words{"int64[2][0 1]", kRefusal, "int64[2][4 5]"}));
}

TEST(UserErrors, GoThroughEveryTransformation) {
  const auto failing = range(4).map(refuse_two);
  const Words all = {"0", "1", kRefusal, "3"};
  EXPECT_EQ(elements_of(failing.filter([](auto) { return true; })), all);
  EXPECT_EQ(elements_of(failing.cache()), all);
  EXPECT_EQ(elements_of(failing.take(4).concatenate(range(0))), all);
  EXPECT_EQ(elements_of(failing.take(3)), (Words{"0", "1", kRefusal}));
  EXPECT_EQ(elements_of(failing.skip(1)), (Words{"1", kRefusal, "3"}));
  EXPECT_EQ(elements_of(failing.repeat(2)).size(), 8U);
  EXPECT_EQ(elements_of(failing.ignore_errors()), (Words{"0", "1", "3"}));
  EXPECT_EQ(elements_of(failing.shuffle(1)), (Words{"0", "1", kRefusal, "3"}));
  EXPECT_EQ(elements_of(failing.shuffle(2, {.seed = 1})).size(), 4U);
  EXPECT_EQ(elements_of(zip(failing, range(10, 20))), (Words{"0|10|", "1|11|", kRefusal, "3|13|"}));
  EXPECT_EQ(elements_of(failing.window(1).flat_map([](const auto& w) { return w; })), all);
  EXPECT_EQ(elements_of(failing.interleave([](auto x) { return from_tensors(x); }, {.cycle_length = 1})), all);
  EXPECT_EQ(elements_of(failing.interleave([](auto x) { return from_tensors(x); },
                                           {.cycle_length = 1, .num_parallel_calls = 1})),
            all);
  EXPECT_EQ(elements_of(failing.map([](auto x) { return x; }, {.num_parallel_calls = 2})), all);
}

TEST(UserErrors, OfInnerDatasetsLeaveTheOthers) {
  const auto open = [](std::int64_t x) { return range(x, x + 2).map(refuse_two); };
  const auto open_refusing = [](std::int64_t x) { return range(refuse_two(x), x + 2); };
  for (const std::int64_t calls : {0, 2}) {
    const InterleaveOptions options{.cycle_length = 2, .block_length = 1, .num_parallel_calls = calls};
    const std::string inner = "error: two: does not fit\n  map: element ";
    const std::string rest = "\n  help: take another";
    EXPECT_EQ(elements_of(range(1, 4).interleave(open, options)),
              (Words{"1", inner + "0" + rest, "3", inner + "1" + rest, "3", "4"}))
        << calls;
    EXPECT_EQ(elements_of(range(1, 4).interleave(open_refusing, options)),
              (Words{"1", "error: two: does not fit\n  interleave: element 1" + rest, "3", "2", "4"}))
        << calls;
  }
}

TEST(UserErrors, OfKeysNameTheElement) {
  const auto key = [](std::int64_t x) { return refuse_two(x); };
  EXPECT_EQ(elements_of(range(4).group_by_window(
                key, [](auto, const auto& d) { return d; }, 1)),
            (Words{"0", "1", "error: two: does not fit\n  group_by_window: element 2\n  help: take another", "3"}));
}

}  // namespace
}  // namespace capstan
