// Picking rows by integer indices, and what turns indices into masks and back.
//
// The gradient of a gather along the first axis is row-sparse: it holds the rows that were picked, not a table of zeros
// around them. It becomes dense by a scatter, which is an op like any other, so that a recorded one has second
// derivatives. Indices are checked before anything is written.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/op_test.h"
#include "src/core/thread_pool.h"
#include "src/kernels/strided_copy.h"
#include "src/ops/axes.h"
#include "src/ops/families.h"
#include "src/ops/indices.h"
#include "src/ops/lengths.h"
#include "src/ops/reference.h"
#include "src/ops/scatter.h"

namespace capstan {

namespace {

// --- gather ---

struct GatherAttributes {
  OptionalInt axis;
  std::int64_t batch_dims = 0;
};
constexpr AttributeType kGatherAttributes = attribute_type<GatherAttributes>(
    {field<&GatherAttributes::axis>("axis"), field<&GatherAttributes::batch_dims>("batch_dims")});

// params [batch, outer, length, inner] and indices [batch, count] make [batch, outer, count, inner].
struct GatherPlan {
  int batch_dims;
  int axis;
  std::int64_t batch, outer, length, inner, count;
};

GatherPlan plan_gather(const Shape& params, const Shape& indices, const GatherAttributes& attributes) {
  GatherPlan plan;
  CAPSTAN_CHECK(params.rank() > 0, ShapeError, "gather: params must have an axis to gather from, the rank is 0");
  CAPSTAN_CHECK(attributes.batch_dims >= -indices.rank() && attributes.batch_dims <= indices.rank(), IndexError,
                "gather: batch_dims ", attributes.batch_dims, " is out of range for indices of rank ", indices.rank());
  plan.batch_dims = static_cast<int>(attributes.batch_dims < 0 ? attributes.batch_dims + indices.rank()
                                                               : attributes.batch_dims);
  plan.axis = normalize_axis("gather", attributes.axis.has_value ? attributes.axis.value : plan.batch_dims,
                             params.rank());
  CAPSTAN_CHECK(plan.batch_dims <= plan.axis, IndexError, "gather: batch_dims ", plan.batch_dims,
                " exceeds the axis, ", plan.axis);
  for (int i = 0; i < plan.batch_dims; ++i) {
    CAPSTAN_CHECK(params[i] == indices[i], ShapeError, "gather: lengths of batch axis ", i, " differ, ", params[i],
                  " and ", indices[i]);
  }
  plan.batch = product(params, 0, plan.batch_dims);
  plan.outer = product(params, plan.batch_dims, plan.axis);
  plan.length = params[plan.axis];
  plan.inner = product(params, plan.axis + 1, params.rank());
  plan.count = product(indices, plan.batch_dims, indices.rank());
  return plan;
}

void infer_gather(const Call& call, OutputSpecs& outputs) {
  const Shape params = call.input(0).shape();
  const Shape indices = call.input(1).shape();
  check_indices("gather", call.input(1));
  const GatherPlan plan = plan_gather(params, indices, call.attributes<GatherAttributes>());
  Shape shape;
  for (int i = 0; i < plan.axis; ++i) shape.push_back(params[i]);
  for (int i = plan.batch_dims; i < indices.rank(); ++i) shape.push_back(indices[i]);
  for (int i = plan.axis + 1; i < params.rank(); ++i) shape.push_back(params[i]);
  outputs.add(call.input(0).dtype(), shape);
}

template <class T>
void gather_elements(const GatherPlan& plan, const T* indices, const std::byte* from, std::byte* to, std::size_t size) {
  for (std::int64_t i = 0; i < plan.batch * plan.count; ++i) {
    if (indices[i] < 0 || indices[i] >= plan.length) throw_index("gather", indices[i], plan.axis, plan.length);
  }
  const std::int64_t rows = plan.batch * plan.outer * plan.count;
  const auto row_bytes = static_cast<std::size_t>(plan.inner) * size;
  if (rows == 0 || row_bytes == 0) return;
  const std::int64_t rows_per_task = std::max<std::int64_t>(1, kTaskElements / plan.inner);
  const auto copy_rows = [&](std::int64_t task) {
    const std::int64_t end = std::min(rows, (task + 1) * rows_per_task);
    for (std::int64_t row = task * rows_per_task; row < end; ++row) {
      const std::int64_t group = row / plan.count;  // batch and outer
      const std::int64_t index = indices[group / plan.outer * plan.count + row % plan.count];
      const std::byte* source = from + static_cast<std::size_t>(group * plan.length + index) * row_bytes;
      std::byte* target = to + static_cast<std::size_t>(row) * row_bytes;
      if (row_bytes == 4) {
        std::memcpy(target, source, 4);
      } else if (row_bytes == 8) {
        std::memcpy(target, source, 8);
      } else {
        std::memcpy(target, source, row_bytes);
      }
    }
  };
  const std::int64_t tasks = (rows + rows_per_task - 1) / rows_per_task;
  if (tasks == 1) {
    copy_rows(0);
  } else {
    parallel_for(tasks, copy_rows);
  }
}

void gather_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& params = call.input(0);
  const TensorRef& indices = call.input(1);
  const GatherPlan plan = plan_gather(params.shape(), indices.shape(), call.attributes<GatherAttributes>());
  with_indices(indices, [&](const auto* data) {
    gather_elements(plan, data, static_cast<const std::byte*>(params.raw_data()),
                    static_cast<std::byte*>(mutable_raw_data(outputs[0])), size_of(params.dtype()));
  });
}

void gather_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const Shape params = call.input(0).shape();
  const Tensor& indices = call.input(1);
  const Tensor& g = call.cotangent();
  const GatherPlan plan = plan_gather(params, indices.shape(), call.attributes<GatherAttributes>());
  if (plan.axis == 0) {
    Shape rows{plan.count};
    for (int i = 1; i < params.rank(); ++i) rows.push_back(params[i]);
    cotangents[0] = make_row_sparse(reshape(indices, {plan.count}), reshape(g, rows), params);
    return;
  }
  // Rows of all batches in one table: the picked axis comes first, and an index counts from its batch's first row.
  Tensor rows = transpose(reshape(g, {plan.batch, plan.outer, plan.count, plan.inner}), {0, 2, 1, 3});
  rows = reshape(rows, {plan.batch * plan.count, plan.outer * plan.inner});
  const Tensor first = scalar(static_cast<double>(plan.length), DType::kInt64);
  const Tensor starts = reshape(multiply(cast(range(static_cast<long>(plan.batch)), DType::kInt64), first), {plan.batch, 1});
  const Tensor places = add(cast(reshape(indices, {plan.batch, plan.count}), DType::kInt64), starts);
  Tensor table = scatter_nd(reshape(places, {plan.batch * plan.count, 1}), rows,
                            {plan.batch * plan.length, plan.outer * plan.inner});
  table = transpose(reshape(table, {plan.batch, plan.length, plan.outer, plan.inner}), {0, 2, 1, 3});
  cotangents[0] = reshape_like(table, call.input(0));
}

