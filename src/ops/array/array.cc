// Joining and cutting.
//
// Every op here moves elements and computes nothing: a part is a number of runs, one strided copy.
// What is cut off along the first axis shares storage.
#include <cstring>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/kernels/array/strided_copy.h"
#include "src/ops/array/array.h"
#include "src/ops/axes.h"
#include "src/ops/axis.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/lengths.h"
#include "src/ops/identities.h"

namespace capstan {

namespace {

struct AxisAttributes {
  Axis axis = 0;
};

// Copies `outer` runs of `run` elements; a run begins every `to_step` (`from_step`) elements.
void copy_runs(std::byte* to, const std::byte* from, std::int64_t outer, std::int64_t run, std::int64_t to_step,
               std::int64_t from_step, std::size_t size) {
  const CopyAxis axes[] = {{outer, to_step, from_step}, {run, 1, 1}};
  strided_copy(to, from, axes, size);
}

// --- concat ---

void infer_concat(const Call& call, OutputSpecs& outputs) {
  CAPSTAN_CHECK(call.input_count() > 0, ValueError, "concat: there are no tensors");
  const TensorRef& first = call.input(0);
  CAPSTAN_CHECK(first.rank() > 0, ShapeError, "concat: scalars have no axis to join", help("stack makes a new axis"));
  const int axis = normalize_axis("concat", call.attributes<AxisAttributes>().axis, first.rank());
  Shape shape = first.shape();
  for (int i = 1; i < call.input_count(); ++i) {
    const TensorRef& x = call.input(i);
    bool fits = x.rank() == first.rank();
    for (int k = 0; fits && k < x.rank(); ++k) fits = k == axis || x.dim(k) == first.dim(k);
    CAPSTAN_CHECK(fits, ShapeError, "concat: shapes differ beside axis ", axis, ", ", first.shape(), " and ",
                  x.shape());
    shape.set(axis, shape[axis] + x.dim(axis));
  }
  outputs.add(first.dtype(), shape);
  outputs.hand_on(view_around(shape, axis));
}

void concat_kernel(const Call& call, std::span<Tensor> outputs) {
  const auto [outer, n, inner] = call.geometry<AxisView>();
  if (outer == 0) return;
  std::int64_t offset = 0;
  for (const TensorRef& x : call.inputs) {
    const std::int64_t run = x.size() / outer;
    copy_runs(bytes_of(outputs[0], offset), bytes_of(x), outer, run, n * inner, run, size_of(x.dtype()));
    offset += run;
  }
}

// Rows `begin` to `end` of a row-sparse cotangent, or those columns of all its rows.
Tensor sparse_part_of(const Tensor& g, int axis, std::int64_t begin, std::int64_t end, const Shape& shape) {
  if (axis > 0) return make_row_sparse(g.indices(), part_of(g.values(), axis, begin, end), shape);
  const Tensor indices = g.indices();
  const Tensor here = logical_and(greater_equal(indices, begin), less(indices, end));
  const Tensor values = g.values();
  if (has_elements(indices) && has_elements(values)) {
    return make_row_sparse(boolean_mask(indices, here) - begin, boolean_mask(values, here), shape);
  }
  // In a trace lengths cannot depend on values: other rows stay, as zeros in the first row.
  if (begin == end) return zeros(shape, g.dtype());
  const Tensor mask = reshape(here, {-1, 1});
  const Tensor flat = where(mask, reshape(values, {indices.dim(0), -1}), zeros({}, g.dtype()));
  return make_row_sparse(where(here, indices - begin, zeros({}, indices.dtype())), reshape_like(flat, values), shape);
}

void concat_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  const int axis = normalize_axis("concat", call.attributes<AxisAttributes>().axis, call.input(0).rank());
  const Tensor& g = call.cotangent();
  std::int64_t begin = 0;
  for (int i = 0; i < call.input_count(); ++i) {
    const std::int64_t end = begin + call.input(i).dim(axis);
    if (call.needs(i)) {
      cotangents[static_cast<std::size_t>(i)] =
          g.is_row_sparse() ? sparse_part_of(g, axis, begin, end, call.input(i).shape()) : part_of(g, axis, begin, end);
    }
    begin = end;
  }
}

// --- stack, unstack ---

void infer_stack(const Call& call, OutputSpecs& outputs) {
  CAPSTAN_CHECK(call.input_count() > 0, ValueError, "stack: there are no tensors");
  const TensorRef& first = call.input(0);
  const int axis = normalize_axis("stack", call.attributes<AxisAttributes>().axis, first.rank() + 1);
  for (int i = 1; i < call.input_count(); ++i) {
    CAPSTAN_CHECK(call.input(i).shape() == first.shape(), ShapeError, "stack: shapes differ, ", first.shape(), " and ",
                  call.input(i).shape());
  }
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(first.dim(i));
  shape.push_back(call.input_count());
  for (int i = axis; i < first.rank(); ++i) shape.push_back(first.dim(i));
  outputs.add(first.dtype(), shape);
  outputs.hand_on(view_around(shape, axis));
}

void stack_kernel(const Call& call, std::span<Tensor> outputs) {
  const auto [outer, n, inner] = call.geometry<AxisView>();
  for (int i = 0; i < call.input_count(); ++i) {
    copy_runs(bytes_of(outputs[0], i * inner), bytes_of(call.input(i)), outer, inner, n * inner, inner,
              size_of(outputs[0].dtype()));
  }
}

void stack_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  const int axis = normalize_axis("stack", call.attributes<AxisAttributes>().axis, call.input(0).rank() + 1);
  std::vector<Index> items(static_cast<std::size_t>(axis) + 1, Slice{});
  for (int i = 0; i < call.input_count(); ++i) {
    items.back() = i;
    if (call.needs(i)) cotangents[static_cast<std::size_t>(i)] = getitem(call.cotangent(), items);
  }
}

