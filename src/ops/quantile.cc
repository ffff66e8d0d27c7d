// Percentiles: places in the sorted elements, in library ops, so that gradients follow from those of sort and gather.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/sort.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/op_test.h"
#include "src/ops/axes.h"
#include "src/ops/floating.h"
#include "src/ops/reference.h"
#include "src/ops/sort.h"

namespace capstan {

namespace {

struct PercentileAttributes {
  Axes axis;
  Text interpolation;
  bool keepdims = false;
};
constexpr AttributeType kPercentileAttributes = attribute_type<PercentileAttributes>(
    {field<&PercentileAttributes::axis>("axis"), field<&PercentileAttributes::interpolation>("interpolation"),
     field<&PercentileAttributes::keepdims>("keepdims")});

struct QuantilesAttributes {
  std::int64_t num_quantiles = 1;
  Axes axis;
  Text interpolation;
  bool keepdims = false;
};
constexpr AttributeType kQuantilesAttributes = attribute_type<QuantilesAttributes>(
    {field<&QuantilesAttributes::num_quantiles>("num_quantiles", true), field<&QuantilesAttributes::axis>("axis"),
     field<&QuantilesAttributes::interpolation>("interpolation"), field<&QuantilesAttributes::keepdims>("keepdims")});

std::string_view interpolation_of(const Text& text) { return text.text == nullptr ? "nearest" : text.view(); }

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

// --- Samples and reference ---

#if CAPSTAN_TESTING
SampleInput percents(std::vector<double> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return {.shape = {size}, .values = std::move(values), .dtype = DType::kFloat64, .differentiable = false};
}

std::vector<OpSample> percentile_samples() {
  const SampleInput half = {.shape = {}, .values = {50}, .dtype = DType::kFloat64, .differentiable = false};
  const SampleInput matrix = {.shape = {3, 4}};
  return {{.inputs = {{.shape = {5}}, half}},
          {.inputs = {matrix, percents({0, 30, 100})}, .attributes = {{"axis", 1}}},
          {.inputs = {matrix, percents({10, 90})}, .attributes = {{"axis", 0}, {"interpolation", "linear"}}},
          {.inputs = {matrix, percents({40})}, .attributes = {{"interpolation", "midpoint"}, {"keepdims", true}}},
          {.inputs = {{.shape = {2, 3, 2}}, percents({35})},
           .attributes = {{"axis", reference::ints({0, 2})}, {"interpolation", "lower"}}},
          {.inputs = {matrix, half}, .attributes = {{"axis", -1}, {"interpolation", "higher"}, {"keepdims", true}}},
          {.inputs = {matrix, percents({101})}, .error = "q is 101, not from 0 to 100"},
          {.inputs = {matrix, half}, .attributes = {{"interpolation", "cubic"}}, .error = "not cubic"},
          {.inputs = {{.shape = {0}}, half}, .error = "there are no elements"},
          {.inputs = {matrix, half}, .attributes = {{"axis", 2}}, .error = "axis 2 is out of range"}};
}
std::vector<OpSample> quantiles_samples() {
  return {{.inputs = {{.shape = {7}}}, .attributes = {{"num_quantiles", 4}}},
          {.inputs = {{.shape = {2, 5}}},
           .attributes = {{"num_quantiles", 2}, {"axis", 1}, {"interpolation", "linear"}, {"keepdims", true}}},
          {.inputs = {{.shape = {3}}}, .attributes = {{"num_quantiles", 0}}, .error = "num_quantiles is 0"},
          {.inputs = {{.shape = {3}}},
           .attributes = {{"num_quantiles", 2}, {"interpolation", "cubic"}},
           .error = "not cubic"}};
}

void reference_at(const ReferenceTensor& x, const std::vector<double>& q, bool q_is_scalar,
                  const AttributeMap& attributes, std::vector<ReferenceTensor>& out) {
  const int rank = x.shape.rank();
  std::vector<bool> over(static_cast<std::size_t>(rank), !reference::has(attributes, "axis"));
  for (std::int64_t axis : reference::integers(attributes, "axis")) {
    over[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  const bool keepdims = attributes.contains("keepdims") && attributes.at("keepdims").truth;
  const std::string how = reference::has(attributes, "interpolation") ? attributes.at("interpolation").text : "nearest";
  Shape groups;
  Shape shape;
  if (!q_is_scalar) shape.push_back(static_cast<std::int64_t>(q.size()));
  for (int i = 0; i < rank; ++i) {
    const bool reduced = over[static_cast<std::size_t>(i)];
    groups.push_back(reduced ? 1 : x.shape[i]);
    if (!reduced || keepdims) shape.push_back(groups[i]);
  }
  std::vector<std::vector<double>> members(static_cast<std::size_t>(groups.size()));
  reference::for_each(x.shape, [&](const reference::Position& position) {
    reference::Position group = position;
    for (std::size_t i = 0; i < group.size(); ++i) group[i] = over[i] ? 0 : group[i];
    members[reference::flat(groups, group)].push_back(reference::at(x, position));
  });
  ReferenceTensor result{x.dtype, shape, {}};
  for (double percent : q) {
    for (std::vector<double>& group : members) {
      std::sort(group.begin(), group.end());
      const double place = percent / 100 * static_cast<double>(group.size() - 1);
      const double low = group[static_cast<std::size_t>(std::floor(place))];
      const double high = group[static_cast<std::size_t>(std::ceil(place))];
      const double fraction = place - std::floor(place);
      result.values.push_back(how == "lower"      ? low
                              : how == "higher"   ? high
                              : how == "midpoint" ? (low + high) / 2
                              : how == "linear"   ? low * (1 - fraction) + high * fraction
                                                  : group[static_cast<std::size_t>(std::nearbyint(place))]);
    }
  }
  out = {result};
}
void percentile_reference(const std::vector<ReferenceTensor>& in, const AttributeMap& attributes,
                          std::vector<ReferenceTensor>& out) {
  reference_at(in[0], in[1].values, in[1].shape.rank() == 0, attributes, out);
}
void quantiles_reference(const std::vector<ReferenceTensor>& in, const AttributeMap& attributes,
                         std::vector<ReferenceTensor>& out) {
  const std::int64_t parts = reference::integer(attributes, "num_quantiles", 1);
  std::vector<double> q;
  for (std::int64_t i = 0; i <= parts; ++i) q.push_back(100.0 * static_cast<double>(i) / static_cast<double>(parts));
  reference_at(in[0], q, false, attributes, out);
}
const OpTest kPercentileTest = {.samples = percentile_samples, .reference = percentile_reference};
const OpTest kQuantilesTest = {.samples = quantiles_samples, .reference = quantiles_reference};
#endif

}  // namespace

constinit const OpDef kPercentile = {
    .name = "percentile",
    .text = "The values below which a percentage of the elements over axes lie.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "x, q",
    .attributes = &kPercentileAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const PercentileAttributes*>(data);
          outputs.push_back(percentile(inputs[0], inputs[1], a.axis, interpolation_of(a.interpolation), a.keepdims));
        },
    .test = CAPSTAN_OP_TEST(kPercentileTest),
};
constinit const OpDef kQuantiles = {
    .name = "quantiles",
    .text = "The values that cut the elements over axes into parts of equal count.",
    .kind = OpKind::kComposite,
    .attributes = &kQuantilesAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const QuantilesAttributes*>(data);
          outputs.push_back(
              quantiles(inputs[0], a.num_quantiles, a.axis, interpolation_of(a.interpolation), a.keepdims));
        },
    .test = CAPSTAN_OP_TEST(kQuantilesTest),
};

Tensor percentile(Operand x, Operand q, Axes axis, std::string_view interpolation, bool keepdims) try {
  const Tensor value = floating_operand("percentile", x);
  const Tensor percent = q.is_literal() ? scalar(q.number(), DType::kFloat64) : to_tensor(q);
  CAPSTAN_CHECK(percent.rank() <= 1, ShapeError, "percentile: q must be a number or a vector, not of shape ",
                percent.shape());
  for (const double number : percent.to_vector<double>()) {
    CAPSTAN_CHECK(number >= 0 && number <= 100, ValueError, "percentile: q is ", number, ", not from 0 to 100");
  }
  return percentile_of("percentile", value, percent, axis, interpolation, keepdims);
} catch (const Error&) {
  rethrow_as("percentile");
}

Tensor quantiles(Operand x, std::int64_t num_quantiles, Axes axis, std::string_view interpolation, bool keepdims) try {
  const Tensor value = floating_operand("quantiles", x);
  CAPSTAN_CHECK(num_quantiles > 0 && num_quantiles < INT32_MAX, ValueError, "quantiles: num_quantiles is ",
                num_quantiles, ", not at least 1");
  const Tensor parts = cast(range(static_cast<long>(num_quantiles + 1)), DType::kFloat64);
  return percentile_of("quantiles", value, parts * 100.0 / static_cast<double>(num_quantiles), axis, interpolation,
                       keepdims);
} catch (const Error&) {
  rethrow_as("quantiles");
}

}  // namespace capstan
