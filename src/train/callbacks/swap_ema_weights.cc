// SwapEMAWeights.
#include "capstan/callbacks.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"

namespace capstan::callbacks {

namespace {

class SwapBody final : public CallbackBody {
 public:
  explicit SwapBody(bool swap_on_epoch) : swap_on_epoch_(swap_on_epoch) {}

  void on_epoch_end(std::int64_t, Logs&) override {
    if (swap_on_epoch_) swap(true);
  }
  void on_epoch_begin(std::int64_t) override { swap(false); }
  void on_train_end(const Logs&) override { swap(false); }
  void on_test_begin() override { swap(true); }
  void on_test_end(const Logs&) override { swap(false); }
  void on_predict_begin() override { swap(true); }
  void on_predict_end() override { swap(false); }

 private:
  void swap(bool to_averages) {
    if (to_averages == has_averages_) return;
    const std::vector<Variable>& weights = model().trainable_variables();
    const std::vector<Variable> averages = model().optimizer().averages();
    CAPSTAN_CHECK(!averages.empty() && averages.size() == weights.size(), ValueError,
                  "swap_ema_weights: the optimizer has no moving averages of the model's weights",
                  help("give the optimizer use_ema = true, and train a step first"));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const Tensor weight = identity(weights[i].value());
      weights[i].assign(identity(averages[i].value()));
      averages[i].assign(weight);
    }
    has_averages_ = to_averages;
  }

  bool swap_on_epoch_;
  bool has_averages_ = false;
};

}  // namespace

SwapEMAWeights::SwapEMAWeights(bool swap_on_epoch) : Callback(make_configurable<SwapBody>(swap_on_epoch)) {}

}  // namespace capstan::callbacks
