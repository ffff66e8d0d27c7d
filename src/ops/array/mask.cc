// Indices into masks and back.
#include <algorithm>
#include <complex>
#include <cstring>

#include "capstan/ops/array.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/backend.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/kernels/array/strided_copy.h"
#include "src/ops/axes.h"
#include "src/ops/axis.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/indices.h"

namespace capstan {

namespace {

// --- one_hot ---

struct OneHotAttributes {
  std::int64_t depth = 0;
  double on_value = 1;
  double off_value = 0;
  Axis axis = -1;
  DType dtype = DType::kFloat32;
};

void infer_one_hot(const Call& call, OutputSpecs& outputs) {
  const auto& attributes = call.attributes<OneHotAttributes>();
  const TensorRef& indices = call.input(0);
  CAPSTAN_CHECK(is_integer(indices.dtype()), DTypeError, "one_hot: indices must be integers, not ", indices.dtype(),
                arguments({{"indices", indices}}));
  CAPSTAN_CHECK(attributes.depth >= 0, ValueError, "one_hot: depth is ", attributes.depth, ", not at least 0",
                arguments({{"indices", indices}}));
  const int axis = normalize_axis("one_hot", attributes.axis, indices.rank() + 1);
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(indices.dim(i));
  shape.push_back(attributes.depth);
  for (int i = axis; i < indices.rank(); ++i) shape.push_back(indices.dim(i));
  outputs.add(attributes.dtype, shape);
  outputs.hand_on(view_around(shape, axis));
}

void one_hot_kernel(const Call& call, std::span<Tensor> outputs) {
  const auto& attributes = call.attributes<OneHotAttributes>();
  const TensorRef& indices = call.input(0);
  const Tensor& out = outputs[0];
  const Tensor on = scalar(attributes.on_value, out.dtype());
  const Tensor off = scalar(attributes.off_value, out.dtype());
  const std::size_t size = size_of(out.dtype());
  fill_elements(mutable_raw_data(out), off.raw_data(), out.size(), size);
  if (out.size() == 0) return;
  const std::int64_t inner = call.geometry<AxisView>().inner;
  auto* data = static_cast<std::byte*>(mutable_raw_data(out));
  const auto place = [&](const auto* index) {
    for (std::int64_t i = 0; i < indices.size(); ++i) {
      const auto depth = static_cast<std::int64_t>(index[i]);
      if (depth < 0 || depth >= attributes.depth) continue;  // out of range means: none is on
      const std::int64_t position = (i / inner * attributes.depth + depth) * inner + i % inner;
      std::memcpy(data + static_cast<std::size_t>(position) * size, on.raw_data(), size);
    }
  };
  if (indices.dtype() == DType::kUInt8) {
    place(indices.data<std::uint8_t>());
  } else {
    with_indices(indices, place);
  }
}

// --- where_indices, sequence_mask ---

// Calls visit(i) for every element that is not zero.
template <class Visit>
void for_nonzero(const TensorRef& x, const Visit& visit) {
  if (is_on_device(x.block())) return for_nonzero(copy_to_host(x), visit);
  const auto scan = [&](const auto* data) {
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (data[i] != std::remove_cvref_t<decltype(data[i])>{}) visit(i);
    }
  };
  switch (x.dtype()) {
    case DType::kFloat32:
      return scan(x.data<float>());
    case DType::kFloat64:
      return scan(x.data<double>());
    case DType::kBFloat16:
      return scan(x.data<BFloat16>());
    case DType::kInt32:
      return scan(x.data<std::int32_t>());
    case DType::kInt64:
      return scan(x.data<std::int64_t>());
    case DType::kUInt8:
      return scan(x.data<std::uint8_t>());
    case DType::kComplex64:
      return scan(x.data<std::complex<float>>());
    case DType::kComplex128:
      return scan(x.data<std::complex<double>>());
    default:
      return scan(x.data<bool>());
  }
}

void infer_where_indices(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  CAPSTAN_CHECK(x.rank() > 0, ShapeError, "where_indices: the condition must have an axis, the rank is 0",
                arguments({{"condition", x}}));
  std::int64_t count = 0;
  for_nonzero(x, [&](std::int64_t) { ++count; });
  outputs.add(DType::kInt64, Shape{count, x.rank()});
}

void where_indices_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const int rank = x.rank();
  const Shape shape = x.shape();
  auto* out = mutable_data<std::int64_t>(outputs[0]);
  for_nonzero(x, [&](std::int64_t i) {
    for (int k = rank - 1; k >= 0; --k) {
      out[k] = i % shape[k];
      i /= shape[k];
    }
    out += rank;
  });
}

struct SequenceMaskAttributes {
  OptionalInt maxlen;
  DType dtype = DType::kBool;
};

void infer_sequence_mask(const Call& call, OutputSpecs& outputs) {
  const auto& attributes = call.attributes<SequenceMaskAttributes>();
  const TensorRef& lengths = call.input(0);
  check_indices("sequence_mask", lengths);
  std::int64_t longest = 0;
  if (attributes.maxlen.has_value) {
    longest = attributes.maxlen.value;
    CAPSTAN_CHECK(longest >= 0, ValueError, "sequence_mask: maxlen is ", longest, ", not at least 0");
  } else {
    with_indices(lengths, [&](const auto* data) {
      for (std::int64_t i = 0; i < lengths.size(); ++i) longest = std::max<std::int64_t>(longest, data[i]);
    });
  }
  Shape shape = lengths.shape();
  shape.push_back(longest);
  outputs.add(attributes.dtype, shape);
}

