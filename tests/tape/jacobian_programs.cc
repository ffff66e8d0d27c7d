// Programs: jacobians and hessians.
#include <gtest/gtest.h>

#include "capstan/capstan.h"
#include "tests/tape/tape_programs.h"

namespace capstan::testing {

namespace {

using Function = std::function<Tensor(const Tensor&)>;

void jacobian_of_two_sources(Recorder& r) {
  const Tensor x = r.x("x"), y = r.x("y");
  GradientTape t({.persistent = true});
  t.watch(std::tie(x, y));
  const Tensor z = x * x * y;
  r.out("all", t.jacobian(z, {x, y}));
  r.out("parts", t.jacobian(z, {x, y}, {.parallel_iterations = 2}));
  r.out("rows", t.jacobian(z, {x, y}, {.experimental_use_pfor = false}));
  r.out("as_dict", t.jacobian(z, std::map<std::string, Tensor>{{"a", x}, {"b", y}}));
}

void jacobian_unconnected(Recorder& r) {
  const Tensor x = r.x("x"), y = r.x("y");
  GradientTape t({.persistent = true});
  t.watch(std::tie(x, y));
  const Tensor z = y * y;
  r.out("none", t.jacobian(z, x));
  r.out("zero", t.jacobian(z, x, {.unconnected_gradients = UnconnectedGradients::kZero}));
  r.out("both", t.jacobian(z, {x, y}));
}

void jacobian_inside_block(Recorder& r) {
  const Tensor x = r.x("x");
  const Variable v = r.v("v");
  GradientTape t;
  t.watch(x);
  r.out("inside", t.jacobian(x * x * x * x, x));
  GradientTape u;
  r.out("variable", u.jacobian(v * constant({1, 2, 3}, float64), v));
}

void jacobian_of_jacobian(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape o;
  o.watch(x);
  GradientTape i;
  i.watch(x);
  const Tensor j = i.jacobian(stack({pow(x(0), 2) * x(1), x(0) * pow(x(1), 3)}), x);
  r.out("j", j);
  r.out("jj", o.jacobian(j, x));
}

void jacobian_errors(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape t;
  t.watch(x);
  const Tensor y = x * x;
  r.leave_out("list of targets", "a structure of targets has a structure of jacobians");
  r.error("row by row, not persistent", [&] { t.jacobian(y, x, {.experimental_use_pfor = false}); });
  r.error("parts of 0", [&] { t.jacobian(y, x, {.parallel_iterations = 0}); });
  r.error("parts of -1", [&] { t.jacobian(y, x, {.parallel_iterations = -1}); });
  t.jacobian(y, x);
  r.error("used up", [&] { t.jacobian(y, x); });
}

void batch_jacobian_unconnected_and_errors(Recorder& r) {
  const Tensor x = r.x("x"), z = r.x("z"), w = r.x("w"), v = r.x("v");
  GradientTape t({.persistent = true});
  t.watch(std::tie(x, z, w, v));
  const Tensor y = z * z;
  r.out("none", t.batch_jacobian(y, x));
  r.out("zero", t.batch_jacobian(y, x, {.unconnected_gradients = UnconnectedGradients::kZero}));
  r.error("vector target", [&] { t.batch_jacobian(v * v, x); });
  r.error("vector source", [&] { t.batch_jacobian(x * x, v); });
  r.error("first sizes", [&] { t.batch_jacobian(w * w, x); });
}

}  // namespace

Programs jacobian_programs() {
  Programs list = {{"jacobian_of_two_sources", jacobian_of_two_sources},
                   {"jacobian_unconnected", jacobian_unconnected},
                   {"jacobian_inside_block", jacobian_inside_block},
                   {"jacobian_of_jacobian", jacobian_of_jacobian},
                   {"jacobian_errors", jacobian_errors},
                   {"batch_jacobian_unconnected_and_errors", batch_jacobian_unconnected_and_errors}};
  const auto full = [&](const std::string& name, const Function& f) {
    list.emplace("jacobian_of_" + name, [f](Recorder& r) {
      const Tensor x = r.x("x");
      GradientTape t;
      t.watch(x);
      const Tensor y = f(x);
      r.out("y", y);
      r.out("jacobian", t.jacobian(y, x));
    });
  };
  full("square", [](const Tensor& x) { return x * x; });
  full("softmax", [](const Tensor& x) { return softmax(x); });
  full("cumsum", [](const Tensor& x) { return cumsum(x); });
  full("outer_product", [](const Tensor& x) { return expand_dims(x, 1) * expand_dims(x, 0); });
  full("normalise", [](const Tensor& x) { return x / norm(x); });
  full("sort", [](const Tensor& x) { return sort(x); });
  full("matmul_square", [](const Tensor& x) { return matmul(x, x); });
  full("inverse", [](const Tensor& x) { return inv(x); });
  full("scalar_target", [](const Tensor& x) { return reduce_sum(x * x); });
  full("scalar_source", [](const Tensor& x) { return stack({x, x * x, sin(x)}); });
  full("scalar_to_scalar", [](const Tensor& x) { return pow(x, 4); });
  full("logsumexp_rows", [](const Tensor& x) { return reduce_logsumexp(x, 1); });
  full("cholesky", [](const Tensor& x) { return cholesky(x); });
  full("gather_rows", [](const Tensor& x) { return gather(x, constant({1, 1, 0})); });
  full("conv", [](const Tensor& x) {
    const Tensor filter = constant({{1, 2}, {3, 4}}, float64);
    return reshape(conv2d(reshape(x, {1, 3, 3, 1}), reshape(filter, {2, 2, 1, 1}), {1, 1}, "VALID"), {2, 2});
  });
  full("layer_norm", [](const Tensor& x) {
    const Tensor centred = x - reduce_mean(x);
    return centred / sqrt(reduce_mean(centred * centred) + 0.001);
  });
  full("polar", [](const Tensor& x) { return stack({x(0) * cos(x(1)), x(0) * sin(x(1))}); });
  full("empty_target", [](const Tensor& x) { return x(slice(0, 0)); });
  full("transpose", [](const Tensor& x) { return transpose(x); });
  full("reduce_max_with_tie", [](const Tensor& x) { return reduce_max(x, 1); });

  const auto batch = [&](const std::string& name, const Function& f) {
    list.emplace("batch_jacobian_of_" + name, [f](Recorder& r) {
      const Tensor x = r.x("x");
      GradientTape t;
      t.watch(x);
      const Tensor y = f(x);
      r.out("batch_jacobian", t.batch_jacobian(y, x));
    });
  };
  batch("square", [](const Tensor& x) { return x * x; });
  batch("softmax", [](const Tensor& x) { return softmax(x); });
  batch("linear", [](const Tensor& x) { return matmul(x, constant({{1, 2, 3}, {4, 5, 6}}, float64)); });
  batch("norm_per_row", [](const Tensor& x) { return reduce_euclidean_norm(x, 1, {.keepdims = true}); });
  batch("row_outer_product", [](const Tensor& x) { return expand_dims(x, 2) * expand_dims(x, 1); });
  batch("not_independent", [](const Tensor& x) { return x + reduce_sum(x, 0, {.keepdims = true}); });
  batch("single_example", [](const Tensor& x) { return tanh(x); });
  batch("empty_row", [](const Tensor& x) { return x * 2.0; });
  batch("rank_three", [](const Tensor& x) { return sin(x); });
  return list;
}

// --- Hessians ---

Programs hessian_programs() {
  Programs list;
  // `instead` is the right matrix where TensorFlow's is wrong.
  const auto hessian = [&](const std::string& name, const Function& f, const Tensor& instead = {}) {
    list.emplace("hessian_of_" + name, [f, instead](Recorder& r) {
      const Tensor x = r.x("x");
      GradientTape o;
      o.watch(x);
      GradientTape i;
      i.watch(x);
      const Tensor y = f(x);
      const Tensor g = i.gradient(y, x);
      const Tensor second = o.jacobian(g, x);
      r.out("y", y);
      r.out("gradient", g);
      if (!instead.has_value()) {
        r.out("hessian", second);
      } else {
        r.leave_out("hessian", "TensorFlow's second derivative lacks terms");
        EXPECT_EQ(difference(second, instead, golden_tolerance(float64)), "");
      }
    });
  };
  hessian("quadratic", [](const Tensor& x) {
    return 0.5 * reduce_sum(x * matvec(constant({{2, 1}, {0, 3}}, float64), x));
  });
  hessian("rosenbrock", [](const Tensor& x) { return pow(1 - x(0), 2) + 100 * pow(x(1) - pow(x(0), 2), 2); });
  hessian("logsumexp", [](const Tensor& x) { return reduce_logsumexp(x); });
  hessian("cubic_sum", [](const Tensor& x) { return reduce_sum(pow(x, 3)); });
  hessian("product", [](const Tensor& x) { return reduce_prod(x); });
  hessian(
      "product_with_zero", [](const Tensor& x) { return reduce_prod(x); },
      constant({{0, 4, 0}, {4, 0, 2}, {0, 2, 0}}, float64));
  hessian("logdet", [](const Tensor& x) { return logdet(x); });
  hessian("norm", [](const Tensor& x) { return norm(x); });
  hessian("relu_sum", [](const Tensor& x) { return reduce_sum(pow(relu(x), 2)); });
  hessian("sigmoid_product", [](const Tensor& x) { return sigmoid(x(0)) * sigmoid(x(1)); });
  hessian("cross_entropy", [](const Tensor& x) {
    return softmax_cross_entropy_with_logits(constant({0.2, 0.3, 0.5}, float64), x);
  });
  hessian("sparse_cross_entropy",
          [](const Tensor& x) { return sparse_softmax_cross_entropy_with_logits(constant(1), x); });
  return list;
}

}  // namespace capstan::testing
