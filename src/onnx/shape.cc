// Shapes, and what moves elements without computing: reshapes, joins, cuts, paddings, constants.
#include <algorithm>
#include <limits>
#include <numeric>

#include "capstan/ops/math.h"
#include "capstan/ops/rearrange.h"
#include "capstan/ops/reduce.h"

#include "src/core/check.h"
#include "src/onnx/import.h"

namespace capstan::onnx {
namespace {

// Of a value as ONNX sees it.
Shape onnx_shape(const Value& value) {
  Shape shape = value.tensor.shape();
  if (!value.channels_last) return shape;
  Shape moved;
  for (const int axis : to_second(shape.rank())) moved.push_back(shape[axis]);
  return moved;
}

void run_shape(NodeCall& call) {
  const Shape shape = onnx_shape(call.value(0));
  const std::int64_t rank = shape.rank();
  const auto limit = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t begin = limit(call.integer("start", 0)), end = limit(call.integer("end", rank));
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = begin; i < end; ++i) lengths.push_back(shape[static_cast<int>(i)]);
  call.give(constant(lengths));
}

void run_size(NodeCall& call) { call.give(constant(std::vector<std::int64_t>{call.value(0).tensor.size()}, Shape{})); }

void run_reshape(NodeCall& call) {
  const Tensor x = call.tensor(0);
  std::vector<std::int64_t> target = call.opset() < 5 ? call.integers("shape") : call.integers_of(1);
  if (call.integer("allowzero", 0) == 0) {
    for (std::size_t i = 0; i < target.size(); ++i) {
      if (target[i] == 0) target[i] = x.dim(static_cast<int>(i));
    }
  }
  call.give(reshape(x, Shape(target)));
}

void flatten(NodeCall& call) {
  const Value& image = call.value(0);
  const Shape shape = onnx_shape(image);
  std::int64_t axis = call.integer("axis", 1);
  if (axis < 0) axis += shape.rank();
  std::int64_t rows = 1, columns = 1;
  bool is_pixel = image.channels_last && axis == 1;  // one place of an image: channels are all there is
  for (int i = 0; i < shape.rank(); ++i) {
    (i < axis ? rows : columns) *= shape[i];
    if (i >= 2) is_pixel = is_pixel && shape[i] == 1;
  }
  // The batch may be open.
  const Shape target = axis == 1 && columns > 0 ? Shape{-1, columns} : Shape{rows, columns};
  call.give(reshape(is_pixel ? image.tensor : onnx_layout(image), target));
}

void run_squeeze(NodeCall& call) {
  const Tensor x = call.tensor(0);
  const auto axes = call.axes(1);
  call.give(axes ? (axes->empty() ? x : squeeze(x, *axes)) : squeeze(x));
}

void unsqueeze(NodeCall& call) {
  Tensor x = call.tensor(0);
  std::vector<std::int64_t> axes = call.axes(1).value_or(std::vector<std::int64_t>());
  const int rank = x.rank() + static_cast<int>(axes.size());
  for (std::int64_t& axis : axes) axis = call.axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  CAPSTAN_CHECK(std::adjacent_find(axes.begin(), axes.end()) == axes.end(), ValueError, "onnx: an axis is given twice");
  for (const std::int64_t axis : axes) x = expand_dims(x, static_cast<int>(axis));
  call.give(x);
}

void run_transpose(NodeCall& call) {
  const Tensor x = call.tensor(0);
  const std::vector<std::int64_t> order = call.integers("perm");
  call.give(call.has_attribute("perm") ? transpose(x, order) : transpose(x));
}

void run_concat(NodeCall& call) {
  bool images = true;
  const int rank = call.value(0).tensor.rank();
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    images = images && call.value(i).channels_last && call.value(i).tensor.rank() == rank;
  }
  const int axis = call.axis(call.integer("axis"), rank);
  if (!images) return call.give(concat(call.tensors(), axis));
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < call.input_count(); ++i) tensors.push_back(call.value(i).tensor);
  call.give(concat(tensors, axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1), true);
}

void run_split(NodeCall& call) {
  const Tensor x = call.tensor(0);
  const int axis = call.axis_attribute(0, x.rank());
  std::vector<std::int64_t> sizes;
  if (call.has(1)) {
    sizes = call.integers_of(1);
  } else if (call.has_attribute("split")) {
    sizes = call.integers("split");
  } else {
    const auto parts = call.integer("num_outputs", static_cast<std::int64_t>(call.node().outputs.size()));
    CAPSTAN_CHECK(parts > 0, ValueError, "onnx: num_outputs is ", parts, ", but has to be positive");
    const std::int64_t length = x.dim(axis), each = (length + parts - 1) / parts;
    for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<std::int64_t>(length - i * each, 0, each));
  }
  for (Tensor& part : split(x, sizes, axis)) call.give(std::move(part));
}

