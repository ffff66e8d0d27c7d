// Callbacks: what happens beside the steps of a training.
//
// `fit` calls them, and a loop of one's own can, by the same hooks (Callbacks).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capstan/config.h"
#include "capstan/models.h"
#include "capstan/progbar.h"
#include "capstan/training.h"

namespace capstan {

/// What a step gave, as numbers for whoever asks: they are read from the tensors then.
class CAPSTAN_EXPORT BatchLogs {
 public:
  BatchLogs() = default;
  explicit BatchLogs(StepLogs logs) : tensors_(std::move(logs)) {}
  BatchLogs(Logs logs) : numbers_(std::move(logs)), is_read_(true) {}
  const Logs& numbers() const;
  bool contains(const std::string& name) const { return numbers().contains(name); }
  /// Errors: ValueError for an unknown name.
  double operator[](const std::string& name) const;

 private:
  StepLogs tensors_;
  mutable Logs numbers_;
  mutable bool is_read_ = false;
};

/// Numbers of a training that callbacks are told.
struct CallbackParams {
  std::int64_t epochs = 1;
  std::optional<std::int64_t> steps = {};  ///< in an epoch, if known
  int verbose = 1;
};

/// What a callback of your own derives from: it overrides the hooks that it needs. Epochs and batches count from 0.
///
///     struct Stop : CallbackBody {
///       void on_epoch_end(std::int64_t, Logs& logs) override {
///         if (logs["loss"] < 0.1) model().set_stop_training(true);
///       }
///     };
///     model.fit(x, y, {.callbacks = {make_callback<Stop>()}});
class CAPSTAN_EXPORT CallbackBody : public Configurable {
 public:
  static constexpr std::string_view kKind = "callback", kModule = "keras.callbacks";

  const ClassInfo& class_info() const override;
  const void* options_data() const override { return nullptr; }

  virtual void on_train_begin() {}
  virtual void on_train_end(const Logs&) {}
  virtual void on_epoch_begin(std::int64_t) {}
  /// What is added to the logs is seen by the callbacks after this one.
  virtual void on_epoch_end(std::int64_t, Logs&) {}
  virtual void on_train_batch_begin(std::int64_t) {}
  virtual void on_train_batch_end(std::int64_t, const BatchLogs&) {}
  virtual void on_test_begin() {}
  virtual void on_test_end(const Logs&) {}
  virtual void on_test_batch_begin(std::int64_t) {}
  virtual void on_test_batch_end(std::int64_t, const BatchLogs&) {}
  virtual void on_predict_begin() {}
  virtual void on_predict_end() {}
  virtual void on_predict_batch_begin(std::int64_t) {}
  virtual void on_predict_batch_end(std::int64_t, const Nest&) {}

  /// What it has found in the training so far, a map with Keras's names: EarlyStopping's "best", "best_epoch", "wait"
  /// and "stopped_epoch", for instance. Not overridden: nothing.
  virtual AttributeValue found() const { return AttributeValue::map(); }

  /// The model that is trained. Errors: ValueError before there is one.
  const Model& model() const;
  const CallbackParams& params() const { return params_; }

 protected:
  /// For use in on_train_begin, to go on with a training that was cut off: fit() begins with this epoch, after so many
  /// of its batches. Epochs before it are not run: their passes over the data are opened, and read only if
  /// `steps_per_epoch` lets passes go on from one epoch to the next. `when_there` is called once the data are at that
  /// place and the metrics of the epoch are at their beginning, before its first step. Errors: ValueError for numbers
  /// below 0.
  void begin_at(std::int64_t epoch, std::int64_t batch = 0, std::function<void()> when_there = {}) const;

 private:
  friend class Callbacks;
  Model model_;
  CallbackParams params_;
};

/// A callback of a class of your own.
template <class Body, class... Arguments>
Callback make_callback(Arguments&&... arguments) {
  return Callback(make_configurable<Body>(std::forward<Arguments>(arguments)...));
}

/// A list of callbacks for a loop of one's own: each hook calls those of all, in their order.
///
///     Callbacks callbacks({callbacks::CSVLogger("log.csv"), callbacks::EarlyStopping()}, model);
///     callbacks.on_train_begin();
///     for (int epoch = 0; epoch < 10 && !model.stop_training(); ++epoch) {
///       callbacks.on_epoch_begin(epoch);
///       ...
///       Logs logs = {{"loss", loss}, {"val_loss", val_loss}};
///       callbacks.on_epoch_end(epoch, logs);
///     }
///     callbacks.on_train_end();
class CAPSTAN_EXPORT Callbacks {
 public:
  Callbacks(std::vector<Callback> callbacks, const Model& model, const CallbackParams& params = {});

  void on_train_begin();
  void on_train_end(const Logs& logs = {});
  void on_epoch_begin(std::int64_t epoch);
  void on_epoch_end(std::int64_t epoch, Logs& logs);
  void on_train_batch_begin(std::int64_t batch);
  void on_train_batch_end(std::int64_t batch, const BatchLogs& logs);
  void on_test_begin();
  void on_test_end(const Logs& logs);
  void on_test_batch_begin(std::int64_t batch);
  void on_test_batch_end(std::int64_t batch, const BatchLogs& logs);
  void on_predict_begin();
  void on_predict_end();
  void on_predict_batch_begin(std::int64_t batch);
  void on_predict_batch_end(std::int64_t batch, const Nest& outputs);

