// The handle of an optimizer, and its configuration.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"
#include "src/train/optimizer_state.h"

namespace capstan {

using detail::OptimizerState;

void OptimizerState::finalize() {
  if (!settings.use_ema) return;
  CAPSTAN_CHECK(restored_slots.empty(), ValueError, name,
                ": its moving averages were restored, and wait for the variables that they belong to",
                help("build(variables) hands them over"));
  for (std::size_t i = 0; i < averages.size(); ++i) variable(i).assign(averages[i].value());
}

// --- The handle ---

Optimizer::Optimizer(std::shared_ptr<const UpdateRule> rule, std::string name)
    : state_(std::make_shared<OptimizerState>(std::move(rule), std::move(name))) {}

Optimizer::Optimizer(std::string_view name) : Optimizer(optimizers::get(std::string(name))) {}

void Optimizer::apply_gradients(std::span<const Tensor> gradients, std::span<const Variable> variables) const {
  state_->apply(gradients, variables);
}

void Optimizer::build(std::span<const Variable> variables) const { state_->build(variables); }

std::int64_t Optimizer::iterations() const { return state_->updating().iterations(); }

double Optimizer::learning_rate() const { return state_->updating().learning_rate(); }

void Optimizer::set_learning_rate(double rate) const {
  OptimizerState& state = state_->updating();
  CAPSTAN_CHECK(!state.settings.learning_rate.is_schedule(), ValueError, state.name,
                ": the learning rate is a schedule and cannot be set to ", rate);
  state.settings.learning_rate = rate;
}

std::vector<Variable> Optimizer::variables() const {
  std::vector<Variable> all;
  if (const detail::LossScaling* scaling = state_->scaling()) all = {scaling->good_steps, scaling->scale};
  const OptimizerState& state = state_->updating();
  for (const std::vector<Variable>* list : {&state.averages, &state.accumulators, &state.slots}) {
    all.insert(all.end(), list->begin(), list->end());
  }
  return all;
}

std::vector<Variable> Optimizer::averages() const { return state_->updating().averages; }

void Optimizer::exclude_from_weight_decay(const std::vector<std::string>& texts) const {
  std::vector<std::string>& list = state_->updating().not_decayed;
  list.insert(list.end(), texts.begin(), texts.end());
}

Tensor Optimizer::scale_loss(const Tensor& loss) const {
  if (const detail::LossScaling* scaling = state_->scaling()) return loss * cast(scaling->scale, loss.dtype());
  const std::optional<double> factor = state_->settings.loss_scale_factor;
  return factor ? loss * *factor : loss;
}

void Optimizer::finalize_variable_values() const { state_->updating().finalize(); }

const std::string& Optimizer::name() const { return state_->name; }

void Optimizer::on_gradients(GradientHook hook) const { state_->updating().hooks.push_back(std::move(hook)); }

const UpdateRule& Optimizer::rule() const { return *state_->rule; }

AttributeValue Optimizer::get_config() const {
  const UpdateRule& rule = *state_->rule;
  AttributeValue config = AttributeValue::map();
  config.set("name", state_->name);
  for (auto& [key, value] : config_of(rule.class_info(), rule.options_data()).items) config.set(key, std::move(value));
  if (state_->scaling() == nullptr) config.set("learning_rate", get_field(state_->settings.learning_rate));
  return config;
}

Numbers::Numbers(std::initializer_list<double> numbers) : count_(numbers.size()) {
  CAPSTAN_CHECK(count_ <= numbers_.size(), ValueError, "an update rule has at most ", numbers_.size(),
                " numbers, and this one ", count_);
  std::copy(numbers.begin(), numbers.end(), numbers_.begin());
}

void UpdateStep::throw_missing(const char* what, std::size_t i, std::size_t count) {
  detail::fail<IndexError>("a formula of an update asks for ", what, " ", i, ", but there are ", count, " of them",
                           help("UpdateRule::slots() and numbers() say what there is"));
}

std::vector<Slot> UpdateRule::slots(const Variable&) const { return {}; }
std::optional<double> UpdateRule::weight_decay(const Variable&) const { return common_options().weight_decay; }
Numbers UpdateRule::numbers(const Moment& now) const { return {now.learning_rate}; }

// --- As configurations ---

void set_field(LearningRate& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  if (value.kind == AttributeValue::Kind::kMap) {
    field = schedules::get(value);
    return;
  }
  CAPSTAN_CHECK(value.is_number(), ValueError, owner, ": option \"", name, "\" must be a number or a schedule, not ",
                value.to_string());
  field = value.number;
}

AttributeValue get_field(const LearningRate& field) {
  return field.is_schedule() ? serialize(*field.schedule().body()) : AttributeValue(field(0));
}

Optimizer optimizers::get(const AttributeValue& value) {
  const AttributeValue* const config = value.find("config");
  const AttributeValue* const name = config == nullptr ? nullptr : config->find("name");
  const bool has_name = name != nullptr && name->kind == AttributeValue::Kind::kString;
  return Optimizer(std::static_pointer_cast<UpdateRule>(deserialize("optimizer", value)), has_name ? name->text : "");
}

AttributeValue optimizers::serialize(const Optimizer& optimizer) {
  return capstan::serialize(optimizer.rule(), optimizer.get_config());
}

}  // namespace capstan
