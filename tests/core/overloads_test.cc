// Calls that look like something else must mean it or not compile, with every compiler.
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "capstan/capstan.h"

namespace capstan {
namespace {

// --- Assignment to a temporary ---

static_assert(std::is_copy_assignable_v<Tensor> && std::is_move_assignable_v<Tensor>);
static_assert(!std::is_assignable_v<Tensor, Tensor> && !std::is_assignable_v<Tensor, const Tensor&>);
static_assert(!std::is_assignable_v<Variable, Variable>);
static_assert(!std::is_assignable_v<Tensor, Variable>);
template <class T>
concept AssignsElements = requires(T x, Tensor y) {
  x[0] = y;
}
|| requires(T x, Tensor y) { x(0, slice()) = y; }
|| requires(T x, Tensor y) { x[0] += y; }
|| requires(T x, Tensor y) { x[0] *= 2.0; };
static_assert(!AssignsElements<Tensor> && !AssignsElements<Variable>);

// --- Truth values are no axes ---

template <class T>
concept TakesTruthForAxes = requires(T x) {
  reduce_sum(x, true);
}
|| requires(T x) { reduce_sum(x, {true}); }
|| requires(T x) { count_nonzero(x, true); }
|| requires(T x) { l2_normalize(x, true); };
static_assert(!TakesTruthForAxes<Tensor>);
static_assert(!std::is_constructible_v<Axes, bool> && !std::is_constructible_v<Shape, std::string>);
static_assert(!std::is_constructible_v<Index, bool>);

// --- Nor are they options, and options are no other argument ---

template <class T>
concept TakesBareTruth = requires(T x) {
  reduce_sum(x, 0, true);
}
|| requires(T x) { cumsum(x, 0, true); }
|| requires(T x) { transpose(x, {}, true); }
|| requires(T x) { gelu(x, true); }
|| requires(T x) { solve(x, x, true); }
|| requires(T x) { norm(x, 2, {}, true); };
static_assert(!TakesBareTruth<Tensor>);
template <class T>
concept TakesOptionsTooEarly = requires(T x) {
  cumsum(x, {.reverse = true});
}
|| requires(T x) { transpose(x, {.conjugate = true}); }
|| requires(T x) { moments(x, {.keepdims = true}); }
|| requires(T x) { norm(x, {.keepdims = true}); }
|| requires(T x) { norm(x, 2, {.keepdims = true}); }
|| requires(T x) { percentile(x, 50.0, {.keepdims = true}); }
|| requires(T x) { lstsq(x, {.fast = false}); };
static_assert(!TakesOptionsTooEarly<Tensor>);

TEST(Reductions, TakeOptions) {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});
  EXPECT_EQ(reduce_sum(x, {.keepdims = true}).shape(), (Shape{1, 1}));
  EXPECT_EQ(reduce_sum(x, {.keepdims = true}).item<float>(), 10);
  EXPECT_EQ(reduce_sum(x, {.axis = 0}).to_vector<float>(), (std::vector<float>{4, 6}));
  EXPECT_EQ(reduce_sum(x, {.axis = 0, .keepdims = true}).shape(), (Shape{1, 2}));
  EXPECT_EQ(reduce_sum(x, {.axis = {0, -1}, .keepdims = true}).shape(), (Shape{1, 1}));
  EXPECT_EQ(reduce_sum(x, {}).item<float>(), 10);
  EXPECT_EQ(reduce_sum(x, {0, 1}).item<float>(), 10) << "two axes, not an axis and keepdims";
  EXPECT_EQ(reduce_sum(x, {0}).to_vector<float>(), (std::vector<float>{4, 6}));
  EXPECT_EQ(reduce_sum(x, ReduceOptions{.axis = 1}).to_vector<float>(), (std::vector<float>{3, 7}));
  EXPECT_EQ(reduce_sum(x, 0, {.keepdims = true}).shape(), (Shape{1, 2}));
  EXPECT_EQ(reduce_sum(x, {0, -1}, {.keepdims = true}).shape(), (Shape{1, 1}));
  EXPECT_EQ(reduce_sum(x, {}, {.keepdims = true}).shape(), (Shape{1, 1}));
  EXPECT_EQ(reduce_sum(2.0 * x, {.axis = 1}).to_vector<float>(), (std::vector<float>{6, 14}));
  EXPECT_EQ(reduce_sum(Variable(x), {.axis = 1}).to_vector<float>(), (std::vector<float>{3, 7}));
}

template <class F>
void expect_options(const F& reduce, const Tensor& x) {
  EXPECT_EQ(reduce(x, ReduceOptions{.keepdims = true}).shape(), (Shape{1, 1}));
  EXPECT_EQ(reduce(x, ReduceOptions{.axis = 0, .keepdims = true}).shape(), (Shape{1, 2}));
}

TEST(Reductions, AllTakeOptions) {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});
  expect_options([](const Tensor& t, const ReduceOptions& options) { return reduce_mean(t, options); }, x);
  expect_options([](const Tensor& t, const ReduceOptions& options) { return reduce_prod(t, options); }, x);
  expect_options([](const Tensor& t, const ReduceOptions& options) { return reduce_max(t, options); }, x);
  expect_options([](const Tensor& t, const ReduceOptions& options) { return reduce_min(t, options); }, x);
  expect_options([](const Tensor& t, const ReduceOptions& options) { return reduce_any(t, options); }, x > 1.0);
  expect_options([](const Tensor& t, const ReduceOptions& options) { return reduce_all(t, options); }, x > 1.0);
  expect_options([](const Tensor& t, const ReduceOptions& options) { return reduce_logsumexp(t, options); }, x);
  expect_options([](const Tensor& t, const ReduceOptions& options) { return reduce_variance(t, options); }, x);
  expect_options([](const Tensor& t, const ReduceOptions& options) { return reduce_std(t, options); }, x);
  expect_options([](const Tensor& t, const ReduceOptions& options) { return reduce_euclidean_norm(t, options); }, x);
  EXPECT_EQ(count_nonzero(x, {.axis = 0, .dtype = int32}).to_vector<int>(), (std::vector<int>{2, 2}));
  EXPECT_EQ(count_nonzero(x, {.keepdims = true}).shape(), (Shape{1, 1}));
}

// --- One function per name ---

// Found without a namespace, as after `using namespace capstan`: the op that broadcasts and the loss that does not must
// not have the same name.
template <class T>
concept HasLossesAsOps = requires(T x) {
  mean_squared_error(x, x);
}
|| requires(T x) { mean_absolute_error(x, x); }
|| requires(T x) { huber(x, x); };
static_assert(!HasLossesAsOps<Tensor>);

TEST(Losses, HaveOneMeaning) {
  const Tensor labels = constant({1.0, 2.0, 3.0});
  const Tensor predictions = constant({{1.0}, {2.0}, {4.0}});
  EXPECT_EQ(losses::mean_squared_error(labels, predictions).to_vector<float>(), (std::vector<float>{0, 0, 1}));
}

}  // namespace
}  // namespace capstan
