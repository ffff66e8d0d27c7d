// Losses: how far predictions are from labels.
//
// Two forms, as in Keras. The functions (losses::mean_squared_error, in loss_functions.h) give one value per example.
// The classes (losses::MeanSquaredError) weight these and reduce them to one. Everything is computed in the dtype of
// the predictions, bfloat16 in float32; the option `dtype` of a class asks for another one.
//
// A cross entropy of probabilities that come straight from activations::softmax or ::sigmoid, or from a layer with that
// activation, is computed from their logits. Other probabilities are clipped to [1e-7, 1 - 1e-7].
//
// A class of a program's own has options and one formula; weights, masks, reductions, the configuration and the making
// by name follow:
//
//     struct PowerLossOptions {
//       double exponent = 4;
//       std::optional<std::string> reduction = "sum_over_batch_size";
//       static std::span<const OptionField> fields() {
//         static constexpr OptionField all[] = {option<&PowerLossOptions::exponent>("exponent").at_least(1),
//                                               option<&PowerLossOptions::reduction>("reduction")};
//         return all;
//       }
//     };
//     struct PowerLoss : LossFormula<PowerLoss, PowerLossOptions> {
//       using LossFormula::LossFormula;
//       static constexpr std::string_view kName = "PowerLoss", kText = "The mean of a power of absolute differences.";
//       Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
//         return reduce_mean(pow(abs(y_pred - y_true), options.exponent), -1);
//       }
//     };
//     Loss loss = make_loss<PowerLoss>({.exponent = 3});
//     register_class<PowerLoss>();
//     Loss same = losses::get("power_loss");
#pragma once

#include <array>
#include <cstddef>
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
#include "capstan/loss_functions.h"
#include "capstan/tensor.h"

namespace capstan {

namespace losses {

/// What the options `reduction` and `dtype` may be.
inline constexpr std::string_view kReductions[] = {"sum_over_batch_size", "mean", "mean_with_sample_weight", "sum",
                                                   "none"};
inline constexpr std::string_view kDTypes[] = {"float32", "float64"};

/// What every class of losses has of options; those without options of their own have these.
struct LossOptions {
  /// How values become one, see Loss; none is "none".
  std::optional<std::string> reduction = "sum_over_batch_size";
  /// float32 or float64: what labels and predictions are cast to; unless given, labels to the dtype of the predictions.
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

}  // namespace losses

/// What a class of losses implements; derive from LossFormula, which brings options.
class CAPSTAN_EXPORT LossBody : public Configurable {
 public:
  static constexpr std::string_view kKind = "loss", kModule = "keras.losses";

  /// One value per example, before weights and reduction. Predictions are float32 or float64, and labels have been
  /// brought to their rank if only an axis of length 1 was missing.
  virtual Tensor values(const Tensor& y_true, const Tensor& y_pred) const = 0;
  /// bool, like the values: which of them count. Empty unless overridden: all of them.
  virtual Tensor counts(const Tensor& y_true, const Tensor& y_pred, const Tensor& values) const;
  /// What every loss has of its options.
  virtual losses::LossOptions common_options() const = 0;
};

/// The base of losses: `Derived` has `kName` and `kText`, `Options` a table (see capstan/config.h) and any members of
/// losses::LossOptions.
template <class Derived, class Options>
class LossFormula : public Configured<Derived, LossBody, Options> {
 public:
  using Configured<Derived, LossBody, Options>::Configured;

  losses::LossOptions common_options() const final {
    losses::LossOptions common;
    if constexpr (requires(const Options& o) { o.reduction; }) common.reduction = this->options.reduction;
    if constexpr (requires(const Options& o) { o.dtype; }) common.dtype = this->options.dtype;
    return common;
  }
};

/// A loss that can be called and that compile() takes: one of the classes below, a name ("mse",
/// "categorical_crossentropy", ...), or a function of labels and predictions that gives one value per example. Copies
/// share it.
///
///     losses::SparseCategoricalCrossentropy loss_fn({.from_logits = true});
///     Tensor loss = loss_fn(labels, model(images, {.training = true}));
class CAPSTAN_EXPORT Loss {
 public:
  using Function = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

