// Metrics: numbers that accumulate over batches.
//
// A metric is a handle: copies share what was accumulated. Its state is a few variables, float32 or, if floatx() is
// that when it is made, float64, which no model counts among its weights. The option `dtype` asks for another one.
// Updates work in traced functions as well. Metrics of yes-or-no labels and of tables of classes are in
// capstan/confusion_metrics.h.
//
// A class of a program's own has options, variables and three functions; the configuration and the making by name
// follow:
//
//     struct LargestErrorOptions {
//       std::optional<DType> dtype = {};
//       static std::span<const OptionField> fields() {
//         static constexpr OptionField all[] = {option<&LargestErrorOptions::dtype>("dtype")};
//         return all;
//       }
//     };
//     struct LargestError : Configured<LargestError, MetricBody, LargestErrorOptions> {
//       static constexpr std::string_view kName = "LargestError", kText = "The largest absolute difference so far.";
//       explicit LargestError(const LargestErrorOptions& given = {})
//           : Configured(given), largest(add_variable({}, "largest", options.dtype)) {}
//       void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor&) override {
//         largest.assign(maximum(largest, cast(reduce_max(abs(y_pred - y_true)), largest.dtype())));
//       }
//       Tensor result() const override { return largest.value(); }
//       Variable largest;
//     };
//     Metric metric = make_metric<LargestError>();
//     register_class<LargestError>();
//     Metric another = metrics::get("largest_error");
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/config.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

/// What a class of metrics implements; see above for its options. Labels, predictions and weights are as the program
/// gave them.
class CAPSTAN_EXPORT MetricBody : public Configurable {
 public:
  static constexpr std::string_view kKind = "metric", kModule = "keras.metrics";

  /// Adds examples; an empty weight means 1.
  virtual void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) = 0;
  /// The value so far.
  virtual Tensor result() const = 0;
  /// As before the first update: all variables are 0 unless overridden.
  virtual void reset_state();
  /// The name of a metric that was given none; that of the class in snake case unless overridden.
  virtual std::string default_name() const;

  /// The state, in the order in which it was made.
  const std::vector<Variable>& variables() const { return variables_; }

 protected:
  /// A new variable of zeros, which is not trainable: in the constructor, or in an update if its shape is known only
  /// there. float32, or float64 if floatx() is that, unless a dtype is given.
  Variable add_variable(const Shape& shape, std::string_view name, std::optional<DType> dtype = {});

 private:
  std::vector<Variable> variables_;
};

/// A metric of any class, and what compile() takes: one of the classes of namespace metrics, a name ("acc", "accuracy",
/// "mse", ...), or a function of labels and predictions, of whose values it is the weighted mean.
///
///     metrics::SparseCategoricalAccuracy accuracy;
///     accuracy.update_state(labels, logits);
///     accuracy.result().item<float>();
class CAPSTAN_EXPORT Metric {
 public:
  using Function = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

  Metric(const char* name) : Metric(std::string_view(name)) {}
  Metric(const std::string& name) : Metric(std::string_view(name)) {}
  /// The name of a class in any spelling of capitals and underscores, or "mse", "mae", "mape", "msle", "bce", "kld".
  /// "acc" and "accuracy" become the accuracy that fits the shapes of the first update, "ce" and "crossentropy" the
  /// cross entropy. Errors: ValueError for an unknown name, or for a class that has no defaults.
  Metric(std::string_view name);
  template <class F>
  requires(!std::is_base_of_v<Metric, F> && std::is_invocable_r_v<Tensor, const F&, const Tensor&, const Tensor&>)
      Metric(F function, std::string name = "function")
      : Metric(of_function(Function(std::move(function))), std::move(name)) {}
  template <class Options>
  Metric(Tensor (*function)(const Tensor&, const Tensor&, const Options&), std::string name = "function")
      : Metric(Function([function](const Tensor& t, const Tensor& p) { return function(t, p, Options{}); }),
               std::move(name)) {}
  /// A metric of a body; see make_metric(). Without a name it has that of the class.
  explicit Metric(std::shared_ptr<MetricBody> body, std::string name = {});

  const std::string& name() const { return name_; }
  const std::shared_ptr<MetricBody>& body() const { return body_; }

  /// Adds examples; a weight per example scales both sum and count. Errors name the metric, labels, predictions and
  /// weights.
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) const;
  /// The value so far, for most a scalar of the dtype of the state; 0 before any update, unless the class says else.
  Tensor result() const;
  void reset_state() const;
  /// Updates and gives the value so far.
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) const;

  /// The state: total and count, for most.
  std::vector<Variable> variables() const;

  /// The options with Keras's keys, and the name.
  AttributeValue get_config() const;

 protected:
  void update_values(const Tensor& values, const Tensor& sample_weight) const;

 private:
  static std::shared_ptr<MetricBody> of_function(Function function);

  std::shared_ptr<MetricBody> body_;
  std::string name_;
};

