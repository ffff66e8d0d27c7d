// Programs: first gradients, persistent and single-use tapes, host control flow, integers.
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "tests/tape/tape_programs.h"

namespace capstan::testing {

namespace {

void complex_gradients(Recorder& r) {
  const Tensor z = r.x("z");
  const auto gradient = [&](auto&& f) {
    GradientTape t;
    t.watch(z);
    return t.gradient(f(), z);
  };
  r.out("square", gradient([&] { return z * z; }));
  r.out("abs_square", gradient([&] { return square(abs(z)); }));
  r.out("real", gradient([&] { return real(z); }));
  r.out("imag", gradient([&] { return imag(z); }));
  r.out("conj", gradient([&] { return conj(z); }));
  r.out("exp", gradient([&] { return exp(z); }));
  r.out("times_conj", gradient([&] { return z * conj(z); }));
}

void square_of_variable(Recorder& r) {
  const Variable x = r.v("x");
  GradientTape t;
  const Tensor y = x * x;
  r.out("y", y);
  r.out("g", t.gradient(y, x));
}

void cube_of_watched_tensor(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = pow(x, 3);
  r.out("g", t.gradient(y, x));
}

void unwatched_tensor(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  const Tensor y = pow(x, 3);
  r.out("g", t.gradient(y, x));
}

void only_watched_inputs_get_gradients(Recorder& r) {
  const Tensor a = r.x("a"), b = r.x("b"), c = r.x("c");
  GradientTape t;
  t.watch(a);
  const Tensor y = a * b + c;
  r.out("g", t.gradient(y, {a, b, c}));
}

void automatic_watching_off(Recorder& r) {
  const Variable v = r.v("v"), w = r.v("w");
  GradientTape t({.watch_accessed_variables = false});
  t.watch(w);
  const Tensor y = pow(w, 3) + pow(v, 2);
  r.fact("watched", t.watched_variables().size());
  r.out("g", t.gradient(y, {v, w}));
}

void not_trainable_variable(Recorder& r) {
  const Variable v = r.v("v", false);
  {
    GradientTape t;
    const Tensor y = pow(v, 2);
    r.out("g1", t.gradient(y, v));
  }
  GradientTape t;
  t.watch(v);
  const Tensor y = pow(v, 2);
  r.out("g2", t.gradient(y, v));
}

void many_uses_of_one_source(Recorder& r) {
  const Tensor x = r.x("x");
  const auto c = r.given("c").get<std::vector<double>>();
  GradientTape t;
  t.watch(x);
  std::vector<Tensor> terms;
  for (std::size_t i = 0; i < c.size(); ++i) terms.push_back(c[i] * pow(x, static_cast<double>(i)));
  const Tensor y = add_n(terms);
  r.out("y", y);
  r.out("g", t.gradient(y, x));
}

void diamond(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor a = sin(x), b = exp(x);
  const Tensor c = a * b, d = a + b;
  const Tensor y = c * d;
  r.out("g", t.gradient(y, {x, a, b, c, d}));
}

void chain_of_3000_ops(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  Tensor y = x;
  for (int i = 0; i < 1000; ++i) y = y * 1.001 + 0.0001 * sin(y);
  r.out("y", y);
  r.out("g", t.gradient(y, x));
}

void exponential_number_of_paths(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  Tensor s = x;
  for (int i = 0; i < 40; ++i) s = s + s;
  r.out("g", t.gradient(s, x));
}

void linear_layer(Recorder& r) {
  const Variable w = r.v("w"), b = r.v("b");
  const Tensor x = r.x("x");
  GradientTape t;
  const Tensor y = matmul(x, w) + b;
  const Tensor loss = reduce_mean(pow(y, 2));
  r.out("loss", loss);
  r.out("g", t.gradient(loss, {w, b}));
}

void guide_watched_set(Recorder& r) {
  const Variable x0 = r.v("x0"), x1 = r.v("x1", false), base = r.v("base");
  const Tensor x2 = base + 1.0, x3 = r.x("x3");
  GradientTape t;
  const Tensor y = pow(x0, 2) + pow(x1, 2) + pow(x2, 2);
  r.fact("watched", t.watched_variables().size());
  r.out("g", t.gradient(y, {x0, x1, x2, x3}));
}

// --- Persistent and single use ---

void persistent_several_calls(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t({.persistent = true});
  t.watch(x);
  const Tensor y = x * x;
  const Tensor z = y * y;
  t.stop();
  r.out("dz_dx", t.gradient(z, x));
  r.out("dy_dx", t.gradient(y, x));
  r.out("dz_dy", t.gradient(z, y));
  r.out("dz_dx_again", t.gradient(z, x));
}

void single_use(Recorder& r) {
  const Variable x = r.v("x");
  GradientTape t;
  const Tensor y = x * x;
  r.out("g", t.gradient(y, x));
  r.error("gradient again", [&] { t.gradient(y, x); });
  r.error("jacobian afterwards", [&] { t.jacobian(y, x); });
  r.fact("watched_after", t.watched_variables().size());
}

void gradient_inside_single_use_tape(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = pow(x, 2);
  r.out("g", t.gradient(y, x));
  const Tensor z = y * 3.0;
  r.error("gradient of z", [&] { t.gradient(z, x); });
}

void persistent_inside_itself(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t({.persistent = true});
  t.watch(x);
  const Tensor y = pow(x, 3);
  const Tensor g = t.gradient(y, x);
  const Tensor gg = t.gradient(g, x);
  t.stop();
  r.out("y", y);
  r.out("g", g);
  r.out("gg", gg);
  r.out("d1", t.gradient(y, x));
  r.out("d2", t.gradient(g, x));
  r.out("d3", t.gradient(gg, x));
}

void bad_argument_does_not_use_up_the_tape(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = pow(x, 2);
  r.leave_out("unknown mode", "the mode is an enumeration");
  // The same promise, of an argument that C++ can get wrong.
  try {
    t.gradient(y, x, {.output_gradients = {number(1), number(2)}});
  } catch (const std::exception&) {
  }
  r.out("g", t.gradient(y, x));
}

void failed_gradient_uses_up_the_tape(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = custom_gradient(
      [](std::span<const Tensor> in) -> CustomGradientResult {
        return {{in[0] * in[0]}, [](std::span<const Tensor>) -> std::vector<Tensor> { throw OwnError(); }};
      },
      {x})[0];
  r.error("first call", [&] { t.gradient(y, x); });
  r.error("second call", [&] { t.gradient(y, x); });
}

// --- Host control flow ---

void host_branch(Recorder& r) {
  const Variable v0 = r.v("v0"), v1 = r.v("v1");
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = (x > 0).item<bool>() ? v0 + 0.0 : pow(v1, 2);
  r.out("g", t.gradient(y, {v0, v1, x}));
}

void host_loops(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t({.persistent = true});
  t.watch(x);
  Tensor y = number(1);
  for (int i = 1; i < 5; ++i) y = i % 2 == 0 ? y * x : y + x;
  Tensor z = x;
  int steps = 0;
  for (; z.item<double>() < 100; ++steps) z = z * z;
  r.fact("steps", steps);
  r.out("y", t.gradient(y, x));
  r.out("z", t.gradient(z, x));
}

void loop_of_layers(Recorder& r) {
  const Tensor x = r.x("x"), w = r.x("w");
  GradientTape o;
  o.watch(std::vector{x, w});
  GradientTape i;
  i.watch(std::vector{x, w});
  Tensor h = x;
  for (int k = 0; k < 5; ++k) h = tanh(matmul(h, w));
  const Tensor y = reduce_sum(h);
  const auto g = i.gradient(y, {x, w});
  const Tensor s = reduce_sum(pow(g[1], 2));
  r.out("y", y);
  r.out("g", g);
  r.out("second", o.gradient(s, {x, w}));
}

void host_recursion(Recorder& r) {
  const Tensor x = r.x("x");
  const std::function<Tensor(int, const Tensor&)> f = [&](int n, const Tensor& a) {
    return n == 0 ? a : sin(f(n - 1, a)) * a;
  };
  GradientTape o;
  o.watch(x);
  GradientTape i;
  i.watch(x);
  const Tensor y = f(4, x);
  const Tensor g = i.gradient(y, x);
  r.out("y", y);
  r.out("g", g);
  r.out("gg", o.gradient(g, x));
}

void second_order_of_cond(Recorder& r) {
  for (const std::string name : {"positive", "negative"}) {
    const Tensor x = r.x("x_" + name);
    GradientTape o;
    o.watch(x);
    GradientTape i;
    i.watch(x);
    const Tensor y = x.item<double>() > 0 ? pow(x, 3) : x + 0.0;
    const Tensor g = i.gradient(y, x);
    r.out(name, g);
    r.out(name + "_second", o.gradient(g, x));
  }
}

void euler_steps(Recorder& r) {
  const Tensor k = r.x("k"), y0 = r.x("y0");
  GradientTape o;
  o.watch(std::vector{k, y0});
  GradientTape i;
  i.watch(std::vector{k, y0});
  std::vector<Tensor> ys;
  Tensor y = y0;
  for (int n = 0; n < 4; ++n) {
    y = y - 0.25 * k * y;
    ys.push_back(y);
  }
  const Tensor last = stack(ys)(-1);
  const auto g = i.gradient(last, {k, y0});
  r.out("ys", stack(ys));
  r.out("g", g);
  r.out("second", o.gradient(g[0], {k, y0}));
}

// --- Integers ---

void watched_integers(Recorder& r) {
  const Tensor i = r.x("i");
  GradientTape t({.persistent = true});
  t.watch(i);
  const Tensor y = i * i;
  const Tensor z = pow(cast(i, float64), 2);
  r.out("y", t.gradient(y, i));
  r.out("z", t.gradient(z, i));
  r.out("itself", t.gradient(i, i));
}

void partly_through_integers(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = x * cast(cast(x, int32), float64);
  r.out("g", t.gradient(y, x));
}

}  // namespace

Programs basic_programs() {
  return {
      {"complex_gradients", complex_gradients},
      {"square_of_variable", square_of_variable},
      {"cube_of_watched_tensor", cube_of_watched_tensor},
      {"unwatched_tensor", unwatched_tensor},
      {"only_watched_inputs_get_gradients", only_watched_inputs_get_gradients},
      {"automatic_watching_off", automatic_watching_off},
      {"not_trainable_variable", not_trainable_variable},
      {"many_uses_of_one_source", many_uses_of_one_source},
      {"diamond", diamond},
      {"chain_of_3000_ops", chain_of_3000_ops},
      {"exponential_number_of_paths", exponential_number_of_paths},
      {"linear_layer", linear_layer},
      {"guide_watched_set", guide_watched_set},
      {"persistent_several_calls", persistent_several_calls},
      {"single_use", single_use},
      {"gradient_inside_single_use_tape", gradient_inside_single_use_tape},
      {"persistent_inside_itself", persistent_inside_itself},
      {"bad_argument_does_not_use_up_the_tape", bad_argument_does_not_use_up_the_tape},
      {"failed_gradient_uses_up_the_tape", failed_gradient_uses_up_the_tape},
      {"host_branch", host_branch},
      {"host_loops", host_loops},
      {"loop_of_layers", loop_of_layers},
      {"host_recursion", host_recursion},
      {"second_order_of_cond", second_order_of_cond},
      {"euler_steps", euler_steps},
      {"watched_integers", watched_integers},
      {"partly_through_integers", partly_through_integers},
  };
}

}  // namespace capstan::testing
