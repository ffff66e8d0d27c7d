// The circle loss (Sun and others 2020): pairs of embeddings, weighted by how far they are from where they should be.
#include "capstan/ops/activation.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/train/fit_ranks.h"
#include "src/train/losses/formula.h"

namespace capstan {

namespace losses {

namespace {

// log(sum(exp(x))) over those of the pairs that count, along the last axis; the lowest number that the exponential
// still tells from zero where none do, so that nothing becomes NaN.
Tensor logsumexp_of(const Tensor& x, const Tensor& counts) {
  constexpr double kNone = -1e30;
  return reduce_logsumexp(where(counts, x, kNone * ones_like(x)), -1);
}

void check_batch(const char* what, const Tensor& labels, const Tensor& embeddings) {
  CAPSTAN_CHECK(embeddings.rank() == 2 && labels.rank() == 1 && labels.dim(0) == embeddings.dim(0), ShapeError,
                "circle: ", what, " must be embeddings [batch, n] and labels [batch], not ", embeddings.shape(),
                " and ", labels.shape());
}

Tensor flat_labels(const Tensor& labels, const Tensor& embeddings) {
  return detail::class_numbers(labels.rank() == 2 && labels.dim(1) == 1 ? squeeze(labels, -1) : labels, embeddings);
}

Tensor formula(const Tensor& y_true, const Tensor& y_pred, const CircleOptions& options) {
  const Tensor embeddings = detail::floating_predictions(y_pred);
  const Tensor labels = flat_labels(y_true, embeddings);
  check_batch("predictions", labels, embeddings);
  const bool is_same = !options.ref_embeddings.has_value();
  CAPSTAN_CHECK(is_same == !options.ref_labels.has_value(), ValueError,
                "circle: ref_labels and ref_embeddings go together");
  const Tensor others = is_same ? embeddings : detail::floating_labels(options.ref_embeddings, embeddings);
  const Tensor other_labels = is_same ? labels : cast(flat_labels(options.ref_labels, others), labels.dtype());
  check_batch("the references", other_labels, others);

  const Tensor distance = maximum(1 - matmul(embeddings, others, {.transpose_b = true}), 0.0);
  const Tensor same = equal(expand_dims(labels, 1), expand_dims(other_labels, 0));
  Tensor positive = same;
  if (options.remove_diagonal && is_same) {
    const Tensor place = cumsum(ones_like(labels));
    positive = logical_and(same, not_equal(expand_dims(place, 1), expand_dims(place, 0)));
  }
  const double m = options.margin;
  const Tensor near = maximum(m + distance, 0.0) * (m - distance);
  const Tensor far = maximum(1 + m - distance, 0.0) * (1 - m - distance);
  return softplus(logsumexp_of(-options.gamma * near, positive) + logsumexp_of(options.gamma * far, logical_not(same)));
}

}  // namespace

Tensor circle(const Tensor& y_true, const Tensor& y_pred, const CircleOptions& options) {
  try {
    return with_errors_of("circle", [&] { return formula(y_true, y_pred, options); });
  } catch (const Error&) {
    detail::rethrow_with({"loss", "circle", y_true, y_pred});
  }
}

std::span<const OptionField> CircleLossOptions::fields() {
  using O = CircleLossOptions;
  static constexpr auto all = with_loss_options<O>(
      {option<&O::gamma>("gamma"), option<&O::margin>("margin"), option<&O::remove_diagonal>("remove_diagonal")});
  return all;
}

namespace {

struct CircleFormula final : LossFormula<CircleFormula, CircleLossOptions> {
  using LossFormula::LossFormula;
  static constexpr std::string_view kName = "Circle", kText = "How far embeddings are from being sorted by class.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    return circle(y_true, y_pred,
                  {.gamma = options.gamma, .margin = options.margin, .remove_diagonal = options.remove_diagonal});
  }
  Tensor counts(const Tensor&, const Tensor&, const Tensor& values) const override { return values > 0.0; }
};

}  // namespace

Circle::Circle(const CircleLossOptions& options, std::string_view name)
    : Loss(make_configurable<CircleFormula>(options), name) {}

}  // namespace losses

const ClassInfo& detail::circle_loss() { return losses::CircleFormula::info(); }

}  // namespace capstan