// --- one_hot ---

struct OneHotAttributes {
  std::int64_t depth = 0;
  double on_value = 1;
  double off_value = 0;
  std::int64_t axis = -1;
  DType dtype = DType::kFloat32;
};
constexpr AttributeType kOneHotAttributes = attribute_type<OneHotAttributes>(
    {field<&OneHotAttributes::depth>("depth", true), field<&OneHotAttributes::on_value>("on_value"),
     field<&OneHotAttributes::off_value>("off_value"), field<&OneHotAttributes::axis>("axis"),
     field<&OneHotAttributes::dtype>("dtype")});

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
  const int axis = normalize_axis("one_hot", attributes.axis, indices.rank() + 1);
  const std::int64_t inner = product(indices.shape(), axis, indices.rank());
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
  const auto scan = [&](const auto* data) {
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (data[i] != 0) visit(i);
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
constexpr AttributeType kSequenceMaskAttributes = attribute_type<SequenceMaskAttributes>(
    {field<&SequenceMaskAttributes::maxlen>("maxlen"), field<&SequenceMaskAttributes::dtype>("dtype")});

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

struct BooleanMaskAttributes {
  OptionalInt axis;
};
constexpr AttributeType kBooleanMaskAttributes =
    attribute_type<BooleanMaskAttributes>({field<&BooleanMaskAttributes::axis>("axis")});

}  // namespace