/// A metric of a class of your own. Errors: ValueError for options that are not allowed.
template <class M>
Metric make_metric(const typename M::Options& options = {}, std::string name = {}) {
  return Metric(make_configurable<M>(options), std::move(name));
}

/// Metrics under the names of Keras. Their options are checked: ValueError names class, option and value.
namespace metrics {

/// A metric from its name, or from what serialize() gave: with its name, without what was accumulated. A name is that
/// of a class here: "accuracy" is Accuracy. Errors: ValueError for an unknown class or option.
///
///     Metric metric = metrics::get(AttributeValue::from_json(R"({"class_name": "AUC", "config": {"curve": "PR"}})"));
CAPSTAN_EXPORT Metric get(const AttributeValue& value);
/// A metric as Keras writes it, with its name; of "accuracy" and "crossentropy", whose class follows from the first
/// update, the name alone. Errors: ValueError for a function of the program.
///
///     metrics::serialize(metrics::AUC({.curve = "PR"})).to_json();
CAPSTAN_EXPORT AttributeValue serialize(const Metric& metric);

/// What the option `dtype` may be.
inline constexpr std::string_view kDTypes[] = {"float32", "float64"};

/// Options of metrics that have none of their own.
struct MetricOptions {
  /// float32 or float64, of the state and the result.
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

// --- Sums and means ---

/// The weighted mean of values.
///
///     metrics::Mean loss;
///     loss.update_state(batch_loss);
class CAPSTAN_EXPORT Mean : public Metric {
 public:
  explicit Mean(std::string name = {}, const MetricOptions& options = {});
  /// Values of any shape; a scalar counts as one, of others each example (the mean over its axes) counts once.
  void update_state(Operand values, const Tensor& sample_weight = {}) const;
};

/// The weighted sum of values.
class CAPSTAN_EXPORT Sum : public Metric {
 public:
  explicit Sum(std::string name = {}, const MetricOptions& options = {});
  /// Values of any shape, with a weight per example or per value.
  void update_state(Operand values, const Tensor& sample_weight = {}) const;
};

// --- Accuracies ---

/// 1 where labels and predictions are equal, 0 elsewhere, elementwise. Here and below the result is float32, or of the
/// option dtype. Errors: ShapeError for shapes that do not fit.
///
///     metrics::accuracy(constant({1, 2, 3}), constant({1, 0, 3}));  // [1, 0, 1]
CAPSTAN_EXPORT Tensor accuracy(const Tensor& y_true, const Tensor& y_pred);

/// Options of binary_accuracy and BinaryAccuracy.
struct BinaryAccuracyOptions {
  double threshold = 0.5;
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};
/// 1 where `y_pred > threshold` is what the label says, elementwise.
///
///     metrics::binary_accuracy(constant({0.0, 1.0}), constant({0.25, 0.25}));  // [1, 0]
CAPSTAN_EXPORT Tensor binary_accuracy(const Tensor& y_true, const Tensor& y_pred,
                                      const BinaryAccuracyOptions& options = {});
/// 1 where labels and predictions, both [..., classes], have their largest element at the same index, else 0: [...].
///
///     metrics::categorical_accuracy(constant({{0.0, 1.0}}), constant({{0.25, 0.75}}));  // [1]
CAPSTAN_EXPORT Tensor categorical_accuracy(const Tensor& y_true, const Tensor& y_pred);
/// 1 where the largest of the predictions [..., classes] is at the index that the label, [...] or [..., 1], gives.
///
///     metrics::sparse_categorical_accuracy(constant({1, 0}), constant({{0.25, 0.75}, {0.25, 0.75}}));  // [1, 0]
CAPSTAN_EXPORT Tensor sparse_categorical_accuracy(const Tensor& y_true, const Tensor& y_pred);

/// Options of top_k_categorical_accuracy and TopKCategoricalAccuracy.
struct TopKCategoricalAccuracyOptions {
  std::int64_t k = 5;
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};
/// 1 where fewer than k predictions are larger than that of the largest label: [..., classes] gives [...].
///
///     Tensor predictions = constant({{0.25, 0.5, 0.25}});
///     metrics::top_k_categorical_accuracy(constant({{1.0, 0.0, 0.0}}), predictions, {.k = 2});  // [1]
CAPSTAN_EXPORT Tensor top_k_categorical_accuracy(const Tensor& y_true, const Tensor& y_pred,
                                                 const TopKCategoricalAccuracyOptions& options = {});

/// Options of sparse_top_k_categorical_accuracy and SparseTopKCategoricalAccuracy.
struct SparseTopKCategoricalAccuracyOptions {
  std::int64_t k = 5;
  bool from_sorted_ids = false;  ///< predictions are class numbers, the likeliest first, [..., k or more]
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};
/// The same for labels that are class numbers, [...] or [..., 1].
///
///     metrics::sparse_top_k_categorical_accuracy(constant({2}), constant({{0.1, 0.5, 0.4}}), {.k = 2});  // [1]
CAPSTAN_EXPORT Tensor sparse_top_k_categorical_accuracy(const Tensor& y_true, const Tensor& y_pred,
                                                        const SparseTopKCategoricalAccuracyOptions& options = {});

/// How often labels and predictions are equal.
class CAPSTAN_EXPORT Accuracy : public Metric {
 public:
  explicit Accuracy(std::string name = {}, const MetricOptions& options = {});
};

/// How often `prediction > threshold` is what the label says.
class CAPSTAN_EXPORT BinaryAccuracy : public Metric {
 public:
  explicit BinaryAccuracy(const BinaryAccuracyOptions& options = {}, std::string name = {});
  explicit BinaryAccuracy(std::string name, double threshold = 0.5);
};

/// The fraction of examples whose labels and predictions, both [..., classes], have their largest element at the same
/// index.
class CAPSTAN_EXPORT CategoricalAccuracy : public Metric {
 public:
  explicit CategoricalAccuracy(std::string name = {}, const MetricOptions& options = {});
};

/// The fraction of examples whose largest prediction is at the index that the label gives.
class CAPSTAN_EXPORT SparseCategoricalAccuracy : public Metric {
 public:
  explicit SparseCategoricalAccuracy(std::string name = {}, const MetricOptions& options = {});
};

/// The fraction of examples whose largest label is among the k largest predictions.
class CAPSTAN_EXPORT TopKCategoricalAccuracy : public Metric {
 public:
  explicit TopKCategoricalAccuracy(const TopKCategoricalAccuracyOptions& options = {}, std::string name = {});
};

/// The same for labels that are class numbers.
class CAPSTAN_EXPORT SparseTopKCategoricalAccuracy : public Metric {
 public:
  explicit SparseTopKCategoricalAccuracy(const SparseTopKCategoricalAccuracyOptions& options = {},
                                         std::string name = {});
};

// --- Differences: means of the functions of namespace losses ---

/// The mean of squared differences.
class CAPSTAN_EXPORT MeanSquaredError : public Metric {
 public:
  explicit MeanSquaredError(std::string name = {}, const MetricOptions& options = {});
};

/// The square root of the mean of squared differences.
class CAPSTAN_EXPORT RootMeanSquaredError : public Metric {
 public:
  explicit RootMeanSquaredError(std::string name = {}, const MetricOptions& options = {});
};

/// The mean of absolute differences.
class CAPSTAN_EXPORT MeanAbsoluteError : public Metric {
 public:
  explicit MeanAbsoluteError(std::string name = {}, const MetricOptions& options = {});
};

/// The mean of absolute differences in percent of the labels.
class CAPSTAN_EXPORT MeanAbsolutePercentageError : public Metric {
 public:
  explicit MeanAbsolutePercentageError(std::string name = {}, const MetricOptions& options = {});
};

/// The mean of squared differences of logarithms.
class CAPSTAN_EXPORT MeanSquaredLogarithmicError : public Metric {
 public:
  explicit MeanSquaredLogarithmicError(std::string name = {}, const MetricOptions& options = {});
};

/// The mean of the logarithm of the hyperbolic cosine of differences.
class CAPSTAN_EXPORT LogCoshError : public Metric {
 public:
  explicit LogCoshError(std::string name = {}, const MetricOptions& options = {});
};

/// The mean loss of counts whose means are predicted.
class CAPSTAN_EXPORT Poisson : public Metric {
 public:
  explicit Poisson(std::string name = {}, const MetricOptions& options = {});
};

/// How far predicted probabilities are from those of the labels.
class CAPSTAN_EXPORT KLDivergence : public Metric {
 public:
  explicit KLDivergence(std::string name = {}, const MetricOptions& options = {});
};

/// The mean of max(1 - label * prediction, 0), as losses::hinge.
class CAPSTAN_EXPORT Hinge : public Metric {
 public:
  explicit Hinge(std::string name = {}, const MetricOptions& options = {});
};

/// The mean of max(1 - label * prediction, 0)^2.
class CAPSTAN_EXPORT SquaredHinge : public Metric {
 public:
  explicit SquaredHinge(std::string name = {}, const MetricOptions& options = {});
};

/// The mean of losses::categorical_hinge.
class CAPSTAN_EXPORT CategoricalHinge : public Metric {
 public:
  explicit CategoricalHinge(std::string name = {}, const MetricOptions& options = {});
};

// --- Cross entropies ---

/// Options of BinaryCrossentropy.
struct BinaryCrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// The mean cross entropy of yes-or-no labels.
class CAPSTAN_EXPORT BinaryCrossentropy : public Metric {
 public:
  explicit BinaryCrossentropy(const BinaryCrossentropyOptions& options = {}, std::string name = {});
};

/// Options of CategoricalCrossentropy.
struct CategoricalCrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;
  int axis = -1;
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// The mean cross entropy of labels that are probabilities.
class CAPSTAN_EXPORT CategoricalCrossentropy : public Metric {
 public:
  explicit CategoricalCrossentropy(const CategoricalCrossentropyOptions& options = {}, std::string name = {});
};

/// Options of SparseCategoricalCrossentropy.
struct SparseCategoricalCrossentropyOptions {
  bool from_logits = false;
  int axis = -1;
  /// Elements with this label, of any number, give 0. As in Keras they count in a mean without weights, and have the
  /// weight 0 in one with them.
  std::optional<std::int64_t> ignore_class = {};
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// The mean cross entropy of labels that are class numbers.
class CAPSTAN_EXPORT SparseCategoricalCrossentropy : public Metric {
 public:
  explicit SparseCategoricalCrossentropy(const SparseCategoricalCrossentropyOptions& options = {},
                                         std::string name = {});
};

// --- Likeness ---

/// Options of metrics along an axis.
struct AxisMetricOptions {
  int axis = -1;
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// The correlation of labels and predictions along an axis (Pearson), which the result lacks; NaN where one of both
/// does not vary. Errors: ShapeError, IndexError for an axis that is not there.
///
///     metrics::pearson_correlation(constant({1.0, 2.0, 3.0}), constant({2.0, 4.0, 7.0}));  // 0.9933991
CAPSTAN_EXPORT Tensor pearson_correlation(const Tensor& y_true, const Tensor& y_pred, int axis = -1);
/// The same times how well mean and variance agree (Lin 1989): 2 covariance / (both variances + (difference of means)^2
/// + 1e-7).
///
///     metrics::concordance_correlation(constant({1.0, 2.0, 3.0}), constant({2.0, 4.0, 7.0}));  // 0.3225806
CAPSTAN_EXPORT Tensor concordance_correlation(const Tensor& y_true, const Tensor& y_pred, int axis = -1);

/// The mean cosine of the angle between labels and predictions: 1 for the same direction.
class CAPSTAN_EXPORT CosineSimilarity : public Metric {
 public:
  explicit CosineSimilarity(const AxisMetricOptions& options = {}, std::string name = {});
};

/// The mean of pearson_correlation().
class CAPSTAN_EXPORT PearsonCorrelation : public Metric {
 public:
  explicit PearsonCorrelation(const AxisMetricOptions& options = {}, std::string name = {});
};

/// The mean of concordance_correlation().
class CAPSTAN_EXPORT ConcordanceCorrelation : public Metric {
 public:
  explicit ConcordanceCorrelation(const AxisMetricOptions& options = {}, std::string name = {});
};

/// What the option `class_aggregation` may be.
inline constexpr std::string_view kAggregations[] = {"uniform_average", "variance_weighted_average"};

/// Options of R2Score.
struct R2ScoreOptions {
  /// How the scores of several outputs become one; none: they do not.
  std::optional<std::string> class_aggregation = "uniform_average";
  /// If not 0, the score is adjusted for so many regressors, unless there are too few numbers for that.
  std::int64_t num_regressors = 0;
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// The coefficient of determination of labels and predictions [batch, outputs]: 1 - (sum of squared errors) / (sum of
/// squared distances from the mean), 0 where labels do not vary but predictions are wrong. Errors: ShapeError for other
/// shapes, ValueError for the result before the first update.
class CAPSTAN_EXPORT R2Score : public Metric {
 public:
  explicit R2Score(const R2ScoreOptions& options = {}, std::string name = {});
};

}  // namespace metrics
}  // namespace capstan
