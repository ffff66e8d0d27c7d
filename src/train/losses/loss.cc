// The handle of losses: names, weights, masks and reductions.
#include "capstan/losses.h"

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/train/aliases.h"
#include "src/train/fit_ranks.h"
#include "src/train/layer_state.h"

namespace capstan {

namespace {

// A function of the program; it has no configuration.
class OwnFunction final : public LossBody {
 public:
  OwnFunction(Loss::Function function, std::string_view reduction) : function_(std::move(function)) {
    options_.reduction = reduction;
  }
  const ClassInfo& class_info() const override {
    static const ClassInfo info{kKind, kModule, "function", "A function of the program.", {}};
    return info;
  }
  const void* options_data() const override { return nullptr; }
  losses::LossOptions common_options() const override { return options_; }
  // As in Keras a function of the program gets labels of the dtype of the predictions, whatever they were.
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    return function_(detail::floating_labels(y_true, y_pred), y_pred);
  }

 private:
  Loss::Function function_;
  losses::LossOptions options_;
};

std::shared_ptr<const LossBody> body_of(const AttributeValue& value) {
  return std::static_pointer_cast<const LossBody>(deserialize(LossBody::kKind, value));
}

}  // namespace

Tensor LossBody::counts(const Tensor&, const Tensor&, const Tensor&) const { return {}; }

std::shared_ptr<const LossBody> Loss::of_function(Function function, std::string_view reduction) {
  return make_configurable<OwnFunction>(std::move(function), reduction);
}

Loss::Loss(std::string_view name) : Loss(body_of(detail::without_alias(name)), name) {}

Loss::Loss(std::shared_ptr<const LossBody> body, std::string_view name)
    : body_(std::move(body)),
      name_(name.empty() ? detail::snake_case(body_->class_info().name) : std::string(name)),
      reduction_(Reduction::kNone) {
  const losses::LossOptions options = body_->common_options();
  dtype_ = options.dtype;
  CAPSTAN_CHECK(!dtype_ || dtype_ == float32 || dtype_ == float64, ValueError, body_->class_info().name,
                ": option \"dtype\" must be float32 or float64, not ", name_of(*dtype_));
  const std::string reduction = options.reduction.value_or("none");
  if (reduction == "sum_over_batch_size" || reduction == "mean") {
    reduction_ = Reduction::kSumOverBatchSize;
  } else if (reduction == "mean_with_sample_weight") {
    reduction_ = Reduction::kMeanWithSampleWeight;
  } else if (reduction == "sum") {
    reduction_ = Reduction::kSum;
  } else {
    CAPSTAN_CHECK(reduction == "none", ValueError, body_->class_info().name,
                  ": option \"reduction\" must be one of \"sum_over_batch_size\", \"mean\", "
                  "\"mean_with_sample_weight\", \"sum\", \"none\", not \"",
                  reduction, "\"");
  }
}

AttributeValue Loss::get_config() const {
  AttributeValue config = AttributeValue::map();
  config.set("name", name_);
  if (body_->options_data() == nullptr) return config;
  for (auto& [key, value] : config_of(body_->class_info(), body_->options_data()).items) {
    config.set(key, std::move(value));
  }
  return config;
}

Loss losses::get(const AttributeValue& value) {
  if (value.kind == AttributeValue::Kind::kString) return Loss(value.text);
  return Loss(body_of(value), detail::name_in(value));
}

AttributeValue losses::serialize(const Loss& loss) { return capstan::serialize(*loss.body(), loss.get_config()); }

// --- The call ---

Tensor Loss::operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight,
                        const Tensor& mask) const {
  try {
    return compute(y_true, y_pred, sample_weight, mask);
  } catch (const Error&) {
    detail::rethrow_with({"loss", name_, y_true, y_pred, sample_weight, mask});
  }
}

Tensor Loss::compute(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight,
                     const Tensor& mask) const {
  CAPSTAN_CHECK(y_true.has_value() && y_pred.has_value(), ValueError, "loss: ", name_, ": ",
                y_true.has_value() ? "the predictions are" : "the labels are", " an empty tensor");
  Tensor p = detail::floating_predictions(y_pred);
  if (dtype_ && p.dtype() != *dtype_) p = cast(p, *dtype_);
  Tensor t = y_true;
  detail::fit_ranks(t, p);
  const Tensor values = body_->values(t, p);
  Tensor counts = body_->counts(t, p, values);
  if (counts.has_value() && mask.has_value()) {
    Tensor given = cast(mask, bool_);
    detail::fit_ranks(counts, given);
    counts = with_errors_of(name_, [&] { return logical_and(counts, given); });
  } else if (mask.has_value()) {
    counts = mask;
  }
  if (counts.has_value()) return masked(values, counts, sample_weight);
  if (!sample_weight.has_value()) return reduce(values, {});
  Tensor weight = detail::floating_labels(sample_weight, values);
  Tensor fitted = values;
  detail::fit_ranks(fitted, weight);
  return weighted(fitted, weight);
}

Tensor Loss::reduce(const Tensor& values, const Tensor& weight) const {
  const bool is_reduced = values.rank() == 0 || (values.rank() == 1 && values.dim(0) == 0);
  if (is_reduced || reduction_ == Reduction::kNone) return values;
  if (reduction_ == Reduction::kSum) return reduce_sum(values);
  if (reduction_ == Reduction::kMeanWithSampleWeight && weight.has_value()) {
    return divide_no_nan(reduce_sum(values), reduce_sum(weight));
  }
  return reduce_mean(values);
}

Tensor Loss::weighted(const Tensor& values, const Tensor& weight) const {
  return with_errors_of(name_, [&] { return reduce(values * weight, weight); });
}

// What is masked has loss 0, and a mean is over the rest: Keras gives the rest a weight of all / counted.
Tensor Loss::masked(const Tensor& given_values, const Tensor& mask, const Tensor& sample_weight) const {
  Tensor values = given_values;
  Tensor weight = cast(mask, values.dtype());
  if (values.rank() == 0) values = broadcast_like(values, weight);  // a mean that a function has taken by itself
  if (weight.rank() > values.rank()) weight = squeeze(weight, -1);
  values = where(cast(weight, bool_), values, zeros_like(values));
  if (reduction_ == Reduction::kSumOverBatchSize || reduction_ == Reduction::kMeanWithSampleWeight) {
    weight = weight * divide_no_nan(cast(size(weight), values.dtype()), reduce_sum(weight));
  }
  if (sample_weight.has_value()) {
    Tensor given = detail::floating_labels(sample_weight, values);
    detail::fit_ranks(weight, given);
    weight = with_errors_of(name_, [&] { return weight * given; });
    detail::fit_ranks(values, weight);
  }
  return weighted(values, weight);
}

}  // namespace capstan