struct UnstackAttributes {
  Axis axis = 0;
  OptionalInt num;
};

struct UnstackGeometry {
  AxisView whole;
  Shape part;
};

void infer_unstack(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<UnstackAttributes>();
  CAPSTAN_CHECK(x.rank() > 0, ShapeError, "unstack: a scalar has no axis to unstack", arguments({{"x", x}}));
  const int axis = normalize_axis("unstack", attributes.axis, x.rank());
  const std::int64_t length = x.dim(axis);
  CAPSTAN_CHECK(!attributes.num.has_value || attributes.num.value == length, ShapeError, "unstack: num is ",
                attributes.num.value, ", the length of axis ", axis, " is ", length, arguments({{"x", x}}));
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis) shape.push_back(x.dim(i));
  }
  for (std::int64_t i = 0; i < length; ++i) outputs.add(x.dtype(), shape);
  outputs.hand_on(UnstackGeometry{view_around(x.shape(), axis), shape});
}

// One part of a cut along an axis: a view if nothing lies between its elements.
Tensor cut(const TensorRef& x, const Shape& shape, std::int64_t outer, std::int64_t run, std::int64_t step,
           std::int64_t offset) {
  if (outer == 1) return make_view(x, shape, offset);
  Tensor part = new_tensor(x.dtype(), shape);
  copy_runs(bytes_of(part), bytes_of(x, offset), outer, run, run, step, size_of(x.dtype()));
  return part;
}

void unstack_kernel(const Call& call, std::span<Tensor> outputs) {
  const auto& [whole, part] = call.geometry<UnstackGeometry>();
  const auto [outer, n, inner] = whole;
  std::int64_t offset = 0;
  for (Tensor& output : outputs) {
    output = cut(call.input(0), part, outer, inner, n * inner, offset);
    offset += inner;
  }
}

// The cotangents of all outputs; zeros where nothing flowed.
std::vector<Tensor> all_cotangents(const VjpCall& call, std::int64_t count) {
  std::vector<Tensor> all;
  for (int i = 0; i < count; ++i) all.push_back(call.cotangent(i));
  return all;
}

