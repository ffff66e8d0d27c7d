// Ops that arrange elements: shapes, parts, copies.
#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"

#include "src/onnx/export.h"

namespace capstan::onnx {
namespace {

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kBegin = std::numeric_limits<std::int64_t>::min();

std::string with_shape(const OpCall& c, const std::string& x, const std::string& shape) {
  return c.node("Reshape", {x, shape}, {attribute("allowzero", 1)});
}

// The axes of length 1 of a longer shape that a shorter one lacks; nothing if there are other differences.
std::optional<std::vector<std::int64_t>> added_axes(const Shape& shorter, const Shape& longer,
                                                    const Shape& second_shorter, const Shape& second_longer) {
  std::vector<std::int64_t> axes;
  int next = 0;
  for (int i = 0; i < longer.rank(); ++i) {
    if (next < shorter.rank() && shorter[next] == longer[i] && second_shorter[next] == second_longer[i]) {
      ++next;
    } else if (longer[i] == 1 && second_longer[i] == 1) {
      axes.push_back(i);
    } else {
      return std::nullopt;
    }
  }
  return next == shorter.rank() ? std::optional(axes) : std::nullopt;
}

void reshape(OpCall& c) {
  const Shape& shape = c.shape(0);
  const Shape& second = c.second_shape(0);
  // Axes of length 1 that come or go, which a transpose can pass.
  if (const auto axes = added_axes(shape, c.out_shape(), second, c.second_out_shape()))
    return c.give(c.unsqueezed(c.in(0), *axes));
  if (const auto axes = added_axes(c.out_shape(), shape, c.second_out_shape(), second))
    return c.give(c.squeezed(c.in(0), *axes));
  // A length of 0 stands for that of the input, unless there are lengths of 0 themselves.
  const bool has_zeros = c.out_shape().size() == 0;
  const std::string target = c.lengths("shape", has_zeros ? std::optional<std::int64_t>() : 0, &shape, &second);
  if (has_zeros) return c.give(with_shape(c, c.in(0), target));
  c.give(c.node("Reshape", {c.in(0), target}));
}
void reshape_like(OpCall& c) { c.give(with_shape(c, c.in(0), c.shape_of(1))); }

void write_expand_dims(OpCall& c) { c.give(c.unsqueezed(c.in(0), {c.axis("axis", c.rank() + 1)})); }

void write_squeeze(OpCall& c) {
  const AttributeValue given = c.value("axis");
  std::vector<std::int64_t> axes;
  if (given.has_value() && !(given.kind == AttributeValue::Kind::kList && given.list.empty())) {
    axes = c.axes("axis", c.rank());
  } else {
    for (int i = 0; i < c.rank(); ++i) {
      if (c.shape(0)[i] == 1 && c.is_fixed(0, i)) axes.push_back(i);
    }
  }
  c.give(c.squeezed(c.in(0), axes));
}

void write_transpose(OpCall& c) {
  std::vector<std::int64_t> order = c.integers("perm");
  if (!c.value("perm").has_value()) {
    for (int i = c.rank(); i-- > 0;) order.push_back(i);
  }
  std::vector<int> axes;
  for (const std::int64_t axis : order) axes.push_back(static_cast<int>(axis < 0 ? axis + c.rank() : axis));
  c.give(c.transposed(c.in(0), axes));
}

// Expand repeats axes of length 1 only, so 1 stands for a length that the input has itself.
void broadcast_to(OpCall& c) {
  c.give(c.node("Expand", {c.in(0), c.lengths("shape", 1, &c.shape(0), &c.second_shape(0))}));
}
void broadcast_like(OpCall& c) { c.give(c.node("Expand", {c.in(0), c.shape_of(1)})); }
void fill(OpCall& c) { c.give(c.node("Expand", {c.in(0), c.lengths("dims")})); }

// The sum over the axes along which something of the other shape would be repeated.
void sum_like(OpCall& c) {
  const Shape& from = c.shape(0);
  const Shape& to = c.shape(1);
  const int leading = from.rank() - to.rank();
  std::vector<std::int64_t> summed, removed;
  for (int i = 0; i < from.rank(); ++i) {
    if (i < leading) removed.push_back(i);
    if (i < leading || (to[i - leading] == 1 && from[i] != 1)) summed.push_back(i);
  }
  std::string y = c.in(0);
  if (!summed.empty()) y = c.node("ReduceSum", {y, c.integers_of(summed)}, {attribute("keepdims", 1)});
  c.give(c.squeezed(y, removed));
}

template <int kNumber>
void filled_like(OpCall& c) {
  const Tensor element = capstan::cast(constant({kNumber}), c.out_dtype());
  c.give(c.node("ConstantOfShape", {c.shape_of(0)}, {attribute("value", element)}));
}

void write_shape(OpCall& c) {
  const std::string shape = c.shape_of(0);
  c.give(c.out_dtype() == DType::kInt64 ? shape : c.cast_to(shape, c.out_dtype()));
}
void write_size(OpCall& c) {
  const std::string size = c.node("Size", {c.in(0)});
  c.give(c.out_dtype() == DType::kInt64 ? size : c.cast_to(size, c.out_dtype()));
}
void write_rank(OpCall& c) { c.give(c.scalar(c.rank(), c.out_dtype())); }

void write_concat(OpCall& c) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < c.input_count(); ++i) parts.push_back(c.in(i));
  c.give(c.node("Concat", parts, {attribute("axis", c.axis("axis", c.rank()))}));
}
void write_stack(OpCall& c) {
  const int axis = c.axis("axis", c.rank() + 1);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < c.input_count(); ++i) parts.push_back(c.unsqueezed(c.in(i), {axis}));
  c.give(c.node("Concat", parts, {attribute("axis", axis)}));
}

