// The state of an optimizer: its rule, the slots, and what an update goes through.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capstan/optimizers.h"
#include "capstan/update_rule.h"
#include "src/core/step_loop.h"

namespace capstan::detail {

class OptimizerState;

// What a LossScaleOptimizer has instead of slots (loss_scale_optimizer.cc).
struct LossScaling {
  std::shared_ptr<OptimizerState> inner;  // makes the updates
  int growth_steps;
  Variable good_steps;  // int64, since the scale changed
  Variable scale;       // float32
};

class OptimizerState : public std::enable_shared_from_this<OptimizerState> {
 public:
  // Throws ValueError for settings that make no sense. Without a name it gets one.
  OptimizerState(std::shared_ptr<const UpdateRule> rule, std::string name);

  void build(std::span<const Variable> variables);
  void apply(std::span<const Tensor> gradients, std::span<const Variable> variables);
  void finalize();

  static OptimizerState& of(const Optimizer& optimizer) { return *optimizer.state_; }
  bool is_built() const { return !index_.empty(); }

  // The optimizer that makes the updates: this one, unless it only scales the loss of another.
  OptimizerState& updating() { return scaling_ == nullptr ? *this : *scaling_->inner; }
  const LossScaling* scaling() const { return scaling_.get(); }

  // Updates so far; the raw counter also counts steps that only accumulated.
  std::int64_t iterations() const { return accumulation == 0 ? raw_iterations : raw_iterations / accumulation; }
  double learning_rate() const { return settings.learning_rate(raw_iterations); }

  const std::shared_ptr<const UpdateRule> rule;
  OptimizerOptions settings;
  int accumulation = 0, overwrite_frequency = 0;  // of the settings; 0: none
  std::string name;
  std::int64_t raw_iterations = 0;
  std::vector<std::string> not_decayed;
  std::vector<GradientHook> hooks;
  std::vector<Variable> averages, accumulators;
  std::vector<Variable> slots;  // of the rule, in Keras's order
  // What was restored before there were slots (optimizer_save.cc).
  std::map<std::string, Tensor> restored_slots;

  // The variables that it was built for.
  std::vector<Variable> targets() const {
    std::vector<Variable> list;
    for (const Stepped& one : stepped_) list.push_back(one.slots[0]);
    return list;
  }

  // All of these variables under the names that they are saved by.
  std::vector<std::pair<std::string, Variable>> named_slots() const;

 private:
  // A variable of the optimizer.
  struct Stepped {
    std::vector<Variable> slots;  // the variable, and those of the rule for it
    RecordedStep recorded;
    std::optional<double> decay;
  };
  struct Part {
    std::size_t index;  // of the variable
    Tensor gradient;
  };

  const Variable& variable(std::size_t i) const { return stepped_[i].slots[0]; }
  void check_settings();
  // Null for a rule that updates variables itself. Errors: ValueError for an inner optimizer that scales, too.
  std::unique_ptr<LossScaling> make_scaling() const;
  // A slot of variable i: copies of it, or one value everywhere.
  Variable make_slot(std::size_t i, const std::string& slot_name, std::optional<double> initial,
                     const std::optional<Shape>& given_shape = {}) const;
  void make_slots();
  // Errors: ValueError if they are not those of the variables.
  void take_restored_slots();
  void record();
  StepFormula formula() const;
  void check_handle(const Variable& variable, std::size_t position) const;
  std::size_t index_of(const Variable& variable, std::size_t guess) const;
  void collect(std::span<const Tensor> gradients, std::span<const Variable> variables);
  void warn_of_missing(std::span<const Tensor> gradients, std::span<const Variable> variables);

  // Without asking a schedule.
  std::size_t number_count(DType dtype) const { return rule->numbers({1, 1, dtype}).size(); }
  void apply_scaled(std::span<const Tensor> gradients, std::span<const Variable> variables);
  void update(double rate);
  void update_plainly(const Part& part, const Numbers& numbers);
  // The formula op by op, on current values.
  void run_formula(const Part& part, std::span<const Tensor> numbers);
  bool accumulate();
  // Undoes the scaling of the loss.
  void unscale();
  void clip();
  void call_hooks();
  // Of the variables of one dtype only, if one is given.
  void decay(const Operand& learning_rate, std::optional<DType> only = {});
  void average();
  void constrain();

  // The same as part of a traced function (optimizer_trace.cc).
  void apply_in_trace();
  void update_in_trace();
  void update_in_trace(DType dtype);
  std::vector<Tensor> numbers_in_trace(DType dtype);
  Tensor accumulate_in_trace();
  void average_in_trace();
  // What a step of the program gives at every call of a function.
  Tensor host_number(double (*number)(const OptimizerState& state), DType dtype = float32);

  std::unique_ptr<LossScaling> scaling_;
  std::string op_;  // how messages and profiles name an update
  bool is_plain_;   // nothing but the rule itself
  Elsewhere elsewhere_;
  bool has_warned_ = false;
  std::vector<Stepped> stepped_;
  std::unordered_map<const void*, std::size_t> index_;
  std::vector<Part> parts_;  // of the update in progress; kept for its memory
};

}  // namespace capstan::detail
