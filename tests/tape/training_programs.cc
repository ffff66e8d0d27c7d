// Programs: whole training steps.
#include <cmath>

#include "capstan/ops/activation.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "tests/tape/tape_programs.h"

namespace capstan::testing {

namespace {

const std::vector<std::string> kParts = {"w1", "b1", "w2", "b2"};

std::vector<Variable> parts(Recorder& r) {
  std::vector<Variable> list;
  for (const std::string& name : kParts) list.push_back(r.v(name));
  return list;
}

template <class P>
Tensor network(const std::vector<P>& p, const Tensor& x, Tensor (*activation)(Operand) = tanh) {
  return matmul(activation(matmul(x, p[0]) + p[1]), p[2]) + p[3];
}

Tensor mean_square(const Tensor& x) { return reduce_mean(pow(x, 2)); }

void hessian_vector_of_small_network(Recorder& r) {
  const std::vector<Variable> p = parts(r);
  const Tensor x = r.x("x"), y = r.x("y");
  std::vector<Tensor> vectors;
  for (const std::string& name : kParts) vectors.push_back(r.x("v_" + name));
  GradientTape o;
  GradientTape i;
  const Tensor loss = mean_square(network(p, x) - y);
  const std::vector<Tensor> g = i.gradient(loss, p);
  r.out("hv", o.gradient(g, p, {.output_gradients = vectors}));
}

void hessian_of_small_network(Recorder& r) {
  const std::vector<Variable> p = parts(r);
  const Tensor x = r.x("x"), y = r.x("y");
  GradientTape o({.persistent = true});
  GradientTape i;
  const Tensor loss = mean_square(network(p, x) - y);
  const std::vector<Tensor> g = i.gradient(loss, p);
  o.stop();
  std::map<std::string, Tensor> gradients;
  std::map<std::string, Tensor> blocks;
  for (std::size_t a = 0; a < g.size(); ++a) {
    gradients.emplace(kParts[a], g[a]);
    std::vector<std::vector<Tensor>> rows(g.size());
    for (std::int64_t k = 0; k < g[a].size(); ++k) {
      const Tensor weight =
          reshape(one_hot(constant(static_cast<int>(k)), g[a].size(), 1, 0, -1, float64), g[a].shape());
      const std::vector<Tensor> row =
          o.gradient(g[a], p, {.output_gradients = {weight}, .unconnected_gradients = UnconnectedGradients::kZero});
      for (std::size_t b = 0; b < g.size(); ++b) rows[b].push_back(row[b]);
    }
    for (std::size_t b = 0; b < g.size(); ++b) {
      Shape shape = g[a].shape();
      for (int axis = 0; axis < g[b].rank(); ++axis) shape.push_back(g[b].dim(axis));
      blocks.emplace(kParts[a] + "," + kParts[b], reshape(stack(rows[b]), shape));
    }
  }
  r.out("loss", loss);
  r.out("gradients", gradients);
  r.out("hessian", blocks);
}

void linear_regression(Recorder& r) {
  const Tensor x = r.x("x"), y = r.x("y");
  const Variable w(number(0)), b(number(0));
  std::vector<Tensor> rows;
  for (int step = 0; step < 50; ++step) {
    GradientTape t;
    const Tensor loss = mean_square(w * x + b - y);
    const auto g = t.gradient(loss, {w, b});
    w.assign_sub(0.01 * g[0]);
    b.assign_sub(0.01 * g[1]);
    if (step <= 2 || step == 10 || step == 49) rows.push_back(stack({loss, w, b}));
  }
  r.out("loss_w_b", stack(rows));
}

void small_objectives(Recorder& r) {
  const Variable theta = r.v("theta");
  const Tensor rewards = r.x("rewards");
  {
    GradientTape t;
    const Tensor j = -reduce_sum(softmax(theta) * rewards);
    const Tensor g = t.gradient(j, theta);
    r.out("objective", j);
    r.out("gradient", g);
    r.out("theta_after", theta - 0.1 * g);
  }
  const Tensor x = r.x("x"), y = r.x("y");
  const Variable w = r.v("w"), b = r.v("b");
  GradientTape t;
  const Tensor loss = reduce_mean(maximum(0.0, 1.0 - y * (w * x + b)));
  r.out("hinge", loss);
  r.out("hinge_gradient", t.gradient(loss, {w, b}));
}

void gradient_penalty(Recorder& r) {
  const std::vector<Variable> p = parts(r);
  const Tensor x = r.x("x");
  GradientTape o;
  GradientTape i;
  i.watch(x);
  const Tensor score = network(p, x, [](Operand a) { return leaky_relu(a, 0.25); });
  const Tensor g = i.gradient(score, x);
  const Tensor penalty = mean_square(norm(g, "euclidean", 1) - 1.0);
  const Tensor loss = reduce_mean(score) + 10.0 * penalty;
  r.out("g", g);
  r.out("penalty", penalty);
  r.out("loss", loss);
  r.out("gradients", o.gradient(loss, p));
}

void meta_gradient(Recorder& r) {
  const std::vector<Variable> p = parts(r);
  const Tensor xa = r.x("xa"), ya = r.x("ya"), xb = r.x("xb"), yb = r.x("yb");
  GradientTape o;
  GradientTape i;
  const Tensor inner = mean_square(network(p, xa) - ya);
  const std::vector<Tensor> g = i.gradient(inner, p);
  std::vector<Tensor> q;
  for (std::size_t k = 0; k < p.size(); ++k) q.push_back(p[k] - 0.1 * g[k]);
  const Tensor outer = mean_square(network(q, xb) - yb);
  r.out("inner", inner);
  r.out("outer", outer);
  r.out("meta", o.gradient(outer, p));
}

void second_derivative_in_the_loss(Recorder& r) {
  const std::vector<Variable> p = parts(r);
  const Tensor t = r.x("t");
  GradientTape o;
  GradientTape a;
  a.watch(t);
  GradientTape b;
  b.watch(t);
  const Tensor u = network(p, t);
  const Tensor du = b.gradient(u, t);
  const Tensor ddu = a.gradient(du, t);
  const Tensor loss = mean_square(ddu + u);
  r.out("u", u);
  r.out("du", du);
  r.out("ddu", ddu);
  r.out("loss", loss);
  r.out("gradients", o.gradient(loss, p));
}

void adversarial_step(Recorder& r) {
  const Tensor x = r.x("x"), w = r.x("w");
  GradientTape t;
  t.watch(x);
  const Tensor loss = sparse_softmax_cross_entropy_with_logits(constant({2}), matmul(x, w));
  const Tensor g = t.gradient(loss, x);
  r.out("loss", loss);
  r.out("g", g);
  r.out("adversarial", x + 0.1 * sign(g));
}

void two_losses_and_clipping(Recorder& r) {
  const Variable w = r.v("w");
  const Tensor x = r.x("x"), y = r.x("y");
  GradientTape t({.persistent = true});
  const Tensor task = mean_square(w * x - y);
  const Tensor penalty = reduce_sum(pow(w, 2));
  const Tensor total = task + 0.1 * penalty;
  t.stop();
  const Tensor a = t.gradient(task, w), b = t.gradient(penalty, w);
  const auto [clipped, norm] = clip_by_global_norm(std::vector{a, b}, 1.0);
  r.out("task", a);
  r.out("penalty", b);
  r.out("total", t.gradient(total, w));
  r.out("by_norm", clip_by_norm(a, 0.5));
  r.out("clipped", clipped);
  r.out("global_norm", norm);
}

void small_convolutional_network(Recorder& r) {
  const Tensor image = r.x("image");
  const Variable kernel = r.v("kernel"), kernel_bias = r.v("kernel_bias"), scale = r.v("scale"), offset = r.v("offset"),
                 w = r.v("w"), b = r.v("b");
  GradientTape t;
  Tensor h = relu(conv2d(image, kernel, {1, 1}, "SAME") + kernel_bias);
  const Moments m = moments(h, {0, 1, 2});
  h = batch_normalization(h, m.mean, m.variance, offset, scale, 0.001);
  h = max_pool2d(h, {2, 2}, {2, 2}, "VALID");
  const Tensor logits = matmul(reshape(h, {2, -1}), w) + b;
  const Tensor loss = reduce_sum(sparse_softmax_cross_entropy_with_logits(constant({1, 0}), logits));
  r.out("logits", logits);
  r.out("loss", loss);
  r.out("gradients", t.gradient(loss, {kernel, kernel_bias, scale, offset, w, b}));
}

void attention(Recorder& r) {
  const Tensor x = r.x("x"), wq = r.x("wq"), wk = r.x("wk"), wv = r.x("wv");
  GradientTape o;
  o.watch(std::vector{x, wq, wk, wv});
  GradientTape i;
  i.watch(std::vector{x, wq, wk, wv});
  const Tensor a = softmax(matmul(matmul(x, wq), transpose(matmul(x, wk))) / std::sqrt(2.0));
  const Tensor loss = reduce_sum(pow(matmul(a, matmul(x, wv)), 2));
  const auto g = i.gradient(loss, {x, wq, wk, wv});
  const Tensor s = reduce_sum(g[1]);
  r.out("attention", a);
  r.out("loss", loss);
  r.out("g", g);
  r.out("second", o.gradient(s, {x, wq, wk, wv}));
}

void recurrent_with_embedding(Recorder& r) {
  const Variable table = r.v("table"), wx = r.v("wx"), wh = r.v("wh");
  GradientTape t;
  Tensor h = zeros({1, 2}, float64);
  for (const int id : {2, 0, 2, 1}) h = tanh(matmul(embedding_lookup(table, constant({id})), wx) + matmul(h, wh));
  const Tensor loss = reduce_sum(pow(h, 2));
  const auto g = t.gradient(loss, {table, wx, wh});
  r.out("loss", loss);
  r.fact("table_gradient_is_row_sparse", g[0].is_row_sparse());
  r.out("table", g[0].to_dense());
  r.out("wx", g[1]);
  r.out("wh", g[2]);
}

}  // namespace

Programs training_programs() {
  return {
      {"hessian_of_small_network", hessian_of_small_network},
      {"hessian_vector_of_small_network", hessian_vector_of_small_network},
      {"linear_regression", linear_regression},
      {"small_objectives", small_objectives},
      {"gradient_penalty", gradient_penalty},
      {"meta_gradient", meta_gradient},
      {"second_derivative_in_the_loss", second_derivative_in_the_loss},
      {"adversarial_step", adversarial_step},
      {"two_losses_and_clipping", two_losses_and_clipping},
      {"small_convolutional_network", small_convolutional_network},
      {"attention", attention},
      {"recurrent_with_embedding", recurrent_with_embedding},
  };
}

}  // namespace capstan::testing
