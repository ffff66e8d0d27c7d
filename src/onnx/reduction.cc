// Reductions, running sums, softmax and the losses made of it.
#include <algorithm>
#include <numeric>

#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "capstan/ops/sort.h"

#include "src/core/check.h"
#include "src/onnx/import.h"

namespace capstan::onnx {
namespace {

using Reduction = Tensor (*)(const Tensor& x, const ReduceOptions& options);

template <Reduction F>
void reduce(NodeCall& call) {
  const Value& value = call.value(0);
  const bool keepdims = call.integer("keepdims", 1) != 0;
  auto axes = call.axes(1);
  if (axes && axes->empty()) axes.reset();
  if (!axes && call.integer("noop_with_empty_axes", 0) != 0) {
    // Nothing is reduced, but each element is the reduction of itself.
    return call.give(F(expand_dims(value.tensor, value.tensor.rank()), {.axis = value.tensor.rank()}),
                     value.channels_last);
  }
  const int rank = value.tensor.rank();
  // The means over the places of an image leave the channels where they are.
  if (value.channels_last && axes && keepdims) {
    std::vector<int> moved;
    for (const std::int64_t one : *axes) {
      const int axis = call.axis(one, rank);
      moved.push_back(axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1);
    }
    return call.give(F(value.tensor, {.axis = moved, .keepdims = true}), true);
  }
  const Tensor x = onnx_layout(value);
  call.give(F(x, {.axis = axes ? Axes(*axes) : Axes(), .keepdims = keepdims}));
}

Tensor sum_of(const Tensor& x, const ReduceOptions& options) { return reduce_sum(x, options); }
Tensor mean_of(const Tensor& x, const ReduceOptions& options) { return reduce_mean(x, options); }
Tensor product_of(const Tensor& x, const ReduceOptions& options) { return reduce_prod(x, options); }
Tensor largest_of(const Tensor& x, const ReduceOptions& options) {
  if (x.dtype() == bool_) return reduce_any(x, options);
  return reduce_max(x, options);
}
Tensor smallest_of(const Tensor& x, const ReduceOptions& options) {
  if (x.dtype() == bool_) return reduce_all(x, options);
  return reduce_min(x, options);
}
Tensor l1_of(const Tensor& x, const ReduceOptions& options) { return reduce_sum(abs(x), options); }
Tensor l2_of(const Tensor& x, const ReduceOptions& options) {
  if (is_integer(x.dtype())) return cast(sqrt(cast(reduce_sum(square(x), options), float64)), x.dtype());
  return sqrt(reduce_sum(square(x), options));
}
Tensor log_sum_of(const Tensor& x, const ReduceOptions& options) { return log(reduce_sum(x, options)); }
Tensor log_sum_exp_of(const Tensor& x, const ReduceOptions& options) { return reduce_logsumexp(x, options); }
Tensor sum_square_of(const Tensor& x, const ReduceOptions& options) { return reduce_sum(square(x), options); }

template <bool IsMax>
void arg(NodeCall& call) {
  Tensor x = call.tensor(0);
  const int axis = call.axis_attribute(0, x.rank());
  const bool last = call.integer("select_last_index", 0) != 0;
  if (last) x = reverse(x, axis);
  Tensor place = IsMax ? argmax(x, axis) : argmin(x, axis);
  if (last) place = (x.dim(axis) - 1) - place;
  call.give(call.integer("keepdims", 1) != 0 ? expand_dims(place, axis) : place);
}

template <Tensor (*F)(Operand, int, const CumulativeOptions&)>
void running(NodeCall& call) {
  const Tensor x = call.tensor(0);
  const int axis = call.axis(call.integer_of(1), x.rank());
  call.give(F(x, axis, {.exclusive = call.integer("exclusive", 0) != 0, .reverse = call.integer("reverse", 0) != 0}));
}

// Up to opset 12 over all axes from one on, later along one.
template <class F>
void along(NodeCall& call, const F& f) {
  const Tensor x = call.tensor(0);
  if (call.opset() >= 13) return call.give(f(x, call.axis(call.integer("axis", -1), x.rank())));
  const int axis = call.axis(call.integer("axis", 1), x.rank());
  std::int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows *= x.dim(i);
  call.give(reshape_like(f(reshape(x, {rows, x.size() / std::max<std::int64_t>(rows, 1)}), 1), x));
}

void run_softmax(NodeCall& call) {
  along(call, [](const Tensor& x, int axis) { return softmax(x, axis); });
}
void run_log_softmax(NodeCall& call) {
  along(call, [](const Tensor& x, int axis) { return log_softmax(x, axis); });
}
void hardmax(NodeCall& call) {
  along(call, [](const Tensor& x, int axis) { return one_hot(argmax(x, axis), x.dim(axis), 1, 0, axis, x.dtype()); });
}

void lp_normalization(NodeCall& call) {
  const Tensor x = call.tensor(0);
  const int axis = call.axis(call.integer("axis", -1), x.rank());
  const Tensor length = call.integer("p", 2) == 1 ? reduce_sum(abs(x), axis, {.keepdims = true})
                                                  : sqrt(reduce_sum(square(x), axis, {.keepdims = true}));
  call.give(divide_no_nan(x, length));
}

// The loss of rows [batch, classes, ...] of logarithms of probabilities, by class numbers [batch, ...].
Tensor nll(NodeCall& call, const Tensor& logs, const Tensor& labels, std::size_t weights_at) {
  const std::int64_t classes = logs.dim(1);
  const bool ignores = call.has_attribute("ignore_index");
  const std::int64_t ignored = call.integer("ignore_index", 0);
  const Tensor wide = cast(labels, int64);
  const Tensor counts = ignores ? not_equal(wide, ignored) : ones(wide.shape(), bool_);
  const Tensor safe = where(counts, wide, zeros_like(wide));
  const Tensor hit = one_hot(safe, classes, 1, 0, 1, logs.dtype());
  Tensor loss = -reduce_sum(where(cast(hit, bool_), logs, zeros_like(logs)), 1);
  Tensor weight = cast(counts, logs.dtype());
  if (call.has(weights_at)) weight = weight * gather(call.tensor(weights_at), safe);
  loss = loss * weight;
  const std::string reduction = call.text("reduction", "mean");
  if (reduction == "none") return loss;
  if (reduction == "sum") return reduce_sum(loss);
  return reduce_sum(loss) / reduce_sum(weight);
}

void negative_log_likelihood(NodeCall& call) { call.give(nll(call, call.tensor(0), call.tensor(1), 2)); }

void softmax_loss(NodeCall& call) {
  const Tensor logs = log_softmax(call.tensor(0), 1);
  call.give(nll(call, logs, call.tensor(1), 2));
  call.give(logs);
}

constexpr Operator kReductionOperators[] = {
    {"ArgMax", arg<true>},
    {"ArgMin", arg<false>},
    {"CumProd", running<cumprod>},
    {"CumSum", running<cumsum>},
    {"Hardmax", hardmax},
    {"LogSoftmax", run_log_softmax},
    {"LpNormalization", lp_normalization},
    {"NegativeLogLikelihoodLoss", negative_log_likelihood},
    {"ReduceL1", reduce<l1_of>},
    {"ReduceL2", reduce<l2_of>},
    {"ReduceLogSum", reduce<log_sum_of>},
    {"ReduceLogSumExp", reduce<log_sum_exp_of>},
    {"ReduceMax", reduce<largest_of>},
    {"ReduceMean", reduce<mean_of>},
    {"ReduceMin", reduce<smallest_of>},
    {"ReduceProd", reduce<product_of>},
    {"ReduceSum", reduce<sum_of>},
    {"ReduceSumSquare", reduce<sum_square_of>},
    {"Softmax", run_softmax},
    {"SoftmaxCrossEntropyLoss", softmax_loss},
};

}  // namespace

std::span<const Operator> reduction_operators() { return kReductionOperators; }

}  // namespace capstan::onnx
