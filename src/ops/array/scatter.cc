// Rows addressed by several indices: gather_nd picks them, the scatters place them, and each is the
// other's gradient.
//
// Indices are checked before anything is written.
#include "src/ops/batching.h"
#include "src/ops/family.h"

#include <cstring>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/kernels/array/scatter.h"
#include "src/ops/axes.h"
#include "src/ops/indices.h"
#include "src/ops/lengths.h"

namespace capstan {

namespace {

// --- gather_nd ---

// The numbers of the rows that `indices` [batch..., n..., depth] address in a tensor of `shape`,
// whose first batch_dims axes run along with those of the indices. A row is what lies under `depth`
// coordinates.
std::vector<std::int64_t> row_numbers(std::string_view op, const TensorRef& indices, const Shape& shape,
                                      int batch_dims = 0) {
  const auto depth = static_cast<int>(indices.dim(-1));
  std::int64_t count = 1;
  for (int i = 0; i + 1 < indices.rank(); ++i) count *= indices.dim(i);
  const std::int64_t batch = product(shape, 0, batch_dims);
  const std::int64_t per_batch = batch == 0 ? 0 : count / batch;
  const std::int64_t rows_per_batch = product(shape, batch_dims, batch_dims + depth);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  with_indices(indices, [&](const auto* data) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t row = 0;
      for (int d = 0; d < depth; ++d) {
        const std::int64_t index = data[i * depth + d];
        const std::int64_t length = shape[batch_dims + d];
        if (index < 0 || index >= length) throw_index(op, index, batch_dims + d, length);
        row = row * length + index;
      }
      rows[static_cast<std::size_t>(i)] = i / per_batch * rows_per_batch + row;
    }
  });
  return rows;
}

struct GatherNdAttributes {
  std::int64_t batch_dims = 0;
};

void infer_gather_nd(const Call& call, OutputSpecs& outputs) {
  const TensorRef& params = call.input(0);
  const TensorRef& indices = call.input(1);
  const std::int64_t batch_dims = call.attributes<GatherNdAttributes>().batch_dims;
  check_indices("gather_nd", indices);
  CAPSTAN_CHECK(indices.rank() > 0, ShapeError, "gather_nd: indices must have an axis of coordinates, the rank is 0",
                arguments({{"params", params}, {"indices", indices}}));
  CAPSTAN_CHECK(batch_dims >= 0 && batch_dims < indices.rank() && batch_dims <= params.rank(), IndexError,
                "gather_nd: batch_dims ", batch_dims, " is out of range for ranks ", params.rank(), " and ",
                indices.rank(), arguments({{"params", params}, {"indices", indices}}));
  const std::int64_t depth = indices.dim(-1);
  CAPSTAN_CHECK(batch_dims + depth <= params.rank(), ShapeError, "gather_nd: ", depth, " coordinates for ",
                params.rank() - batch_dims, " axes", arguments({{"params", params}, {"indices", indices}}));
  Shape shape;
  for (int i = 0; i + 1 < indices.rank(); ++i) {
    shape.push_back(indices.dim(i));
    CAPSTAN_CHECK(i >= batch_dims || params.dim(i) == indices.dim(i), ShapeError, "gather_nd: lengths of batch axis ",
                  i, " differ, ", params.dim(i), " and ", indices.dim(i),
                  arguments({{"params", params}, {"indices", indices}}));
  }
  for (int i = static_cast<int>(batch_dims + depth); i < params.rank(); ++i) shape.push_back(params.dim(i));
  outputs.add(params.dtype(), shape);
}

void gather_nd_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& params = call.input(0);
  const auto batch_dims = static_cast<int>(call.attributes<GatherNdAttributes>().batch_dims);
  const Shape shape = params.shape();
  const std::vector<std::int64_t> rows = row_numbers("gather_nd", call.input(1), shape, batch_dims);
  const int first = batch_dims + static_cast<int>(call.input(1).dim(-1));
  const std::size_t row_bytes = static_cast<std::size_t>(product(shape, first, shape.rank())) * size_of(params.dtype());
  if (row_bytes == 0) return;
  const auto* from = static_cast<const std::byte*>(params.raw_data());
  auto* to = static_cast<std::byte*>(mutable_raw_data(outputs[0]));
  for (std::int64_t row : rows) {
    std::memcpy(to, from + static_cast<std::size_t>(row) * row_bytes, row_bytes);
    to += row_bytes;
  }
}

