// Programs: variables and their state.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "tests/tape/tape_programs.h"

namespace capstan::testing {

namespace {

void assignment_cuts(Recorder& r) {
  const Variable x0 = r.v("x0"), x1 = r.v("x1");
  GradientTape t;
  x1.assign_add(x0);
  const Tensor y = pow(x1, 2);
  r.out("y", y);
  r.out("g", t.gradient(y, {x0, x1}));
}

void reads_are_snapshots(Recorder& r) {
  const Variable v = r.v("v");
  GradientTape t({.persistent = true});
  const Tensor y = v * v;
  v.assign(10.0);
  const Tensor z = v * v;
  r.out("y", t.gradient(y, v));
  r.out("z", t.gradient(z, v));
  r.out("both", t.gradient({y, z}, v));
}

void result_of_an_assignment(Recorder& r) {
  const Variable v = r.v("v");
  GradientTape t({.persistent = true});
  const Variable back = v.assign_add(1.0);
  const Tensor y = pow(back, 2);
  r.out("y", t.gradient(y, v));
  r.out("itself", t.gradient(back, v));
  r.out("value", v);
}

void scatter_updates(Recorder& r) {
  const auto start = r.given("start").get<std::vector<double>>();
  const auto v = [&] { return Variable(constant(start)); };
  const auto f8 = [](std::initializer_list<Literal> list) { return constant(Literal(list), float64); };
  r.out("add", v().scatter_add(constant({1, 3}), f8({10, 20})).value());
  r.out("add_repeated", v().scatter_add(constant({1, 1}), f8({10, 20})).value());
  r.out("sub", v().scatter_sub(constant({0, 0}), f8({1, 1})).value());
  r.out("mul", v().scatter_mul(constant({2}), f8({3})).value());
  r.out("div", v().scatter_div(constant({3}), f8({2})).value());
  r.out("max", v().scatter_max(constant({0, 1}), f8({0, 9})).value());
  r.out("min", v().scatter_min(constant({0, 1}), f8({0, 9})).value());
  r.out("update", v().scatter_update(constant({3, 0}), f8({7, 8})).value());
  r.out("nd_add", v().scatter_nd_add(constant({{0}, {2}}), f8({5, 6})).value());
  r.out("nd_sub", v().scatter_nd_sub(constant({{0}, {2}}), f8({5, 6})).value());
  r.out("nd_update", v().scatter_nd_update(constant({{0}, {2}}), f8({5, 6})).value());
  r.out("chain", v().assign_add(ones({4}, float64)).assign_sub(2 * ones({4}, float64)).value());
}

void variable_errors(Recorder& r) {
  const Variable v = r.v("v");
  r.error("shape", [&] { v.assign(ones({3}, float64)); });
  r.error("dtype", [&] { v.assign(ones({2}, float32)); });
  r.error("assign_add shape", [&] { v.assign_add(ones({3}, float64)); });
  r.error("assign_add would broadcast", [&] { v.assign_add(ones({2, 2}, float64)); });
  r.leave_out("scatter of a dense tensor", "indices and updates are two arguments");
  r.error("scatter out of range", [&] { v.scatter_add(constant({5}), ones({1}, float64)); });
}

void rebinding_loses_the_variable(Recorder& r) {
  const Variable x = r.v("x");
  std::vector<Tensor> out;
  Tensor again;
  {
    GradientTape t;
    const Tensor y = x + 1;
    out.push_back(t.gradient(y, x));
    again = x + 1;
  }
  GradientTape t;
  const Tensor y = again + 1;
  out.push_back(t.gradient(y, again));
  r.out("g", out);
}

void host_maximum(Recorder& r) {
  const std::vector<Variable> v = {r.v("a"), r.v("b"), r.v("c")};
  GradientTape t;
  const Variable y = *std::max_element(
      v.begin(), v.end(), [](const Variable& a, const Variable& b) { return a.item<double>() < b.item<double>(); });
  r.out("value", y);
  r.out("g", t.gradient(y, v));
}

}  // namespace

Programs variable_programs() {
  return {
      {"assignment_cuts", assignment_cuts},
      {"reads_are_snapshots", reads_are_snapshots},
      {"result_of_an_assignment", result_of_an_assignment},
      {"scatter_updates", scatter_updates},
      {"variable_errors", variable_errors},
      {"rebinding_loses_the_variable", rebinding_loses_the_variable},
      {"host_maximum", host_maximum},
  };
}

}  // namespace capstan::testing
