// The items between the parentheses of `x(...)` as an attribute, and what they select from a shape.
#pragma once

#include <string_view>
#include <vector>

#include "src/core/attributes.h"
#include "src/kernels/array/strided_copy.h"

namespace capstan {

// A packed list of Index items. Up to twelve items with up to five numbers lie in the struct;
// indices change with every step of a loop, so interning them would pile up lists. Longer ones are
// rare and interned.
struct IndexList {
  static constexpr int kMaxItems = 12;
  static constexpr int kMaxNumbers = 5;

  std::uint64_t codes = 0;  // five bits per item: its kind, and which of begin, end and step follow in `numbers`
  std::int64_t count = 0;
  std::int64_t numbers[kMaxNumbers] = {};
  IntList more;  // if it has a value: kind, begin, end and step of each item
};

IndexList pack_index(std::span<const Index> items);
std::vector<Index> unpack_index(const IndexList& list);

// As bindings write it: each item is a number, a list [begin, end, step] with none for what is
// missing, "..." or "newaxis".
void set_field(IndexList& field, const AttributeValue& value, std::string_view op, std::string_view name);
AttributeValue get_field(const IndexList& field);

// What a list selects: the elements at `offset` and on along `axes`, in a result of `shape`.
struct Selection {
  Shape shape;
  std::int64_t offset = 0;
  CopyAxis axes[kMaxRank];  // `from` are strides of the tensor, `to` of the result
  int axis_count = 0;

  // True if the elements lie side by side.
  bool contiguous() const;
};

// Resolves a list against a shape. Throws IndexError for a number out of range and too many items,
// ValueError for a step of 0 and a second ellipsis.
Selection select(const IndexList& list, const TensorRef& x);

}  // namespace capstan
