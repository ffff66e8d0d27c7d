#include "src/core/profiler.h"

#include <atomic>
#include <algorithm>
#include <utility>

#include "src/core/apply.h"
#include "src/core/variable_state.h"

namespace capstan {

constinit std::atomic<Profiler*> current_profiler{nullptr};

[[gnu::cold]] void Span::open(SpanKind kind, std::string_view name, std::span<detail::Block* const> inputs,
                              const OpDef* op) {
  if (kind != SpanKind::kOp && context.tracer != nullptr) return;
  id_ = profiler_->open(kind, name, inputs, op);
}

[[gnu::cold]] void Span::close(std::span<const Tensor> outputs) {
  if (id_ == 0) return;
  const bool traced = std::any_of(outputs.begin(), outputs.end(), [](const Tensor& output) {
    return output.has_value() && is_symbolic(output.block());
  });
  profiler_->close(std::exchange(id_, 0), outputs, !traced);
}

std::vector<detail::Block*> blocks_of(std::span<const Operand> operands) {
  std::vector<detail::Block*> blocks;
  for (const Operand& operand : operands) {
    detail::Block* block = nullptr;
    if (operand.kind() == Operand::Kind::kLent) block = operand.lent();
    if (operand.kind() == Operand::Kind::kGiven) block = operand.given()->block();
    if (operand.kind() == Operand::Kind::kVariable && operand.variable() != nullptr)
      block = operand.variable()->value.block();
    blocks.push_back(block);
  }
  return blocks;
}

}  // namespace capstan