void sequence_mask_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& lengths = call.input(0);
  const Tensor& out = outputs[0];
  const Tensor one = scalar(1, out.dtype());
  const std::size_t size = size_of(out.dtype());
  const std::int64_t longest = out.dim(-1);
  if (out.size() == 0) return;
  auto* data = static_cast<std::byte*>(mutable_raw_data(out));
  std::memset(data, 0, static_cast<std::size_t>(out.size()) * size);
  with_indices(lengths, [&](const auto* length) {
    for (std::int64_t i = 0; i < lengths.size(); ++i) {
      const std::int64_t on = std::clamp<std::int64_t>(length[i], 0, longest);
      fill_elements(data + static_cast<std::size_t>(i * longest) * size, one.raw_data(), on, size);
    }
  });
}

bool batch_sequence_mask(const BatchCall& call, std::vector<Tensor>& outputs) {
  // Without it the masks of the items may differ in their length, which only a look at each of them can tell.
  if (!call.attributes<SequenceMaskAttributes>().maxlen.has_value) return false;
  return batch_leading(call, outputs);
}

}  // namespace

// --- The ops ---

constinit const OpDef kOneHot = {
    .name = "one_hot",
    .text = "Along a new axis, one value at the index and another everywhere else.",
    .flags = kNotDifferentiable | kCheapAgain,
    .inputs = "indices",
    .attributes = &attribute_table<OneHotAttributes, "depth, on_value, off_value, axis, dtype", 1>,
    .infer = infer_one_hot,
    .kernel = one_hot_kernel,
    .batch = batch_axis<&OneHotAttributes::axis>,
};
constinit const OpDef kWhereIndices = {
    .name = "where_indices",
    .text = "The coordinates of the elements that are true or not zero, in row-major order.",
    .flags = kNotDifferentiable,
    .inputs = "condition",
    .infer = infer_where_indices,
    .kernel = where_indices_kernel,
};
constinit const OpDef kBooleanMask = composite<&boolean_mask, "x, mask, axis", 0>(
    "boolean_mask", "The elements or rows at which a mask is true, as a list.");
constinit const OpDef kSequenceMask = {
    .name = "sequence_mask",
    .text = "Along a new last axis, true as far as a length reaches.",
    .flags = kNotDifferentiable,
    .inputs = "lengths",
    .attributes = &attribute_table<SequenceMaskAttributes, "maxlen, dtype">,
    .infer = infer_sequence_mask,
    .kernel = sequence_mask_kernel,
    .batch = batch_sequence_mask,
};

Tensor one_hot(Operand indices, std::int64_t depth, double on_value, double off_value, int axis, DType dtype) {
  const OneHotAttributes attributes{depth, on_value, off_value, axis, dtype};
  return apply(kOneHot, indices, &attributes);
}
Tensor where_indices(Operand condition) { return apply(kWhereIndices, condition); }

Tensor boolean_mask(Operand x, Operand mask, int axis) try {
  const Tensor tensor = to_tensor(x);
  const Tensor which = to_tensor(mask);
  const int first = normalize_axis("boolean_mask", axis, std::max(tensor.rank(), 1));
  CAPSTAN_CHECK(which.dtype() == DType::kBool, DTypeError, "boolean_mask: the mask must be bool, not ", which.dtype(),
                arguments({{"x", tensor}, {"mask", which}}));
  CAPSTAN_CHECK(which.rank() > 0, ShapeError, "boolean_mask: the mask must have an axis, the rank is 0",
                arguments({{"x", tensor}, {"mask", which}}));
  bool fits = first + which.rank() <= tensor.rank();
  for (int i = 0; fits && i < which.rank(); ++i) fits = tensor.dim(first + i) == which.dim(i);
  CAPSTAN_CHECK(fits, ShapeError, "boolean_mask: the mask's shape ", which.shape(), " does not fit ", tensor.shape(),
                " from axis ", first, " on", arguments({{"x", tensor}, {"mask", which}}));
  Shape flat;
  for (int i = 0; i < first; ++i) flat.push_back(tensor.dim(i));
  flat.push_back(which.size());
  for (int i = first + which.rank(); i < tensor.rank(); ++i) flat.push_back(tensor.dim(i));
  const Tensor places = where_indices(reshape(which, {which.size()}));
  return gather(reshape(tensor, flat), reshape(places, {places.size()}), first);
} catch (const Error&) {
  rethrow_as("boolean_mask");
}

Tensor sequence_mask(Operand lengths, std::optional<std::int64_t> maxlen, DType dtype) {
  SequenceMaskAttributes attributes{.dtype = dtype};
  if (maxlen) attributes.maxlen = *maxlen;
  return apply(kSequenceMask, lengths, &attributes);
}

CAPSTAN_OPS(mask, &kOneHot, &kWhereIndices, &kBooleanMask, &kSequenceMask);

}  // namespace capstan