// Coordinates with those of the batch axes put before them.
Tensor full_coordinates(const Tensor& indices, int batch_dims) {
  if (batch_dims == 0) return indices;
  Shape column = indices.shape();
  column.set(-1, 1);
  std::vector<Tensor> columns;
  for (int i = 0; i < batch_dims; ++i) {
    Shape along = column;
    for (int k = 0; k < along.rank(); ++k) along.set(k, k == i ? indices.dim(i) : 1);
    columns.push_back(
        broadcast_to(reshape(cast(range(static_cast<long>(indices.dim(i))), indices.dtype()), along), column));
  }
  columns.push_back(indices);
  return concat(columns, -1);
}

void gather_nd_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const auto batch_dims = static_cast<int>(call.attributes<GatherNdAttributes>().batch_dims);
  const Tensor& indices = call.input(1);
  const Shape params = call.input(0).shape();
  if (batch_dims == 0 && indices.rank() == 2 && indices.dim(1) == 1) {  // rows, as in gather
    cotangents[0] = make_row_sparse(reshape(indices, {indices.dim(0)}), call.cotangent(), params);
    return;
  }
  cotangents[0] = scatter_nd(full_coordinates(indices, batch_dims), call.cotangent(), params);
}

bool batch_gather_nd(const BatchCall& call, std::vector<Tensor>& outputs) {
  GatherNdAttributes attributes = call.attributes<GatherNdAttributes>();
  // Params that are the same for all items are not repeated.
  const bool alike = !call.is_batched(0) && attributes.batch_dims == 0;
  if (alike) return call_again(call, {call.input(0), call.input(1)}, &attributes, outputs);
  ++attributes.batch_dims;
  return call_with_items(call, &attributes, outputs);
}

// --- The scatters ---

// Updates of the shape that indices and the scattered tensor ask for.
void check_updates(std::string_view op, const TensorRef& indices, const TensorRef& updates, const Shape& shape) {
  check_indices(op, indices);
  CAPSTAN_CHECK(indices.rank() > 0, ShapeError, op, ": indices must have an axis of coordinates, the rank is 0",
                arguments({{"indices", indices}, {"updates", updates}}));
  const std::int64_t depth = indices.dim(-1);
  CAPSTAN_CHECK(depth <= shape.rank(), ShapeError, op, ": ", depth, " coordinates for ", shape.rank(), " axes",
                arguments({{"indices", indices}, {"updates", updates}}));
  Shape wanted;
  for (int i = 0; i + 1 < indices.rank(); ++i) wanted.push_back(indices.dim(i));
  for (int i = static_cast<int>(depth); i < shape.rank(); ++i) wanted.push_back(shape[i]);
  CAPSTAN_CHECK(updates.shape() == wanted, ShapeError, op, ": updates must have the shape ", wanted, ", not ",
                updates.shape(), arguments({{"indices", indices}, {"updates", updates}}));
}

struct ScatterNdAttributes {
  Lengths shape;
};

void infer_scatter_nd(const Call& call, OutputSpecs& outputs) {
  const Shape shape = result_shape("scatter_nd", call.attributes<ScatterNdAttributes>().shape);
  check_updates("scatter_nd", call.input(0), call.input(1), shape);
  CAPSTAN_CHECK(call.input(1).dtype() != DType::kBool, DTypeError, "scatter_nd: dtype bool is not supported",
                arguments({{"updates", call.input(1)}}));
  outputs.add(call.input(1).dtype(), shape);
}

void scatter_nd_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& indices = call.input(0);
  const Shape shape = outputs[0].shape();
  const std::vector<std::int64_t> numbers = row_numbers("scatter_nd", indices, shape);
  if (outputs[0].size() == 0) return;
  std::memset(mutable_raw_data(outputs[0]), 0,
              static_cast<std::size_t>(outputs[0].size()) * size_of(outputs[0].dtype()));
  scatter_rows(Scatter::kAdd, outputs[0].dtype(), numbers, product(shape, 0, static_cast<int>(indices.dim(-1))),
               product(shape, static_cast<int>(indices.dim(-1)), shape.rank()), call.input(1).raw_data(),
               mutable_raw_data(outputs[0]));
}

void scatter_nd_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (call.needs(1)) cotangents[1] = gather_nd(call.cotangent(), call.input(0));
}

