// Picking rows by integer indices.
//
// The gradient of a gather along the first axis is row-sparse: it holds the rows that were picked,
// not a table of zeros around them. It becomes dense by a scatter, which is an op like any other,
// so that a recorded one has second derivatives. Indices are checked before anything is written.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/named_errors.h"
#include "src/kernels/array/gather.h"
#include "src/ops/array/shape.h"
#include "src/ops/axes.h"
#include "src/ops/axis.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/indices.h"

namespace capstan {

namespace {

// --- gather ---

struct GatherAttributes {
  OptionalAxis axis;
  std::int64_t batch_dims = 0;
};

// The axes that the tensors have in common, and the one that is picked from.
struct GatherPlan {
  int batch_dims;
  int axis;
  GatherSizes sizes;
};

GatherPlan plan_gather(const Shape& params, const Shape& indices, const GatherAttributes& attributes) {
  GatherPlan plan;
  CAPSTAN_CHECK(params.rank() > 0, ShapeError, "gather: params must have an axis to gather from, the rank is 0");
  CAPSTAN_CHECK(attributes.batch_dims >= -indices.rank() && attributes.batch_dims <= indices.rank(), IndexError,
                "gather: batch_dims ", attributes.batch_dims, " is out of range for indices of rank ", indices.rank());
  plan.batch_dims =
      static_cast<int>(attributes.batch_dims < 0 ? attributes.batch_dims + indices.rank() : attributes.batch_dims);
  plan.axis = normalize_axis("gather", attributes.axis.value_or(plan.batch_dims), params.rank());
  CAPSTAN_CHECK(plan.batch_dims <= plan.axis, IndexError, "gather: batch_dims ", plan.batch_dims, " exceeds the axis, ",
                plan.axis);
  for (int i = 0; i < plan.batch_dims; ++i) {
    CAPSTAN_CHECK(params[i] == indices[i], ShapeError, "gather: lengths of batch axis ", i, " differ, ", params[i],
                  " and ", indices[i]);
  }
  plan.sizes.batch = product(params, 0, plan.batch_dims);
  plan.sizes.outer = product(params, plan.batch_dims, plan.axis);
  plan.sizes.length = params[plan.axis];
  plan.sizes.inner = product(params, plan.axis + 1, params.rank());
  plan.sizes.count = product(indices, plan.batch_dims, indices.rank());
  return plan;
}

void infer_gather(const Call& call, OutputSpecs& outputs) {
  const Shape params = call.input(0).shape();
  const Shape indices = call.input(1).shape();
  check_indices("gather", call.input(1));
  const GatherPlan& plan =
      outputs.hand_on([&] { return plan_gather(params, indices, call.attributes<GatherAttributes>()); });
  Shape shape;
  for (int i = 0; i < plan.axis; ++i) shape.push_back(params[i]);
  for (int i = plan.batch_dims; i < indices.rank(); ++i) shape.push_back(indices[i]);
  for (int i = plan.axis + 1; i < params.rank(); ++i) shape.push_back(params[i]);
  outputs.add(call.input(0).dtype(), shape);
}

void gather_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& params = call.input(0);
  const auto& plan = call.geometry<GatherPlan>();
  with_indices(call.input(1), [&](const auto* indices) {
    for (std::int64_t i = 0; i < plan.sizes.batch * plan.sizes.count; ++i) {
      if (indices[i] < 0 || indices[i] >= plan.sizes.length)
        throw_index("gather", indices[i], plan.axis, plan.sizes.length);
    }
    gather_rows(plan.sizes, size_of(params.dtype()), indices, params.raw_data(), mutable_raw_data(outputs[0]));
  });
}

void gather_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const Shape params = call.input(0).shape();
  const Tensor& indices = call.input(1);
  const Tensor& g = call.cotangent();
  const GatherPlan plan = plan_gather(params, indices.shape(), call.attributes<GatherAttributes>());
  if (plan.axis == 0) {
    // How many rows there are is left open, for functions that serve several lengths, where that can be told.
    Shape rows{plan.sizes.inner > 0 ? -1 : plan.sizes.count};
    for (int i = 1; i < params.rank(); ++i) rows.push_back(params[i]);
    cotangents[0] = make_row_sparse(reshape(indices, {-1}), reshape(g, rows), params);
    return;
  }
  // Rows of all batches in one table: the picked axis comes first, and an index counts from its
  // batch's first row.
  const auto swapped = [&](const Tensor& x) { return plan.sizes.outer == 1 ? x : transpose(x, {0, 2, 1, 3}); };
  Tensor rows = swapped(reshape(g, {plan.sizes.batch, plan.sizes.outer, plan.sizes.count, plan.sizes.inner}));
  rows = reshape(rows, {plan.sizes.batch * plan.sizes.count, plan.sizes.outer * plan.sizes.inner});
  const Tensor first = scalar(static_cast<double>(plan.sizes.length), DType::kInt64);
  const Tensor starts =
      reshape(multiply(cast(range(static_cast<long>(plan.sizes.batch)), DType::kInt64), first), {plan.sizes.batch, 1});
  const Tensor places = add(cast(reshape(indices, {plan.sizes.batch, plan.sizes.count}), DType::kInt64), starts);
  Tensor table = scatter_nd(reshape(places, {plan.sizes.batch * plan.sizes.count, 1}), rows,
                            {plan.sizes.batch * plan.sizes.length, plan.sizes.outer * plan.sizes.inner});
  table = swapped(reshape(table, {plan.sizes.batch, plan.sizes.length, plan.sizes.outer, plan.sizes.inner}));
  cotangents[0] = reshape_like(table, call.input(0));
}

