// Help for the slow references of ops that move elements: loops over positions, and attributes as
// written in samples.
#pragma once

#include <functional>
#include <initializer_list>

#include "src/ops/axes.h"
#include "tests/op_samples/op_test.h"

namespace capstan::testing::reference {

using Position = std::vector<std::int64_t>;

// The row-major number of a position.
inline std::size_t flat(const Shape& shape, const Position& position) {
  std::int64_t index = 0;
  for (int i = 0; i < shape.rank(); ++i) index = index * shape[i] + position[static_cast<std::size_t>(i)];
  return static_cast<std::size_t>(index);
}

inline double at(const ReferenceTensor& x, const Position& position) { return x.values[flat(x.shape, position)]; }

// Visits all positions in row-major order.
inline void for_each(const Shape& shape, const std::function<void(const Position&)>& visit) {
  const std::int64_t size = shape.size();
  Position position(static_cast<std::size_t>(shape.rank()));
  for (std::int64_t n = 0; n < size; ++n) {
    std::int64_t rest = n;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      position[static_cast<std::size_t>(i)] = rest % shape[i];
      rest /= shape[i];
    }
    visit(position);
  }
}

// A tensor whose elements are value(position).
inline ReferenceTensor build(DType dtype, const Shape& shape, const std::function<double(const Position&)>& value) {
  ReferenceTensor tensor{dtype, shape, {}};
  for_each(shape, [&](const Position& position) { tensor.values.push_back(value(position)); });
  return tensor;
}

inline AttributeValue ints(std::initializer_list<int> values) {
  std::vector<AttributeValue> list(values.begin(), values.end());
  return AttributeValue(std::move(list));
}

// An input of positions, which has no gradient.
inline SampleInput index_input(const Shape& shape, std::vector<double> values, DType dtype = DType::kInt32) {
  return {.shape = shape, .values = std::move(values), .dtype = dtype, .differentiable = false};
}

inline std::int64_t integer(const AttributeMap& attributes, std::string_view name, std::int64_t fallback) {
  const auto found = attributes.find(name);
  return found == attributes.end() || found->second.kind == AttributeValue::Kind::kNone ? fallback
                                                                                        : found->second.integer;
}

inline double number(const AttributeMap& attributes, std::string_view name, double fallback) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? fallback : found->second.number;
}

// The axis that softmax and its like go along: the last one if none is given.
inline int axis_or_last(const AttributeMap& attributes, const Shape& shape) {
  return normalize_axis("reference", integer(attributes, "axis", -1), shape.rank());
}

inline DType dtype_of(const AttributeMap& attributes, DType fallback = DType::kFloat32) {
  const auto found = attributes.find("dtype");
  return found == attributes.end() ? fallback : dtype_from_name(found->second.text);
}

// The integers of a list, or of a single one; nested lists row by row.
inline std::vector<std::int64_t> integers(const AttributeValue& value) {
  if (value.kind == AttributeValue::Kind::kInt) return {value.integer};
  std::vector<std::int64_t> all;
  for (const AttributeValue& item : value.list) {
    for (std::int64_t number : integers(item)) all.push_back(number);
  }
  return all;
}
inline std::vector<std::int64_t> integers(const AttributeMap& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? std::vector<std::int64_t>() : integers(found->second);
}
inline bool has(const AttributeMap& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  return found != attributes.end() && found->second.kind != AttributeValue::Kind::kNone;
}

inline const std::vector<DType> kEveryDType = {DType::kFloat32, DType::kFloat64,   DType::kBFloat16,
                                               DType::kInt32,   DType::kInt64,     DType::kUInt8,
                                               DType::kBool,    DType::kComplex64, DType::kComplex128};
inline const std::vector<DType> kEveryNumber = {DType::kFloat32,   DType::kFloat64,   DType::kBFloat16,
                                                DType::kInt32,     DType::kInt64,     DType::kUInt8,
                                                DType::kComplex64, DType::kComplex128};

// Without complex numbers, which have no order.
inline const std::vector<DType> kRealDTypes = {DType::kFloat32, DType::kFloat64, DType::kBFloat16,
                                               DType::kInt32,   DType::kInt64,   DType::kUInt8};
inline const std::vector<DType> kOrderedDTypes = {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kInt32,
                                                  DType::kInt64,   DType::kUInt8,   DType::kBool};

}  // namespace capstan::testing::reference
