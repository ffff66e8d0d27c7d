#include "src/transforms/uses.h"

#include <algorithm>

#include "src/core/apply.h"
#include "src/core/variable_state.h"

namespace capstan {

using detail::Block;

Holdings::~Holdings() {
  // If it stands in nobody's place it only goes away: those around it may have changed.
  Observer** link = &context.observers;
  while (*link != nullptr && *link != this) link = &(*link)->outer;
  if (hides_) {
    context.observers = saved_;
  } else if (*link == this) {
    *link = outer;
  }
}

void Holdings::read(detail::VariableState& variable) {
  const auto same = [&](const Held& h) { return h.variable.state() == &variable; };
  if (std::none_of(held.begin(), held.end(), same)) held.push_back({Variable::share(&variable), variable.value});
}

void Uses::read(detail::VariableState& variable) {
  for (Observer* o = saved_; o != nullptr; o = o->outer) o->read(variable);
  Holdings::read(variable);
}

void Uses::note(std::span<const ObservedInput> inputs, std::span<Tensor> outputs) {
  for (const ObservedInput& input : inputs) {
    if (is_foreign(input)) captured.push_back(share(input.block));
  }
  for (Tensor& output : outputs) {
    if (output.block()->node == 0) output.block()->node = next_nodes(1);
  }
}

bool Uses::is_foreign(const ObservedInput& input) const {
  const bool known = input.node != 0 || (input.block->flags.load(std::memory_order_relaxed) & Block::kLeaf) != 0;
  if (!known || input.node >= begin_ || !is_differentiable(input.block->dtype)) return false;
  const auto same = [&](const Tensor& tensor) { return tensor.block() == input.block; };
  return std::none_of(arguments_.begin(), arguments_.end(), same) &&
         std::none_of(captured.begin(), captured.end(), same) &&
         std::none_of(held.begin(), held.end(), [&](const Held& h) { return same(h.value); });
}

AsBefore::AsBefore(const std::vector<Held>& held) : now_(context.observers) {
  for (const Held& before : held) {
    detail::VariableState& state = *before.variable.state();
    if (state.value.block() == before.value.block()) continue;
    now_.held.push_back({before.variable, state.value});
    state.value = before.value;
  }
}

AsBefore::~AsBefore() {
  for (Held& held : now_.held) held.variable.state()->value = std::move(held.value);
}

}  // namespace capstan
