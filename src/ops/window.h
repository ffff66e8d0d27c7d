// Windows that slide over images: strides, padding and sizes, as convolution and pooling take them.
#pragma once

#include <algorithm>
#include <string_view>

#include "capstan/ops/nn.h"
#include "src/core/attributes.h"
#include "src/core/check.h"
#include "src/ops/lengths.h"
#include "src/core/named_errors.h"

namespace capstan {

inline std::int32_t small_integer(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, INT32_MIN, INT32_MAX));
}

// A Padding in less space.
struct PackedPadding {
  Padding::Kind kind = Padding::Kind::kValid;
  std::int32_t pads[4] = {};  // top, bottom, left, right
};
inline PackedPadding pack(const Padding& padding) {
  PackedPadding packed;
  packed.kind = padding.kind;
  for (int i = 0; i < 4; ++i) packed.pads[i] = small_integer(padding.pads[static_cast<std::size_t>(i)]);
  return packed;
}
inline Padding unpack(const PackedPadding& packed) {
  Padding padding("VALID");
  padding.kind = packed.kind;
  for (int i = 0; i < 4; ++i) padding.pads[static_cast<std::size_t>(i)] = packed.pads[i];
  return padding;
}

template <>
struct AttributeOf<Padding> {
  using Type = PackedPadding;
  static Padding give(const PackedPadding& attribute) { return unpack(attribute); }
};

// As a dynamic value: "SAME", "VALID", or one pair of numbers per axis of the image.
inline void set_field(PackedPadding& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  if (value.kind == AttributeValue::Kind::kString) {
    field = with_errors_of(op, [&] { return pack(Padding(std::string_view(value.text))); });
    return;
  }
  bool fits = value.kind == AttributeValue::Kind::kList && value.list.size() == 4;
  for (const AttributeValue& pair : value.list) {
    fits = fits && pair.kind == AttributeValue::Kind::kList && pair.list.size() == 2;
  }
  CAPSTAN_CHECK(fits, ValueError, op, ": attribute \"", name,
                "\" must be \"SAME\", \"VALID\" or four pairs of numbers, not ", value.to_string());
  std::int64_t pads[4][2];
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t k = 0; k < 2; ++k) pads[i][k] = value.list[i].list[k].integer;
  }
  CAPSTAN_CHECK(pads[0][0] == 0 && pads[0][1] == 0 && pads[3][0] == 0 && pads[3][1] == 0, ValueError, op,
                ": only height and width can be padded, not ", value.to_string());
  const std::array<std::int64_t, 4> sides = {pads[1][0], pads[1][1], pads[2][0], pads[2][1]};
  field = with_errors_of(op, [&] { return pack(Padding(sides)); });
}
inline AttributeValue get_field(const PackedPadding& field) {
  if (field.kind == Padding::Kind::kValid) return {"VALID"};
  if (field.kind == Padding::Kind::kSame) return {"SAME"};
  const auto pair = [](std::int64_t a, std::int64_t b) { return AttributeValue(std::vector<AttributeValue>{a, b}); };
  return {std::vector<AttributeValue>{pair(0, 0), pair(field.pads[0], field.pads[1]),
                                      pair(field.pads[2], field.pads[3]), pair(0, 0)}};
}

// Where windows of `window` elements, `stride` apart, lie along an axis of `length`.
struct WindowAxis {
  std::int64_t count = 0;   // of windows
  std::int64_t before = 0;  // how far the first one begins before the axis
};
inline WindowAxis slide(std::int64_t length, std::int64_t window, std::int64_t stride, const PackedPadding& padding,
                        int axis) {
  if (padding.kind == Padding::Kind::kSame) {
    const std::int64_t count = (length + stride - 1) / stride;
    return {count, std::max<std::int64_t>(0, (count - 1) * stride + window - length) / 2};
  }
  const std::int64_t before = padding.pads[2 * axis];  // zero if the padding is "VALID"
  const std::int64_t padded = length + before + padding.pads[2 * axis + 1];
  return {padded < window ? 0 : (padded - window) / stride + 1, before};
}

}  // namespace capstan
