// Functions of functions over lists of tensors, as bindings for other languages call them.
#include "capstan/dynamic.h"

#include <gtest/gtest.h>

#include "capstan/error.h"
#include "capstan/function.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "capstan/ops/reduce.h"
#include "capstan/variable.h"

namespace capstan {
namespace {

using dynamic::TensorList;

std::vector<float> numbers(const Tensor& x) { return x.to_vector<float>(); }

// Calls `f(x)` outside of a trace and in one.
template <class F>
void in_both(const F& f, const Tensor& x, const std::vector<float>& expected) {
  EXPECT_EQ(numbers(f(x)), expected);
  auto traced = function(f);
  EXPECT_EQ(numbers(traced(x)), expected);
}

TEST(Dynamic, Cond) {
  const auto f = [](const Tensor& x) {
    return dynamic::cond(
        reduce_sum(x) > 0, [&](auto) { return TensorList{x * x}; }, [&](auto) { return TensorList{-x}; })[0];
  };
  in_both(f, constant({1.0, 2.0}), {1, 4});
  in_both(f, constant({-1.0, -2.0}), {1, 2});
}

TEST(Dynamic, SwitchCase) {
  const auto f = [](const Tensor& x) {
    const dynamic::ListFunction branches[] = {[&](auto) { return TensorList{x}; },
                                              [&](auto) { return TensorList{x * 10}; }};
    return dynamic::switch_case(cast(x, int32), branches)[0];
  };
  in_both(f, constant(0.0), {0});
  in_both(f, constant(1.0), {10});
  in_both(f, constant(7.0), {70});
}

TEST(Dynamic, Loops) {
  const auto power = [](const Tensor& x) {
    return dynamic::while_loop([](auto v) { return TensorList{v[0] < 3}; },
                               [&](auto v) {
                                 return TensorList{v[0] + 1, v[1] * x};
                               },
                               {constant(0), x})[1];
  };
  in_both(power, constant(2.0), {16});
  const auto limited = [](const Tensor& x) {
    return dynamic::while_loop([](auto v) { return TensorList{v[0] < 1e9}; },
                               [](auto v) { return TensorList{v[0] * 2}; }, {x}, 3)[0];
  };
  in_both(limited, constant(1.0), {8});
  const auto sums = [](const Tensor& x) {
    return dynamic::scan([](auto v) { return TensorList{v[0] + v[1]}; }, {x}, {constant(0.0)})[0];
  };
  in_both(sums, constant({1.0, 2.0, 3.0}), {1, 3, 6});
  const auto difference = [](const Tensor& x) {
    return dynamic::fold([](auto v) { return TensorList{v[1] - v[0]}; }, {x}, {constant(0.0)}, {.reverse = true})[0];
  };
  in_both(difference, constant({1.0, 2.0, 4.0}), {3});
}

TEST(Dynamic, Rows) {
  const auto squares = [](auto v) { return TensorList{reduce_sum(v[0] * v[0])}; };
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});
  in_both([&](const Tensor& t) { return dynamic::map_fn(squares, {t})[0]; }, x, {5, 25});
  in_both([&](const Tensor& t) { return dynamic::vectorized_map(squares, {t})[0]; }, x, {5, 25});
}

TEST(Dynamic, RecomputedFunctionsOutliveTheCall) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  Tensor y;
  {
    const dynamic::ListFunction cube = [](auto v) { return TensorList{v[0] * v[0] * v[0]}; };
    y = dynamic::recompute(cube, {x})[0];
  }
  EXPECT_EQ(tape.gradient(y, x).item<float>(), 27);
}

TEST(Dynamic, ALoopOverRowsCarriesAndCollects) {
  const auto f = [](std::span<const Tensor> v) { return TensorList{v[0] + v[1], v[0] * v[1], v[1]}; };
  const Tensor rows = constant({1.0f, 2.0f, 3.0f});
  for (const bool reverse : {false, true}) {
    const auto run = [&](const Tensor& x) {
      const TensorList all = dynamic::loop_over_rows(f, {constant(1.0f)}, {x}, {.reverse = reverse});
      return concat({reshape(all[0], {1}), all[1], all[2]}, 0);
    };
    in_both(run, rows, reverse ? std::vector<float>{7, 6, 8, 3, 1, 2, 3} : std::vector<float>{7, 1, 4, 12, 1, 2, 3});
  }
  // Without rows nothing is collected, and what is carried stays.
  const auto none = [&](const Tensor& x) {
    const TensorList all = dynamic::loop_over_rows(f, {constant(1.0f)}, {x});
    return concat({reshape(all[0], {1}), all[1]}, 0);
  };
  in_both(none, zeros({0}), {1});
  EXPECT_THROW(dynamic::loop_over_rows([](auto) { return TensorList{}; }, {constant(1.0f)}, {rows}), ValueError);
  EXPECT_THROW(dynamic::loop_over_rows([](auto v) { return TensorList{cast(v[0], int32)}; }, {constant(1.0f)}, {rows}),
               DTypeError);
}