void run_slice(NodeCall& call) {
  const Tensor x = call.tensor(0);
  const bool inputs = call.opset() >= 10;
  std::vector<std::int64_t> starts = inputs ? call.integers_of(1) : call.integers("starts");
  std::vector<std::int64_t> ends = inputs ? call.integers_of(2) : call.integers("ends");
  std::vector<std::int64_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (inputs && call.has(3)) axes = call.integers_of(3);
  if (!inputs && call.has_attribute("axes")) axes = call.integers("axes");
  std::vector<std::int64_t> steps(starts.size(), 1);
  if (inputs && call.has(4)) steps = call.integers_of(4);
  CAPSTAN_CHECK(ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
                ValueError, "onnx: starts, ends, axes and steps differ in length");
  const auto rank = static_cast<std::size_t>(x.rank());
  std::vector<std::int64_t> begin(rank, 0), end(rank), stride(rank, 1);
  StridedSliceMasks masks;
  masks.begin = masks.end = (std::int64_t{1} << rank) - 1;
  for (std::size_t i = 0; i < rank; ++i) end[i] = x.dim(static_cast<int>(i));
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const int axis = call.axis(axes[k], x.rank());
    const auto at = static_cast<std::size_t>(axis);
    const std::int64_t length = x.dim(axis), step = steps[k];
    CAPSTAN_CHECK(step != 0, ValueError, "onnx: a step of a slice is 0");
    const auto from_front = [&](std::int64_t i) { return i < 0 ? std::max<std::int64_t>(i, -length - 1) + length : i; };
    std::int64_t first = from_front(starts[k]), last = from_front(ends[k]);
    const std::int64_t bit = std::int64_t{1} << at;
    if (step > 0) {
      first = std::clamp<std::int64_t>(first, 0, length);
      last = std::clamp<std::int64_t>(last, 0, length);
      if (last < first) last = first;
      masks.begin &= ~bit;
      if (last < length || first > 0) masks.end &= ~bit;
      if (last == length) masks.end |= bit;
    } else {
      first = std::clamp<std::int64_t>(first, -1, length - 1);
      last = std::clamp<std::int64_t>(last, -1, length - 1);
      masks.begin &= ~bit;
      if (first <= last) {  // nothing: a slice forward of no elements
        first = last = 0;
        stride[at] = 1;
        begin[at] = end[at] = 0;
        masks.end &= ~bit;
        continue;
      }
      if (last >= 0) masks.end &= ~bit;
    }
    begin[at] = first;
    end[at] = std::max<std::int64_t>(last, 0);
    stride[at] = std::clamp<std::int64_t>(step, -std::max<std::int64_t>(length, 1), std::max<std::int64_t>(length, 1));
  }
  call.give(strided_slice(x, begin, end, stride, masks));
}

// One element of an input that fills something up.
double number_of(const NodeCall& call, std::size_t i) {
  const std::vector<double> numbers = call.numbers_of(i);
  CAPSTAN_CHECK(numbers.size() == 1, ShapeError, "onnx: input ", i, " has ", numbers.size(), " elements, not one");
  return numbers[0];
}

// Rows of x along an axis by their numbers.
Tensor take(const Tensor& x, const std::vector<std::int64_t>& rows, int axis) {
  return gather(x, constant(rows), axis);
}

