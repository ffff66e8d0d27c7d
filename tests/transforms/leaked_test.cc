// Tensors that leaked from a trace: kept in a variable of C++ and used when the trace has ended.
//
// Every public function that takes a tensor is given one, with no trace under way and within that of another function,
// and has to name the function that it leaked from.
#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "capstan/capstan.h"
#include "capstan/testing.h"

namespace capstan {
namespace {

// A tensor of a trace that has ended.
Tensor leak(DType dtype, const Shape& shape) {
  Tensor leaked;
  auto step = function(
      [&](const Tensor& x) {
        leaked = identity(x);
        return x;
      },
      {.name = "step"});
  step(zeros(shape, dtype));
  return leaked;
}

// Gives "" if the call throws a TraceError that names the function, else what it does.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const TraceError& error) {
    const std::string text = error.what();
    if (text.find("is a value of the traced function \"step\", whose trace has ended\n") != text.npos) return "";
    return "says: " + text;
  } catch (const std::exception& error) {
    return "throws: " + std::string(error.what());
  }
  return "accepts it";
}

// The same within the trace of another function.
std::string refusal_within(const std::function<void()>& call) {
  return refusal([&] {
    function([&](const Tensor& x) {
      call();
      return x;
    })(constant(1.0));
  });
}

class Leaked : public ::testing::Test {
 protected:
  void expect_refused(const std::string& what, const std::function<void()>& call) {
    EXPECT_EQ(refusal(call), "") << what;
    EXPECT_EQ(refusal_within(call), "") << what << ", in another function";
  }

  const Tensor x = leak(float32, {2, 2});
  const Tensor row = leak(float32, {2});
  const Tensor number = leak(float32, {});
  const Tensor truth = leak(bool_, {});
  const Tensor integer = leak(int32, {});
  const Tensor index = leak(int32, {2});
  const Tensor a = ones({2, 2});
};