  bool empty() const { return callbacks_.empty(); }

 private:
  std::vector<Callback> callbacks_;
};

/// Callbacks under the names of Keras.
namespace callbacks {

/// Options of EarlyStopping.
struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;  ///< what counts as an improvement
  std::int64_t patience = 0;
  int verbose = 0;
  std::string mode = "auto";  ///< or "min", "max"
  std::optional<double> baseline = {};
  bool restore_best_weights = false;
  std::int64_t start_from_epoch = 0;
  static std::span<const OptionField> fields();
};

/// Stops when a value has not improved for `patience` epochs: after epoch e if e > 0, it is looked at since
/// `start_from_epoch`, and so many epochs went by without one that is better by more than min_delta than the best (and
/// than the baseline). With `restore_best_weights` the model has the weights of the best epoch at the end. "auto" knows
/// losses and the library's metrics. Errors: ValueError for a mode that is not known from the name.
class CAPSTAN_EXPORT EarlyStopping final : public Callback {
 public:
  explicit EarlyStopping(const EarlyStoppingOptions& options = {});
  /// The epoch after which training was stopped, or 0.
  std::int64_t stopped_epoch() const;
  std::int64_t best_epoch() const;
};

/// Options of ReduceLROnPlateau.
struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  std::int64_t patience = 10;
  int verbose = 0;
  std::string mode = "auto";
  double min_delta = 1e-4;
  std::int64_t cooldown = 0;
  double min_lr = 0;
  static std::span<const OptionField> fields();
};

/// Multiplies the learning rate by `factor` when a value has not improved for `patience` epochs, down to `min_lr`; then
/// waits for `cooldown` epochs. Adds "learning_rate", the one before it was changed, to the logs. Errors: ValueError
/// for a factor of 1 or more, and for an optimizer with a schedule.
class CAPSTAN_EXPORT ReduceLROnPlateau final : public Callback {
 public:
  explicit ReduceLROnPlateau(const ReduceLROnPlateauOptions& options = {});
};

/// Sets the learning rate where an epoch begins, to what the function gives for its number and the rate so far. Adds
/// "learning_rate" to the logs.
class CAPSTAN_EXPORT LearningRateScheduler final : public Callback {
 public:
  using Function = std::function<double(std::int64_t epoch, double rate)>;
  explicit LearningRateScheduler(Function schedule, int verbose = 0);
};

/// Options of CSVLogger.
struct CSVLoggerOptions {
  std::string separator = ",";
  bool append = false;
  static std::span<const OptionField> fields();
};

/// Writes the logs of each epoch as a line of a file: the epoch and the values in alphabetical order, with a column
/// "val_..." for each. Errors: IoError for a file that cannot be written.
class CAPSTAN_EXPORT CSVLogger final : public Callback {
 public:
  explicit CSVLogger(const std::string& filename, const CSVLoggerOptions& options = {});
};

/// Stops after a batch whose loss is NaN or infinite, or throws ValueError then.
class CAPSTAN_EXPORT TerminateOnNaN final : public Callback {
 public:
  explicit TerminateOnNaN(bool raise_error = false);
};

/// Options of LambdaCallback: what is called at each hook.
struct LambdaCallbackOptions {
  std::function<void(std::int64_t epoch)> on_epoch_begin = {};
  std::function<void(std::int64_t epoch, Logs& logs)> on_epoch_end = {};
  std::function<void()> on_train_begin = {};
  std::function<void(const Logs& logs)> on_train_end = {};
  std::function<void(std::int64_t batch)> on_train_batch_begin = {};
  std::function<void(std::int64_t batch, const BatchLogs& logs)> on_train_batch_end = {};
};

/// A callback of functions.
///
///     model.fit(x, y, {.callbacks = {callbacks::LambdaCallback({.on_epoch_end = [](auto epoch, Logs&) { ... }})}});
class CAPSTAN_EXPORT LambdaCallback final : public Callback {
 public:
  explicit LambdaCallback(const LambdaCallbackOptions& options);
};

/// Options of ProgbarLogger, for programs that show the line elsewhere.
struct ProgbarLoggerOptions {
  std::function<double()> clock = {};                       ///< the time in seconds; none: that of the machine
  std::function<void(const std::string& text)> print = {};  ///< what is done with the text; none: standard output
};

/// Shows a line for each epoch: with verbose 1 a bar that is redrawn (Progbar), with 2 one line at its end. fit(),
/// evaluate() and predict() add one of their own to callbacks without one.
class CAPSTAN_EXPORT ProgbarLogger final : public Callback {
 public:
  explicit ProgbarLogger(const ProgbarLoggerOptions& options = {});
};

/// Exchanges the weights with their moving averages (an optimizer with `use_ema`) while the model is evaluated or
/// predicts, and, with `swap_on_epoch`, for the end of each epoch.
class CAPSTAN_EXPORT SwapEMAWeights final : public Callback {
 public:
  explicit SwapEMAWeights(bool swap_on_epoch = false);
};

}  // namespace callbacks
}  // namespace capstan
