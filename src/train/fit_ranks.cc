#include "src/train/fit_ranks.h"

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"

namespace capstan {

void detail::rethrow_with(const Given& given) {
  const ErrorLine lines[] = {{given.kind, std::string(given.name)},
                             {"y_true", describe(given.y_true)},
                             {"y_pred", describe(given.y_pred)},
                             {"sample_weight", describe(given.sample_weight)},
                             {"mask", describe(given.mask)}};
  capstan::rethrow_with(std::span(lines, given.mask.has_value() ? 5 : given.sample_weight.has_value() ? 4 : 3));
}

namespace {

void check_is_real(std::string_view what, const Tensor& x) {
  CAPSTAN_CHECK(!is_complex(x.dtype()), DTypeError, "convert: ", what, " of dtype ", x.dtype(), " are not supported",
                help("give their abs(), or real() and imag() apart"));
}

}  // namespace

Tensor detail::as_real(std::string_view what, const Tensor& x, DType dtype) {
  check_is_real(what, x);
  return cast(x, dtype);
}

Tensor detail::floating_labels(const Tensor& y_true, const Tensor& y_pred) {
  check_is_real("labels", y_true);
  return y_true.dtype() == y_pred.dtype() ? y_true : cast(y_true, y_pred.dtype());
}

Tensor detail::floating_predictions(const Tensor& y_pred) {
  check_is_real("predictions", y_pred);
  const DType dtype = y_pred.dtype();
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 ? y_pred : cast(y_pred, float32);
}

Tensor detail::counted_labels(const Tensor& y_true, std::int64_t ignore_class, int rank) {
  // No narrower dtype has all numbers that a class may be given.
  const Tensor counts = not_equal(is_floating(y_true.dtype()) ? y_true : cast(y_true, int64), ignore_class);
  return counts.rank() > rank ? squeeze(counts, -1) : counts;
}

Tensor detail::fit_weights(const Tensor& sample_weight, int rank) {
  Tensor weights = sample_weight;
  if (weights.rank() == rank + 1 && weights.dim(-1) == 1) weights = squeeze(weights, -1);
  while (weights.rank() > 0 && weights.rank() < rank) weights = expand_dims(weights, -1);
  return weights;
}

void detail::fit_ranks(Tensor& a, Tensor& b) {
  const int difference = a.rank() - b.rank();
  if (difference != 1 && difference != -1) return;
  Tensor& longer = difference == 1 ? a : b;
  Tensor& shorter = difference == 1 ? b : a;
  if (longer.dim(-1) != 1) return;
  if (shorter.rank() == 1) {
    shorter = expand_dims(shorter, -1);
  } else {
    longer = squeeze(longer, -1);
  }
}

Tensor detail::fit_input(const Tensor& x, const Shape& due) {
  if (x.rank() > 0 && x.rank() + 1 == due.rank() && due[-1] == 1) return expand_dims(x, -1);
  return x.rank() > 1 && x.rank() == due.rank() + 1 && x.dim(-1) == 1 ? squeeze(x, -1) : x;
}

Tensor detail::class_labels(const Tensor& y_true, const Tensor& y_pred) {
  check_is_real("labels", y_true);
  const bool has_axis = y_true.rank() == y_pred.rank() && y_true.rank() > 0 && y_true.dim(-1) == 1;
  return has_axis ? squeeze(y_true, -1) : y_true;
}

Tensor detail::class_numbers(const Tensor& y_true, const Tensor& y_pred) {
  const Tensor labels = class_labels(y_true, y_pred);
  return labels.dtype() == DType::kInt32 || labels.dtype() == DType::kInt64 ? labels : cast(labels, int64);
}

}  // namespace capstan
