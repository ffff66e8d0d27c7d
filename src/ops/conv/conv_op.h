// What the convolution ops of two and three axes have in common: attributes, checks, kernels, rules, references.
//
// Convolution and its two gradients are closed under differentiation: each is linear in both operands, and the
// gradient of each for either operand is one of the three. So derivatives of any order exist, and all of them run on
// the same kernels. R is the number of image axes.
//
// Either operand of each may have one more axis in front, of items: then the op is done for each of them, with the
// operand that lacks the axis the same for all, and the result has the axis. That is what a gradient for the filters
// of every single example is made with. Rules need not know: the cotangent of an operand without the axis is summed
// over it, as over any axis along which an operand is repeated.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/nn.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/op_for_programs.h"
#include "src/core/thread_pool.h"
#include "src/kernels/conv/conv.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/wide.h"
#include "src/ops/window.h"
#include "src/ops/window_lengths.h"

namespace capstan {

template <int R>
struct ConvAttributes {
  PerAxis<R> strides;
  PackedPadding padding;
  PerAxis<R> dilations;
};
template <int R>
struct BackpropAttributes : ConvAttributes<R> {
  ExactLengths<R + 2> sizes;
};

// The OpDefs of R axes.
template <int R>
struct ConvOps {
  static const OpDef& forward();
  static const OpDef& backprop_input();
  static const OpDef& backprop_filter();
};

template <int R, NameList kSizes>
constexpr AttributeField kBackpropFields[] = {field<&BackpropAttributes<R>::sizes>(kSizes.view(), true),
                                              field<&ConvAttributes<R>::strides, BackpropAttributes<R>>("strides"),
                                              field<&ConvAttributes<R>::padding, BackpropAttributes<R>>("padding"),
                                              field<&ConvAttributes<R>::dilations, BackpropAttributes<R>>("dilations")};
template <int R, NameList kSizes>
constexpr const AttributeType& kBackpropAttributes = attribute_type<BackpropAttributes<R>, kBackpropFields<R, kSizes>>;

// An operand's shape without the axis of items, if it has one.
template <int R>
Shape item_of(const Shape& shape) {
  return shape.rank() == R + 3 ? Shape(shape.dims().last(R + 2)) : shape;
}

// The number of items; -1 if neither operand has such an axis. `rank` is that of operands which have.
inline std::int64_t items_of(const Call& call, int rank) {
  std::int64_t items = -1;
  for (const TensorRef& x : call.inputs) {
    if (x.rank() != rank) continue;
    CAPSTAN_CHECK(items < 0 || items == x.dim(0), ShapeError, call.op.name, ": the first axes differ, ", items, " and ",
                  x.dim(0), " items", arguments({{"a", call.input(0)}, {"b", call.input(1)}}));
    items = x.dim(0);
  }
  return items;
}
template <int R>
void add_output(const Call& call, const Shape& item, OutputSpecs& outputs) {
  const std::int64_t items = items_of(call, R + 3);
  Shape shape;
  if (items >= 0) shape.push_back(items);
  for (const std::int64_t length : item) shape.push_back(length);
  outputs.add(call.input(0).dtype(), shape);
}

// Checks everything and computes the sizes. `shown` lists the operands for messages.
template <int R, class Shown>
ConvShape conv_shape(const OpDef& op, const Shape& x, const Shape& filters, const ConvAttributes<R>& attributes,
                     const Shown& shown) {
  constexpr const char* kAxes = R == 2 ? "height, width" : "depth, height, width";
  CAPSTAN_CHECK(x.rank() == R + 2, ShapeError, op.name, ": images need rank ", R + 2, " (batch, ", kAxes,
                ", channels), not ", x.rank(), shown());
  CAPSTAN_CHECK(filters.rank() == R + 2, ShapeError, op.name, ": filters need rank ", R + 2, " (", kAxes,
                ", in, out), not ", filters.rank(), shown());
  CAPSTAN_CHECK(attributes.strides.all_positive(), ValueError, op.name, ": strides must be 1 or more, not ",
                attributes.strides.text());
  CAPSTAN_CHECK(attributes.dilations.all_positive(), ValueError, op.name, ": dilations must be 1 or more, not ",
                attributes.dilations.text());
  CAPSTAN_CHECK(R == 2 || attributes.padding.kind != Padding::Kind::kExplicit, ValueError, op.name,
                ": padding must be \"SAME\" or \"VALID\" for three axes");
  const std::int64_t channels = x[R + 1];
  const std::int64_t in = filters[R];
  const std::int64_t out = filters[R + 1];
  CAPSTAN_CHECK(channels == in || (in > 0 && channels > 0 && channels % in == 0), ShapeError, op.name, ": images have ",
                channels, " channels, filters take ", in, shown());
  ConvShape shape;
  shape.groups = channels == in ? 1 : channels / in;
  CAPSTAN_CHECK(out % shape.groups == 0, ShapeError, op.name, ": ", out, " filters do not divide into ", shape.groups,
                " groups", shown());
  shape.batch = x[0];
  shape.in_channels = channels;
  shape.out_channels = out;
  for (int i = 0; i < R; ++i) {
    const int axis = i + 3 - R;
    const std::int64_t window = filters[i];
    CAPSTAN_CHECK(window > 0, ShapeError, op.name, ": filters need a length along every axis, theirs is ", filters,
                  shown());
    shape.in[axis] = x[i + 1];
    shape.kernel[axis] = window;
    shape.stride[axis] = attributes.strides.at[i];
    shape.dilation[axis] = attributes.dilations.at[i];
    const WindowAxis slid = slide(x[i + 1], dilated_window(op.name, window, shape.dilation[axis]), shape.stride[axis],
                                  attributes.padding, R == 2 ? i : 0);
    // A stride that leaves the image with its first step is as good as any other, and kernels set memory aside by it.
    shape.stride[axis] =
        std::min<std::int64_t>(shape.stride[axis], std::max<std::int64_t>(1, x[i + 1] + slid.before + window));
    shape.out[axis] = slid.count;
    shape.pad[axis] = slid.before;
  }
  return shape;
}

template <int R>
Shape result_shape(const ConvShape& s) {
  Shape shape{s.batch};
  for (int axis = 3 - R; axis < 3; ++axis) shape.push_back(s.out[axis]);
  shape.push_back(s.out_channels);
  return shape;
}

inline void check_conv_dtype(const Call& call) {
  const DType dtype = call.input(0).dtype();
  CAPSTAN_CHECK(is_floating(dtype) || dtype == DType::kInt32, DTypeError, call.op.name, ": dtype ", dtype,
                " is not supported");
}

template <int R>
ConvShape forward_shape(const Call& call) {
  return conv_shape<R>(call.op, item_of<R>(call.input(0).shape()), item_of<R>(call.input(1).shape()),
                       call.attributes<ConvAttributes<R>>(), [&] {
                         return arguments({{"x", call.input(0)}, {"filters", call.input(1)}});
                       });
}
// The shape that a call says, where an open batch is that of the gradient.
template <int R>
Shape sizes_of(const Call& call) {
  Shape sizes = call.attributes<BackpropAttributes<R>>().sizes.shape();
  const Shape g = item_of<R>(call.input(1).shape());
  if (sizes[0] == -1 && g.rank() > 0) sizes.set(0, g[0]);
  return sizes;
}
template <int R>
ConvShape backprop_input_shape(const Call& call) {
  const auto& attributes = call.attributes<BackpropAttributes<R>>();
  return conv_shape<R>(call.op, sizes_of<R>(call), item_of<R>(call.input(0).shape()), attributes, [&] {
    return arguments({{"filters", call.input(0)}, {"out_backprop", call.input(1)}});
  });
}
template <int R>
ConvShape backprop_filter_shape(const Call& call) {
  const auto& attributes = call.attributes<BackpropAttributes<R>>();
  const Shape sizes = attributes.sizes.shape();
  CAPSTAN_CHECK(sizes[0] >= 0, ShapeError, call.op.name, ": negative length ", sizes[0], " in ", sizes);
  return conv_shape<R>(call.op, item_of<R>(call.input(0).shape()), sizes, attributes, [&] {
    return arguments({{"x", call.input(0)}, {"out_backprop", call.input(1)}});
  });
}

template <int R>
void infer_conv(const Call& call, OutputSpecs& outputs) {
  check_conv_dtype(call);
  add_output<R>(call, result_shape<R>(outputs.hand_on([&] { return forward_shape<R>(call); })), outputs);
}
// The gradient must have the shape that the forward convolution would give.
template <int R>
void infer_backprop(const Call& call, ConvShape (*shape_of)(const Call&), std::string_view first,
                    OutputSpecs& outputs) {
  check_conv_dtype(call);
  const Shape due = result_shape<R>(outputs.hand_on([&] { return shape_of(call); }));
  CAPSTAN_CHECK(item_of<R>(call.input(1).shape()) == due, ShapeError, call.op.name, ": out_backprop has shape ",
                call.input(1).shape(), " where ", due, " is expected",
                arguments({{first, call.input(0)}, {"out_backprop", call.input(1)}}));
  add_output<R>(call, sizes_of<R>(call), outputs);
}
template <int R>
void infer_backprop_input(const Call& call, OutputSpecs& outputs) {
  infer_backprop<R>(call, backprop_input_shape<R>, "filters", outputs);
}
template <int R>
void infer_backprop_filter(const Call& call, OutputSpecs& outputs) {
  infer_backprop<R>(call, backprop_filter_shape<R>, "x", outputs);
}

// Runs a kernel for operands a and b. Many items are the tasks; few have the threads one after the other.
template <class T>
void run_items(const Call& call, int rank, int a, int b, const Tensor& output,
               void (*kernel)(const ConvShape&, const T*, const T*, T*, const Execution&)) {
  const ConvShape shape = call.geometry<ConvShape>();  // a copy: what loops read must not be what stores may change
  const WideInput<T> left(call.input(a));
  const WideInput<T> right(call.input(b));
  const WideOutput<T> out(output);
  const std::int64_t items = items_of(call, rank);
  if (items < 0) return kernel(shape, left, right, out, call.execution);
  if (items == 0) return;
  const auto step = [&](const TensorRef& x) { return x.rank() == rank ? x.size() / items : 0; };
  const auto one = [&, x = static_cast<const T*>(left), y = static_cast<const T*>(right),
                    z = static_cast<T*>(out)](std::int64_t i) {
    kernel(shape, x + i * step(call.input(a)), y + i * step(call.input(b)), z + i * (output.size() / items), kAlone);
  };
  if (items >= thread_count()) return parallel_for(items, one);
  for (std::int64_t i = 0; i < items; ++i) one(i);
}
template <int R>
void run_conv(const Call& call, std::span<Tensor> outputs) {
  with_wide_type(call.input(0).dtype(),
                 [&]<class T>(T) { run_items<T>(call, R + 3, 0, 1, outputs[0], conv_forward<T>); });
}
template <int R>
void run_backprop_input(const Call& call, std::span<Tensor> outputs) {
  with_wide_type(call.input(0).dtype(),
                 [&]<class T>(T) { run_items<T>(call, R + 3, 1, 0, outputs[0], conv_backward_input<T>); });
}
template <int R>
void run_backprop_filter(const Call& call, std::span<Tensor> outputs) {
  with_wide_type(call.input(0).dtype(),
                 [&]<class T>(T) { run_items<T>(call, R + 3, 0, 1, outputs[0], conv_backward_filter<T>); });
}

// --- The three with the attributes of one another, for the rules ---

template <int R>
Tensor same_conv(const Tensor& x, const Tensor& filters, const ConvAttributes<R>& attributes) {
  return apply(ConvOps<R>::forward(), x, filters, &attributes);
}
// In a trace the batch is left open where it is that of the gradient: one trace is to serve batches of any size.
inline Shape with_open_batch(Shape sizes, const Tensor& g) {
  const bool opens =
      g.has_value() && is_symbolic(g.block()) && g.rank() > 0 && sizes.rank() > 0 && sizes[0] == g.dim(0);
  if (opens) sizes.set(0, -1);
  return sizes;
}
template <int R>
Tensor same_backprop_input(const Shape& sizes, const Tensor& filters, const Tensor& g,
                           const ConvAttributes<R>& attributes) {
  const OpDef& op = ConvOps<R>::backprop_input();
  const BackpropAttributes<R> with_sizes{attributes, {op.name, with_open_batch(sizes, g)}};
  return apply(op, filters, g, &with_sizes);
}
template <int R>
Tensor same_backprop_filter(const Tensor& x, const Shape& sizes, const Tensor& g, const ConvAttributes<R>& attributes) {
  const OpDef& op = ConvOps<R>::backprop_filter();
  const BackpropAttributes<R> with_sizes{attributes, {op.name, sizes}};
  return apply(op, x, g, &with_sizes);
}

template <int R>
void vjp_conv(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& a = call.attributes<ConvAttributes<R>>();
  const Tensor& x = call.input(0);
  const Tensor& filters = call.input(1);
  if (call.needs(0)) cotangents[0] = same_backprop_input<R>(item_of<R>(x.shape()), filters, call.cotangent(), a);
  if (call.needs(1)) cotangents[1] = same_backprop_filter<R>(x, item_of<R>(filters.shape()), call.cotangent(), a);
}
template <int R>
void vjp_backprop_input(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& a = call.attributes<BackpropAttributes<R>>();
  const Tensor& filters = call.input(0);
  if (call.needs(0))
    cotangents[0] = same_backprop_filter<R>(call.cotangent(), item_of<R>(filters.shape()), call.input(1), a);
  if (call.needs(1)) cotangents[1] = same_conv<R>(call.cotangent(), filters, a);
}
template <int R>
void vjp_backprop_filter(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& a = call.attributes<BackpropAttributes<R>>();
  const Tensor& x = call.input(0);
  if (call.needs(0)) cotangents[0] = same_backprop_input<R>(item_of<R>(x.shape()), call.cotangent(), call.input(1), a);
  if (call.needs(1)) cotangents[1] = same_conv<R>(x, call.cotangent(), a);
}

// --- For many items ---

// The axis of items that the ops know; `rank` is that of an operand without it. Where items have items of their own,
// both are one axis.
inline bool batch_by_items(const BatchCall& call, int rank, std::vector<Tensor>& outputs) {
  std::int64_t inner = 0;
  for (int i = 0; i < 2; ++i) {
    if (call.item_rank(i) == rank + 1) inner = call.input(i).dim(call.is_batched(i) ? 1 : 0);
  }
  if (call.item_rank(0) == rank && call.item_rank(1) == rank) {
    return call_again(call, {call.input(0), call.input(1)}, call.attribute_data, outputs);
  }
  std::vector<Tensor> inputs;
  for (int i = 0; i < 2; ++i) {
    Tensor x = with_items(call, i);
    if (call.item_rank(i) == rank) {
      x = expand_dims(x, 1);
      Shape shape = x.shape();
      shape.set(1, inner);
      x = broadcast_to(x, shape);
    }
    inputs.push_back(merge_items(x));
  }
  call_again(call, std::move(inputs), call.attribute_data, outputs);
  outputs[0] = split_items(outputs[0], call.size);
  return true;
}

// Whether only the images differ from item to item, so that the items join the batch and the filters' gradient is
// one convolution.
template <int R>
bool one_filter(const BatchCall& call, int filters) {
  return !call.is_batched(filters) && call.item_rank(0) == R + 2 && call.item_rank(1) == R + 2;
}

template <int R>
bool batch_conv(const BatchCall& call, std::vector<Tensor>& outputs) {
  if (!one_filter<R>(call, 1)) return batch_by_items(call, R + 2, outputs);
  call_again(call, {merge_items(call.input(0)), call.input(1)}, call.attribute_data, outputs);
  outputs[0] = split_items(outputs[0], call.size);
  return true;
}

template <int R>
bool batch_backprop_filter(const BatchCall& call, std::vector<Tensor>& outputs) {
  return batch_by_items(call, R + 2, outputs);
}

template <int R>
bool batch_backprop_input(const BatchCall& call, std::vector<Tensor>& outputs) {
  if (!one_filter<R>(call, 0)) return batch_by_items(call, R + 2, outputs);
  BackpropAttributes<R> attributes = call.attributes<BackpropAttributes<R>>();
  Shape sizes = attributes.sizes.shape();
  if (sizes[0] != -1) sizes.set(0, call.size * sizes[0]);
  attributes.sizes = {call.op.name, sizes};
  call_again(call, {call.input(0), merge_items(call.input(1))}, &attributes, outputs);
  outputs[0] = split_items(outputs[0], call.size);
  return true;
}

// --- Cost ---

// Every element of `at` meets the filters of one channel of the result.
template <int R>
double filter_work(const Shape& at, const Shape& filters) {
  if (filters.rank() == 0 || filters.size() == 0) return 0;
  const bool items = filters.rank() == R + 3 && filters.rank() == at.rank();
  return static_cast<double>(at.size()) * static_cast<double>(filters.size()) / static_cast<double>(filters[-1]) /
         static_cast<double>(items ? filters[0] : 1);
}
// Small convolutions run on one thread; those of many items share the pool.
inline constexpr double kSmallConvolution = 100'000;
template <int R>
Cost conv_cost(std::span<const Shape> inputs, std::span<const Shape> outputs) {
  return {filter_work<R>(outputs[0], inputs[1]), R == 2 ? kSmallConvolution : 0};
}
template <int R>
Cost backprop_input_cost(std::span<const Shape> inputs, std::span<const Shape>) {
  return {filter_work<R>(inputs[1], inputs[0])};
}
template <int R>
Cost backprop_filter_cost(std::span<const Shape> inputs, std::span<const Shape> outputs) {
  return {filter_work<R>(inputs[1], outputs[0])};
}
template <int R>
inline constexpr OpForPrograms kConvForPrograms{.cost = conv_cost<R>};
template <int R>
inline constexpr OpForPrograms kBackpropInputForPrograms{.cost = backprop_input_cost<R>};

}  // namespace capstan
