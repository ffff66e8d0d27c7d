// Metrics: a weighted mean of per-example values, kept as a sum and a count.
#include "capstan/metrics.h"

#include <numeric>
#include <vector>

#include "capstan/losses.h"
#include "capstan/ops/array.h"
#include "capstan/ops/host.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/train/fit_ranks.h"
#include "src/train/known_names.h"

namespace capstan {

namespace {

// Counts need more bits than bfloat16 has.
Tensor zero() { return zeros({}, floatx() == float64 ? float64 : float32); }

}  // namespace

struct Metric::State {
  Function function;  // empty until the shapes of an "accuracy" are known
  std::string name;
  Variable total{zero(), {.trainable = false, .name = "total"}};
  Variable count{zero(), {.trainable = false, .name = "count"}};
};

namespace {

using Function = Metric::Function;

Tensor sparse_categorical_matches(const Tensor& y_true, const Tensor& y_pred) {
  return with_errors_of("sparse_categorical_accuracy", [&] {
    Tensor labels = y_true;
    if (labels.rank() == y_pred.rank() && labels.dim(-1) == 1) labels = squeeze(labels, -1);
    return cast(equal(cast(labels, int64), argmax(y_pred, -1)), float32);
  });
}

Tensor categorical_matches(const Tensor& y_true, const Tensor& y_pred) {
  return with_errors_of("categorical_accuracy",
                        [&] { return cast(equal(argmax(y_true, -1), argmax(y_pred, -1)), float32); });
}

Tensor binary_matches(const Tensor& y_true, const Tensor& y_pred, double threshold) {
  return with_errors_of("binary_accuracy", [&] {
    Tensor p = detail::floating_predictions(y_pred);
    Tensor t = detail::floating_labels(y_true, p);
    detail::fit_ranks(t, p);
    return cast(equal(t, cast(p > threshold, p.dtype())), float32);
  });
}

// Keras's rule for "acc" and "accuracy".
Function accuracy_for(const Tensor& y_true, const Tensor& y_pred) {
  const std::int64_t classes = y_pred.rank() == 0 ? 1 : y_pred.dim(-1);
  if (classes == 1) return [](const Tensor& t, const Tensor& p) { return binary_matches(t, p, 0.5); };
  if (y_true.rank() < y_pred.rank() || y_true.dim(-1) == 1) return sparse_categorical_matches;
  return categorical_matches;
}

Axes axes_from(int first, int rank) {
  std::vector<int> axes(static_cast<std::size_t>(rank - first));
  std::iota(axes.begin(), axes.end(), first);
  return Axes(std::span<const int>(axes));
}

// The mean over all axes from `first` on.
Tensor mean_from(const Tensor& x, int first) {
  return x.rank() > first ? reduce_mean(x, axes_from(first, x.rank())) : x;
}

}  // namespace

Metric::Metric(Function function, std::string name, bool) : state_(std::make_shared<State>()) {
  state_->function = std::move(function);
  state_->name = std::move(name);
}

namespace {

using Compare = Tensor (*)(const Tensor& y_true, const Tensor& y_pred);

constexpr detail::Named<Compare> kNamed[] = {
    {"accuracy", nullptr, "acc"},
    {"binary_accuracy", [](const Tensor& t, const Tensor& p) { return binary_matches(t, p, 0.5); }},
    {"categorical_accuracy", categorical_matches},
    {"sparse_categorical_accuracy", sparse_categorical_matches},
    {"mean_squared_error", losses::mean_squared_error, "mse"},
    {"mean_absolute_error", losses::mean_absolute_error, "mae"},
};

}  // namespace

Metric::Metric(std::string_view name) : Metric(Function(), std::string(name), true) {
  const Compare compare = detail::find_named<Compare>("metric", name, kNamed,
                                                      "pass a function of labels and predictions for one of your own");
  if (compare != nullptr) state_->function = compare;
}

const std::string& Metric::name() const { return state_->name; }

void Metric::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const {
  try {
    if (!state_->function) state_->function = accuracy_for(y_true, y_pred);
    accumulate(state_->function(y_true, y_pred), sample_weight);
  } catch (const Error&) {
    detail::rethrow_with({"metric", state_->name, y_true, y_pred, sample_weight});
  }
}

void Metric::accumulate(const Tensor& given_values, const Tensor& sample_weight) const {
  const DType dtype = state_->total.dtype();
  Tensor values = cast(given_values, dtype);
  if (!sample_weight.has_value()) {
    values = mean_from(values, 1);
    state_->total.assign_add(values.rank() == 0 ? values : reduce_sum(values));
    if (inside_function()) {
      state_->count.assign_add(cast(size(values), dtype));
    } else {
      state_->count.assign_add(static_cast<double>(values.size()));
    }
    return;
  }
  Tensor weight = cast(sample_weight, dtype);
  detail::fit_ranks(values, weight);
  with_errors_of(state_->name, [&] {
    values = mean_from(values, weight.rank());
    weight = broadcast_like(weight, values);
    values = mean_from(values * weight, 1);
  });
  state_->total.assign_add(reduce_sum(values));
  state_->count.assign_add(reduce_sum(mean_from(weight, 1)));
}

Tensor Metric::result() const { return divide_no_nan(state_->total, state_->count); }

void Metric::reset_state() const {
  state_->total.assign(0.0f);
  state_->count.assign(0.0f);
}

std::vector<Variable> Metric::variables() const { return {state_->total, state_->count}; }

namespace metrics {

Mean::Mean(std::string name)
    : Metric(Function([](const Tensor&, const Tensor& p) { return p; }), std::move(name), true) {}

void Mean::update_state(Operand values, const Tensor& sample_weight) const {
  accumulate(to_tensor(std::move(values)), sample_weight);
}

SparseCategoricalAccuracy::SparseCategoricalAccuracy(std::string name)
    : Metric(Function(sparse_categorical_matches), std::move(name), true) {}

CategoricalAccuracy::CategoricalAccuracy(std::string name)
    : Metric(Function(categorical_matches), std::move(name), true) {}

BinaryAccuracy::BinaryAccuracy(std::string name, double threshold)
    : Metric(Function([threshold](const Tensor& t, const Tensor& p) { return binary_matches(t, p, threshold); }),
             std::move(name), true) {}

}  // namespace metrics
}  // namespace capstan