template <Scatter mode>
void infer_tensor_scatter(const Call& call, OutputSpecs& outputs) {
  const TensorRef& tensor = call.input(0);
  check_updates(call.op.name, call.input(1), call.input(2), tensor.shape());
  CAPSTAN_CHECK(tensor.dtype() == call.input(2).dtype(), DTypeError, call.op.name, ": dtypes differ, ", tensor.dtype(),
                " and ", call.input(2).dtype(), arguments({{"tensor", tensor}, {"updates", call.input(2)}}),
                help("convert one with cast(x, dtype)"));
  constexpr bool compares = mode == Scatter::kMaximum || mode == Scatter::kMinimum;
  const bool takes =
      compares ? tensor.dtype() < DType::kBool : tensor.dtype() != DType::kBool || mode == Scatter::kUpdate;
  CAPSTAN_CHECK(takes, DTypeError, call.op.name, ": dtype ", tensor.dtype(), " is not supported",
                arguments({{"tensor", tensor}}));
  outputs.add(tensor.dtype(), tensor.shape());
}

template <Scatter mode>
void tensor_scatter_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& tensor = call.input(0);
  const Shape shape = tensor.shape();
  const std::vector<std::int64_t> numbers = row_numbers(call.op.name, call.input(1), shape);
  if (tensor.size() == 0) return;
  std::memcpy(mutable_raw_data(outputs[0]), tensor.raw_data(),
              static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype()));
  const auto depth = static_cast<int>(call.input(1).dim(-1));
  scatter_rows(mode, tensor.dtype(), numbers, product(shape, 0, depth), product(shape, depth, shape.rank()),
               call.input(2).raw_data(), mutable_raw_data(outputs[0]));
}

void tensor_scatter_add_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (call.needs(0)) cotangents[0] = call.cotangent();
  if (call.needs(2)) cotangents[2] = gather_nd(call.cotangent(), call.input(1));
}

void tensor_scatter_sub_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (call.needs(0)) cotangents[0] = call.cotangent();
  if (call.needs(2)) cotangents[2] = negative(gather_nd(call.cotangent(), call.input(1)));
}

void tensor_scatter_update_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (call.needs(0)) {
    cotangents[0] = tensor_scatter_nd_update(call.cotangent(), call.input(1), zeros_like(call.input(2)));
  }
  if (call.needs(2)) cotangents[2] = gather_nd(call.cotangent(), call.input(1));
}

// Everyone who holds the extremum of an element has an equal share of its gradient.
void tensor_scatter_extremum_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& indices = call.input(1);
  const Tensor& y = call.output();
  const Tensor& g = call.cotangent();
  const Tensor mine = cast(equal(call.input(0), y), y.dtype());
  const Tensor theirs = cast(equal(call.input(2), gather_nd(y, indices)), y.dtype());
  const Tensor share = divide(g, add(mine, scatter_nd(indices, theirs, y.shape())));
  if (call.needs(0)) cotangents[0] = multiply(share, mine);
  if (call.needs(2)) cotangents[2] = multiply(gather_nd(share, indices), theirs);
}

// The results of all items are one tensor, so the number of its item is before the coordinates of an update.
bool scatter_items(const BatchCall& call, std::size_t indices, const void* attributes, std::vector<Tensor>& outputs) {
  if (!has_room(call)) return false;
  std::vector<Tensor> inputs = all_with_items(call);
  inputs[indices] = full_coordinates(inputs[indices], 1);
  return call_again(call, std::move(inputs), attributes, outputs);
}

bool batch_scatter_nd(const BatchCall& call, std::vector<Tensor>& outputs) {
  const Lengths& item = call.attributes<ScatterNdAttributes>().shape;
  if (item.rank == kMaxRank) return false;
  const ScatterNdAttributes attributes{lengths_with_items(item, call.size)};
  return scatter_items(call, 0, &attributes, outputs);
}

bool batch_tensor_scatter(const BatchCall& call, std::vector<Tensor>& outputs) {
  return scatter_items(call, 1, nullptr, outputs);
}

}  // namespace

// --- The ops ---

