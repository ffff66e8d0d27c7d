#include "src/ops/formula_rule.h"

#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "capstan/ops/activation.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/special.h"
#include "src/core/micro_steps.h"

namespace capstan {
namespace {

// What a step stands for: a number, as long as only literals and parameters meet, or a tensor.
struct Value {
  double number = 0;
  std::optional<Tensor> tensor;
};

class Derivative {
 public:
  Derivative(const MicroCode& code, const VjpCall& call, const Tensor& cotangent)
      : code_(code), call_(call), cotangent_(cotangent), values_(code.steps.size()) {}

  Tensor compute() {
    const std::vector<bool> needed = needed_steps(code_);
    for (std::size_t i = 0; i <= result(); ++i) {
      if (needed[i]) values_[i] = step_value(code_.steps[i]);
    }
    Value& value = values_[result()];
    // A constant derivative is a number.
    return value.tensor ? std::move(*value.tensor) : add(zeros_like(cotangent_), value.number);
  }

 private:
  std::size_t result() const { return static_cast<std::size_t>(code_.result); }

  bool is_number(int i) const { return !values_[static_cast<std::size_t>(i)].tensor; }
  double number(int i) const { return values_[static_cast<std::size_t>(i)].number; }
  // A number takes the dtype of the tensors that it meets.
  Operand operand(int i) const {
    const Value& value = values_[static_cast<std::size_t>(i)];
    return value.tensor ? Operand(*value.tensor) : Operand(value.number);
  }

  Value step_value(const MicroStep& step) const {
    switch (step.op) {
      case MicroOp::kInput:
        return {0, step.a == 0 ? cotangent_ : step.a == 4 ? call_.output() : call_.input(step.a - 1)};
      case MicroOp::kLiteral:
        return {step.literal, {}};
      case MicroOp::kParameter:
        return {static_cast<const double*>(call_.attribute_data())[step.a], {}};
      case MicroOp::kZero:
        return {0, zeros_like(cotangent_)};
      case MicroOp::kNegate:
        return is_number(step.a) ? Value{-number(step.a), {}} : Value{0, call_op(step)};
      case MicroOp::kAdd:
      case MicroOp::kSubtract:
      case MicroOp::kMultiply:
      case MicroOp::kDivide:
        if (is_number(step.a) && is_number(step.b)) return {of_numbers(step.op, number(step.a), number(step.b)), {}};
        return {0, call_op(step)};
      default:
        return {0, call_op(step)};
    }
  }

  Tensor call_op(const MicroStep& step) const {
    const Operand a = operand(step.a);
    if (step.b < 0) return call_op(step.op, a);
    const Operand b = operand(step.b);
    if (step.c < 0) return call_op(step.op, a, b);
    const Operand c = operand(step.c);
    return step.op == MicroOp::kSelect ? where(a, b, c) : betainc(a, b, c);
  }

#define CAPSTAN_CASE(name) \
  case MicroOp::k_##name:  \
    return capstan::name(a);
  static Tensor call_op(MicroOp op, Operand a) {
    switch (op) {
      case MicroOp::kNegate:
        return negative(a);
      case MicroOp::kNot:
        return logical_not(a);
      case MicroOp::kConj:
        return conj(a);
        CAPSTAN_UNARY_PRIMITIVES(CAPSTAN_CASE)
        CAPSTAN_PREDICATES(CAPSTAN_CASE)
        CAPSTAN_SPECIAL_UNARY(CAPSTAN_CASE)
      default:
        throw std::logic_error("a formula has a step that is no function of one argument");
    }
  }
#undef CAPSTAN_CASE

#define CAPSTAN_CASE(name) \
  case MicroOp::k_##name:  \
    return capstan::name(a, b);
  static Tensor call_op(MicroOp op, Operand a, Operand b) {
    switch (op) {
      case MicroOp::kAdd:
        return add(a, b);
      case MicroOp::kSubtract:
        return subtract(a, b);
      case MicroOp::kMultiply:
        return multiply(a, b);
      case MicroOp::kDivide:
        return divide(a, b);
      case MicroOp::kEqual:
        return equal(a, b);
      case MicroOp::kNotEqual:
        return not_equal(a, b);
      case MicroOp::kLess:
        return less(a, b);
      case MicroOp::kLessEqual:
        return less_equal(a, b);
      case MicroOp::kGreater:
        return greater(a, b);
      case MicroOp::kGreaterEqual:
        return greater_equal(a, b);
      case MicroOp::kAnd:
        return logical_and(a, b);
      case MicroOp::kOr:
        return logical_or(a, b);
        CAPSTAN_BINARY_PRIMITIVES(CAPSTAN_CASE)
        CAPSTAN_SPECIAL_BINARY(CAPSTAN_CASE)
      default:
        throw std::logic_error("a formula has a step that is no function of two arguments");
    }
  }
#undef CAPSTAN_CASE

  const MicroCode& code_;
  const VjpCall& call_;
  const Tensor& cotangent_;
  std::vector<Value> values_;  // of the steps so far
};

}  // namespace

void run_formula_rule(const FormulaRule& rule, const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& g = call.cotangent();
  const bool complex = rule.complex != nullptr && is_complex(g.dtype());
  const FormulaCode& code = complex ? *rule.complex : *rule.code;
  for (int i = 0; i < rule.arity; ++i) {
    if (!call.needs(i)) continue;
    const MicroCode& derivative = code.vjp[i];
    Tensor& cotangent = cotangents[static_cast<std::size_t>(i)];
    if (derivative.result == 0) {  // the first step is the cotangent: it passes as it is
      cotangent = g;
    } else if (complex) {
      cotangent = conj(Derivative(derivative, call, conj(g)).compute());
    } else {
      cotangent = Derivative(derivative, call, g).compute();
    }
  }
}

}  // namespace capstan
