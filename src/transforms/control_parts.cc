#include "src/transforms/control_parts.h"

#include <algorithm>
#include <utility>

#include "src/core/apply.h"
#include "src/core/context.h"
#include "src/core/variable_state.h"
#include "src/graph/tracer.h"

namespace capstan {

std::vector<ControlParts::Argument> ControlParts::arguments(std::size_t first, std::size_t count) const {
  std::vector<Argument> arguments;
  for (std::size_t i = first; i < first + count; ++i) arguments.push_back({i, {slots_[i].dtype(), slots_[i].shape()}});
  return arguments;
}

Subgraph ControlParts::trace(std::string name, std::span<const Argument> arguments, const detail::FunctionBody& body,
                             std::shared_ptr<void>* structure) {
  Subgraph part{std::move(name), {}, {}, {}};
  std::vector<Tensor> captures;
  {
    GraphTracer tracer(std::string(op_), GraphTracer::OfPart{});
    std::vector<Tensor> tensors;
    for (const Argument& argument : arguments) {
      tensors.push_back(tracer.add_argument(argument.spec.dtype, argument.spec.shape));
    }
    const std::shared_ptr<void> rest = body(tensors);
    if (structure != nullptr) *structure = rest;
    part.graph = tracer.finish(tensors);
    captures = tracer.captures();
  }
  tidy(part.graph);
  for (const Argument& argument : arguments) part.from.push_back(argument.slot);
  for (const Tensor& tensor : captures) part.from.push_back(slot_of(tensor));
  for (const Graph::Captured& captured : part.graph.captured) {
    part.from.push_back(slot_of(captured.variable));
    if (captured.written != Graph::kNone) part.written.push_back(part.from.back());
  }
  return part;
}

std::size_t ControlParts::slot_of(const Tensor& tensor) {
  // Not among those of arguments and variables: what is there may change from one iteration to the next.
  for (std::size_t i = captured_from_; i < slots_.size(); ++i) {
    const auto holds = [i](const Captured& captured) { return captured.slot == i; };
    if (slots_[i].block() == tensor.block() && std::none_of(variables_.begin(), variables_.end(), holds)) return i;
  }
  slots_.push_back(tensor);
  return slots_.size() - 1;
}

std::size_t ControlParts::slot_of(const Variable& variable) {
  for (const Captured& captured : variables_) {
    if (captured.variable == variable) return captured.slot;
  }
  detail::VariableState& state = *variable.state();
  notify_read(state);
  variables_.push_back({variable, slots_.size()});
  slots_.push_back(current_value(state));
  return slots_.size() - 1;
}

std::vector<Tensor> ControlParts::finish(const Control& control, std::span<const std::size_t> written) const {
  if (control.outputs.empty() && !control.effects) return {};
  std::vector<Tensor> outputs = call_control(control, slots_, nullptr, false);
  if (control.effects) outputs.erase(outputs.begin());
  const std::size_t results = outputs.size() - written.size();
  const PauseObservers pause;
  for (std::size_t k = 0; k < written.size(); ++k) {
    const auto captured =
        std::find_if(variables_.begin(), variables_.end(), [&](const Captured& c) { return c.slot == written[k]; });
    replace_value(*captured->variable.state(), std::move(outputs[results + k]));
  }
  outputs.resize(results);
  return outputs;
}

}  // namespace capstan
