// Samples and references of the ops in src/ops/linalg/linalg.cc.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> tensordot_samples() {
  const auto pairs = [](std::vector<AttributeValue> a, std::vector<AttributeValue> b) {
    return AttributeValue(std::vector<AttributeValue>{a, b});
  };
  return {
      {.inputs = {{.shape = {2, 3}}, {.shape = {3, 4}}}, .attributes = {{"axes", 1}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {4}}}, .attributes = {{"axes", 0}}},
      {.inputs = {{.shape = {2, 3, 4}}, {.shape = {3, 4, 2}}}, .attributes = {{"axes", 2}}},
      {.inputs = {{.shape = {2, 3, 4}}, {.shape = {4, 2, 3}}}, .attributes = {{"axes", pairs({0, -1}, {1, 0})}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2, 3}}}, .attributes = {{"axes", 1}}, .error = "differ, 3 and 2"},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2, 3}}}, .attributes = {{"axes", 3}}, .error = "3 axes, but the ranks"},
  };
}
void tensordot_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                         std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& a = inputs[0];
  const ReferenceTensor& b = inputs[1];
  const AttributeValue& axes = attributes.at("axes");
  std::vector<int> axes_a;
  std::vector<int> axes_b;
  if (axes.kind == AttributeValue::Kind::kInt) {
    for (int i = 0; i < axes.integer; ++i) {
      axes_a.push_back(a.shape.rank() - static_cast<int>(axes.integer) + i);
      axes_b.push_back(i);
    }
  } else {
    for (const AttributeValue& axis : axes.list[0].list) {
      axes_a.push_back((static_cast<int>(axis.integer) + a.shape.rank()) % a.shape.rank());
    }
    for (const AttributeValue& axis : axes.list[1].list) {
      axes_b.push_back((static_cast<int>(axis.integer) + b.shape.rank()) % b.shape.rank());
    }
  }
  const auto digits = [](const Shape& shape, std::size_t index) {
    std::vector<std::int64_t> position(static_cast<std::size_t>(shape.rank()));
    for (int i = shape.rank() - 1; i >= 0; --i) {
      position[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(index) % shape[i];
      index /= static_cast<std::size_t>(shape[i]);
    }
    return position;
  };
  ReferenceTensor out{.dtype = a.dtype};
  for (int i = 0; i < a.shape.rank(); ++i) {
    if (std::count(axes_a.begin(), axes_a.end(), i) == 0) out.shape.push_back(a.shape[i]);
  }
  for (int i = 0; i < b.shape.rank(); ++i) {
    if (std::count(axes_b.begin(), axes_b.end(), i) == 0) out.shape.push_back(b.shape[i]);
  }
  out.values.assign(static_cast<std::size_t>(out.shape.size()), 0);
  for (std::size_t x = 0; x < a.values.size(); ++x) {
    const auto p = digits(a.shape, x);
    for (std::size_t y = 0; y < b.values.size(); ++y) {
      const auto q = digits(b.shape, y);
      bool meets = true;
      for (std::size_t i = 0; i < axes_a.size(); ++i) {
        meets &= p[static_cast<std::size_t>(axes_a[i])] == q[static_cast<std::size_t>(axes_b[i])];
      }
      if (!meets) continue;
      std::int64_t index = 0;
      for (int i = 0; i < a.shape.rank(); ++i) {
        if (std::count(axes_a.begin(), axes_a.end(), i) == 0)
          index = index * a.shape[i] + p[static_cast<std::size_t>(i)];
      }
      for (int i = 0; i < b.shape.rank(); ++i) {
        if (std::count(axes_b.begin(), axes_b.end(), i) == 0)
          index = index * b.shape[i] + q[static_cast<std::size_t>(i)];
      }
      out.values[static_cast<std::size_t>(index)] += a.values[x] * b.values[y];
    }
  }
  outputs = {out};
}

const OpTests kLinalgTests = {
    {"tensordot",
     {.samples = tensordot_samples,
      .reference = tensordot_reference,
      .over_complex = OverComplex::kProduct,
      .dtypes = {float32, float64, bfloat16, complex64, complex128}}},
};

}  // namespace

}  // namespace capstan::testing