// --- Samples and references ---

namespace {

#if CAPSTAN_TESTING
using reference::build;
using reference::ints;
using reference::Position;
using Inputs = std::vector<ReferenceTensor>;
using Outputs = std::vector<ReferenceTensor>;

SampleInput index_input(const Shape& shape, std::vector<double> values, DType dtype = DType::kInt32) {
  return {.shape = shape, .values = std::move(values), .dtype = dtype, .differentiable = false};
}

std::vector<OpSample> gather_samples() {
  const SampleInput matrix = {.shape = {4, 3}};
  const SampleInput cube = {.shape = {2, 3, 4}};
  return {{.inputs = {matrix, index_input({3}, {2, 0, 2})}},
          {.inputs = {matrix, index_input({}, {1}, DType::kInt64)}},
          {.inputs = {matrix, index_input({2, 2}, {1, 1, 3, 0})}},
          {.inputs = {matrix, index_input({0}, {})}},
          {.inputs = {{.shape = {5}}, index_input({2}, {4, 4})}},
          {.inputs = {cube, index_input({3}, {2, 0, 2})}, .attributes = {{"axis", 1}}},
          {.inputs = {cube, index_input({2}, {3, 3})}, .attributes = {{"axis", -1}}},
          {.inputs = {cube, index_input({2, 2}, {2, 0, 1, 1})}, .attributes = {{"batch_dims", 1}}},
          {.inputs = {cube, index_input({2, 2}, {2, 0, 3, 3})}, .attributes = {{"axis", 2}, {"batch_dims", 1}}},
          {.inputs = {cube, index_input({2, 3}, {0, 1, 2, 3, 3, 3})}, .attributes = {{"axis", -1}, {"batch_dims", -1}},
           .error = "lengths of batch axis 1 differ"},
          {.inputs = {matrix, index_input({1}, {4})}, .error = "index 4 is out of range for axis 0 of length 4"},
          {.inputs = {matrix, index_input({1}, {-1})}, .error = "index -1 is out of range"},
          {.inputs = {matrix, index_input({1}, {0})}, .attributes = {{"axis", 2}}, .error = "axis 2 is out of range"},
          {.inputs = {matrix, index_input({1}, {0}, DType::kFloat32)}, .error = "indices must be int32 or int64"},
          {.inputs = {{.shape = {}}, index_input({1}, {0})}, .error = "the rank is 0"}};
}
void gather_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const int rank = in[0].shape.rank();
  std::int64_t batch = reference::integer(attributes, "batch_dims", 0);
  if (batch < 0) batch += in[1].shape.rank();
  std::int64_t axis = reference::integer(attributes, "axis", batch);
  if (axis < 0) axis += rank;
  const std::int64_t picked = in[1].shape.rank() - batch;
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(in[0].shape[i]);
  for (auto i = static_cast<int>(batch); i < in[1].shape.rank(); ++i) shape.push_back(in[1].shape[i]);
  for (auto i = static_cast<int>(axis) + 1; i < rank; ++i) shape.push_back(in[0].shape[i]);
  out = {build(in[0].dtype, shape, [&](const Position& position) {
    Position where(position.begin(), position.begin() + batch);
    where.insert(where.end(), position.begin() + axis, position.begin() + axis + picked);
    Position from(position.begin(), position.begin() + axis);
    from.push_back(static_cast<std::int64_t>(reference::at(in[1], where)));
    from.insert(from.end(), position.begin() + axis + picked, position.end());
    return reference::at(in[0], from);
  })};
}
const OpTest kGatherTest = {.samples = gather_samples, .reference = gather_reference, .dtypes = reference::kEveryDType};