  Loss(const char* name) : Loss(std::string_view(name)) {}
  Loss(const std::string& name) : Loss(std::string_view(name)) {}
  /// The name of a class in any spelling of capitals and underscores, or "mse", "mae", "mape", "msle", "bce", "kld".
  /// Errors: ValueError for an unknown name, or for a class that has no defaults.
  Loss(std::string_view name);
  /// A function, which gets labels of the dtype of the predictions, as in Keras: class numbers for ops that index are
  /// to be cast. Errors: ValueError for an unknown reduction.
  template <class F>
  requires(!std::is_base_of_v<Loss, F> && std::is_invocable_r_v<Tensor, const F&, const Tensor&, const Tensor&>)
      Loss(F function, std::string_view reduction = "sum_over_batch_size")
      : Loss(of_function(Function(std::move(function)), reduction), "function") {}
  template <class Options>
  Loss(Tensor (*function)(const Tensor&, const Tensor&, const Options&))
      : Loss(Function([function](const Tensor& t, const Tensor& p) { return function(t, p, Options{}); })) {}
  /// A loss of a body; see make_loss(). Without a name it has that of the class. Errors: ValueError for an unknown
  /// reduction, or a dtype other than float32 and float64.
  explicit Loss(std::shared_ptr<const LossBody> body, std::string_view name = {});

  /// The reduced loss. A weight scales the values of its example: [batch], [batch, 1], a scalar, or one per value.
  ///
  /// "sum_over_batch_size" (and "mean") divide by the number of values, whatever the weights;
  /// "mean_with_sample_weight" by the sum of the weights; "sum" adds; "none" leaves one value per example.
  /// What `mask` (bool, one per value) leaves out has loss 0 and does not count in a mean. Errors name the loss,
  /// labels, predictions and weights.
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {},
                    const Tensor& mask = {}) const;

  const std::string& name() const { return name_; }
  const std::shared_ptr<const LossBody>& body() const { return body_; }
  /// The options with Keras's keys, and the name.
  AttributeValue get_config() const;

 private:
  enum class Reduction : unsigned char { kSumOverBatchSize, kMeanWithSampleWeight, kSum, kNone };

  static std::shared_ptr<const LossBody> of_function(Function function, std::string_view reduction);
  Tensor compute(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight, const Tensor& mask) const;
  Tensor reduce(const Tensor& values, const Tensor& weight) const;
  Tensor weighted(const Tensor& values, const Tensor& weight) const;
  Tensor masked(const Tensor& values, const Tensor& mask, const Tensor& sample_weight) const;

