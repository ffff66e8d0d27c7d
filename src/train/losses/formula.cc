#include "src/train/losses/formula.h"

#include "capstan/ops/math.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/train/classes.h"
#include "src/train/fit_ranks.h"

namespace capstan {

namespace detail {

Tensor run_formula(const char* loss, const Tensor& y_true, const Tensor& y_pred, LabelsFormula formula,
                   const void* body) {
  try {
    return with_errors_of(loss, [&] {
      CAPSTAN_CHECK(y_true.has_value() && y_pred.has_value(), ValueError, loss, ": ",
                    y_true.has_value() ? "the predictions are" : "the labels are", " an empty tensor");
      Tensor p = floating_predictions(y_pred);
      Tensor t = floating_labels(y_true, p);
      fit_ranks(t, p);
      return formula(body, t, p);
    });
  } catch (const Error&) {
    rethrow_with({"loss", loss, y_true, y_pred});
  }
}

void check_same_shape(const char* loss, const Tensor& y_true, const Tensor& y_pred) {
  CAPSTAN_CHECK(y_true.shape() == y_pred.shape(), ShapeError, loss, ": labels and predictions differ in shape",
                arguments({{"y_true", y_true}, {"y_pred", y_pred}}));
}

int checked_axis(const char* loss, const Tensor& y_pred, int axis) {
  const int rank = y_pred.rank();
  CAPSTAN_CHECK(axis >= -rank && axis < rank, IndexError, loss, ": axis ", axis,
                " is out of range for predictions of shape ", y_pred.shape());
  return axis < 0 ? axis + rank : axis;
}

Tensor clip_probabilities(const Tensor& p) {
  constexpr double kSmallest = 1e-7;
  return clip_by_value(p, kSmallest, 1 - kSmallest);
}

Tensor smooth_labels(const Tensor& labels, double smoothing, double classes) {
  return smoothing == 0 ? labels : labels * (1 - smoothing) + smoothing / classes;
}

namespace {

class FunctionBody final : public LossBody {
 public:
  FunctionBody(const ClassInfo& info, Tensor (*function)(const Tensor&, const Tensor&),
               const losses::LossOptions& options)
      : info_(info), function_(function), options_(options) {
    check_options(info_, &options_);
  }
  const ClassInfo& class_info() const override { return info_; }
  const void* options_data() const override { return &options_; }
  losses::LossOptions common_options() const override { return options_; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override { return function_(y_true, y_pred); }

 private:
  const ClassInfo& info_;
  Tensor (*function_)(const Tensor&, const Tensor&);
  losses::LossOptions options_;
};

constexpr OptionField kNone[] = {option<&losses::LossOptions::reduction>("reduction").one_of(losses::kReductions),
                                 option<&losses::LossOptions::dtype>("dtype").one_of(losses::kDTypes)};

}  // namespace

std::span<const OptionField> loss_fields() { return kNone; }

std::shared_ptr<const LossBody> make_function_loss(const ClassInfo& info,
                                                   Tensor (*function)(const Tensor&, const Tensor&),
                                                   const losses::LossOptions& options) {
  return make_configurable<FunctionBody>(info, function, options);
}

std::shared_ptr<Configurable> make_function_loss(const ClassInfo& info,
                                                 Tensor (*function)(const Tensor&, const Tensor&),
                                                 const AttributeValue& config) {
  losses::LossOptions options;
  set_options(info, &options, config);
  return make_configurable<FunctionBody>(info, function, options);
}

std::vector<const ClassInfo*> loss_classes() {
  std::vector<const ClassInfo*> list;
  add_regression_losses(list);
  add_hinge_losses(list);
  for (const ClassInfo* info :
       {&huber_loss(), &cosine_similarity_loss(), &binary_crossentropy_loss(), &binary_focal_crossentropy_loss(),
        &categorical_crossentropy_loss(), &categorical_focal_crossentropy_loss(),
        &sparse_categorical_crossentropy_loss(), &generalized_cross_entropy_loss(), &dice_loss(), &tversky_loss(),
        &circle_loss(), &ctc_loss_class()}) {
    list.push_back(info);
  }
  return list;
}

}  // namespace detail

std::span<const OptionField> losses::LossOptions::fields() { return detail::loss_fields(); }

}  // namespace capstan
