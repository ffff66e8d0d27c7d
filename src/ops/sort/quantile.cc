// Percentiles: places in the sorted elements, in library ops, so that gradients follow from those of sort and gather.
#include <algorithm>
#include <span>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/sort.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/axes.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/floating.h"

namespace capstan {

namespace {

// x as sorted rows over the axes, and the shape of what remains.
struct SortedRows {
  Tensor rows;      // [remaining elements, n]
  Shape remaining;  // with 1 for the axes if they are kept
};
SortedRows sorted_rows(std::string_view op, const Tensor& x, const Axes& axes, bool keepdims) {
  const AxisSet set = normalize_axes(op, axes, x.rank());
  SortedRows result;
  std::vector<int> order;
  std::vector<int> last;
  std::int64_t n = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (set.on[i]) {
      n *= x.dim(i);
      last.push_back(i);
      if (keepdims) result.remaining.push_back(1);
    } else {
      order.push_back(i);
      result.remaining.push_back(x.dim(i));
    }
  }
  CAPSTAN_CHECK(n > 0, ShapeError, op, ": there are no elements to choose from", arguments({{"x", x}}));
  order.insert(order.end(), last.begin(), last.end());
  const Tensor moved = std::is_sorted(order.begin(), order.end()) ? x : transpose(x, Axes(std::span<const int>(order)));
  result.rows = sort(reshape(moved, {x.size() / n, n}));
  return result;
}

// `q` is a number or a vector of numbers from 0 to 100.
Tensor percentile_of(std::string_view op, const Tensor& x, const Tensor& q, const Axes& axes,
                     std::string_view interpolation, bool keepdims) {
  constexpr std::string_view kNames[] = {"nearest", "lower", "higher", "midpoint", "linear"};
  CAPSTAN_CHECK(std::find(std::begin(kNames), std::end(kNames), interpolation) != std::end(kNames), ValueError, op,
                ": interpolation must be nearest, lower, higher, midpoint or linear, not ", interpolation);
  const SortedRows sorted = sorted_rows(op, x, axes, keepdims);
  const std::int64_t n = sorted.rows.dim(1);
  const Tensor place = reshape(cast(q, DType::kFloat64), {q.size()}) / 100.0 * static_cast<double>(n - 1);
  const auto at = [&](const Tensor& index) { return gather(sorted.rows, cast(index, DType::kInt64), 1); };
  Tensor chosen;
  if (interpolation == "nearest") {
    chosen = at(round(place));
  } else if (interpolation == "lower") {
    chosen = at(floor(place));
  } else if (interpolation == "higher") {
    chosen = at(ceil(place));
  } else if (interpolation == "midpoint") {
    chosen = (at(floor(place)) + at(ceil(place))) * 0.5;
  } else {
    const Tensor fraction = cast(place - floor(place), x.dtype());
    chosen = at(floor(place)) * (1.0 - fraction) + at(ceil(place)) * fraction;
  }
  Shape shape = q.shape();
  for (std::int64_t length : sorted.remaining) shape.push_back(length);
  return reshape(transpose(chosen), shape);
}

}  // namespace

constinit const OpDef kPercentile =
    composite<&percentile, "x, q, axis, interpolation, keepdims", NoValue{}, NameList{"nearest"}>(
        "percentile", "The values below which a percentage of the elements over axes lie.");
constinit const OpDef kQuantiles =
    composite<&quantiles, "x, num_quantiles, axis, interpolation, keepdims", NoValue{}, NameList{"nearest"}>(
        "quantiles", "The values that cut the elements over axes into parts of equal count.");

Tensor percentile(Operand x, Operand q, Axes axis, std::string_view interpolation, const KeepdimsOptions& options) try {
  const Tensor value = floating_operand("percentile", x);
  const Tensor percent = q.is_literal() ? scalar(q.number(), DType::kFloat64) : to_tensor(q);
  CAPSTAN_CHECK(percent.rank() <= 1, ShapeError, "percentile: q must be a number or a vector, not of shape ",
                percent.shape());
  for (const double number : percent.to_vector<double>()) {
    CAPSTAN_CHECK(number >= 0 && number <= 100, ValueError, "percentile: q is ", number, ", not from 0 to 100");
  }
  return percentile_of("percentile", value, percent, axis, interpolation, options.keepdims);
} catch (const Error&) {
  rethrow_as("percentile");
}

Tensor quantiles(Operand x, std::int64_t num_quantiles, Axes axis, std::string_view interpolation,
                 const KeepdimsOptions& options) try {
  const Tensor value = floating_operand("quantiles", x);
  CAPSTAN_CHECK(num_quantiles > 0 && num_quantiles < INT32_MAX, ValueError, "quantiles: num_quantiles is ",
                num_quantiles, ", not at least 1");
  const Tensor parts = cast(range(static_cast<long>(num_quantiles + 1)), DType::kFloat64);
  return percentile_of("quantiles", value, parts * 100.0 / static_cast<double>(num_quantiles), axis, interpolation,
                       options.keepdims);
} catch (const Error&) {
  rethrow_as("quantiles");
}

CAPSTAN_OPS(quantile, &kPercentile, &kQuantiles);

}  // namespace capstan
