// One trace for batches of any size, of what is no plain row of ops: shapes that a program writes with the lengths of
// its inputs, convolutions, and control flow with its derivatives.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/compare.h"

namespace capstan {
namespace {

using testing::same_bits;
using Tensors = std::vector<Tensor>;
using F = std::function<Tensor(const Tensor&)>;

// A function with an open batch against itself for each shape, and its gradient and tangent.
void expect_one_trace(const F& f, const Shape& item, const std::string& what, bool exact = true) {
  SCOPED_TRACE(what);
  Shape open = item;
  std::vector<std::int64_t> lengths = {-1};
  lengths.insert(lengths.end(), item.begin(), item.end());
  open = Shape(lengths);
  const auto all = [&f](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    const Tensor gradient = tape.gradient(reduce_sum(sin(y)), x);
    const Tensor tangent = jvp([&](const Tensor& z) { return f(z); }, x, ones_like(x)).second;
    return Tensors{y, gradient, tangent};
  };
  auto one = function(all, {.input_signature = {TensorSpec(open)}});
  auto each = function(all);
  for (const std::int64_t batch : {2, 5, 9, 4, 3}) {
    lengths[0] = batch;
    const Tensor x = random::normal(Shape(lengths), 0, 1, float32, static_cast<std::uint64_t>(batch));
    const Tensors is = one(x), wanted = each(x);
    for (std::size_t i = 0; i < is.size(); ++i) {
      SCOPED_TRACE("batch " + std::to_string(batch) + ", result " + std::to_string(i));
      if (exact) {
        EXPECT_TRUE(same_bits(is[i], wanted[i]));
      } else {
        EXPECT_EQ(is[i].shape(), wanted[i].shape());
        EXPECT_LT(reduce_max(abs(is[i] - wanted[i])).item<float>(), 1e-4f);
      }
    }
  }
  EXPECT_EQ(tracing_count(one), 1);
}

TEST(OpenBatch, ShapesThatAProgramWrites) {
  expect_one_trace([](const Tensor& x) { return reshape(x, {x.dim(0), 12}); }, {3, 4}, "reshape");
  expect_one_trace([](const Tensor& x) { return reshape(x, {x.dim(0) * 3, 4}); }, {3, 4}, "rows");
  expect_one_trace([](const Tensor& x) { return reshape(x, {1, x.dim(0), 12}); }, {3, 4}, "after a 1");
  expect_one_trace([](const Tensor& x) { return x(slice(0, x.dim(0)), slice(1, 3)); }, {3, 4}, "slice");
  expect_one_trace([](const Tensor& x) { return broadcast_to(expand_dims(x, 1), {x.dim(0), 5, 4}); }, {4}, "broadcast");
}

TEST(OpenBatch, Convolutions) {
  const Variable a(random::normal({3, 3, 2, 4}, 0, 1, float32, 1)), b(random::normal({3, 3, 4, 2}, 0, 1, float32, 2));
  expect_one_trace([&](const Tensor& x) { return conv2d(tanh(conv2d(x, a)), b); }, {8, 8, 2}, "conv2d", false);
  expect_one_trace(
      [&](const Tensor& x) {
        return conv2d_transpose(tanh(conv2d_transpose(x, b, {x.dim(0), 3, 3, 4})), a, {x.dim(0), 3, 3, 2});
      },
      {3, 3, 2}, "conv2d_transpose", false);
  // By name an open batch is that of the gradient.
  const Tensor g = ones({3, 6, 6, 4});
  const AttributeMap attributes = {{"input_sizes", std::vector<AttributeValue>{-1, 8, 8, 2}}};
  EXPECT_EQ(call("conv2d_backprop_input", std::vector<Tensor>{a, g}, attributes)[0].shape(), Shape({3, 8, 8, 2}));
  EXPECT_THROW(call("conv2d_backprop_filter", std::vector<Tensor>{ones({3, 8, 8, 2}), g},
                    {{"filter_sizes", std::vector<AttributeValue>{-1, 3, 2, 4}}}),
               ShapeError);
}

TEST(OpenBatch, ControlFlow) {
  const Variable v(1.5f);
  const F choice = [&](const Tensor& x) {
    return cond(
        reduce_sum(x) > 0.0f, [&] { return x * v; }, [&] { return sin(x) - v; });
  };
  const F loop = [&](const Tensor& x) {
    return while_loop([](const Tensor& y) { return reduce_mean(abs(y)) < 20.0f; },
                      [&](const Tensor& y) { return y * 2.0f + abs(x) * v + 0.5f; }, x);
  };
  const F rows = [&](const Tensor& x) {
    const Tensor columns = transpose(x);
    const Tensor start = zeros_like(columns(0));
    const Tensor states = scan([&](const Tensor& a, const Tensor& row) { return tanh(a * v + row); }, columns, start);
    return transpose(states) + transpose(map_fn([&](const Tensor& row) { return row * row * v; }, columns));
  };
  const F nested = [&](const Tensor& x) {
    return foldl(
        [&](const Tensor& a, const Tensor& row) {
          return cond(
              reduce_sum(row) > 0.0f, [&] { return a * 0.5f + row; }, [&] { return a - row * v; });
        },
        transpose(x), zeros_like(x(ellipsis, 0)));
  };
  const F again = [&](const Tensor& x) { return recompute_grad([&](const Tensor& y) { return exp(sin(y) * v); })(x); };
  expect_one_trace(choice, {3}, "cond");
  expect_one_trace(loop, {3}, "while_loop", false);
  expect_one_trace(rows, {3}, "scan and map_fn", false);
  expect_one_trace(nested, {3}, "cond in foldl", false);
  expect_one_trace(again, {3}, "recompute_grad", false);
}

TEST(OpenBatch, WhatDependsOnALengthIsAnErrorOrHasATraceForEach) {
  const auto f = [](const Tensor& x) { return zeros({x.dim(0), 2}) + reduce_sum(x); };
  auto strict = function(f, {.input_signature = {TensorSpec({-1})}});
  strict(ones({2}));
  EXPECT_THROW(strict(ones({3})), TraceError);
  auto each = function(f, {.input_signature = {TensorSpec({-1})}, .reduce_retracing = true});
  for (const std::int64_t batch : {2, 3, 7, 3}) EXPECT_EQ(each(ones({batch})).shape(), Shape({batch, 2}));
  EXPECT_EQ(tracing_count(each), 3);
  // A loop whose number of rows is open: a carried value that grows with it is none.
  auto total = function(
      [](const Tensor& x) {
        return scan([](const Tensor& a, const Tensor& row) { return a + row; }, x, constant(0.0f));
      },
      {.input_signature = {TensorSpec({-1})}});
  for (const std::int64_t rows : {2, 5, 9, 6}) {
    EXPECT_EQ(total(ones({rows}))(-1).item<float>(), static_cast<float>(rows));
  }
  EXPECT_EQ(tracing_count(total), 1);
}

}  // namespace
}  // namespace capstan