TEST(Dynamic, AConditionGivesOneTensor) {
  EXPECT_THROW(
      dynamic::while_loop([](auto) { return TensorList{}; }, [](auto v) { return TensorList{v[0]}; }, {constant(0.0)}),
      ValueError);
}

TEST(Dynamic, AConcreteFunctionIsTracedWithoutARun) {
  const Variable count(0.0);
  const dynamic::Function step({.name = "step"});
  auto body = [&](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
    count.assign_add(1.0);
    tensors[0] = tensors[0] * 2.0;
    return std::make_shared<int>(5);
  };
  dynamic::Function::Call kind;
  kind.signature().add(TensorSpec({-1, 2}));
  const dynamic::Function::Concrete concrete = step.get_concrete(kind, body);
  EXPECT_EQ(count.value().item<float>(), 0.0f);
  EXPECT_EQ(concrete.signature(), "step(float32[?, 2]) -> (float32[?, 2])");
  ASSERT_EQ(concrete.results().size(), 1u);
  EXPECT_EQ(concrete.results()[0]->to_string(), "float32[?, 2]");
  EXPECT_EQ(*static_cast<const int*>(concrete.structure()), 5);
  EXPECT_FALSE(concrete.graph_text().empty() || concrete.graph_nodes().empty());
  const auto call = [&](const Tensor& x) {
    dynamic::Function::Call call;
    call.signature().add(x);
    concrete.run(call, body);
    return numbers(call.tensors()[0]);
  };
  EXPECT_EQ(call(constant({{1.0, 2.0}})), (std::vector<float>{2, 4}));
  EXPECT_EQ(call(ones({3, 2})).size(), 6u);
  EXPECT_EQ(count.value().item<float>(), 2.0f);
  EXPECT_THROW(call(ones({3, 3})), ValueError);
}

TEST(Dynamic, AFunctionIsTracedOnceForASignature) {
  const dynamic::Function square({.name = "square"});
  int traced = 0;
  auto body = [&](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
    ++traced;
    tensors[0] = tensors[0] * tensors[0];
    return std::make_shared<int>(traced);
  };
  const auto call = [&](const Tensor& x, std::uint64_t kind) {
    dynamic::Function::Call call(kind);
    call.signature().add(x);
    const int number = *static_cast<const int*>(square.run(call, body));
    return std::pair(numbers(call.tensors()[0]), number);
  };
  EXPECT_EQ(call(constant({1.0, 2.0}), 0), std::pair(std::vector<float>{1, 4}, 1));
  EXPECT_EQ(call(constant({3.0, 4.0}), 0), std::pair(std::vector<float>{9, 16}, 1));
  EXPECT_EQ(call(constant({3.0}), 0), std::pair(std::vector<float>{9}, 2));
  EXPECT_EQ(call(constant({3.0}), 1), std::pair(std::vector<float>{9}, 3));
  EXPECT_EQ(tracing_count(square.state()), 3);
}

// Runs `body` on one tensor, at once if the call is short, and says whether it was.
template <class Body>
bool runs_at_once(const dynamic::Function& f, const Tensor& x, Body body, Tensor* result = nullptr) {
  dynamic::Function::Call call;
  call.signature().add(x);
  auto traced = [&](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
    tensors[0] = body(tensors[0]);
    return std::make_shared<int>(7);
  };
  std::optional<const void*> structure = f.run_if_short(call);
  const bool was_short = structure.has_value();
  if (!was_short) {
    EXPECT_TRUE(call.tensors().empty());
    structure = f.run(call, traced);
  }
  EXPECT_EQ(*static_cast<const int*>(*structure), 7);
  if (result != nullptr) *result = call.tensors()[0];
  return was_short;
}

TEST(Dynamic, AShortCallIsOneThatWaitsForNothing) {
  const auto square = [](const Tensor& x) { return x * x; };
  const dynamic::Function f({.name = "square"});
  Tensor y;
  EXPECT_FALSE(runs_at_once(f, constant({2.0, 3.0}), square)) << "it has to be traced";
  EXPECT_TRUE(runs_at_once(f, constant({2.0, 4.0}), square, &y));
  EXPECT_EQ(numbers(y), (std::vector<float>{4, 16}));
  EXPECT_FALSE(runs_at_once(f, ones({1 << 20}), square)) << "it has to be traced";
  EXPECT_FALSE(runs_at_once(f, ones({1 << 20}), square)) << "it takes long";
  EXPECT_FALSE(runs_at_once(f, constant({2.0, 3.0}), square)) << "the call before was another";
  EXPECT_TRUE(runs_at_once(f, constant({2.0, 3.0}), square));

  const Tensor x = constant({2.0, 3.0});
  GradientTape tape;
  tape.watch(x);
  EXPECT_FALSE(runs_at_once(f, x, square, &y)) << "a tape is open";
  EXPECT_EQ(numbers(tape.gradient(y, x)), (std::vector<float>{4, 6}));

  const Variable v(1.0);
  const auto counted = [&](const Tensor& by) { return reshape(v.assign_add(reduce_sum(by)).value(), {1}); };
  const dynamic::Function counts({.name = "counts"});
  EXPECT_FALSE(runs_at_once(counts, x, counted));
  EXPECT_TRUE(runs_at_once(counts, x, counted, &y));
  EXPECT_EQ(numbers(y), (std::vector<float>{11}));
}

