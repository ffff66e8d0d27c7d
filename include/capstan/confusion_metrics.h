// Metrics of yes-or-no labels and of tables of classes: what is right, and which mistakes are made.
//
// A prediction is positive if it is above a threshold, and a label if it is not 0. From the weighted numbers of right
// and wrong positives and negatives follow rates, curves and scores.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/metrics.h"

namespace capstan::metrics {

// --- Numbers of positives and negatives ---

/// Options of TruePositives, TrueNegatives, FalsePositives and FalseNegatives.
struct ThresholdOptions {
  /// In [0, 1]; 0.5 unless given. Several of them make the result a vector.
  std::optional<std::vector<double>> thresholds = {};
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// How many positives are predicted as such. Labels, predictions and weights are of one shape, or weights have one
/// number per example.
class CAPSTAN_EXPORT TruePositives : public Metric {
 public:
  explicit TruePositives(const ThresholdOptions& options = {}, std::string name = {});
};

/// How many negatives are predicted as such.
class CAPSTAN_EXPORT TrueNegatives : public Metric {
 public:
  explicit TrueNegatives(const ThresholdOptions& options = {}, std::string name = {});
};

/// How many negatives are predicted as positive.
class CAPSTAN_EXPORT FalsePositives : public Metric {
 public:
  explicit FalsePositives(const ThresholdOptions& options = {}, std::string name = {});
};

/// How many positives are predicted as negative.
class CAPSTAN_EXPORT FalseNegatives : public Metric {
 public:
  explicit FalseNegatives(const ThresholdOptions& options = {}, std::string name = {});
};

/// Options of Precision and Recall.
struct PrecisionOptions {
  /// In [0, 1]; unless given 0.5, or with top_k all predictions. Several of them make the result a vector.
  std::optional<std::vector<double>> thresholds = {};
  /// Only the so many largest predictions of an example, along the last axis, can be positive.
  std::optional<std::int64_t> top_k = {};
  /// Only this class, along the last axis, counts.
  std::optional<std::int64_t> class_id = {};
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// How many of what is predicted as positive are positives; 0 if nothing is.
///
///     metrics::Precision at_two({.thresholds = {{0.3, 0.6}}});
class CAPSTAN_EXPORT Precision : public Metric {
 public:
  explicit Precision(const PrecisionOptions& options = {}, std::string name = {});
};

/// How many of the positives are predicted as such; 0 if there are none.
class CAPSTAN_EXPORT Recall : public Metric {
 public:
  explicit Recall(const PrecisionOptions& options = {}, std::string name = {});
};

// --- Curves over thresholds: predictions must be in [0, 1], else updates throw ValueError ---

/// Options of SensitivityAtSpecificity.
struct SensitivityAtSpecificityOptions {
  double specificity = 0.5;  ///< in [0, 1]; has to be given in a configuration
  std::int64_t num_thresholds = 200;
  std::optional<std::int64_t> class_id = {};  ///< only this class, along the last axis, counts
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// The best sensitivity (true positive rate) among the thresholds where the specificity is at least that given; 0 if
/// there are none.
class CAPSTAN_EXPORT SensitivityAtSpecificity : public Metric {
 public:
  explicit SensitivityAtSpecificity(const SensitivityAtSpecificityOptions& options, std::string name = {});
};

/// Options of SpecificityAtSensitivity.
struct SpecificityAtSensitivityOptions {
  double sensitivity = 0.5;  ///< in [0, 1]; has to be given in a configuration
  std::int64_t num_thresholds = 200;
  std::optional<std::int64_t> class_id = {};  ///< only this class, along the last axis, counts
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// The best specificity (true negative rate) where the sensitivity is at least that given.
class CAPSTAN_EXPORT SpecificityAtSensitivity : public Metric {
 public:
  explicit SpecificityAtSensitivity(const SpecificityAtSensitivityOptions& options, std::string name = {});
};

/// Options of PrecisionAtRecall.
struct PrecisionAtRecallOptions {
  double recall = 0.5;  ///< in [0, 1]; has to be given in a configuration
  std::int64_t num_thresholds = 200;
  std::optional<std::int64_t> class_id = {};  ///< only this class, along the last axis, counts
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// The best precision where the recall is at least that given.
class CAPSTAN_EXPORT PrecisionAtRecall : public Metric {
 public:
  explicit PrecisionAtRecall(const PrecisionAtRecallOptions& options, std::string name = {});
};

/// Options of RecallAtPrecision.
struct RecallAtPrecisionOptions {
  double precision = 0.5;  ///< in [0, 1]; has to be given in a configuration
  std::int64_t num_thresholds = 200;
  std::optional<std::int64_t> class_id = {};  ///< only this class, along the last axis, counts
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// The best recall where the precision is at least that given.
class CAPSTAN_EXPORT RecallAtPrecision : public Metric {
 public:
  explicit RecallAtPrecision(const RecallAtPrecisionOptions& options, std::string name = {});
};

/// What the options `curve` and `summation_method` may be.
inline constexpr std::string_view kCurves[] = {"ROC", "PR", "PRGAIN"};
inline constexpr std::string_view kSummations[] = {"interpolation", "minoring", "majoring"};

/// Options of AUC.
struct AUCOptions {
  std::int64_t num_thresholds = 200;  ///< at least 2, evenly spaced from 0 to 1
  /// "ROC": true positive rate over false positive rate; "PR": precision over recall; "PRGAIN": their gains (Flach,
  /// Kull 2015).
  std::string curve = "ROC";
  /// "interpolation": trapezoids, for "PR" with interpolated counts (Davis, Goadrich 2006); "minoring" and "majoring":
  /// the smaller and the larger side of each.
  std::string summation_method = "interpolation";
  /// In [0, 1], instead of evenly spaced ones; 0 and 1 are added.
  std::optional<std::vector<double>> thresholds = {};
  /// Labels and predictions are [batch, labels], and the result is the mean of an area per label. Without it all are
  /// taken together.
  bool multi_label = false;
  std::optional<std::int64_t> num_labels = {};  ///< of a multi_label metric; found in the first update unless given
  /// One per label: of a multi_label metric the weight of its area, else of its elements.
  std::optional<std::vector<double>> label_weights = {};
  bool from_logits = false;
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// The area under a curve over thresholds.
///
///     metrics::AUC area({.curve = "PR", .from_logits = true});
class CAPSTAN_EXPORT AUC : public Metric {
 public:
  explicit AUC(const AUCOptions& options = {}, std::string name = {});
};

// --- Scores per class ---

/// What the option `average` may be.
inline constexpr std::string_view kAverages[] = {"micro", "macro", "weighted"};

/// Options of FBetaScore.
struct FBetaScoreOptions {
  /// None: a score for each class. "micro": one for all elements together; "macro": the mean over classes; "weighted":
  /// the same by how many labels a class has.
  std::optional<std::string> average = {};
  double beta = 1;  ///< above 0: how much more recall counts than precision
  /// Above 0 and at most 1: what a positive prediction is above. None: that of the largest in a row is positive.
  std::optional<double> threshold = {};
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};
/// Options of F1Score, as those of FBetaScore.
struct F1ScoreOptions {
  std::optional<std::string> average = {};
  std::optional<double> threshold = {};
  std::optional<DType> dtype = {};
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// The weighted harmonic mean of precision and recall, for labels and predictions [batch, classes], and weights
/// [batch]. Errors: ShapeError for other shapes, ValueError for the result before the first update.
class CAPSTAN_EXPORT FBetaScore : public Metric {
 public:
  explicit FBetaScore(const FBetaScoreOptions& options = {}, std::string name = {});
};

/// FBetaScore with beta = 1.
class CAPSTAN_EXPORT F1Score : public Metric {
 public:
  explicit F1Score(const F1ScoreOptions& options = {}, std::string name = {});
};

// --- Tables of classes: intersection over union ---

/// What the option `dtype` of these may be: that of the table. Weights are cast to it, so integers drop fractions.
inline constexpr std::string_view kTableDTypes[] = {"int32", "int64", "float32", "float64"};

/// Options of IoU.
struct IoUOptions {
  std::int64_t num_classes = 2;
  std::vector<std::int64_t> target_class_ids = {0, 1};
  std::optional<std::int64_t> ignore_class = {};  ///< elements with this label do not count
  bool sparse_y_true = true;                      ///< labels are class numbers, else one-hot along the axis
  bool sparse_y_pred = true;  ///< predictions are class numbers, else numbers for each along the axis
  int axis = -1;
  DType dtype = int64;
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};
/// Options of MeanIoU.
struct MeanIoUOptions {
  std::int64_t num_classes = 2;
  std::optional<std::int64_t> ignore_class = {};
  bool sparse_y_true = true;
  bool sparse_y_pred = true;
  int axis = -1;
  DType dtype = int64;
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};
/// Options of BinaryIoU.
struct BinaryIoUOptions {
  std::vector<std::int64_t> target_class_ids = {0, 1};
  double threshold = 0.5;
  DType dtype = int64;
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};
/// Options of OneHotIoU.
struct OneHotIoUOptions {
  std::int64_t num_classes = 2;
  std::vector<std::int64_t> target_class_ids = {0, 1};
  std::optional<std::int64_t> ignore_class = {};
  bool sparse_y_pred = false;
  int axis = -1;
  DType dtype = int64;
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};
/// Options of OneHotMeanIoU.
struct OneHotMeanIoUOptions {
  std::int64_t num_classes = 2;
  std::optional<std::int64_t> ignore_class = {};
  bool sparse_y_pred = false;
  int axis = -1;
  DType dtype = int64;
  CAPSTAN_EXPORT static std::span<const OptionField> fields();
};

/// The mean, over some classes, of true positives / (labelled or predicted as the class); classes that never occur do
/// not count. Labels and predictions have as many elements, weights one per element. Errors: ValueError for a target
/// that is no class, ShapeError, IndexError for a class number out of range.
class CAPSTAN_EXPORT IoU : public Metric {
 public:
  explicit IoU(const IoUOptions& options, std::string name = {});
};
/// The same over all classes.
class CAPSTAN_EXPORT MeanIoU : public Metric {
 public:
  explicit MeanIoU(const MeanIoUOptions& options, std::string name = {});
};
/// The same for yes-or-no labels and predictions of which those of at least the threshold are positive.
class CAPSTAN_EXPORT BinaryIoU : public Metric {
 public:
  explicit BinaryIoU(const BinaryIoUOptions& options = {}, std::string name = {});
};
/// IoU of one-hot labels.
class CAPSTAN_EXPORT OneHotIoU : public Metric {
 public:
  explicit OneHotIoU(const OneHotIoUOptions& options, std::string name = {});
};
/// MeanIoU of one-hot labels.
class CAPSTAN_EXPORT OneHotMeanIoU : public Metric {
 public:
  explicit OneHotMeanIoU(const OneHotMeanIoUOptions& options, std::string name = {});
};

}  // namespace capstan::metrics
