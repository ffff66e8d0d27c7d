// Which values there are, and how many of each.
//
// Different values are found by sorting: equal ones come to lie side by side, whatever they are, and the result does
// not hang on a hash.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/ops/segment.h"
#include "capstan/ops/sort.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/kernels/sort/sort.h"
#include "src/kernels/with_type.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/indices.h"

namespace capstan {

namespace {

// --- unique ---

struct UniqueAttributes {
  DType out_idx = DType::kInt32;
};
constexpr const AttributeType& kUniqueAttributes = attribute_table<UniqueAttributes, "out_idx">;

void infer_unique(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const DType dtype = call.attributes<UniqueAttributes>().out_idx;
  CAPSTAN_CHECK(!is_complex(x.dtype()), DTypeError, call.op.name, ": dtype ", x.dtype(), " is not supported",
                arguments({{"x", x}}));
  CAPSTAN_CHECK(x.rank() == 1, ShapeError, call.op.name, ": x must be a vector, not of rank ", x.rank(),
                arguments({{"x", x}}));
  CAPSTAN_CHECK(x.size() <= INT32_MAX, ShapeError, call.op.name, ": ", x.size(), " elements are more than ", INT32_MAX);
  CAPSTAN_CHECK(dtype == DType::kInt32 || dtype == DType::kInt64, DTypeError, call.op.name,
                ": out_idx must be int32 or int64, not ", dtype);
  // How many values there are only the kernel finds out; it makes the outputs.
  if (!has_elements(x)) detail::throw_symbolic(call.op.name, x.block());
  for (int i = 0; i < call.op.outputs; ++i) outputs.add(i == 0 ? x.dtype() : dtype, x.shape());
}

Tensor as_index_tensor(const std::vector<std::int32_t>& values, DType dtype) {
  Tensor tensor = new_tensor(dtype, Shape{static_cast<std::int64_t>(values.size())});
  if (dtype == DType::kInt32) {
    std::copy(values.begin(), values.end(), mutable_data<std::int32_t>(tensor));
  } else {
    std::copy(values.begin(), values.end(), mutable_data<std::int64_t>(tensor));
  }
  return tensor;
}

void unique_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const std::int64_t n = x.size();
  const DType dtype = call.attributes<UniqueAttributes>().out_idx;
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  argsort_rows(x.dtype(), {1, n, 1}, false, x.raw_data(), order.data());
  std::vector<std::int32_t> numbers(order.size());
  std::vector<std::int32_t> counts;
  with_ordered_type(x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>();
    counts.resize(static_cast<std::size_t>(number_values(x.dtype(), n, from, order.data(), numbers.data())));
    outputs[0] = new_tensor(x.dtype(), Shape{static_cast<std::int64_t>(counts.size())});
    T* to = mutable_data<T>(outputs[0]);
    for (std::int64_t i = 0; i < n; ++i) {
      const auto number = static_cast<std::size_t>(numbers[static_cast<std::size_t>(i)]);
      if (counts[number]++ == 0) to[number] = from[i];
    }
  });
  outputs[1] = as_index_tensor(numbers, dtype);
  if (outputs.size() > 2) outputs[2] = as_index_tensor(counts, dtype);
}

// --- bincount ---

struct BincountAttributes {
  OptionalInt minlength;
  OptionalInt maxlength;
  DType dtype = DType::kInt32;
};

// How many bins the elements and the bounds ask for.
std::int64_t bin_count(const TensorRef& x, const BincountAttributes& attributes) {
  CAPSTAN_CHECK(x.dtype() == DType::kInt32 || x.dtype() == DType::kInt64, DTypeError,
                "bincount: x must be int32 or int64, not ", x.dtype(), arguments({{"x", x}}));
  for (const OptionalInt& bound : {attributes.minlength, attributes.maxlength}) {
    CAPSTAN_CHECK(!bound.has_value || bound.value >= 0, ValueError, "bincount: a length is ", bound.value,
                  ", not at least 0");
  }
  std::int64_t bins = 0;
  with_indices(x, [&](const auto* data) {
    for (std::int64_t i = 0; i < x.size(); ++i) {
      CAPSTAN_CHECK(data[i] >= 0, ValueError, "bincount: element ", i, " is negative, ", data[i]);
      bins = std::max<std::int64_t>(bins, std::min<std::int64_t>(data[i], INT64_MAX - 1) + 1);
    }
  });
  if (attributes.minlength.has_value) bins = std::max(bins, attributes.minlength.value);
  if (attributes.maxlength.has_value) bins = std::min(bins, attributes.maxlength.value);
  CAPSTAN_CHECK(bins < UINT32_MAX, ShapeError, "bincount: ", bins, " bins are more than a tensor can have");
  return bins;
}

void infer_bincount(const Call& call, OutputSpecs& outputs) {
  const auto& attributes = call.attributes<BincountAttributes>();
  const DType dtype = attributes.dtype;
  CAPSTAN_CHECK(
      dtype == DType::kInt32 || dtype == DType::kInt64 || dtype == DType::kFloat32 || dtype == DType::kFloat64,
      DTypeError, "bincount: dtype ", dtype, " is not supported");
  outputs.add(dtype, Shape{bin_count(call.input(0), attributes)});
}

