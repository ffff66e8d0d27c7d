// The function forms of losses: one value per example, with Keras's formulas.
#include "capstan/losses.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/train/fit_ranks.h"
#include "src/train/remembered_logits.h"

namespace capstan {

namespace {

// Probabilities are kept this far from 0 and 1 before a logarithm.
constexpr double kSmallest = 1e-7;

Tensor clip_probabilities(const Tensor& p) { return clip_by_value(p, kSmallest, 1 - kSmallest); }

void check_same_shape(const char* loss, const Tensor& y_true, const Tensor& y_pred) {
  CAPSTAN_CHECK(y_true.shape() == y_pred.shape(), ShapeError, loss, ": labels and predictions differ in shape",
                arguments({{"y_true", y_true}, {"y_pred", y_pred}}));
}

// The last axis, counted from the front; ShapeError for a scalar.
int checked_axis(const char* loss, const Tensor& y_pred, int axis) {
  const int rank = y_pred.rank();
  CAPSTAN_CHECK(axis >= -rank && axis < rank, IndexError, loss, ": axis ", axis,
                " is out of range for predictions of shape ", y_pred.shape());
  return axis < 0 ? axis + rank : axis;
}

// Runs the body of a loss; its errors name the loss and what it was given.
template <class Body>
Tensor with_errors_of_loss(const char* loss, const Tensor& y_true, const Tensor& y_pred, const Body& body) {
  try {
    return with_errors_of(loss, body);
  } catch (const Error&) {
    detail::rethrow_with({"loss", loss, y_true, y_pred});
  }
}

}  // namespace

void detail::rethrow_with(const Given& given) {
  const ErrorLine lines[] = {{given.kind, std::string(given.name)},
                             {"y_true", describe(given.y_true)},
                             {"y_pred", describe(given.y_pred)},
                             {"sample_weight", describe(given.sample_weight)},
                             {"mask", describe(given.mask)}};
  capstan::rethrow_with(std::span(lines, given.mask.has_value() ? 5 : given.sample_weight.has_value() ? 4 : 3));
}

Tensor detail::floating_labels(const Tensor& y_true, const Tensor& y_pred) {
  return y_true.dtype() == y_pred.dtype() ? y_true : cast(y_true, y_pred.dtype());
}

Tensor detail::floating_predictions(const Tensor& y_pred) {
  const DType dtype = y_pred.dtype();
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 ? y_pred : cast(y_pred, float32);
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

Tensor losses::mean_squared_error(const Tensor& y_true, const Tensor& y_pred) {
  return with_errors_of_loss("mean_squared_error", y_true, y_pred, [&]() -> Tensor {
    Tensor p = detail::floating_predictions(y_pred);
    Tensor t = detail::floating_labels(y_true, p);
    detail::fit_ranks(t, p);
    return reduce_mean(squared_difference(t, p), -1);
  });
}

Tensor losses::mean_absolute_error(const Tensor& y_true, const Tensor& y_pred) {
  return with_errors_of_loss("mean_absolute_error", y_true, y_pred, [&]() -> Tensor {
    Tensor p = detail::floating_predictions(y_pred);
    Tensor t = detail::floating_labels(y_true, p);
    detail::fit_ranks(t, p);
    return reduce_mean(abs(t - p), -1);
  });
}

Tensor losses::huber(const Tensor& y_true, const Tensor& y_pred, const HuberOptions& options) {
  return with_errors_of_loss("huber", y_true, y_pred, [&]() -> Tensor {
    Tensor p = detail::floating_predictions(y_pred);
    Tensor t = detail::floating_labels(y_true, p);
    detail::fit_ranks(t, p);
    const Tensor error = p - t;
    const Tensor size = abs(error);
    const double delta = options.delta;
    return reduce_mean(where(size <= delta, 0.5 * square(error), delta * size - 0.5 * delta * delta), -1);
  });
}

Tensor losses::binary_crossentropy(const Tensor& y_true, const Tensor& y_pred, const CrossentropyOptions& options) {
  return with_errors_of_loss("binary_crossentropy", y_true, y_pred, [&]() -> Tensor {
    const Tensor p = detail::floating_predictions(y_pred);
    Tensor t = detail::floating_labels(y_true, p);
    check_same_shape("binary_crossentropy", t, p);
    const int axis = checked_axis("binary_crossentropy", p, options.axis);
    const double smoothing = options.label_smoothing;
    if (smoothing != 0) t = t * (1 - smoothing) + 0.5 * smoothing;
    const Tensor logits = options.from_logits ? p : detail::remembered_logits(p, detail::kSigmoidAxis);
    if (logits.has_value()) return reduce_mean(sigmoid_cross_entropy_with_logits(t, logits), axis);
    const Tensor clipped = clip_probabilities(p);
    return reduce_mean(-(t * log(clipped) + (1 - t) * log(1 - clipped)), axis);
  });
}

Tensor losses::categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                        const CrossentropyOptions& options) {
  return with_errors_of_loss("categorical_crossentropy", y_true, y_pred, [&]() -> Tensor {
    const Tensor p = detail::floating_predictions(y_pred);
    Tensor t = detail::floating_labels(y_true, p);
    const int axis = checked_axis("categorical_crossentropy", p, options.axis);
    check_same_shape("categorical_crossentropy", t, p);
    const double smoothing = options.label_smoothing;
    if (smoothing != 0) t = t * (1 - smoothing) + smoothing / static_cast<double>(p.dim(axis));
    const Tensor logits = options.from_logits ? p : detail::remembered_logits(p, axis);
    if (logits.has_value()) return softmax_cross_entropy_with_logits(t, logits, axis);
    const Tensor normalized = p / reduce_sum(p, axis, true);
    return -reduce_sum(t * log(clip_probabilities(normalized)), axis);
  });
}

Tensor losses::sparse_categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                               const SparseCrossentropyOptions& options) {
  return with_errors_of_loss("sparse_categorical_crossentropy", y_true, y_pred, [&]() -> Tensor {
    const Tensor p = detail::floating_predictions(y_pred);
    const int axis = checked_axis("sparse_categorical_crossentropy", p, options.axis);
    CAPSTAN_CHECK(axis == p.rank() - 1, ValueError,
                  "sparse_categorical_crossentropy: the classes must be the last axis, not axis ", options.axis);
    Tensor labels = y_true;
    if (labels.rank() == p.rank() && labels.dim(-1) == 1) labels = squeeze(labels, -1);
    if (labels.dtype() != DType::kInt32 && labels.dtype() != DType::kInt64) labels = cast(labels, int64);
    CAPSTAN_CHECK(labels.rank() == p.rank() - 1, ShapeError,
                  "sparse_categorical_crossentropy: labels must have the shape of the predictions without the classes",
                  arguments({{"y_true", y_true}, {"y_pred", y_pred}}));
    const Tensor logits = options.from_logits ? p : detail::remembered_logits(p, axis);
    // Keras takes logarithms of clipped probabilities as logits, which normalises them once more.
    return sparse_softmax_cross_entropy_with_logits(labels, logits.has_value() ? logits : log(clip_probabilities(p)));
  });
}

}  // namespace capstan
