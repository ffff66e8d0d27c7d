// Adam and AdamW.
#include "capstan/ops/optimizer.h"
#include "capstan/optimizers.h"
#include "src/train/optimizer_state.h"

namespace capstan::optimizers {

namespace {

class AdamState : public detail::OptimizerState {
 public:
  AdamState(const char* type_name, const AdamOptions& options)
      : OptimizerState(type_name, detail::common_settings(options)),
        step_{.beta_1 = options.beta_1, .beta_2 = options.beta_2, .epsilon = options.epsilon},
        amsgrad_(options.amsgrad) {}

 protected:
  // Both slots of one variable, then those of the next; the largest velocities come last, as a block.
  void make_slots() override {
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      slots.push_back(make_slot(i, "momentum"));
      slots.push_back(make_slot(i, "velocity"));
    }
    for (std::size_t i = 0; i < variables_.size() && amsgrad_; ++i) slots.push_back(make_slot(i, "velocity_hat"));
  }

  void update(std::size_t i, const Tensor& gradient, double learning_rate, std::int64_t step) override {
    step_.learning_rate = learning_rate;
    step_.step = step;
    adam_update(variables_[i], slots[2 * i], slots[2 * i + 1], gradient, step_, largest(i));
  }

  void trace_update(std::span<const Part> parts, const Tensor& rate) override {
    std::vector<AdamVariable> all;
    for (const auto& [i, gradient] : parts) {
      all.push_back({variables_[i], slots[2 * i], slots[2 * i + 1], gradient, largest(i)});
    }
    adam_update(all, rate, step_);
  }
  double traced_rate(DType dtype) const override {
    AdamStep step = step_;
    step.learning_rate = learning_rate();
    step.step = iterations() + 1;
    return adam_rate(step, dtype);
  }

 private:
  const Variable& largest(std::size_t i) const { return amsgrad_ ? slots[2 * variables_.size() + i] : none_; }

  AdamStep step_;
  bool amsgrad_;
  Variable none_;
};

AdamOptions with_weight_decay(AdamOptions options) {
  if (!options.weight_decay) options.weight_decay = 0.004;
  return options;
}

}  // namespace

Adam::Adam(const AdamOptions& options) : Optimizer(std::make_shared<AdamState>("adam", options)) {}

AdamW::AdamW(const AdamOptions& options)
    : Optimizer(std::make_shared<AdamState>("adam_w", with_weight_decay(options))) {}

}  // namespace capstan::optimizers