void bincount_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const std::int64_t bins = outputs[0].size();
  with_real_type(outputs[0].dtype(), [&]<class T>(T) {
    T* counts = mutable_data<T>(outputs[0]);
    std::fill_n(counts, bins, T(0));
    with_indices(x, [&](const auto* data) {
      for (std::int64_t i = 0; i < x.size(); ++i) {
        if (data[i] < bins) counts[data[i]] = static_cast<T>(counts[data[i]] + T(1));
      }
    });
  });
}

// --- histogram_fixed_width ---

// As a dynamic value: a list of two numbers.
struct Interval {
  double low = 0;
  double high = 1;
};
void set_field(Interval& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  const bool fits = value.kind == AttributeValue::Kind::kList && value.list.size() == 2 && value.list[0].is_number() &&
                    value.list[1].is_number();
  CAPSTAN_CHECK(fits, ValueError, op, ": attribute \"", name, "\" must be a list of two numbers, not ",
                value.to_string());
  field = {value.list[0].number, value.list[1].number};
}
AttributeValue get_field(const Interval& field) { return std::vector<AttributeValue>{field.low, field.high}; }

struct HistogramAttributes {
  Interval range;
  std::int64_t nbins = 100;
  DType dtype = DType::kInt32;
  std::int64_t batch_dims = 0;  // so many leading axes have a histogram for each of their places
};

void infer_histogram(const Call& call, OutputSpecs& outputs) {
  const TensorRef& values = call.input(0);
  const auto& [range, nbins, dtype, batch_dims] = call.attributes<HistogramAttributes>();
  CAPSTAN_CHECK(is_floating(values.dtype()) || is_integer(values.dtype()), DTypeError, "histogram_fixed_width: dtype ",
                values.dtype(), " is not supported", arguments({{"values", values}}));
  CAPSTAN_CHECK(dtype == DType::kInt32 || dtype == DType::kInt64, DTypeError,
                "histogram_fixed_width: dtype must be int32 or int64, not ", dtype);
  CAPSTAN_CHECK(nbins > 0 && nbins < UINT32_MAX, ValueError, "histogram_fixed_width: nbins is ", nbins,
                ", not at least 1");
  CAPSTAN_CHECK(range.low < range.high && std::isfinite(range.high - range.low), ValueError,
                "histogram_fixed_width: the range from ", range.low, " to ", range.high, " is empty or not finite");
  CAPSTAN_CHECK(batch_dims >= 0 && batch_dims <= values.rank(), ValueError, "histogram_fixed_width: batch_dims is ",
                batch_dims, ", not from 0 to the rank, ", values.rank(), arguments({{"values", values}}));
  Shape shape;
  for (int i = 0; i < batch_dims; ++i) shape.push_back(values.dim(i));
  shape.push_back(nbins);
  outputs.add(dtype, shape);
}

void histogram_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& values = call.input(0);
  const auto& attributes = call.attributes<HistogramAttributes>();
  const double bins = static_cast<double>(attributes.nbins);
  const double low = attributes.range.low;
  const double step = (attributes.range.high - low) / bins;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(outputs[0].size()));
  if (counts.empty()) return;
  const std::int64_t each = values.size() / (outputs[0].size() / attributes.nbins);
  with_real_type(values.dtype(), [&]<class T>(T) {
    const T* data = values.data<T>();
    for (std::int64_t i = 0; i < values.size(); ++i) {
      const double value = static_cast<double>(data[i]);
      CAPSTAN_CHECK(!std::isnan(value), ValueError, "histogram_fixed_width: element ", i, " is not a number");
      const auto bin = static_cast<std::int64_t>(std::clamp((value - low) / step, 0.0, bins - 1));
      ++counts[static_cast<std::size_t>(i / each * attributes.nbins + bin)];
    }
  });
  if (outputs[0].dtype() == DType::kInt64) {
    std::copy(counts.begin(), counts.end(), mutable_data<std::int64_t>(outputs[0]));
  } else {
    std::transform(counts.begin(), counts.end(), mutable_data<std::int32_t>(outputs[0]),
                   [](std::int64_t count) { return static_cast<std::int32_t>(count); });
  }
}

bool batch_histogram(const BatchCall& call, std::vector<Tensor>& outputs) {
  HistogramAttributes attributes = call.attributes<HistogramAttributes>();
  ++attributes.batch_dims;
  return call_again(call, {call.input(0)}, &attributes, outputs);
}

// --- confusion_matrix ---

Tensor confusion_matrix_by_name(Operand labels, Operand predictions, std::optional<std::int64_t> num_classes,
                                DType dtype) {
  return confusion_matrix(labels, predictions, {.num_classes = num_classes, .dtype = dtype});
}

