// Weighted numbers of true and false positives and negatives at thresholds: what many metrics are made of.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "capstan/confusion_metrics.h"

namespace capstan::detail {

enum class Count : unsigned char { kTruePositives, kFalsePositives, kTrueNegatives, kFalseNegatives };

// How predictions become positives.
struct PositivesSettings {
  std::vector<double> thresholds;
  std::optional<std::int64_t> top_k = {};
  std::optional<std::int64_t> class_id = {};
  // Of a curve: predictions are in [0, 1], and labels between 0 and 1 count in part on both sides.
  bool is_curve = false;
  bool from_logits = false;
  // Counts are [thresholds, labels] instead of [thresholds].
  bool multi_label = false;
  std::vector<double> label_weights = {};
};

// The body of a metric whose state are such counts.
class PositivesBody : public MetricBody {
 public:
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) override;

 protected:
  struct Kept {
    Count count;
    const char* name;
  };
  void set_up(PositivesSettings settings, std::vector<Kept> kept, std::optional<DType> dtype);
  // Makes the variables, [thresholds] or [thresholds, labels].
  void make_state(std::optional<std::int64_t> labels);
  bool has_state() const { return !variables().empty(); }

  // Number i of those kept.
  Tensor kept(std::size_t i) const { return variables()[i].value(); }
  // A result of one threshold as a scalar.
  Tensor as_result(const Tensor& values) const;

 private:
  Tensor weights_for(const Tensor& sample_weight, const Tensor& predictions) const;

  PositivesSettings settings_;
  std::vector<double> sorted_;  // the thresholds
  std::vector<int> places_;     // where each threshold is in them; empty if they are sorted
  std::vector<Kept> kept_;
  std::optional<DType> dtype_;
};

// -1e-7, 1 / (n - 1), 2 / (n - 1), ..., 1 + 1e-7: all predictions are above the first and none above the last.
std::vector<double> even_thresholds(std::int64_t n);

}  // namespace capstan::detail
