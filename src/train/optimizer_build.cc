// What an optimizer makes of its rule when it is made, and when it gets to know the variables.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/utils.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/train/layer_state.h"
#include "src/train/optimizer_state.h"

namespace capstan {

using detail::OptimizerState;

namespace {

bool have_same_shape(const Variable& a, const Variable& b) { return a.shape() == b.shape(); }

// What record_step() takes: all slots lie element by element beside the variable.
bool have_one_shape(const std::vector<Variable>& slots) {
  return std::all_of(slots.begin(), slots.end(), [&](const Variable& slot) { return have_same_shape(slot, slots[0]); });
}

}  // namespace

OptimizerState::OptimizerState(std::shared_ptr<const UpdateRule> given, std::string given_name)
    : rule(std::move(given)), settings(rule->common_options()), name(std::move(given_name)) {
  check_settings();
  accumulation = settings.gradient_accumulation_steps.value_or(0);
  overwrite_frequency = settings.ema_overwrite_frequency.value_or(0);
  is_plain_ = !settings.clipnorm && !settings.clipvalue && !settings.global_clipnorm && !settings.use_ema &&
              !settings.loss_scale_factor && accumulation == 0;
  elsewhere_ = rule->rests_without_gradient() ? Elsewhere::kNothing : Elsewhere::kZeroGradient;
  const std::string prefix = snake_case(std::string(rule->class_info().name));
  op_ = prefix + "_update";
  if (name.empty()) name = auto_name(prefix);
  scaling_ = make_scaling();
}

void OptimizerState::check_settings() {
  OptimizerOptions& s = settings;
  const std::string_view type = rule->class_info().name;
  // A table of a program's own may have no limits.
  static constexpr auto kRows = optimizer_option_rows<OptimizerOptions>();
  const ClassInfo common{
      UpdateRule::kKind, UpdateRule::kModule, type, {}, [] { return std::span<const OptionField>(kRows); }};
  check_options(common, &s);
  CAPSTAN_CHECK(int{s.clipnorm.has_value()} + int{s.clipvalue.has_value()} + int{s.global_clipnorm.has_value()} <= 1,
                ValueError, type, ": at most one of clipnorm, clipvalue and global_clipnorm can be given");
  // What is allowed has a gap, which a table cannot say.
  CAPSTAN_CHECK(s.gradient_accumulation_steps != 1, ValueError, type,
                ": option \"gradient_accumulation_steps\" must be 0 or at least 2, not 1");
}

Variable OptimizerState::make_slot(std::size_t i, const std::string& slot_name, std::optional<double> initial,
                                   const std::optional<Shape>& given_shape) const {
  const CreateVariables create;
  std::string path = variable(i).path();
  std::replace(path.begin(), path.end(), '/', '_');
  path += "_";
  path += slot_name;
  Tensor value = variable(i).value();
  const Shape shape = given_shape.value_or(value.shape());
  CAPSTAN_CHECK(initial || shape == value.shape(), ShapeError, name, ": slot \"", slot_name, "\" has shape ", shape,
                " and cannot begin as a copy of \"", variable(i).path(), "\" of shape ", value.shape());
  if (initial) value = *initial == 0 ? zeros(shape, value.dtype()) : fill(shape, scalar(*initial, value.dtype()));
  Variable slot(value, {.trainable = false, .name = path});
  slot.set_path(name + "/" + path);
  return slot;
}

// Keras's order: the slots of one variable, then those of the next, and those that are in blocks after them.
void OptimizerState::make_slots() {
  std::vector<std::vector<Slot>> wanted;
  std::size_t most = 0;
  for (Stepped& of : stepped_) {
    wanted.push_back(rule->slots(of.slots[0]));
    of.decay = rule->weight_decay(of.slots[0]);
    if (of.decay) is_plain_ = false;
    most = std::max(most, wanted.back().size());
    of.slots.resize(1 + wanted.back().size());
  }
  const auto make = [&](std::size_t i, std::size_t k) {
    const Slot& slot = wanted[i][k];
    stepped_[i].slots[k + 1] =
        make_slot(i, slot.name, slot.is_copy ? std::optional<double>() : slot.initial, slot.shape);
    slots.push_back(stepped_[i].slots[k + 1]);
  };
  for (std::size_t i = 0; i < stepped_.size(); ++i) {
    for (std::size_t k = 0; k < wanted[i].size(); ++k) {
      if (!wanted[i][k].in_block) make(i, k);
    }
  }
  for (std::size_t k = 0; k < most; ++k) {
    for (std::size_t i = 0; i < stepped_.size(); ++i) {
      if (k < wanted[i].size() && wanted[i][k].in_block) make(i, k);
    }
  }
}

StepFormula OptimizerState::formula() const {
  return [rule = rule](std::span<const Tensor> values, const Tensor& gradient, std::span<const Tensor> numbers,
                       std::span<Tensor> after) {
    UpdateStep step(values, gradient, numbers, after);
    rule->step(step);
  };
}

// The formula may look at shapes, so it is recorded once for each. Where a slot has another shape than the variable
// it cannot be one loop.
void OptimizerState::record() {
  const auto is_same = [](const Stepped& a, const Stepped& b) {
    return a.slots.size() == b.slots.size() && a.slots[0].dtype() == b.slots[0].dtype() &&
           have_same_shape(a.slots[0], b.slots[0]);
  };
  for (std::size_t i = 0; i < stepped_.size(); ++i) {
    Stepped& of = stepped_[i];
    const Shape shape = of.slots[0].shape();
    const DType dtype = of.slots[0].dtype();
    if (dtype != DType::kFloat32 && dtype != DType::kFloat64) continue;
    if (!have_one_shape(of.slots)) continue;
    const auto end = stepped_.begin() + static_cast<std::ptrdiff_t>(i);
    const auto like = std::find_if(
        stepped_.begin(), end, [&](const Stepped& other) { return is_same(other, of) && have_one_shape(other.slots); });
    of.recorded =
        like != end ? like->recorded : record_step(op_, dtype, shape, of.slots.size(), number_count(dtype), formula());
  }
}

void OptimizerState::build(std::span<const Variable> variables) {
  if (scaling_ != nullptr) return scaling_->inner->build(variables);
  if (!index_.empty()) {
    for (std::size_t i = 0; i < variables.size(); ++i) index_of(variables[i], i);
    return;
  }
  CAPSTAN_CHECK(!variables.empty(), ValueError, name, ": the list of variables is empty",
                help("the variables of a model exist after its first call"));
  for (std::size_t i = 0; i < variables.size(); ++i) check_handle(variables[i], i);
  PauseObservers pause;
  for (const Variable& variable : variables) stepped_.push_back({{variable}, {}, {}});
  try {
    for (std::size_t i = 0; i < stepped_.size() && settings.use_ema; ++i) {
      averages.push_back(make_slot(i, "average", {}));
    }
    for (std::size_t i = 0; i < stepped_.size() && accumulation > 0; ++i) {
      accumulators.push_back(make_slot(i, "gradient_accumulator", 0));
    }
    make_slots();
    take_restored_slots();
    record();
    for (std::size_t i = 0; i < stepped_.size(); ++i) index_.emplace(variable(i).state(), i);
  } catch (...) {
    // As before: the next call builds.
    index_.clear();
    stepped_.clear();
    for (std::vector<Variable>* list : {&averages, &accumulators, &slots}) list->clear();
    throw;
  }
}

}  // namespace capstan