std::vector<OpSample> embedding_lookup_samples() {
  return {{.inputs = {{.shape = {4, 3}}, index_input({3}, {2, 0, 2})}},
          {.inputs = {{.shape = {4, 3}}, index_input({}, {3}, DType::kInt64)}},
          {.inputs = {{.shape = {4, 2}}, index_input({2, 2}, {1, 1, 3, 0})}},
          {.inputs = {{.shape = {4, 3}}, index_input({1}, {4})}, .error = "index 4 is out of range"}};
}
const OpTest kEmbeddingLookupTest = {
    .samples = embedding_lookup_samples, .reference = gather_reference, .dtypes = reference::kEveryDType};

std::vector<OpSample> one_hot_samples() {
  return {{.inputs = {index_input({3}, {2, 0, 1})}, .attributes = {{"depth", 3}}},
          {.inputs = {index_input({}, {1}, DType::kInt64)}, .attributes = {{"depth", 2}, {"dtype", "float64"}}},
          {.inputs = {index_input({2, 2}, {0, 3, -1, 2}, DType::kInt64)},
           .attributes = {{"depth", 3}, {"axis", 1}, {"on_value", 5}, {"off_value", -1}, {"dtype", "int32"}}},
          {.inputs = {index_input({2}, {0, 1})}, .attributes = {{"depth", 0}}},
          {.inputs = {index_input({0}, {})}, .attributes = {{"depth", 2}, {"axis", 0}}},
          {.inputs = {index_input({1}, {0})}, .attributes = {{"depth", -1}}, .error = "depth is -1"},
          {.inputs = {index_input({1}, {0})}, .attributes = {{"depth", 2}, {"axis", 4}}, .error = "axis 4 is out of"}};
}
DType dtype_of(const AttributeMap& attributes, DType fallback) {
  const auto found = attributes.find("dtype");
  return found == attributes.end() ? fallback : dtype_from_name(found->second.text);
}
void one_hot_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const auto number = [&](const char* name, double fallback) {
    const auto found = attributes.find(name);
    return found == attributes.end() ? fallback : found->second.number;
  };
  std::vector<std::int64_t> dims(in[0].shape.begin(), in[0].shape.end());
  std::int64_t axis = reference::integer(attributes, "axis", -1);
  if (axis < 0) axis += in[0].shape.rank() + 1;
  dims.insert(dims.begin() + axis, reference::integer(attributes, "depth", 0));
  out = {build(dtype_of(attributes, DType::kFloat32), Shape(dims), [&](const Position& position) {
    Position from = position;
    from.erase(from.begin() + axis);
    const auto depth = static_cast<double>(position[static_cast<std::size_t>(axis)]);
    return reference::at(in[0], from) == depth ? number("on_value", 1) : number("off_value", 0);
  })};
}
const OpTest kOneHotTest = {.samples = one_hot_samples, .reference = one_hot_reference};

SampleInput mask_input(const Shape& shape, std::vector<double> values) {
  return index_input(shape, std::move(values), DType::kBool);
}
std::vector<OpSample> where_indices_samples() {
  return {{.inputs = {mask_input({2, 2}, {1, 0, 1, 1})}},
          {.inputs = {mask_input({3}, {0, 0, 0})}},
          {.inputs = {index_input({2, 1, 2}, {0, -3, 7, 0})}},
          {.inputs = {mask_input({0, 2}, {})}},
          {.inputs = {mask_input({}, {1})}, .error = "must have an axis"}};
}
void where_indices_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  out = {{DType::kInt64, {}, {}}};
  std::int64_t count = 0;
  reference::for_each(in[0].shape, [&](const Position& position) {
    if (reference::at(in[0], position) == 0) return;
    ++count;
    for (std::int64_t i : position) out[0].values.push_back(static_cast<double>(i));
  });
  out[0].shape = {count, in[0].shape.rank()};
}
const OpTest kWhereIndicesTest = {.samples = where_indices_samples, .reference = where_indices_reference};

