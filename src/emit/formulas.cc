// Formulas into programs.
//
// A formula mixes numbers, truth values and vectors as its C++ text does (src/formula/formula.h): arithmetic between
// literals and parameters happens in double, and the result is rounded to the element type where it meets a vector. So
// a step's value is one of three kinds here, and each operation converts like the loops of src/formula/loops-inl.h.
#include "src/emit/formulas.h"

#include "src/core/micro_steps.h"
#include "src/emit/record-inl.h"

namespace capstan::emit {
namespace {

namespace hr = hwy::N_RECORD;
namespace vm = N_RECORD::vector_math;

struct Value {
  enum class Kind : std::uint8_t { kNone, kNumber, kVector, kMask };
  Kind kind = Kind::kNone;
  int id = -1;
  double number = 0;
};

template <class T, int kBytes>
class Formulas {
 public:
  using D = hr::Tag<T, kBytes>;
  using V = hr::Vec<D>;
  using M = hr::Mask<D>;

  // The value of a formula whose operands are `operands`.
  Value evaluate(const FusedLoop::Node& node, const Value* operands) {
    const MicroCode& code = *node.code;
    const std::vector<bool> needed = needed_steps(code);
    values_.assign(code.steps.size(), Value{});
    for (int i = 0; i <= code.result; ++i) {
      if (!needed[static_cast<std::size_t>(i)]) continue;
      values_[static_cast<std::size_t>(i)] = step_value(code.steps[static_cast<std::size_t>(i)], node, operands);
    }
    const Value result = values_[static_cast<std::size_t>(code.result)];
    return node.boolean ? Value{Value::Kind::kMask, mask(result).id} : from(vector(result));
  }

 private:
  static V make_vector(int id) { return V{{id}}; }
  static Value from(V v) { return {Value::Kind::kVector, v.raw.id}; }
  static Value from(M m) { return {Value::Kind::kMask, m.id}; }
  static Value from(double number) { return {Value::Kind::kNumber, -1, number}; }

  // A truth value as a number is 1 or 0, as in a cast.
  static V vector(const Value& value) {
    if (value.kind == Value::Kind::kNumber) return vm::set(D(), value.number);
    if (value.kind == Value::Kind::kVector) return make_vector(value.id);
    return hr::IfThenElse(M{value.id}, vm::set(D(), 1), hr::Zero(D()));
  }
  static M mask(const Value& value) {
    if (value.kind == Value::Kind::kMask) return M{value.id};
    return hr::Not(hr::Eq(vector(value), hr::Zero(D())));
  }

  const Value& at(int i) const { return values_[static_cast<std::size_t>(i)]; }

  Value step_value(const MicroStep& s, const FusedLoop::Node& node, const Value* operands) {
    switch (s.op) {
      case MicroOp::kInput:
        if (operands[s.a].kind != Value::Kind::kNone) return operands[s.a];
        hr::recording().refuse();
        return from(hr::Zero(D()));
      case MicroOp::kLiteral:
        return from(s.literal);
      case MicroOp::kParameter:
        return from(node.parameters[s.a]);
      case MicroOp::kZero:
        return from(hr::Zero(D()));
      case MicroOp::kConj:
        return at(s.a);
      case MicroOp::kAdd:
      case MicroOp::kSubtract:
      case MicroOp::kMultiply:
      case MicroOp::kDivide:
        return arithmetic(s.op, at(s.a), at(s.b));
      case MicroOp::kNegate:
        if (at(s.a).kind == Value::Kind::kNumber) return from(-at(s.a).number);
        return from(hr::Neg(vector(at(s.a))));
      case MicroOp::kEqual:
      case MicroOp::kNotEqual:
      case MicroOp::kLess:
      case MicroOp::kLessEqual:
      case MicroOp::kGreater:
      case MicroOp::kGreaterEqual:
        return from(comparison(s.op, at(s.a), at(s.b)));
      case MicroOp::kAnd:
        return from(hr::And(mask(at(s.a)), mask(at(s.b))));
      case MicroOp::kOr:
        return from(hr::Or(mask(at(s.a)), mask(at(s.b))));
      case MicroOp::kNot:
        return from(hr::Not(mask(at(s.a))));
      case MicroOp::kSelect:
        return select(mask(at(s.a)), at(s.b), at(s.c));
      default:
        return function(s);
    }
  }

