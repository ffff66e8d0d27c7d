// Intersections over unions of classes, from a table of labels by predictions.
#include <numeric>

#include "capstan/ops/array.h"
#include "capstan/ops/diagonals.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/ops/sort.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/train/fit_ranks.h"
#include "src/train/metrics/mean.h"
#include "src/train/metrics/positives.h"

namespace capstan {

namespace metrics {

std::span<const OptionField> IoUOptions::fields() {
  using O = IoUOptions;
  static constexpr OptionField all[] = {option<&O::num_classes>("num_classes", true).at_least(1),
                                        option<&O::target_class_ids>("target_class_ids", true).at_least(0),
                                        option<&O::ignore_class>("ignore_class"),
                                        option<&O::sparse_y_true>("sparse_y_true"),
                                        option<&O::sparse_y_pred>("sparse_y_pred"),
                                        option<&O::axis>("axis"),
                                        option<&O::dtype>("dtype").one_of(kTableDTypes)};
  return all;
}
std::span<const OptionField> MeanIoUOptions::fields() {
  using O = MeanIoUOptions;
  static constexpr OptionField all[] = {option<&O::num_classes>("num_classes", true).at_least(1),
                                        option<&O::ignore_class>("ignore_class"),
                                        option<&O::sparse_y_true>("sparse_y_true"),
                                        option<&O::sparse_y_pred>("sparse_y_pred"),
                                        option<&O::axis>("axis"),
                                        option<&O::dtype>("dtype").one_of(kTableDTypes)};
  return all;
}
std::span<const OptionField> BinaryIoUOptions::fields() {
  using O = BinaryIoUOptions;
  static constexpr OptionField all[] = {option<&O::target_class_ids>("target_class_ids").at_least(0).at_most(1),
                                        option<&O::threshold>("threshold").at_least(0).at_most(1),
                                        option<&O::dtype>("dtype").one_of(kTableDTypes)};
  return all;
}
std::span<const OptionField> OneHotIoUOptions::fields() {
  using O = OneHotIoUOptions;
  static constexpr OptionField all[] = {option<&O::num_classes>("num_classes", true).at_least(1),
                                        option<&O::target_class_ids>("target_class_ids", true).at_least(0),
                                        option<&O::ignore_class>("ignore_class"),
                                        option<&O::sparse_y_pred>("sparse_y_pred"),
                                        option<&O::axis>("axis"),
                                        option<&O::dtype>("dtype").one_of(kTableDTypes)};
  return all;
}
std::span<const OptionField> OneHotMeanIoUOptions::fields() {
  using O = OneHotMeanIoUOptions;
  static constexpr OptionField all[] = {option<&O::num_classes>("num_classes", true).at_least(1),
                                        option<&O::ignore_class>("ignore_class"),
                                        option<&O::sparse_y_pred>("sparse_y_pred"), option<&O::axis>("axis"),
                                        option<&O::dtype>("dtype").one_of(kTableDTypes)};
  return all;
}

namespace {

std::vector<std::int64_t> all_of(std::int64_t classes) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(classes));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

class TableBody : public MetricBody {
 public:
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) override {
    with_errors_of(default_name(), [&] { add(y_true, y_pred, sample_weight); });
  }

  Tensor result() const override {
    constexpr double kEpsilon = 1e-7;
    const DType own = settings_.dtype;
    const DType dtype = own == float32 || own == float64 ? own : floatx() == float64 ? float64 : float32;
    const Tensor table = cast(variables()[0], dtype);
    const Tensor ids = constant(std::span<const std::int64_t>(settings_.target_class_ids));
    const Tensor right = gather(diag_part(table), ids);
    const Tensor any = gather(reduce_sum(table, 0) + reduce_sum(table, 1), ids) - right;
    // A class that never occurs is 0 / 0, and does not count.
    return reduce_sum(right / (any + kEpsilon)) / (reduce_sum(cast(any > 1e-9, dtype)) + kEpsilon);
  }

 protected:
  void set_up(const IoUOptions& settings, std::optional<double> threshold = {}) {
    settings_ = settings;
    threshold_ = threshold;
    for (const std::int64_t id : settings.target_class_ids) {
      CAPSTAN_CHECK(id >= 0 && id < settings.num_classes, ValueError, class_info().name,
                    ": option \"target_class_ids\" must be classes below ", settings.num_classes, ", not ", id);
    }
    add_variable({settings.num_classes, settings.num_classes}, "total_confusion_matrix", settings.dtype);
  }

