// Samples and references of the ops in src/ops/array/pad.cc.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::ints;
using reference::Position;

AttributeValue pairs(std::initializer_list<std::pair<int, int>> widths) {
  std::vector<AttributeValue> list;
  for (const auto& [before, after] : widths) list.push_back(ints({before, after}));
  return AttributeValue(std::move(list));
}

std::vector<OpSample> pad_samples() {
  const std::vector<SampleInput> vector = {{.shape = {3}}};
  const std::vector<SampleInput> matrix = {{.shape = {2, 3}}};
  return {
      {.inputs = vector, .attributes = {{"paddings", pairs({{1, 2}})}}},
      {.inputs = matrix, .attributes = {{"paddings", pairs({{0, 0}, {1, 0}})}}},
      {.inputs = matrix, .attributes = {{"paddings", pairs({{1, 1}, {0, 2}})}, {"constant_values", 1}}},
      {.inputs = {{.shape = {}}}, .attributes = {{"paddings", ints({})}}},
      {.inputs = {{.shape = {0, 2}}}, .attributes = {{"paddings", pairs({{1, 0}, {0, 1}})}}},
      {.inputs = vector, .attributes = {{"paddings", pairs({{2, 2}})}, {"mode", "REFLECT"}}},
      {.inputs = matrix, .attributes = {{"paddings", pairs({{1, 0}, {1, 2}})}, {"mode", "REFLECT"}}},
      {.inputs = vector, .attributes = {{"paddings", pairs({{3, 2}})}, {"mode", "SYMMETRIC"}}},
      {.inputs = matrix, .attributes = {{"paddings", pairs({{2, 1}, {0, 1}})}, {"mode", "SYMMETRIC"}}},
      {.inputs = vector, .attributes = {{"paddings", pairs({{-1, 0}})}}, .error = "negative padding, -1 and 0"},
      {.inputs = vector, .attributes = {{"paddings", pairs({{1, 0}, {0, 0}})}}, .error = "2 pairs of paddings for 1"},
      {.inputs = vector,
       .attributes = {{"paddings", pairs({{3, 0}})}, {"mode", "REFLECT"}},
       .error = "a mirrored padding of 3 exceeds 2"},
      {.inputs = vector, .attributes = {{"paddings", pairs({{1, 0}})}, {"mode", "edge"}}, .error = "not edge"}};
}
void pad_reference(const std::vector<ReferenceTensor>& in, const AttributeMap& attributes,
                   std::vector<ReferenceTensor>& out) {
  const std::vector<std::int64_t> widths = reference::integers(attributes, "paddings");
  const std::string mode = reference::has(attributes, "mode") ? attributes.at("mode").text : "CONSTANT";
  const double value = reference::has(attributes, "constant_values") ? attributes.at("constant_values").number : 0;
  Shape shape = in[0].shape;
  for (int i = 0; i < shape.rank(); ++i) {
    shape.set(i, shape[i] + widths[2 * static_cast<std::size_t>(i)] + widths[2 * static_cast<std::size_t>(i) + 1]);
  }
  out = {reference::build(in[0].dtype, shape, [&](Position position) {
    for (int i = 0; i < shape.rank(); ++i) {
      std::int64_t& at = position[static_cast<std::size_t>(i)];
      const std::int64_t length = in[0].shape[i];
      at -= widths[2 * static_cast<std::size_t>(i)];
      if (at >= 0 && at < length) continue;
      if (mode == "CONSTANT") return value;
      const std::int64_t twice = mode == "REFLECT" ? 0 : 1;  // is the edge repeated?
      at = at < 0 ? -at - twice : 2 * (length - 1) - at + twice;
    }
    return reference::at(in[0], position);
  })};
}

const OpTests kPadTests = {
    {"pad", {.samples = pad_samples, .reference = pad_reference, .dtypes = reference::kEveryDType}},
};

}  // namespace

}  // namespace capstan::testing