void run_pad(NodeCall& call) {
  Tensor x = call.tensor(0);
  const bool inputs = call.opset() >= 11;
  const std::vector<std::int64_t> pads = inputs ? call.integers_of(1) : call.integers("pads");
  double value = inputs ? 0 : call.number("value", 0);
  if (inputs && call.has(2)) value = number_of(call, 2);
  std::vector<std::int64_t> axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) axes = call.integers_of(3);
  CAPSTAN_CHECK(pads.size() == 2 * axes.size(), ShapeError, "onnx: there are ", pads.size(), " paddings for ",
                axes.size(), " axes");
  const std::string mode = call.text("mode", "constant");
  std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const int axis = call.axis(axes[k], x.rank());
    std::int64_t before = pads[k], after = pads[k + axes.size()];
    if (mode == "constant") {
      if (before < 0 || after < 0) {  // a cut
        Shape begin, size;
        for (int i = 0; i < x.rank(); ++i) {
          begin.push_back(i == axis ? std::max<std::int64_t>(-before, 0) : 0);
          size.push_back(x.dim(i) +
                         (i == axis ? std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0) : 0));
        }
        x = slice(x, begin, size);
      }
      widths[static_cast<std::size_t>(axis)] = {std::max<std::int64_t>(before, 0), std::max<std::int64_t>(after, 0)};
      continue;
    }
    const std::int64_t length = x.dim(axis);
    CAPSTAN_CHECK(length > 0 && before + after + length < (1 << 28), ShapeError, "onnx: an axis of length ", length,
                  " cannot be extended by ", before, " and ", after);
    std::vector<std::int64_t> rows;
    for (std::int64_t i = -before; i < length + after; ++i) {
      std::int64_t row = i;
      if (mode == "edge") {
        row = std::clamp<std::int64_t>(i, 0, length - 1);
      } else if (mode == "wrap") {
        row = ((i % length) + length) % length;
      } else if (mode == "reflect") {
        const std::int64_t period = std::max<std::int64_t>(2 * (length - 1), 1);
        row = ((i % period) + period) % period;
        if (row >= length) row = period - row;
      } else {
        not_supported("mode " + mode);
      }
      rows.push_back(row);
    }
    x = take(x, rows, axis);
  }
  if (mode != "constant") return call.give(x);
  const DType dtype = x.dtype();
  call.give(dtype == bool_ ? cast(pad(cast(x, uint8), widths, PadMode::kConstant, value), bool_)
                           : pad(x, widths, PadMode::kConstant, value));
}

void run_tile(NodeCall& call) { call.give(tile(call.tensor(0), Shape(call.integers_of(1)))); }

void expand(NodeCall& call) {
  const Tensor x = call.tensor(0);
  const std::vector<std::int64_t> wanted = call.integers_of(1);
  const auto rank = std::max(static_cast<std::size_t>(x.rank()), wanted.size());
  CAPSTAN_CHECK(rank <= static_cast<std::size_t>(kMaxRank), ShapeError, "onnx: ", rank, " axes are too many");
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t missing = rank - static_cast<std::size_t>(x.rank());
    const std::int64_t own = i < missing ? 1 : x.dim(static_cast<int>(i - missing));
    const std::int64_t other = i < rank - wanted.size() ? 1 : wanted[i - (rank - wanted.size())];
    shape.push_back(other == 1 ? own : own == 1 ? other : own);
    CAPSTAN_CHECK(own == 1 || other == 1 || own == other, ShapeError, "onnx: an axis of length ", own,
                  " cannot be expanded to ", other);
  }
  call.give(broadcast_to(x, shape));
}

void run_constant(NodeCall& call) {
  for (const Attribute& one : call.node().attributes) {
    if (one.name == "value" && one.tensor.has_value()) return call.give(one.tensor);
    if (one.name == "value_float" && one.number) return call.give(constant(*one.number, float32));
    if (one.name == "value_int" && one.integer) {
      return call.give(constant(std::vector<std::int64_t>{*one.integer}, Shape{}));
    }
    if (one.name == "value_ints") return call.give(constant(one.integers));
    if (one.name == "value_floats") return call.give(cast(constant(one.numbers), float32));
  }
  not_supported("a constant of this kind");
}

void constant_of_shape(NodeCall& call) {
  const Shape shape{call.integers_of(0)};
  const Attribute* value = call.node().find("value");
  if (value == nullptr) return call.give(zeros(shape, float32));
  CAPSTAN_CHECK(value->tensor.has_value() && value->tensor.size() == 1, ValueError,
                "onnx: the value is not a tensor of one element");
  call.give(fill(shape, reshape(value->tensor, {})));
}

void run_range(NodeCall& call) {
  const Tensor start = reshape(call.tensor(0), {}), limit = reshape(call.tensor(1), {}),
               delta = reshape(call.tensor(2), {});
  const DType dtype = start.dtype();
  if (is_integer(dtype)) {
    return call.give(cast(range(cast(start, int64), cast(limit, int64), cast(delta, int64)), dtype));
  }
  call.give(range(start, limit, delta));
}

void eye_like(NodeCall& call) {
  const Tensor x = call.tensor(0);
  CAPSTAN_CHECK(x.rank() == 2, ShapeError, "onnx: a matrix is expected, not ", x.rank(), " axes");
  const std::int64_t rows = x.dim(0), columns = x.dim(1);
  const Tensor row = reshape(range(rows), {rows, 1}), column = reshape(range(columns), {1, columns});
  const auto k = call.integer("k", 0);
  call.give(cast(equal(cast(column, int64) - cast(row, int64), k), call.dtype("dtype", x.dtype())));
}

