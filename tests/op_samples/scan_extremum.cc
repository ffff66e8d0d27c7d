// Samples and references of the ops in src/ops/reduce/scan_extremum.cc.
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> running_samples() {
  return {{.inputs = {{.shape = {6}}}},
          {.inputs = {{.shape = {2, 4, 2}}}, .attributes = {{"axis", 1}, {"reverse", true}}},
          {.inputs = {{.shape = {2, 5}}}, .attributes = {{"axis", -1}}},
          {.inputs = {{.shape = {0, 2}}}},
          {.inputs = {{.shape = {2}}}, .attributes = {{"axis", 1}}, .error = "axis 1 is out of range for rank 1"}};
}
template <bool largest>
void running_reference(const std::vector<ReferenceTensor>& in, const AttributeMap& attributes,
                       std::vector<ReferenceTensor>& out) {
  std::int64_t axis = reference::integer(attributes, "axis", 0);
  if (axis < 0) axis += in[0].shape.rank();
  const auto along = static_cast<std::size_t>(axis);
  const bool reverse = attributes.contains("reverse");
  out = {in[0], {DType::kInt32, in[0].shape, in[0].values}};
  reference::for_each(in[0].shape, [&](const reference::Position& position) {
    reference::Position best = position;
    best[along] = reverse ? in[0].shape[static_cast<int>(axis)] - 1 : 0;
    for (reference::Position at = best; at != position;) {
      at[along] += reverse ? -1 : 1;
      const double gain = reference::at(in[0], at) - reference::at(in[0], best);
      if (largest ? gain > 0 : gain < 0) best = at;
    }
    const std::size_t to = reference::flat(in[0].shape, position);
    out[0].values[to] = reference::at(in[0], best);
    out[1].values[to] = static_cast<double>(best[along]);
  });
}

const OpTests kScanExtremumTests = {
    {"cummax", {.samples = running_samples, .reference = running_reference<true>, .dtypes = reference::kRealDTypes}},
    {"cummin", {.samples = running_samples, .reference = running_reference<false>, .dtypes = reference::kRealDTypes}},
};

}  // namespace

}  // namespace capstan::testing