TEST_F(Leaked, IsRefusedByVariables) {
  const Variable v(ones({2, 2}));
  const Tensor rows = constant({0, 1});
  const Tensor places = constant({{0, 0}, {1, 1}});
  expect_refused("Variable", [&] { Variable made(x); });
  expect_refused("assign", [&] { v.assign(x); });
  expect_refused("assign_add", [&] { v.assign_add(x); });
  expect_refused("assign_sub", [&] { v.assign_sub(x); });
  using Scatter = const Variable& (Variable::*)(Operand, Operand) const;
  for (const Scatter scatter :
       {&Variable::scatter_add, &Variable::scatter_sub, &Variable::scatter_update, &Variable::scatter_max,
        &Variable::scatter_min, &Variable::scatter_mul, &Variable::scatter_div}) {
    expect_refused("scatter: updates", [&] { (v.*scatter)(rows, x); });
    expect_refused("scatter: indices", [&] { (v.*scatter)(index, a); });
  }
  for (const Scatter scatter : {&Variable::scatter_nd_add, &Variable::scatter_nd_sub, &Variable::scatter_nd_update}) {
    expect_refused("scatter_nd: updates", [&] { (v.*scatter)(places, row); });
    expect_refused("scatter_nd: indices", [&] { (v.*scatter)(leak(int32, {2, 2}), ones({2})); });
  }
  expect_refused("assign_slice", [&] { v.assign_slice(std::vector<Index>{0}, row); });
  expect_refused("with_slice", [&] { with_slice(x, std::vector<Index>{0}, ones({2})); });
  EXPECT_EQ(v.to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
}

TEST_F(Leaked, IsRefusedAsRowsOfAGradient) {
  const Variable table(ones({2, 2}));
  Tensor rows;
  function(
      [&](const Tensor& y) {
        GradientTape tape;
        tape.watch(y);
        rows = tape.gradient(gather(y, constant({0, 1})), y);
        return y;
      },
      {.name = "step"})(ones({2, 2}));
  ASSERT_TRUE(rows.is_row_sparse());
  expect_refused("assign_add", [&] { table.assign_add(rows); });
  expect_refused("assign", [&] { table.assign(rows); });
  expect_refused("to_dense", [&] { rows.to_dense(); });
  expect_refused("merge_rows", [&] { merge_rows(rows); });
  optimizers::SGD sgd;
  expect_refused("SGD", [&] { sgd.apply_gradients(std::vector{rows}, std::vector{table}); });
  EXPECT_EQ(table.to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
}

TEST_F(Leaked, IsRefusedByFunctions) {
  auto f = function([](const Tensor& y) { return y * 2.0; });
  auto g = function([](const Tensor& y, double by) { return y * by; }, {.reduce_retracing = true});
  auto list = function([](const std::vector<Tensor>& all) { return all[0] + all[1]; });
  f(a);
  expect_refused("function", [&] { f(x); });
  expect_refused("function", [&] { g(x, 2.0); });
  expect_refused("function", [&] { list(std::vector{a, x}); });
  auto concrete = f.get_concrete(a);
  expect_refused("concrete function", [&] { concrete(x); });
  expect_refused("get_concrete", [&] { f.get_concrete(x); });
  expect_refused("result", [&] { function([&](const Tensor&) { return x; })(a); });
  expect_refused("operand", [&] { function([&](const Tensor& y) { return y + x; })(a); });
}

TEST_F(Leaked, IsRefusedByTapes) {
  const Variable v(ones({2, 2}));
  const auto tape_of = [&](const auto& use) {
    return [&, use] {
      GradientTape tape({.persistent = true});
      tape.watch(a);
      const Tensor y = a * v;
      use(tape, y);
    };
  };
  expect_refused("watch", tape_of([&](GradientTape& tape, const Tensor&) { tape.watch(x); }));
  expect_refused("target", tape_of([&](GradientTape& tape, const Tensor&) { tape.gradient(x, a); }));
  expect_refused("target", tape_of([&](GradientTape& tape, const Tensor& y) { tape.gradient({y, x}, {a}); }));
  expect_refused("source", tape_of([&](GradientTape& tape, const Tensor& y) { tape.gradient(y, x); }));
  expect_refused("output_gradients",
                 tape_of([&](GradientTape& tape, const Tensor& y) { tape.gradient(y, a, {.output_gradients = {x}}); }));
  expect_refused("jacobian", tape_of([&](GradientTape& tape, const Tensor&) { tape.jacobian(x, a); }));
  expect_refused("jacobian", tape_of([&](GradientTape& tape, const Tensor& y) { tape.jacobian(y, x); }));
  expect_refused("jacobian", tape_of([&](GradientTape& tape, const Tensor&) {
                   tape.jacobian(x, a, {.experimental_use_pfor = false});
                 }));
  expect_refused("batch_jacobian", tape_of([&](GradientTape& tape, const Tensor&) { tape.batch_jacobian(x, a); }));
  expect_refused("batch_jacobian", tape_of([&](GradientTape& tape, const Tensor& y) { tape.batch_jacobian(y, x); }));
  expect_refused("explain", tape_of([&](GradientTape& tape, const Tensor&) { tape.explain(x, a); }));
  expect_refused("explain", tape_of([&](GradientTape& tape, const Tensor& y) { tape.explain(y, x); }));
}

TEST_F(Leaked, IsRefusedByForwardMode) {
  expect_refused("primal", [&] { ForwardAccumulator accumulator(x, a); });
  expect_refused("tangent", [&] { ForwardAccumulator accumulator(a, x); });
  expect_refused("watch", [&] {
    ForwardAccumulator accumulator(a, a);
    accumulator.watch(ones({2, 2}), x);
  });
  expect_refused("target", [&] { ForwardAccumulator(a, a).jvp(x); });
  expect_refused("target", [&] { ForwardAccumulator(a, a).jvp(x, UnconnectedGradients::kZero); });
}

TEST_F(Leaked, IsRefusedByDerivatives) {
  const auto f = [](const Tensor& y) { return reduce_sum(y * y); };
  expect_refused("value_and_gradient", [&] { value_and_gradient(f, x); });
  expect_refused("jvp: primal", [&] { jvp(f, x, a); });
  expect_refused("jvp: tangent", [&] { jvp(f, a, x); });
  expect_refused("vjp: primal", [&] { vjp(f, x); });
  expect_refused("vjp: cotangent", [&] { vjp(f, a).second(number); });
  expect_refused("hvp", [&] { hvp(f, x, a); });
  expect_refused("hvp", [&] { hvp(f, a, x); });
  expect_refused("jacobian", [&] { jacobian(f, x); });
  expect_refused("hessian", [&] { hessian(f, x); });
  expect_refused("closure", [&] { hessian([&](const Tensor& y) { return reduce_sum(y * x); }, a); });
  expect_refused("custom_gradient: argument", [&] {
    custom_gradient([](const Tensor& y) { return std::pair(y * 1.0, [](const Tensor& g) { return g; }); })(x);
  });
  expect_refused("custom_gradient: gradient", [&] {
    GradientTape tape;
    tape.watch(a);
    const Tensor y =
        custom_gradient([&](const Tensor& z) { return std::pair(z * 1.0, [&](const Tensor&) { return x; }); })(a);
    tape.gradient(y, a);
  });
  expect_refused("grad_pass_through",
                 [&] { grad_pass_through([](std::span<const Tensor> in) { return std::vector{in[0] * 1.0}; }, {x}); });
  expect_refused("recompute_grad", [&] { recompute_grad([](const Tensor& y) { return y * y; })(x); });
  expect_refused("recompute_grad: closure", [&] { recompute_grad([&](const Tensor& y) { return y * x; })(a); });
  expect_refused("stop_gradient", [&] { stop_gradient(x); });
  expect_refused("check_gradients", [&] {
    check_gradients([](const std::vector<Tensor>& in) { return in[0] * in[0]; }, {leak(float64, {2})});
  });
}

TEST_F(Leaked, IsRefusedByControlFlow) {
  expect_refused("cond", [&] {
    cond(
        truth, [&] { return a; }, [&] { return a; });
  });
  expect_refused("cond: branch", [&] {
    cond(
        constant(true), [&] { return x + a; }, [&] { return a; });
  });
  expect_refused("switch_case", [&] { switch_case(integer, {[&] { return a; }, [&] { return a * 2.0; }}); });
  expect_refused("case_of", [&] { case_of({{truth, [&] { return a; }}}, [&] { return a; }); });
  expect_refused("while_loop", [&] {
    while_loop([](const Tensor& i) { return reduce_sum(i) < 10.0; }, [](const Tensor& i) { return i + 1.0; }, x);
  });
  expect_refused("while_loop: closure", [&] {
    while_loop([](const Tensor& i) { return i < 2; }, [&](const Tensor& i) { return i + integer; }, constant(0));
  });
  expect_refused("scan", [&] { scan([](const Tensor& c, const Tensor& r) { return c + r; }, x, ones({2})); });
  expect_refused("scan: carried", [&] { scan([](const Tensor& c, const Tensor& r) { return c + r; }, a, row); });
  expect_refused("foldl", [&] { foldl([](const Tensor& c, const Tensor& r) { return c + r; }, x, ones({2})); });
  expect_refused("foldl", [&] { foldl([](const Tensor& c, const Tensor& r) { return c + r; }, x); });
  expect_refused("foldr", [&] { foldr([](const Tensor& c, const Tensor& r) { return c + r; }, a, row); });
  expect_refused("map_fn", [&] { map_fn([](const Tensor& r) { return r * 2.0; }, x); });
  expect_refused("map_fn: closure", [&] { map_fn([&](const Tensor& r) { return r * row; }, a); });
  expect_refused("vectorized_map", [&] { vectorized_map([](const Tensor& r) { return r * 2.0; }, x); });
  expect_refused("vectorized_map: closure", [&] { vectorized_map([&](const Tensor& r) { return r * row; }, a); });
  expect_refused("vectorized_map: result", [&] { vectorized_map([&](const Tensor&) { return row; }, a); });
  expect_refused("per_example_gradients",
                 [&] { per_example_gradients([&](const Tensor& r) { return reduce_sum(r * a); }, x, a); });
  expect_refused("per_example_gradients",
                 [&] { per_example_gradients([&](const Tensor& r) { return reduce_sum(r * a); }, a, x); });
  const auto half = [](const Tensor& y) { return y * 0.5; };
  expect_refused("fixed_point", [&] { fixed_point(half, x); });
  expect_refused("fixed_point: closure", [&] { fixed_point([&](const Tensor& y) { return y * 0.5 + x; }, a); });
  expect_refused("root", [&] { root(half, row); });
  const auto slope = [](const Tensor&, const Tensor& y) { return -y; };
  expect_refused("odeint", [&] { odeint(slope, x, {0.0, 1.0}); });
}

TEST_F(Leaked, IsRefusedByTraining) {
  const Variable v(ones({2, 2}));
  const std::vector<Variable> variables = {v};
  optimizers::SGD plain;
  optimizers::SGD momentum({.momentum = 0.9});
  optimizers::Adam adam({.clipnorm = 1.0});
  for (const Optimizer& optimizer : {Optimizer(plain), Optimizer(momentum), Optimizer(adam)}) {
    expect_refused(optimizer.name(), [&] { optimizer.apply_gradients(std::vector{x}, variables); });
  }
  for (const char* name : {"mse", "mae", "huber", "bce", "categorical_crossentropy"}) {
    const Loss loss(name);
    expect_refused(name, [&] { loss(x, a); });
    expect_refused(name, [&] { loss(a, x); });
    expect_refused(name, [&] { loss(a, a, row); });
    expect_refused(name, [&] { loss(a, a, {}, leak(bool_, {2})); });
  }
  const Loss sparse("sparse_categorical_crossentropy");
  expect_refused("labels", [&] { sparse(index, a); });
  expect_refused("predictions", [&] { sparse(constant({0, 1}), x); });
  for (const char* name :
       {"accuracy", "sparse_categorical_accuracy", "categorical_accuracy", "binary_accuracy", "mse"}) {
    const Metric metric(name);
    expect_refused(name, [&] { metric.update_state(constant({{0.0}, {1.0}}), x); });
    expect_refused(name, [&] { metric.update_state(leak(float32, {2, 1}), a); });
    expect_refused(name, [&] { metric.update_state(constant({{0.0}, {1.0}}), a, row); });
  }
  expect_refused("Mean", [&] { metrics::Mean().update_state(x); });

  const Tensor image = leak(float32, {1, 4, 4, 1});
  std::vector<std::pair<Layer, Tensor>> calls = {{layers::Dense(2), x},
                                                 {layers::Conv2D(1, {2, 2}), image},
                                                 {layers::MaxPooling2D(), image},
                                                 {layers::AveragePooling2D(2), image},
                                                 {layers::BatchNormalization(), x},
                                                 {layers::Activation("relu"), x},
                                                 {layers::ReLU(), x},
                                                 {layers::Flatten(), image},
                                                 {layers::Dropout(0.5), x},
                                                 {Sequential({layers::Dense(2)}), x}};
  for (const auto& [layer, input] : calls) {
    if (layer.name().starts_with("dropout")) {  // it is the identity unless it trains
      expect_refused(layer.name(), [&, l = layer, i = input] { l(i, {.training = true}); });
      continue;
    }
    layer(zeros(input.shape()));
    expect_refused(layer.name(), [&, l = layer, i = input] { l(i); });
  }
  const layers::Dense dense(2);
  dense(a);
  expect_refused("set_weights", [&] { dense.set_weights({x, zeros({2})}); });
  const Sequential model({layers::Dense(1, {.input_shape = {2}})});
  model.compile({.loss = "mse"});
  expect_refused("evaluate", [&] { model.evaluate(x, ones({2, 1})); });
  expect_refused("evaluate", [&] { model.evaluate(a, leak(float32, {2, 1})); });
  expect_refused("predict", [&] { model.predict(x); });
  expect_refused("to_categorical", [&] { to_categorical(index); });
  expect_refused("activation", [&] { activations::softmax(x); });
  expect_refused("activation", [&] { activations::sigmoid(x); });
  expect_refused("regularizer", [&] { regularizers::L2()(x); });
  expect_refused("constraint", [&] { constraints::MaxNorm()(x); });
}

TEST_F(Leaked, IsRefusedByTheHostAndByDatasets) {
  expect_refused("item", [&] { number.item<float>(); });
  expect_refused("to_vector", [&] { x.to_vector<float>(); });
  expect_refused("data", [&] { x.data<float>(); });
  expect_refused("from_tensor_slices", [&] { from_tensor_slices(x); });
  expect_refused("from_tensor_slices", [&] { from_tensor_slices(a, x); });
  expect_refused("index", [&] { x(0); });
  expect_refused("operator[]", [&] { x[0]; });
  std::ostringstream out;
  expect_refused("print", [&] { print({.stream = &out}, x); });
  expect_refused("assert_true", [&] { debugging::assert_true(truth); });
  expect_refused("assert_true: data", [&] { debugging::assert_true(constant(false), {x}); });
  expect_refused("assert_equal", [&] { debugging::assert_equal(a, x); });
  expect_refused("assert_near", [&] { debugging::assert_near(x, a); });
  expect_refused("assert_all_finite", [&] { debugging::assert_all_finite(x); });
  expect_refused("host_dropout_mask", [&] { host_dropout_mask(x, [] { return std::array<std::int64_t, 2>{}; }, {}); });
  expect_refused("host_uniform", [&] { host_uniform(x, [] { return std::array<std::int64_t, 2>{}; }); });
  // What it is can be said.
  EXPECT_EQ(x.shape(), (Shape{2, 2}));
  EXPECT_NE(x.to_string().find("float32[2, 2]"), std::string::npos) << x.to_string();
}

}  // namespace
}  // namespace capstan
