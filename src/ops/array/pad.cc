// pad: a border of one value, or of mirrored elements.
//
// The gradient of a constant border is the slice inside it. That of a mirrored one adds every
// border element to the element that it shows, axis by axis: the border is cut off, reversed, and
// put where it came from.
#include <algorithm>
#include <cstring>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/kernels/array/strided_copy.h"
#include "src/ops/array/array.h"
#include "src/ops/array/layout.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/identities.h"

namespace capstan {

namespace {

struct PadAttributes {
  IntList paddings;  // before and after, axis by axis
  Text mode;
  double constant_values = 0;
};

constexpr std::string_view kModes[] = {"CONSTANT", "REFLECT", "SYMMETRIC"};

PadMode mode_of(const PadAttributes& attributes) {
  if (attributes.mode.text == nullptr) return PadMode::kConstant;
  for (int i = 0; i < 3; ++i) {
    if (attributes.mode.view() == kModes[i]) return static_cast<PadMode>(i);
  }
  throw ValueError(detail::join("pad: mode must be CONSTANT, REFLECT or SYMMETRIC, not ", attributes.mode.view()));
}

PadWidth width_of(const PadAttributes& attributes, int axis) {
  const auto i = 2 * static_cast<std::size_t>(axis);
  return {attributes.paddings[i], attributes.paddings[i + 1]};
}

void infer_pad(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<PadAttributes>();
  const PadMode mode = mode_of(attributes);
  CAPSTAN_CHECK(attributes.paddings.size() == 2 * static_cast<std::size_t>(x.rank()), ShapeError,
                "pad: ", attributes.paddings.size() / 2, " pairs of paddings for ", x.rank(), " axes",
                arguments({{"x", x}}));
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    const auto [before, after] = width_of(attributes, i);
    const std::int64_t length = x.dim(i);
    CAPSTAN_CHECK(before >= 0 && after >= 0, ShapeError, "pad: negative padding, ", before, " and ", after, " at axis ",
                  i, arguments({{"x", x}}));
    CAPSTAN_CHECK(before < std::int64_t{1} << 32 && after < std::int64_t{1} << 32, ShapeError, "pad: paddings ", before,
                  " and ", after, " at axis ", i, " are too long", arguments({{"x", x}}));
    const std::int64_t most = mode == PadMode::kReflect ? length - 1 : length;
    CAPSTAN_CHECK(mode == PadMode::kConstant || std::max(before, after) <= std::max<std::int64_t>(most, 0), ShapeError,
                  "pad: a mirrored padding of ", std::max(before, after), " exceeds ", most, " at axis ", i,
                  arguments({{"x", x}}));
    shape.push_back(before + length + after);
  }
  outputs.add(x.dtype(), shape);
}

void pad_constant(const Tensor& out, const TensorRef& x, const PadAttributes& attributes) {
  const std::size_t size = size_of(x.dtype());
  if (out.size() != x.size()) {
    const Tensor value = scalar(attributes.constant_values, x.dtype());
    if (attributes.constant_values == 0) {
      std::memset(mutable_raw_data(out), 0, static_cast<std::size_t>(out.size()) * size);
    } else {
      fill_elements(mutable_raw_data(out), value.raw_data(), out.size(), size);
    }
  }
  CopyAxis axes[kMaxRank];
  std::int64_t to = 1;
  std::int64_t from = 1;
  std::int64_t offset = 0;
  for (int i = x.rank() - 1; i >= 0; --i) {
    axes[i] = {x.dim(i), to, from};
    offset += width_of(attributes, i).before * to;
    to *= out.dim(i);
    from *= x.dim(i);
  }
  if (x.size() == 0) return;
  strided_copy(bytes_of(out, offset), x.raw_data(), std::span(axes, static_cast<std::size_t>(x.rank())), size);
}

// The position that element i of a mirrored axis shows.
std::int64_t mirrored(std::int64_t i, std::int64_t before, std::int64_t length, std::int64_t edge) {
  std::int64_t from = i - before;
  if (from < 0) from = edge - from - 1;
  if (from >= length) from = 2 * length - 1 - edge - from;
  return from;
}

void pad_mirrored(const Tensor& out, const TensorRef& x, const PadAttributes& attributes, std::int64_t edge) {
  const int rank = x.rank();
  std::vector<std::int64_t> offsets[kMaxRank];  // per axis, where in x each position lies
  std::int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    for (std::int64_t k = 0; k < out.dim(i); ++k) {
      offsets[i].push_back(mirrored(k, width_of(attributes, i).before, x.dim(i), edge) * stride);
    }
    stride *= x.dim(i);
  }
  const std::size_t size = size_of(x.dtype());
  const auto* from = static_cast<const std::byte*>(x.raw_data());
  auto* to = static_cast<std::byte*>(mutable_raw_data(out));
  std::int64_t position[kMaxRank] = {};
  for (std::int64_t n = 0; n < out.size(); ++n) {
    std::int64_t offset = 0;
    for (int i = 0; i < rank; ++i) offset += offsets[i][static_cast<std::size_t>(position[i])];
    std::memcpy(to, from + static_cast<std::size_t>(offset) * size, size);
    to += size;
    for (int i = rank - 1; i >= 0; --i) {
      if (++position[i] < out.dim(i)) break;
      position[i] = 0;
    }
  }
}