std::vector<OpSample> boolean_mask_samples() {
  return {{.inputs = {{.shape = {4}}, mask_input({4}, {1, 0, 1, 1})}},
          {.inputs = {{.shape = {2, 3}}, mask_input({2, 3}, {1, 0, 1, 0, 1, 0})}},
          {.inputs = {{.shape = {2, 3}}, mask_input({2}, {0, 1})}},
          {.inputs = {{.shape = {2, 3}}, mask_input({3}, {1, 0, 1})}, .attributes = {{"axis", 1}}},
          {.inputs = {{.shape = {3}}, mask_input({3}, {0, 0, 0})}},
          {.inputs = {{.shape = {3}}, mask_input({2}, {1, 0})}, .error = "does not fit"},
          {.inputs = {{.shape = {3}}, mask_input({}, {1})}, .error = "the mask must have an axis"}};
}
void boolean_mask_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  std::int64_t axis = reference::integer(attributes, "axis", 0);
  if (axis < 0) axis += in[0].shape.rank();
  const int masked = in[1].shape.rank();
  std::int64_t count = 0;
  for (double value : in[1].values) count += value != 0;
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(in[0].shape[i]);
  shape.push_back(count);
  for (auto i = static_cast<int>(axis) + masked; i < in[0].shape.rank(); ++i) shape.push_back(in[0].shape[i]);
  out = {{in[0].dtype, shape, {}}};
  reference::for_each(in[0].shape, [&](const Position& position) {
    const Position place(position.begin() + axis, position.begin() + axis + masked);
    if (reference::at(in[1], place) != 0) out[0].values.push_back(reference::at(in[0], position));
  });
}
const OpTest kBooleanMaskTest = {
    .samples = boolean_mask_samples, .reference = boolean_mask_reference, .dtypes = reference::kEveryDType};

std::vector<OpSample> sequence_mask_samples() {
  return {{.inputs = {index_input({3}, {1, 3, 0})}},
          {.inputs = {index_input({2}, {1, 9}, DType::kInt64)}, .attributes = {{"maxlen", 4}, {"dtype", "float32"}}},
          {.inputs = {index_input({}, {2})}, .attributes = {{"maxlen", 2}}},
          {.inputs = {index_input({2, 2}, {0, 1, 2, 3})}, .attributes = {{"dtype", "int32"}}},
          {.inputs = {index_input({1}, {1})}, .attributes = {{"maxlen", -1}}, .error = "maxlen is -1"}};
}
void sequence_mask_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  double longest = 0;
  for (double length : in[0].values) longest = std::max(longest, length);
  Shape shape = in[0].shape;
  shape.push_back(reference::integer(attributes, "maxlen", static_cast<std::int64_t>(longest)));
  out = {build(dtype_of(attributes, DType::kBool), shape, [&](const Position& position) {
    const Position which(position.begin(), position.end() - 1);
    return static_cast<double>(position.back()) < reference::at(in[0], which) ? 1.0 : 0.0;
  })};
}
const OpTest kSequenceMaskTest = {.samples = sequence_mask_samples, .reference = sequence_mask_reference};
#endif

// --- The ops ---

