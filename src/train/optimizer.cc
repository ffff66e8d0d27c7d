// The part of an update that all optimizers share.
//
// Keras's order: drop missing gradients, undo the loss scale, accumulate, clip, decay, update, average, constrain,
// count. An optimizer without such options goes straight to its rule: an update of a few small variables costs little
// more than their arithmetic. A rule that was recorded as a loop changes variables and slots where they lie; any other
// runs op by op.
#include "capstan/optimizers.h"

#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/host.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/optimizer.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/hooks.h"
#include "src/core/live.h"
#include "src/core/row_sparse.h"
#include "src/core/variable_state.h"
#include "src/train/layer_state.h"
#include "src/train/optimizer_state.h"

namespace capstan {

using detail::OptimizerState;
using detail::VariableState;

namespace {

// In bfloat16 an update below 1/256 of a weight would be lost, and most updates are.
void check_dtype(const std::string& name, const Variable& variable) {
  const DType dtype = variable.dtype();
  CAPSTAN_CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat64, DTypeError, name, ": variable \"",
                variable.path(), "\" is ", dtype, ", not float32 or float64",
                dtype == DType::kBFloat16
                    ? help("a layer of dtype \"mixed_bfloat16\" computes in bfloat16 and keeps float32 weights")
                    : "");
}

}  // namespace

void OptimizerState::check_handle(const Variable& variable, std::size_t position) const {
  CAPSTAN_CHECK(variable.has_value(), ValueError, name, ": variable ", position, " is an empty handle",
                help("a member of a layer is one until build() has made it"));
}

// The number of a variable; usually the lists come in the same order every time, and the guess is right.
std::size_t OptimizerState::index_of(const Variable& variable, std::size_t guess) const {
  if (guess < stepped_.size() && this->variable(guess) == variable) return guess;
  check_handle(variable, guess);
  const auto found = index_.find(variable.state());
  CAPSTAN_CHECK(found != index_.end(), ValueError, name, ": the variable \"", variable.path(),
                "\" is not one of those of the first update",
                help("make another optimizer, or call build() with all variables first"));
  return found->second;
}

void OptimizerState::collect(std::span<const Tensor> gradients, std::span<const Variable> variables) {
  parts_.clear();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const std::size_t index = index_of(variables[i], i);
    const Tensor& gradient = gradients[i];
    if (!gradient.has_value()) continue;
    const Tensor& value = variables[i].state()->value;
    check_live(name, gradient);
    CAPSTAN_CHECK(gradient.dtype() == value.dtype(), DTypeError, name, ": variable \"", variables[i].path(), "\" is ",
                  value.dtype(), ", its gradient ", gradient.dtype());
    CAPSTAN_CHECK(gradient.shape() == value.shape(), ShapeError, name, ": variable \"", variables[i].path(),
                  "\" has shape ", value.shape(), ", its gradient ", gradient.shape());
    check_dtype(name, variables[i]);
    check_rows(name, gradient);
    parts_.push_back({index, gradient});
  }
}

void OptimizerState::warn_of_missing(std::span<const Tensor> gradients, std::span<const Variable> variables) {
  if (has_warned_) return;
  has_warned_ = true;
  std::string paths;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].has_value()) paths += (paths.empty() ? "" : ", ") + variables[i].path();
  }
  warn(name + ": no gradients for " + paths + "; they stay as they are");
}

void OptimizerState::apply(std::span<const Tensor> gradients, std::span<const Variable> variables) {
  CAPSTAN_CHECK(gradients.size() == variables.size(), ValueError, name, ": ", gradients.size(), " gradients for ",
                variables.size(), " variables");
  build(variables);
  PauseObservers pause;
  if (scaling_ != nullptr) return apply_scaled(gradients, variables);
  collect(gradients, variables);
  CAPSTAN_CHECK(!parts_.empty(), ValueError, name, ": all gradients are missing",
                help("tape.explain(loss, variable) says why"));
  if (parts_.size() < gradients.size()) warn_of_missing(gradients, variables);
  if (inside_function()) return apply_in_trace();
  const double rate = learning_rate();
  if (is_plain_ && hooks.empty()) {
    update(rate);
  } else {
    unscale();
    if (accumulate()) {
      clip();
      call_hooks();
      decay(rate);
      update(rate);
    }
    if (settings.use_ema) average();
  }
  constrain();
  parts_.clear();
  ++raw_iterations;
}

// The numbers are asked for once for each dtype.
void OptimizerState::update(double rate) {
  std::optional<Numbers> narrow, wide;
  for (const Part& part : parts_) {
    const DType dtype = part.gradient.dtype();
    std::optional<Numbers>& numbers = dtype == DType::kFloat64 ? wide : narrow;
    if (!numbers) numbers = rule->numbers({rate, iterations() + 1, dtype});
    update_plainly(part, *numbers);
  }
}

