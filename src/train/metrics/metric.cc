// The handle of metrics, and what their bodies share.
#include "capstan/metrics.h"

#include "capstan/ops/array.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/train/aliases.h"
#include "src/train/fit_ranks.h"
#include "src/train/layer_state.h"
#include "src/train/metrics/by_shape.h"

namespace capstan {

namespace {

std::shared_ptr<MetricBody> body_of(const AttributeValue& value) {
  return std::static_pointer_cast<MetricBody>(deserialize(MetricBody::kKind, value));
}

std::shared_ptr<MetricBody> body_of(std::string_view name) {
  std::shared_ptr<MetricBody> body = detail::metric_by_shape(name);
  return body != nullptr ? body : body_of(AttributeValue(detail::without_alias(name)));
}

}  // namespace

// --- Bodies ---

void MetricBody::reset_state() {
  for (const Variable& variable : variables_) variable.assign(zeros(variable.shape(), variable.dtype()));
}

std::string MetricBody::default_name() const { return detail::snake_case(class_info().name); }

Variable MetricBody::add_variable(const Shape& shape, std::string_view name, std::optional<DType> dtype) {
  // Counts need more bits than bfloat16 has.
  const DType own = dtype.value_or(floatx() == float64 ? float64 : float32);
  const CreateVariables create;
  const PauseObservers pause;
  variables_.emplace_back(zeros(shape, own), VariableOptions{.trainable = false, .name = std::string(name)});
  return variables_.back();
}

// --- Handles ---

Metric::Metric(std::shared_ptr<MetricBody> body, std::string name) : body_(std::move(body)), name_(std::move(name)) {
  if (name_.empty()) name_ = body_->default_name();
}

Metric::Metric(std::string_view name) : Metric(body_of(name), std::string(name)) {}

void Metric::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const {
  try {
    CAPSTAN_CHECK(y_true.has_value() && y_pred.has_value(), ValueError, body_->default_name(), ": ",
                  y_true.has_value() ? "the predictions are" : "the labels are", " an empty tensor");
    body_->update_state(y_true, y_pred, sample_weight);
  } catch (const Error&) {
    detail::rethrow_with({"metric", name_, y_true, y_pred, sample_weight});
  }
}

void Metric::update_values(const Tensor& values, const Tensor& sample_weight) const {
  CAPSTAN_CHECK(values.has_value(), ValueError, name_, ": the values are an empty tensor");
  body_->update_state(values, values, sample_weight);
}

Tensor Metric::result() const { return body_->result(); }

void Metric::reset_state() const { body_->reset_state(); }

Tensor Metric::operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const {
  update_state(y_true, y_pred, sample_weight);
  return result();
}

std::vector<Variable> Metric::variables() const { return body_->variables(); }

AttributeValue Metric::get_config() const {
  AttributeValue config = AttributeValue::map();
  config.set("name", name_);
  if (body_->options_data() == nullptr) return config;
  for (auto& [key, value] : config_of(body_->class_info(), body_->options_data()).items) {
    config.set(key, std::move(value));
  }
  return config;
}

Metric metrics::get(const AttributeValue& value) {
  if (value.kind == AttributeValue::Kind::kString) {
    return Metric(body_of(AttributeValue(detail::without_alias(value.text))), value.text);
  }
  return Metric(body_of(value), detail::name_in(value));
}

AttributeValue metrics::serialize(const Metric& metric) {
  // Written as the name that it was made by, since shapes of data decide what it is.
  if (detail::is_by_shape(*metric.body())) return AttributeValue(metric.name());
  return capstan::serialize(*metric.body(), metric.get_config());
}

}  // namespace capstan
