// Identities: calls that give the elements which they are given, such as x * 1, for passes over graphs.
//
// A rule stands beside its op. It looks at a call as a pattern (dtypes and shapes of operands, elements of constants,
// the calls that made the operands) and names a value that has the elements of the result, in their order. It holds for
// every element, with every bit: infinities, subnormal numbers and the sign of zeros; NaN payloads may differ.
// So x + 0 is no identity (-0 becomes 0), but x - 0 is. Gradients do not count: identities are for programs, which have
// none.
//
// A rule need not care about broadcasting: whoever asks it rejects a value of another number of elements, and an
// operand that is as large as the result is not stretched. Nor about the shape, which may be another one than that of
// the result.
#pragma once

#include <span>

#include "src/core/op_def.h"

namespace capstan {

// A graph, as a rule sees it.
class Expressions {
 public:
  using Value = std::int32_t;
  static constexpr Value kNone = -1;

  struct Call {
    const OpDef* op;
    std::span<const Value> inputs;
    Value result;
    const void* attributes;

    Value input(std::size_t i) const { return inputs[i]; }
  };

  virtual DType dtype(Value value) const = 0;
  virtual const Shape& shape(Value value) const = 0;
  // Empty if the value is not known before a run.
  virtual const Tensor& constant(Value value) const = 0;
  // The call whose only result a value is; null if there is none.
  virtual const Call* maker(Value value) const = 0;

 protected:
  ~Expressions() = default;
};

// The value with the elements of the call's result, or kNone.
using IdentityRule = Expressions::Value (*)(const Expressions& graph, const Expressions::Call& call);

struct Identity {
  const OpDef* op;
  IdentityRule rule;
};
using Identities = std::span<const Identity>;

// Of the files of ops that have some; at most one for each op.
Identities arithmetic_identities();
Identities math_identities();
Identities compare_identities();
Identities cast_identities();
Identities complex_identities();
Identities shape_identities();
Identities broadcast_identities();
Identities reduce_identities();
Identities array_identities();
Identities all_identities();

// The rule of an op, or null.
IdentityRule identity_rule_of(const OpDef& op);

// --- What rules are made of ---

// Whether a value is a constant whose elements all are `number`, whose sign counts if it is zero. Complex numbers are
// never.
bool is_all(const Expressions& graph, Expressions::Value value, double number);

// The operand of f(f(x)), for an f that is its own inverse.
Expressions::Value undone(const Expressions& graph, const Expressions::Call& call);
// f(x) of f(f(x)), for an f that changes nothing twice.
Expressions::Value done_before(const Expressions& graph, const Expressions::Call& call);
// The first operand: for calls that change nothing if they leave as many elements as there were.
Expressions::Value first_operand(const Expressions& graph, const Expressions::Call& call);
// The operand of f(x, x).
Expressions::Value both_operands(const Expressions& graph, const Expressions::Call& call);

}  // namespace capstan
