#include "src/core/profiler.h"

#include <algorithm>
#include <utility>

#include "src/core/apply.h"

namespace capstan {

constinit std::atomic<Profiler*> current_profiler{nullptr};

[[gnu::cold]] void Span::open(SpanKind kind, std::string_view name, std::span<detail::Block* const> inputs) {
  if (kind != SpanKind::kOp && context.tracer != nullptr) return;
  id_ = profiler_->open(kind, name, inputs);
}

[[gnu::cold]] void Span::close(std::span<const Tensor> outputs) {
  if (id_ == 0) return;
  const bool traced = std::any_of(outputs.begin(), outputs.end(), [](const Tensor& output) {
    return output.has_value() && is_symbolic(output.block());
  });
  profiler_->close(std::exchange(id_, 0), outputs, !traced);
}

}  // namespace capstan
