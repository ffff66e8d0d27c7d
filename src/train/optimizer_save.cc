// The state of an optimizer as named tensors.
//
// Slots are numbered in Keras's order. An optimizer that was just made has none before its first update, when it gets
// to know its variables; what it is given before waits for that.
#include <algorithm>

#include "src/core/check.h"
#include "src/train/named_state.h"
#include "src/train/optimizer_state.h"

namespace capstan {

using detail::OptimizerState;

namespace {

constexpr const char* kSlots = "variables/";

class OptimizerStateBody final : public StateBody {
 public:
  explicit OptimizerStateBody(const Optimizer& optimizer) : optimizer_(optimizer) {}

  NamedTensors save() const override {
    const OptimizerState& state = its();
    NamedTensors saved = state.restored_slots;
    saved.emplace("iterations", detail::saved_number(state.raw_iterations));
    if (has_rate()) saved.emplace("learning_rate", detail::saved_number(state.settings.learning_rate(0)));
    for (const auto& [name, variable] : variables()) saved.emplace(name, variable.value());
    return saved;
  }

  StateDifference compare(const NamedTensors& saved) const override {
    NamedTensors own = save();
    if (!its().is_built()) {
      // Whether these fit is known when the slots are made.
      std::erase_if(own, [](const auto& item) { return item.first.starts_with(kSlots); });
      for (const auto& [name, tensor] : saved) {
        if (name.starts_with(kSlots)) own.insert_or_assign(name, tensor);
      }
    }
    StateDifference difference = detail::compare_tensors(own, saved);
    if (const auto found = saved.find("iterations"); found != saved.end() && difference.mismatched.empty()) {
      const auto count = found->second.item<std::int64_t>();
      if (count < 0) difference.mismatched.push_back(detail::join("\"iterations\" is negative: ", count));
    }
    return difference;
  }

  void restore(const NamedTensors& saved) override {
    OptimizerState& state = its();
    for (const auto& [name, variable] : variables()) {
      if (const auto found = saved.find(name); found != saved.end()) variable.assign(found->second);
    }
    if (!state.is_built()) {
      state.restored_slots.clear();
      for (const auto& [name, tensor] : saved) {
        if (name.starts_with(kSlots)) state.restored_slots.emplace(name, tensor);
      }
    }
    if (const auto found = saved.find("iterations"); found != saved.end()) {
      state.raw_iterations = std::max<std::int64_t>(0, found->second.item<std::int64_t>());
    }
    if (const auto found = saved.find("learning_rate"); found != saved.end() && has_rate()) {
      state.settings.learning_rate = found->second.item<double>();
    }
  }

  StateOwner owner() const override { return {.optimizer = &optimizer_}; }

 private:
  // The optimizer that makes the updates.
  OptimizerState& its() const { return OptimizerState::of(optimizer_).updating(); }
  bool has_rate() const { return !its().settings.learning_rate.is_schedule(); }

  std::vector<std::pair<std::string, Variable>> variables() const {
    std::vector<std::pair<std::string, Variable>> list = its().named_slots();
    if (const detail::LossScaling* scaling = OptimizerState::of(optimizer_).scaling()) {
      list.emplace_back("good_steps", scaling->good_steps);
      list.emplace_back("scale", scaling->scale);
    }
    return list;
  }

  Optimizer optimizer_;
};

}  // namespace

std::vector<std::pair<std::string, Variable>> OptimizerState::named_slots() const {
  std::vector<std::pair<std::string, Variable>> list;
  for (const std::vector<Variable>* slots_of : {&averages, &accumulators, &slots}) {
    for (const Variable& slot : *slots_of) list.emplace_back(kSlots + std::to_string(list.size()), slot);
  }
  return list;
}

void OptimizerState::take_restored_slots() {
  if (restored_slots.empty()) return;
  NamedTensors own;
  for (const auto& [slot_name, slot] : named_slots()) own.emplace(slot_name, slot.value());
  const StateDifference difference = detail::compare_tensors(own, restored_slots);
  std::string lines;
  for (const auto* list : {&difference.missing, &difference.left_over, &difference.mismatched}) {
    for (const std::string& line : *list) lines += "\n  " + line;
  }
  CAPSTAN_CHECK(lines.empty(), ValueError, name, ": the slots that were restored are not those of its variables",
                lines);
  for (const auto& [slot_name, slot] : named_slots()) slot.assign(restored_slots.at(slot_name));
  restored_slots.clear();
}

std::shared_ptr<StateBody> detail::state_of(const Optimizer& optimizer) {
  return std::make_shared<OptimizerStateBody>(optimizer);
}

}  // namespace capstan