void unstack_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const int axis = normalize_axis("unstack", call.attributes<UnstackAttributes>().axis, call.input(0).rank());
  const std::int64_t length = call.input(0).dim(axis);
  cotangents[0] = length == 0 ? zeros_like(call.input(0)) : stack(all_cotangents(call, length), axis);
}

// --- split ---

// A number of equal parts, or their sizes.
struct Parts {
  std::int64_t count = 0;
  IntList sizes;
};
void set_field(Parts& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  const std::vector<std::int64_t> numbers = integers_of(value, op, name);
  if (value.kind == AttributeValue::Kind::kInt) {
    field = {numbers[0], {}};
  } else {
    field = {0, intern(numbers)};
  }
}
AttributeValue get_field(const Parts& field) {
  return field.sizes.has_value() ? list_of(field.sizes.span()) : AttributeValue(field.count);
}

struct SplitAttributes {
  Parts sizes;
  Axis axis = 0;
};

std::vector<std::int64_t> part_sizes(const SplitAttributes& attributes, const TensorRef& x, int axis) {
  const std::int64_t length = x.dim(axis);
  const std::int64_t count = attributes.sizes.count;
  if (!attributes.sizes.sizes.has_value()) {
    CAPSTAN_CHECK(count > 0, ValueError, "split: ", count, " parts, not at least 1", arguments({{"x", x}}));
    CAPSTAN_CHECK(length % count == 0, ShapeError, "split: length ", length, " of axis ", axis,
                  " does not divide into ", count, " equal parts", arguments({{"x", x}}));
    // Any number divides no elements, but that many tensors must still exist.
    CAPSTAN_CHECK(length > 0 || count <= 65536, ValueError, "split: ", count, " parts of no elements",
                  arguments({{"x", x}}));
    return std::vector<std::int64_t>(static_cast<std::size_t>(count), length / count);
  }
  std::vector<std::int64_t> sizes =
      attributes.sizes.sizes.span().empty() ? std::vector<std::int64_t>() : *attributes.sizes.sizes.list;
  std::int64_t known = 0;
  std::int64_t* rest = nullptr;
  for (std::int64_t& size : sizes) {
    CAPSTAN_CHECK(size >= -1 && size <= length, ShapeError, "split: size ", size, " does not fit length ", length,
                  " of axis ", axis, arguments({{"x", x}}));
    CAPSTAN_CHECK(size != -1 || rest == nullptr, ValueError, "split: more than one size is -1");
    if (size == -1) {
      rest = &size;
    } else {
      known += size;
    }
  }
  CAPSTAN_CHECK(rest != nullptr ? known <= length : known == length, ShapeError, "split: the sizes add up to ", known,
                ", the length of axis ", axis, " is ", length, arguments({{"x", x}}));
  if (rest != nullptr) *rest = length - known;
  return sizes;
}

void infer_split(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<SplitAttributes>();
  const int axis = normalize_axis("split", attributes.axis, x.rank());
  Shape shape = x.shape();
  for (std::int64_t size : part_sizes(attributes, x, axis)) {
    shape.set(axis, size);
    outputs.add(x.dtype(), shape);
  }
}

void split_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<SplitAttributes>();
  const Shape whole = x.shape();
  const int axis = normalize_axis("split", attributes.axis, x.rank());
  const std::int64_t inner = product(whole, axis + 1, whole.rank());
  Shape shape = whole;
  std::int64_t offset = 0;
  std::size_t i = 0;
  for (std::int64_t size : part_sizes(attributes, x, axis)) {
    shape.set(axis, size);
    outputs[i++] = cut(x, shape, product(whole, 0, axis), size * inner, whole[axis] * inner, offset);
    offset += size * inner;
  }
}

void split_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const auto& attributes = call.attributes<SplitAttributes>();
  const int axis = normalize_axis("split", attributes.axis, call.input(0).rank());
  const auto count = static_cast<std::int64_t>(part_sizes(attributes, call.input(0), axis).size());
  cotangents[0] = count == 0 ? zeros_like(call.input(0)) : concat(all_cotangents(call, count), axis);
}