bool batch_gather(const BatchCall& call, std::vector<Tensor>& outputs) {
  const auto& item = call.attributes<GatherAttributes>();
  const int batch_dims = static_cast<int>(item.batch_dims) + (item.batch_dims < 0 ? call.item_rank(1) : 0);
  const int axis = normalize_axis("gather", item.axis.value_or(batch_dims), std::max(call.item_rank(0), 1));
  if (call.is_batched(0)) {
    // Indices that are the same for all items need no copies, unless they go along with axes of params.
    const bool alike = !call.is_batched(1) && batch_dims == 0;
    if (!alike && !has_room(call)) return false;
    const GatherAttributes attributes{axis + 1, alike ? 0 : batch_dims + 1};
    return call_again(call, {call.input(0), alike ? call.input(1) : with_items(call, 1)}, &attributes, outputs);
  }
  // Params that are the same for all items are not repeated: the items are an axis of indices like any other.
  const GatherAttributes attributes{axis, batch_dims};
  call_again(call, {call.input(0), move_axis(call.input(1), 0, batch_dims)}, &attributes, outputs);
  outputs[0] = move_axis(outputs[0], axis, 0);
  return true;
}

// --- The ops ---

constexpr OpDef kGather = {
    .name = "gather",
    .text = "Rows along an axis, picked by integer indices.",
    .flags = kTakesAnyDTypes | kLinear | kCheapAgain,
    .inputs = "params, indices",
    .attributes = &attribute_table<GatherAttributes, "axis, batch_dims">,
    .infer = infer_gather,
    .kernel = gather_kernel,
    .saves = {.inputs = 0b10},
    .vjp = gather_vjp,
    .batch = batch_gather,
};
constexpr OpDef kEmbeddingLookup =
    composite<&embedding_lookup, "params, ids">("embedding_lookup", "Rows of a table, picked by integer ids.");

// What somebody who watches or captures a row-sparse tensor sees of to_dense(): one op, whose gradient has all rows.
constexpr OpDef kToDense = {
    .name = "to_dense",
    .text = "A row-sparse tensor as a dense one; never applied but to tangents.",
    .flags = kReturnsViews | kLinear,
    .infer = infer_first,
    .kernel = view_first,
    .vjp = [](const VjpCall& call, std::span<Tensor> cotangents) { cotangents[0] = call.cotangent(); },
};

}  // namespace

Tensor gather(Operand params, Operand indices, std::optional<int> axis, int batch_dims) {
  GatherAttributes attributes{.batch_dims = batch_dims};
  if (axis) attributes.axis = *axis;
  const IndexOperand index(indices);
  return apply(kGather, params, index.operand, &attributes);
}
Tensor embedding_lookup(Operand params, Operand ids) try { return gather(params, ids, 0); } catch (const Error&) {
  rethrow_as("embedding_lookup");
}

// Repeated rows add up. Recorded like any op: rows that come from recorded ops have derivatives.
Tensor Tensor::to_dense() const {
  if (!is_row_sparse()) return *this;
  const Tensor rows = indices();
  Tensor dense = scatter_nd(reshape(rows, {-1, 1}), values(), shape());
  if (context.observers != nullptr) {
    const ObservedInput input{block_, block_->node};
    notify(context.observers, ObservedCall{kToDense, std::span(&input, 1), nullptr, std::span(&dense, 1)});
  }
  return dense;
}

CAPSTAN_OPS(index, &kGather, &kEmbeddingLookup);

}  // namespace capstan
