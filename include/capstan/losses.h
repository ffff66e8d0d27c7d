// Losses: how far predictions are from labels.
//
// Two forms, as in Keras. The functions (losses::mean_squared_error) give one value per example. The classes
// (losses::MeanSquaredError) weight these and reduce them to one. Everything is computed in the dtype of the
// predictions, bfloat16 in float32.
//
// A cross entropy of probabilities that come straight from activations::softmax or ::sigmoid, or from a layer with that
// activation, is computed from their logits. Other probabilities are clipped to [1e-7, 1 - 1e-7].
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "capstan/tensor.h"

namespace capstan {

namespace losses {

/// (y_true - y_pred)^2, averaged over the last axis. Errors here and below: ShapeError for shapes that do not fit.
CAPSTAN_EXPORT Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred);
/// |y_true - y_pred|, averaged over the last axis.
CAPSTAN_EXPORT Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred);

/// Options of huber.
struct HuberOptions {
  double delta = 1;
};
/// Half the square of small errors, linear beyond delta; averaged over the last axis.
CAPSTAN_EXPORT Tensor huber(const Tensor& y_true, const Tensor& y_pred, const HuberOptions& options = {});

/// Options of binary_crossentropy and categorical_crossentropy.
struct CrossentropyOptions {
  bool from_logits = false;
  /// Moves labels towards equal probabilities by this fraction.
  double label_smoothing = 0;
  int axis = -1;
};
/// Labels and predictions of one shape; averaged over the axis.
CAPSTAN_EXPORT Tensor binary_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                          const CrossentropyOptions& options = {});
/// Labels are probabilities, of the shape of the predictions: [..., classes] gives [...].
CAPSTAN_EXPORT Tensor categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                               const CrossentropyOptions& options = {});

/// Options of sparse_categorical_crossentropy.
struct SparseCrossentropyOptions {
  bool from_logits = false;
  int axis = -1;
};
/// Labels are class numbers, [...] or [..., 1]; predictions are [..., classes]. Errors: IndexError for a label outside
/// the classes.
CAPSTAN_EXPORT Tensor sparse_categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                                      const SparseCrossentropyOptions& options = {});

}  // namespace losses

/// A loss that can be called and that compile() takes: one of the classes below, a name ("mse",
/// "categorical_crossentropy", ...), or a function of labels and predictions that gives one value per example.
///
///     losses::SparseCategoricalCrossentropy loss_fn({.from_logits = true});
///     Tensor loss = loss_fn(labels, model(images, {.training = true}));
class CAPSTAN_EXPORT Loss {
 public:
  using Function = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

  Loss(const char* name) : Loss(std::string_view(name)) {}
  Loss(const std::string& name) : Loss(std::string_view(name)) {}
  /// Errors: ValueError for an unknown name.
  Loss(std::string_view name);
  template <class F>
  requires(!std::is_base_of_v<Loss, F> && std::is_invocable_r_v<Tensor, const F&, const Tensor&, const Tensor&>)
      Loss(F function, std::string_view reduction = "sum_over_batch_size")
      : Loss(Function(std::move(function)), reduction, "function") {}
  template <class Options>
  Loss(Tensor (*function)(const Tensor&, const Tensor&, const Options&))
      : Loss(Function([function](const Tensor& t, const Tensor& p) { return function(t, p, Options{}); }),
             "sum_over_batch_size", "function") {}

  /// The reduced loss. A weight scales the values of its example: [batch], [batch, 1], a scalar, or one per value.
  ///
  /// "sum_over_batch_size" (and "mean") divide by the number of values, whatever the weights;
  /// "mean_with_sample_weight" by the sum of the weights; "sum" adds; "none" leaves one value per example.
  /// What `mask` (bool, one per value) leaves out has loss 0 and does not count in a mean. Errors name the loss,
  /// labels, predictions and weights.
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {},
                    const Tensor& mask = {}) const;

  const std::string& name() const { return name_; }

  enum class Reduction : unsigned char { kSumOverBatchSize, kMeanWithSampleWeight, kSum, kNone };

 protected:
  /// Errors: ValueError for an unknown reduction.
  Loss(Function function, std::string_view reduction, std::string_view name,
       std::optional<std::int64_t> ignore_class = {});

 private:
  Tensor compute(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight, const Tensor& mask) const;
  Tensor weighted(const Tensor& values, const Tensor& weight) const;
  Tensor masked(const Tensor& values, const Tensor& mask, const Tensor& sample_weight) const;

  Function function_;
  std::string name_;
  Reduction reduction_;
  std::optional<std::int64_t> ignore_class_;
};

namespace losses {

/// Options of losses that have none of their own.
struct LossOptions {
  std::string reduction = "sum_over_batch_size";
};

/// The mean of squared differences.
class CAPSTAN_EXPORT MeanSquaredError : public Loss {
 public:
  explicit MeanSquaredError(const LossOptions& options = {});
};

/// The mean of absolute differences.
class CAPSTAN_EXPORT MeanAbsoluteError : public Loss {
 public:
  explicit MeanAbsoluteError(const LossOptions& options = {});
};

/// Options of Huber.
struct HuberLossOptions {
  double delta = 1;
  std::string reduction = "sum_over_batch_size";
};

/// Squared for small, linear for large differences.
class CAPSTAN_EXPORT Huber : public Loss {
 public:
  explicit Huber(const HuberLossOptions& options = {});
};

/// Options of BinaryCrossentropy and CategoricalCrossentropy.
struct CrossentropyLossOptions {
  bool from_logits = false;
  double label_smoothing = 0;
  int axis = -1;
  std::string reduction = "sum_over_batch_size";
};

/// Cross entropy of independent yes-or-no labels.
class CAPSTAN_EXPORT BinaryCrossentropy : public Loss {
 public:
  explicit BinaryCrossentropy(const CrossentropyLossOptions& options = {});
};

/// Cross entropy of labels that are probabilities, such as one-hot rows.
class CAPSTAN_EXPORT CategoricalCrossentropy : public Loss {
 public:
  explicit CategoricalCrossentropy(const CrossentropyLossOptions& options = {});
};

/// Options of SparseCategoricalCrossentropy.
struct SparseCrossentropyLossOptions {
  bool from_logits = false;
  /// Examples with this label count neither in the sum nor in the number that a mean divides by.
  std::optional<std::int64_t> ignore_class = {};
  int axis = -1;
  std::string reduction = "sum_over_batch_size";
};

/// Cross entropy of labels that are class numbers.
class CAPSTAN_EXPORT SparseCategoricalCrossentropy : public Loss {
 public:
  explicit SparseCategoricalCrossentropy(const SparseCrossentropyLossOptions& options = {});
};

}  // namespace losses
}  // namespace capstan
