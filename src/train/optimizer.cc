// The part of an update that all optimizers share.
//
// Keras's order: drop missing gradients, undo the loss scale, accumulate, clip, decay, update, average, constrain,
// count. An optimizer without such options goes straight to its rule: an update of a few small variables costs little
// more than their arithmetic.
#include "capstan/optimizers.h"

#include <algorithm>
#include <cstdio>

#include "capstan/ops/array.h"
#include "capstan/ops/host.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/optimizer.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/live.h"
#include "src/core/row_sparse.h"
#include "src/core/variable_state.h"
#include "src/train/layer_state.h"
#include "src/train/optimizer_state.h"

namespace capstan {

using detail::OptimizerState;
using detail::VariableState;

OptimizerState::OptimizerState(const char* type_name, OptimizerSettings given)
    : settings(std::move(given)), name(automatic_name(type_name)) {
  const OptimizerSettings& s = settings;
  CAPSTAN_CHECK(int{s.clipnorm.has_value()} + int{s.clipvalue.has_value()} + int{s.global_clipnorm.has_value()} <= 1,
                ValueError, name, ": at most one of clipnorm, clipvalue and global_clipnorm can be given");
  if (s.use_ema) {
    CAPSTAN_CHECK(s.ema_momentum >= 0 && s.ema_momentum <= 1, ValueError, name,
                  ": ema_momentum must be between 0 and 1, not ", s.ema_momentum);
    CAPSTAN_CHECK(s.ema_overwrite_frequency >= 0, ValueError, name,
                  ": ema_overwrite_frequency must not be negative, but is ", s.ema_overwrite_frequency);
  }
  CAPSTAN_CHECK(s.gradient_accumulation_steps == 0 || s.gradient_accumulation_steps >= 2, ValueError, name,
                ": gradient_accumulation_steps must be at least 2, not ", s.gradient_accumulation_steps);
  CAPSTAN_CHECK(!s.loss_scale_factor || *s.loss_scale_factor > 0, ValueError, name,
                ": loss_scale_factor must be positive, not ", *s.loss_scale_factor);
  is_plain_ = !s.weight_decay && !s.clipnorm && !s.clipvalue && !s.global_clipnorm && !s.use_ema &&
              !s.loss_scale_factor && s.gradient_accumulation_steps == 0;
}

OptimizerState::~OptimizerState() = default;

Variable OptimizerState::make_slot(std::size_t i, const char* slot_name, bool copy) const {
  const CreateVariables create;
  const Variable& variable = variables_[i];
  std::string path = variable.path();
  std::replace(path.begin(), path.end(), '/', '_');
  path += "_";
  path += slot_name;
  const Tensor initial = copy ? variable.value() : zeros(variable.shape(), variable.dtype());
  Variable slot(initial, {.trainable = false, .name = path});
  slot.set_path(name + "/" + path);
  return slot;
}

void OptimizerState::build(std::span<const Variable> variables) {
  if (!index_.empty()) {
    for (std::size_t i = 0; i < variables.size(); ++i) index_of(variables[i], i);
    return;
  }
  CAPSTAN_CHECK(!variables.empty(), ValueError, name, ": the list of variables is empty",
                help("the variables of a model exist after its first call"));
  for (std::size_t i = 0; i < variables.size(); ++i) check_handle(variables[i], i);
  PauseObservers pause;
  variables_.assign(variables.begin(), variables.end());
  try {
    for (std::size_t i = 0; i < variables_.size() && settings.use_ema; ++i)
      averages.push_back(make_slot(i, "average", true));
    for (std::size_t i = 0; i < variables_.size() && settings.gradient_accumulation_steps > 0; ++i) {
      accumulators.push_back(make_slot(i, "gradient_accumulator"));
    }
    make_slots();
    for (std::size_t i = 0; i < variables_.size(); ++i) index_.emplace(variables_[i].state(), i);
  } catch (...) {
    // As before: the next call builds.
    index_.clear();
    for (std::vector<Variable>* list : {&variables_, &averages, &accumulators, &slots}) list->clear();
    throw;
  }
}

void OptimizerState::check_handle(const Variable& variable, std::size_t position) const {
  CAPSTAN_CHECK(variable.has_value(), ValueError, name, ": variable ", position, " is an empty handle",
                help("a member of a layer is one until build() has made it"));
}

// The number of a variable; usually the lists come in the same order every time, and the guess is right.
std::size_t OptimizerState::index_of(const Variable& variable, std::size_t guess) const {
  if (guess < variables_.size() && variables_[guess] == variable) return guess;
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
  std::fprintf(stderr, "capstan: warning: %s: no gradients for %s; they stay as they are\n", name.c_str(),
               paths.c_str());
}

void OptimizerState::apply(std::span<const Tensor> gradients, std::span<const Variable> variables) {
  CAPSTAN_CHECK(gradients.size() == variables.size(), ValueError, name, ": ", gradients.size(), " gradients for ",
                variables.size(), " variables");
  build(variables);
  PauseObservers pause;
  collect(gradients, variables);
  CAPSTAN_CHECK(!parts_.empty(), ValueError, name, ": all gradients are missing",
                help("tape.explain(loss, variable) says why"));
  if (parts_.size() < gradients.size()) warn_of_missing(gradients, variables);
  if (inside_function()) return trace_update();
  const double rate = learning_rate();
  const std::int64_t step = iterations() + 1;
  if (is_plain_) {
    for (Part& part : parts_) update(part.index, part.gradient, rate, step);
  } else {
    unscale();
    if (accumulate()) {
      clip();
      decay(rate);
      for (Part& part : parts_) update(part.index, part.gradient, rate, step);
    }
    if (settings.use_ema) average();
  }
  constrain();
  parts_.clear();
  ++raw_iterations;
}

void OptimizerState::unscale() {
  if (!settings.loss_scale_factor) return;
  for (Part& part : parts_) {
    part.gradient = on_values(part.gradient, [&](const Tensor& x) { return x / *settings.loss_scale_factor; });
  }
}

// Adds to the accumulators, or, in every n-th step, takes the mean out of them; true then.
bool OptimizerState::accumulate() {
  const int steps = settings.gradient_accumulation_steps;
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

void OptimizerState::decay(const Operand& learning_rate, std::optional<DType> only) {
  if (!settings.weight_decay) return;
  for (const Part& part : parts_) {
    const Variable& variable = variables_[part.index];
    const bool excluded = std::any_of(not_decayed.begin(), not_decayed.end(), [&](const std::string& text) {
      return variable.path().find(text) != std::string::npos;
    });
    if (!excluded && (!only || variable.dtype() == *only)) {
      variable.assign_sub(variable * *settings.weight_decay * learning_rate);
    }
  }
}

void OptimizerState::average() {
  // Before the first update has been counted the average is the variable itself.
  const double momentum = iterations() == 0 ? 0 : settings.ema_momentum;
  const int frequency = settings.ema_overwrite_frequency;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    averages[i].assign(averages[i] * momentum + variables_[i] * (1 - momentum));
    if (frequency > 0 && (iterations() + 1) % frequency == 0) variables_[i].assign(averages[i]);
  }
}

// After the averages, which so hold what the constraint has not touched: Keras's order.
void OptimizerState::constrain() {
  for (const Part& part : parts_) {
    const Variable& variable = variables_[part.index];
    const VariableState& state = *variable.state();
    if (state.constraint) variable.assign(state.constraint(current_value(*variable.state())));
  }
}

void OptimizerState::finalize() {
  for (std::size_t i = 0; i < averages.size(); ++i) variables_[i].assign(averages[i].value());
}

// --- The handle ---

void Optimizer::apply_gradients(std::span<const Tensor> gradients, std::span<const Variable> variables) const {
  state_->apply(gradients, variables);
}

void Optimizer::build(std::span<const Variable> variables) const { state_->build(variables); }

std::int64_t Optimizer::iterations() const { return state_->iterations(); }

double Optimizer::learning_rate() const { return state_->learning_rate(); }

void Optimizer::set_learning_rate(double rate) const {
  CAPSTAN_CHECK(!state_->settings.learning_rate.is_schedule(), ValueError, state_->name,
                ": the learning rate is a schedule and cannot be set to ", rate);
  state_->settings.learning_rate = rate;
}

std::vector<Variable> Optimizer::variables() const {
  std::vector<Variable> all = state_->averages;
  all.insert(all.end(), state_->accumulators.begin(), state_->accumulators.end());
  all.insert(all.end(), state_->slots.begin(), state_->slots.end());
  return all;
}

void Optimizer::exclude_from_weight_decay(const std::vector<std::string>& texts) const {
  state_->not_decayed.insert(state_->not_decayed.end(), texts.begin(), texts.end());
}

void Optimizer::finalize_variable_values() const { state_->finalize(); }

const std::string& Optimizer::name() const { return state_->name; }

}  // namespace capstan
