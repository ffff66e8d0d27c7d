// A short list of lengths as an attribute: the shape that reshape, broadcast_to, tile and the
// creation ops take.
//
// A Shape has 72 bytes and an attribute struct at most 64, so the lengths are packed into 32 bits
// each, which is what a tensor holds as well. Nothing is interned: shapes that differ from call to
// call would pile up.
#pragma once

#include <algorithm>

#include "src/core/attributes.h"
#include "src/core/check.h"
#include "src/core/dims.h"

namespace capstan {

struct Lengths {
  static constexpr std::uint32_t kAny = UINT32_MAX;  // stands for -1
  static_assert(std::int64_t{kAny} > kMaxLength);
  std::uint32_t packed[kMaxRank] = {};
  std::int32_t rank = 0;

  Shape shape() const {
    Shape shape;
    for (int i = 0; i < rank; ++i) shape.push_back(packed[i] == kAny ? -1 : std::int64_t{packed[i]});
    return shape;
  }
};

// Throws ShapeError for a length below -1 (below 0 unless `any` is true) or above what a tensor can
// have.
inline Lengths pack_lengths(std::string_view op, const Shape& shape, bool any = false) {
  Lengths lengths;
  for (std::int64_t length : shape) {
    CAPSTAN_CHECK(length >= (any ? -1 : 0), ShapeError, op, ": negative length ", length, " in ", shape);
    CAPSTAN_CHECK(length <= kMaxLength, ShapeError, op, ": length ", length, " in ", shape, " exceeds ", kMaxLength);
    lengths.packed[lengths.rank++] = static_cast<std::uint32_t>(length);
  }
  return lengths;
}

// The same for many items, with their axis in front; there must be room for it.
inline Lengths lengths_with_items(const Lengths& item, std::int64_t size) {
  Lengths lengths;
  lengths.rank = item.rank + 1;
  lengths.packed[0] = static_cast<std::uint32_t>(size);
  std::copy_n(item.packed, item.rank, lengths.packed + 1);
  return lengths;
}

// The shape of a result, which may have no open length.
inline Shape result_shape(std::string_view op, const Lengths& lengths) {
  const Shape shape = lengths.shape();
  for (std::int64_t length : shape) {
    CAPSTAN_CHECK(length >= 0, ShapeError, op, ": negative length ", length, " in ", shape);
  }
  return shape;
}

// The integers of a dynamic value: a list of them, or one.
inline std::vector<std::int64_t> integers_of(const AttributeValue& value, std::string_view op, std::string_view name) {
  std::vector<std::int64_t> integers;
  const auto add = [&](const AttributeValue& item) {
    CAPSTAN_CHECK(item.kind == AttributeValue::Kind::kInt, ValueError, op, ": attribute \"", name,
                  "\" must be a list of integers, not ", value.to_string());
    integers.push_back(item.integer);
  };
  if (value.kind != AttributeValue::Kind::kList) {
    add(value);
  } else {
    for (const AttributeValue& item : value.list) add(item);
  }
  return integers;
}

inline AttributeValue list_of(std::span<const std::int64_t> integers) {
  std::vector<AttributeValue> list;
  for (std::int64_t integer : integers) list.emplace_back(integer);
  return AttributeValue(std::move(list));
}

inline void set_field(Lengths& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  field = pack_lengths(op, Shape(integers_of(value, op, name)), true);
}
inline AttributeValue get_field(const Lengths& field) { return list_of(field.shape()); }

template <>
struct AttributeOf<Shape> {
  using Type = Lengths;
  static Shape give(const Lengths& attribute) { return attribute.shape(); }
};

}  // namespace capstan
