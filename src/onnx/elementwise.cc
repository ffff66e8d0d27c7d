// Functions of one element, and of two or more that broadcast.
#include <cmath>
#include <limits>

#include "capstan/ops/activation.h"
#include "capstan/ops/bitwise.h"
#include "capstan/ops/math.h"

#include "src/onnx/elementwise.h"
#include "src/onnx/import.h"

namespace capstan::onnx {

Pair aligned(const Value& a, const Value& b) {
  if (!a.channels_last && !b.channels_last) return {a.tensor, b.tensor, false};
  if (a.channels_last && b.channels_last && a.tensor.rank() == b.tensor.rank()) return {a.tensor, b.tensor, true};
  const Value& image = a.channels_last ? a : b;
  const Value& other = a.channels_last ? b : a;
  const int rank = image.tensor.rank();
  if (other.channels_last || other.tensor.rank() > rank) return {onnx_layout(a), onnx_layout(b), false};
  Tensor moved = other.tensor;
  if (moved.rank() > 0) {
    Shape shape;
    for (int i = moved.rank(); i < rank; ++i) shape.push_back(1);
    const Shape own = moved.shape();
    for (const std::int64_t length : own) shape.push_back(length);
    moved = transpose(reshape(moved, shape), to_last(rank));
  }
  return a.channels_last ? Pair{a.tensor, moved, true} : Pair{moved, b.tensor, true};
}

namespace {

template <Tensor (*F)(Operand)>
void unary(NodeCall& call) {
  const Value& x = call.value(0);
  call.give(F(x.tensor), x.channels_last);
}

template <Tensor (*F)(Operand, Operand)>
void binary(NodeCall& call) {
  const Pair pair = aligned(call.value(0), call.value(1));
  call.give(F(pair.a, pair.b), pair.channels_last);
}

template <Tensor (*F)(Operand, Operand)>
void variadic(NodeCall& call) {
  Value sum = call.value(0);
  for (std::size_t i = 1; i < call.input_count(); ++i) {
    const Pair pair = aligned(sum, call.value(i));
    sum = {F(pair.a, pair.b), pair.channels_last, false};
  }
  call.give(sum.tensor, sum.channels_last);
}

// Runs f on the first input as it lies.
template <class F>
void elementwise(NodeCall& call, const F& f) {
  const Value& x = call.value(0);
  call.give(f(x.tensor), x.channels_last);
}

Tensor number_like(double number, const Tensor& like) { return cast(constant(number, float64), like.dtype()); }

void divide_values(NodeCall& call) {
  const Pair pair = aligned(call.value(0), call.value(1));
  call.give(is_integer(pair.a.dtype()) ? truncatediv(pair.a, pair.b) : divide(pair.a, pair.b), pair.channels_last);
}

void modulo(NodeCall& call) {
  const Pair pair = aligned(call.value(0), call.value(1));
  const bool truncates = call.integer("fmod", 0) != 0;
  call.give(truncates ? truncatemod(pair.a, pair.b) : floormod(pair.a, pair.b), pair.channels_last);
}

void power(NodeCall& call) {
  const Pair pair = aligned(call.value(0), call.value(1));
  const DType base = pair.a.dtype(), exponent = pair.b.dtype();
  if (base == exponent) return call.give(pow(pair.a, pair.b), pair.channels_last);
  const DType wide = is_floating(base) ? base : is_floating(exponent) ? float64 : int64;
  call.give(cast(pow(cast(pair.a, wide), cast(pair.b, wide)), base), pair.channels_last);
}

void mean(NodeCall& call) {
  variadic<add>(call);
  Value& sum = call.outputs.back();
  sum.tensor = sum.tensor / static_cast<double>(call.input_count());
}

void leaky(NodeCall& call) {
  elementwise(call, [&](const Tensor& x) { return leaky_relu(x, call.number("alpha", 0.01)); });
}

void run_elu(NodeCall& call) {
  const double alpha = call.number("alpha", 1);
  elementwise(call, [&](const Tensor& x) { return where(x > 0, x, alpha * expm1(minimum(x, 0))); });
}

void run_celu(NodeCall& call) {
  const double alpha = call.number("alpha", 1);
  elementwise(call, [&](const Tensor& x) { return maximum(x, 0) + minimum(alpha * expm1(minimum(x, 0) / alpha), 0); });
}

void run_selu(NodeCall& call) {
  const double alpha = call.number("alpha", 1.67326319217681884765625);
  const double gamma = call.number("gamma", 1.05070102214813232421875);
  elementwise(call, [&](const Tensor& x) { return gamma * where(x > 0, x, alpha * expm1(minimum(x, 0))); });
}

void run_hard_sigmoid(NodeCall& call) {
  const double alpha = call.number("alpha", 0.2), beta = call.number("beta", 0.5);
  elementwise(call, [&](const Tensor& x) { return clip_by_value(x * alpha + beta, 0, 1); });
}

void thresholded(NodeCall& call) {
  elementwise(call, [&](const Tensor& x) { return threshold(x, call.number("alpha", 1), 0); });
}

void shrink(NodeCall& call) {
  const double lambda = call.number("lambd", 0.5), bias = call.number("bias", 0);
  elementwise(call, [&](const Tensor& x) {
    const DType dtype = is_floating(x.dtype()) ? x.dtype() : float64;
    const Tensor y = cast(x, dtype);
    return cast(where(y < -lambda, y + bias, where(y > lambda, y - bias, zeros_like(y))), x.dtype());
  });
}

void run_gelu(NodeCall& call) {
  elementwise(call,
              [&](const Tensor& x) { return gelu(x, {.approximate = call.text("approximate", "none") == "tanh"}); });
}

void swish(NodeCall& call) {
  elementwise(call, [&](const Tensor& x) { return silu(x, call.number("alpha", 1)); });
}

void hard_swish(NodeCall& call) {
  elementwise(call, [&](const Tensor& x) { return x * clip_by_value(x * (1.0 / 6) + 0.5, 0, 1); });
}

void prelu(NodeCall& call) {
  const Pair pair = aligned(call.value(0), call.value(1));
  call.give(where(pair.a < zeros_like(pair.a), pair.b * pair.a, pair.a), pair.channels_last);
}

void clip(NodeCall& call) {
  Tensor low, high;
  const Value& x = call.value(0);
  if (call.opset() < 11) {
    if (call.has_attribute("min")) low = number_like(call.number("min", 0), x.tensor);
    if (call.has_attribute("max")) high = number_like(call.number("max", 0), x.tensor);
  } else {
    if (call.has(1)) low = call.tensor(1);
    if (call.has(2)) high = call.tensor(2);
  }
  Tensor y = x.tensor;
  if (low.has_value()) y = maximum(y, low);
  if (high.has_value()) y = minimum(y, high);
  call.give(y, x.channels_last);
}

void cast_to(NodeCall& call) {
  const DType to = call.dtype("to", float32);
  elementwise(call, [&](const Tensor& x) {
    if (is_floating(x.dtype()) && is_integer(to)) return cast(cast(x, int64), to);
    return cast(x, to);
  });
}

void cast_like(NodeCall& call) {
  const DType to = call.value(1).tensor.dtype();
  elementwise(call, [&](const Tensor& x) { return cast(x, to); });
}

void is_infinite(NodeCall& call) {
  const bool below = call.integer("detect_negative", 1) != 0, above = call.integer("detect_positive", 1) != 0;
  elementwise(call, [&](const Tensor& x) {
    if (below && above) return is_inf(x);
    if (below) return logical_and(is_inf(x), x < 0);
    if (above) return logical_and(is_inf(x), x > 0);
    return zeros(x.shape(), bool_);
  });
}

void run_sign(NodeCall& call) {
  elementwise(call, [](const Tensor& x) { return x.dtype() == uint8 ? cast(not_equal(x, 0), uint8) : sign(x); });
}

void keep(NodeCall& call) {
  elementwise(call, [](const Tensor& x) { return x; });
}

void run_dropout(NodeCall& call) {
  const Value& x = call.value(0);
  const bool training = call.opset() >= 12 && call.has(2) && call.integer_of(2) != 0;
  if (training) {
    const double rate = call.has(1) ? call.numbers_of(1).at(0) : 0.5;
    if (rate != 0) not_supported("dropout in training");
  }
  call.give(x.tensor, x.channels_last);
  if (call.wants(1)) call.give(ones(x.tensor.shape(), bool_), x.channels_last);
}

void run_softsign(NodeCall& call) {
  elementwise(call, [](const Tensor& x) { return softsign(x); });
}

constexpr Operator kElementwiseOperators[] = {
    {"Abs", unary<abs>},
    {"Acos", unary<acos>},
    {"Acosh", unary<acosh>},
    {"Add", binary<add>},
    {"Asin", unary<asin>},
    {"Asinh", unary<asinh>},
    {"Atan", unary<atan>},
    {"Atanh", unary<atanh>},
    {"Cast", cast_to},
    {"CastLike", cast_like},
    {"Ceil", unary<ceil>},
    {"Celu", run_celu},
    {"Clip", clip},
    {"Cos", unary<cos>},
    {"Cosh", unary<cosh>},
    {"Div", divide_values},
    {"Dropout", run_dropout},
    {"Elu", run_elu},
    {"Erf", unary<erf>},
    {"Exp", unary<exp>},
    {"Floor", unary<floor>},
    {"Gelu", run_gelu},
    {"HardSigmoid", run_hard_sigmoid},
    {"HardSwish", hard_swish},
    {"Identity", keep},
    {"IsInf", is_infinite},
    {"IsNaN", unary<is_nan>},
    {"LeakyRelu", leaky},
    {"Log", unary<log>},
    {"Max", variadic<maximum>},
    {"Mean", mean},
    {"Min", variadic<minimum>},
    {"Mish", unary<mish>},
    {"Mod", modulo},
    {"Mul", binary<multiply>},
    {"Neg", unary<negative>},
    {"PRelu", prelu},
    {"Pow", power},
    {"Reciprocal", unary<reciprocal>},
    {"Relu", unary<relu>},
    {"Round", unary<round>},
    {"Selu", run_selu},
    {"Shrink", shrink},
    {"Sigmoid", unary<sigmoid>},
    {"Sign", run_sign},
    {"Sin", unary<sin>},
    {"Sinh", unary<sinh>},
    {"Softplus", unary<softplus>},
    {"Softsign", run_softsign},
    {"Sqrt", unary<sqrt>},
    {"Sub", binary<subtract>},
    {"Sum", variadic<add>},
    {"Swish", swish},
    {"Tan", unary<tan>},
    {"Tanh", unary<tanh>},
    {"ThresholdedRelu", thresholded},
};

}  // namespace

std::span<const Operator> elementwise_operators() { return kElementwiseOperators; }

}  // namespace capstan::onnx
