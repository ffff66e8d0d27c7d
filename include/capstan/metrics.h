// Metrics: numbers that accumulate over batches.
//
// A metric is a handle: copies share what was accumulated. Its state is a few variables, float32 or, if floatx() is
// that when it is made, float64, which no model counts among its weights.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

/// The weighted mean of per-example values of a function of labels and predictions. What compile() takes: one of the
/// classes of namespace metrics, a name ("acc", "accuracy", "mse", ...), or a function.
///
///     metrics::SparseCategoricalAccuracy accuracy;
///     accuracy.update_state(labels, logits);
///     accuracy.result().item<float>();
class CAPSTAN_EXPORT Metric {
 public:
  using Function = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

  Metric(const char* name) : Metric(std::string_view(name)) {}
  Metric(const std::string& name) : Metric(std::string_view(name)) {}
  /// "acc" and "accuracy" become the accuracy that fits the shapes of the first update. Errors: ValueError for an
  /// unknown name.
  Metric(std::string_view name);
  template <class F>
  requires std::is_invocable_r_v<Tensor, const F&, const Tensor&, const Tensor&> Metric(F function,
                                                                                        std::string name = "function")
      : Metric(Function(std::move(function)), std::move(name), true) {}

  const std::string& name() const;

  /// Adds examples; a weight per example scales both sum and count.
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) const;
  /// The value so far, a scalar of the dtype of the state; 0 before any update.
  Tensor result() const;
  void reset_state() const;

  /// The state: total and count.
  std::vector<Variable> variables() const;

 protected:
  Metric(Function function, std::string name, bool);
  void accumulate(const Tensor& values, const Tensor& sample_weight) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Metrics under the names of Keras.
namespace metrics {

/// The weighted mean of values.
///
///     metrics::Mean loss;
///     loss.update_state(batch_loss);
class CAPSTAN_EXPORT Mean : public Metric {
 public:
  explicit Mean(std::string name = "mean");
  /// Values of any shape; a scalar counts as one, of others each example (the mean over its axes) counts once.
  void update_state(Operand values, const Tensor& sample_weight = {}) const;
};

/// The fraction of examples whose largest prediction is at the index that the label gives.
class CAPSTAN_EXPORT SparseCategoricalAccuracy : public Metric {
 public:
  explicit SparseCategoricalAccuracy(std::string name = "sparse_categorical_accuracy");
};

/// The fraction of examples whose labels and predictions, both [..., classes], have their largest element at the same
/// index.
class CAPSTAN_EXPORT CategoricalAccuracy : public Metric {
 public:
  explicit CategoricalAccuracy(std::string name = "categorical_accuracy");
};

/// How often `prediction > threshold` is what the label says.
class CAPSTAN_EXPORT BinaryAccuracy : public Metric {
 public:
  explicit BinaryAccuracy(std::string name = "binary_accuracy", double threshold = 0.5);
};

}  // namespace metrics
}  // namespace capstan
