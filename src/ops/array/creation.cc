// Tensors made from nothing but numbers: constants, identity matrices, ranges.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/variable.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/numbers.h"
#include "src/core/op_for_programs.h"
#include "src/kernels/array/strided_copy.h"
#include "src/ops/axes.h"
#include "src/ops/axis.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/lengths.h"

namespace capstan {

namespace {

void fill_with(const Tensor& out, double number) {
  if (number == 0) {
    if (out.size() > 0) {
      std::memset(mutable_raw_data(out), 0, static_cast<std::size_t>(out.size()) * size_of(out.dtype()));
    }
    return;
  }
  fill_elements(mutable_raw_data(out), scalar(number, out.dtype()).raw_data(), out.size(), size_of(out.dtype()));
}

// --- zeros, ones, zeros_like, ones_like ---

struct ConstantAttributes {
  Lengths shape;
  DType dtype = DType::kFloat32;
};
constexpr const AttributeType& kConstantAttributes = attribute_table<ConstantAttributes, "shape, dtype", 1>;

void infer_constant(const Call& call, OutputSpecs& outputs) {
  const auto& attributes = call.attributes<ConstantAttributes>();
  const Shape shape = result_shape(call.op.name, attributes.shape);
  outputs.add(attributes.dtype, shape);
}

void infer_same(const Call& call, OutputSpecs& outputs) { outputs.add(call.input(0).dtype(), call.input(0).shape()); }

// --- fill ---

struct FillAttributes {
  Lengths dims;
};

void infer_fill(const Call& call, OutputSpecs& outputs) {
  const TensorRef& value = call.input(0);
  const Shape shape = result_shape("fill", call.attributes<FillAttributes>().dims);
  CAPSTAN_CHECK(value.rank() <= 1 && value.size() == 1, ShapeError, "fill: the value must be a scalar, not of shape ",
                value.shape(), arguments({{"value", value}}));
  outputs.add(value.dtype(), shape);
}

bool batch_fill(const BatchCall& call, std::vector<Tensor>& outputs) {
  const Lengths& item = call.attributes<FillAttributes>().dims;
  if (item.rank == kMaxRank) return false;
  Shape column{call.size};
  for (int i = 0; i < item.rank; ++i) column.push_back(1);
  outputs = {broadcast_to(reshape(call.input(0), column), lengths_with_items(item, call.size).shape())};
  return true;
}

// --- eye ---

struct EyeAttributes {
  std::int64_t num_rows = 0;
  OptionalInt num_columns;
  Lengths batch_shape;
  DType dtype = DType::kFloat32;
};

void infer_eye(const Call& call, OutputSpecs& outputs) {
  const auto& attributes = call.attributes<EyeAttributes>();
  const std::int64_t columns = attributes.num_columns.has_value ? attributes.num_columns.value : attributes.num_rows;
  CAPSTAN_CHECK(attributes.num_rows >= 0 && columns >= 0, ShapeError, "eye: negative size, ", attributes.num_rows,
                " rows and ", columns, " columns");
  Shape shape = attributes.batch_shape.shape();
  shape.push_back(attributes.num_rows);
  shape.push_back(columns);
  outputs.add(attributes.dtype, shape);
}

void eye_kernel(const Call&, std::span<Tensor> outputs) {
  const Tensor& out = outputs[0];
  fill_with(out, 0);
  if (out.size() == 0) return;
  const std::int64_t rows = out.dim(-2);
  const std::int64_t columns = out.dim(-1);
  const Tensor one = scalar(1, out.dtype());
  const CopyAxis axes[] = {{out.size() / (rows * columns), rows * columns, 0},
                           {std::min(rows, columns), columns + 1, 0}};
  strided_copy(mutable_raw_data(out), one.raw_data(), axes, size_of(out.dtype()));
}

// --- range ---

struct RangeAttributes {
  double start = 0;
  double limit = 0;
  double delta = 1;
  DType dtype = DType::kInt32;
};
constexpr AttributeField kRangeFields[] = {
    field<&RangeAttributes::start>("start"), field<&RangeAttributes::limit>("limit", true),
    field<&RangeAttributes::delta>("delta"), field<&RangeAttributes::dtype>("dtype")};

void infer_range(const Call& call, OutputSpecs& outputs) {
  const auto& [start, limit, delta, dtype] = call.attributes<RangeAttributes>();
  CAPSTAN_CHECK(dtype < DType::kBool, DTypeError, "range: dtype ", dtype, " is not supported");
  CAPSTAN_CHECK(std::isfinite(start) && std::isfinite(limit) && std::isfinite(delta), ValueError,
                "range: not finite, from ", start, " to ", limit, " by ", delta);
  CAPSTAN_CHECK(delta != 0, ValueError, "range: delta is 0, from ", start, " to ", limit);
  CAPSTAN_CHECK(start == limit || (limit > start) == (delta > 0), ValueError, "range: delta ", delta, " leads from ",
                start, " away from ", limit);
  const double count = std::ceil((limit - start) / delta);
  CAPSTAN_CHECK(count < 4294967295.0, ShapeError, "range: ", count, " elements are too many");
  outputs.add(dtype, Shape{static_cast<std::int64_t>(count)});
}

template <class T>
void write_range(const Tensor& out, double start, double delta) {
  T* data = mutable_data<T>(out);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const double value = start + static_cast<double>(i) * delta;
    if constexpr (std::is_same_v<T, BFloat16>) {
      data[i] = BFloat16(static_cast<float>(value));
    } else {
      data[i] = static_cast<T>(value);
    }
  }
}

void range_kernel(const Call& call, std::span<Tensor> outputs) {
  const auto& attributes = call.attributes<RangeAttributes>();
  const Tensor& out = outputs[0];
  if (out.size() == 0) return;
  // Both ends fit, so everything between does.
  if (!is_floating(out.dtype())) {
    for (std::int64_t i : {std::int64_t{0}, out.size() - 1}) {
      const double end = std::trunc(attributes.start + static_cast<double>(i) * attributes.delta);
      const double bound = out.dtype() == DType::kInt64   ? 9007199254740992.0
                           : out.dtype() == DType::kInt32 ? 2147483647.0
                                                          : 255.0;
      CAPSTAN_CHECK(end <= bound && end >= (out.dtype() == DType::kUInt8 ? 0 : -bound - 1), ValueError, "range: ", end,
                    " does not fit ", out.dtype());
    }
  }
  switch (out.dtype()) {
    case DType::kFloat32:
      return write_range<float>(out, attributes.start, attributes.delta);
    case DType::kFloat64:
      return write_range<double>(out, attributes.start, attributes.delta);
    case DType::kBFloat16:
      return write_range<BFloat16>(out, attributes.start, attributes.delta);
    case DType::kInt32:
      return write_range<std::int32_t>(out, attributes.start, attributes.delta);
    case DType::kInt64:
      return write_range<std::int64_t>(out, attributes.start, attributes.delta);
    default:
      return write_range<std::uint8_t>(out, attributes.start, attributes.delta);
  }
}

// --- linspace ---

// The dtype of two end points; plain numbers, integers too, are floatx() by themselves.
DType end_dtype(const Operand& start, const Operand& stop) {
  for (const Operand* operand : {&start, &stop}) {
    if (operand->kind() == Operand::Kind::kVariable) return Variable::share(operand->variable()).dtype();
    const detail::Block* block = operand->is_literal()                      ? nullptr
                                 : operand->kind() == Operand::Kind::kGiven ? operand->given()->block()
                                                                            : operand->lent();
    if (block != nullptr) return block->dtype;
  }
  return floatx();
}
Tensor end_point(const Operand& operand, DType dtype) {
  return operand.is_literal() && !operand.is_complex_literal() ? scalar(operand.number(), dtype)
                                                               : to_tensor(operand, dtype);
}

// --- The ops ---

constexpr OpDef kZeros = {
    .name = "zeros",
    .text = "A tensor of zeros.",
    .flags = kNotDifferentiable | kCheapAgain,
    .inputs = "",
    .attributes = &kConstantAttributes,
    .infer = infer_constant,
    .kernel = [](const Call&, std::span<Tensor> outputs) { fill_with(outputs[0], 0); },
};
constexpr OpDef kOnes = {
    .name = "ones",
    .text = "A tensor of ones.",
    .flags = kNotDifferentiable | kCheapAgain,
    .inputs = "",
    .attributes = &kConstantAttributes,
    .infer = infer_constant,
    .kernel = [](const Call&, std::span<Tensor> outputs) { fill_with(outputs[0], 1); },
};
// One number, repeated by whoever reads it.
template <int kValue>
void expand_like(std::span<const Tensor> inputs, const void*, std::vector<Tensor>& outputs) {
  outputs = {broadcast_like(scalar(kValue, inputs[0].dtype()), inputs[0])};
}
template <int kValue>
constexpr OpForPrograms kFilledLike{.expand = expand_like<kValue>};

constexpr OpDef kZerosLike = {
    .name = "zeros_like",
    .text = "Zeros in the shape and dtype of another tensor.",
    .flags = kNotDifferentiable | kCheapAgain,
    .infer = infer_same,
    .kernel = [](const Call&, std::span<Tensor> outputs) { fill_with(outputs[0], 0); },
    .shape_inputs = 0b1,
    .programs = &kFilledLike<0>,
};
constexpr OpDef kOnesLike = {
    .name = "ones_like",
    .text = "Ones in the shape and dtype of another tensor.",
    .flags = kNotDifferentiable | kCheapAgain,
    .infer = infer_same,
    .kernel = [](const Call&, std::span<Tensor> outputs) { fill_with(outputs[0], 1); },
    .shape_inputs = 0b1,
    .programs = &kFilledLike<1>,
};
constexpr OpDef kFill = {
    .name = "fill",
    .text = "A tensor whose elements are all one value.",
    .flags = kLinear | kCheapAgain,
    .inputs = "value",
    .attributes = &attribute_table<FillAttributes, "dims", 1>,
    .infer = infer_fill,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          fill_elements(mutable_raw_data(outputs[0]), call.input(0).raw_data(), outputs[0].size(),
                        size_of(outputs[0].dtype()));
        },
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          if (call.needs(0)) cotangents[0] = reshape_like(reduce_sum(call.cotangent()), call.input(0));
        },
    .batch = batch_fill,
};
constexpr OpDef kEye = {
    .name = "eye",
    .text = "Ones on the diagonal of a matrix, zeros elsewhere.",
    .flags = kNotDifferentiable,
    .inputs = "",
    .attributes = &attribute_table<EyeAttributes, "num_rows, num_columns, batch_shape, dtype", 1>,
    .infer = infer_eye,
    .kernel = eye_kernel,
};
constexpr OpDef kRange = {
    .name = "range",
    .text = "Evenly spaced numbers from start to before limit.",
    .flags = kNotDifferentiable,
    .inputs = "",
    .attributes = &attribute_type<RangeAttributes, kRangeFields>,
    .infer = infer_range,
    .kernel = range_kernel,
};
constexpr OpDef kLinspace = composite<&linspace, "start, stop, num, axis", 0>(
    "linspace", "A given count of evenly spaced numbers, both ends included.");

}  // namespace

