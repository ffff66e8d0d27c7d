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

bool is_update(const OptimizerState& state) {
  return (state.raw_iterations + 1) % state.settings.gradient_accumulation_steps == 0;
}

bool is_overwrite(const OptimizerState& state) {
  return (state.iterations() + 1) % state.settings.ema_overwrite_frequency == 0;
}

// Before the first update has been counted the average is the variable itself.
double momentum_of(const OptimizerState& state) { return state.iterations() == 0 ? 0 : state.settings.ema_momentum; }

}  // namespace

Tensor OptimizerState::host_number(double (*number)(const OptimizerState& state), DType dtype) {
  return host_value([state = shared_from_this(), number] { return number(*state); }, dtype);
}

void OptimizerState::trace_update() {
  unscale();
  if (settings.gradient_accumulation_steps == 0) {
    trace_rules();
  } else {
    const Tensor updates = trace_accumulation();
    Holdings before;
    before.add(variables_);
    before.add(slots);
    trace_rules();
    before.keep_unless(updates);
  }
  if (settings.use_ema) trace_average();
  constrain();
  parts_.clear();
  const auto state = shared_from_this();
  host_value([state] { return static_cast<double>(++state->raw_iterations); }, float64, true);
}

void OptimizerState::trace_rules() {
  clip();
  for (const Part& part : parts_) {
    const DType dtype = part.gradient.dtype();
    CAPSTAN_CHECK(dtype == float32 || dtype == float64, DTypeError, name, ": variable \"",
                  variables_[part.index].path(), "\" is ", dtype, ", not float32 or float64");
  }
  const auto state = shared_from_this();
  for (const DType dtype : {float32, float64}) {
    const auto has_dtype = [&](const Part& part) { return part.gradient.dtype() == dtype; };
    if (std::none_of(parts_.begin(), parts_.end(), has_dtype)) continue;
    decay(host_value([state] { return state->learning_rate(); }, dtype), dtype);
    const Tensor rate = host_value([state, dtype] { return state->traced_rate(dtype); }, dtype);
    std::vector<Part> parts;
    for (const Part& part : parts_) {
      if (has_dtype(part)) parts.push_back(part);
    }
    trace_update(parts, rate);
  }
}

// Adds to the accumulators; in every n-th step the gradients become the means, and the accumulators are empty. Returns
// whether it is one of those.
Tensor OptimizerState::trace_accumulation() {
  const Tensor updates = host_number([](const OptimizerState& state) { return is_update(state) ? 1.0 : 0.0; }) > 0.5;
  for (Part& part : parts_) {
    const Variable& sum = accumulators[part.index];
    sum.assign_add(part.gradient);
    part.gradient = sum / settings.gradient_accumulation_steps;
  }
  for (const Variable& sum : accumulators) sum.assign(where(updates, zeros_like(sum), sum));
  return updates;
}

void OptimizerState::trace_average() {
  Tensor overwrites;
  if (settings.ema_overwrite_frequency > 0) {
    overwrites = host_number([](const OptimizerState& state) { return is_overwrite(state) ? 1.0 : 0.0; }) > 0.5;
  }
  for (const DType dtype : {float32, float64}) {
    const auto has_dtype = [&](const Variable& variable) { return variable.dtype() == dtype; };
    if (std::none_of(variables_.begin(), variables_.end(), has_dtype)) continue;
    const Tensor momentum = host_number(momentum_of, dtype);
    const Tensor rest = host_number([](const OptimizerState& state) { return 1 - momentum_of(state); }, dtype);
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      if (!has_dtype(variables_[i])) continue;
      averages[i].assign(averages[i] * momentum + variables_[i] * rest);
      if (overwrites.has_value()) variables_[i].assign(where(overwrites, averages[i].value(), variables_[i].value()));
    }
  }
}

}  // namespace capstan
