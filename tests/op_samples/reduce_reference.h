// What the slow references of reductions share: the elements of every result as a list, functions
// of such lists, and samples.
#pragma once

#include <complex>
#include <algorithm>
#include <vector>

#include "src/ops/reduce/reduce.h"
#include "tests/op_samples/op_test.h"

namespace capstan::testing::reference {

// Which elements of `x` every element of the result is made of.
template <class T>
auto groups_of(const T& x, const AttributeMap& attributes, Shape* result) {
  ReduceAttributes a;
  if (auto found = attributes.find("axis"); found != attributes.end()) set_field(a.axis, found->second, "", "");
  if (auto found = attributes.find("keepdims"); found != attributes.end()) a.keepdims = found->second.truth;
  const AxisSet axes = normalize_axes("reference", a.axis, x.shape.rank());
  *result = reduced_shape(x.shape, axes, a.keepdims);
  std::vector<decltype(x.values)> groups(static_cast<std::size_t>(result->size()));
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i);
    std::int64_t position = 0;
    std::int64_t stride = 1;
    for (int axis = x.shape.rank() - 1; axis >= 0; --axis) {
      if (!axes.on[axis]) {
        position += rest % x.shape[axis] * stride;
        stride *= x.shape[axis];
      }
      rest /= x.shape[axis];
    }
    groups[static_cast<std::size_t>(position)].push_back(x.values[i]);
  }
  return groups;
}

// A reference whose results are function(their elements).
template <class Function>
void by_groups(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
               std::vector<ReferenceTensor>& outputs, const Function& function) {
  ReferenceTensor out{.dtype = inputs[0].dtype};
  for (const std::vector<double>& group : groups_of(inputs[0], attributes, &out.shape)) {
    out.values.push_back(function(group));
  }
  outputs = {out};
}

inline double sum_of(const std::vector<double>& group) {
  double sum = 0;
  for (double x : group) sum += x;
  return sum;
}
inline double mean_of(const std::vector<double>& group) { return sum_of(group) / static_cast<double>(group.size()); }
inline double maximum_of(const std::vector<double>& group) { return *std::max_element(group.begin(), group.end()); }

template <double (*kFunction)(const std::vector<double>&)>
void group_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                     std::vector<ReferenceTensor>& outputs) {
  by_groups(inputs, attributes, outputs, kFunction);
}

template <std::complex<double> (*kFunction)(const std::vector<std::complex<double>>&)>
void complex_group_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                             std::vector<ComplexTensor>& outputs) {
  ComplexTensor out;
  for (const auto& group : groups_of(inputs[0], attributes, &out.shape)) out.values.push_back(kFunction(group));
  outputs = {out};
}

// What every reduction is tried with.
inline std::vector<OpSample> reduction_samples() {
  const AttributeValue none;
  const std::vector<AttributeValue> first_and_last{0, -1};
  return {
      {.inputs = {{.shape = {2, 3}}}},
      {.inputs = {{.shape = {}}}},
      {.inputs = {{.shape = {7}}}, .attributes = {{"keepdims", true}}},
      {.inputs = {{.shape = {5, 4}}}, .attributes = {{"axis", 0}}},
      {.inputs = {{.shape = {5, 4}}}, .attributes = {{"axis", -1}, {"keepdims", true}}},
      {.inputs = {{.shape = {2, 3, 4}}}, .attributes = {{"axis", 1}}},
      {.inputs = {{.shape = {2, 3, 4}}}, .attributes = {{"axis", first_and_last}}},
      {.inputs = {{.shape = {2, 3, 2, 3}}}, .attributes = {{"axis", std::vector<AttributeValue>{1, 3}}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", std::vector<AttributeValue>{}}}},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axis", 2}}, .error = "axis 2 is out of range for rank 2"},
      {.inputs = {{.shape = {2, 3}}},
       .attributes = {{"axis", std::vector<AttributeValue>{1, -1}}},
       .error = "axis 1 is given twice"},
  };
}

inline const std::vector<DType> kAllNumbers = {float32, float64, bfloat16, int32, int64};
inline const std::vector<DType> kNumbersAndComplex = {float32, float64, bfloat16, int32, int64, complex64, complex128};

}  // namespace capstan::testing::reference
