// Callbacks: the list of them, and what they are told.
#include "capstan/callbacks.h"

#include "src/core/check.h"
#include "src/train/trainer.h"

namespace capstan {

const Logs& BatchLogs::numbers() const {
  if (is_read_) return numbers_;
  for (const auto& [name, value] : tensors_) {
    CAPSTAN_CHECK(value.has_value() && value.size() == 1, ValueError, "logs: \"", name,
                  "\" must be one number, not a tensor of shape ", value.has_value() ? value.shape() : Shape{0});
    numbers_[name] = value.item<double>();
  }
  is_read_ = true;
  return numbers_;
}

double BatchLogs::operator[](const std::string& name) const {
  const auto found = numbers().find(name);
  CAPSTAN_CHECK(found != numbers().end(), ValueError, "logs: there is no \"", name, "\"");
  return found->second;
}

const ClassInfo& CallbackBody::class_info() const {
  static const ClassInfo info{kKind, kModule, "callback", "A callback of the program.", {}};
  return info;
}

void CallbackBody::begin_at(std::int64_t epoch, std::int64_t batch, std::function<void()> when_there) const {
  Trainer::begin_at(model(), epoch, batch, std::move(when_there));
}

const Model& CallbackBody::model() const {
  CAPSTAN_CHECK(model_.has_value(), ValueError, "callback: there is no model", help("Callbacks or fit() sets it"));
  return model_;
}

Callbacks::Callbacks(std::vector<Callback> callbacks, const Model& model, const CallbackParams& params)
    : callbacks_(std::move(callbacks)) {
  for (const Callback& callback : callbacks_) {
    callback->model_ = model;
    callback->params_ = params;
  }
}

void Callbacks::on_train_begin() {
  for (const Callback& callback : callbacks_) callback->on_train_begin();
}
void Callbacks::on_train_end(const Logs& logs) {
  for (const Callback& callback : callbacks_) callback->on_train_end(logs);
}
void Callbacks::on_epoch_begin(std::int64_t epoch) {
  for (const Callback& callback : callbacks_) callback->on_epoch_begin(epoch);
}
void Callbacks::on_epoch_end(std::int64_t epoch, Logs& logs) {
  for (const Callback& callback : callbacks_) callback->on_epoch_end(epoch, logs);
}
void Callbacks::on_train_batch_begin(std::int64_t batch) {
  for (const Callback& callback : callbacks_) callback->on_train_batch_begin(batch);
}
void Callbacks::on_train_batch_end(std::int64_t batch, const BatchLogs& logs) {
  for (const Callback& callback : callbacks_) callback->on_train_batch_end(batch, logs);
}
void Callbacks::on_test_begin() {
  for (const Callback& callback : callbacks_) callback->on_test_begin();
}
void Callbacks::on_test_end(const Logs& logs) {
  for (const Callback& callback : callbacks_) callback->on_test_end(logs);
}
void Callbacks::on_test_batch_begin(std::int64_t batch) {
  for (const Callback& callback : callbacks_) callback->on_test_batch_begin(batch);
}
void Callbacks::on_test_batch_end(std::int64_t batch, const BatchLogs& logs) {
  for (const Callback& callback : callbacks_) callback->on_test_batch_end(batch, logs);
}
void Callbacks::on_predict_begin() {
  for (const Callback& callback : callbacks_) callback->on_predict_begin();
}
void Callbacks::on_predict_end() {
  for (const Callback& callback : callbacks_) callback->on_predict_end();
}
void Callbacks::on_predict_batch_begin(std::int64_t batch) {
  for (const Callback& callback : callbacks_) callback->on_predict_batch_begin(batch);
}
void Callbacks::on_predict_batch_end(std::int64_t batch, const Nest& outputs) {
  for (const Callback& callback : callbacks_) callback->on_predict_batch_end(batch, outputs);
}

}  // namespace capstan
