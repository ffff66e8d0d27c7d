#include "src/transforms/uses.h"

#include <iterator>
#include <algorithm>

#include "capstan/ops/math.h"
#include "src/core/apply.h"
#include "src/core/variable_state.h"

namespace capstan {

using detail::Block;

std::vector<ObservedInput> observed(std::span<const Tensor> tensors) {
  std::vector<ObservedInput> inputs;
  inputs.reserve(tensors.size());
  for (const Tensor& tensor : tensors) inputs.push_back({tensor.block(), tensor.block()->node});
  return inputs;
}

std::vector<Tensor> copies(std::span<const Tensor> tensors) {
  const PauseObservers pause;
  std::vector<Tensor> own;
  own.reserve(tensors.size());
  for (const Tensor& tensor : tensors) own.push_back(identity(tensor));
  return own;
}

Holdings::~Holdings() {
  // If it is in nobody's place it only goes away: those around it may have changed.
  if (hides_) {
    context.observers = saved_;
  } else {
    leave();
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
  const std::size_t before = captured.size();
  for (const ObservedInput& input : inputs) {
    if (!is_foreign(input)) continue;
    Tensor tensor = share(input.block);
    // Of a row-sparse tensor that somebody watches the call before this one has taken the rows.
    if (tensor.is_row_sparse()) captured.resize(before_last_);
    captured.push_back(std::move(tensor));
  }
  before_last_ = before;
  for (Tensor& output : outputs) {
    if (output.block()->node == 0) output.block()->node = next_nodes(1);
  }
}

bool Uses::knows(const Block* block) const { return may_be_known(block); }

bool Uses::is_foreign(const ObservedInput& input) const {
  if (!may_be_known(input.block, input.node) || !is_differentiable(input.block->dtype)) return false;
  if (input.node != 0 && input.node >= begin_) return false;  // made in the run
  if (is_symbolic(input.block)) return false;                 // of a trace that the run has made and ended
  const auto same = [&](const Tensor& tensor) { return tensor.block() == input.block; };
  return std::none_of(captured.begin(), captured.end(), same) &&
         std::none_of(held.begin(), held.end(), [&](const Held& h) { return same(h.value); });
}

Parameters::Parameters(Uses&& uses) : captured(std::move(uses.captured)), all_held(std::move(uses.held)) {
  std::copy_if(all_held.begin(), all_held.end(), std::back_inserter(held),
               [](const Held& h) { return is_differentiable(h.value.dtype()); });
}

std::vector<Variable> Parameters::variables() const {
  std::vector<Variable> variables;
  for (const Held& h : held) variables.push_back(h.variable);
  return variables;
}

void Parameters::watch(GradientTape& tape) const {
  tape.watch(captured);
  tape.watch(variables());
}

std::vector<Tensor> Parameters::gradients(GradientTape& tape, const std::vector<Tensor>& targets,
                                          std::vector<Tensor> arguments, const GradientOptions& options) const {
  arguments.insert(arguments.end(), captured.begin(), captured.end());
  auto [gradients, of_variables] = tape.gradient(targets, std::pair(std::move(arguments), variables()), options);
  gradients.insert(gradients.end(), of_variables.begin(), of_variables.end());
  return gradients;
}

void Parameters::record(std::span<Tensor> outputs, std::span<const Tensor> arguments, TensorMap rule) const {
  std::vector<Tensor> sources(arguments.begin(), arguments.end());
  sources.insert(sources.end(), captured.begin(), captured.end());
  for (const Held& h : held) sources.push_back(h.value);
  // Those who know the rows of a row-sparse tensor, and not itself, see its conversion.
  for (Tensor& source : sources) source = source.to_dense();
  notify(context.observers, CustomCall{observed(sources), outputs, CustomRule{std::move(rule)}});
}

AsBefore::AsBefore(const std::vector<Held>& held, bool known, bool draws)
    : now_(context.observers), tracer_(context.tracer), behind_(context.behind) {
  if (tracer_ != nullptr && known && (draws || !held.empty())) {
    context.behind = tracer_;
    context.tracer = nullptr;
  }
  for (const Held& before : held) {
    detail::VariableState& state = *before.variable.state();
    if (state.value.block() == before.value.block()) continue;
    now_.held.push_back({before.variable, state.value});
    state.value = before.value;
  }
}

AsBefore::~AsBefore() {
  context.tracer = tracer_;
  context.behind = behind_;
  for (Held& held : now_.held) held.variable.state()->value = std::move(held.value);
}

}  // namespace capstan