 private:
  void add(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
    Tensor t = settings_.sparse_y_true ? y_true : argmax(y_true, settings_.axis);
    Tensor p = threshold_                ? detail::floating_predictions(y_pred) >= *threshold_
               : settings_.sparse_y_pred ? y_pred
                                         : argmax(y_pred, settings_.axis);
    t = reshape(detail::as_real("labels", t, int64), {-1});
    p = reshape(detail::as_real("predictions", p, int64), {-1});
    CAPSTAN_CHECK(t.dim(0) == p.dim(0), ShapeError, "table: labels and predictions differ in size, ", t.dim(0), " and ",
                  p.dim(0));
    const DType dtype = settings_.dtype;
    Tensor weight = ones_like(cast(t, dtype));
    if (sample_weight.has_value()) {
      weight = broadcast_like(reshape(cast(sample_weight, dtype), {-1}), weight);
    }
    if (settings_.ignore_class) {
      const Tensor counts = counted_labels(t, *settings_.ignore_class, 1);
      const Tensor none = zeros_like(t);
      t = where(counts, t, none);
      p = where(counts, p, none);
      weight = weight * cast(counts, dtype);
    }
    variables()[0].assign_add(
        cast(confusion_matrix(t, p, {.num_classes = settings_.num_classes, .weights = weight, .dtype = dtype}), dtype));
  }

  IoUOptions settings_;
  std::optional<double> threshold_;
};

struct SomeClasses final : Configured<SomeClasses, TableBody, IoUOptions> {
  static constexpr std::string_view kName = "IoU", kText = "The mean intersection over union of some classes.";
  explicit SomeClasses(const IoUOptions& given) : Configured(given) { set_up(given); }
};
struct AllClasses final : Configured<AllClasses, TableBody, MeanIoUOptions> {
  static constexpr std::string_view kName = "MeanIoU", kText = "The mean intersection over union of all classes.";
  explicit AllClasses(const MeanIoUOptions& o) : Configured(o) {
    set_up({o.num_classes, all_of(o.num_classes), o.ignore_class, o.sparse_y_true, o.sparse_y_pred, o.axis, o.dtype});
  }
};
struct YesOrNo final : Configured<YesOrNo, TableBody, BinaryIoUOptions> {
  static constexpr std::string_view kName = "BinaryIoU";
  static constexpr std::string_view kText = "The mean intersection over union of yes and no.";
  explicit YesOrNo(const BinaryIoUOptions& o = {}) : Configured(o) {
    set_up({.target_class_ids = o.target_class_ids, .dtype = o.dtype}, o.threshold);
  }
};
struct SomeOneHot final : Configured<SomeOneHot, TableBody, OneHotIoUOptions> {
  static constexpr std::string_view kName = "OneHotIoU", kText = "IoU of one-hot labels.";
  explicit SomeOneHot(const OneHotIoUOptions& o) : Configured(o) {
    set_up({o.num_classes, o.target_class_ids, o.ignore_class, false, o.sparse_y_pred, o.axis, o.dtype});
  }
};
struct AllOneHot final : Configured<AllOneHot, TableBody, OneHotMeanIoUOptions> {
  static constexpr std::string_view kName = "OneHotMeanIoU", kText = "MeanIoU of one-hot labels.";
  explicit AllOneHot(const OneHotMeanIoUOptions& o) : Configured(o) {
    set_up({o.num_classes, all_of(o.num_classes), o.ignore_class, false, o.sparse_y_pred, o.axis, o.dtype});
  }
};

}  // namespace

IoU::IoU(const IoUOptions& options, std::string name)
    : Metric(make_configurable<SomeClasses>(options), std::move(name)) {}
MeanIoU::MeanIoU(const MeanIoUOptions& options, std::string name)
    : Metric(make_configurable<AllClasses>(options), std::move(name)) {}
BinaryIoU::BinaryIoU(const BinaryIoUOptions& options, std::string name)
    : Metric(make_configurable<YesOrNo>(options), std::move(name)) {}
OneHotIoU::OneHotIoU(const OneHotIoUOptions& options, std::string name)
    : Metric(make_configurable<SomeOneHot>(options), std::move(name)) {}
OneHotMeanIoU::OneHotMeanIoU(const OneHotMeanIoUOptions& options, std::string name)
    : Metric(make_configurable<AllOneHot>(options), std::move(name)) {}

}  // namespace metrics

void detail::add_iou_metrics(std::vector<const ClassInfo*>& list) {
  using namespace metrics;
  list.insert(list.end(),
              {&SomeClasses::info(), &AllClasses::info(), &YesOrNo::info(), &SomeOneHot::info(), &AllOneHot::info()});
}

}  // namespace capstan
