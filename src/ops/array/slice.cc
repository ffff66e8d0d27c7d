// NumPy's indexing.
//
// One op, getitem, knows how to select; slice and strided_slice only say the same in other words.
// Its adjoint puts elements back where they were selected from, and is an op as well, so that
// gradients of any order exist: the gradient of either is the other. A selection whose elements lie
// side by side, such as leading rows, shares storage.
#include <cstring>

#include "capstan/ops/array.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/named_errors.h"
#include "src/ops/array/array.h"
#include "src/ops/array/index_list.h"
#include "src/ops/array/layout.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"

namespace capstan {

// --- getitem and its adjoint ---

namespace {

struct GetitemAttributes {
  IndexList index;
};
constexpr const AttributeType& kGetitemAttributes = attribute_table<GetitemAttributes, "index", 1>;

void infer_getitem(const Call& call, OutputSpecs& outputs) {
  const Selection& selection =
      outputs.hand_on([&] { return select(call.attributes<GetitemAttributes>().index, call.input(0)); });
  outputs.add(call.input(0).dtype(), selection.shape);
}

void getitem_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& selection = call.geometry<Selection>();
  const std::int64_t count = selection.shape.size();
  if (count > 0 && selection.contiguous()) {
    outputs[0] = make_view(x, selection.shape, selection.offset);
    return;
  }
  outputs[0] = new_tensor(x.dtype(), selection.shape);
  if (count == 0) return;
  const std::size_t size = size_of(x.dtype());
  strided_copy(mutable_raw_data(outputs[0]),
               static_cast<const std::byte*>(x.raw_data()) + static_cast<std::size_t>(selection.offset) * size,
               std::span(selection.axes, static_cast<std::size_t>(selection.axis_count)), size);
}

extern const OpDef kGetitem;
extern const OpDef kGetitemAdjoint;

void getitem_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (call.needs(0)) {
    cotangents[0] = apply(kGetitemAdjoint, call.cotangent(), call.input(0), call.attribute_data());
  }
}

GetitemAttributes index_of_items(const BatchCall& call) {
  std::vector<Index> items = unpack_index(call.attributes<GetitemAttributes>().index);
  items.insert(items.begin(), Slice{});
  return {pack_index(items)};
}

bool batch_getitem(const BatchCall& call, std::vector<Tensor>& outputs) {
  const GetitemAttributes attributes = index_of_items(call);
  return call_again(call, {call.input(0)}, &attributes, outputs);
}

// Writes the elements of `value` where a selection would read them.
void write_selected(std::byte* data, Selection selection, const TensorRef& value, std::size_t size) {
  for (CopyAxis& axis : selection.axes) std::swap(axis.to, axis.from);
  strided_copy(data + static_cast<std::size_t>(selection.offset) * size, value.raw_data(),
               std::span(selection.axes, static_cast<std::size_t>(selection.axis_count)), size);
}

void infer_getitem_adjoint(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const TensorRef& like = call.input(1);
  const Selection& selection =
      outputs.hand_on([&] { return select(call.attributes<GetitemAttributes>().index, like); });
  CAPSTAN_CHECK(x.shape() == selection.shape, ShapeError, "getitem_adjoint: the index selects the shape ",
                selection.shape, ", not ", x.shape(), arguments({{"x", x}, {"like", like}}));
  outputs.add(x.dtype(), like.shape());
}

void getitem_adjoint_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const Tensor& out = outputs[0];
  const auto& selection = call.geometry<Selection>();
  if (out.size() == 0) return;
  const std::size_t size = size_of(x.dtype());
  auto* data = static_cast<std::byte*>(mutable_raw_data(out));
  if (selection.shape.size() != out.size()) std::memset(data, 0, static_cast<std::size_t>(out.size()) * size);
  if (selection.shape.size() > 0) write_selected(data, selection, x, size);
}

void getitem_adjoint_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (call.needs(0)) cotangents[0] = apply(kGetitem, call.cotangent(), call.attribute_data());
}

bool batch_getitem_adjoint(const BatchCall& call, std::vector<Tensor>& outputs) {
  if (call.item_rank(1) == kMaxRank) return false;
  const GetitemAttributes attributes = index_of_items(call);
  return call_again(call, {call.input(0), shape_with_items(call, 1)}, &attributes, outputs);
}

// --- with_slice: what getitem selects, replaced ---

extern const OpDef kWithSlice;

void infer_with_slice(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const TensorRef& value = call.input(1);
  const Selection& selection = outputs.hand_on([&] { return select(call.attributes<GetitemAttributes>().index, x); });
  CAPSTAN_CHECK(value.shape() == selection.shape, ShapeError, "with_slice: the index selects the shape ",
                selection.shape, ", not ", value.shape(), arguments({{"x", x}, {"value", value}}));
  outputs.add(x.dtype(), x.shape());
}