constinit const OpDef kGatherNd = {
    .name = "gather_nd",
    .text = "Elements or rows, each picked by a list of coordinates.",
    .flags = kTakesAnyDTypes | kLinear,
    .inputs = "params, indices",
    .attributes = &attribute_table<GatherNdAttributes, "batch_dims">,
    .infer = infer_gather_nd,
    .kernel = gather_nd_kernel,
    .saves = {.inputs = 0b10},
    .vjp = gather_nd_vjp,
    .batch = batch_gather_nd,
};
constinit const OpDef kScatterNd = {
    .name = "scatter_nd",
    .text = "Zeros with updates added at given coordinates.",
    .flags = kTakesAnyDTypes | kLinear,
    .inputs = "indices, updates",
    .attributes = &attribute_table<ScatterNdAttributes, "shape", 1>,
    .infer = infer_scatter_nd,
    .kernel = scatter_nd_kernel,
    .saves = {.inputs = 0b01},
    .vjp = scatter_nd_vjp,
    .batch = batch_scatter_nd,
};
namespace {

template <Scatter mode>
constexpr OpDef tensor_scatter(std::string_view name, std::string_view text, int flags, Saves saves, Vjp vjp) {
  return {.name = name,
          .text = text,
          .flags = static_cast<std::uint16_t>(kTakesAnyDTypes | flags),
          .inputs = "tensor, indices, updates",
          .infer = infer_tensor_scatter<mode>,
          .kernel = tensor_scatter_kernel<mode>,
          .saves = saves,
          .vjp = vjp,
          .batch = batch_tensor_scatter};
}

}  // namespace

constinit const OpDef kTensorScatterNdAdd =
    tensor_scatter<Scatter::kAdd>("tensor_scatter_nd_add", "A tensor with updates added at given coordinates.", kLinear,
                                  {.inputs = 0b010}, tensor_scatter_add_vjp);
constinit const OpDef kTensorScatterNdSub = tensor_scatter<Scatter::kSubtract>(
    "tensor_scatter_nd_sub", "A tensor with updates subtracted at given coordinates.", kLinear, {.inputs = 0b010},
    tensor_scatter_sub_vjp);
constinit const OpDef kTensorScatterNdUpdate = tensor_scatter<Scatter::kUpdate>(
    "tensor_scatter_nd_update", "A tensor with the elements or rows at given coordinates replaced.", kLinear,
    {.inputs = 0b010}, tensor_scatter_update_vjp);
constinit const OpDef kTensorScatterNdMax = tensor_scatter<Scatter::kMaximum>(
    "tensor_scatter_nd_max", "A tensor with the larger of element and update at given coordinates.", kNoFlags,
    {.inputs = 0b111, .outputs = 0b1}, tensor_scatter_extremum_vjp);
constinit const OpDef kTensorScatterNdMin = tensor_scatter<Scatter::kMinimum>(
    "tensor_scatter_nd_min", "A tensor with the smaller of element and update at given coordinates.", kNoFlags,
    {.inputs = 0b111, .outputs = 0b1}, tensor_scatter_extremum_vjp);

Tensor gather_nd(Operand params, Operand indices, int batch_dims) {
  const GatherNdAttributes attributes{batch_dims};
  return apply(kGatherNd, params, indices, &attributes);
}
Tensor scatter_nd(Operand indices, Operand updates, const Shape& shape) {
  const ScatterNdAttributes attributes{pack_lengths("scatter_nd", shape)};
  const IndexOperand number(updates);
  return apply(kScatterNd, indices, number.operand, &attributes);
}
Tensor tensor_scatter_nd_add(Operand tensor, Operand indices, Operand updates) {
  return apply(kTensorScatterNdAdd, tensor, indices, updates);
}
Tensor tensor_scatter_nd_sub(Operand tensor, Operand indices, Operand updates) {
  return apply(kTensorScatterNdSub, tensor, indices, updates);
}
Tensor tensor_scatter_nd_update(Operand tensor, Operand indices, Operand updates) {
  return apply(kTensorScatterNdUpdate, tensor, indices, updates);
}
Tensor tensor_scatter_nd_max(Operand tensor, Operand indices, Operand updates) {
  return apply(kTensorScatterNdMax, tensor, indices, updates);
}
Tensor tensor_scatter_nd_min(Operand tensor, Operand indices, Operand updates) {
  return apply(kTensorScatterNdMin, tensor, indices, updates);
}

CAPSTAN_OPS(scatter, &kGatherNd, &kScatterNd, &kTensorScatterNdAdd, &kTensorScatterNdSub, &kTensorScatterNdUpdate,
            &kTensorScatterNdMax, &kTensorScatterNdMin);

}  // namespace capstan
