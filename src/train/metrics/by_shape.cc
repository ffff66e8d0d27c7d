#include "src/train/metrics/by_shape.h"

#include "capstan/losses.h"
#include "src/train/metrics/mean.h"

namespace capstan {

namespace {

struct Choice {
  std::string_view name;
  detail::ValuesFunction binary;
  detail::ValuesFunction categorical;
  detail::ValuesFunction sparse;
};

const Choice kAccuracy = {"accuracy", [](const Tensor& t, const Tensor& p) { return metrics::binary_accuracy(t, p); },
                          metrics::categorical_accuracy, metrics::sparse_categorical_accuracy};
const Choice kCrossentropy = {
    "crossentropy", [](const Tensor& t, const Tensor& p) { return losses::binary_crossentropy(t, p); },
    [](const Tensor& t, const Tensor& p) { return losses::categorical_crossentropy(t, p); },
    [](const Tensor& t, const Tensor& p) { return losses::sparse_categorical_crossentropy(t, p); }};

class ByShape final : public detail::MeanBody {
 public:
  explicit ByShape(const Choice& choice) : choice_(choice) { make_state({}); }
  static const ClassInfo& info() {
    static const ClassInfo info{kKind, kModule, "by shape", "Follows from the shapes of the first update.", {}};
    return info;
  }
  const ClassInfo& class_info() const override { return info(); }
  const void* options_data() const override { return nullptr; }
  std::string default_name() const override { return std::string(choice_.name); }

  Tensor values(const Tensor& y_true, const Tensor& y_pred) override {
    if (function_ == nullptr) {
      // Keras's rule.
      const std::int64_t classes = y_pred.rank() == 0 ? 1 : y_pred.dim(-1);
      const bool is_sparse = y_true.rank() < y_pred.rank() || (y_true.rank() > 0 && y_true.dim(-1) == 1);
      function_ = classes == 1 ? choice_.binary : is_sparse ? choice_.sparse : choice_.categorical;
    }
    return function_(y_true, y_pred);
  }

 private:
  const Choice& choice_;
  detail::ValuesFunction function_ = nullptr;
};

}  // namespace

std::shared_ptr<MetricBody> detail::metric_by_shape(std::string_view name) {
  if (name == "acc" || name == "accuracy") return make_configurable<ByShape>(kAccuracy);
  if (name == "ce" || name == "crossentropy") return make_configurable<ByShape>(kCrossentropy);
  return nullptr;
}

bool detail::is_by_shape(const MetricBody& body) { return &body.class_info() == &ByShape::info(); }

}  // namespace capstan