void trilu(NodeCall& call) {
  const Tensor x = call.tensor(0);
  CAPSTAN_CHECK(x.rank() >= 2, ShapeError, "onnx: a matrix is expected, not ", x.rank(), " axes");
  const std::int64_t rows = x.dim(-2), columns = x.dim(-1), k = call.has(1) ? call.integer_of(1) : 0;
  if (x.size() == 0) return call.give(x);
  const Tensor place =
      cast(reshape(range(columns), {1, columns}), int64) - cast(reshape(range(rows), {rows, 1}), int64);
  const Tensor kept = call.integer("upper", 1) != 0 ? greater_equal(place, k) : less_equal(place, k);
  call.give(where(kept, x, zeros_like(x)));
}

void run_depth_to_space(NodeCall& call) {
  const std::int64_t block = call.integer("blocksize");
  const bool rows_first = call.text("mode", "DCR") == "DCR";
  const Tensor x = call.channels_last(0);
  CAPSTAN_CHECK(x.rank() == 4 && block >= 1 && x.dim(3) % (block * block) == 0, ShapeError,
                "onnx: channels do not divide into blocks");
  const std::int64_t n = x.dim(0), h = x.dim(1), w = x.dim(2), c = x.dim(3) / (block * block);
  Tensor y;
  if (rows_first) {
    y = transpose(reshape(x, {n, h, w, block, block, c}), {0, 1, 3, 2, 4, 5});
  } else {
    y = transpose(reshape(x, {n, h, w, c, block, block}), {0, 1, 4, 2, 5, 3});
  }
  call.give(reshape(y, {n, h * block, w * block, c}), true);
}

void run_space_to_depth(NodeCall& call) {
  const std::int64_t block = call.integer("blocksize");
  const Tensor x = call.channels_last(0);
  CAPSTAN_CHECK(x.rank() == 4 && block >= 1 && x.dim(1) % block == 0 && x.dim(2) % block == 0, ShapeError,
                "onnx: height or width does not divide into blocks");
  const std::int64_t n = x.dim(0), h = x.dim(1) / block, w = x.dim(2) / block, c = x.dim(3);
  const Tensor blocks = reshape(x, {n, h, block, w, block, c});
  const bool rows_first = call.text("mode", "DCR") == "DCR";
  call.give(reshape(rows_first ? transpose(blocks, {0, 1, 3, 2, 4, 5}) : transpose(blocks, {0, 1, 3, 5, 2, 4}),
                    {n, h, w, block * block * c}),
            true);
}

void center_crop_pad(NodeCall& call) {
  Tensor x = call.tensor(0);
  const std::vector<std::int64_t> wanted = call.integers_of(1);
  std::vector<std::int64_t> axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has_attribute("axes")) axes = call.integers("axes");
  CAPSTAN_CHECK(axes.size() == wanted.size(), ShapeError, "onnx: there are ", wanted.size(), " lengths for ",
                axes.size(), " axes");
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const int axis = call.axis(axes[k], x.rank());
    const std::int64_t length = x.dim(axis), to = wanted[k];
    if (to >= length) {
      std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
      widths[static_cast<std::size_t>(axis)] = {(to - length) / 2, to - length - (to - length) / 2};
      x = pad(x, widths);
    } else {
      Shape begin, size;
      for (int i = 0; i < x.rank(); ++i) {
        begin.push_back(i == axis ? (length - to) / 2 : 0);
        size.push_back(i == axis ? to : x.dim(i));
      }
      x = slice(x, begin, size);
    }
  }
  call.give(x);
}

constexpr Operator kShapeOperators[] = {
    {"CenterCropPad", center_crop_pad},
    {"Concat", run_concat},
    {"Constant", run_constant},
    {"ConstantOfShape", constant_of_shape},
    {"DepthToSpace", run_depth_to_space},
    {"Expand", expand},
    {"EyeLike", eye_like},
    {"Flatten", flatten},
    {"Pad", run_pad},
    {"Range", run_range},
    {"Reshape", run_reshape},
    {"Shape", run_shape},
    {"Size", run_size},
    {"Slice", run_slice},
    {"SpaceToDepth", run_space_to_depth},
    {"Split", run_split},
    {"Squeeze", run_squeeze},
    {"Tile", run_tile},
    {"Transpose", run_transpose},
    {"Trilu", trilu},
    {"Unsqueeze", unsqueeze},
};

}  // namespace

std::span<const Operator> shape_operators() { return kShapeOperators; }

}  // namespace capstan::onnx