void with_slice_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const TensorRef& value = call.input(1);
  if (x.size() == 0) return;
  const std::size_t size = size_of(x.dtype());
  auto* data = static_cast<std::byte*>(mutable_raw_data(outputs[0]));
  if (value.size() != x.size()) std::memcpy(data, x.raw_data(), static_cast<std::size_t>(x.size()) * size);
  if (value.size() > 0) write_selected(data, call.geometry<Selection>(), value, size);
}

void with_slice_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (call.needs(0)) {
    cotangents[0] = apply(kWithSlice, call.cotangent(), zeros_like(call.input(1)), call.attribute_data());
  }
  if (call.needs(1)) cotangents[1] = apply(kGetitem, call.cotangent(), call.attribute_data());
}

bool batch_with_slice(const BatchCall& call, std::vector<Tensor>& outputs) {
  const GetitemAttributes attributes = index_of_items(call);
  return call_with_items(call, &attributes, outputs);
}

// --- slice and strided_slice in the words of getitem ---

Tensor slice_by_name(Operand x, std::span<const std::int64_t> begin, std::span<const std::int64_t> size) {
  return slice(x, Shape(begin), Shape(size));
}

// --- The ops ---

constexpr OpDef kGetitem = {
    .name = "getitem",
    .text = "Elements, rows and slices as NumPy selects them.",
    .flags = kReturnsViews | kLinear | kCheapAgain,
    .attributes = &kGetitemAttributes,
    .infer = infer_getitem,
    .kernel = getitem_kernel,
    .vjp = getitem_vjp,
    .batch = batch_getitem,
};
constexpr OpDef kGetitemAdjoint = {
    .name = "getitem_adjoint",
    .text = "Zeros in the shape of another tensor, with elements where an index would select them.",
    .flags = kTakesAnyDTypes | kLinear,
    .inputs = "x, like",
    .attributes = &kGetitemAttributes,
    .infer = infer_getitem_adjoint,
    .kernel = getitem_adjoint_kernel,
    .shape_inputs = 0b10,
    .vjp = getitem_adjoint_vjp,
    .batch = batch_getitem_adjoint,
};
constexpr OpDef kWithSlice = {
    .name = "with_slice",
    .text = "A tensor with the elements that an index selects replaced.",
    .flags = kLinear,
    .inputs = "x, value",
    .attributes = &kGetitemAttributes,
    .infer = infer_with_slice,
    .kernel = with_slice_kernel,
    .vjp = with_slice_vjp,
    .batch = batch_with_slice,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto items = unpack_index(static_cast<const GetitemAttributes*>(attributes)->index);
          outputs.push_back(with_slice(inputs[0], items, inputs[1]));
        },
};
constexpr OpDef kSlice =
    composite<&slice_by_name, "x, begin, size">("slice", "A box of a tensor, given by where it begins and its size.");
constexpr OpDef kStridedSlice =
    composite<&strided_slice,
              "x, begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask",
              NoValue{}>("strided_slice", "Slices with steps, and masks that change the meaning of their items.");

}  // namespace

namespace {

// In a trace a slice of all of an axis has no bounds, whoever wrote them: they are lengths, most often that of a batch,
// and one trace is to serve batches of any size.
std::vector<Index> without_bounds(const Tensor& x, std::span<const Index> indices) {
  std::vector<Index> items(indices.begin(), indices.end());
  int axis = 0;
  for (Index& item : items) {
    if (!x.has_value() || item.kind == Index::Kind::kEllipsis) break;
    if (item.kind == Index::Kind::kNewAxis) continue;
    const bool is_whole = item.kind == Index::Kind::kSlice && axis < x.rank() && item.slice.step == 1 &&
                          item.slice.begin == 0 && item.slice.end == x.dim(axis);
    if (is_whole) item = Index(Slice{});
    ++axis;
  }
  return items;
}

}  // namespace

Tensor getitem(Operand x, std::span<const Index> indices) {
  if (context.tracer != nullptr) {
    const Tensor tensor = to_tensor(x);
    const GetitemAttributes attributes{pack_index(without_bounds(tensor, indices))};
    return apply(kGetitem, tensor, &attributes);
  }
  const GetitemAttributes attributes{pack_index(indices)};
  return apply(kGetitem, x, &attributes);
}

Tensor getitem_adjoint(Operand x, Operand like, std::span<const Index> indices) try {
  const GetitemAttributes attributes{pack_index(indices)};
  return apply(kGetitemAdjoint, x, like, &attributes);
} catch (const Error&) {
  rethrow_as("getitem_adjoint");
}

