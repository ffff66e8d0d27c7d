// The update of an optimizer as part of a traced function.
//
// What the plain update asks in C++ at every step (the rate, the number of the step, whether this is the n-th one) is
// asked at every call, as numbers from outside. A trace has no branches: where the plain update does nothing in a step,
// the traced one computes everything and keeps what was there, by where(). Results have the same bits.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/host.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/variable_state.h"
#include "src/train/optimizer_state.h"

namespace capstan {

using detail::OptimizerState;

namespace {

// What variables hold, to go back to it.
class Holdings {
 public:
  void add(std::span<const Variable> variables) {
    for (const Variable& variable : variables) kept_.push_back({variable, current_value(*variable.state())});
  }
  // Where the condition is false, what has changed since gets its value back.
  void keep_unless(const Tensor& condition) const {
    for (const auto& [variable, before] : kept_) {
      const Tensor now = current_value(*variable.state());
      if (now.block() != before.block()) variable.assign(where(condition, now, before));
    }
  }

 private:
  std::vector<std::pair<Variable, Tensor>> kept_;
};

bool is_update(const OptimizerState& state) { return (state.raw_iterations + 1) % state.accumulation == 0; }

bool is_overwrite(const OptimizerState& state) { return (state.iterations() + 1) % state.overwrite_frequency == 0; }

// Before the first update has been counted the average is the variable itself.
double momentum_of(const OptimizerState& state) { return state.iterations() == 0 ? 0 : state.settings.ema_momentum; }

}  // namespace

Tensor OptimizerState::host_number(double (*number)(const OptimizerState& state), DType dtype) {
  return host_value([state = shared_from_this(), number] { return number(*state); }, dtype);
}

void OptimizerState::apply_in_trace() {
  unscale();
  if (accumulation == 0) {
    update_in_trace();
  } else {
    const Tensor updates = accumulate_in_trace();
    Holdings before;
    for (const Stepped& of : stepped_) before.add(of.slots);
    update_in_trace();
    before.keep_unless(updates);
  }
  if (settings.use_ema) average_in_trace();
  constrain();
  parts_.clear();
  const auto state = shared_from_this();
  host_value([state] { return static_cast<double>(++state->raw_iterations); }, float64, true);
}

void OptimizerState::update_in_trace() {
  clip();
  call_hooks();
  for (const DType dtype : {float32, float64}) {
    const auto has_dtype = [&](const Part& part) { return part.gradient.dtype() == dtype; };
    if (std::none_of(parts_.begin(), parts_.end(), has_dtype)) continue;
    const auto decays = [&](const Part& part) { return has_dtype(part) && stepped_[part.index].decay.has_value(); };
    if (std::any_of(parts_.begin(), parts_.end(), decays)) {
      decay(host_number([](const OptimizerState& state) { return state.learning_rate(); }, dtype), dtype);
    }
    update_in_trace(dtype);
  }
}

// The rule is asked once in every call, by the first number, which comes before the others.
std::vector<Tensor> OptimizerState::numbers_in_trace(DType dtype) {
  const auto latest = std::make_shared<Numbers>();
  std::vector<Tensor> numbers;
  for (std::size_t k = 0; k < number_count(dtype); ++k) {
    const auto number = [state = shared_from_this(), latest, dtype, k] {
      if (k == 0) *latest = state->rule->numbers({state->learning_rate(), state->iterations() + 1, dtype});
      return (*latest)[k];
    };
    numbers.push_back(host_value(number, dtype));
  }
  return numbers;
}

// A rule with one slot at most is written op by op: what computes the gradient may go on with the update, in one loop.
// With more slots the variables of one loop are one node, whose work threads share however it is spread over them.
void OptimizerState::update_in_trace(DType dtype) {
  const std::vector<Tensor> varying = numbers_in_trace(dtype);
  std::vector<const Part*> together;  // that wait for a node
  const auto same_step = [&](const Part& a, const Part& b) {
    const RecordedStep& x = stepped_[a.index].recorded;
    const RecordedStep& y = stepped_[b.index].recorded;
    return x.loop == y.loop;
  };
  const auto trace_together = [&] {
    if (together.empty()) return;
    const RecordedStep& recorded = stepped_[together[0]->index].recorded;
    std::vector<Tensor> numbers = varying;
    numbers.insert(numbers.end(), recorded.constants.begin(), recorded.constants.end());
    std::vector<SteppedVariable> all;
    for (const Part* part : together) all.push_back({stepped_[part->index].slots, part->gradient});
    trace_steps(op_.c_str(), *recorded.loop, elsewhere_, all, numbers);
    together.clear();
  };
  constexpr std::size_t kFewSlots = 2;  // with the variable
  for (const Part& part : parts_) {
    if (part.gradient.dtype() != dtype) continue;
    const Stepped& of = stepped_[part.index];
    const bool by_ops = of.recorded.loop == nullptr || (of.slots.size() <= kFewSlots && !part.gradient.is_row_sparse());
    if (by_ops) {
      run_formula(part, varying);
      continue;
    }
    if (!together.empty() && !same_step(part, *together[0])) trace_together();
    together.push_back(&part);
  }
  trace_together();
}

// Adds to the accumulators; in every n-th step the gradients become the means, and the accumulators are empty. Returns
// whether it is one of those.
Tensor OptimizerState::accumulate_in_trace() {
  const Tensor updates = host_number([](const OptimizerState& state) { return is_update(state) ? 1.0 : 0.0; }) > 0.5;
  for (Part& part : parts_) {
    const Variable& sum = accumulators[part.index];
    sum.assign_add(part.gradient);
    part.gradient = sum / accumulation;
  }
  for (const Variable& sum : accumulators) sum.assign(where(updates, zeros_like(sum), sum));
  return updates;
}

void OptimizerState::average_in_trace() {
  Tensor overwrites;
  if (overwrite_frequency > 0) {
    overwrites = host_number([](const OptimizerState& state) { return is_overwrite(state) ? 1.0 : 0.0; }) > 0.5;
  }
  for (const DType dtype : {float32, float64}) {
    const auto has_dtype = [&](const Stepped& of) { return of.slots[0].dtype() == dtype; };
    if (std::none_of(stepped_.begin(), stepped_.end(), has_dtype)) continue;
    const Tensor momentum = host_number(momentum_of, dtype);
    const Tensor rest = host_number([](const OptimizerState& state) { return 1 - momentum_of(state); }, dtype);
    for (std::size_t i = 0; i < stepped_.size(); ++i) {
      if (!has_dtype(stepped_[i])) continue;
      averages[i].assign(averages[i] * momentum + variable(i) * rest);
      if (overwrites.has_value()) variable(i).assign(where(overwrites, averages[i].value(), variable(i).value()));
    }
  }
}

}  // namespace capstan
