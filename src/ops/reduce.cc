// Reductions: sums, means, products, extrema, norms, truth values, positions of extrema.
//
// The kernels are those of src/kernels/reduce.h. What can be said with other ops at no great cost
// (variance, logsumexp) is a composite, so its gradients of any order follow from those of its
// parts.
#include "capstan/ops/reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/op_test.h"
#include "src/ops/families.h"
#include "src/ops/reduce.h"

namespace capstan {

Tensor restore_axes(const Tensor& reduced, const Tensor& x, const ReduceAttributes& attributes) {
  if (attributes.keepdims) return reduced;
  const AxisSet axes = normalize_axes("reduce", attributes.axis, x.rank());
  // Leading axes come back by broadcasting.
  int first = 0;
  while (first < x.rank() && axes.on[first]) ++first;
  Tensor result = reduced;
  if (first == x.rank()) return result;
  int leading = first;  // kept axis `first` is axis 0 of the result
  for (int i = first; i < x.rank(); ++i) {
    if (axes.on[i]) result = expand_dims(std::move(result), i - leading);
  }
  return result;
}

namespace {

enum class Takes : std::uint8_t { kNumbers, kFloating, kBool };

template <Takes kTakes>
void infer_reduction(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<ReduceAttributes>();
  const bool takes = kTakes == Takes::kNumbers    ? x.dtype() != DType::kBool
                     : kTakes == Takes::kFloating ? is_floating(x.dtype())
                                                  : x.dtype() == DType::kBool;
  CAPSTAN_CHECK(takes, DTypeError, call.op.name, ": dtype ", x.dtype(), " is not supported", arguments({{"x", x}}));
  const Shape shape = x.shape();
  const AxisSet axes = normalize_axes(call.op.name, attributes.axis, shape.rank());
  outputs.add(x.dtype(), reduced_shape(shape, axes, attributes.keepdims));
}

template <Reduction kReduction>
void run_reduction(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<ReduceAttributes>();
  const Shape shape = x.shape();
  const AxisSet axes = normalize_axes(call.op.name, attributes.axis, shape.rank());
  reduce(kReduction, x.dtype(), reduce_shape(shape, axes), x.raw_data(), mutable_raw_data(outputs[0]));
}

std::int64_t reduced_count(const Tensor& x, const ReduceAttributes& attributes) {
  const Shape shape = x.shape();
  return reduce_shape(shape, normalize_axes("reduce", attributes.axis, shape.rank())).reduced_count();
}

// --- Samples and references ---

#if CAPSTAN_TESTING

// Which elements of `x` every element of the result is made of.
std::vector<std::vector<double>> groups_of(const ReferenceTensor& x, const AttributeMap& attributes, Shape* result) {
  ReduceAttributes a;
  if (auto found = attributes.find("axis"); found != attributes.end()) set_field(a.axis, found->second, "", "");
  if (auto found = attributes.find("keepdims"); found != attributes.end()) a.keepdims = found->second.truth;
  const AxisSet axes = normalize_axes("reference", a.axis, x.shape.rank());
  *result = reduced_shape(x.shape, axes, a.keepdims);
  std::vector<std::vector<double>> groups(static_cast<std::size_t>(result->size()));
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

template <class Function>
void reference_by_groups(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                         std::vector<ReferenceTensor>& outputs, const Function& function) {
  ReferenceTensor out{.dtype = inputs[0].dtype};
  for (const std::vector<double>& group : groups_of(inputs[0], attributes, &out.shape)) {
    out.values.push_back(function(group));
  }
  outputs = {out};
}

double sum_of(const std::vector<double>& group) {
  double sum = 0;
  for (double x : group) sum += x;
  return sum;
}
double mean_of(const std::vector<double>& group) { return sum_of(group) / static_cast<double>(group.size()); }
double product_of(const std::vector<double>& group) {
  double product = 1;
  for (double x : group) product *= x;
  return product;
}
double maximum_of(const std::vector<double>& group) { return *std::max_element(group.begin(), group.end()); }
double minimum_of(const std::vector<double>& group) { return *std::min_element(group.begin(), group.end()); }
double logsumexp_of(const std::vector<double>& group) {
  const double largest = maximum_of(group);
  double sum = 0;
  for (double x : group) sum += std::exp(x - largest);
  return largest + std::log(sum);
}
double variance_of(const std::vector<double>& group) {
  const double mean = mean_of(group);
  double sum = 0;
  for (double x : group) sum += (x - mean) * (x - mean);
  return sum / static_cast<double>(group.size());
}
double deviation_of(const std::vector<double>& group) { return std::sqrt(variance_of(group)); }
double norm_of(const std::vector<double>& group) {
  double sum = 0;
  for (double x : group) sum += x * x;
  return std::sqrt(sum);
}

template <double (*kFunction)(const std::vector<double>&)>
void group_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                     std::vector<ReferenceTensor>& outputs) {
  reference_by_groups(inputs, attributes, outputs, kFunction);
}

std::vector<OpSample> reduction_samples() {
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
// As above, and sums of nothing.
std::vector<OpSample> sum_samples() {
  std::vector<OpSample> samples = reduction_samples();
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

const std::vector<DType> kAllNumbers = {float32, float64, bfloat16, int32, int64};

const OpTest kReduceSumTest = {.samples = sum_samples, .reference = group_reference<sum_of>, .dtypes = kAllNumbers};
const OpTest kReduceMeanTest = {.samples = reduction_samples, .reference = group_reference<mean_of>};
const OpTest kReduceProdTest = {
    .samples = product_samples, .reference = group_reference<product_of>, .dtypes = kAllNumbers};
const OpTest kReduceMaxTest = {
    .samples = reduction_samples, .reference = group_reference<maximum_of>, .dtypes = kAllNumbers};
const OpTest kReduceMinTest = {
    .samples = reduction_samples, .reference = group_reference<minimum_of>, .dtypes = kAllNumbers};
const OpTest kReduceAnyTest = {.samples = truth_samples, .reference = group_reference<any_of>, .dtypes = {bool_}};
const OpTest kReduceAllTest = {.samples = truth_samples, .reference = group_reference<all_of>, .dtypes = {bool_}};
const OpTest kReduceLogsumexpTest = {.samples = reduction_samples, .reference = group_reference<logsumexp_of>};
const OpTest kReduceVarianceTest = {.samples = reduction_samples, .reference = group_reference<variance_of>};
// The deviation of one element is 0, where its gradient is NaN.
std::vector<OpSample> deviation_samples() {
  std::vector<OpSample> samples = reduction_samples();
  std::erase_if(samples, [](const OpSample& sample) {
    const auto axis = sample.attributes.find("axis");
    return sample.inputs[0].shape.rank() == 0 ||
           (axis != sample.attributes.end() && axis->second.kind == AttributeValue::Kind::kList &&
            axis->second.list.empty());
  });
  return samples;
}
const OpTest kReduceStdTest = {.samples = deviation_samples, .reference = group_reference<deviation_of>};
const OpTest kReduceEuclideanNormTest = {.samples = reduction_samples, .reference = group_reference<norm_of>};

#endif

// --- Rules ---

void vjp_sum(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<ReduceAttributes>();
  cotangents[0] = broadcast_like(restore_axes(call.cotangent(), call.input(0), attributes), call.input(0));
}

void vjp_mean(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<ReduceAttributes>();
  const auto count = static_cast<double>(reduced_count(call.input(0), attributes));
  cotangents[0] = broadcast_like(restore_axes(call.cotangent() / count, call.input(0), attributes), call.input(0));
}

// The product of all others: that of those before times that of those after. No division, so zeros
// are no special case.
void vjp_product(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<ReduceAttributes>();
  const Tensor& x = call.input(0);
  const Shape shape = x.shape();
  const AxisSet axes = normalize_axes("reduce_prod", attributes.axis, shape.rank());
  int order[kMaxRank];
  int inverse[kMaxRank];
  int count = 0;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  for (bool reduced : {false, true}) {
    for (int i = 0; i < shape.rank(); ++i) {
      if (axes.on[i] != reduced) continue;
      inverse[i] = count;
      order[count++] = i;
      (reduced ? columns : rows) *= shape[i];
    }
  }
  const auto rank = static_cast<std::size_t>(shape.rank());
  const bool moves = !std::is_sorted(order, order + rank);
  const Tensor moved = moves ? transpose(x, Axes(std::span<const int>(order, rank))) : x;
  const Tensor matrix = reshape(moved, {rows, columns});
  const Tensor others = cumprod(matrix, 1, true, false) * cumprod(matrix, 1, true, true);
  const Tensor product = reshape_like(others * reshape(call.cotangent(), {rows, 1}), moved);
  cotangents[0] = moves ? transpose(product, Axes(std::span<const int>(inverse, rank))) : product;
}

// Shared equally among ties.
void vjp_extremum(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<ReduceAttributes>();
  const Tensor& x = call.input(0);
  const Tensor chosen = cast(equal(x, restore_axes(call.output(), x, attributes)), x.dtype());
  const Tensor count = reduce_sum(chosen, attributes.axis, attributes.keepdims);
  cotangents[0] = chosen * restore_axes(call.cotangent() / count, x, attributes);
}

// Not defined for the norm 0, where it is NaN.
void vjp_norm(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<ReduceAttributes>();
  const Tensor& x = call.input(0);
  cotangents[0] = restore_axes(call.cotangent(), x, attributes) * (x / restore_axes(call.output(), x, attributes));
}

template <Tensor (*kFunction)(Operand, Axes, bool)>
void compose_reduction(std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
  const auto& a = *static_cast<const ReduceAttributes*>(attributes);
  outputs.push_back(kFunction(inputs[0], a.axis, a.keepdims));
}

}  // namespace

constinit const OpDef kReduceSum = {
    .name = "reduce_sum",
    .text = "The sum over axes.",
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kNumbers>,
    .kernel = run_reduction<Reduction::kSum>,
    .vjp = vjp_sum,
    .test = CAPSTAN_OP_TEST(kReduceSumTest),
};

constinit const OpDef kReduceMean = {
    .name = "reduce_mean",
    .text = "The mean over axes; that of integers is truncated, that of nothing is NaN.",
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kNumbers>,
    .kernel = run_reduction<Reduction::kMean>,
    .vjp = vjp_mean,
    .test = CAPSTAN_OP_TEST(kReduceMeanTest),
};

constinit const OpDef kReduceProd = {
    .name = "reduce_prod",
    .text = "The product over axes.",
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kNumbers>,
    .kernel = run_reduction<Reduction::kProduct>,
    .saves = {.inputs = 1},
    .vjp = vjp_product,
    .test = CAPSTAN_OP_TEST(kReduceProdTest),
};

constinit const OpDef kReduceMax = {
    .name = "reduce_max",
    .text = "The largest element over axes; the gradient is shared equally among ties.",
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kNumbers>,
    .kernel = run_reduction<Reduction::kMaximum>,
    .saves = {.inputs = 1, .outputs = 1},
    .vjp = vjp_extremum,
    .test = CAPSTAN_OP_TEST(kReduceMaxTest),
};

constinit const OpDef kReduceMin = {
    .name = "reduce_min",
    .text = "The smallest element over axes; the gradient is shared equally among ties.",
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kNumbers>,
    .kernel = run_reduction<Reduction::kMinimum>,
    .saves = {.inputs = 1, .outputs = 1},
    .vjp = vjp_extremum,
    .test = CAPSTAN_OP_TEST(kReduceMinTest),
};

constinit const OpDef kReduceAny = {
    .name = "reduce_any",
    .text = "True where any element over axes is true.",
    .flags = kNotDifferentiable,
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kBool>,
    .kernel = run_reduction<Reduction::kAny>,
    .test = CAPSTAN_OP_TEST(kReduceAnyTest),
};

constinit const OpDef kReduceAll = {
    .name = "reduce_all",
    .text = "True where all elements over axes are true.",
    .flags = kNotDifferentiable,
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kBool>,
    .kernel = run_reduction<Reduction::kAll>,
    .test = CAPSTAN_OP_TEST(kReduceAllTest),
};

constinit const OpDef kReduceEuclideanNorm = {
    .name = "reduce_euclidean_norm",
    .text = "The square root of the sum of squares over axes.",
    .attributes = &kReduceAttributes,
    .infer = infer_reduction<Takes::kFloating>,
    .kernel = run_reduction<Reduction::kEuclideanNorm>,
    .saves = {.inputs = 1, .outputs = 1},
    .vjp = vjp_norm,
    .test = CAPSTAN_OP_TEST(kReduceEuclideanNormTest),
};

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

Tensor reduce_sum(Operand x, Axes axis, bool keepdims) {
  const ReduceAttributes attributes{axis, keepdims};
  return apply(kReduceSum, x, &attributes);
}
Tensor reduce_mean(Operand x, Axes axis, bool keepdims) {
  const ReduceAttributes attributes{axis, keepdims};
  return apply(kReduceMean, x, &attributes);
}
Tensor reduce_prod(Operand x, Axes axis, bool keepdims) {
  const ReduceAttributes attributes{axis, keepdims};
  return apply(kReduceProd, x, &attributes);
}
Tensor reduce_max(Operand x, Axes axis, bool keepdims) {
  const ReduceAttributes attributes{axis, keepdims};
  return apply(kReduceMax, x, &attributes);
}
Tensor reduce_min(Operand x, Axes axis, bool keepdims) {
  const ReduceAttributes attributes{axis, keepdims};
  return apply(kReduceMin, x, &attributes);
}
Tensor reduce_any(Operand x, Axes axis, bool keepdims) {
  const ReduceAttributes attributes{axis, keepdims};
  return apply(kReduceAny, x, &attributes);
}
Tensor reduce_all(Operand x, Axes axis, bool keepdims) {
  const ReduceAttributes attributes{axis, keepdims};
  return apply(kReduceAll, x, &attributes);
}
Tensor reduce_euclidean_norm(Operand x, Axes axis, bool keepdims) {
  const ReduceAttributes attributes{axis, keepdims};
  return apply(kReduceEuclideanNorm, x, &attributes);
}

namespace {

// Reads a floating operand for a composite; `name` is for the message.
Tensor floating_operand(std::string_view name, Operand operand) {
  Tensor x = to_tensor(operand);
  CAPSTAN_CHECK(is_floating(x.dtype()), DTypeError, name, ": dtype ", x.dtype(), " is not supported",
                arguments({{"x", x}}));
  return x;
}

}  // namespace

Tensor reduce_logsumexp(Operand x, Axes axis, bool keepdims) {
  const Tensor value = floating_operand("reduce_logsumexp", x);
  normalize_axes("reduce_logsumexp", axis, value.rank());
  // The largest element is subtracted before exp; an infinite one would give NaN.
  const Tensor raw = stop_gradient(reduce_max(value, axis, true));
  const Tensor largest = where(is_finite(raw), raw, 0.0);
  const Tensor sum = reduce_sum(exp(value - largest), axis, keepdims);
  return log(sum) + (keepdims ? largest : reshape_like(largest, sum));
}

Tensor reduce_variance(Operand x, Axes axis, bool keepdims) {
  const Tensor value = floating_operand("reduce_variance", x);
  normalize_axes("reduce_variance", axis, value.rank());
  return reduce_mean(squared_difference(value, reduce_mean(value, axis, true)), axis, keepdims);
}

Tensor reduce_std(Operand x, Axes axis, bool keepdims) {
  const Tensor value = floating_operand("reduce_std", x);
  normalize_axes("reduce_std", axis, value.rank());
  return sqrt(reduce_variance(value, axis, keepdims));
}

// --- Positions of extrema ---

namespace {

struct ArgAttributes {
  OptionalInt axis;  // the first one if not given
  DType output_type = DType::kInt64;
};
constexpr AttributeType kArgAttributes = attribute_type<ArgAttributes>(
    {field<&ArgAttributes::axis>("axis"), field<&ArgAttributes::output_type>("output_type")});

void infer_arg(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<ArgAttributes>();
  const Shape shape = x.shape();
  const int axis = normalize_axis(call.op.name, attributes.axis.value, shape.rank());
  CAPSTAN_CHECK(attributes.output_type == DType::kInt32 || attributes.output_type == DType::kInt64, DTypeError,
                call.op.name, ": the result is int32 or int64, not ", attributes.output_type);
  CAPSTAN_CHECK(shape[axis] > 0, ShapeError, call.op.name, ": axis ", axis, " of ", shape, " has no elements",
                arguments({{"x", x}}));
  AxisSet axes;
  axes.on[axis] = true;
  outputs.add(attributes.output_type, reduced_shape(shape, axes, false));
}

template <bool kLargest>
void run_arg(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const Shape shape = x.shape();
  const int axis = normalize_axis(call.op.name, call.attributes<ArgAttributes>().axis.value, shape.rank());
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) (i < axis ? outer : inner) *= shape[i];
  }
  if (outputs[0].dtype() == DType::kInt64) {
    arg_extremum(kLargest, x.dtype(), outer, shape[axis], inner, x.raw_data(), mutable_data<std::int64_t>(outputs[0]));
    return;
  }
  const Tensor wide = new_tensor(DType::kInt64, outputs[0].shape());
  arg_extremum(kLargest, x.dtype(), outer, shape[axis], inner, x.raw_data(), mutable_data<std::int64_t>(wide));
  const std::int64_t* from = wide.data<std::int64_t>();
  std::int32_t* to = mutable_data<std::int32_t>(outputs[0]);
  for (std::int64_t i = 0; i < wide.size(); ++i) to[i] = static_cast<std::int32_t>(from[i]);
}

#if CAPSTAN_TESTING
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
  reference_by_groups(inputs, with_axis, outputs, [](const std::vector<double>& group) {
    const auto best =
        kLargest ? std::max_element(group.begin(), group.end()) : std::min_element(group.begin(), group.end());
    return static_cast<double>(best - group.begin());
  });
  outputs[0].dtype = int64;
}
const OpTest kArgmaxTest = {.samples = arg_samples, .reference = arg_reference<true>, .dtypes = kAllNumbers};
const OpTest kArgminTest = {.samples = arg_samples, .reference = arg_reference<false>, .dtypes = kAllNumbers};
#endif

}  // namespace

