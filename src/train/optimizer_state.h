// The state behind an optimizer, and what a rule implements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "capstan/optimizers.h"

namespace capstan::detail {

// Options that every optimizer has.
struct OptimizerSettings {
  LearningRate learning_rate;
  std::optional<double> weight_decay, clipnorm, clipvalue, global_clipnorm;
  bool use_ema;
  double ema_momentum;
  int ema_overwrite_frequency;
  std::optional<double> loss_scale_factor;
  int gradient_accumulation_steps;
};

template <class Options>
OptimizerSettings common_settings(const Options& o) {
  return {o.learning_rate,     o.weight_decay,
          o.clipnorm,          o.clipvalue,
          o.global_clipnorm,   o.use_ema,
          o.ema_momentum,      o.ema_overwrite_frequency,
          o.loss_scale_factor, o.gradient_accumulation_steps};
}

class OptimizerState : public std::enable_shared_from_this<OptimizerState> {
 public:
  // `type_name` is the class in snake case. Throws ValueError for settings that make no sense.
  OptimizerState(const char* type_name, OptimizerSettings settings);
  virtual ~OptimizerState();

  void build(std::span<const Variable> variables);
  void apply(std::span<const Tensor> gradients, std::span<const Variable> variables);
  void finalize();

  // Updates so far; the raw counter also counts steps that only accumulated.
  std::int64_t iterations() const {
    return settings.gradient_accumulation_steps > 1 ? raw_iterations / settings.gradient_accumulation_steps
                                                    : raw_iterations;
  }
  double learning_rate() const { return settings.learning_rate(raw_iterations); }

  OptimizerSettings settings;
  std::string name;
  std::int64_t raw_iterations = 0;
  std::vector<std::string> not_decayed;
  std::vector<Variable> averages, accumulators;
  std::vector<Variable> slots;  // of the rule, in Keras's order

 protected:
  struct Part {
    std::size_t index;  // of the variable
    Tensor gradient;
  };

  // Makes the rule's slots for all variables.
  virtual void make_slots() = 0;
  // Changes variable number i. `step` counts updates from 1.
  virtual void update(std::size_t i, const Tensor& gradient, double learning_rate, std::int64_t step) = 0;
  // All variables of one dtype, in library ops, for a traced function; `rate` is what traced_rate gives at the call.
  virtual void trace_update(std::span<const Part> parts, const Tensor& rate) = 0;
  virtual double traced_rate(DType) const { return learning_rate(); }

  // A slot of zeros (or copies of the variable) for variable i.
  Variable make_slot(std::size_t i, const char* slot_name, bool copy = false) const;

  std::vector<Variable> variables_;

 private:
  void check_handle(const Variable& variable, std::size_t position) const;
  std::size_t index_of(const Variable& variable, std::size_t guess) const;
  void collect(std::span<const Tensor> gradients, std::span<const Variable> variables);
  void warn_of_missing(std::span<const Tensor> gradients, std::span<const Variable> variables);
  bool accumulate();
  // Undoes the scaling of the loss.
  void unscale();
  void clip();
  // The same as part of a traced function (traced_update.cc).
  void trace_update();
  void trace_rules();
  Tensor trace_accumulation();
  void trace_average();
  // What a step of the program gives at every call of a function.
  Tensor host_number(double (*number)(const OptimizerState& state), DType dtype = float32);
  // Of the variables of one dtype only, if one is given.
  void decay(const Operand& learning_rate, std::optional<DType> only = {});
  void average();
  void constrain();

  bool is_plain_;  // nothing but the rule itself
  bool has_warned_ = false;
  std::unordered_map<const void*, std::size_t> index_;
  std::vector<Part> parts_;  // of the update in progress; kept for its memory
};

}  // namespace capstan::detail
