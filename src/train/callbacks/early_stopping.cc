// EarlyStopping.
#include <cstdio>

#include "src/core/check.h"
#include "src/train/callbacks/classes.h"
#include "src/train/callbacks/monitor.h"

namespace capstan {
namespace callbacks {

namespace {
constexpr std::string_view kStoppingModes[] = {"auto", "min", "max"};
}

std::span<const OptionField> EarlyStoppingOptions::fields() {
  using O = EarlyStoppingOptions;
  static constexpr OptionField all[] = {option<&O::monitor>("monitor"),
                                        option<&O::min_delta>("min_delta"),
                                        option<&O::patience>("patience").at_least(0),
                                        option<&O::verbose>("verbose"),
                                        option<&O::mode>("mode").one_of(kStoppingModes),
                                        option<&O::baseline>("baseline"),
                                        option<&O::restore_best_weights>("restore_best_weights"),
                                        option<&O::start_from_epoch>("start_from_epoch").at_least(0)};
  return all;
}

namespace {

struct EarlyStoppingBody final : Configured<EarlyStoppingBody, CallbackBody, EarlyStoppingOptions> {
  static constexpr std::string_view kName = "EarlyStopping";
  static constexpr std::string_view kText = "Stops when a value no longer improves.";
  explicit EarlyStoppingBody(const EarlyStoppingOptions& given = {})
      : Configured(given), monitor("early_stopping", options.monitor, options.mode, options.min_delta) {}

  void on_train_begin() override {
    monitor.reset(model());
    wait = stopped_epoch = best_epoch = 0;
    best.reset();
    best_weights.clear();
  }

  void on_epoch_end(std::int64_t epoch, Logs& logs) override {
    const std::optional<double> value = epoch < options.start_from_epoch ? std::nullopt : monitor.read(logs);
    if (!value) return;
    if (options.restore_best_weights && best_weights.empty()) best_weights = model().get_weights();
    ++wait;
    if (monitor.is_better(*value, best)) {
      best = value;
      best_epoch = epoch;
      if (options.restore_best_weights) best_weights = model().get_weights();
      if (!options.baseline || monitor.is_better(*value, options.baseline)) wait = 0;
      return;
    }
    if (wait < options.patience || epoch == 0) return;
    stopped_epoch = epoch;
    model().set_stop_training(true);
  }

  void on_train_end(const Logs&) override {
    if (stopped_epoch > 0 && options.verbose > 0) {
      std::printf("Epoch %lld: early stopping\n", static_cast<long long>(stopped_epoch) + 1);
    }
    if (best_weights.empty()) return;
    if (options.verbose > 0) {
      std::printf("Restoring model weights from the end of the best epoch: %lld.\n",
                  static_cast<long long>(best_epoch) + 1);
    }
    model().set_weights(best_weights);
  }

  AttributeValue found() const override {
    AttributeValue values = AttributeValue::map();
    values.set("best", get_field(best));
    values.set("best_epoch", best_epoch);
    values.set("wait", wait);
    values.set("stopped_epoch", stopped_epoch);
    return values;
  }

  Monitor monitor;
  std::int64_t wait = 0, stopped_epoch = 0, best_epoch = 0;
  std::optional<double> best;
  std::vector<Tensor> best_weights;
};

const EarlyStoppingBody& body_of(const Callback& callback) {
  return static_cast<const EarlyStoppingBody&>(*callback.body());
}

}  // namespace

EarlyStopping::EarlyStopping(const EarlyStoppingOptions& options)
    : Callback(make_configurable<EarlyStoppingBody>(options)) {}
std::int64_t EarlyStopping::stopped_epoch() const { return body_of(*this).stopped_epoch; }
std::int64_t EarlyStopping::best_epoch() const { return body_of(*this).best_epoch; }

}  // namespace callbacks

const ClassInfo& detail::early_stopping_class() { return callbacks::EarlyStoppingBody::info(); }

}  // namespace capstan
