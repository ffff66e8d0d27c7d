// What an op asks of elements it asks wherever it runs: in plain calls, in functions and for many items at once.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

struct Case {
  std::string name;
  std::function<Tensor(const Tensor&)> call;
  Tensor bad;
  std::string message;
};

std::vector<Case> cases() {
  const Tensor ints = constant({4, 0, 2});
  const Tensor logits = zeros({3, 2});
  const auto into = [](auto function) {
    return [function](const Tensor& y) { return function(constant({7, 8, 9}), y); };
  };
  const auto floordiv_of = [](const Tensor& x, const Tensor& y) { return floordiv(x, y); };
  const auto floormod_of = [](const Tensor& x, const Tensor& y) { return x % y; };
  const auto truncatediv_of = [](const Tensor& x, const Tensor& y) { return truncatediv(x, y); };
  const auto truncatemod_of = [](const Tensor& x, const Tensor& y) { return truncatemod(x, y); };
  const auto pow_of = [](const Tensor& x, const Tensor& y) { return pow(x, y); };
  return {
      {"floordiv", into(floordiv_of), ints, "floordiv: division of an integer by zero"},
      {"floormod", into(floormod_of), ints, "floormod: division of an integer by zero"},
      {"truncatediv", into(truncatediv_of), ints, "truncatediv: division of an integer by zero"},
      {"truncatemod", into(truncatemod_of), ints, "truncatemod: division of an integer by zero"},
      {"pow", into(pow_of), constant({1, -2, 3}), "pow: an integer to a negative power"},
      {"labels", [=](const Tensor& y) { return sparse_softmax_cross_entropy_with_logits(y, logits); },
       constant({0, 2, 1}), "label 2 at position 1 is not one of 2 classes"},
      {"ids",
       [](const Tensor& y) {
         return unsorted_segment_sum(ones({3, 2}), y, 2);
       },
       constant({0, 1, 5}), "id 5 at position 2 is not below num_segments, 2"},
      {"means of ids",
       [](const Tensor& y) {
         return unsorted_segment_mean(ones({3, 2}), y, 2);
       },
       constant({0, 1, 5}), "id 5 at position 2 is not below num_segments, 2"},
      {"lengths",
       [](const Tensor& y) {
         return reverse_sequence(ones({3, 2}), y, 1, 0);
       },
       constant({1, 3, 0}), "reverse_sequence: length 3 is not from 0 to 2"},
      {"indices",
       [](const Tensor& y) {
         return gather(ones({3, 2}), y);
       },
       constant({1, 3, 0}), "index 3 is out of range for axis 0 of length 3"},
      {"poisson", [](const Tensor& y) { return random::poisson({3}, y); }, constant({1.0f, -1.0f, 2.0f}),
       "lam -1 is not a mean"},
      {"binomial", [](const Tensor& y) { return random::binomial({3}, 5.0f, y); }, constant({0.5f, 1.5f, 0.5f}),
       "probs 1.5 is not a probability"},
  };
}

TEST(ElementChecks, HappenInPlainCallsFunctionsAndMaps) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    EXPECT_NE(testing::message_of([&] { one.call(one.bad); }).find(one.message), std::string::npos);
    auto traced = function([&](const Tensor& y) { return one.call(y); });
    const std::string in_function = testing::message_of([&] { traced(one.bad); });
    EXPECT_NE(in_function.find(one.message), std::string::npos) << in_function;
    const Tensor rows = stack({one.bad, one.bad});
    const std::string mapped =
        testing::message_of([&] { vectorized_map([&](const Tensor& y) { return one.call(y); }, rows); });
    EXPECT_NE(mapped, "nothing was thrown");
  }
}

TEST(ElementChecks, LeaveAVariableAsItWas) {
  const Tensor before = cast(range(200000), int64);
  Variable variable(before);
  auto divide = function([&](const Tensor& y) { variable.assign(floordiv(variable, y)); });
  divide(ones({200000}, int64));
  EXPECT_TRUE(testing::same_bits(variable.value(), before));
  const Tensor zero_at_the_end = cast(less(range(200000), 199999), int64) * 2L;
  EXPECT_THROW(divide(zero_at_the_end), ValueError);
  EXPECT_TRUE(testing::same_bits(variable.value(), before));
}

TEST(ElementChecks, OfConstantsWaitForTheRunThatGetsThere) {
  auto f = function([](const Tensor& x) {
    return cond(
        reduce_any(x > 0.0f), [&] { return x * 2.0f; }, [&] { return x * cast(floordiv(6, shape(x) * 0), float32); });
  });
  EXPECT_EQ(f(constant({1.0f})).item<float>(), 2.0f);
}

}  // namespace
}  // namespace capstan
