// Samples and references of the ops in src/ops/sort/quantile.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

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

const OpTests kQuantileTests = {
    {"percentile", {.samples = percentile_samples, .reference = percentile_reference}},
    {"quantiles", {.samples = quantiles_samples, .reference = quantiles_reference}},
};

}  // namespace

}  // namespace capstan::testing