Tensor slice_replacement(const Tensor& tensor, std::span<const Index> indices, const Operand& value) {
  const Tensor replacement = to_tensor(value, tensor.dtype()).to_dense();
  CAPSTAN_CHECK(replacement.dtype() == tensor.dtype(), DTypeError, "with_slice: dtypes differ, ", tensor.dtype(),
                " and ", replacement.dtype(), arguments({{"x", tensor}, {"value", replacement}}),
                help("convert one with cast(x, dtype)"));
  const Tensor replaced = getitem(tensor, indices);
  return replacement.shape() == replaced.shape() ? replacement : broadcast_like(replacement, replaced);
}

void overwrite_slice(const Tensor& tensor, std::span<const Index> indices, const Tensor& replacement) {
  if (replacement.size() == 0) return;
  write_selected(static_cast<std::byte*>(mutable_raw_data(tensor)), select(pack_index(indices), tensor), replacement,
                 size_of(tensor.dtype()));
}

Tensor with_slice(Operand x, std::span<const Index> indices, Operand value) {
  const GetitemAttributes attributes{pack_index(indices)};
  return with_errors_of("with_slice", [&] {
    const Tensor tensor = to_tensor(x);
    return apply(kWithSlice, tensor, slice_replacement(tensor, indices, value), &attributes);
  });
}

Tensor slice(Operand x, const Shape& begin, const Shape& size) try {
  const Tensor tensor = to_tensor(x);
  CAPSTAN_CHECK(begin.rank() == tensor.rank() && size.rank() == tensor.rank(), ShapeError, "slice: ", begin.rank(),
                " begins and ", size.rank(), " sizes for ", tensor.rank(), " axes", arguments({{"x", tensor}}));
  std::vector<Index> items;
  for (int i = 0; i < tensor.rank(); ++i) {
    const std::int64_t length = tensor.dim(i);
    CAPSTAN_CHECK(begin[i] >= 0 && begin[i] <= length, IndexError, "slice: begin ", begin[i],
                  " is out of range for axis ", i, " of length ", length, arguments({{"x", tensor}}));
    CAPSTAN_CHECK(size[i] >= -1 && size[i] <= length - begin[i], IndexError, "slice: begin ", begin[i], " and size ",
                  size[i], " exceed length ", length, " at axis ", i, arguments({{"x", tensor}}));
    items.emplace_back(Slice{begin[i], size[i] == -1 ? length : begin[i] + size[i]});
  }
  return getitem(tensor, items);
} catch (const Error&) {
  rethrow_as("slice");
}

Tensor strided_slice(Operand x, std::span<const std::int64_t> begin, std::span<const std::int64_t> end,
                     std::span<const std::int64_t> strides, const StridedSliceMasks& masks) try {
  CAPSTAN_CHECK(begin.size() == end.size() && (strides.empty() || strides.size() == begin.size()), ValueError,
                "strided_slice: ", begin.size(), " begins, ", end.size(), " ends and ",
                strides.empty() ? begin.size() : strides.size(), " strides");
  std::vector<Index> items;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    const auto masked = [i](std::int64_t mask) { return (mask >> i & 1) != 0; };
    if (masked(masks.ellipsis)) {
      items.emplace_back(ellipsis);
    } else if (masked(masks.new_axis)) {
      items.emplace_back(newaxis);
    } else if (masked(masks.shrink_axis)) {
      items.emplace_back(static_cast<long>(begin[i]));
    } else {
      items.emplace_back(Slice{masked(masks.begin) ? Slice::kEdge : begin[i], masked(masks.end) ? Slice::kEdge : end[i],
                               strides.empty() ? 1 : strides[i]});
    }
  }
  return getitem(x, items);
} catch (const Error&) {
  rethrow_as("strided_slice");
}

std::optional<Layout> layout_of_slice(const Call& call) {
  const bool adjoint = &call.op == &kGetitemAdjoint;
  if (!adjoint && &call.op != &kGetitem) return std::nullopt;
  const TensorRef& whole = call.input(adjoint ? 1 : 0);
  const Selection selection = select(call.attributes<GetitemAttributes>().index, whole);
  const std::int64_t count = selection.shape.size();
  if (count == 0 || !selection.contiguous()) return std::nullopt;
  if (!adjoint) return Layout{.from = selection.offset};
  return Layout{.before = selection.offset, .after = whole.size() - selection.offset - count};
}

CAPSTAN_OPS(slice, &kGetitem, &kGetitemAdjoint, &kWithSlice, &kSlice, &kStridedSlice);

}  // namespace capstan
