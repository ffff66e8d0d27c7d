// Reductions made of others.
//
// What the reductions of reduce.cc say at no great cost is a composite, so its gradients of any
// order follow from those of its parts.
#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/op_test.h"
#include "src/ops/families.h"
#include "src/ops/floating.h"
#include "src/ops/reduce.h"
#include "src/ops/reduce_reference.h"

namespace capstan {

namespace {

template <Tensor (*kFunction)(Operand, Axes, bool)>
void compose_reduction(std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
  const auto& a = *static_cast<const ReduceAttributes*>(attributes);
  outputs.push_back(kFunction(inputs[0], a.axis, a.keepdims));
}

#if CAPSTAN_TESTING
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

const OpTest kReduceLogsumexpTest = {.samples = reference::reduction_samples,
                                     .reference = reference::group_reference<logsumexp_of>};
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
const OpTest kReduceVarianceTest = {.samples = reference::reduction_samples,
                                    .reference = reference::group_reference<variance_of>,
                                    .complex_reference = complex_variance_reference<false>,
                                    .dtypes = {float32, float64, bfloat16, complex64, complex128}};

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
const OpTest kReduceStdTest = {.samples = deviation_samples,
                               .reference = reference::group_reference<deviation_of>,
                               .complex_reference = complex_variance_reference<true>,
                               .dtypes = {float32, float64, bfloat16, complex64, complex128}};
#endif

}  // namespace

constinit const OpDef kReduceLogsumexp = {
    .name = "reduce_logsumexp",
    .text = "log(sum(exp(x))) over axes, without overflow.",
    .kind = OpKind::kComposite,
    .attributes = &kReduceAttributes,
    .compose = compose_reduction<reduce_logsumexp>,
    .test = CAPSTAN_OP_TEST(kReduceLogsumexpTest),
};

constinit const OpDef kReduceVariance = {
    .name = "reduce_variance",
    .text = "The mean squared distance from the mean over axes.",
    .kind = OpKind::kComposite,
    .attributes = &kReduceAttributes,
    .compose = compose_reduction<reduce_variance>,
    .test = CAPSTAN_OP_TEST(kReduceVarianceTest),
};

constinit const OpDef kReduceStd = {
    .name = "reduce_std",
    .text =
        "The square root of the variance over axes; its gradient is NaN where all elements are "
        "equal.",
    .kind = OpKind::kComposite,
    .attributes = &kReduceAttributes,
    .compose = compose_reduction<reduce_std>,
    .test = CAPSTAN_OP_TEST(kReduceStdTest),
};

Tensor reduce_logsumexp(Operand x, Axes axis, bool keepdims) try {
  const Tensor value = floating_operand("reduce_logsumexp", x);
  normalize_axes("reduce_logsumexp", axis, value.rank());
  // The largest element is subtracted before exp; an infinite one would give NaN.
  const Tensor raw = stop_gradient(reduce_max(value, axis, true));
  const Tensor largest = where(is_finite(raw), raw, 0.0);
  const Tensor sum = reduce_sum(exp(value - largest), axis, keepdims);
  return log(sum) + (keepdims ? largest : reshape_like(largest, sum));
} catch (const Error&) {
  rethrow_as("reduce_logsumexp");
}

Tensor reduce_variance(Operand x, Axes axis, bool keepdims) try {
  const Tensor value = differentiable_operand("reduce_variance", x);
  normalize_axes("reduce_variance", axis, value.rank());
  return reduce_mean(real(squared_difference(value, reduce_mean(value, axis, true))), axis, keepdims);
} catch (const Error&) {
  rethrow_as("reduce_variance");
}

Tensor reduce_std(Operand x, Axes axis, bool keepdims) try {
  const Tensor value = differentiable_operand("reduce_std", x);
  normalize_axes("reduce_std", axis, value.rank());
  return sqrt(reduce_variance(value, axis, keepdims));
} catch (const Error&) {
  rethrow_as("reduce_std");
}

// --- Counts and comparisons ---

namespace {

struct CountAttributes {
  Axes axis;
  bool keepdims = false;
  DType dtype = DType::kInt64;
};
constexpr AttributeType kCountAttributes = attribute_type<CountAttributes>(
    {field<&CountAttributes::axis>("axis"), field<&CountAttributes::keepdims>("keepdims"),
     field<&CountAttributes::dtype>("dtype")});

#if CAPSTAN_TESTING
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
const OpTest kCountNonzeroTest = {
    .samples = count_samples, .reference = count_reference, .dtypes = reference::kAllNumbers};
#endif

}  // namespace

constinit const OpDef kCountNonzero = {
    .name = "count_nonzero",
    .text = "How many elements over axes are not zero.",
    .kind = OpKind::kComposite,
    .flags = kNotDifferentiable,
    .attributes = &kCountAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const CountAttributes*>(attributes);
          outputs.push_back(count_nonzero(inputs[0], a.axis, a.keepdims, a.dtype));
        },
    .test = CAPSTAN_OP_TEST(kCountNonzeroTest),
};

Tensor count_nonzero(Operand x, Axes axis, bool keepdims, DType dtype) try {
  const Tensor value = to_tensor(x);
  normalize_axes("count_nonzero", axis, value.rank());
  return reduce_sum(cast(value.dtype() == DType::kBool ? value : not_equal(value, 0), dtype), axis, keepdims);
} catch (const Error&) {
  rethrow_as("count_nonzero");
}

bool equal_tensors(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const Tensor x = a.to_dense();
  const Tensor y = b.to_dense();
  return reduce_all(equal(x, y)).item<bool>();
}

OpFamily reduce_composite_ops() {
  static constexpr const OpDef* ops[] = {&kReduceLogsumexp, &kReduceVariance, &kReduceStd, &kCountNonzero};
  return ops;
}

}  // namespace capstan
