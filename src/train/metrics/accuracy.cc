// How often predictions are right.
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/ops/sort.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/train/fit_ranks.h"
#include "src/train/metrics/mean.h"

namespace capstan {

namespace metrics {

Tensor accuracy(const Tensor& y_true, const Tensor& y_pred) {
  return with_errors_of("accuracy", [&] {
    Tensor p = y_pred;
    Tensor t = detail::floating_labels(y_true, p);
    detail::fit_ranks(t, p);
    return cast(equal(t, p), float32);
  });
}

Tensor binary_accuracy(const Tensor& y_true, const Tensor& y_pred, const BinaryAccuracyOptions& options) {
  return with_errors_of("binary_accuracy", [&] {
    Tensor p = detail::floating_predictions(y_pred);
    Tensor t = detail::floating_labels(y_true, p);
    detail::fit_ranks(t, p);
    return cast(equal(t, cast(p > options.threshold, p.dtype())), options.dtype.value_or(float32));
  });
}

Tensor categorical_accuracy(const Tensor& y_true, const Tensor& y_pred) {
  return with_errors_of("categorical_accuracy",
                        [&] { return cast(equal(argmax(y_true, -1), argmax(y_pred, -1)), float32); });
}

Tensor sparse_categorical_accuracy(const Tensor& y_true, const Tensor& y_pred) {
  return with_errors_of("sparse_categorical_accuracy", [&] {
    const Tensor labels = detail::class_labels(y_true, y_pred), found = argmax(y_pred, -1);
    // A label of 0.5 is no class.
    return cast(
        is_floating(labels.dtype()) ? equal(labels, cast(found, labels.dtype())) : equal(cast(labels, int64), found),
        float32);
  });
}

namespace {

// Labels [...] of predictions [..., classes], which may have any number of leading axes.
Tensor among_largest(const Tensor& labels, const Tensor& y_pred, std::int64_t k, DType dtype) {
  const Tensor p = detail::floating_predictions(y_pred);
  CAPSTAN_CHECK(p.rank() >= 1 && labels.rank() == p.rank() - 1, ShapeError,
                "top_k: labels must have the shape of the predictions without the classes");
  const Tensor flat = in_top_k(reshape(labels, {-1}), reshape(p, {-1, p.dim(-1)}), k);
  return reshape_like(cast(flat, dtype), labels);
}

}  // namespace

Tensor top_k_categorical_accuracy(const Tensor& y_true, const Tensor& y_pred,
                                  const TopKCategoricalAccuracyOptions& options) {
  return with_errors_of("top_k_categorical_accuracy", [&] {
    return among_largest(argmax(y_true, -1), y_pred, options.k, options.dtype.value_or(float32));
  });
}

Tensor sparse_top_k_categorical_accuracy(const Tensor& y_true, const Tensor& y_pred,
                                         const SparseTopKCategoricalAccuracyOptions& options) {
  return with_errors_of("sparse_top_k_categorical_accuracy", [&] {
    const DType dtype = options.dtype.value_or(float32);
    const Tensor labels = detail::class_numbers(y_true, y_pred);
    if (!options.from_sorted_ids) return among_largest(labels, y_pred, options.k, dtype);
    const std::int64_t ids = y_pred.dim(-1);
    CAPSTAN_CHECK(ids >= options.k, ShapeError, "top_k: ", ids, " sorted classes are fewer than k, ", options.k);
    const std::int64_t sizes[] = {options.k, ids - options.k};
    const Tensor first = split(cast(y_pred, labels.dtype()), sizes, -1)[0];
    return cast(reduce_any(equal(expand_dims(labels, -1), first), -1), dtype);
  });
}

std::span<const OptionField> BinaryAccuracyOptions::fields() {
  using O = BinaryAccuracyOptions;
  static constexpr OptionField all[] = {option<&O::threshold>("threshold").at_least(0).at_most(1),
                                        option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}
std::span<const OptionField> TopKCategoricalAccuracyOptions::fields() {
  using O = TopKCategoricalAccuracyOptions;
  static constexpr OptionField all[] = {option<&O::k>("k").at_least(1), option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}
std::span<const OptionField> SparseTopKCategoricalAccuracyOptions::fields() {
  using O = SparseTopKCategoricalAccuracyOptions;
  static constexpr OptionField all[] = {option<&O::k>("k").at_least(1), option<&O::from_sorted_ids>("from_sorted_ids"),
                                        option<&O::dtype>("dtype").one_of(kDTypes)};
  return all;
}

namespace {

using detail::FunctionMetric;
using detail::MeanOf;

struct Equal {
  static constexpr std::string_view kName = "Accuracy", kText = "How often labels and predictions are equal.";
  static constexpr auto kFunction = accuracy;
};
struct Categorical {
  static constexpr std::string_view kName = "CategoricalAccuracy";
  static constexpr std::string_view kText = "How often the largest of labels and predictions are at the same index.";
  static constexpr auto kFunction = categorical_accuracy;
};
struct Sparse {
  static constexpr std::string_view kName = "SparseCategoricalAccuracy";
  static constexpr std::string_view kText = "How often the largest prediction is at the index that the label gives.";
  static constexpr auto kFunction = sparse_categorical_accuracy;
};

struct Binary final : MeanOf<Binary, BinaryAccuracyOptions> {
  using MeanOf::MeanOf;
  static constexpr std::string_view kName = "BinaryAccuracy";
  static constexpr std::string_view kText =
      "How often a prediction is on that side of a threshold that the label says.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override {
    return binary_accuracy(y_true, y_pred, options);
  }
};
struct AmongK final : MeanOf<AmongK, TopKCategoricalAccuracyOptions> {
  using MeanOf::MeanOf;
  static constexpr std::string_view kName = "TopKCategoricalAccuracy";
  static constexpr std::string_view kText = "How often the largest label is among the k largest predictions.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override {
    return top_k_categorical_accuracy(y_true, y_pred, options);
  }
};
struct SparseAmongK final : MeanOf<SparseAmongK, SparseTopKCategoricalAccuracyOptions> {
  using MeanOf::MeanOf;
  static constexpr std::string_view kName = "SparseTopKCategoricalAccuracy";
  static constexpr std::string_view kText = "How often the class that the label gives is among the k largest.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override {
    return sparse_top_k_categorical_accuracy(y_true, y_pred, options);
  }
};

}  // namespace

Accuracy::Accuracy(std::string name, const MetricOptions& options)
    : Metric(FunctionMetric<Equal>::make(options), std::move(name)) {}
CategoricalAccuracy::CategoricalAccuracy(std::string name, const MetricOptions& options)
    : Metric(FunctionMetric<Categorical>::make(options), std::move(name)) {}
SparseCategoricalAccuracy::SparseCategoricalAccuracy(std::string name, const MetricOptions& options)
    : Metric(FunctionMetric<Sparse>::make(options), std::move(name)) {}
BinaryAccuracy::BinaryAccuracy(const BinaryAccuracyOptions& options, std::string name)
    : Metric(make_configurable<Binary>(options), std::move(name)) {}
BinaryAccuracy::BinaryAccuracy(std::string name, double threshold)
    : BinaryAccuracy(BinaryAccuracyOptions{.threshold = threshold}, std::move(name)) {}
TopKCategoricalAccuracy::TopKCategoricalAccuracy(const TopKCategoricalAccuracyOptions& options, std::string name)
    : Metric(make_configurable<AmongK>(options), std::move(name)) {}
SparseTopKCategoricalAccuracy::SparseTopKCategoricalAccuracy(const SparseTopKCategoricalAccuracyOptions& options,
                                                             std::string name)
    : Metric(make_configurable<SparseAmongK>(options), std::move(name)) {}

}  // namespace metrics

void detail::add_accuracy_metrics(std::vector<const ClassInfo*>& list) {
  using namespace metrics;
  list.insert(list.end(), {&FunctionMetric<Equal>::info(), &Binary::info(), &FunctionMetric<Categorical>::info(),
                           &FunctionMetric<Sparse>::info(), &AmongK::info(), &SparseAmongK::info()});
}

}  // namespace capstan
