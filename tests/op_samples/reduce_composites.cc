// Samples and references of the ops in src/ops/reduce/reduce_composites.cc.
#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reduce_reference.h"

namespace capstan::testing {

namespace {

double logsumexp_of(const std::vector<double>& group) {
  const double largest = reference::maximum_of(group);
  double sum = 0;
  for (double x : group) sum += std::exp(x - largest);
  return largest + std::log(sum);
}
double variance_of(const std::vector<double>& group) {
  const double mean = reference::mean_of(group);
  double sum = 0;
  for (double x : group) sum += (x - mean) * (x - mean);
  return sum / static_cast<double>(group.size());
}
double deviation_of(const std::vector<double>& group) { return std::sqrt(variance_of(group)); }

// The mean squared distance, as a real number.
template <bool kRoot>
void complex_variance_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                                std::vector<ComplexTensor>& outputs) {
  ComplexTensor out{.dtype = DType::kFloat64};
  for (const auto& group : reference::groups_of(inputs[0], attributes, &out.shape)) {
    const auto count = static_cast<double>(group.size());
    std::complex<double> mean = 0;
    for (const std::complex<double>& x : group) mean += x / count;
    double variance = 0;
    for (const std::complex<double>& x : group) variance += std::norm(x - mean) / count;
    out.values.emplace_back(kRoot ? std::sqrt(variance) : variance);
  }
  outputs = {out};
}
// The deviation of one element is 0, where its gradient is NaN.
std::vector<OpSample> deviation_samples() {
  std::vector<OpSample> samples = reference::reduction_samples();
  std::erase_if(samples, [](const OpSample& sample) {
    const auto axis = sample.attributes.find("axis");
    return sample.inputs[0].shape.rank() == 0 ||
           (axis != sample.attributes.end() && axis->second.kind == AttributeValue::Kind::kList &&
            axis->second.list.empty());
  });
  return samples;
}
double count_of(const std::vector<double>& group) {
  return static_cast<double>(group.size()) - static_cast<double>(std::count(group.begin(), group.end(), 0.0));
}
void count_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                     std::vector<ReferenceTensor>& outputs) {
  reference::by_groups(inputs, attributes, outputs, count_of);
  outputs[0].dtype = int64;
}
std::vector<OpSample> count_samples() {
  return {{.inputs = {{.shape = {2, 3}, .values = {0, 1, 0, -2, 0, 0}}}},
          {.inputs = {{.shape = {2, 3}, .values = {0, 1, 0, -2, 0, 0}}}, .attributes = {{"axis", 1}}},
          {.inputs = {{.shape = {3}}}, .attributes = {{"axis", 1}}, .error = "axis 1 is out of range for rank 1"}};
}

const OpTests kReduceCompositesTests = {
    {"reduce_logsumexp",
     {.samples = reference::reduction_samples, .reference = reference::group_reference<logsumexp_of>}},
    {"reduce_variance",
     {.samples = reference::reduction_samples,
      .reference = reference::group_reference<variance_of>,
      .complex_reference = complex_variance_reference<false>,
      .dtypes = {float32, float64, bfloat16, complex64, complex128}}},
    {"reduce_std",
     {.samples = deviation_samples,
      .reference = reference::group_reference<deviation_of>,
      .complex_reference = complex_variance_reference<true>,
      .dtypes = {float32, float64, bfloat16, complex64, complex128}}},
    {"count_nonzero", {.samples = count_samples, .reference = count_reference, .dtypes = reference::kAllNumbers}},
};

}  // namespace

}  // namespace capstan::testing
