// Losses of differences, elementwise and averaged over the last axis. Predictions may have what labels lack only by
// broadcasting.
#include "capstan/ops/loss.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/train/losses/formula.h"

namespace capstan {

namespace losses {

Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred) {
  return detail::formula_of("mean_squared_error", y_true, y_pred,
                            [](const Tensor& t, const Tensor& p) { return reduce_mean(squared_difference(t, p), -1); });
}

Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred) {
  return detail::formula_of("mean_absolute_error", y_true, y_pred,
                            [](const Tensor& t, const Tensor& p) { return reduce_mean(abs(t - p), -1); });
}

Tensor mean_absolute_percentage_error(const Tensor& y_true, const Tensor& y_pred) {
  return detail::formula_of("mean_absolute_percentage_error", y_true, y_pred, [](const Tensor& t, const Tensor& p) {
    return capstan::mean_absolute_percentage_error(t, p);
  });
}

Tensor mean_squared_logarithmic_error(const Tensor& y_true, const Tensor& y_pred) {
  return detail::formula_of("mean_squared_logarithmic_error", y_true, y_pred, [](const Tensor& t, const Tensor& p) {
    return capstan::mean_squared_logarithmic_error(t, p);
  });
}

Tensor log_cosh(const Tensor& y_true, const Tensor& y_pred) {
  return detail::formula_of("log_cosh", y_true, y_pred,
                            [](const Tensor& t, const Tensor& p) { return capstan::log_cosh(t, p); });
}

Tensor poisson(const Tensor& y_true, const Tensor& y_pred) {
  return detail::formula_of("poisson", y_true, y_pred,
                            [](const Tensor& t, const Tensor& p) { return poisson_loss(t, p); });
}

Tensor kl_divergence(const Tensor& y_true, const Tensor& y_pred) {
  return detail::formula_of("kl_divergence", y_true, y_pred,
                            [](const Tensor& t, const Tensor& p) { return capstan::kl_divergence(t, p); });
}

namespace {

struct SquaredError {
  static constexpr std::string_view kName = "MeanSquaredError", kText = "The mean of squared differences.";
  static constexpr auto kFunction = mean_squared_error;
};
struct Absolute {
  static constexpr std::string_view kName = "MeanAbsoluteError", kText = "The mean of absolute differences.";
  static constexpr auto kFunction = mean_absolute_error;
};
struct Percentage {
  static constexpr std::string_view kName = "MeanAbsolutePercentageError";
  static constexpr std::string_view kText = "The mean of absolute differences in percent of the labels.";
  static constexpr auto kFunction = mean_absolute_percentage_error;
};
struct Logarithmic {
  static constexpr std::string_view kName = "MeanSquaredLogarithmicError";
  static constexpr std::string_view kText = "The mean of squared differences of logarithms.";
  static constexpr auto kFunction = mean_squared_logarithmic_error;
};
struct LogarithmOfCosh {
  static constexpr std::string_view kName = "LogCosh", kText = "The mean of log(cosh(prediction - label)).";
  static constexpr auto kFunction = log_cosh;
};
struct Counts {
  static constexpr std::string_view kName = "Poisson", kText = "The loss of counts whose means are predicted.";
  static constexpr auto kFunction = poisson;
};
struct Divergence {
  static constexpr std::string_view kName = "KLDivergence", kText = "The sum of label * log(label / prediction).";
  static constexpr auto kFunction = kl_divergence;
};

}  // namespace

using detail::FunctionLoss;

MeanSquaredError::MeanSquaredError(const LossOptions& options, std::string_view name)
    : Loss(FunctionLoss<SquaredError>::make(options), name) {}
MeanAbsoluteError::MeanAbsoluteError(const LossOptions& options, std::string_view name)
    : Loss(FunctionLoss<Absolute>::make(options), name) {}
MeanAbsolutePercentageError::MeanAbsolutePercentageError(const LossOptions& options, std::string_view name)
    : Loss(FunctionLoss<Percentage>::make(options), name) {}
MeanSquaredLogarithmicError::MeanSquaredLogarithmicError(const LossOptions& options, std::string_view name)
    : Loss(FunctionLoss<Logarithmic>::make(options), name) {}
LogCosh::LogCosh(const LossOptions& options, std::string_view name)
    : Loss(FunctionLoss<LogarithmOfCosh>::make(options), name) {}
Poisson::Poisson(const LossOptions& options, std::string_view name) : Loss(FunctionLoss<Counts>::make(options), name) {}
KLDivergence::KLDivergence(const LossOptions& options, std::string_view name)
    : Loss(FunctionLoss<Divergence>::make(options), name) {}

}  // namespace losses

void detail::add_regression_losses(std::vector<const ClassInfo*>& list) {
  using namespace losses;
  list.insert(list.end(),
              {&FunctionLoss<SquaredError>::info(), &FunctionLoss<Absolute>::info(), &FunctionLoss<Percentage>::info(),
               &FunctionLoss<Logarithmic>::info(), &FunctionLoss<LogarithmOfCosh>::info(),
               &FunctionLoss<Counts>::info(), &FunctionLoss<Divergence>::info()});
}

}  // namespace capstan