constexpr OpDef kGather = {
    .name = "gather",
    .text = "Rows along an axis, picked by integer indices.",
    .flags = kTakesAnyDTypes,
    .arity = 2,
    .input_names = "params, indices",
    .attributes = &kGatherAttributes,
    .infer = infer_gather,
    .kernel = gather_kernel,
    .saves = {.inputs = 0b10},
    .vjp = gather_vjp,
    .test = CAPSTAN_OP_TEST(kGatherTest),
};
constexpr OpDef kEmbeddingLookup = {
    .name = "embedding_lookup",
    .text = "Rows of a table, picked by integer ids.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "params, ids",
    .compose = [](std::span<const Operand> inputs, const void*,
                  std::vector<Tensor>& outputs) { outputs.push_back(embedding_lookup(inputs[0], inputs[1])); },
    .test = CAPSTAN_OP_TEST(kEmbeddingLookupTest),
};
constexpr OpDef kOneHot = {
    .name = "one_hot",
    .text = "Along a new axis, one value at the index and another everywhere else.",
    .flags = kNotDifferentiable,
    .input_names = "indices",
    .attributes = &kOneHotAttributes,
    .infer = infer_one_hot,
    .kernel = one_hot_kernel,
    .test = CAPSTAN_OP_TEST(kOneHotTest),
};
constexpr OpDef kWhereIndices = {
    .name = "where_indices",
    .text = "The coordinates of the elements that are true or not zero, in row-major order.",
    .flags = kNotDifferentiable,
    .input_names = "condition",
    .infer = infer_where_indices,
    .kernel = where_indices_kernel,
    .test = CAPSTAN_OP_TEST(kWhereIndicesTest),
};
constexpr OpDef kBooleanMask = {
    .name = "boolean_mask",
    .text = "The elements or rows at which a mask is true, as a list.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "x, mask",
    .attributes = &kBooleanMaskAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
          const OptionalInt axis = static_cast<const BooleanMaskAttributes*>(data)->axis;
          outputs.push_back(boolean_mask(inputs[0], inputs[1], static_cast<int>(axis.has_value ? axis.value : 0)));
        },
    .test = CAPSTAN_OP_TEST(kBooleanMaskTest),
};
constexpr OpDef kSequenceMask = {
    .name = "sequence_mask",
    .text = "Along a new last axis, true as far as a length reaches.",
    .flags = kNotDifferentiable,
    .input_names = "lengths",
    .attributes = &kSequenceMaskAttributes,
    .infer = infer_sequence_mask,
    .kernel = sequence_mask_kernel,
    .test = CAPSTAN_OP_TEST(kSequenceMaskTest),
};

}  // namespace

Tensor gather(Operand params, Operand indices, std::optional<int> axis, int batch_dims) {
  GatherAttributes attributes{.batch_dims = batch_dims};
  if (axis) attributes.axis = *axis;
  const IndexOperand index(indices);
  return apply(kGather, params, index.operand, &attributes);
}
Tensor embedding_lookup(Operand params, Operand ids) { return gather(params, ids, 0); }

Tensor one_hot(Operand indices, std::int64_t depth, double on_value, double off_value, int axis, DType dtype) {
  const OneHotAttributes attributes{depth, on_value, off_value, axis, dtype};
  return apply(kOneHot, indices, &attributes);
}
Tensor where_indices(Operand condition) { return apply(kWhereIndices, condition); }

Tensor boolean_mask(Operand x, Operand mask, int axis) {
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
}

Tensor sequence_mask(Operand lengths, std::optional<std::int64_t> maxlen, DType dtype) {
  SequenceMaskAttributes attributes{.dtype = dtype};
  if (maxlen) attributes.maxlen = *maxlen;
  return apply(kSequenceMask, lengths, &attributes);
}

// Repeated rows add up. Recorded like any op: rows that come from recorded ops have derivatives.
Tensor Tensor::to_dense() const {
  if (!is_row_sparse()) return *this;
  const Tensor rows = indices();
  return scatter_nd(reshape(rows, {rows.size(), 1}), values(), shape());
}

OpFamily index_ops() {
  static constexpr const OpDef* ops[] = {&kGather,
                                         &kEmbeddingLookup,
                                         &kGatherNd,
                                         &kScatterNd,
                                         &kTensorScatterNdAdd,
                                         &kTensorScatterNdSub,
                                         &kTensorScatterNdUpdate,
                                         &kTensorScatterNdMax,
                                         &kTensorScatterNdMin,
                                         &kOneHot,
                                         &kWhereIndices,
                                         &kBooleanMask,
                                         &kSequenceMask};
  return ops;
}

}  // namespace capstan
