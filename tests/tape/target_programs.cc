// Programs: several targets, targets that are sources, sources, weights of targets.
#include <array>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "tests/tape/tape_programs.h"

namespace capstan::testing {

namespace {

void several_targets_are_summed(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t({.persistent = true});
  t.watch(x);
  const Tensor a = pow(x, 2), b = 1.0 / x;
  r.out("both", t.gradient({a, b}, x));
  r.out("as_dict", t.gradient(std::map<std::string, Tensor>{{"first", a}, {"second", b}}, x));
  r.out("nested", t.gradient(std::pair{a, std::vector{b, a}}, x));
  r.out("one", t.gradient(a, x));
  r.out("other", t.gradient(b, x));
}

void two_targets_two_sources(Recorder& r) {
  const Tensor x = r.x("x"), y = r.x("y");
  GradientTape t;
  t.watch(std::vector{x, y});
  const Tensor a = 2 * x, b = 3 * y;
  r.out("g", t.gradient({a, b}, {x, y}));
}

void same_target_twice_and_no_target(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t({.persistent = true});
  t.watch(x);
  const Tensor y = pow(x, 2);
  const std::vector<Tensor> nothing;
  r.out("once", t.gradient(y, x));
  r.out("twice", t.gradient({y, y}, x));
  r.out("none", t.gradient(nothing, x));
  r.out("none_zero", t.gradient(nothing, x, {.unconnected_gradients = UnconnectedGradients::kZero}));
  r.out("nothing", t.gradient(y, nothing));
}

void target_is_a_source(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t({.persistent = true});
  t.watch(x);
  const Tensor y = pow(x, 2);
  r.out("a", t.gradient(x, x));
  r.out("b", t.gradient({x, y}, x));
  r.out("c", t.gradient({x, x}, x));
  r.out("d", t.gradient(y, {x, y}));
}

void unwatched_target_is_a_source(Recorder& r) {
  const Tensor x = r.x("x"), m = r.x("m"), i = r.x("i");
  GradientTape t({.persistent = true});
  t.stop();
  r.out("x", t.gradient(x, x));
  r.out("m", t.gradient(m, m));
  r.out("i", t.gradient(i, i));
  r.out("with_seed", t.gradient(x, x, {.output_gradients = {number(7)}}));
}

void some_targets_are_sources(Recorder& r) {
  const Tensor x = r.x("x"), y = r.x("y");
  GradientTape t({.persistent = true});
  t.watch(std::vector{x, y});
  const Tensor z = pow(y, 2);
  r.out("plain", t.gradient({x, y, z}, {x, y}));
  r.out("seeded", t.gradient({x, y, z}, {x, y}, {.output_gradients = {number(2), number(3), number(4)}}));
}

void target_is_a_variable(Recorder& r) {
  const Variable v = r.v("v"), w = r.v("w");
  GradientTape empty({.persistent = true});
  empty.stop();
  r.out("same", empty.gradient(v, v));
  r.out("other", empty.gradient(v, w));
  GradientTape t({.persistent = true});
  const Tensor y = pow(v, 2);
  t.stop();
  r.out("same_recorded", t.gradient(v, v));
  r.out("both", t.gradient({y, v}, v));
}

void vector_target_is_summed(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = x * constant({3, 4}, float64);
  r.out("g", t.gradient(y, x));
}

void targets_of_two_dtypes(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = pow(x, 2), z = pow(cast(x, float32), 3);
  r.out("g", t.gradient({y, z}, x));
}

// --- Sources ---

void intermediate_source_does_not_cut(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = x * x;
  const Tensor z = y * y;
  r.out("g", t.gradient(z, {x, y}));
}

void watching_an_intermediate_changes_nothing(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = x * x;
  t.watch(y);
  const Tensor z = y * y;
  r.out("g", t.gradient(z, {x, y}));
}

void watching_later_does_not_reach_back(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t({.persistent = true});
  const Tensor y = x * x;
  t.watch(x);
  const Tensor z = x * x * x;
  const Tensor u = y * x;
  r.out("y", t.gradient(y, x));
  r.out("z", t.gradient(z, x));
  r.out("u", t.gradient(u, x));
}

void repeated_source(Recorder& r) {
  const Tensor x = r.x("x"), y = r.x("y");
  GradientTape t({.persistent = true});
  t.watch(std::vector{x, y});
  const Tensor a = 2 * x;
  const Tensor z = pow(x, 2) + x * y;
  r.out("a", t.gradient(a, {x, x}));
  r.out("b", t.gradient(z, {x, x}));
  r.out("c", t.gradient(z, {y, x}));
}

// The dictionary {"a": x1, "b": [x2, x3]} has values of two types, so it is a struct here.
struct TwoFields {
  Tensor a;
  std::vector<Tensor> b;
  using Gradients = TwoFields;
  auto fields() { return std::tie(a, b); }
};

void structure_of_sources(Recorder& r) {
  const Tensor x1 = r.x("x1"), x2 = r.x("x2"), x3 = r.x("x3");
  GradientTape t({.persistent = true});
  t.watch(std::vector{x1, x2, x3});
  const Tensor y = x1 + 2 * x2 + 3 * x3;
  r.out("one", t.gradient(y, x1));
  r.out("single", t.gradient(y, std::tuple{x1}));
  r.out("pair", t.gradient(y, std::pair{x1, x2}));
  r.out("nested", t.gradient(y, std::vector{std::pair{x1, x2}, std::pair{x2, x3}}));
  r.out("mixed", t.gradient(y, std::tuple{x1, x2, std::vector{x1, x3}}));
  const TwoFields g = t.gradient(y, TwoFields{x1, {x2, x3}});
  Value dictionary{.kind = Value::Kind::kMap, .tensor = {}, .list = {}, .map = {}};
  dictionary.map = {{"a", value_of(g.a)}, {"b", value_of(g.b)}};
  r.out("dictionary", dictionary);
}

void equal_values_are_different_tensors(Recorder& r) {
  const Tensor x = r.x("x");
  const std::vector<Tensor> xs = {x, identity(x), x + 0, x - 0, x * 1};
  GradientTape t;
  t.watch(xs);
  const Tensor loss = 2 * xs[0] + 3 * add_n({xs[1], xs[2], xs[3], xs[4]});
  r.out("g", t.gradient(loss, xs));
}

void equal_constants_are_different_sources(Recorder& r) {
  const Tensor a = r.x("a"), b = r.x("b");
  GradientTape t;
  t.watch(std::vector{a, b});
  const Tensor y = a + b * b;
  r.out("g", t.gradient(y, {a, b}));
}

void all_reads_of_a_variable_add_up(Recorder& r) {
  const Variable v = r.v("v");
  GradientTape t;
  const Tensor y = v * v + v.read_value() * 3 + identity(v);
  r.out("g", t.gradient(y, v));
}

void values_read_before_the_tape(Recorder& r) {
  const Variable v = r.v("v");
  const Tensor val = v.read_value(), w = v + 1;
  GradientTape t;
  const Tensor y = val * w;
  r.out("g", t.gradient(y, {v, val, w}));
}

// --- Weights of targets ---

void weighted(Recorder& r) {
  const Tensor x = r.x("x"), w = r.x("w");
  GradientTape t;
  t.watch(x);
  const Tensor y = sin(x);
  r.out("g", t.gradient(y, x, {.output_gradients = {w}}));
}

void several_weights(Recorder& r) {
  const Tensor x = r.x("x"), u = r.x("u"), w = r.x("w");
  GradientTape t({.persistent = true});
  t.watch(x);
  const Tensor a = pow(x, 2), b = pow(x, 3);
  r.out("both", t.gradient({a, b}, x, {.output_gradients = {u, w}}));
  // The original fails for a missing weight; here it stands for ones, which is the stored `ones`.
  r.out("ones", t.gradient({a, b}, x, {.output_gradients = {u, Tensor()}}));
  r.leave_out("a missing weight", "stands for ones");
}

void weight_of_a_target_used_further(Recorder& r) {
  const Tensor x = r.x("x"), y = r.x("y");
  GradientTape t;
  t.watch(x);
  const Tensor loss = x * y;
  r.out("g", t.gradient({loss, x}, x, {.output_gradients = {number(1), number(2)}}));
}

void weights_are_differentiable(Recorder& r) {
  const Tensor x = r.x("x"), w = r.x("w");
  GradientTape o({.persistent = true});
  o.watch(std::vector{w, x});
  GradientTape i;
  i.watch(x);
  const Tensor y = pow(x, 3);
  const Tensor g = i.gradient(y, x, {.output_gradients = {w}});
  o.stop();
  r.out("g", g);
  r.out("dg_dw", o.gradient(g, w));
  r.out("dg_dx", o.gradient(g, x));
}

void weight_of_an_unconnected_target(Recorder& r) {
  const Tensor x = r.x("x"), z = r.x("z");
  GradientTape t;
  t.watch(x);
  const Tensor y = pow(x, 2);
  r.out("g", t.gradient({y, z}, x, {.output_gradients = {number(1), number(100)}}));
}

void weight_of_another_shape(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t({.persistent = true});
  t.watch(x);
  const Tensor y = x * x;
  r.leave_out("scalar", "a weight has the shape of its target");
  r.error("dtype", [&] { t.gradient(y, x, {.output_gradients = {constant({1.0, 1.0, 1.0})}}); });
  r.error("shape", [&] { t.gradient(y, x, {.output_gradients = {constant({1, 1}, float64)}}); });
}

void rows_of_a_matrix(Recorder& r) {
  const Tensor a = r.x("A"), x = r.x("x");
  GradientTape t({.persistent = true});
  t.watch(x);
  const Tensor y = matmul(a, x);
  t.stop();
  r.out("rows", std::vector{t.gradient(y, x, {.output_gradients = {constant({{1}, {0}}, float64)}}),
                            t.gradient(y, x, {.output_gradients = {constant({{0}, {1}}, float64)}})});
}

}  // namespace

Programs target_programs() {
  return {
      {"several_targets_are_summed", several_targets_are_summed},
      {"two_targets_two_sources", two_targets_two_sources},
      {"same_target_twice_and_no_target", same_target_twice_and_no_target},
      {"target_is_a_source", target_is_a_source},
      {"unwatched_target_is_a_source", unwatched_target_is_a_source},
      {"some_targets_are_sources", some_targets_are_sources},
      {"target_is_a_variable", target_is_a_variable},
      {"vector_target_is_summed", vector_target_is_summed},
      {"targets_of_two_dtypes", targets_of_two_dtypes},
      {"intermediate_source_does_not_cut", intermediate_source_does_not_cut},
      {"watching_an_intermediate_changes_nothing", watching_an_intermediate_changes_nothing},
      {"watching_later_does_not_reach_back", watching_later_does_not_reach_back},
      {"repeated_source", repeated_source},
      {"structure_of_sources", structure_of_sources},
      {"equal_values_are_different_tensors", equal_values_are_different_tensors},
      {"equal_constants_are_different_sources", equal_constants_are_different_sources},
      {"all_reads_of_a_variable_add_up", all_reads_of_a_variable_add_up},
      {"values_read_before_the_tape", values_read_before_the_tape},
      {"weighted", weighted},
      {"several_weights", several_weights},
      {"weight_of_a_target_used_further", weight_of_a_target_used_further},
      {"weights_are_differentiable", weights_are_differentiable},
      {"weight_of_an_unconnected_target", weight_of_an_unconnected_target},
      {"weight_of_another_shape", weight_of_another_shape},
      {"rows_of_a_matrix", rows_of_a_matrix},
  };
}

}  // namespace capstan::testing
