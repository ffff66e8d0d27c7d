// Gradient descent, with and without momentum.
#include "capstan/ops/optimizer.h"
#include "capstan/optimizers.h"
#include "src/core/check.h"
#include "src/train/optimizer_state.h"

namespace capstan::optimizers {

namespace {

class SGDState : public detail::OptimizerState {
 public:
  explicit SGDState(const SGDOptions& options)
      : OptimizerState("sgd", detail::common_settings(options)),
        momentum_(options.momentum),
        nesterov_(options.nesterov) {
    CAPSTAN_CHECK(momentum_ >= 0 && momentum_ <= 1, ValueError, "sgd: momentum must be between 0 and 1, not ",
                  momentum_);
  }

 protected:
  void make_slots() override {
    for (std::size_t i = 0; i < variables_.size() && momentum_ != 0; ++i) slots.push_back(make_slot(i, "momentum"));
  }

  void update(std::size_t i, const Tensor& gradient, double learning_rate, std::int64_t) override {
    if (momentum_ == 0) {
      sgd_update(variables_[i], gradient, learning_rate);
    } else {
      momentum_update(variables_[i], slots[i], gradient, learning_rate, momentum_, nesterov_);
    }
  }

  void trace_update(std::span<const Part> parts, const Tensor& rate) override {
    std::vector<SGDVariable> all;
    for (const auto& [i, gradient] : parts) {
      all.push_back({variables_[i], gradient, momentum_ == 0 ? Variable() : slots[i]});
    }
    sgd_update(all, rate, momentum_, nesterov_);
  }

 private:
  double momentum_;
  bool nesterov_;
};

}  // namespace

SGD::SGD(const SGDOptions& options) : Optimizer(std::make_shared<SGDState>(options)) {}

}  // namespace capstan::optimizers