TEST(Dynamic, CallsOfLoopsEffectsAndWithinTracesAreNotShort) {
  const Tensor x = constant({2.0, 3.0});
  const auto loop = [](const Tensor& a) {
    return dynamic::while_loop([](auto v) { return TensorList{reduce_sum(v[0]) < 100}; },
                               [](auto v) { return TensorList{v[0] * 2}; }, {a})[0];
  };
  const auto drawn = [](const Tensor& a) { return a + random::uniform({2}); };
  const auto many = [](Tensor a) {
    for (int i = 0; i < 400; ++i) a = reduce_sum(matmul(reshape(a, {1, 2}), ones({2, 2})), 0);
    return a;
  };
  const dynamic::Function a({.name = "loop"}), b({.name = "drawn"}), c({.name = "many"});
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(runs_at_once(a, x, loop));
    EXPECT_FALSE(runs_at_once(b, x, drawn));
    EXPECT_FALSE(runs_at_once(c, x, many));
  }
  const auto square = [](const Tensor& t) { return t * t; };
  const dynamic::Function inner({.name = "inner"});
  runs_at_once(inner, x, square);
  bool was_short = true;
  auto outer = function([&](const Tensor& t) {
    Tensor y;
    was_short = runs_at_once(inner, t, square, &y);
    return y;
  });
  EXPECT_EQ(numbers(outer(x)), (std::vector<float>{4, 9}));
  EXPECT_FALSE(was_short);
}

TEST(Dynamic, ActionsSeeTheValuesOfEveryRun) {
  std::vector<Tensor> seen;
  const auto keep = [&](std::span<const Tensor> values) { seen.insert(seen.end(), values.begin(), values.end()); };
  auto f = function([&](const Tensor& x) {
    const Tensor y = x * 2;
    dynamic::call_at_every_run(keep, {y, x});
    const Tensor z = y + 1;  // may lie where y lay
    dynamic::call_at_every_run(keep, {reduce_sum(z)});
    return z * z;
  });
  EXPECT_EQ(numbers(f(constant({1.0f, 2.0f}))), (std::vector<float>{9, 25}));
  EXPECT_EQ(numbers(f(constant({3.0f, 4.0f}))), (std::vector<float>{49, 81}));
  ASSERT_EQ(seen.size(), 6u);
  EXPECT_EQ(numbers(seen[0]), (std::vector<float>{2, 4}));
  EXPECT_EQ(numbers(seen[1]), (std::vector<float>{1, 2}));
  EXPECT_EQ(seen[2].item<float>(), 8);
  EXPECT_EQ(numbers(seen[3]), (std::vector<float>{6, 8}));
  EXPECT_EQ(seen[5].item<float>(), 16);
  // At once, and under a tape, which does not see it.
  seen.clear();
  GradientTape tape;
  const Tensor x = constant(3.0);
  tape.watch(x);
  const Tensor y = x * x;
  dynamic::call_at_every_run(keep, {y, zeros({0})});
  EXPECT_EQ(tape.gradient(y, x).item<double>(), 6);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].item<double>(), 9);
}

TEST(Dynamic, ErrorsOfActionsLeaveTheRun) {
  auto f = function([](const Tensor& x) {
    dynamic::call_at_every_run(
        [](auto v) {
          if (v[0].template item<float>() > 1) throw IoError("too large");
        },
        {x});
    return x;
  });
  EXPECT_EQ(f(constant(1.0f)).item<float>(), 1);
  EXPECT_THROW(f(constant(2.0f)), IoError);
  EXPECT_EQ(f(constant(0.5f)).item<float>(), 0.5);
  EXPECT_THROW(dynamic::call_at_every_run(nullptr, {}), ValueError);
}

TEST(Dynamic, AnErrorInTheBodyPasses) {
  const dynamic::Function f({.name = "f"});
  auto body = [](std::vector<Tensor>&) -> std::shared_ptr<void> { throw IoError("no file"); };
  dynamic::Function::Call call;
  EXPECT_THROW(f.run(call, body), IoError);
}

}  // namespace
}  // namespace capstan
