#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/train/losses/formula.h"

namespace capstan {

namespace losses {

Tensor cosine_similarity(const Tensor& y_true, const Tensor& y_pred, const CosineSimilarityOptions& options) {
  return detail::formula_of("cosine_similarity", y_true, y_pred, [&](const Tensor& t, const Tensor& p) {
    // The length by which a vector is divided is at least 1e-7, as in Keras.
    constexpr double kSmallestSquare = 1e-14;
    const Tensor unit_t = l2_normalize(t, options.axis, kSmallestSquare);
    const Tensor unit_p = l2_normalize(p, options.axis, kSmallestSquare);
    return -reduce_sum(unit_t * unit_p, options.axis);
  });
}

std::span<const OptionField> CosineSimilarityLossOptions::fields() {
  using O = CosineSimilarityLossOptions;
  static constexpr auto all = with_loss_options<O>({option<&O::axis>("axis")});
  return all;
}

namespace {

struct CosineFormula final : LossFormula<CosineFormula, CosineSimilarityLossOptions> {
  using LossFormula::LossFormula;
  static constexpr std::string_view kName = "CosineSimilarity";
  static constexpr std::string_view kText = "Minus the cosine of the angle between labels and predictions.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    return cosine_similarity(y_true, y_pred, {.axis = options.axis});
  }
};

}  // namespace

CosineSimilarity::CosineSimilarity(const CosineSimilarityLossOptions& options, std::string_view name)
    : Loss(make_configurable<CosineFormula>(options), name) {}

}  // namespace losses

const ClassInfo& detail::cosine_similarity_loss() { return losses::CosineFormula::info(); }

}  // namespace capstan
