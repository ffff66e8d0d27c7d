// Comparisons, logic, bits, and choices by truth values.
#include "capstan/ops/array.h"
#include "capstan/ops/bitwise.h"
#include "capstan/ops/math.h"

#include "src/onnx/elementwise.h"

namespace capstan::onnx {
namespace {

template <Tensor (*F)(Operand, Operand)>
void compare(NodeCall& call) {
  const Pair pair = aligned(call.value(0), call.value(1));
  call.give(F(pair.a, pair.b), pair.channels_last);
}

template <Tensor (*F)(Operand)>
void unary(NodeCall& call) {
  const Value& x = call.value(0);
  call.give(F(x.tensor), x.channels_last);
}

void shift(NodeCall& call) {
  const Tensor x = call.tensor(0), y = call.tensor(1);
  // By more places than there are bits, every bit has left; so it has for a negative number of places.
  const auto bits = static_cast<std::int64_t>(8 * size_of(x.dtype()));
  const Tensor wide = cast(y, int64);
  const Tensor is_within = logical_and(wide >= 0, wide < bits);
  if (call.text("direction", "") == "LEFT") return call.give(where(is_within, left_shift(x, y), zeros_like(x)));
  const Tensor sign_bits = where(x < zeros_like(x), invert(zeros_like(x)), zeros_like(x));
  call.give(where(is_within, right_shift(x, y), sign_bits));
}

void choose(NodeCall& call) { call.give(where(call.tensor(0), call.tensor(1), call.tensor(2))); }

constexpr Operator kLogicOperators[] = {
    {"And", compare<logical_and>},
    {"BitShift", shift},
    {"BitwiseAnd", compare<bitwise_and>},
    {"BitwiseNot", unary<invert>},
    {"BitwiseOr", compare<bitwise_or>},
    {"BitwiseXor", compare<bitwise_xor>},
    {"Equal", compare<equal>},
    {"Greater", compare<greater>},
    {"GreaterOrEqual", compare<greater_equal>},
    {"Less", compare<less>},
    {"LessOrEqual", compare<less_equal>},
    {"Not", unary<logical_not>},
    {"Or", compare<logical_or>},
    {"Where", choose},
    {"Xor", compare<logical_xor>},
};

}  // namespace

std::span<const Operator> logic_operators() { return kLogicOperators; }

}  // namespace capstan::onnx