constinit const OpDef kArgmax = {
    .name = "argmax",
    .text = "The position of the largest element along an axis; the first one at ties.",
    .flags = kNotDifferentiable,
    .attributes = &kArgAttributes,
    .infer = infer_arg,
    .kernel = run_arg<true>,
    .test = CAPSTAN_OP_TEST(kArgmaxTest),
};

constinit const OpDef kArgmin = {
    .name = "argmin",
    .text = "The position of the smallest element along an axis; the first one at ties.",
    .flags = kNotDifferentiable,
    .attributes = &kArgAttributes,
    .infer = infer_arg,
    .kernel = run_arg<false>,
    .test = CAPSTAN_OP_TEST(kArgminTest),
};

Tensor argmax(Operand x, int axis, DType output_type) {
  const ArgAttributes attributes{axis, output_type};
  return apply(kArgmax, x, &attributes);
}
Tensor argmin(Operand x, int axis, DType output_type) {
  const ArgAttributes attributes{axis, output_type};
  return apply(kArgmin, x, &attributes);
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
  reference_by_groups(inputs, attributes, outputs, count_of);
  outputs[0].dtype = int64;
}
std::vector<OpSample> count_samples() {
  return {{.inputs = {{.shape = {2, 3}, .values = {0, 1, 0, -2, 0, 0}}}},
          {.inputs = {{.shape = {2, 3}, .values = {0, 1, 0, -2, 0, 0}}}, .attributes = {{"axis", 1}}},
          {.inputs = {{.shape = {3}}}, .attributes = {{"axis", 1}}, .error = "axis 1 is out of range for rank 1"}};
}
const OpTest kCountNonzeroTest = {.samples = count_samples, .reference = count_reference, .dtypes = kAllNumbers};
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

Tensor count_nonzero(Operand x, Axes axis, bool keepdims, DType dtype) {
  const Tensor value = to_tensor(x);
  normalize_axes("count_nonzero", axis, value.rank());
  return reduce_sum(cast(value.dtype() == DType::kBool ? value : not_equal(value, 0), dtype), axis, keepdims);
}

bool equal_tensors(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const Tensor x = a.to_dense();
  const Tensor y = b.to_dense();
  return reduce_all(equal(x, y)).item<bool>();
}

OpFamily reduce_ops() {
  static constexpr const OpDef* ops[] = {
      &kReduceSum,           &kReduceMean, &kReduceProd,      &kReduceMax,      &kReduceMin,
      &kReduceAny,           &kReduceAll,  &kReduceLogsumexp, &kReduceVariance, &kReduceStd,
      &kReduceEuclideanNorm, &kArgmax,     &kArgmin,          &kCountNonzero,
  };
  return ops;
}

}  // namespace capstan
