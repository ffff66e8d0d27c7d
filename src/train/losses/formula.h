// What the formulas of losses share, and losses that are a formula and nothing else.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "capstan/losses.h"

namespace capstan::detail {

// --- Formulas ---

using LabelsFormula = Tensor (*)(const void* body, const Tensor& t, const Tensor& p);
Tensor run_formula(const char* loss, const Tensor& y_true, const Tensor& y_pred, LabelsFormula formula,
                   const void* body);

// body(t, p) for predictions in float32 or float64 and labels in their dtype and rank. Errors name the loss and what it
// was given.
template <class Body>
Tensor formula_of(const char* loss, const Tensor& y_true, const Tensor& y_pred, const Body& body) {
  return run_formula(
      loss, y_true, y_pred,
      [](const void* b, const Tensor& t, const Tensor& p) { return (*static_cast<const Body*>(b))(t, p); }, &body);
}

void check_same_shape(const char* loss, const Tensor& y_true, const Tensor& y_pred);

// The axis, counted from the front. Errors: IndexError.
int checked_axis(const char* loss, const Tensor& y_pred, int axis);

// Within [1e-7, 1 - 1e-7].
Tensor clip_probabilities(const Tensor& p);

// Towards 1 / classes by a fraction.
Tensor smooth_labels(const Tensor& labels, double smoothing, double classes);

// --- Classes without options of their own ---

std::shared_ptr<const LossBody> make_function_loss(const ClassInfo& info,
                                                   Tensor (*function)(const Tensor&, const Tensor&),
                                                   const losses::LossOptions& options);
std::shared_ptr<Configurable> make_function_loss(const ClassInfo& info,
                                                 Tensor (*function)(const Tensor&, const Tensor&),
                                                 const AttributeValue& config);
std::span<const OptionField> loss_fields();

// A class of losses: `T` has kName, kText and the function kFunction.
template <class T>
struct FunctionLoss {
  static const ClassInfo& info() {
    static const ClassInfo info{LossBody::kKind, LossBody::kModule, T::kName, T::kText, loss_fields, make};
    return info;
  }
  static std::shared_ptr<Configurable> make(const ClassInfo&, const AttributeValue& config) {
    return make_function_loss(info(), T::kFunction, config);
  }
  static std::shared_ptr<const LossBody> make(const losses::LossOptions& options) {
    return make_function_loss(info(), T::kFunction, options);
  }
};

// --- The classes, by file ---

void add_regression_losses(std::vector<const ClassInfo*>& list);
void add_hinge_losses(std::vector<const ClassInfo*>& list);
const ClassInfo& huber_loss();
const ClassInfo& cosine_similarity_loss();
const ClassInfo& binary_crossentropy_loss();
const ClassInfo& binary_focal_crossentropy_loss();
const ClassInfo& categorical_crossentropy_loss();
const ClassInfo& categorical_focal_crossentropy_loss();
const ClassInfo& sparse_categorical_crossentropy_loss();
const ClassInfo& generalized_cross_entropy_loss();
const ClassInfo& dice_loss();
const ClassInfo& tversky_loss();
const ClassInfo& circle_loss();
const ClassInfo& ctc_loss_class();

}  // namespace capstan::detail
