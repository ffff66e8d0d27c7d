#include "capstan/control_flow.h"

#include <gtest/gtest.h>

#include <tuple>
#include <utility>
#include <vector>

#include "tests/transforms/control_cases.h"

namespace capstan {
namespace {

using testing::expect_same_everywhere;
using testing::message_of;
using testing::numbers;
using testing::vector64;
using List = std::vector<Tensor>;

// --- Choices ---

TEST(Cond, CallsTheBranchThatTheConditionNames) {
  const auto f = [](const List& in) {
    return cond(
        reduce_sum(in[0]) > 0, [&] { return in[0] * in[0] * in[0]; }, [&] { return -in[0] * in[1]; });
  };
  expect_same_everywhere(f, {vector64({1.0, -0.5}), vector64({2.0, 0.3})});
  expect_same_everywhere(f, {vector64({-1.0, 0.5}), vector64({2.0, 0.3})});
  auto traced = function([&](const Tensor& x, const Tensor& y) { return f({x, y}); });
  EXPECT_EQ(numbers(traced(vector64({1.0, 2.0}), vector64({1.0, 1.0}))), (std::vector<double>{1, 8}));
  EXPECT_EQ(numbers(traced(vector64({1.0, -2.0}), vector64({1.0, 1.0}))), (std::vector<double>{-1, 2}));
  EXPECT_EQ(tracing_count(traced), 1);
}

TEST(Cond, RunsOneBranchOutsideAndTracesBothInside) {
  int then = 0, otherwise = 0;
  const auto f = [&](const Tensor& x) {
    return cond(
        x > 0, [&] { return ++then, x; }, [&] { return ++otherwise, -x; });
  };
  f(constant(1.0));
  EXPECT_EQ(std::pair(then, otherwise), std::pair(1, 0));
  auto traced = function(f);
  EXPECT_EQ(traced(constant(-3.0)).item<double>(), 3);
  EXPECT_EQ(traced(constant(4.0)).item<double>(), 4);
  EXPECT_EQ(std::pair(then, otherwise), std::pair(2, 1));
  // Of a condition that is known, one branch is traced.
  auto known = function([&](const Tensor& x) {
    return cond(
        true, [&] { return x; }, [&] { return ++otherwise, -x; });
  });
  EXPECT_EQ(known(constant(-3.0)).item<double>(), -3);
  EXPECT_EQ(otherwise, 1);
}

TEST(Cond, ReturnsStructuresAndNothing) {
  auto f = function([](const Tensor& x, const Tensor& y) {
    return cond(
        x > y, [&] { return std::tuple(x * y, List{x}); }, [&] { return std::tuple(x - y, List{y * y}); });
  });
  const auto [a, b] = f(constant(2.0), constant(1.0));
  EXPECT_EQ(a.item<double>(), 2);
  EXPECT_EQ(b[0].item<double>(), 2);
  const auto [c, d] = f(constant(1.0), constant(3.0));
  EXPECT_EQ(c.item<double>(), -2);
  EXPECT_EQ(d[0].item<double>(), 9);
  const Variable v(1.0f);
  auto g = function([&](const Tensor& x) {
    cond(
        x > 0, [&] { v.assign_add(x); }, [] {});
    return v + 0.0;
  });
  EXPECT_EQ(g(constant(2.0)).item<double>(), 3);
  EXPECT_EQ(g(constant(-2.0)).item<double>(), 3);
  EXPECT_EQ(v.item<double>(), 3);
}

TEST(Cond, OfCondAndOfFunctions) {
  auto cube = function([](const Tensor& x) { return x * x * x; });
  const auto f = [&](const List& in) {
    const Tensor& x = in[0];
    return cond(
        x > 0,
        [&] {
          return cond(
              x > 1, [&] { return cube(x); }, [&] { return x * x * in[1]; });
        },
        [&] { return exp(x); });
  };
  for (const double x : {2.0, 0.5, -1.0}) expect_same_everywhere(f, {constant(x, float64), constant(3.0, float64)});
}

TEST(Cond, WhatOnlyTheOtherBranchReadsHasAGradientOfZerosInAFunction) {
  const auto branches = [](const Tensor& x, const Tensor& y) {
    return cond(
        x > 0, [&] { return x * x; }, [&] { return 3 * y; });
  };
  auto f = function(branches);
  const Tensor x = constant(2.0), y = constant(5.0), unused = constant(1.0);
  {
    GradientTape tape;
    tape.watch(List{x, y});
    EXPECT_FALSE(tape.gradient(branches(x, y), y).has_value());
  }
  {
    GradientTape tape;
    tape.watch(List{x, y, unused});
    const auto [dx, dy, none] = tape.gradient(f(x, y), std::tuple(x, y, unused));
    EXPECT_EQ(dx.item<double>(), 4);
    EXPECT_EQ(dy.item<double>(), 0);
    EXPECT_FALSE(none.has_value());
  }
  auto inside = function([&](const Tensor& a, const Tensor& b, const Tensor& c) {
    GradientTape tape;
    tape.watch(List{a, b, c});
    return tape.gradient(branches(a, b), List{a, b, c});
  });
  const List gradients = inside(x, y, unused);
  EXPECT_EQ(gradients[0].item<double>(), 4);
  EXPECT_EQ(gradients[1].item<double>(), 0);
  EXPECT_FALSE(gradients[2].has_value());
}

TEST(SwitchCase, CallsTheBranchOfTheNumber) {
  const auto f = [](const Tensor& k, const Tensor& x) {
    return switch_case(k, {[&] { return 2 * x; }, [&] { return x * x; }, [&] { return sin(x); }});
  };
  auto traced = function(f);
  const Tensor x = vector64({0.5, 2.0});
  const std::vector<std::vector<double>> expected = {{1, 4}, {0.25, 4}, numbers(sin(x))};
  for (const int k : {0, 1, 2, 7, -1}) {
    const std::vector<double>& right = expected[static_cast<std::size_t>(k < 0 || k > 2 ? 2 : k)];
    EXPECT_EQ(numbers(f(constant(k), x)), right);
    EXPECT_EQ(numbers(traced(constant(k), x)), right);
    expect_same_everywhere([&](const List& in) { return f(cast(in[1], int32), in[0]); },
                           {x, constant(double(k), float64)});
  }
  EXPECT_EQ(tracing_count(traced), 1);
  auto other = function(
      [](const Tensor& k, const Tensor& y) { return switch_case(k, {[&] { return y; }}, [&] { return -y; }); });
  EXPECT_EQ(other(constant(0), constant(3.0)).item<double>(), 3);
  EXPECT_EQ(other(constant(4), constant(3.0)).item<double>(), -3);
}

TEST(CaseOf, CallsTheFirstThatHolds) {
  const auto f = [](const Tensor& x) {
    return case_of({{x < 1, [&] { return 10 * x; }}, {x < 2, [&] { return 20 * x; }}}, [&] { return 30 * x; });
  };
  auto traced = function(f);
  for (const auto& [x, y] : {std::pair(0.5, 5.0), std::pair(1.5, 30.0), std::pair(2.5, 75.0)}) {
    EXPECT_EQ(f(constant(x)).item<double>(), y);
    EXPECT_EQ(traced(constant(x)).item<double>(), y);
    expect_same_everywhere([&](const List& in) { return f(in[0]); }, {constant(x, float64)});
  }
  const auto strict = [](const Tensor& x) {
    return case_of({{x < 1, [&] { return x; }}, {x < 2, [&] { return -x; }}}, nullptr, {.exclusive = true});
  };
  auto strict_trace = function(strict);
  EXPECT_EQ(strict_trace(constant(1.5)).item<double>(), -1.5);
  for (const auto& [x, text] :
       {std::pair(0.5, "more than one of the conditions holds"), std::pair(2.5, "none of the 2 conditions holds")}) {
    EXPECT_NE(message_of([&, x = x] { strict(constant(x)); }).find(text), std::string::npos);
    EXPECT_NE(message_of([&, x = x] { strict_trace(constant(x)); }).find(text), std::string::npos);
  }
  EXPECT_EQ(strict_trace(constant(1.75)).item<double>(), -1.75);
}

// --- while_loop ---

TEST(WhileLoop, RunsUntilTheConditionFails) {
  const auto squares = [](const List& in) {
    return while_loop([](const Tensor& a) { return a < 8; }, [](const Tensor& a) { return a * a; }, in[0]);
  };
  for (const double x : {2.0, 1.3, 9.0, 7.9}) expect_same_everywhere(squares, {constant(x, float64)});
  EXPECT_EQ(squares({constant(2.0)}).item<double>(), 16);
  auto traced = function([&](const Tensor& x) { return squares({x}); });
  EXPECT_EQ(traced(constant(2.0)).item<double>(), 16);
  EXPECT_EQ(traced(constant(9.0)).item<double>(), 9);
  EXPECT_EQ(tracing_count(traced), 1);
}

TEST(WhileLoop, TupleOfLoopVariablesAndCapturedTensors) {
  const auto f = [](const List& in) {
    const auto [i, a] =
        while_loop([](const Tensor& k, const Tensor&) { return k < 5; },
                   [&](const Tensor& k, const Tensor& h) { return std::tuple(k + 1, tanh(matmul(h, in[1]))); },
                   std::tuple(constant(0), in[0]));
    return reduce_sum(a) * cast(i, float64);
  };
  expect_same_everywhere(f, {constant({{0.5, -0.3}}, float64), constant({{0.8, 0.1}, {-0.2, 0.9}}, float64)});
}

TEST(WhileLoop, IterationsAreBounded) {
  for (const int limit : {0, 1, 3}) {
    const auto f = [&](const List& in) {
      return while_loop([](const Tensor&) { return true; }, [&](const Tensor& a) { return a * in[1] + a * a; }, in[0],
                        {.maximum_iterations = limit});
    };
    expect_same_everywhere(f, {vector64({0.5, 0.7}), vector64({1.1, -0.4})});
  }
  auto f = function([](const Tensor& x) {
    return while_loop([](const Tensor& a) { return a < 100; }, [](const Tensor& a) { return a + 1; }, x,
                      {.maximum_iterations = 4});
  });
  EXPECT_EQ(f(constant(1.0)).item<double>(), 5);
  EXPECT_EQ(f(constant(98.0)).item<double>(), 100);
}

TEST(WhileLoop, ZeroIterationsPassGradientsThrough) {
  auto f = function([](const Tensor& x, const Tensor& w) {
    return while_loop([](const Tensor& a) { return a < 0; }, [&](const Tensor& a) { return a * w; }, x);
  });
  const Tensor x = constant(2.0), w = constant(3.0);
  GradientTape tape;
  tape.watch(List{x, w});
  const auto [dx, dw] = tape.gradient(f(x, w), std::tuple(x, w));
  EXPECT_EQ(dx.item<double>(), 1);
  EXPECT_EQ(dw.item<double>(), 0);
}

TEST(WhileLoop, LoopsAndChoicesInLoops) {
  const auto f = [](const List& in) {
    const auto inner = [&](const Tensor& start) {
      return while_loop([](const Tensor& b) { return reduce_sum(b) < 4; },
                        [&](const Tensor& b) {
                          return cond(
                              reduce_sum(b) < 1, [&] { return b * 2 + in[1]; }, [&] { return b + b * b; });
                        },
                        start);
    };
    const auto [k, a] = while_loop([](const Tensor& i, const Tensor&) { return i < 3; },
                                   [&](const Tensor& i, const Tensor& b) { return std::tuple(i + 1, inner(b) * 0.2); },
                                   std::tuple(constant(0), in[0]));
    return a;
  };
  expect_same_everywhere(f, {vector64({0.3, 0.2}), vector64({0.1, 0.4})});
}

TEST(WhileLoop, AFunctionInTheBody) {
  int runs = 0;
  auto step = function([&](const Tensor& a, const Tensor& w) {
    ++runs;
    return a * w + sin(a);
  });
  const auto f = [&](const List& in) {
    const auto [i, a] = while_loop([](const Tensor& k, const Tensor&) { return k < 3; },
                                   [&](const Tensor& k, const Tensor& b) { return std::tuple(k + 1, step(b, in[1])); },
                                   std::tuple(constant(0), in[0]));
    return a;
  };
  expect_same_everywhere(f, {vector64({0.3, 0.2}), vector64({0.5, 0.4})});
  EXPECT_EQ(runs, 1);
}

TEST(WhileLoop, ATapeInTheBody) {
  // Steps of Newton's method, whose derivative is that of the tape.
  const auto f = [](const List& in) {
    const auto [i, a] = while_loop([](const Tensor& k, const Tensor&) { return k < 3; },
                                   [&](const Tensor& k, const Tensor& x) {
                                     GradientTape tape;
                                     tape.watch(x);
                                     const Tensor y = x * x * x - in[1];
                                     return std::tuple(k + 1, x - y / tape.gradient(y, x));
                                   },
                                   std::tuple(constant(0), in[0]));
    return a;
  };
  expect_same_everywhere(f, {constant(1.5, float64), constant(5.0, float64)});
}

TEST(WhileLoop, ManyIterations) {
  auto f = function([](const Tensor& x) {
    const auto [i, a] = while_loop([](const Tensor& k, const Tensor&) { return k < 20000; },
                                   [&](const Tensor& k, const Tensor& b) { return std::tuple(k + 1, b + x); },
                                   std::tuple(constant(0), constant(0.0, float64)));
    return a;
  });
  const Tensor x = constant(2.0, float64);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  EXPECT_EQ(y.item<double>(), 40000);
  EXPECT_EQ(tape.gradient(y, x).item<double>(), 20000);
}

TEST(WhileLoop, ShapesMayChangeOutsideOfFunctionsOnly) {
  const auto grow = [](const Tensor& x) {
    return while_loop([](const Tensor& a) { return reduce_sum(a) < 3; },
                      [](const Tensor& a) {
                        return concat({a, a}, 0);
                      },
                      x);
  };
  EXPECT_EQ(grow(constant({1.0})).shape(), (Shape{4}));
  EXPECT_NE(message_of([&] {
              function(grow)(constant({1.0}));
            }).find("while_loop: loop variable 0 has shape [1] before the body and [2] after it"),
            std::string::npos);
}

// --- What goes wrong ---

TEST(ControlFlow, SaysWhatIsWrongWithAConditionOrIndex) {
  const auto choose = [](const Tensor& c) {
    return cond(
        c, [] { return constant(1); }, [] { return constant(2); });
  };
  EXPECT_NE(message_of([&] {
              choose(constant({true, false}));
            }).find("cond: the condition has shape [2], not []"),
            std::string::npos);
  EXPECT_NE(message_of([&] { choose(constant(1.0)); }).find("cond: the condition is float32, not bool"),
            std::string::npos);
  EXPECT_THROW(function(choose)(constant({true, false})), ShapeError);
  EXPECT_THROW(function(choose)(constant(1)), DTypeError);
  EXPECT_THROW(choose(Tensor()), ValueError);
  EXPECT_THROW(cond(
                   1, [] {}, [] {}),
               DTypeError);
  EXPECT_THROW(while_loop([](const Tensor& x) { return x; }, [](const Tensor& x) { return x; }, constant(1.0)),
               DTypeError);
  EXPECT_THROW(switch_case(constant(1.0), {[] { return constant(1); }}), DTypeError);
  EXPECT_THROW(switch_case(1.0, {[] { return constant(1); }}), DTypeError);
  EXPECT_THROW(switch_case(constant({1, 2}), {[] { return constant(1); }}), ShapeError);
  EXPECT_THROW(switch_case(0, {}), ValueError);
  EXPECT_THROW(case_of({}), ValueError);
}

TEST(ControlFlow, SaysHowBranchesDiffer) {
  const auto message = [](const auto& then, const auto& otherwise) {
    auto f = function([&](const Tensor& x) {
      cond(
          x > 0, [&] { return then(x); }, [&] { return otherwise(x); });
      return x;
    });
    return message_of([&] { f(constant(1.0)); });
  };
  const auto same = [](const Tensor& x) { return x; };
  EXPECT_NE(message(same, [](const Tensor& x) { return cast(x, int32); })
                .find("cond: the dtypes of result 0 differ, float32 and int32\n  then: float32[]\n  else: int32[]"),
            std::string::npos);
  EXPECT_NE(message(same,
                    [](const Tensor& x) {
                      return stack({x, x});
                    })
                .find("cond: the shapes of result 0 differ, [] and [2]\n  then: float32[]\n  else: float32[2]"),
            std::string::npos);
  EXPECT_NE(message(same, [](const Tensor&) { return Tensor(); }).find("cond: result 0 of one branch is an empty"),
            std::string::npos);
  EXPECT_NE(message([](const Tensor& x) { return List{x}; },
                    [](const Tensor& x) {
                      return List{x, x};
                    })
                .find("cond: the branches return different structures"),
            std::string::npos);
}

TEST(ControlFlow, SaysWhatALoopChanges) {
  const auto loop = [](const auto& body) {
    const auto f = [&](const Tensor& x) {
      return while_loop([](const Tensor& a) { return reduce_sum(a) < 3; }, body, x);
    };
    EXPECT_EQ(message_of([&] { f(constant(1.0)); }).empty(), false);
    return message_of([&] { function(f)(constant(1.0)); });
  };
  EXPECT_NE(loop([](const Tensor& a) {
              return cast(a, float64);
            }).find("while_loop: loop variable 0 is float32 before the body and float64 after it"),
            std::string::npos);
  EXPECT_NE(loop([](const Tensor&) { return Tensor(); }).find("while_loop: loop variable 0 is an empty tensor"),
            std::string::npos);
  const auto lists = [](const Tensor& x) {
    return while_loop([](const List& a) { return a[0] < 3; }, [](const List& a) { return List{a[0]}; }, List{x, x});
  };
  EXPECT_NE(message_of([&] { lists(constant(1.0)); }).find("begins with 2 tensors, and its body returns 1"),
            std::string::npos);
  EXPECT_THROW(function(lists)(constant(1.0)), ValueError);
  EXPECT_THROW(while_loop([](const Tensor&) { return true; }, [](const Tensor& x) { return x; }, constant(1),
                          {.maximum_iterations = -1}),
               ValueError);
  const Variable v(1.0f);
  auto assigns = function([&](const Tensor& x) {
    return while_loop(
        [&](const Tensor& a) {
          v.assign_add(1.0);
          return a < 3;
        },
        [](const Tensor& a) { return a + 1; }, x);
  });
  EXPECT_NE(message_of([&] { assigns(constant(1.0)); }).find("while_loop: the condition assigns a variable"),
            std::string::npos);
}

TEST(ControlFlow, WhatABranchComputesStaysInIt) {
  Tensor leaked;
  auto f = function([&](const Tensor& x) {
    return cond(
        x > 0,
        [&] {
          leaked = x * 2;
          return x;
        },
        [&] { return leaked; });
  });
  EXPECT_NE(message_of([&] { f(constant(1.0)); }).find("whose trace has ended"), std::string::npos);
  auto outside = function([&](const Tensor& x) {
    const Tensor y = cond(
        x > 0, [&] { return leaked = x * 2; }, [&] { return x; });
    return y + leaked;
  });
  EXPECT_THROW(outside(constant(1.0)), TraceError);
  EXPECT_FALSE(inside_function());
}

}  // namespace
}  // namespace capstan
