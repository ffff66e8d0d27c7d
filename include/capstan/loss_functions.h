// The functions of namespace losses: one value per example, without weights and reduction; see losses.h.
#pragma once

#include <optional>
#include <vector>

#include "capstan/tensor.h"

namespace capstan {

namespace losses {

// --- Differences ---

/// (y_true - y_pred)^2, averaged over the last axis: [..., n] gives [...]. Labels are cast to the dtype of the
/// predictions and broadcast. If one of both has one axis more, of length 1 and the last, it fits. Errors here and
/// below: ShapeError for shapes that do not fit.
///
///     losses::mean_squared_error(constant({0.0, 1.0}), constant({0.5, 0.5}));  // 0.25
CAPSTAN_EXPORT Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred);
/// |y_true - y_pred|, averaged over the last axis.
///
///     losses::mean_absolute_error(constant({0.0, 1.0}), constant({0.5, 0.5}));  // 0.5
CAPSTAN_EXPORT Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred);
/// 100 |y_true - y_pred| / max(|y_true|, 1e-7), averaged over the last axis.
///
///     losses::mean_absolute_percentage_error(constant({1.0, 2.0}), constant({1.5, 2.0}));  // 25
CAPSTAN_EXPORT Tensor mean_absolute_percentage_error(const Tensor& y_true, const Tensor& y_pred);
/// (log(max(y_pred, 1e-7) + 1) - log(max(y_true, 1e-7) + 1))^2, averaged over the last axis.
///
///     losses::mean_squared_logarithmic_error(constant({0.0, 1.0}), constant({1.0, 1.0}));  // 0.2402264
CAPSTAN_EXPORT Tensor mean_squared_logarithmic_error(const Tensor& y_true, const Tensor& y_pred);
/// log(cosh(y_pred - y_true)) without overflow, averaged over the last axis.
///
///     losses::log_cosh(constant({0.0, 0.0}), constant({1.0, 100.0}));  // 49.87032
CAPSTAN_EXPORT Tensor log_cosh(const Tensor& y_true, const Tensor& y_pred);
/// y_pred - y_true * log(y_pred + 1e-7), averaged over the last axis: the loss of counts with these means.
///
///     losses::poisson(constant({0.0, 1.0}), constant({1.0, 2.0}));  // 1.153426
CAPSTAN_EXPORT Tensor poisson(const Tensor& y_true, const Tensor& y_pred);
/// y_true * log(y_true / y_pred), both limited to [1e-7, 1], summed over the last axis (Kullback and Leibler 1951).
///
///     losses::kl_divergence(constant({0.5, 0.5}), constant({0.25, 0.75}));  // 0.1438411
CAPSTAN_EXPORT Tensor kl_divergence(const Tensor& y_true, const Tensor& y_pred);

/// Options of huber.
struct HuberOptions {
  double delta = 1;
};
/// Half the square of small errors, linear beyond delta; averaged over the last axis (Huber 1964).
///
///     losses::huber(constant({0.0, 0.0}), constant({0.5, 3.0}));  // 1.3125
CAPSTAN_EXPORT Tensor huber(const Tensor& y_true, const Tensor& y_pred, const HuberOptions& options = {});

/// Options of cosine_similarity.
struct CosineSimilarityOptions {
  int axis = -1;
};
/// Minus the cosine of the angle between labels and predictions along an axis, which the result lacks; 0 where one of
/// both is zero. Errors: IndexError for an axis that is not there.
///
///     losses::cosine_similarity(constant({3.0, 4.0}), constant({4.0, 3.0}));  // -0.96
CAPSTAN_EXPORT Tensor cosine_similarity(const Tensor& y_true, const Tensor& y_pred,
                                        const CosineSimilarityOptions& options = {});

// --- Margins ---

/// max(1 - y_true * y_pred, 0), averaged over the last axis. Labels are -1 or 1; if all of them are 0 or 1, 0 means -1.
///
///     losses::hinge(constant({-1.0, 1.0}), constant({0.5, 2.0}));  // 0.75
CAPSTAN_EXPORT Tensor hinge(const Tensor& y_true, const Tensor& y_pred);
/// max(1 - y_true * y_pred, 0)^2 of the same labels, averaged over the last axis.
///
///     losses::squared_hinge(constant({-1.0, 1.0}), constant({0.5, 2.0}));  // 1.125
CAPSTAN_EXPORT Tensor squared_hinge(const Tensor& y_true, const Tensor& y_pred);
/// max(1 + wrong - right, 0) for labels 0 and 1: right is the sum of y_true * y_pred over the last axis, wrong the
/// largest (1 - y_true) * y_pred.
///
///     losses::categorical_hinge(constant({0.0, 1.0}), constant({0.75, 0.25}));  // 1.5
CAPSTAN_EXPORT Tensor categorical_hinge(const Tensor& y_true, const Tensor& y_pred);

// --- Cross entropies ---

/// Options of binary_crossentropy and categorical_crossentropy.
struct CrossentropyOptions {
  bool from_logits = false;
  /// Moves labels towards equal probabilities by this fraction.
  double label_smoothing = 0;
  int axis = -1;
};
/// Labels and predictions of one shape; averaged over the axis.
///
///     losses::binary_crossentropy(constant({0.0, 1.0}), constant({0.25, 0.75}));  // 0.2876821
CAPSTAN_EXPORT Tensor binary_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                          const CrossentropyOptions& options = {});
/// Labels are probabilities, of the shape of the predictions: [..., classes] gives [...].
///
///     losses::categorical_crossentropy(constant({{0.0, 1.0}}), constant({{0.25, 0.75}}));  // [0.2876821]
CAPSTAN_EXPORT Tensor categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                               const CrossentropyOptions& options = {});

