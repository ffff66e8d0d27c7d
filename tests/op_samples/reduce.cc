// Samples and references of the ops in src/ops/reduce/reduce.cc.
#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reduce_reference.h"

namespace capstan::testing {

namespace {

double product_of(const std::vector<double>& group) {
  double product = 1;
  for (double x : group) product *= x;
  return product;
}
std::complex<double> complex_product_of(const std::vector<std::complex<double>>& group) {
  std::complex<double> product = 1;
  for (const std::complex<double>& x : group) product *= x;
  return product;
}
double minimum_of(const std::vector<double>& group) { return *std::min_element(group.begin(), group.end()); }
double norm_of(const std::vector<double>& group) {
  double sum = 0;
  for (double x : group) sum += x * x;
  return std::sqrt(sum);
}

// Those of all reductions, and sums of nothing.
std::vector<OpSample> sum_samples() {
  std::vector<OpSample> samples = reference::reduction_samples();
  samples.push_back({.inputs = {{.shape = {0, 3}}}, .attributes = {{"axis", 0}}});
  samples.push_back({.inputs = {{.shape = {3, 0}}}, .attributes = {{"axis", 0}}});
  return samples;
}
// As above, with one and with two zeros in a row.
std::vector<OpSample> product_samples() {
  std::vector<OpSample> samples = sum_samples();
  samples.push_back(
      {.inputs = {{.shape = {3, 4}, .values = {1, 0, 3, 2, 0.5, 0, -1, 0, 2, 3, 4, -5}}}, .attributes = {{"axis", 1}}});
  return samples;
}
std::vector<OpSample> truth_samples() {
  return {
      {.inputs = {{.shape = {2, 3}, .values = {0, 1, 0, 0, 0, 0}, .dtype = bool_, .differentiable = false}},
       .attributes = {{"axis", 1}}},
      {.inputs = {{.shape = {3, 2}, .values = {1, 1, 0, 1, 1, 1}, .dtype = bool_, .differentiable = false}},
       .attributes = {{"axis", 0}, {"keepdims", true}}},
      {.inputs = {{.shape = {0}, .dtype = bool_, .differentiable = false}}},
      {.inputs = {{.shape = {2}, .values = {1, 2}, .dtype = int32, .differentiable = false}},
       .error = "dtype int32 is not supported"},
  };
}
double any_of(const std::vector<double>& group) { return std::count(group.begin(), group.end(), 1.0) > 0 ? 1 : 0; }
double all_of(const std::vector<double>& group) { return std::count(group.begin(), group.end(), 0.0) == 0 ? 1 : 0; }

std::complex<double> complex_norm_of(const std::vector<std::complex<double>>& group) {
  double sum = 0;
  for (const std::complex<double>& x : group) sum += std::norm(x);
  return std::sqrt(sum);
}
std::vector<OpSample> arg_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}}},
      {.inputs = {{.shape = {2, 3, 4}}}, .attributes = {{"axis", 1}}},
      {.inputs = {{.shape = {2, 3, 4}}}, .attributes = {{"axis", -1}}},
      {.inputs = {{.shape = {4}, .values = {1, 3, 3, 1}}}},
      {.inputs = {{.shape = {4}}}, .attributes = {{"axis", 1}}, .error = "axis 1 is out of range for rank 1"},
      {.inputs = {{.shape = {0, 2}}}, .error = "has no elements"},
  };
}
template <bool kLargest>
void arg_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                   std::vector<ReferenceTensor>& outputs) {
  AttributeMap with_axis = attributes;
  with_axis.emplace("axis", 0);
  reference::by_groups(inputs, with_axis, outputs, [](const std::vector<double>& group) {
    const auto best =
        kLargest ? std::max_element(group.begin(), group.end()) : std::min_element(group.begin(), group.end());
    return static_cast<double>(best - group.begin());
  });
  outputs[0].dtype = int64;
}

const OpTests kReduceTests = {
    {"reduce_sum",
     {.samples = sum_samples,
      .reference = reference::group_reference<reference::sum_of>,
      .dtypes = reference::kNumbersAndComplex}},
    {"reduce_mean",
     {.samples = reference::reduction_samples,
      .reference = reference::group_reference<reference::mean_of>,
      .dtypes = {float32, float64, bfloat16, complex64, complex128}}},
    {"reduce_prod",
     {.samples = product_samples,
      .reference = reference::group_reference<product_of>,
      .complex_reference = reference::complex_group_reference<complex_product_of>,
      .dtypes = reference::kNumbersAndComplex}},
    {"reduce_max",
     {.samples = reference::reduction_samples,
      .reference = reference::group_reference<reference::maximum_of>,
      .dtypes = reference::kAllNumbers}},
    {"reduce_min",
     {.samples = reference::reduction_samples,
      .reference = reference::group_reference<minimum_of>,
      .dtypes = reference::kAllNumbers}},
    {"reduce_any", {.samples = truth_samples, .reference = reference::group_reference<any_of>, .dtypes = {bool_}}},
    {"reduce_all", {.samples = truth_samples, .reference = reference::group_reference<all_of>, .dtypes = {bool_}}},
    {"reduce_euclidean_norm",
     {.samples = reference::reduction_samples,
      .reference = reference::group_reference<norm_of>,
      .complex_reference = reference::complex_group_reference<complex_norm_of>,
      .dtypes = {float32, float64, bfloat16, complex64, complex128}}},
    {"argmax", {.samples = arg_samples, .reference = arg_reference<true>, .dtypes = reference::kAllNumbers}},
    {"argmin", {.samples = arg_samples, .reference = arg_reference<false>, .dtypes = reference::kAllNumbers}},
};

}  // namespace

}  // namespace capstan::testing
