// ProgbarLogger: Keras's progress bar (capstan/progbar.h) in a training.
#include <algorithm>
#include <string>

#include "capstan/callbacks.h"
#include "src/train/callbacks/progbar_logger.h"

namespace capstan {

namespace {

class ProgbarBody final : public CallbackBody {
 public:
  explicit ProgbarBody(const callbacks::ProgbarLoggerOptions& options)
      : bar_options_{.stateless_metrics = std::vector<std::string>()} {
    bar_options_.clock = options.clock;
    bar_options_.print = options.print;
  }

  void on_train_begin() override {
    is_training_ = true;
    begin();
  }
  void on_train_end(const Logs&) override { is_training_ = false; }
  void on_epoch_begin(std::int64_t epoch) override {
    reset();
    if (params().verbose != 0 && params().epochs > 1) {
      bar_->print("Epoch " + std::to_string(epoch + 1) + "/" + std::to_string(params().epochs) + "\n");
    }
  }
  void on_train_batch_end(std::int64_t batch, const BatchLogs& logs) override { update(batch, &logs); }
  void on_epoch_end(std::int64_t, Logs& logs) override { finish(logs); }

  // Inside of a training the bar is that of its steps.
  void on_test_begin() override {
    if (!is_training_) begin();
  }
  void on_test_batch_end(std::int64_t batch, const BatchLogs& logs) override {
    if (!is_training_) update(batch, &logs);
  }
  void on_test_end(const Logs& logs) override {
    if (!is_training_) finish(logs);
  }
  void on_predict_begin() override { begin(); }
  void on_predict_batch_end(std::int64_t batch, const Nest&) override { update(batch, nullptr); }
  void on_predict_end() override { finish({}); }

 private:
  void begin() {
    target_ = params().steps;
    reset();
  }

  void reset() {
    seen_ = 0;
    bar_options_.verbose = params().verbose;
    bar_.emplace(target_, bar_options_);
  }

  void update(std::int64_t batch, const BatchLogs* logs) {
    seen_ = batch + 1;
    if (params().verbose != 1) return;
    const bool has_values = logs != nullptr && bar_->is_due();
    bar_->update(seen_, has_values ? values_of(logs->numbers()) : Progbar::Values(), false);
  }

  // The number of steps is known from the end of the first epoch on.
  void finish(const Logs& logs) {
    if (!target_) target_ = seen_;
    bar_->set_target(target_);
    bar_->update(*target_, values_of(logs), true);
  }

  static Progbar::Values values_of(const Logs& logs) { return {logs.begin(), logs.end()}; }

  bool is_training_ = false;
  ProgbarOptions bar_options_;
  std::optional<std::int64_t> target_;
  std::optional<Progbar> bar_;
  std::int64_t seen_ = 0;
};

}  // namespace

std::vector<Callback> detail::with_progress(std::vector<Callback> callbacks, int verbose) {
  const bool has_one = std::any_of(callbacks.begin(), callbacks.end(), [](const Callback& callback) {
    return dynamic_cast<const ProgbarBody*>(callback.body().get()) != nullptr;
  });
  if (verbose != 0 && !has_one) callbacks.push_back(capstan::callbacks::ProgbarLogger());
  return callbacks;
}

namespace callbacks {
ProgbarLogger::ProgbarLogger(const ProgbarLoggerOptions& options) : Callback(make_configurable<ProgbarBody>(options)) {}
}  // namespace callbacks

}  // namespace capstan