/// Options of binary_focal_crossentropy.
struct BinaryFocalCrossentropyOptions {
  /// Weights labels 1 by alpha and labels 0 by 1 - alpha.
  bool apply_class_balancing = false;
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  int axis = -1;
};
/// binary_crossentropy in which an element counts (1 - p)^gamma, where p is the probability of its label; averaged over
/// the axis (Lin, Goyal, Girshick, He, Dollar 2017).
///
///     losses::binary_focal_crossentropy(constant({0.0, 1.0}), constant({0.25, 0.75}));  // 0.01798013
CAPSTAN_EXPORT Tensor binary_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                                const BinaryFocalCrossentropyOptions& options = {});

/// Options of categorical_focal_crossentropy.
struct CategoricalFocalCrossentropyOptions {
  /// One weight for all classes, or one for each along the last axis.
  std::vector<double> alpha = {0.25};
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  int axis = -1;
};
/// categorical_crossentropy in which a class of probability p counts alpha (1 - p)^gamma. Errors: ShapeError for a
/// number of weights that is neither 1 nor that of the classes.
///
///     losses::categorical_focal_crossentropy(constant({{0.0, 1.0}}), constant({{0.25, 0.75}}));  // [0.00449503]
CAPSTAN_EXPORT Tensor categorical_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                                     const CategoricalFocalCrossentropyOptions& options = {});

/// Options of sparse_categorical_crossentropy.
struct SparseCrossentropyOptions {
  bool from_logits = false;
  int axis = -1;
  std::optional<std::int64_t> ignore_class = {};  ///< elements with this label, of any number, give 0
};
/// Labels are class numbers, [...] or [..., 1]; predictions are [..., classes]. Errors: IndexError for another label
/// outside the classes.
///
///     losses::sparse_categorical_crossentropy(constant({1}), constant({{0.25, 0.75}}));  // [0.287682]
CAPSTAN_EXPORT Tensor sparse_categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                                      const SparseCrossentropyOptions& options = {});

/// Options of categorical_generalized_cross_entropy.
struct GeneralizedCrossEntropyOptions {
  double q = 0.5;  ///< between 0, a cross entropy, and 1, an absolute error
};
/// (1 - p^q) / q for the probability p of the label (Zhang, Sabuncu 2018). Labels are class numbers, [...] or [..., 1];
/// predictions are probabilities, [..., classes]. Errors: IndexError for a label outside the classes, ValueError for q.
///
///     losses::categorical_generalized_cross_entropy(constant({1}), constant({{0.25, 0.75}}));  // [0.2679492]
CAPSTAN_EXPORT Tensor categorical_generalized_cross_entropy(const Tensor& y_true, const Tensor& y_pred,
                                                            const GeneralizedCrossEntropyOptions& options = {});

// --- Overlap, embeddings, sequences ---

/// Options of dice.
struct DiceOptions {
  std::optional<std::vector<int>> axis = {};  ///< the axes of one example; all unless given
};
/// 1 - 2 sum(y_true * y_pred) / (sum(y_true) + sum(y_pred) + 1e-7), the sums over the axes: a scalar unless these are
/// given. Labels and predictions have one shape.
///
///     losses::dice(constant({0.0, 1.0}), constant({0.25, 0.75}));  // 0.25
CAPSTAN_EXPORT Tensor dice(const Tensor& y_true, const Tensor& y_pred, const DiceOptions& options = {});

/// Options of tversky.
struct TverskyOptions {
  double alpha = 0.5;                         ///< the weight of what is predicted and not labelled
  double beta = 0.5;                          ///< the weight of what is labelled and not predicted
  std::optional<std::vector<int>> axis = {};  ///< the axes of one example; all unless given
};
/// 1 - I / (I + alpha sum((1 - y_true) * y_pred) + beta sum(y_true * (1 - y_pred)) + 1e-7) with I = sum(y_true *
/// y_pred), the sums over the axes (Salehi, Erdogmus, Gholipour 2017). Keras 3.15 has the roles of alpha and beta
/// exchanged.
///
///     losses::tversky(constant({0.0, 1.0}), constant({0.25, 0.75}));  // 0.2500001
CAPSTAN_EXPORT Tensor tversky(const Tensor& y_true, const Tensor& y_pred, const TverskyOptions& options = {});

/// Options of circle.
struct CircleOptions {
  double gamma = 80;
  double margin = 0.4;
  bool remove_diagonal = true;  ///< an example is no pair with itself
  Tensor ref_labels = {};       ///< what the embeddings are compared with, those of the batch unless given
  Tensor ref_embeddings = {};
};
/// For embeddings y_pred [batch, n] of length 1 and class numbers y_true [batch]: how much closer those of other
/// classes are than those of the same class, [batch] (Sun and others 2020). Errors: ShapeError.
///
///     losses::circle(constant({0, 0, 1}), constant({{1.0, 0.0}, {0.6, 0.8}, {0.0, 1.0}}));  // float32[3]
CAPSTAN_EXPORT Tensor circle(const Tensor& y_true, const Tensor& y_pred, const CircleOptions& options = {});

/// Connectionist temporal classification, see ctc_loss: labels y_true [batch, length] with 0 after the last one,
/// logits y_pred [batch, time, classes], of which class 0 is the blank; gives [batch]. Errors: ShapeError, IndexError
/// for a label that is no class, or for a 0 in front of a label.
///
///     losses::ctc(constant({{1, 2}}), zeros({1, 4, 3}));  // [1.686399]
CAPSTAN_EXPORT Tensor ctc(const Tensor& y_true, const Tensor& y_pred);

}  // namespace losses

}  // namespace capstan