  std::shared_ptr<const LossBody> body_;
  std::string name_;
  std::optional<DType> dtype_;
  Reduction reduction_;
};

/// A loss of a class of your own. Errors: ValueError for options that are not allowed.
template <class L>
Loss make_loss(const typename L::Options& options = {}) {
  return Loss(make_configurable<L>(options));
}

/// The table of options that has these, and then all members of losses::LossOptions.
template <class O, std::size_t N>
constexpr std::array<OptionField, N + 2> with_loss_options(const OptionField (&own)[N]) {
  std::array<OptionField, N + 2> all = {};
  for (std::size_t i = 0; i < N; ++i) all[i] = own[i];
  all[N] = option<&O::reduction>("reduction").one_of(losses::kReductions);
  all[N + 1] = option<&O::dtype>("dtype").one_of(losses::kDTypes);
  return all;
}

/// Losses under the names of Keras.
namespace losses {

/// A loss from its name, or from what serialize() gave. Errors: ValueError for an unknown class or option.
///
///     Loss loss = losses::get(AttributeValue::from_json(R"({"class_name": "Huber", "config": {"delta": 2}})"));
CAPSTAN_EXPORT Loss get(const AttributeValue& value);
/// A loss as Keras writes it, with its name. Errors: ValueError for a function of the program.
///
///     losses::serialize(losses::Huber({.delta = 2})).to_json();
CAPSTAN_EXPORT AttributeValue serialize(const Loss& loss);

/// The mean of squared differences.
class CAPSTAN_EXPORT MeanSquaredError : public Loss {
 public:
  explicit MeanSquaredError(const LossOptions& options = {}, std::string_view name = {});
};

/// The mean of absolute differences.
class CAPSTAN_EXPORT MeanAbsoluteError : public Loss {
 public:
  explicit MeanAbsoluteError(const LossOptions& options = {}, std::string_view name = {});
};

/// The mean of absolute differences in percent of the labels.
class CAPSTAN_EXPORT MeanAbsolutePercentageError : public Loss {
 public:
  explicit MeanAbsolutePercentageError(const LossOptions& options = {}, std::string_view name = {});
};

/// The mean of squared differences of logarithms of numbers above -1.
class CAPSTAN_EXPORT MeanSquaredLogarithmicError : public Loss {
 public:
  explicit MeanSquaredLogarithmicError(const LossOptions& options = {}, std::string_view name = {});
};

/// The logarithm of the hyperbolic cosine of differences: squared for small, linear for large ones.
class CAPSTAN_EXPORT LogCosh : public Loss {
 public:
  explicit LogCosh(const LossOptions& options = {}, std::string_view name = {});
};

/// The loss of counts whose means are predicted.
class CAPSTAN_EXPORT Poisson : public Loss {
 public:
  explicit Poisson(const LossOptions& options = {}, std::string_view name = {});
};

/// How far predicted probabilities are from those of the labels.
class CAPSTAN_EXPORT KLDivergence : public Loss {
 public:
  explicit KLDivergence(const LossOptions& options = {}, std::string_view name = {});
};

/// Options of Huber.
struct HuberLossOptions {
  double delta = 1;
  std::optional<std::string> reduction = "sum_over_batch_size";
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// Squared for small, linear for large differences.
class CAPSTAN_EXPORT Huber : public Loss {
 public:
  explicit Huber(const HuberLossOptions& options = {}, std::string_view name = {});
};

/// Options of CosineSimilarity.
struct CosineSimilarityLossOptions {
  int axis = -1;
  std::optional<std::string> reduction = "sum_over_batch_size";
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// Minus the cosine between labels and predictions: -1 for the same direction.
class CAPSTAN_EXPORT CosineSimilarity : public Loss {
 public:
  explicit CosineSimilarity(const CosineSimilarityLossOptions& options = {}, std::string_view name = {});
};

/// How far predictions are from being beyond 1 on the side of their labels.
class CAPSTAN_EXPORT Hinge : public Loss {
 public:
  explicit Hinge(const LossOptions& options = {}, std::string_view name = {});
};

/// The square of that.
class CAPSTAN_EXPORT SquaredHinge : public Loss {
 public:
  explicit SquaredHinge(const LossOptions& options = {}, std::string_view name = {});
};

/// How far the right class is from being ahead of the others by 1.
class CAPSTAN_EXPORT CategoricalHinge : public Loss {
 public:
  explicit CategoricalHinge(const LossOptions& options = {}, std::string_view name = {});
};

/// Options of BinaryCrossentropy and CategoricalCrossentropy.
struct CrossentropyLossOptions {
  bool from_logits = false;
  double label_smoothing = 0;
  int axis = -1;
  std::optional<std::string> reduction = "sum_over_batch_size";
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// Cross entropy of independent yes-or-no labels.
class CAPSTAN_EXPORT BinaryCrossentropy : public Loss {
 public:
  explicit BinaryCrossentropy(const CrossentropyLossOptions& options = {}, std::string_view name = {});
};

/// Cross entropy of labels that are probabilities, such as one-hot rows.
class CAPSTAN_EXPORT CategoricalCrossentropy : public Loss {
 public:
  explicit CategoricalCrossentropy(const CrossentropyLossOptions& options = {}, std::string_view name = {});
};

/// Options of BinaryFocalCrossentropy.
struct BinaryFocalCrossentropyLossOptions {
  bool apply_class_balancing = false;
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  int axis = -1;
  std::optional<std::string> reduction = "sum_over_batch_size";
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// Cross entropy of yes-or-no labels that is mostly of the badly predicted ones.
class CAPSTAN_EXPORT BinaryFocalCrossentropy : public Loss {
 public:
  explicit BinaryFocalCrossentropy(const BinaryFocalCrossentropyLossOptions& options = {}, std::string_view name = {});
};

/// Options of CategoricalFocalCrossentropy.
struct CategoricalFocalCrossentropyLossOptions {
  std::vector<double> alpha = {0.25};
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  int axis = -1;
  std::optional<std::string> reduction = "sum_over_batch_size";
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// Cross entropy of probabilities that is mostly of the badly predicted ones.
class CAPSTAN_EXPORT CategoricalFocalCrossentropy : public Loss {
 public:
  explicit CategoricalFocalCrossentropy(const CategoricalFocalCrossentropyLossOptions& options = {},
                                        std::string_view name = {});
};

/// Options of SparseCategoricalCrossentropy.
struct SparseCrossentropyLossOptions {
  bool from_logits = false;
  /// Examples with this label count neither in the sum nor in the number that a mean divides by.
  std::optional<std::int64_t> ignore_class = {};
  int axis = -1;
  std::optional<std::string> reduction = "sum_over_batch_size";
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// Cross entropy of labels that are class numbers.
class CAPSTAN_EXPORT SparseCategoricalCrossentropy : public Loss {
 public:
  explicit SparseCategoricalCrossentropy(const SparseCrossentropyLossOptions& options = {}, std::string_view name = {});
};

/// Options of CategoricalGeneralizedCrossEntropy.
struct GeneralizedCrossEntropyLossOptions {
  double q = 0.5;
  std::optional<std::string> reduction = "sum_over_batch_size";
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// A loss of class numbers that is less sure of the labels than a cross entropy. Errors: ValueError unless 0 < q < 1.
class CAPSTAN_EXPORT CategoricalGeneralizedCrossEntropy : public Loss {
 public:
  explicit CategoricalGeneralizedCrossEntropy(const GeneralizedCrossEntropyLossOptions& options = {},
                                              std::string_view name = {});
};

/// Options of Dice.
struct DiceLossOptions {
  std::optional<std::vector<int>> axis = {};
  std::optional<std::string> reduction = "sum_over_batch_size";
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// How little labelled and predicted regions overlap.
class CAPSTAN_EXPORT Dice : public Loss {
 public:
  explicit Dice(const DiceLossOptions& options = {}, std::string_view name = {});
};

/// Options of Tversky.
struct TverskyLossOptions {
  double alpha = 0.5;
  double beta = 0.5;
  std::optional<std::vector<int>> axis = {};
  std::optional<std::string> reduction = "sum_over_batch_size";
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// The same with weights for both kinds of mistakes; see tversky().
class CAPSTAN_EXPORT Tversky : public Loss {
 public:
  explicit Tversky(const TverskyLossOptions& options = {}, std::string_view name = {});
};

/// Options of Circle.
struct CircleLossOptions {
  double gamma = 80;
  double margin = 0.4;
  bool remove_diagonal = true;
  std::optional<std::string> reduction = "sum_over_batch_size";
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// The circle loss of embeddings. Examples whose loss is 0 do not count in a mean.
class CAPSTAN_EXPORT Circle : public Loss {
 public:
  explicit Circle(const CircleLossOptions& options = {}, std::string_view name = {});
};

/// Connectionist temporal classification of sequences; see ctc().
class CAPSTAN_EXPORT CTC : public Loss {
 public:
  explicit CTC(const LossOptions& options = {}, std::string_view name = {});
};

}  // namespace losses

}  // namespace capstan