Tensor confusion(const Tensor& labels, const Tensor& predictions, std::optional<std::int64_t> num_classes,
                 const Tensor& counts) {
  CAPSTAN_CHECK(labels.rank() == 1 && labels.shape() == predictions.shape() && counts.shape() == labels.shape(),
                ShapeError, "confusion_matrix: labels, predictions and weights must be vectors of one length, not ",
                labels.shape(), ", ", predictions.shape(), " and ", counts.shape(),
                arguments({{"labels", labels}, {"predictions", predictions}}));
  return with_errors_of("confusion_matrix", [&] {
    check_indices("confusion_matrix", labels);
    check_indices("confusion_matrix", predictions);
    const Tensor pairs = stack({cast(labels, DType::kInt64), cast(predictions, DType::kInt64)}, 1);
    std::int64_t classes = num_classes.value_or(0);
    if (!num_classes && pairs.size() > 0) {
      classes = std::min<std::int64_t>(reduce_max(pairs).item<std::int64_t>(), UINT32_MAX) + 1;
    }
    return scatter_nd(pairs, counts, {classes, classes});
  });
}

}  // namespace

// --- The ops ---

constinit const OpDef kUnique = {
    .name = "unique",
    .text =
        "The different values of a vector in the order of their first appearance, and the number of each element's.",
    .flags = kNotDifferentiable | kReturnsViews,
    .outputs = 2,
    .attributes = &kUniqueAttributes,
    .infer = infer_unique,
    .kernel = unique_kernel,
};
constinit const OpDef kUniqueWithCounts = {
    .name = "unique_with_counts",
    .text = "The different values of a vector, the number of each element's, and how often each appears.",
    .flags = kNotDifferentiable | kReturnsViews,
    .outputs = 3,
    .attributes = &kUniqueAttributes,
    .infer = infer_unique,
    .kernel = unique_kernel,
};
constinit const OpDef kBincount = {
    .name = "bincount",
    .text = "How often each of the numbers from 0 on appears.",
    .flags = kNotDifferentiable,
    .attributes = &attribute_table<BincountAttributes, "minlength, maxlength, dtype">,
    .infer = infer_bincount,
    .kernel = bincount_kernel,
};
constinit const OpDef kHistogramFixedWidth = {
    .name = "histogram_fixed_width",
    .text = "How many values lie in each of equal parts of a range; the first and the last take what lies beyond.",
    .flags = kNotDifferentiable,
    .inputs = "values",
    .attributes = &attribute_table<HistogramAttributes, "range, nbins, dtype, batch_dims", 1>,
    .infer = infer_histogram,
    .kernel = histogram_kernel,
    .batch = batch_histogram,
};
constinit const OpDef kConfusionMatrix =
    composite<&confusion_matrix_by_name, "labels, predictions, num_classes, dtype", NoValue{}, DType::kInt32>(
        "confusion_matrix", "How many elements have the label of the row and the prediction of the column.",
        kNotDifferentiable);

Unique unique(Operand x, DType out_idx) {
  const UniqueAttributes attributes{out_idx};
  std::vector<Tensor> outputs = apply_all(kUnique, std::span(&x, 1), &attributes);
  return {std::move(outputs[0]), std::move(outputs[1]), {}};
}
Unique unique_with_counts(Operand x, DType out_idx) {
  const UniqueAttributes attributes{out_idx};
  std::vector<Tensor> outputs = apply_all(kUniqueWithCounts, std::span(&x, 1), &attributes);
  return {std::move(outputs[0]), std::move(outputs[1]), std::move(outputs[2])};
}
Tensor bincount(Operand x, const BincountOptions& options) {
  BincountAttributes attributes;
  if (options.minlength) attributes.minlength = *options.minlength;
  if (options.maxlength) attributes.maxlength = *options.maxlength;
  attributes.dtype = options.dtype;
  if (!options.weights.has_value()) return apply(kBincount, x, &attributes);
  const Tensor value = to_tensor(x);
  const std::int64_t bins = bin_count(value, attributes);
  const Tensor ids = cast(value, DType::kInt64);
  return with_errors_of("bincount", [&] {
    return unsorted_segment_sum(options.weights, where(less(ids, bins), ids, -1), bins);  // -1 is dropped
  });
}
Tensor histogram_fixed_width(Operand values, double low, double high, std::int64_t nbins, DType dtype) {
  const HistogramAttributes attributes{{low, high}, nbins, dtype};
  return apply(kHistogramFixedWidth, values, &attributes);
}
Tensor confusion_matrix(Operand labels, Operand predictions, const ConfusionMatrixOptions& options) try {
  const Tensor rows = to_tensor(labels);
  return confusion(rows, to_tensor(predictions), options.num_classes,
                   options.weights.has_value() ? options.weights : ones(rows.shape(), options.dtype));
} catch (const Error&) {
  rethrow_as("confusion_matrix");
}

CAPSTAN_OPS(count, &kUnique, &kUniqueWithCounts, &kBincount, &kHistogramFixedWidth, &kConfusionMatrix);

}  // namespace capstan
