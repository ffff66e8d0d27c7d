// TerminateOnNaN and LambdaCallback.
#include <cmath>
#include <cstdio>

#include "capstan/callbacks.h"
#include "src/core/check.h"

namespace capstan::callbacks {

namespace {

struct TerminateBody final : CallbackBody {
  explicit TerminateBody(bool raise) : raise_error(raise) {}

  void on_train_batch_end(std::int64_t batch, const BatchLogs& logs) override {
    if (!logs.contains("loss") || std::isfinite(logs["loss"])) return;
    CAPSTAN_CHECK(!raise_error, ValueError, "terminate_on_nan: the loss of batch ", batch, " is ", logs["loss"]);
    std::printf("Batch %lld: Invalid loss, terminating training\n", static_cast<long long>(batch));
    model().set_stop_training(true);
  }

  bool raise_error;
};

struct LambdaBody final : CallbackBody {
  explicit LambdaBody(const LambdaCallbackOptions& given) : its(given) {}

  void on_epoch_begin(std::int64_t epoch) override {
    if (its.on_epoch_begin) its.on_epoch_begin(epoch);
  }
  void on_epoch_end(std::int64_t epoch, Logs& logs) override {
    if (its.on_epoch_end) its.on_epoch_end(epoch, logs);
  }
  void on_train_begin() override {
    if (its.on_train_begin) its.on_train_begin();
  }
  void on_train_end(const Logs& logs) override {
    if (its.on_train_end) its.on_train_end(logs);
  }
  void on_train_batch_begin(std::int64_t batch) override {
    if (its.on_train_batch_begin) its.on_train_batch_begin(batch);
  }
  void on_train_batch_end(std::int64_t batch, const BatchLogs& logs) override {
    if (its.on_train_batch_end) its.on_train_batch_end(batch, logs);
  }

  LambdaCallbackOptions its;
};

}  // namespace

TerminateOnNaN::TerminateOnNaN(bool raise_error) : Callback(make_configurable<TerminateBody>(raise_error)) {}
LambdaCallback::LambdaCallback(const LambdaCallbackOptions& options)
    : Callback(make_configurable<LambdaBody>(options)) {}

}  // namespace capstan::callbacks
