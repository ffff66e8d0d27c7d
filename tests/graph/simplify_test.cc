// Every identity, by the text of graphs and by bits: the graph with it gives what the ops give.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "src/graph/shapes.h"
#include "src/core/op_for_programs.h"
#include "src/ops/registry.h"
#include "tests/support/traced.h"
#include "tests/support/compare.h"
#include "tests/support/make_tensor.h"

namespace capstan {
namespace {

using testing::Body;
using testing::Tensors;
using testing::text_of;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What identities could get wrong: both zeros, subnormal and huge numbers, infinities, NaN.
Tensor nasty(DType dtype, const Shape& shape) {
  const double tiny = dtype == float64 ? 0x1p-1070 : 0x1p-140;
  const double huge = dtype == float64 ? 0x1.8p1023 : 0x1.8p127;
  const std::vector<double> floating = {0.0,       -0.0,       1.5,          -2.75, tiny, -tiny, huge, -huge,
                                        kInfinity, -kInfinity, std::nan(""), 3.0,   -1.0, 0.1,   -0.5, 7.0};
  const std::vector<double> whole = {0, 1, 2, 7, 255, 3, 127, 128, 5, 9, 100, 33, 64, 200, 17, 250};
  std::vector<double> numbers(static_cast<std::size_t>(shape.size()) * (is_complex(dtype) ? 2 : 1));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool is_whole = !is_floating(dtype) && !is_complex(dtype);
    numbers[i] = is_whole ? whole[i % 16] : floating[(i + i / 16) % 16];
    if (is_whole && dtype != uint8 && i % 3 == 1) numbers[i] = -numbers[i];
  }
  return testing::make_tensor(dtype, shape, numbers);
}

// How many nodes remain that are no views.
std::size_t nodes_left(const Tensors& arguments, const Body& body) {
  Graph graph = testing::trace_like(arguments, body);
  detach_shapes(graph);
  simplify(graph);
  remove_dead(graph);
  std::size_t count = 0;
  for (const Graph::Node& node : graph.nodes) count += has_flag(*node.op, kReshapes) ? 0 : 1;
  return count;
}

// The body is nothing but identities: no op remains, and the results have the bits that the ops give.
void expect_identity(const Tensors& arguments, const Body& body) {
  EXPECT_EQ(nodes_left(arguments, body), 0u) << text_of(testing::trace_like(arguments, body));
  testing::expect_same_runs(arguments, body);
}

void expect_none(const Tensors& arguments, const Body& body) {
  const Graph graph = testing::trace_like(arguments, body);
  EXPECT_EQ(nodes_left(arguments, body), graph.nodes.size()) << text_of(graph);
  testing::expect_same_runs(arguments, body);
}

constexpr DType kFloating[] = {float32, float64, bfloat16};
constexpr DType kReal[] = {float32, float64, bfloat16, int32, int64, uint8};
constexpr DType kAll[] = {float32, float64, bfloat16, int32, int64, uint8, bool_, complex64, complex128};

TEST(Simplify, GraphTextBeforeAndAfter) {
  Graph graph = testing::trace({{{2, 3}, float32}}, [](const Tensors& in) -> Tensors {
    const Tensor x = identity(in[0]) * 1.0;
    const Tensor y = transpose(transpose(-(-x)));
    const Tensor z = reshape(reshape(exp(y - 0.0), {6}), {3, 2});
    return {z, reshape(z, {2, 3}), reshape(x, {6})};
  });
  EXPECT_EQ(text_of(graph), R"(
%0 = argument float32[2, 3]
%1 = identity(%0) float32[2, 3]
%3 = multiply(%1, 1:float32) float32[2, 3]
%4 = negative(%3) float32[2, 3]
%5 = negative(%4) float32[2, 3]
%6 = transpose(%5, perm=none, conjugate=false) float32[3, 2]
%7 = transpose(%6, perm=none, conjugate=false) float32[2, 3]
%9 = subtract(%7, 0:float32) float32[2, 3]
%10 = exp(%9) float32[2, 3]
%11 = reshape(%10, shape=[-1]) float32[6]
%12 = reshape(%11, shape=[-1, 2]) float32[3, 2]
%13 = reshape(%12, shape=[-1, 3]) float32[2, 3]
%14 = reshape(%3, shape=[-1]) float32[6]
return %12, %13, %14
)");
  simplify(graph);
  remove_dead(graph);
  EXPECT_EQ(text_of(graph), R"(
%0 = argument float32[2, 3]
%10 = exp(%0) float32[2, 3]
%12 = reshape(%10, shape=[3, 2]) float32[3, 2]
%14 = reshape(%0, shape=[-1]) float32[6]
return %12, %10, %14
)");
}

TEST(Simplify, NeutralNumbers) {
  for (const DType dtype : kReal) {
    SCOPED_TRACE(name_of(dtype));
    const Tensors x = {nasty(dtype, {5, 7})};
    expect_identity(x, [](const Tensors& in) -> Tensors { return {in[0] * 1, 1 * in[0]}; });
    expect_identity(x, [](const Tensors& in) -> Tensors { return {in[0] - 0}; });
    expect_identity(x, [&](const Tensors& in) -> Tensors { return {in[0] * ones({7}, dtype)}; });
  }
  for (const DType dtype : kFloating) {
    SCOPED_TRACE(name_of(dtype));
    const Tensors x = {nasty(dtype, {5, 7})};
    expect_identity(x, [](const Tensors& in) -> Tensors { return {in[0] / 1.0, divide_no_nan(in[0], 1.0)}; });
    expect_identity(x, [](const Tensors& in) -> Tensors { return {in[0] + -0.0, -0.0 + in[0]}; });
  }
  for (const DType dtype : {float32, float64}) {
    const Tensors x = {nasty(dtype, {5, 7})};
    expect_identity(x, [](const Tensors& in) -> Tensors { return {multiply_no_nan(in[0], 1.0)}; });
  }
  for (const DType dtype : {int32, int64, uint8}) {
    SCOPED_TRACE(name_of(dtype));
    const Tensors x = {nasty(dtype, {5, 7})};
    expect_identity(x, [](const Tensors& in) -> Tensors { return {in[0] + 0, 0 + in[0]}; });
    expect_identity(x, [](const Tensors& in) -> Tensors { return {floordiv(in[0], 1), truncatediv(in[0], 1)}; });
  }
}

TEST(Simplify, WhatOnlyLooksNeutralStays) {
  for (const DType dtype : kFloating) {
    SCOPED_TRACE(name_of(dtype));
    const Tensors x = {nasty(dtype, {5, 7})};
    // -0 + 0 and -0 - -0 are 0.
    expect_none(x, [](const Tensors& in) -> Tensors { return {in[0] + 0.0, 0.0 + in[0], in[0] - -0.0}; });
    expect_none(x, [](const Tensors& in) -> Tensors { return {0.0 - in[0], 1.0 / in[0], in[0] * 0.0, in[0] * -1.0}; });
    expect_none(x, [](const Tensors& in) -> Tensors { return {floordiv(in[0], 1.0), -in[0], floor(abs(in[0]))}; });
    expect_none(x, [&](const Tensors& in) -> Tensors {
      return {in[0] * testing::make_tensor(dtype, {7}, {1, 1, 1, 1, 1, 1, 2})};
    });
    // The sum of one number begins with zero.
    expect_none({nasty(dtype, {5, 1})}, [](const Tensors& in) -> Tensors { return {reduce_sum(in[0], 1)}; });
  }
  for (const DType dtype : {complex64, complex128}) {
    const Tensors x = {nasty(dtype, {5, 7})};
    expect_none(x, [](const Tensors& in) -> Tensors { return {in[0] * 1.0}; });
  }
}

TEST(Simplify, AnOperandThatIsStretchedIsNotTheResult) {
  const Tensors x = {nasty(float32, {3, 1})};
  expect_none(x, [](const Tensors& in) -> Tensors { return {in[0] * ones({1, 4}), in[0] - zeros({2, 3, 1})}; });
  const Tensor many = testing::make_tensor(bool_, {3, 4}, {1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0});
  expect_none({x[0], many}, [](const Tensors& in) -> Tensors { return {where(in[1], in[0], in[0])}; });
  // Another shape with as many elements is a reshape.
  expect_identity(x, [](const Tensors& in) -> Tensors { return {in[0] * ones({1, 1, 1})}; });
}

TEST(Simplify, OpsThatUndoThemselves) {
  for (const DType dtype : kReal) {
    SCOPED_TRACE(name_of(dtype));
    const Tensors x = {nasty(dtype, {3, 11})};
    expect_identity(x, [](const Tensors& in) -> Tensors { return {negative(negative(in[0]))}; });
    EXPECT_EQ(nodes_left(x, [](const Tensors& in) -> Tensors { return {negative(negative(negative(in[0])))}; }), 1u);
  }
  const Tensors truth = {nasty(bool_, {9})};
  expect_identity(truth, [](const Tensors& in) -> Tensors { return {logical_not(logical_not(in[0]))}; });
  for (const DType dtype : {complex64, complex128}) {
    expect_identity({nasty(dtype, {9})}, [](const Tensors& in) -> Tensors { return {conj(conj(in[0]))}; });
  }
}

TEST(Simplify, OpsThatChangeNothingTwice) {
  for (const auto f : {abs, floor, ceil, round, rint}) {
    for (const DType dtype : kFloating) {
      const Tensors x = {nasty(dtype, {3, 11})};
      const Body body = [&](const Tensors& in) -> Tensors { return {f(f(f(in[0])))}; };
      EXPECT_EQ(nodes_left(x, body), 1u);
      testing::expect_same_runs(x, body);
    }
  }
}

TEST(Simplify, OneOperandTwice) {
  for (const DType dtype : kReal) {
    SCOPED_TRACE(name_of(dtype));
    const Tensors x = {nasty(dtype, {5, 7})};
    expect_identity(x, [](const Tensors& in) -> Tensors { return {maximum(in[0], in[0]), minimum(in[0], in[0])}; });
  }
  expect_identity({nasty(bool_, {9})}, [](const Tensors& in) -> Tensors {
    return {logical_and(in[0], in[0]), logical_or(in[0], in[0]), logical_and(in[0], true),
            logical_and(true, in[0]),  logical_or(in[0], false), logical_xor(false, in[0])};
  });
  expect_none({nasty(bool_, {9})}, [](const Tensors& in) -> Tensors {
    return {logical_xor(in[0], in[0]), logical_or(in[0], true), logical_and(in[0], false), logical_xor(in[0], true)};
  });
}

TEST(Simplify, ChoicesThatAreNone) {
  for (const DType dtype : kAll) {
    SCOPED_TRACE(name_of(dtype));
    const Tensors x = {nasty(dtype, {4}), nasty(bool_, {4}), testing::make_tensor(dtype, {4}, {1, 1, 0, 1})};
    expect_identity(x, [](const Tensors& in) -> Tensors { return {where(in[1], in[0], in[0])}; });
    expect_identity(x, [](const Tensors& in) -> Tensors {
      return {where(constant(true), in[0], in[2]), where(constant({false, false, false, false}), in[0], in[2])};
    });
    expect_none(x, [](const Tensors& in) -> Tensors {
      return {where(constant({true, true, false, true}), in[0], in[2]), where(in[1], in[0], in[2])};
    });
  }
}

TEST(Simplify, CastsThereAndBack) {
  const DType every[] = {float32, float64, bfloat16, int32, int64, uint8, bool_};
  const std::set<std::pair<DType, DType>> lossless = {
      {float32, float64}, {bfloat16, float32}, {bfloat16, float64}, {int32, int64},   {int32, float64},
      {uint8, int32},     {uint8, int64},      {uint8, float32},    {uint8, float64}, {bool_, float32},
      {bool_, float64},   {bool_, bfloat16},   {bool_, int32},      {bool_, int64},   {bool_, uint8}};
  for (const DType from : every) {
    for (const DType to : every) {
      if (from == to) continue;
      SCOPED_TRACE(std::string(name_of(from)) + " to " + std::string(name_of(to)));
      const Tensors x = {nasty(from, {33})};
      const Body body = [&](const Tensors& in) -> Tensors { return {cast(cast(in[0], to), from)}; };
      lossless.count({from, to}) != 0 ? expect_identity(x, body) : expect_none(x, body);
    }
  }
}

TEST(Simplify, Transposes) {
  for (const DType dtype : kAll) {
    SCOPED_TRACE(name_of(dtype));
    const Tensors x = {nasty(dtype, {2, 3, 4})};
    expect_identity(x, [](const Tensors& in) -> Tensors {
      return {transpose(transpose(in[0])), transpose(transpose(in[0], {1, 2, 0}), {2, 0, 1}),
              transpose(transpose(in[0], {0, -1, 1}), {0, 2, -2}), transpose(in[0], {0, 1, 2})};
    });
    expect_none(x, [](const Tensors& in) -> Tensors { return {transpose(transpose(in[0], {1, 2, 0}), {1, 2, 0})}; });
    // Only axes of length 1 move.
    const Tensors y = {nasty(dtype, {3, 1, 4, 1})};
    expect_identity(y, [](const Tensors& in) -> Tensors {
      return {transpose(in[0], {1, 0, 3, 2}), transpose(in[0], {3, 1, 0, 2}),
              transpose(transpose(in[0], {2, 0, 1, 3}), {1, 2, 0, 3})};
    });
    expect_none(y, [](const Tensors& in) -> Tensors { return {transpose(in[0], {2, 1, 0, 3})}; });
  }
  const Tensors conjugated = {nasty(complex64, {2, 3})};
  EXPECT_EQ(
      nodes_left(conjugated,
                 [](const Tensors& in) -> Tensors { return {transpose(transpose(in[0], {}, {.conjugate = true}))}; }),
      3u);
}

TEST(Simplify, Views) {
  for (const DType dtype : kAll) {
    SCOPED_TRACE(name_of(dtype));
    expect_identity({nasty(dtype, {2, 1, 6})}, [](const Tensors& in) -> Tensors {
      const Tensor flat = reshape(in[0], {-1});
      return {reshape(flat, {3, 4}),
              squeeze(in[0]),
              expand_dims(squeeze(in[0]), 1),
              reshape(flat, {2, 1, 6}),
              reshape_like(flat, in[0]),
              identity(stop_gradient(in[0])),
              reshape(expand_dims(flat, 0), {12})};
    });
  }
}

TEST(Simplify, NothingIsRepeatedReducedOrJoined) {
  for (const DType dtype : kAll) {
    SCOPED_TRACE(name_of(dtype));
    const Tensors x = {nasty(dtype, {2, 1, 6})};
    expect_identity(x, [](const Tensors& in) -> Tensors {
      return {broadcast_to(in[0], {2, 1, 6}), broadcast_to(in[0], {1, 2, 1, 6}), tile(in[0], {1, 1, 1}),
              concat({in[0]}, 1), stack({in[0]}, 1)};
    });
    expect_identity(x, [&](const Tensors& in) -> Tensors {
      return {concat({in[0], zeros({0, 1, 6}, dtype)}, 0), concat({zeros({0, 1, 6}, dtype), in[0]}, 0)};
    });
    expect_none(x, [](const Tensors& in) -> Tensors {
      return {broadcast_to(in[0], {2, 2, 6}), tile(in[0], {1, 2, 1}), concat({in[0], in[0]}, 1)};
    });
  }
  for (const DType dtype : kReal) {
    SCOPED_TRACE(name_of(dtype));
    const Tensors x = {nasty(dtype, {2, 1, 6})};
    expect_identity(x, [](const Tensors& in) -> Tensors {
      return {reduce_max(in[0], 1), reduce_min(in[0], {1}, {.keepdims = true}), reduce_prod(in[0], 1)};
    });
    expect_none(x, [](const Tensors& in) -> Tensors { return {reduce_max(in[0], 0), reduce_min(in[0])}; });
  }
  expect_identity({nasty(bool_, {3, 1})}, [](const Tensors& in) -> Tensors {
    return {reduce_any(in[0], 1), reduce_all(in[0], 1)};
  });
  for (const DType dtype : {int32, int64, uint8}) {
    expect_identity({nasty(dtype, {3, 1})}, [](const Tensors& in) -> Tensors {
      return {reduce_sum(in[0], 1), reduce_mean(in[0], 1)};
    });
  }
}

TEST(Simplify, EmptyTensors) {
  expect_identity({zeros({0, 3})}, [](const Tensors& in) -> Tensors {
    return {in[0] * 1.0, transpose(transpose(in[0])), reshape(in[0], {3, 0}), broadcast_to(in[0], {0, 3})};
  });
}

TEST(Simplify, AWriteOfWhatAVariableHoldsTakesNoNode) {
  const Variable v({1.0, 2.0});
  Graph graph = testing::trace({}, [&](const Tensors&) -> Tensors {
    v.assign(v * 1.0);
    return {};
  });
  simplify(graph);
  remove_dead(graph);
  EXPECT_TRUE(graph.nodes.empty());
  EXPECT_EQ(graph.captured[0].written, graph.captured[0].value);
}

TEST(Simplify, NumbersThatAreWrittenAnewAreNoConstants) {
  double number = 1;
  const Graph graph = testing::trace(
      {{{2}, float32}}, [&](const Tensors& in) -> Tensors { return {in[0] * host_value([&] { return number; })}; });
  const Program program(graph);
  number = 3;
  EXPECT_EQ(testing::run(program, {constant({1.0, 2.0})})[0].to_vector<double>(), (std::vector<double>{3, 6}));
}

TEST(Simplify, HasRulesOfOpsThatAreNoReshapes) {
  int rules = 0;
  for (const OpDef* op : all_ops()) {
    if (for_programs(*op).identity == nullptr) continue;
    ++rules;
    EXPECT_FALSE(has_flag(*op, kReshapes)) << op->name;
  }
  EXPECT_GT(rules, 30);
}

// A node that stands there for its rule alone is nothing in a program, and what only the rule uses goes with it.
TEST(Simplify, DropsTheRulesOfCustomGradients) {
  const Tensors arguments = {testing::filled({4}, 1), testing::filled({4}, 2)};
  const Body body = [](const Tensors& x) {
    const Tensor unused = sin(x[1]);
    return custom_gradient(
        [&](std::span<const Tensor> in) -> CustomGradientResult {
          return {{exp(in[0]), in[0] * in[1]}, [unused](std::span<const Tensor> g) -> Tensors {
                    return {g[0] * unused, g[1]};
                  }};
        },
        {x[0], x[1]});
  };
  EXPECT_EQ(nodes_left(arguments, body), 2u) << text_of(testing::trace_like(arguments, body));
  testing::expect_same_runs(arguments, body);
}

}  // namespace
}  // namespace capstan
