// What identity rules are made of (IdentityRule in src/core/op_for_programs.h); a rule is in the file of its op.
#pragma once

#include "src/core/op_for_programs.h"

namespace capstan {

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