Tensor zeros(const Shape& shape, DType dtype) try {
  const ConstantAttributes attributes{pack_lengths("zeros", shape), dtype};
  return apply(kZeros, std::span<Operand>(), &attributes);
} catch (const Error&) {
  rethrow_as("zeros");
}
Tensor ones(const Shape& shape, DType dtype) try {
  const ConstantAttributes attributes{pack_lengths("ones", shape), dtype};
  return apply(kOnes, std::span<Operand>(), &attributes);
} catch (const Error&) {
  rethrow_as("ones");
}
Tensor zeros_like(Operand x) { return apply(kZerosLike, x); }
Tensor ones_like(Operand x) { return apply(kOnesLike, x); }
Tensor fill(const Shape& shape, Operand value) {
  const FillAttributes attributes{pack_lengths("fill", shape)};
  return apply(kFill, value, &attributes);
}
Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns, DType dtype) {
  EyeAttributes attributes{.num_rows = rows, .dtype = dtype};
  if (columns) attributes.num_columns = *columns;
  return apply(kEye, std::span<Operand>(), &attributes);
}

Tensor range(Operand limit) { return range(limit.kind() == Operand::Kind::kFloat ? Operand(0.0) : Operand(0), limit); }
Tensor range(Operand start, Operand limit, Operand delta) {
  bool any_tensor = false;
  bool any_float = false;
  bool any_large = false;
  DType dtype = DType::kInt32;
  double numbers[3];
  int i = 0;
  for (const Operand* operand : {&start, &limit, &delta}) {
    if (operand->is_literal()) {
      numbers[i++] = operand->number();
      any_float |= operand->kind() == Operand::Kind::kFloat;
      any_large |= operand->kind() == Operand::Kind::kInt && dtype_of_integer(operand->integer()) == DType::kInt64;
      continue;
    }
    const Tensor tensor = to_tensor(*operand);
    CAPSTAN_CHECK(!any_tensor || tensor.dtype() == dtype, DTypeError, "range: dtypes differ, ", dtype, " and ",
                  tensor.dtype());
    any_tensor = true;
    dtype = tensor.dtype();
    numbers[i++] = tensor.item<double>();
  }
  if (!any_tensor) dtype = any_float ? floatx() : any_large ? DType::kInt64 : DType::kInt32;
  CAPSTAN_CHECK(!any_float || is_floating(dtype), DTypeError, "range: a floating number meets a tensor of dtype ",
                dtype);
  const RangeAttributes attributes{numbers[0], numbers[1], numbers[2], dtype};
  return apply(kRange, std::span<Operand>(), &attributes);
}

