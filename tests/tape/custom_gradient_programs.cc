// Programs: stop_gradient, custom_gradient, grad_pass_through.
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/recompute.h"
#include "tests/tape/tape_programs.h"

namespace capstan::testing {

namespace {

using In = std::span<const Tensor>;
using Out = std::vector<Tensor>;
using Rule = std::function<Out(In)>;

// A function of one argument with one result and a gradient of its own.
Tensor custom(const Tensor& x, const std::function<std::pair<Tensor, Rule>(const Tensor&)>& f) {
  return custom_gradient(
      [&](In in) -> CustomGradientResult {
        auto [y, rule] = f(in[0]);
        return {{y}, rule};
      },
      {x})[0];
}

void stops(Recorder& r) {
  const Tensor x = r.x("x"), y = r.x("y");
  GradientTape t;
  t.watch(std::vector{x, y});
  const Tensor z = pow(x, 2) + stop_gradient(pow(y, 2));
  r.out("g", t.gradient(z, {x, y}));
}

void straight_through(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = x + stop_gradient(round(x) - x);
  const Tensor z = pow(y, 2);
  r.out("y", y);
  r.out("g", t.gradient(z, x));
}

void stop_and_second_order(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape o;
  o.watch(x);
  GradientTape i;
  i.watch(x);
  const Tensor y = x * stop_gradient(x) + pow(x, 2);
  const Tensor g = i.gradient(y, x);
  r.out("g", g);
  r.out("gg", o.gradient(g, x));
}

void stop_hides_what_follows(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = custom(stop_gradient(x),
                          [](const Tensor& a) {
                            return std::pair{a * 2.0, Rule([](In) -> Out { throw OwnError(); })};
                          }) +
                   x;
  r.out("g", t.gradient(y, x));
}

void log1pexp(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t({.persistent = true});
  t.watch(x);
  const Tensor y = custom(x, [](const Tensor& a) {
    const Tensor e = exp(a);
    return std::pair{log(1 + e), Rule([e](In g) -> Out { return {g[0] * (1 - 1 / (1 + e))}; })};
  });
  const Tensor z = log(1 + exp(x));
  r.out("custom", t.gradient(y, x));
  r.out("plain", t.gradient(z, x));
}

void clipped_identity(Recorder& r) {
  const Variable v = r.v("v");
  GradientTape t;
  const Tensor out = custom(v * v, [](const Tensor& y) {
    return std::pair{identity(y), Rule([](In g) -> Out { return {clip_by_norm(g[0], 0.5)}; })};
  });
  r.out("g", t.gradient(out, v));
}

void wrong_on_purpose(Recorder& r) {
  const Tensor x = r.x("x"), y = r.x("y");
  {
    GradientTape t;
    t.watch(std::vector{x, y});
    const Tensor p = custom_gradient(
        [](In in) -> CustomGradientResult {
          const Tensor a = in[0], b = in[1];
          return {{a * b}, [a, b](In d) -> Out { return {d[0] * a, d[0] * b}; }};
        },
        {x, y})[0];
    r.out("swap", t.gradient(p, {x, y}));
  }
  const auto triple = [](const Tensor& a) {
    return custom(a, [](const Tensor& b) {
      return std::pair{identity(b), Rule([](In d) -> Out { return {3 * d[0]}; })};
    });
  };
  {
    GradientTape t;
    t.watch(x);
    const Tensor z = triple(triple(x));
    r.out("triple", t.gradient(z, {x}));
  }
  GradientTape t;
  t.watch(x);
  const Tensor z = custom(x, [](const Tensor& a) {
    return std::pair{a, Rule([](In d) -> Out { return {2 * d[0]}; })};
  });
  r.out("mine", t.gradient(z, {x}));
}

void declared_second_order(Recorder& r) {
  const Tensor c = r.x("c");
  const auto g = [](const Tensor& x) {
    return custom(x, [](const Tensor& a) {
      return std::pair{number(-1.1) + 0.0 * a, Rule([](In d) -> Out { return {d[0] * -2.1}; })};
    });
  };
  const auto f = [&](const Tensor& x) {
    return custom(x, [&](const Tensor& a) {
      return std::pair{a + 10.0, Rule([a, g](In d) -> Out { return {d[0] * g(a)}; })};
    });
  };
  GradientTape o;
  o.watch(c);
  GradientTape i;
  i.watch(c);
  const Tensor d = pow(f(c), 4);
  const Tensor first = i.gradient(d, c);
  r.out("first", first);
  r.out("second", o.gradient(first, c));
}

void several_results_and_missing_gradient(Recorder& r) {
  const Tensor x = r.x("x"), y = r.x("y");
  GradientTape t({.persistent = true});
  t.watch(std::vector{x, y});
  const Out pq = custom_gradient(
      [](In in) -> CustomGradientResult {
        const Tensor a = in[0], b = in[1];
        return {{a * b, a + b}, [a, b](In d) -> Out { return {d[0] * b + d[1], d[0] * a + d[1]}; }};
      },
      {x, y});
  const Tensor u = custom_gradient(
      [](In in) -> CustomGradientResult {
        const Tensor b = in[1];
        return {{in[0] * b}, [b](In d) -> Out { return {d[0] * b, Tensor()}; }};
      },
      {x, y})[0];
  r.out("both", t.gradient(pq, {x, y}, {.output_gradients = {number(1), number(10)}}));
  r.out("first_only", t.gradient(pq[0], {x, y}));
  r.out("missing", t.gradient(u, {x, y}));
}

void custom_gradient_errors(Recorder& r) {
  const Tensor x = r.x("x");
  const Variable v = r.v("v");
  const auto gradient_of = [](const std::function<CustomGradientResult(In)>& f, std::vector<Tensor> arguments) {
    GradientTape t;
    t.watch(arguments);
    const Tensor y = custom_gradient(f, arguments)[0];
    t.gradient(y, arguments);
  };
  r.error("too few", [&] {
    gradient_of(
        [](In in) -> CustomGradientResult {
          return {{in[0] * in[1]}, [](In d) -> Out { return {d[0]}; }};
        },
        {x, x + 1.0});
  });
  r.error("none", [&] {
    gradient_of([](In in) -> CustomGradientResult { return {{in[0] * 2.0}, [](In) -> Out { return {}; }}; }, {x});
  });
  r.error("throws", [&] {
    gradient_of(
        [](In in) -> CustomGradientResult {
          return {{in[0] * 2.0}, [](In) -> Out { throw OwnError(); }};
        },
        {x});
  });
  r.error("reads a variable", [&] {
    gradient_of(
        [&](In in) -> CustomGradientResult {
          return {{in[0] * v}, [](In d) -> Out { return {d[0] * 2.0}; }};
        },
        {x});
  });
}

void captured_variable(Recorder& r) {
  const Tensor x = r.x("x");
  const Variable v = r.v("v");
  GradientTape t;
  t.watch(x);
  const Tensor y = custom_gradient(
      [&](In in) -> CustomGradientResult {
        const Tensor a = in[0];
        return {{a * v},
                [&v](In d) -> Out { return {2 * d[0] * v}; },
                [a](In d, std::span<const Variable>) -> Out { return {3 * d[0] * a}; }};
      },
      {x})[0];
  r.out("g", t.gradient(y, {x, v}));
}

void captured_weights(Recorder& r) {
  const Variable w = r.v("w");
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = custom_gradient(
      [&](In in) -> CustomGradientResult {
        const Tensor a = in[0];
        return {{w(0) * a + w(1)},
                [&w](In d) -> Out { return {d[0] * w(0)}; },
                [a](In d, std::span<const Variable>) -> Out {
                  return {stack({reduce_sum(d[0] * a), reduce_sum(d[0])})};
                }};
      },
      {x})[0];
  r.out("y", y);
  r.out("g", t.gradient(y, {x, w}));
}

void pass_through(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = grad_pass_through([](In in) -> Out { return {round(in[0])}; }, {x})[0];
  const Tensor z = pow(y, 2);
  r.out("y", y);
  r.out("g", t.gradient(z, x));
}

void recompute_equals_plain(Recorder& r) {
  const Tensor x = r.x("x"), w = r.x("w");
  const auto plain = [](const Tensor& a, const Tensor& b) { return reduce_sum(pow(tanh(matmul(a, b)), 2)); };
  const auto recomputed = recompute_grad(plain);
  const auto squared = [recomputed](const Tensor& a, const Tensor& b) { return pow(recomputed(a, b), 2); };
  const auto run = [&](const std::string& name, const auto& f) {
    GradientTape outer;
    outer.watch(std::vector{x, w});
    GradientTape inner;
    inner.watch(std::vector{x, w});
    const Out first = inner.gradient(f(x, w), {x, w});
    const Tensor sum = reduce_sum(first[0] * first[0]) + reduce_sum(pow(first[1], 3));
    const Out second = outer.gradient(sum, {x, w});
    r.out(name, first);
    r.out(name + "_second", second);
  };
  run("plain", plain);
  run("recomputed", recomputed);
  run("plain_squared", squared);
  r.leave_out("second order of the square", "it is there");
}

}  // namespace

Programs custom_gradient_programs() {
  return {
      {"stops", stops},
      {"straight_through", straight_through},
      {"stop_and_second_order", stop_and_second_order},
      {"stop_hides_what_follows", stop_hides_what_follows},
      {"log1pexp", log1pexp},
      {"clipped_identity", clipped_identity},
      {"wrong_on_purpose", wrong_on_purpose},
      {"declared_second_order", declared_second_order},
      {"several_results_and_missing_gradient", several_results_and_missing_gradient},
      {"custom_gradient_errors", custom_gradient_errors},
      {"captured_variable", captured_variable},
      {"captured_weights", captured_weights},
      {"pass_through", pass_through},
      {"recompute_equals_plain", recompute_equals_plain},
  };
}

}  // namespace capstan::testing
