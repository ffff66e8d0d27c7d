#include <gtest/gtest.h>

#include <cstdlib>
#include <tuple>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"
#include "tests/transforms/control_cases.h"

namespace capstan {
namespace {

using testing::message_of;
using testing::numbers;

using Numbers = std::vector<double>;

const Tensor kRows = constant({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}, float64);

TEST(VectorizedMap, IsMapFn) {
  const auto f = [](const Tensor& row) { return std::tuple(reduce_sum(row * row), row * row(0), constant(7)); };
  const auto [sums, products, same] = vectorized_map(f, kRows);
  EXPECT_EQ(numbers(sums), (Numbers{5, 25, 61}));
  EXPECT_EQ(numbers(products), (Numbers{1, 2, 9, 12, 25, 30}));
  EXPECT_EQ(numbers(same), (Numbers{7, 7, 7}));
  const auto [traced, others, again] = function([&](const Tensor& x) { return vectorized_map(f, x); })(kRows);
  EXPECT_EQ(numbers(traced), numbers(sums));
  EXPECT_EQ(numbers(others), numbers(products));
  EXPECT_EQ(numbers(again), numbers(same));
}

TEST(VectorizedMap, CallsTheFunctionOnce) {
  int calls = 0;
  vectorized_map(
      [&](const Tensor& row) {
        ++calls;
        return exp(row);
      },
      kRows);
  EXPECT_EQ(calls, 1);
}

TEST(VectorizedMap, NestsAndTakesTuples) {
  const Tensor other = kRows * 10.0;
  const auto pairs = vectorized_map(
      [](const Tensor& a, const Tensor& b) {
        return vectorized_map([&](const Tensor& element) { return element * b; }, a);
      },
      std::tuple(kRows, other));
  EXPECT_EQ(pairs.shape(), (Shape{3, 2, 2}));
  EXPECT_EQ(numbers(pairs(1)), (Numbers{90, 120, 120, 160}));
}

TEST(VectorizedMap, IsSeenByTapesAround) {
  const Tensor scale = constant(2.0, float64);
  const Variable offset(constant({1.0, -1.0}, float64));
  GradientTape tape;
  tape.watch(std::tie(scale, kRows));
  const Tensor y = vectorized_map([&](const Tensor& row) { return reduce_sum(square(scale) * row * offset); }, kRows);
  const auto [by_scale, by_rows, by_offset] = tape.gradient(y, std::tuple(scale, kRows, offset));
  EXPECT_EQ(by_scale.item<double>(), 4 * (1 - 2 + 3 - 4 + 5 - 6));
  EXPECT_EQ(numbers(by_rows), (Numbers{4, -4, 4, -4, 4, -4}));
  EXPECT_EQ(numbers(by_offset), (Numbers{36, 48}));
}

TEST(VectorizedMap, EachRowDrawsForItself) {
  const Tensor draws =
      vectorized_map([](const Tensor& row) { return random::uniform({2}, 0, 1, float64) + 0 * row; }, kRows);
  EXPECT_EQ(draws.shape(), (Shape{3, 2}));
  const std::vector<double> values = numbers(draws);
  EXPECT_NE(values[0], values[2]);
  EXPECT_NE(values[2], values[4]);
}

TEST(VectorizedMap, OfNoRowsHasTheShapes) {
  const Tensor none = vectorized_map([](const Tensor& row) { return reduce_sum(row); }, zeros({0, 4}, float64));
  EXPECT_EQ(none.shape(), (Shape{0}));
}

TEST(VectorizedMap, SaysWhatIsWrong) {
  const auto first = [](const Tensor& a, const Tensor&) { return a; };
  EXPECT_NE(message_of([&] {
              vectorized_map(first, std::tuple(kRows, zeros({2}, float64)));
            }).find("vectorized_map: the elements have 3 and 2 rows"),
            std::string::npos);
  EXPECT_NE(message_of([&] { vectorized_map([](const Tensor& a) { return a; }, constant(1.0)); }).find("is a scalar"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              vectorized_map([](const Tensor& a) { return a * a(0).item<double>(); }, kRows);
            }).find("stands for a value of the traced function"),
            std::string::npos);
  Variable sum(constant(0.0, float64));
  EXPECT_NE(message_of([&] {
              vectorized_map(
                  [&](const Tensor& row) {
                    sum.assign(reduce_sum(row));
                    return row;
                  },
                  kRows);
            }).find("something that differs from row to row"),
            std::string::npos);
  EXPECT_EQ(sum.item<double>(), 0);
}

TEST(PerExampleGradients, AreThoseOfALoop) {
  const Variable w(constant({{0.1, -0.2}, {0.3, 0.4}}, float64));
  const Variable b(constant({0.5, -0.5}, float64));
  const Variable unused(constant(1.0, float64));
  const Tensor labels = constant({0, 1, 1});
  const auto loss = [&](const Tensor& x, const Tensor& label) {
    const Tensor logits = matmul(expand_dims(x, 0), w) + b;
    return reduce_sum(sparse_softmax_cross_entropy_with_logits(expand_dims(label, 0), logits));
  };
  const std::vector<Variable> sources = {w, b, unused};
  const std::vector<Tensor> all = per_example_gradients(loss, std::tuple(kRows, labels), sources);
  const std::vector<Tensor> traced =
      function([&](const Tensor& x) { return per_example_gradients(loss, std::tuple(x, labels), sources); })(kRows);
  for (int i = 0; i < 3; ++i) {
    GradientTape tape;
    const std::vector<Tensor> one = tape.gradient(loss(kRows(i), labels(i)), std::vector<Variable>{w, b});
    for (std::size_t k = 0; k < 2; ++k) {
      const std::vector<double> expected = numbers(one[k]);
      for (std::size_t j = 0; j < expected.size(); ++j) {
        EXPECT_NEAR(numbers(all[k](i))[j], expected[j], 1e-14);
        EXPECT_NEAR(numbers(traced[k](i))[j], expected[j], 1e-14);
      }
    }
  }
  EXPECT_EQ(numbers(all[2]), (Numbers{0, 0, 0}));
}

// A network of all that convolutional networks are made of, in float64.
struct Network {
  Variable filters1{random::normal({3, 3, 2, 4}, 0, 0.5, float64)};
  Variable depthwise{random::normal({2, 2, 4, 1}, 0, 0.5, float64)};
  Variable filters2{random::normal({1, 1, 4, 3}, 0, 0.5, float64)};
  Variable scale{random::normal({4}, 1, 0.1, float64)};
  Variable offset{random::normal({4}, 0, 0.1, float64)};
  Variable kernel{random::normal({12, 3}, 0, 0.5, float64)};