// --- The ops ---

// The one that is not empty.
Expressions::Value only_part(const Expressions& graph, const Expressions::Call& call) {
  for (const Expressions::Value input : call.inputs) {
    if (graph.shape(input).size() == graph.shape(call.result).size()) return input;
  }
  return Expressions::kNone;
}

constexpr OpDef kConcat = {
    .name = "concat",
    .text = "Tensors joined along an axis.",
    .flags = kKeepsRowSparse | kLinear | kCheapAgain,
    .inputs = {"tensors", kVariadic},
    .attributes = &attribute_table<AxisAttributes, "axis", 1>,
    .infer = infer_concat,
    .kernel = concat_kernel,
    .vjp = concat_vjp,
    .batch = batch_axis<&AxisAttributes::axis>,
    .programs = &kWithIdentity<only_part>,
};
constexpr OpDef kStack = {
    .name = "stack",
    .text = "Tensors of one shape side by side along a new axis.",
    .flags = kLinear | kCheapAgain,
    .inputs = {"tensors", kVariadic},
    .attributes = &attribute_table<AxisAttributes, "axis">,
    .infer = infer_stack,
    .kernel = stack_kernel,
    .vjp = stack_vjp,
    .batch = batch_axis<&AxisAttributes::axis>,
    .programs = &kWithIdentity<only_part>,
};
constexpr OpDef kUnstack = {
    .name = "unstack",
    .text = "The slices of a tensor along an axis, without that axis.",
    .flags = kReturnsViews | kLinear,
    .outputs = kVariadic,
    .attributes = &attribute_table<UnstackAttributes, "axis, num">,
    .infer = infer_unstack,
    .kernel = unstack_kernel,
    .vjp = unstack_vjp,
    .batch = batch_axis<&UnstackAttributes::axis>,
};
constexpr OpDef kSplit = {
    .name = "split",
    .text = "Parts of a tensor along an axis.",
    .flags = kReturnsViews | kLinear,
    .outputs = kVariadic,
    .attributes = &attribute_table<SplitAttributes, "sizes, axis", 1>,
    .infer = infer_split,
    .kernel = split_kernel,
    .vjp = split_vjp,
    .batch = batch_axis<&SplitAttributes::axis>,
};
}  // namespace

Tensor concat(Operands tensors, int axis) {
  const AxisAttributes attributes{axis};
  return apply(kConcat, tensors.span(), &attributes);
}
Tensor stack(Operands tensors, int axis) {
  const AxisAttributes attributes{axis};
  return apply(kStack, tensors.span(), &attributes);
}
std::vector<Tensor> unstack(Operand x, int axis) {
  const UnstackAttributes attributes{axis, {}};
  return apply_all(kUnstack, std::span(&x, 1), &attributes);
}
std::vector<Tensor> split(Operand x, int parts, int axis) {
  const SplitAttributes attributes{{parts, {}}, axis};
  return apply_all(kSplit, std::span(&x, 1), &attributes);
}
std::vector<Tensor> split(Operand x, std::span<const std::int64_t> sizes, int axis) {
  const SplitAttributes attributes{{0, intern(sizes)}, axis};
  return apply_all(kSplit, std::span(&x, 1), &attributes);
}

bool stacks_in_front(const OpDef& op, const void* attributes, int rank) {
  return &op == &kStack && normalize_axis("stack", static_cast<const AxisAttributes*>(attributes)->axis, rank) == 0;
}
bool unstacks_in_front(const OpDef& op, const void* attributes, int rank) {
  return &op == &kUnstack &&
         normalize_axis("unstack", static_cast<const UnstackAttributes*>(attributes)->axis, rank) == 0;
}

CAPSTAN_OPS(array, &kConcat, &kStack, &kUnstack, &kSplit);

}  // namespace capstan