Tensor linspace(Operand start, Operand stop, std::int64_t num, int axis) try {
  CAPSTAN_CHECK(num >= 0, ValueError, "linspace: num is ", num, ", not at least 0");
  const DType given = end_dtype(start, stop);
  // Integers make float64, as their quotients do.
  const DType dtype = given == DType::kInt32 || given == DType::kInt64 ? DType::kFloat64 : given;
  const Tensor first = cast(end_point(start, given), dtype);
  const Tensor last = cast(end_point(stop, given), dtype);
  CAPSTAN_CHECK(is_floating(dtype), DTypeError, "linspace: dtype ", dtype, " is not supported",
                arguments({{"start", first}, {"stop", last}}), help("convert with cast(x, float32)"));
  const Tensor length = subtract(last, first);
  const int place = normalize_axis("linspace", axis, length.rank() + 1);
  Shape along;  // [num, 1, ...]: broadcasts along the new axis
  along.push_back(num);
  for (int i = place; i < length.rank(); ++i) along.push_back(1);
  const RangeAttributes range_attributes{0, static_cast<double>(num), 1, first.dtype()};
  const Tensor steps = reshape(apply(kRange, std::span<Operand>(), &range_attributes), along);
  const Tensor step = divide(length, static_cast<double>(std::max<std::int64_t>(num - 1, 1)));
  const Tensor begin = expand_dims(broadcast_like(first, length), place);
  const Tensor result = add(begin, multiply(expand_dims(step, place), steps));
  if (num < 2) return result;
  // The end is met exactly, whatever the steps round to.
  const Tensor end = expand_dims(broadcast_like(last, length), place);
  return where(greater_equal(steps, static_cast<double>(num - 1)), end, result);
} catch (const Error&) {
  rethrow_as("linspace");
}

CAPSTAN_OPS(creation, &kZeros, &kOnes, &kFill, &kZerosLike, &kOnesLike, &kEye, &kRange, &kLinspace);

}  // namespace capstan
