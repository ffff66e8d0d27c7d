#include "src/ops/identities.h"

#include <cstring>

#include "src/core/apply.h"
#include "src/core/backend.h"

namespace capstan {

bool is_all(const Expressions& graph, Expressions::Value value, double number) {
  const Tensor& constant = graph.constant(value);
  // Some stand for a shape alone and have no elements.
  if (!constant.has_value() || constant.size() == 0 || host_elements(constant) == nullptr) return false;
  if (is_complex(constant.dtype()) || constant.dtype() == DType::kBool) return false;
  const Tensor wanted = scalar(number, constant.dtype());
  const auto* const bytes = static_cast<const std::byte*>(constant.raw_data());
  const std::size_t size = size_of(constant.dtype());
  return std::memcmp(bytes, wanted.raw_data(), size) == 0 &&
         std::memcmp(bytes, bytes + size, static_cast<std::size_t>(constant.size() - 1) * size) == 0;
}

Expressions::Value undone(const Expressions& graph, const Expressions::Call& call) {
  const Expressions::Call* const maker = graph.maker(call.input(0));
  return maker != nullptr && maker->op == call.op ? maker->input(0) : Expressions::kNone;
}

Expressions::Value done_before(const Expressions& graph, const Expressions::Call& call) {
  const Expressions::Call* const maker = graph.maker(call.input(0));
  return maker != nullptr && maker->op == call.op ? call.input(0) : Expressions::kNone;
}

Expressions::Value first_operand(const Expressions&, const Expressions::Call& call) { return call.input(0); }

Expressions::Value both_operands(const Expressions&, const Expressions::Call& call) {
  return call.input(0) == call.input(1) ? call.input(0) : Expressions::kNone;
}

}  // namespace capstan
