// Losses of margins.
#include "capstan/ops/loss.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/train/losses/formula.h"

namespace capstan {

namespace losses {

namespace {

// If all labels are 0 or 1, 0 means -1. It depends on the elements, so it is a choice within the graph.
Tensor signs(const Tensor& t) {
  const Tensor is_binary = reduce_all(logical_or(equal(t, 0.0), equal(t, 1.0)));
  return where(is_binary, 2.0 * t - 1.0, t);
}

}  // namespace

Tensor hinge(const Tensor& y_true, const Tensor& y_pred) {
  return detail::formula_of("hinge", y_true, y_pred,
                            [](const Tensor& t, const Tensor& p) { return capstan::hinge(signs(t), p); });
}

Tensor squared_hinge(const Tensor& y_true, const Tensor& y_pred) {
  return detail::formula_of("squared_hinge", y_true, y_pred,
                            [](const Tensor& t, const Tensor& p) { return capstan::squared_hinge(signs(t), p); });
}

Tensor categorical_hinge(const Tensor& y_true, const Tensor& y_pred) {
  return detail::formula_of("categorical_hinge", y_true, y_pred,
                            [](const Tensor& t, const Tensor& p) { return capstan::categorical_hinge(t, p); });
}

namespace {

struct Plain {
  static constexpr std::string_view kName = "Hinge", kText = "The mean of max(1 - label * prediction, 0).";
  static constexpr auto kFunction = hinge;
};
struct Squared {
  static constexpr std::string_view kName = "SquaredHinge", kText = "The mean of max(1 - label * prediction, 0)^2.";
  static constexpr auto kFunction = squared_hinge;
};
struct Categorical {
  static constexpr std::string_view kName = "CategoricalHinge";
  static constexpr std::string_view kText = "How far the right class is from being ahead of the others by 1.";
  static constexpr auto kFunction = categorical_hinge;
};

}  // namespace

using detail::FunctionLoss;

Hinge::Hinge(const LossOptions& options, std::string_view name) : Loss(FunctionLoss<Plain>::make(options), name) {}
SquaredHinge::SquaredHinge(const LossOptions& options, std::string_view name)
    : Loss(FunctionLoss<Squared>::make(options), name) {}
CategoricalHinge::CategoricalHinge(const LossOptions& options, std::string_view name)
    : Loss(FunctionLoss<Categorical>::make(options), name) {}

}  // namespace losses

void detail::add_hinge_losses(std::vector<const ClassInfo*>& list) {
  using namespace losses;
  list.insert(list.end(),
              {&FunctionLoss<Plain>::info(), &FunctionLoss<Squared>::info(), &FunctionLoss<Categorical>::info()});
}

}  // namespace capstan
