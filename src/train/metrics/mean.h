// Metrics that are a weighted mean of one value per example.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "capstan/metrics.h"

namespace capstan::detail {

struct Samples {
  Tensor values;  // one per example, times its weight; or a scalar
  Tensor weight;  // one per example; empty without weights
};

// Values and weights per example: the mean, or the sum, over all axes but the first. Errors name the metric.
Samples to_samples(const Tensor& values, const Tensor& sample_weight, DType dtype, bool is_sum,
                   const std::string& metric);

class MeanBody : public MetricBody {
 public:
  // One value per example, or more.
  virtual Tensor values(const Tensor& y_true, const Tensor& y_pred) = 0;
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) override;
  Tensor result() const override;

 protected:
  void make_state(std::optional<DType> dtype);

 private:
  Variable total_;
  Variable count_;
};

// The body of such a metric with options; `Derived` has kName, kText and values().
template <class Derived, class Options>
class MeanOf : public Configured<Derived, MeanBody, Options> {
 public:
  explicit MeanOf(const Options& given = {}) : Configured<Derived, MeanBody, Options>(given) {
    this->make_state(this->options.dtype);
  }
};

// --- Those without options of their own ---

using ValuesFunction = Tensor (*)(const Tensor& y_true, const Tensor& y_pred);
std::shared_ptr<MetricBody> make_function_metric(const ClassInfo& info, ValuesFunction function,
                                                 const metrics::MetricOptions& options);
std::shared_ptr<Configurable> make_function_metric(const ClassInfo& info, ValuesFunction function,
                                                   const AttributeValue& config);

// A class of metrics: `T` has kName, kText and the function kFunction.
template <class T>
struct FunctionMetric {
  static const ClassInfo& info() {
    static const ClassInfo info{MetricBody::kKind,
                                MetricBody::kModule,
                                T::kName,
                                T::kText,
                                metrics::MetricOptions::fields,
                                make,
                                {},
                                default_options<metrics::MetricOptions>};
    return info;
  }
  static std::shared_ptr<Configurable> make(const ClassInfo&, const AttributeValue& config) {
    return make_function_metric(info(), T::kFunction, config);
  }
  static std::shared_ptr<MetricBody> make(const metrics::MetricOptions& options) {
    return make_function_metric(info(), T::kFunction, options);
  }
};

// --- The classes, by file ---

void add_mean_metrics(std::vector<const ClassInfo*>& list);
void add_accuracy_metrics(std::vector<const ClassInfo*>& list);
void add_regression_metrics(std::vector<const ClassInfo*>& list);
void add_crossentropy_metrics(std::vector<const ClassInfo*>& list);
void add_likeness_metrics(std::vector<const ClassInfo*>& list);
void add_positives_metrics(std::vector<const ClassInfo*>& list);
void add_precision_metrics(std::vector<const ClassInfo*>& list);
void add_operating_point_metrics(std::vector<const ClassInfo*>& list);
void add_score_metrics(std::vector<const ClassInfo*>& list);
void add_iou_metrics(std::vector<const ClassInfo*>& list);
const ClassInfo& auc_metric();
const ClassInfo& r2_score_metric();

}  // namespace capstan::detail