  static Value arithmetic(MicroOp op, const Value& a, const Value& b) {
    if (a.kind == Value::Kind::kNumber && b.kind == Value::Kind::kNumber)
      return from(of_numbers(op, a.number, b.number));
    const V x = vector(a), y = vector(b);
    return from(op == MicroOp::kAdd        ? hr::Add(x, y)
                : op == MicroOp::kSubtract ? hr::Sub(x, y)
                : op == MicroOp::kMultiply ? hr::Mul(x, y)
                                           : hr::Div(x, y));
  }

  static M comparison(MicroOp op, const Value& a, const Value& b) {
    if (a.kind == Value::Kind::kMask && b.kind == Value::Kind::kMask) {
      const M x{a.id}, y{b.id};  // false is below true
      switch (op) {
        case MicroOp::kEqual:
          return hr::Not(hr::Xor(x, y));
        case MicroOp::kNotEqual:
          return hr::Xor(x, y);
        case MicroOp::kLess:
          return hr::AndNot(x, y);
        case MicroOp::kLessEqual:
          return hr::Not(hr::AndNot(y, x));
        case MicroOp::kGreater:
          return hr::AndNot(y, x);
        default:
          return hr::Not(hr::AndNot(x, y));
      }
    }
    const V x = vector(a), y = vector(b);
    switch (op) {
      case MicroOp::kEqual:
        return hr::Eq(x, y);
      case MicroOp::kNotEqual:  // Highway's Ne is false for NaN.
        return hr::Not(hr::Eq(x, y));
      case MicroOp::kLess:
        return hr::Lt(x, y);
      case MicroOp::kLessEqual:
        return hr::Le(x, y);
      case MicroOp::kGreater:
        return hr::Gt(x, y);
      default:
        return hr::Ge(x, y);
    }
  }

  static Value select(M condition, const Value& yes, const Value& no) {
    if (yes.kind == Value::Kind::kMask && no.kind == Value::Kind::kMask) {
      const M y{yes.id}, n{no.id};
      return from(hr::Or(hr::And(condition, y), hr::AndNot(condition, n)));
    }
    return from(hr::IfThenElse(condition, vector(yes), vector(no)));
  }

  Value function(const MicroStep& s) const {
    switch (s.op) {
#define CAPSTAN_CALL(name) \
  case MicroOp::k_##name:  \
    return from(vm::name(D(), vector(at(s.a))));
      CAPSTAN_UNARY_PRIMITIVES(CAPSTAN_CALL)
      CAPSTAN_PREDICATES(CAPSTAN_CALL)
#undef CAPSTAN_CALL
#define CAPSTAN_CALL(name) \
  case MicroOp::k_##name:  \
    return from(vm::name(D(), vector(at(s.a)), vector(at(s.b))));
      CAPSTAN_BINARY_PRIMITIVES(CAPSTAN_CALL)
#undef CAPSTAN_CALL
      default:
        hr::recording().refuse();
        return from(hr::Zero(D()));
    }
  }

  std::vector<Value> values_;
};

template <class T, int kBytes>
void record(const FusedLoop& loop, RecordedLoop& out) {
  std::vector<Value> values;
  values.reserve(loop.inputs.size() + loop.nodes.size());
  for (std::size_t i = 0; i < loop.inputs.size(); ++i) {
    const bool boolean = loop.inputs[i].boolean;
    const int id = out.program.add({VectorOp::kInput, boolean, -1, -1, -1, i});
    values.push_back({boolean ? Value::Kind::kMask : Value::Kind::kVector, id});
  }
  Formulas<T, kBytes> formulas;
  for (const FusedLoop::Node& node : loop.nodes) {
    if (node.code == nullptr || node.code->result < 0) return out.program.refuse();
    Value operands[5];
    for (int k = 0; k < 5; ++k) {
      const int operand = node.operands[k];
      if (operand >= static_cast<int>(values.size())) return out.program.refuse();
      if (operand >= 0) operands[k] = values[static_cast<std::size_t>(operand)];
    }
    values.push_back(formulas.evaluate(node, operands));
    if (out.program.refused()) return;
  }
  for (const Value& value : values) out.values.push_back(value.id);
}

}  // namespace

RecordedLoop record_loop(const FusedLoop& loop, int vector_bytes) {
  const bool single = loop.dtype == DType::kFloat32;
  RecordedLoop out{Program(single ? 4 : 8, vector_bytes), {}};
  Program* const before = std::exchange(context.recorded, &out.program);
  if (single && vector_bytes == 64) {
    record<float, 64>(loop, out);
  } else if (single) {
    record<float, 32>(loop, out);
  } else if (vector_bytes == 64) {
    record<double, 64>(loop, out);
  } else {
    record<double, 32>(loop, out);
  }
  context.recorded = before;
  return out;
}

}  // namespace capstan::emit
