#include "src/train/metrics/mean.h"

#include <numeric>

#include "capstan/ops/array.h"
#include "capstan/ops/host.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/named_errors.h"
#include "src/train/fit_ranks.h"

namespace capstan {

namespace detail {

namespace {

// The mean or sum over all axes from `first` on.
Tensor reduce_from(const Tensor& x, int first, bool is_sum) {
  if (x.rank() <= first) return x;
  std::vector<int> axes(static_cast<std::size_t>(x.rank() - first));
  std::iota(axes.begin(), axes.end(), first);
  return is_sum ? reduce_sum(x, Axes(axes)) : reduce_mean(x, Axes(axes));
}

}  // namespace

Samples to_samples(const Tensor& given_values, const Tensor& sample_weight, DType dtype, bool is_sum,
                   const std::string& metric) {
  Tensor values = detail::as_real("values", given_values, dtype);
  if (!sample_weight.has_value()) return {reduce_from(values, 1, is_sum), {}};
  return with_errors_of(metric, [&]() -> Samples {
    Tensor weight = cast(sample_weight, dtype);
    // One value for all examples, a mean that a function has taken by itself, counts as much as they do.
    if (values.rank() == 0) values = broadcast_like(values, weight);
    fit_ranks(values, weight);
    values = reduce_from(values, weight.rank(), is_sum);
    weight = broadcast_like(weight, values);
    return {reduce_from(values * weight, 1, is_sum), reduce_from(weight, 1, is_sum)};
  });
}

void MeanBody::make_state(std::optional<DType> dtype) {
  total_ = add_variable({}, "total", dtype);
  count_ = add_variable({}, "count", dtype);
}

void MeanBody::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
  const DType dtype = total_.dtype();
  const auto [samples, weight] = to_samples(values(y_true, y_pred), sample_weight, dtype, false, default_name());
  total_.assign_add(samples.rank() == 0 ? samples : reduce_sum(samples));
  if (weight.has_value()) {
    count_.assign_add(reduce_sum(weight));
  } else if (inside_function()) {
    count_.assign_add(cast(size(samples), dtype));
  } else {
    count_.assign_add(static_cast<double>(samples.size()));
  }
}

Tensor MeanBody::result() const { return divide_no_nan(total_, count_); }

namespace {

class FunctionBody final : public MeanBody {
 public:
  FunctionBody(const ClassInfo& info, ValuesFunction function, const metrics::MetricOptions& options)
      : info_(info), function_(function), options_(options) {
    check_options(info_, &options_);
    make_state(options.dtype);
  }
  const ClassInfo& class_info() const override { return info_; }
  const void* options_data() const override { return &options_; }
  std::string default_name() const override {
    return info_.name == "LogCoshError" ? "logcosh" : MeanBody::default_name();
  }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override { return function_(y_true, y_pred); }

 private:
  const ClassInfo& info_;
  ValuesFunction function_;
  metrics::MetricOptions options_;
};

// A function of the program; it has no configuration.
class OwnFunction final : public MeanBody {
 public:
  explicit OwnFunction(Metric::Function function) : function_(std::move(function)) { make_state({}); }
  const ClassInfo& class_info() const override {
    static const ClassInfo info{kKind, kModule, "function", "A function of the program.", {}};
    return info;
  }
  const void* options_data() const override { return nullptr; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override { return function_(y_true, y_pred); }

 private:
  Metric::Function function_;
};

struct MeanMetric final : MeanOf<MeanMetric, metrics::MetricOptions> {
  using MeanOf::MeanOf;
  static constexpr std::string_view kName = "Mean", kText = "The weighted mean of values.";
  Tensor values(const Tensor&, const Tensor& values) override { return values; }
};

struct SumMetric final : Configured<SumMetric, MetricBody, metrics::MetricOptions> {
  static constexpr std::string_view kName = "Sum", kText = "The weighted sum of values.";
  explicit SumMetric(const metrics::MetricOptions& given = {})
      : Configured(given), total(add_variable({}, "total", options.dtype)) {}
  void update_state(const Tensor&, const Tensor& values, const Tensor& sample_weight) override {
    const Tensor sums = to_samples(values, sample_weight, total.dtype(), true, "sum").values;
    total.assign_add(sums.rank() == 0 ? sums : reduce_sum(sums));
  }
  Tensor result() const override { return total.value(); }
  Variable total;
};

}  // namespace

std::shared_ptr<MetricBody> make_function_metric(const ClassInfo& info, ValuesFunction function,
                                                 const metrics::MetricOptions& options) {
  return make_configurable<FunctionBody>(info, function, options);
}

std::shared_ptr<Configurable> make_function_metric(const ClassInfo& info, ValuesFunction function,
                                                   const AttributeValue& config) {
  metrics::MetricOptions options;
  set_options(info, &options, config);
  return make_configurable<FunctionBody>(info, function, options);
}

void add_mean_metrics(std::vector<const ClassInfo*>& list) {
  list.insert(list.end(), {&MeanMetric::info(), &SumMetric::info()});
}

}  // namespace detail

std::shared_ptr<MetricBody> Metric::of_function(Function function) {
  return make_configurable<detail::OwnFunction>(std::move(function));
}

namespace metrics {

std::span<const OptionField> MetricOptions::fields() {
  static constexpr OptionField all[] = {option<&MetricOptions::dtype>("dtype").one_of(kDTypes)};
  return all;
}

Mean::Mean(std::string name, const MetricOptions& options)
    : Metric(make_configurable<detail::MeanMetric>(options), std::move(name)) {}
void Mean::update_state(Operand values, const Tensor& sample_weight) const {
  update_values(to_tensor(std::move(values)), sample_weight);
}

Sum::Sum(std::string name, const MetricOptions& options)
    : Metric(make_configurable<detail::SumMetric>(options), std::move(name)) {}
void Sum::update_state(Operand values, const Tensor& sample_weight) const {
  update_values(to_tensor(std::move(values)), sample_weight);
}

}  // namespace metrics
}  // namespace capstan