  std::vector<Variable> weights() const { return {filters1, depthwise, filters2, scale, offset, kernel}; }

  // Of one image [6, 6, 2].
  Tensor loss(const Tensor& image, const Tensor& label) const {
    Tensor x = relu(conv2d(expand_dims(image, 0), filters1, {1, 1}, "SAME"));
    x = batch_norm_training(x, scale, offset).y;
    x = max_pool2d(x, {2, 2}, {2, 2}, "VALID");
    x = layer_normalization(depthwise_conv2d(x, depthwise, {1, 1}, "SAME"), scale, offset);
    x = avg_pool2d(conv2d(x, filters2, {1, 1}), {2, 2}, {1, 1}, "VALID");
    return reduce_sum(
        sparse_softmax_cross_entropy_with_logits(expand_dims(label, 0), matmul(reshape(x, {1, 12}), kernel)));
  }
};

void expect_near(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.shape(), expected.shape());
  EXPECT_LT(reduce_max(abs(actual - expected)).item<double>(), 1e-12);
}

TEST(PerExampleGradients, OfAConvolutionalNetwork) {
  set_seed(3);
  const Network network;
  const Tensor images = random::normal({5, 6, 6, 2}, 0, 1, float64);
  const Tensor labels = constant({0, 2, 1, 1, 0});
  const auto all = [&](const Tensor& x, const Tensor& y) {
    return per_example_gradients([&](const Tensor& image, const Tensor& label) { return network.loss(image, label); },
                                 std::tuple(x, y), network.weights());
  };
  const std::vector<Tensor> eager = all(images, labels);
  const std::vector<Tensor> traced = function(all)(images, labels);
  for (int i = 0; i < 5; ++i) {
    GradientTape tape;
    const std::vector<Tensor> one = tape.gradient(network.loss(images(i), labels(i)), network.weights());
    for (std::size_t k = 0; k < one.size(); ++k) {
      expect_near(eager[k](i), one[k]);
      expect_near(traced[k](i), one[k]);
    }
  }
}

// The filters of every item are a step along the gradient of that item, and everything is differentiated once more.
TEST(PerExampleGradients, LeadOnThroughFiltersOfTheirOwn) {
  set_seed(4);
  const Network network;
  const Tensor images = random::normal({3, 6, 6, 2}, 0, 1, float64);
  const Tensor labels = constant({0, 2, 1});
  const auto adapted = [&](const Tensor& image, const Tensor& label) {
    GradientTape tape;
    const Tensor step = tape.gradient(network.loss(image, label), network.filters1);
    const Tensor filters = network.filters1 - 0.1 * step;
    return reduce_sum(square(conv2d(expand_dims(image, 0), filters, {2, 2}, "SAME")));
  };
  GradientTape outer;
  const Tensor sum = reduce_sum(
      vectorized_map([&](const std::tuple<Tensor, Tensor>& row) { return adapted(std::get<0>(row), std::get<1>(row)); },
                     std::tuple(images, labels)));
  const std::vector<Variable> sources = {network.filters1, network.kernel};
  const std::vector<Tensor> actual = outer.gradient(sum, sources);
  GradientTape loop;
  Tensor expected_sum = constant(0.0, float64);
  for (int i = 0; i < 3; ++i) expected_sum = expected_sum + adapted(images(i), labels(i));
  const std::vector<Tensor> expected = loop.gradient(expected_sum, sources);
  for (std::size_t k = 0; k < expected.size(); ++k) expect_near(actual[k], expected[k]);
}

// In a process of its own, for it is said once.
TEST(VectorizedMap, NamesWhatRunsItemByItem) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto run = [] {
    vectorized_map(
        [](const Tensor& x) {
          GradientTape tape;
          tape.watch(x);
          const Tensor y =
              while_loop([](const Tensor& v) { return v < 10.0; }, [](const Tensor& v) { return v * v; }, x);
          return tape.gradient(y, x);
        },
        constant({2.0, 3.0}));
    std::exit(0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "capstan: warning: the gradient of while_loop runs item by item");
}

}  // namespace
}  // namespace capstan