void pad_kernel(const Call& call, std::span<Tensor> outputs) {
  const auto& attributes = call.attributes<PadAttributes>();
  if (outputs[0].size() == 0) return;
  const PadMode mode = mode_of(attributes);
  if (mode == PadMode::kConstant) {
    pad_constant(outputs[0], call.input(0), attributes);
  } else {
    pad_mirrored(outputs[0], call.input(0), attributes, mode == PadMode::kReflect ? 1 : 0);
  }
}

// `inside` plus a border, reversed, that shows the elements of the axis from `begin` on.
Tensor fold(const Tensor& inside, const Tensor& border, int axis, std::int64_t begin) {
  if (border.dim(axis) == 0) return inside;
  std::vector<PadWidth> widths(static_cast<std::size_t>(inside.rank()));
  widths[static_cast<std::size_t>(axis)] = {begin, inside.dim(axis) - begin - border.dim(axis)};
  return add(inside, pad(reverse(border, axis), widths));
}

void pad_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const auto& attributes = call.attributes<PadAttributes>();
  const Tensor& x = call.input(0);
  const PadMode mode = mode_of(attributes);
  Tensor g = call.cotangent();
  if (mode == PadMode::kConstant) {
    std::vector<Index> items;
    for (int i = 0; i < x.rank(); ++i) {
      const std::int64_t before = width_of(attributes, i).before;
      items.emplace_back(Slice{before, before + x.dim(i)});
    }
    cotangents[0] = getitem(g, items);
    return;
  }
  const std::int64_t edge = mode == PadMode::kReflect ? 1 : 0;
  for (int i = 0; i < x.rank(); ++i) {
    const auto [before, after] = width_of(attributes, i);
    if (before == 0 && after == 0) continue;
    const std::int64_t length = x.dim(i);
    Tensor inside = part_of(g, i, before, before + length);
    inside = fold(inside, part_of(g, i, 0, before), i, edge);
    g = fold(inside, part_of(g, i, before + length, before + length + after), i, length - edge - after);
  }
  cotangents[0] = g;
}

bool batch_pad(const BatchCall& call, std::vector<Tensor>& outputs) {
  PadAttributes attributes = call.attributes<PadAttributes>();
  std::vector<std::int64_t> widths = {0, 0};
  const std::span<const std::int64_t> item = attributes.paddings.span();
  widths.insert(widths.end(), item.begin(), item.end());
  attributes.paddings = intern(widths);
  return call_again(call, {call.input(0)}, &attributes, outputs);
}

}  // namespace

constinit const OpDef kPad = {
    .name = "pad",
    .text = "A border around a tensor: of one value, or of its own elements mirrored.",
    .flags = kCheapAgain,
    .attributes = &attribute_table<PadAttributes, "paddings, mode, constant_values", 1>,
    .infer = infer_pad,
    .kernel = pad_kernel,
    .vjp = pad_vjp,
    .batch = batch_pad,
    .programs = &kWithIdentity<first_operand>,
};

// A border along one axis, which is the first that counts.
std::optional<Layout> layout_of_pad(const Call& call) {
  if (&call.op != &kPad || mode_of(call.attributes<PadAttributes>()) != PadMode::kConstant) return std::nullopt;
  const auto& attributes = call.attributes<PadAttributes>();
  const TensorRef& x = call.input(0);
  Layout layout{.fill = attributes.constant_values};
  std::int64_t outer = 1;
  for (int i = 0; i < x.rank(); ++i) {
    const auto [before, after] = width_of(attributes, i);
    if (before != 0 || after != 0) {
      if (outer != 1 || layout.adds()) return std::nullopt;
      std::int64_t inner = 1;
      for (int k = i + 1; k < x.rank(); ++k) inner *= x.dim(k);
      layout.before = before * inner;
      layout.after = after * inner;
    }
    outer *= x.dim(i);
  }
  return layout;
}

Tensor pad(Operand x, std::span<const PadWidth> paddings, PadMode mode, double constant_value) {
  std::vector<std::int64_t> widths;
  for (const PadWidth& width : paddings) widths.insert(widths.end(), {width.before, width.after});
  const PadAttributes attributes{intern(widths), intern(kModes[static_cast<int>(mode)]), constant_value};
  return apply(kPad, x, &attributes);
}

CAPSTAN_OPS(pad, &kPad);

}  // namespace capstan