// The outputs of a split along an axis into parts of these lengths.
std::vector<std::string> parts_of(const OpCall& c, int axis, const std::vector<std::int64_t>& lengths) {
  if (lengths.size() == 1) return {c.in(0)};
  return c.nodes("Split", {c.in(0), c.integers_of(lengths)}, {attribute("axis", axis)}, lengths.size());
}
void write_split(OpCall& c) {
  const int axis = c.axis("axis", c.rank());
  if (!c.is_fixed(0, axis)) c.refuse("it splits an axis whose length is open");
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < c.output_count(); ++i) lengths.push_back(c.out_shape(i)[axis]);
  for (const std::string& part : parts_of(c, axis, lengths)) c.give(part);
}
void write_unstack(OpCall& c) {
  const int axis = c.axis("axis", c.rank());
  for (const std::string& part : parts_of(c, axis, std::vector<std::int64_t>(c.output_count(), 1)))
    c.give(c.squeezed(part, {axis}));
}

void write_tile(OpCall& c) { c.give(c.node("Tile", {c.in(0), c.lengths("multiples")})); }

std::string part(const OpCall& c, const std::string& x, std::int64_t begin, std::int64_t end, std::int64_t axis) {
  return c.node("Slice", {x, c.integers_of({begin}), c.integers_of({end}), c.integers_of({axis})});
}

void write_reverse(OpCall& c) {
  const std::vector<std::int64_t> axes = c.axes("axis", c.rank());
  if (axes.empty()) return c.give(c.in(0));
  const std::size_t n = axes.size();
  const auto all = [&](std::int64_t number) { return c.integers_of(std::vector<std::int64_t>(n, number)); };
  c.give(c.node("Slice", {c.in(0), all(-1), all(kBegin), c.integers_of(axes), all(-1)}));
}

void write_roll(OpCall& c) {
  const std::vector<std::int64_t> shifts = c.integers("shift"), axes = c.integers("axis");
  std::string x = c.in(0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = static_cast<int>(axes[i] < 0 ? axes[i] + c.rank() : axes[i]);
    if (!c.is_fixed(0, axis)) c.refuse("it rolls an axis whose length is open");
    const std::int64_t n = c.shape(0)[axis];
    const std::int64_t by = n == 0 ? 0 : (shifts[i] % n + n) % n;
    if (by == 0) continue;
    x = c.node("Concat", {part(c, x, n - by, kEnd, axis), part(c, x, 0, n - by, axis)}, {attribute("axis", axis)});
  }
  c.give(x);
}

void write_pad(OpCall& c) {
  if (c.rank() == 0) return c.give(c.in(0));
  const std::vector<std::int64_t> widths = c.integers("paddings");
  std::vector<std::int64_t> pads;
  for (std::size_t side = 0; side < 2; ++side) {
    for (std::size_t i = side; i < widths.size(); i += 2) pads.push_back(widths[i]);
  }
  const std::string mode = c.text("mode");
  if (mode == "SYMMETRIC") c.refuse("ONNX has no mode SYMMETRIC");
  if (mode == "REFLECT") return c.give(c.node("Pad", {c.in(0), c.integers_of(pads)}, {attribute("mode", "reflect")}));
  c.give(c.node("Pad", {c.in(0), c.integers_of(pads), c.scalar(c.number("constant_values"))},
                {attribute("mode", "constant")}));
}

