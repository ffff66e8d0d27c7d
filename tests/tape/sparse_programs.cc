// Programs: row-sparse gradients.
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "tests/tape/tape_programs.h"

namespace capstan::testing {

namespace {

void gather_rows(Recorder& r) {
  const Variable v = r.v("v");
  GradientTape t;
  const Tensor y = gather(v, constant({1, 3}));
  r.out("g", t.gradient(y, v));
}

void repeated_rows(Recorder& r) {
  const Variable v = r.v("v");
  GradientTape t;
  const Tensor y = gather(v, constant({2, 0, 2})) * constant({{1}, {10}, {100}}, float64);
  r.out("g", t.gradient(y, v));
}

void two_gathers(Recorder& r) {
  const Variable v = r.v("v");
  GradientTape t;
  const Tensor y = reduce_sum(gather(v, constant({0})) * 3) + reduce_sum(gather(v, constant({1, 0})) * 5);
  r.out("g", t.gradient(y, v));
}

void gather_and_dense(Recorder& r) {
  const Variable v = r.v("v");
  GradientTape t;
  const Tensor y = reduce_sum(gather(v, constant({0, 2}))) + reduce_sum(v * 2);
  r.out("g", t.gradient(y, v));
}

void gather_of_a_computed_tensor(Recorder& r) {
  const Variable v = r.v("v");
  GradientTape t;
  const Tensor u = v * 2;
  const Tensor y = gather(u, constant({1, 1}));
  r.out("g", t.gradient(y, {v, u}));
}

void product_of_three_lookups(Recorder& r) {
  const Variable v = r.v("v");
  {
    GradientTape t;
    const Tensor y = reduce_sum(embedding_lookup(v, constant({0, 1})) * embedding_lookup(v, constant({2, 3})) *
                                embedding_lookup(v, constant({1, 3})));
    r.out("g", t.gradient(y, v));
  }
  GradientTape t;
  const Tensor y = reduce_sum(pow(gather(reshape(v, {2, 2, 2}), constant({1})), 2));
  r.out("reshaped", t.gradient(y, v));
}

void matrix_of_ids(Recorder& r) {
  const Variable v = r.v("v");
  const Tensor w = r.x("w");
  GradientTape t;
  const Tensor y = embedding_lookup(v, constant({{0, 2}, {2, 2}}));
  r.out("g", t.gradient(y, v, {.output_gradients = {w}}));
}

void second_order_of_lookup(Recorder& r) {
  const Variable v = r.v("v");
  const Tensor w = r.x("w");
  GradientTape o;
  GradientTape i;
  const Tensor y = reduce_sum(pow(gather(v, constant({0, 2, 0})), 3));
  const Tensor g = i.gradient(y, v);
  const Tensor s = reduce_sum(g.to_dense() * w);
  r.out("g", g);
  r.out("gg", o.gradient(s, v));
}

void clipping_a_sparse_gradient(Recorder& r) {
  const Variable v = r.v("v");
  GradientTape t;
  const Tensor y = gather(v, constant({2, 0, 2})) * constant({{1}, {2}, {3}}, float64);
  const Tensor g = t.gradient(y, v);
  const auto [clipped, norm] = clip_by_global_norm(std::vector{g}, 1.0);
  r.out("g", g);
  r.out("by_norm", clip_by_norm(g, 1.0));
  r.out("by_global_norm", clipped[0]);
  r.out("global_norm", norm);
  r.out("negative", -g);
}

void sparse_step(Recorder& r) {
  const Variable v = r.v("v");
  GradientTape t;
  const Tensor y = reduce_sum(pow(gather(v, constant({1, 1, 3})), 2));
  const Tensor g = t.gradient(y, v);
  v.scatter_sub(g.indices(), 0.1 * g.values());
  r.out("g", g);
  r.out("v_after", v);
}

void which_gathers_are_sparse(Recorder& r) {
  const Variable v = r.v("v");
  GradientTape t({.persistent = true});
  const Tensor a = gather_nd(v, constant({{1}, {1}})), b = gather_nd(v, constant({{1, 0}, {1, 0}})),
               c = gather(v, constant({1, 1}), 1), d = v(1);
  r.out("rows", t.gradient(a, v));
  r.out("elements", t.gradient(b, v));
  r.out("columns", t.gradient(c, v));
  r.out("indexing", t.gradient(d, v));
}

}  // namespace

Programs sparse_programs() {
  return {
      {"gather_rows", gather_rows},
      {"repeated_rows", repeated_rows},
      {"two_gathers", two_gathers},
      {"gather_and_dense", gather_and_dense},
      {"gather_of_a_computed_tensor", gather_of_a_computed_tensor},
      {"product_of_three_lookups", product_of_three_lookups},
      {"matrix_of_ids", matrix_of_ids},
      {"second_order_of_lookup", second_order_of_lookup},
      {"clipping_a_sparse_gradient", clipping_a_sparse_gradient},
      {"sparse_step", sparse_step},
      {"which_gathers_are_sparse", which_gathers_are_sparse},
  };
}

}  // namespace capstan::testing
