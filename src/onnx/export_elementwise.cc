// Elementwise ops: those that ONNX has under another name, and formulas of several nodes.
#include <cmath>
#include <numbers>
#include <string>

#include "src/onnx/export.h"

namespace capstan::onnx {
namespace {

// What formulas are written in.
struct Term {
  const OpCall* call;
  std::string name;
};
Term term(const OpCall& call, std::size_t i) { return {&call, call.in(i)}; }
Term number(const Term& like, double value) { return {like.call, like.call->scalar(value)}; }
Term unary(std::string_view op, const Term& x) { return {x.call, x.call->node(op, {x.name})}; }
Term binary(std::string_view op, const Term& x, const Term& y) { return {x.call, x.call->node(op, {x.name, y.name})}; }
Term operator+(const Term& x, const Term& y) { return binary("Add", x, y); }
Term operator-(const Term& x, const Term& y) { return binary("Sub", x, y); }
Term operator*(const Term& x, const Term& y) { return binary("Mul", x, y); }
Term operator/(const Term& x, const Term& y) { return binary("Div", x, y); }
Term operator+(const Term& x, double y) { return x + number(x, y); }
Term operator*(const Term& x, double y) { return x * number(x, y); }
Term operator-(double x, const Term& y) { return number(y, x) - y; }
Term choose(const Term& condition, const Term& x, const Term& y) {
  return {x.call, x.call->node("Where", {condition.name, x.name, y.name})};
}
Term is_zero(const Term& x) { return binary("Equal", x, number(x, 0)); }

// --- Of one input ---

void square(OpCall& c) {
  const Term x = term(c, 0);
  c.give((x * x).name);
}
void rsqrt(OpCall& c) { c.give(unary("Reciprocal", unary("Sqrt", term(c, 0))).name); }
void log1p(OpCall& c) { c.give(unary("Log", term(c, 0) + 1).name); }
void expm1(OpCall& c) { c.give((unary("Exp", term(c, 0)) + -1).name); }
void erfc(OpCall& c) { c.give((1 - unary("Erf", term(c, 0))).name); }
// The part of a normal distribution below x.
Term below(const Term& x) { return (unary("Erf", x * std::numbers::sqrt2_v<double> * 0.5) + 1) * 0.5; }
void ndtr(OpCall& c) { c.give(below(term(c, 0)).name); }
void gelu_erf(OpCall& c) {
  const Term x = term(c, 0);
  c.give((x * below(x)).name);
}
void gelu_tanh(OpCall& c) {
  const Term x = term(c, 0);
  const Term inner = (x + x * x * x * 0.044715) * std::sqrt(2 / std::numbers::pi);
  c.give((x * 0.5 * (unary("Tanh", inner) + 1)).name);
}
void silu(OpCall& c) {
  const Term x = term(c, 0);
  const double beta = c.number("beta");
  c.give((x * unary("Sigmoid", beta == 1 ? x : x * beta)).name);
}
void mish(OpCall& c) {
  const Term x = term(c, 0);
  c.give((x * unary("Tanh", unary("Softplus", x))).name);
}
void log_sigmoid(OpCall& c) { c.give(unary("Neg", unary("Softplus", unary("Neg", term(c, 0)))).name); }
void tanh_shrink(OpCall& c) {
  const Term x = term(c, 0);
  c.give((x - unary("Tanh", x)).name);
}
void squareplus(OpCall& c) {
  const Term x = term(c, 0);
  c.give(((x + unary("Sqrt", x * x + c.number("b"))) * 0.5).name);
}
void sinc(OpCall& c) {
  const Term x = term(c, 0), angle = x * std::numbers::pi;
  c.give(choose(is_zero(x), number(x, 1), unary("Sin", angle) / angle).name);
}
void reciprocal_no_nan(OpCall& c) {
  const Term x = term(c, 0);
  c.give(choose(is_zero(x), number(x, 0), unary("Reciprocal", x)).name);
}
void threshold(OpCall& c) {
  const Term x = term(c, 0);
  const Term above = binary("Greater", x, number(x, c.number("threshold")));
  c.give(choose(above, x, number(x, c.number("default_value"))).name);
}
void is_finite(OpCall& c) {
  const Term x = term(c, 0);
  c.give(unary("Not", binary("Or", unary("IsNaN", x), unary("IsInf", x))).name);
}
template <int kLow, int kHigh>
void clip(OpCall& c) {
  c.give(c.node("Clip", {c.in(0), c.scalar(kLow), c.scalar(kHigh)}));
}
void with_alpha(OpCall& c) { c.give(c.node(c.onnx(), {c.in(0)}, {attribute("alpha", c.number("alpha"))})); }
// A line through 1/2 at 0, limited to the range from 0 to 1.
void limited_line(OpCall& c, double slope) {
  c.give(c.node("HardSigmoid", {c.in(0)}, {attribute("alpha", slope), attribute("beta", 0.5)}));
}
void hard_sigmoid(OpCall& c) { limited_line(c, 1.0 / 6); }
void sparse_sigmoid(OpCall& c) { limited_line(c, 0.5); }
void sparse_plus(OpCall& c) {
  const Term x = term(c, 0), up = x + 1, curve = up * up * 0.25;
  const Term is_low = binary("LessOrEqual", x, number(x, -1)), is_high = binary("GreaterOrEqual", x, number(x, 1));
  c.give(choose(is_low, number(x, 0), choose(is_high, x, curve)).name);
}
void hard_shrink(OpCall& c) {
  c.give(c.node("Shrink", {c.in(0)}, {attribute("lambd", c.number("threshold")), attribute("bias", 0.0)}));
}
void soft_shrink(OpCall& c) {
  const double at = c.number("threshold");
  c.give(c.node("Shrink", {c.in(0)}, {attribute("lambd", at), attribute("bias", at)}));
}
void round_to_even(OpCall& c) { c.give(is_floating(c.dtype()) ? c.node("Round", {c.in(0)}) : c.in(0)); }
void cast(OpCall& c) { c.give(c.cast_to(c.in(0), c.out_dtype())); }

// --- Of two inputs ---

// Whole numbers are divided as numbers of the dtype of the quotient.
void divide(OpCall& c) {
  const auto operand = [&](std::size_t i) {
    return c.dtype(i) == c.out_dtype() ? c.in(i) : c.cast_to(c.in(i), c.out_dtype());
  };
  c.give(c.node("Div", {operand(0), operand(1)}));
}
Term floored(const Term& x, const Term& y) { return unary("Floor", x / y); }
// The remainder with the sign of the divisor.
Term remainder(const OpCall& c) {
  const Term x = term(c, 0), y = term(c, 1);
  return is_floating(c.dtype()) ? x - floored(x, y) * y : binary("Mod", x, y);
}
void floordiv(OpCall& c) {
  const Term x = term(c, 0), y = term(c, 1);
  c.give((is_floating(c.dtype()) ? floored(x, y) : (x - remainder(c)) / y).name);
}
void floormod(OpCall& c) { c.give(remainder(c).name); }
void truncatemod(OpCall& c) { c.give(c.node("Mod", {c.in(0), c.in(1)}, {attribute("fmod", 1)})); }
void squared_difference(OpCall& c) {
  const Term d = term(c, 0) - term(c, 1);
  c.give((d * d).name);
}
void not_equal(OpCall& c) { c.give(unary("Not", binary("Equal", term(c, 0), term(c, 1))).name); }
void divide_no_nan(OpCall& c) {
  const Term x = term(c, 0), y = term(c, 1);
  c.give(choose(is_zero(y), number(x, 0), x / y).name);
}
void multiply_no_nan(OpCall& c) {
  const Term x = term(c, 0), y = term(c, 1);
  c.give(choose(is_zero(y), number(x, 0), x * y).name);
}
void xlogy(OpCall& c) {
  const Term x = term(c, 0);
  c.give(choose(is_zero(x), number(x, 0), x * unary("Log", term(c, 1))).name);
}
void xlog1py(OpCall& c) {
  const Term x = term(c, 0);
  c.give(choose(is_zero(x), number(x, 0), x * unary("Log", term(c, 1) + 1)).name);
}
void xdivy(OpCall& c) {
  const Term x = term(c, 0);
  c.give(choose(is_zero(x), number(x, 0), x / term(c, 1)).name);
}
void logaddexp(OpCall& c) {
  const Term x = term(c, 0), y = term(c, 1);
  const Term distance = unary("Neg", unary("Abs", x - y));
  c.give((binary("Max", x, y) + unary("Log", unary("Exp", distance) + 1)).name);
}
void hypot(OpCall& c) {
  const Term x = term(c, 0), y = term(c, 1);
  c.give(unary("Sqrt", x * x + y * y).name);
}

constexpr ExportRow kElementwiseRows[] = {
    {"abs", write_direct, "Abs"},
    {"acos", write_direct, "Acos"},
    {"acosh", write_direct, "Acosh"},
    {"add", write_direct, "Add"},
    {"asin", write_direct, "Asin"},
    {"asinh", write_direct, "Asinh"},
    {"atan", write_direct, "Atan"},
    {"atanh", write_direct, "Atanh"},
    {"bitwise_and", write_direct, "BitwiseAnd"},
    {"bitwise_or", write_direct, "BitwiseOr"},
    {"bitwise_xor", write_direct, "BitwiseXor"},
    {"cast", cast},
    {"ceil", write_direct, "Ceil"},
    {"celu", with_alpha, "Celu"},
    {"cos", write_direct, "Cos"},
    {"cosh", write_direct, "Cosh"},
    {"divide", divide},
    {"divide_no_nan", divide_no_nan},
    {"elu", with_alpha, "Elu"},
    {"equal", write_direct, "Equal"},
    {"erf", write_direct, "Erf"},
    {"erfc", erfc},
    {"exp", write_direct, "Exp"},
    {"expm1", expm1},
    {"floor", write_direct, "Floor"},
    {"floordiv", floordiv},
    {"floormod", floormod},
    {"gelu_erf", gelu_erf},
    {"gelu_tanh", gelu_tanh},
    {"greater", write_direct, "Greater"},
    {"greater_equal", write_direct, "GreaterOrEqual"},
    {"hard_shrink", hard_shrink},
    {"hard_sigmoid", hard_sigmoid},
    {"hard_silu", write_direct, "HardSwish"},
    {"hard_tanh", clip<-1, 1>},
    {"hypot", hypot},
    {"invert", write_direct, "BitwiseNot"},
    {"is_finite", is_finite},
    {"is_inf", write_direct, "IsInf"},
    {"is_nan", write_direct, "IsNaN"},
    {"leaky_relu", with_alpha, "LeakyRelu"},
    {"less", write_direct, "Less"},
    {"less_equal", write_direct, "LessOrEqual"},
    {"log", write_direct, "Log"},
    {"log1p", log1p},
    {"log_sigmoid", log_sigmoid},
    {"logaddexp", logaddexp},
    {"logical_and", write_direct, "And"},
    {"logical_not", write_direct, "Not"},
    {"logical_or", write_direct, "Or"},
    {"logical_xor", write_direct, "Xor"},
    {"maximum", write_direct, "Max"},
    {"minimum", write_direct, "Min"},
    {"mish", mish},
    {"multiply", write_direct, "Mul"},
    {"multiply_no_nan", multiply_no_nan},
    {"ndtr", ndtr},
    {"negative", write_direct, "Neg"},
    {"not_equal", not_equal},
    {"pow", write_direct, "Pow"},
    {"reciprocal", write_direct, "Reciprocal"},
    {"reciprocal_no_nan", reciprocal_no_nan},
    {"relu", write_direct, "Relu"},
    {"relu6", clip<0, 6>},
    {"rint", round_to_even},
    {"round", round_to_even},
    {"rsqrt", rsqrt},
    {"selu", write_direct, "Selu"},
    {"sigmoid", write_direct, "Sigmoid"},
    {"sign", write_direct, "Sign"},
    {"silu", silu},
    {"sin", write_direct, "Sin"},
    {"sinc", sinc},
    {"sinh", write_direct, "Sinh"},
    {"soft_shrink", soft_shrink},
    {"softplus", write_direct, "Softplus"},
    {"softsign", write_direct, "Softsign"},
    {"sparse_plus", sparse_plus},
    {"sparse_sigmoid", sparse_sigmoid},
    {"sqrt", write_direct, "Sqrt"},
    {"square", square},
    {"squared_difference", squared_difference},
    {"squareplus", squareplus},
    {"subtract", write_direct, "Sub"},
    {"tan", write_direct, "Tan"},
    {"tanh", write_direct, "Tanh"},
    {"tanh_shrink", tanh_shrink},
    {"threshold", threshold},
    {"truncatediv", write_direct, "Div"},
    {"truncatemod", truncatemod},
    {"where", write_direct, "Where"},
    {"xdivy", xdivy},
    {"xlog1py", xlog1py},
    {"xlogy", xlogy},
};

}  // namespace

std::span<const ExportRow> elementwise_rows() { return kElementwiseRows; }

}  // namespace capstan::onnx