void write_band_part(OpCall& c) {
  std::string x = c.in(0);
  const auto kept = [&](bool upper, std::int64_t diagonal) {
    return c.node("Trilu", {x, c.tensor(constant(diagonal, int64), "constant")}, {attribute("upper", upper ? 1 : 0)});
  };
  if (const std::int64_t lower = c.integer("num_lower"); lower >= 0) x = kept(true, -lower);
  if (const std::int64_t upper = c.integer("num_upper"); upper >= 0) x = kept(false, upper);
  c.give(x);
}

// The items between the parentheses of x(...): slices first, then axes that numbers take away, then new ones.
void getitem(OpCall& c) {
  const AttributeValue index = c.value_in_first("index"), second = c.value_in_second("index");
  if (index.list.size() != second.list.size()) c.depends("index");
  int counted = 0;
  for (const AttributeValue& item : index.list) {
    if (item.kind != AttributeValue::Kind::kString) ++counted;
  }
  std::vector<std::int64_t> begins, ends, axes, steps, taken, made;
  int axis = 0, place = 0;
  for (std::size_t k = 0; k < index.list.size(); ++k) {
    const AttributeValue& item = index.list[k];
    const AttributeValue& other = second.list[k];
    if (item.kind == AttributeValue::Kind::kString) {
      if (item.text == "newaxis") {
        made.push_back(place++);
      } else {
        axis += c.rank() - counted;
        place += c.rank() - counted;
      }
      continue;
    }
    // What differs in the traces as the length does is counted from the end.
    const auto from_end = [&](std::int64_t a, std::int64_t b) {
      if (a == b) return a;
      const std::int64_t behind = a - c.shape(0)[axis];
      if (behind > 0 || behind != b - c.second_shape(0)[axis]) c.depends("index");
      return behind == 0 ? kEnd : behind;
    };
    std::int64_t begin = 0, end = kEnd, step = 1;
    if (item.kind == AttributeValue::Kind::kInt) {
      begin = from_end(item.integer, other.integer);
      end = begin == -1 ? kEnd : begin + 1;
      taken.push_back(axis);
    } else {
      const auto number = [&](std::size_t i, std::int64_t otherwise) {
        const bool is_given = item.list[i].has_value();
        if (is_given != other.list[i].has_value()) c.depends("index");
        return is_given ? from_end(item.list[i].integer, other.list[i].integer) : otherwise;
      };
      step = number(2, 1);
      begin = number(0, step > 0 ? 0 : kEnd);
      end = number(1, step > 0 ? kEnd : kBegin);
      ++place;
    }
    if (begin != 0 || end != kEnd || step != 1) {
      begins.push_back(begin);
      ends.push_back(end);
      axes.push_back(axis);
      steps.push_back(step);
    }
    ++axis;
  }
  std::string x = c.in(0);
  if (!axes.empty()) {
    std::vector<std::string> inputs = {x, c.integers_of(begins), c.integers_of(ends), c.integers_of(axes)};
    if (std::any_of(steps.begin(), steps.end(), [](std::int64_t step) { return step != 1; }))
      inputs.push_back(c.integers_of(steps));
    x = c.node("Slice", inputs);
  }
  c.give(c.unsqueezed(c.squeezed(x, taken), made));
}

constexpr ExportRow kShapeRows[] = {
    {"band_part", write_band_part},
    {"broadcast_like", broadcast_like},
    {"broadcast_to", broadcast_to},
    {"concat", write_concat},
    {"expand_dims", write_expand_dims},
    {"fill", fill},
    {"getitem", getitem},
    {"ones_like", filled_like<1>},
    {"pad", write_pad},
    {"rank", write_rank},
    {"reshape", reshape},
    {"reshape_like", reshape_like},
    {"reverse", write_reverse},
    {"roll", write_roll},
    {"shape", write_shape},
    {"size", write_size},
    {"split", write_split},
    {"squeeze", write_squeeze},
    {"stack", write_stack},
    {"sum_like", sum_like},
    {"tile", write_tile},
    {"transpose", write_transpose},
    {"unstack", write_unstack},
    {"zeros_like", filled_like<0>},
};

}  // namespace

std::span<const ExportRow> shape_rows() { return kShapeRows; }

}  // namespace capstan::onnx