void OptimizerState::update_plainly(const Part& part, const Numbers& numbers) {
  const Stepped& of = stepped_[part.index];
  const DType dtype = part.gradient.dtype();
  if (of.recorded.loop == nullptr) {
    std::vector<Tensor> scalars;
    for (std::size_t k = 0; k < numbers.size(); ++k) scalars.push_back(scalar(numbers[k], dtype));
    return run_formula(part, scalars);
  }
  double wide[8];
  float narrow[8];
  const void* pointers[kMostNumbers];
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    wide[k] = numbers[k];
    narrow[k] = static_cast<float>(numbers[k]);
    pointers[k] = dtype == DType::kFloat64 ? static_cast<const void*>(&wide[k]) : &narrow[k];
  }
  const std::vector<Tensor>& constants = of.recorded.constants;
  for (std::size_t k = 0; k < constants.size(); ++k) pointers[numbers.size() + k] = constants[k].raw_data();
  run_step(op_.c_str(), *of.recorded.loop, elsewhere_, of.slots, part.gradient, pointers);
}

// What the formula sees of a row-sparse gradient is the dense one.
void OptimizerState::run_formula(const Part& part, std::span<const Tensor> numbers) {
  const Stepped& of = stepped_[part.index];
  std::vector<Tensor> values;
  for (const Variable& slot : of.slots) values.push_back(current_value(*slot.state()));
  std::vector<Tensor> after = values;
  formula()(values, part.gradient.to_dense(), numbers, after);
  for (std::size_t k = 0; k < of.slots.size(); ++k) {
    const bool changes = after[k].block() != values[k].block();
    values[k] = Tensor();  // so that the variable may be written where it lies
    if (changes) of.slots[k].assign(std::move(after[k]));
  }
}

void OptimizerState::unscale() {
  if (!settings.loss_scale_factor) return;
  for (Part& part : parts_) {
    part.gradient = on_values(part.gradient, [&](const Tensor& x) { return x / *settings.loss_scale_factor; });
  }
}

// Adds to the accumulators, or, in every n-th step, takes the mean out of them; true then.
bool OptimizerState::accumulate() {
  const int steps = accumulation;
  if (steps == 0) return true;
  const bool is_update = (raw_iterations + 1) % steps == 0;
  for (Part& part : parts_) {
    const Variable& sum = accumulators[part.index];
    sum.assign_add(part.gradient);
    if (is_update) part.gradient = sum / steps;
  }
  if (is_update) {
    for (const Variable& sum : accumulators) sum.assign(zeros_like(sum));
  }
  return is_update;
}

// A rule sees what the rows of a table have got together, and so do limits.
void OptimizerState::clip() {
  if (!settings.clipnorm && !settings.clipvalue && !settings.global_clipnorm) return;
  std::vector<Tensor> gradients;
  for (const Part& part : parts_) gradients.push_back(merge_rows(part.gradient));
  if (settings.global_clipnorm) gradients = clip_by_global_norm(gradients, *settings.global_clipnorm).tensors;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Tensor& gradient = parts_[i].gradient;
    gradient = std::move(gradients[i]);
    if (settings.clipnorm) gradient = clip_by_norm(gradient, *settings.clipnorm);
    if (settings.clipvalue) gradient = clip_by_value(gradient, -*settings.clipvalue, *settings.clipvalue);
  }
}

void OptimizerState::call_hooks() {
  if (hooks.empty()) return;
  std::vector<Tensor> gradients;
  std::vector<Variable> variables;
  for (const Part& part : parts_) {
    gradients.push_back(part.gradient);
    variables.push_back(variable(part.index));
  }
  for (const GradientHook& hook : hooks) hook(gradients, variables);
  // The numbers of the parts are those of the variables.
  collect(gradients, variables);
}

void OptimizerState::decay(const Operand& learning_rate, std::optional<DType> only) {
  for (const Part& part : parts_) {
    const std::optional<double>& decay = stepped_[part.index].decay;
    if (!decay) continue;
    const Variable& variable = this->variable(part.index);
    const bool excluded = std::any_of(not_decayed.begin(), not_decayed.end(), [&](const std::string& text) {
      return variable.path().find(text) != std::string::npos;
    });
    if (!excluded && (!only || variable.dtype() == *only)) {
      variable.assign_sub(variable * *decay * learning_rate);
    }
  }
}

void OptimizerState::average() {
  // Before the first update has been counted the average is the variable itself.
  const double momentum = iterations() == 0 ? 0 : settings.ema_momentum;
  const int frequency = overwrite_frequency;
  for (std::size_t i = 0; i < stepped_.size(); ++i) {
    averages[i].assign(averages[i] * momentum + variable(i) * (1 - momentum));
    if (frequency > 0 && (iterations() + 1) % frequency == 0) variable(i).assign(averages[i]);
  }
}

// After the averages, which so hold what the constraint has not touched: Keras's order.
void OptimizerState::constrain() {
  for (const Part& part : parts_) {
    const Variable& variable = this->variable(part.index);
    const VariableState& state = *variable.state();
    if (state.constraint) variable.assign(state.constraint(current_value(*variable.state())));
  }
}

}  // namespace capstan
