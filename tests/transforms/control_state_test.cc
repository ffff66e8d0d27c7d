// Variables, draws and numbers from outside in branches and loops, and what the passes make of such nodes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <tuple>
#include <vector>

#include "capstan/control_flow.h"
#include "capstan/implicit.h"
#include "capstan/recompute.h"
#include "src/core/apply.h"
#include "src/transforms/control_nodes.h"
#include "tests/transforms/control_cases.h"

namespace capstan {
namespace {

using testing::expect_same_everywhere;
using testing::message_of;
using testing::numbers;
using testing::vector64;
using List = std::vector<Tensor>;

// --- Variables ---

TEST(ControlFlowVariables, AreReadWhenTheNodeRuns) {
  const Variable w(2.0f);
  auto f = function([&](const Tensor& x) {
    const Tensor before = cond(
        x > 0, [&] { return w * x; }, [&] { return x; });
    w.assign_add(1.0);
    return before + cond(
                        x > 0, [&] { return w * x; }, [&] { return x; });
  });
  EXPECT_EQ(f(constant(1.0)).item<double>(), 5);
  EXPECT_EQ(f(constant(1.0)).item<double>(), 7);
  EXPECT_EQ(f(constant(-1.0)).item<double>(), -2);
  EXPECT_EQ(w.item<double>(), 5);
  EXPECT_EQ(tracing_count(f), 1);
}

TEST(ControlFlowVariables, AreAssignedInTheBranchTaken) {
  const Variable a(1.0f), b(10.0f);
  auto f = function([&](const Tensor& x) {
    const Tensor y = cond(
        x > 0,
        [&] {
          a.assign(a * x);
          return a + 0.0;
        },
        [&] {
          b.assign_sub(x);
          b.assign(b * 2);
          return b + 0.0;
        });
    return y + a + b;
  });
  EXPECT_EQ(f(constant(3.0)).item<double>(), 3 + 3 + 10);
  EXPECT_EQ(a.item<double>(), 3);
  EXPECT_EQ(b.item<double>(), 10);
  EXPECT_EQ(f(constant(-1.0)).item<double>(), 22 + 3 + 22);
  EXPECT_EQ(a.item<double>(), 3);
  EXPECT_EQ(b.item<double>(), 22);
}

TEST(ControlFlowVariables, AreCarriedThroughLoops) {
  const Variable count(0.0f), unused(7.0f);
  auto f = function([&](const Tensor& x) {
    return while_loop([&](const Tensor& a) { return a + count < 20; },
                      [&](const Tensor& a) {
                        count.assign_add(1.0);
                        cond(
                            count > 2, [&] { unused.assign(a); }, [] {});
                        return a + count;
                      },
                      x);
  });
  // 1; 2 with 1; 4 with 2; 7 with 3; 11 with 4; 16 with 5.
  EXPECT_EQ(f(constant(1.0)).item<double>(), 16);
  EXPECT_EQ(count.item<double>(), 5);
  EXPECT_EQ(unused.item<double>(), 11);
  EXPECT_EQ(f(constant(100.0)).item<double>(), 100);
  EXPECT_EQ(count.item<double>(), 5);
}

// A run of a body as a program updates what it alone holds where that lies.
TEST(ControlFlowVariables, WhatARowGivesIsKeptWhenTheNextOneWrites) {
  const Variable sum(zeros({3}));
  const auto plain = [&](const Tensor& x) {
    return scan(
        [&](const Tensor& before, const Tensor& row) {
          sum.assign(sum + row);
          const Tensor view = reshape(sum.value(), {3, 1});
          sum.assign(sum * 2.0);
          return before + reshape(view, {3}) - sum;
        },
        x, zeros({3}));
  };
  const Tensor x = reshape(range(12.0), {4, 3});
  const std::vector<double> expected = numbers(plain(x));
  const std::vector<double> left = numbers(sum.value());
  sum.assign(zeros({3}));
  auto f = function([&](const Tensor& rows) { return plain(rows); });
  EXPECT_EQ(numbers(f(x)), expected);
  EXPECT_EQ(numbers(sum.value()), left);
  auto held = function([&](const Tensor& rows) {
    return map_fn(
        [&](const Tensor& row) {
          sum.assign(sum + row);
          return reshape(sum.value(), {3, 1});
        },
        rows);
  });
  sum.assign(zeros({3}));
  EXPECT_EQ(numbers(held(x)), (std::vector<double>{0, 1, 2, 3, 5, 7, 9, 12, 15, 18, 22, 26}));
  EXPECT_EQ(numbers(sum.value()), (std::vector<double>{18, 22, 26}));
}

TEST(ControlFlowVariables, HaveGradients) {
  const Variable w(1.5, {.dtype = float64});
  const auto f = [&](const Tensor& x) {
    const auto [i, a] = while_loop([](const Tensor& k, const Tensor&) { return k < 3; },
                                   [&](const Tensor& k, const Tensor& b) { return std::tuple(k + 1, sin(b * w)); },
                                   std::tuple(constant(0), x));
    return cond(
        a > 0, [&] { return a * w; }, [&] { return a; });
  };
  auto traced = function(f);
  auto inside = function([&](const Tensor& x) {
    GradientTape outer;
    GradientTape tape;
    const Tensor slope = tape.gradient(f(x), w);
    return std::pair(slope, outer.gradient(slope, w));
  });
  const Tensor x = constant(0.7, float64);
  const auto both = [&](auto& g) {
    GradientTape outer;
    GradientTape tape;
    const Tensor slope = tape.gradient(g(x), w);
    return std::pair(slope.item<double>(), outer.gradient(slope, w).template item<double>());
  };
  const auto [first, second] = both(f);
  const auto [traced_first, traced_second] = both(traced);
  EXPECT_NEAR(traced_first, first, 1e-12);
  EXPECT_NEAR(traced_second, second, 1e-12);
  const auto [inner_first, inner_second] = inside(x);
  EXPECT_NEAR(inner_first.item<double>(), first, 1e-12);
  EXPECT_NEAR(inner_second.item<double>(), second, 1e-12);
}

// A write cuts the path of gradients, and every read of a variable counts as one source.
TEST(ControlFlowVariables, WritesCutGradientsAndReadsBehindThemDoNot) {
  const auto run = [](bool traced, bool inside) {
    const Variable v(2.0, {.dtype = float64});
    const Tensor x = constant(3.0, float64);
    const auto f = [&](const Tensor& a) {
      const auto [i, sum] = while_loop([](const Tensor& k, const Tensor&) { return k < 3; },
                                       [&](const Tensor& k, const Tensor& s) {
                                         const Tensor before = v * a;
                                         v.assign(v * a);
                                         return std::tuple(k + 1, s + before + v * a);
                                       },
                                       std::tuple(constant(0), a));
      return sum;
    };
    auto compiled = function(f);
    const auto gradients = [&](const Tensor& a) {
      GradientTape tape;
      tape.watch(a);
      const Tensor y = traced ? compiled(a) : f(a);
      const auto [da, dv] = tape.gradient(y, std::tuple(a, v));
      return List{y, da, dv};
    };
    const List all = inside ? function(gradients)(x) : gradients(x);
    return std::vector<double>{all[0].item<double>(), all[1].item<double>(), all[2].item<double>(), v.item<double>()};
  };
  const std::vector<double> eager = run(false, false);
  EXPECT_EQ(eager[2], 3 * 6);
  EXPECT_EQ(run(true, false), eager);
  EXPECT_EQ(run(false, true), eager);
  EXPECT_EQ(run(true, true), eager);
}

TEST(ControlFlowVariables, ReadBehindAnAssignmentInAFunctionIsTheVariable) {
  const Variable v(2.0, {.dtype = float64});
  const auto f = [&](const Tensor& x) {
    v.assign(x * 2);
    return v * x;
  };
  const Tensor x = constant(3.0, float64);
  auto traced = function(f);
  for (const bool in_function : {false, true}) {
    GradientTape tape;
    tape.watch(x);
    const auto [dx, dv] = tape.gradient(in_function ? traced(x) : f(x), std::tuple(x, v));
    EXPECT_EQ(dx.item<double>(), 6);
    EXPECT_EQ(dv.item<double>(), 3);
  }
}

TEST(ControlFlowVariables, TrainingInALoop) {
  const auto train = [](bool traced) {
    const Variable w(0.0f);
    const optimizers::Adam optimizer({.learning_rate = 0.1});
    const auto steps = [&](const Tensor& x) {
      const auto [i, loss] =
          while_loop([](const Tensor& k, const Tensor&) { return k < 4; },
                     [&](const Tensor& k, const Tensor&) {
                       GradientTape tape;
                       const Tensor error = reduce_sum(square(w * x - 1));
                       optimizer.apply_gradients(List{tape.gradient(error, w)}, std::vector<Variable>{w});
                       return std::tuple(k + 1, error);
                     },
                     std::tuple(constant(0), constant(0.0)));
      return loss;
    };
    auto compiled = function(steps);
    std::vector<double> seen;
    for (int i = 0; i < 2; ++i) {
      seen.push_back((traced ? compiled(constant({1.0, 2.0})) : steps(constant({1.0, 2.0}))).item<double>());
      seen.push_back(w.item<double>());
    }
    return seen;
  };
  const std::vector<double> eager = train(false), traced = train(true);
  for (std::size_t i = 0; i < eager.size(); ++i) EXPECT_NEAR(traced[i], eager[i], 1e-5) << i;
}

// --- Draws ---

TEST(ControlFlowDraws, AreFreshInEveryIterationAndAtEveryCall) {
  auto f =
      function([](const Tensor& x) { return map_fn([](const Tensor& row) { return row + random::uniform({2}); }, x); });
  const Tensor x = zeros({3, 2});
  const std::vector<double> first = numbers(f(x)), second = numbers(f(x));
  EXPECT_EQ(tracing_count(f), 1);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NE(first[i], second[i]);
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(first[i], first[j]);
  }
}

TEST(ControlFlowDraws, AreTheSameInAFunctionAndWithout) {
  const auto f = [](const Tensor& x) {
    const auto [i, a] = while_loop([](const Tensor& k, const Tensor&) { return k < 3; },
                                   [](const Tensor& k, const Tensor& b) {
                                     return std::tuple(k + 1, cond(
                                                                  k > 0, [&] { return b + random::normal({2}); },
                                                                  [&] { return b * random::uniform({2}); }));
                                   },
                                   std::tuple(constant(0), x));
    return a;
  };
  auto traced = function(f);
  traced(constant({1.0, 2.0}));
  set_seed(5);
  const std::vector<double> eager = numbers(f(constant({1.0, 2.0})));
  set_seed(5);
  EXPECT_EQ(numbers(traced(constant({1.0, 2.0}))), eager);
}

// y = x * mask, so that the gradient shows the mask, of the tape around and of the tape inside.
TEST(ControlFlowDraws, GradientsUseThoseOfTheCall) {
  const auto drop = [](const Tensor& x) {
    const auto [i, a] = while_loop([](const Tensor& k, const Tensor&) { return k < 2; },
                                   [](const Tensor& k, const Tensor& b) {
                                     const Tensor noise = cond(
                                         k < 1, [&] { return random::uniform({64}, 1, 2); },
                                         [&] { return random::uniform({64}, 2, 3); });
                                     return std::tuple(k + 1, dropout(b, 0.5) * noise);
                                   },
                                   std::tuple(constant(0), x));
    return a;
  };
  const Tensor x = ones({64});
  auto f = function(drop);
  auto inside = function([&](const Tensor& a) {
    GradientTape outer;
    outer.watch(a);
    GradientTape tape;
    tape.watch(a);
    const Tensor y = drop(a);
    const Tensor slope = tape.gradient(y * y, a);
    return List{y, slope, outer.gradient(slope, a)};
  });
  for (int i = 0; i < 2; ++i) {
    GradientTape outer;
    outer.watch(x);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    const Tensor slope = tape.gradient(y * y, x);
    const List around = {y, slope, outer.gradient(slope, x)};
    for (const List& all : {around, inside(x)}) {
      const std::vector<double> value = numbers(all[0]), first = numbers(all[1]), second = numbers(all[2]);
      int dropped = 0;
      for (std::size_t k = 0; k < 64; ++k) {
        EXPECT_NEAR(first[k], 2 * value[k] * value[k], 1e-3 * (1 + first[k]));
        EXPECT_NEAR(second[k], 2 * value[k] * value[k], 1e-3 * (1 + second[k]));
        dropped += value[k] == 0;
      }
      EXPECT_GT(dropped, 20);
      EXPECT_LT(dropped, 64);
    }
  }
}

TEST(ControlFlowDraws, NumbersFromOutsideAreAskedForInEveryIteration) {
  double number = 0;
  auto f = function([&](const Tensor& x) {
    return foldl([&](const Tensor& sum, const Tensor& row) { return sum + row * host_value([&] { return ++number; }); },
                 x, constant(0.0));
  });
  EXPECT_EQ(f(constant({1.0, 10.0, 100.0})).item<double>(), 1 + 20 + 300);
  EXPECT_EQ(f(constant({1.0, 10.0, 100.0})).item<double>(), 4 + 50 + 600);
}

TEST(ControlFlowDraws, OfAFunctionInAFunction) {
  auto inner = function([](const Tensor& x) {
    return while_loop([](const Tensor& a) { return reduce_sum(a) < 4; },
                      [](const Tensor& a) { return a + random::uniform({2}); }, x);
  });
  auto outer = function([&](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = inner(x) * x;
    return List{y, tape.gradient(y, x)};
  });
  const List all = outer(constant({0.5, 0.25}));
  // y = (x + d) x, so dy / dx = 2 x + d = y / x + x.
  const std::vector<double> y = numbers(all[0]), slope = numbers(all[1]);
  EXPECT_NEAR(slope[0], y[0] / 0.5 + 0.5, 1e-5);
  EXPECT_NEAR(slope[1], y[1] / 0.25 + 0.25, 1e-5);
  GradientTape tape;
  const Tensor x = constant({0.5, 0.25});
  tape.watch(x);
  const Tensor z = outer(x)[0];
  EXPECT_NEAR(numbers(tape.gradient(z, x))[0], numbers(z)[0] / 0.5 + 0.5, 1e-5);
}

// --- Graphs ---

TEST(ControlFlowGraph, ShowsWhatItHolds) {
  auto f = function([](const Tensor& x, const Tensor& w) {
    return while_loop([](const Tensor& a) { return a < 8; }, [&](const Tensor& a) { return a * w; }, x,
                      {.maximum_iterations = 9});
  });
  f(constant(1.0), constant(2.0));
  EXPECT_EQ(graph_text(f),
            "%0 = argument float32[]\n"
            "%1 = argument float32[]\n"
            "%2 = while_loop(%0, %1, maximum_iterations=9) float32[]\n"
            "  condition(%0):\n"
            "    %0 = argument float32[]\n"
            "    %2 = less(%0, 8:float32) bool[]\n"
            "    return %2\n"
            "  body(%0, %1):\n"
            "    %0 = argument float32[]\n"
            "    %1 = argument float32[]\n"
            "    %2 = multiply(%0, %1) float32[]\n"
            "    return %2\n"
            "return %2\n");
  EXPECT_NE(graph_dot(f).find("while_loop"), std::string::npos);
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ControlFlowGraph, PartsRunAsProgramsUnlessSomebodyWatches) {
  auto f = function([](const Tensor& x) {
    return while_loop([](const Tensor& a) { return reduce_sum(a) < 100.0; },
                      [](const Tensor& a) {
                        return cond(
                            a(0) > 20.0, [&] { return a * 2.0 + 1.0; }, [&] { return tanh(a * 0.5) + a; });
                      },
                      x);
  });
  const Tensor x = fill({4}, 18.0);
  const auto count = [](const Profile& profile, std::string_view name) {
    std::int64_t calls = 0;
    for (const ProfileRow& row : profile.rows()) calls += row.name == name ? row.count : 0;
    return calls;
  };
  const Profile alone = capstan::profile([&] { f(x); });
  EXPECT_EQ(count(alone, "loop(multiply, tanh, add)"), 3);
  EXPECT_EQ(count(alone, "loop(multiply, add)"), 1);
  EXPECT_EQ(count(alone, "tanh"), 0);
  const Profile watched = capstan::profile([&] {
    GradientTape tape;
    tape.watch(x);
    EXPECT_TRUE(tape.gradient(f(x), x).has_value());
  });
  EXPECT_GT(count(watched, "tanh"), 0);
}

TEST(ControlFlowGraph, PassesTreatNodesAsOthers) {
  auto twice = function([](const Tensor& x) {
    return cond(
        x > 0, [&] { return exp(x) * exp(x); }, [&] { return x; });
  });
  auto f = function([&](const Tensor& x) {
    cond(
        x > 0, [&] { return sin(x); }, [&] { return x; });  // unused
    return twice(x) + twice(x);                             // equal
  });
  EXPECT_NEAR(f(constant(1.0)).item<double>(), 2 * std::exp(2.0), 1e-5);
  const std::string text = graph_text(f);
  EXPECT_EQ(count_of(text, " = cond("), 1) << text;
  EXPECT_EQ(count_of(text, "sin"), 0) << text;
  EXPECT_EQ(count_of(text, "exp"), 1) << text;
  // One with effects stays, and two of them are two.
  auto draws = function([](const Tensor& x) {
    return cond(
        x > 0, [&] { return random::uniform({}); }, [&] { return x; });
  });
  auto g = function([&](const Tensor& x) {
    draws(x);
    return draws(x) - draws(x);
  });
  EXPECT_NE(g(constant(1.0)).item<double>(), 0);
  EXPECT_EQ(count_of(graph_text(g), " = cond("), 3) << graph_text(g);
  EXPECT_EQ(g(constant(-1.0)).item<double>(), 0);
}

TEST(ControlFlowGraph, OfKnownValuesIsComputedInTheTrace) {
  const Tensor known = constant({1.0, 2.0});
  auto f = function([&](const Tensor& x) {
    const Tensor sums = map_fn([](const Tensor& row) { return row * 2; }, known);
    return x *
           while_loop([](const Tensor& a) { return reduce_sum(a) < 10; }, [](const Tensor& a) { return a * 2; }, sums);
  });
  EXPECT_EQ(numbers(f(constant(1.0))), (std::vector<double>{4, 8}));
  EXPECT_EQ(count_of(graph_text(f), "map_fn") + count_of(graph_text(f), "while_loop"), 0) << graph_text(f);
}

TEST(ControlFlowGraph, AFailureInALoopChangesNoVariable) {
  const Variable v(1.0f);
  auto f = function([&](const Tensor& index) {
    return while_loop([](const Tensor& k) { return k < 5; },
                      [&](const Tensor& k) {
                        v.assign_add(1.0);
                        return k + gather(constant({1, 1, 1}), k);
                      },
                      index);
  });
  EXPECT_THROW(f(constant(0)), IndexError);
  EXPECT_EQ(v.item<double>(), 1);
  EXPECT_EQ(f(constant(5)).item<double>(), 5);
}

// As whoever runs the nodes of a graph by their kernels would.
TEST(ControlFlowGraph, ANodeCanBeRunByItsKernel) {
  const auto node = std::make_shared<Branches>();
  for (const double factor : {2.0, 3.0}) {
    Subgraph branch{"branch", {}, {1}, {}};
    const Graph::Value x = branch.graph.add_value(float64, {});
    branch.graph.arguments = {x};
    branch.graph.results = {factor == 2 ? x : branch.graph.add_value(float64, {}, constant(factor, float64))};
    node->branches.push_back(std::move(branch));
  }
  node->results = {0};
  node->complete(2);
  const ControlAttributes attributes{node.get()};
  const Tensor x = constant(7.0, float64);
  for (const bool first : {true, false}) {
    const Tensor condition = constant(first);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = apply(*node->op, condition, x, &attributes);
    EXPECT_EQ(y.item<double>(), first ? 7 : 3);
    EXPECT_EQ(tape.gradient(y * y, x).item<double>(), first ? 14 : 0);
  }
}

TEST(ControlFlowGraph, LogsKeepDTypesAndShapes) {
  const List values = {constant({1.5, 2.5}), constant({{true}, {false}}), zeros({0, 3}, int64), constant(7)};
  const EffectLog log = unpack(pack({values}));
  EXPECT_TRUE(log.replay);
  ASSERT_EQ(log.values.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(log.values[i].dtype(), values[i].dtype());
    EXPECT_EQ(log.values[i].shape(), values[i].shape());
    EXPECT_EQ(numbers(log.values[i]), numbers(values[i]));
  }
  EXPECT_TRUE(unpack(pack({})).values.empty());
}

TEST(ControlFlowGraph, LayersCanBeMadeInABodyOfTheFirstTrace) {
  layers::Dense dense(3);
  auto f = function([&](const Tensor& x) { return map_fn([&](const Tensor& row) { return dense(row); }, x); });
  EXPECT_EQ(f(ones({2, 4, 5})).shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(numbers(f(ones({2, 4, 5}))), numbers(dense(ones({2, 4, 5}))));
}

// The node goes with its trace, so its rule must not be asked later: neither outside nor in another trace, and whether
// or not the first input of the node is symbolic.
TEST(ControlFlowGraph, ATapeThatOutlivesItsTraceSaysSo) {
  using Pair = std::tuple<Tensor, Tensor>;
  const std::vector<std::function<Tensor(const Tensor&)>> nodes = {
      [](const Tensor& x) {
        return cond(
            x > 0, [&] { return x * 2; }, [&] { return x; });
      },
      [](const Tensor& x) {
        return std::get<1>(while_loop([](const Pair& s) { return std::get<0>(s) < 3; },
                                      [](const Pair& s) { return Pair(std::get<0>(s) + 1, std::get<1>(s) * 2.0); },
                                      Pair(constant(0), x)));
      },
      [](const Tensor& x) {
        return map_fn([&](const Tensor& row) { return x * random::normal({}) * row; }, ones({2}));
      },
      [](const Tensor& x) {
        auto product = custom_gradient([](const Tensor& a, const Tensor& b) {
          return std::pair(a * b, [](const Tensor& g) { return std::vector<Tensor>{g, g}; });
        });
        return product(2.0, x);
      },
      [](const Tensor& x) { return recompute_grad([&](const Tensor& c) { return c * x; })(constant(2.0)); },
      [](const Tensor& x) { return fixed_point([&](const Tensor& y) { return 0.5 * (y + x / y); }, constant(1.0)); },
  };
  for (const auto& node : nodes) {
    Tensor x, y;
    std::vector<GradientTape> kept;
    {
      auto f = function([&](const Tensor& a) {
        x = a;
        GradientTape tape({.persistent = true});
        tape.watch(a);
        y = node(a);
        tape.stop();
        kept.push_back(std::move(tape));
        return y;
      });
      f(constant(4.0));
    }
    EXPECT_THROW(kept[0].gradient(y, x), TraceError);
    auto other = function([&](const Tensor& a) { return a * kept[0].gradient(y, x); });
    EXPECT_THROW(other(constant(1.0)), TraceError);
  }
}

TEST(ControlFlowVariables, AreWrittenWhatTheyHeld) {
  const Variable v(constant(0.5, float64)), w(constant(3.0, float64));
  auto plain = function([&](const Tensor& x) {
    v.assign(v * 1.0);
    w.assign_add(constant(1.0, float64));
    return x * v;
  });
  EXPECT_EQ(plain(constant(2.0, float64)).item<double>(), 1);
  EXPECT_EQ(w.value().item<double>(), 4);
  auto loop = function([&](const Tensor& x) {
    const auto [end] = while_loop([](const Tensor& a) { return a < 100.0; },
                                  [&](const Tensor& a) {
                                    v.assign(v * 1.0);
                                    w.assign_add(constant(1.0, float64));
                                    return std::tuple(a * 2.0);
                                  },
                                  std::tuple(x));
    return end;
  });
  EXPECT_EQ(loop(constant(2.0, float64)).item<double>(), 128);
  EXPECT_EQ(v.value().item<double>(), 0.5);
  EXPECT_EQ(w.value().item<double>(), 10);
}

}  // namespace
}  // namespace capstan
