#include "tests/ops/formula_value.h"

#include <complex>
#include <stdexcept>
#include <vector>

#include "src/core/micro.h"
#include "src/formula/formula.h"

namespace capstan::testing {

namespace {

using Number = Scalar<double>;

double truth(bool value) { return value ? 1.0 : 0.0; }

// What a step does with the values of the steps before it.
double step_value(const MicroStep& step, const double* x, const double* parameters, const std::vector<double>& values) {
  if (step.op == MicroOp::kInput) return x[step.a];
  if (step.op == MicroOp::kParameter) return parameters == nullptr ? 0.0 : parameters[step.a];
  const auto of = [&](std::int16_t index) { return Number(index < 0 ? 0.0 : values[static_cast<std::size_t>(index)]); };
  const Number a = of(step.a);
  const Number b = of(step.b);
  const Number c = of(step.c);
  switch (step.op) {
    case MicroOp::kLiteral:
      return step.literal;
    case MicroOp::kAdd:
      return (a + b).v;
    case MicroOp::kSubtract:
      return (a - b).v;
    case MicroOp::kMultiply:
      return (a * b).v;
    case MicroOp::kDivide:
      return (a / b).v;
    case MicroOp::kNegate:
      return (-a).v;
    case MicroOp::kEqual:
      return truth((a == b).v);
    case MicroOp::kNotEqual:
      return truth((a != b).v);
    case MicroOp::kLess:
      return truth((a < b).v);
    case MicroOp::kLessEqual:
      return truth((a <= b).v);
    case MicroOp::kGreater:
      return truth((a > b).v);
    case MicroOp::kGreaterEqual:
      return truth((a >= b).v);
    case MicroOp::kAnd:
      return truth(a.v != 0 && b.v != 0);
    case MicroOp::kOr:
      return truth(a.v != 0 || b.v != 0);
    case MicroOp::kNot:
      return truth(a.v == 0);
    case MicroOp::kSelect:
      return (a.v != 0 ? b : c).v;
    case MicroOp::kZero:
      return 0.0;
    case MicroOp::kConj:
      return a.v;
#define CAPSTAN_CASE(name) \
  case MicroOp::k_##name:  \
    return static_cast<double>(name(a).v);
      CAPSTAN_UNARY_PRIMITIVES(CAPSTAN_CASE)
      CAPSTAN_PREDICATES(CAPSTAN_CASE)
#undef CAPSTAN_CASE
#define CAPSTAN_CASE(name) \
  case MicroOp::k_##name:  \
    return name(a, b).v;
      CAPSTAN_BINARY_PRIMITIVES(CAPSTAN_CASE)
#undef CAPSTAN_CASE
    default:
      throw std::logic_error("a function of portable formulas in a formula with vector loops");
  }
}

// One element of the op's own loop.
template <class T, class Out>
Out loop_value(const OpDef& op, const T* x, const double* parameters) {
  Out result{};
  LoopArgs args{
      .out = &result, .in = {x, x + 1, x + 2}, .n = 1, .parameters = parameters, .scalars = 0, .accumulate = false};
  loops_of(op, kDTypeOf<T>).forward[static_cast<int>(kDTypeOf<T>)](args);
  return result;
}

}  // namespace

double formula_value(const OpDef& op, const double* x, const double* parameters) {
  if (op.formula == nullptr) return loop_value<double, double>(op, x, parameters);
  std::vector<double> values;
  for (const MicroStep& step : op.formula->forward.steps) values.push_back(step_value(step, x, parameters, values));
  return values[static_cast<std::size_t>(op.formula->forward.result)];
}

std::complex<double> complex_formula_value(const OpDef& op, const std::complex<double>* x, const double* parameters) {
  if (has_flag(op, kBooleanResult)) return truth(loop_value<std::complex<double>, bool>(op, x, parameters));
  return loop_value<std::complex<double>, std::complex<double>>(op, x, parameters);
}

}  // namespace capstan::testing
