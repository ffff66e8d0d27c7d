#include "src/io/raw_array.h"

namespace capstan::io {

size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::kBool:
    case ElementType::kUint8:
      return 1;
    case ElementType::kInt32:
    case ElementType::kFloat32:
      return 4;
    case ElementType::kInt64:
    case ElementType::kFloat64:
      return 8;
  }
  return 0;
}

const char* element_name(ElementType type) {
  switch (type) {
    case ElementType::kBool:
      return "bool";
    case ElementType::kUint8:
      return "uint8";
    case ElementType::kInt32:
      return "int32";
    case ElementType::kInt64:
      return "int64";
    case ElementType::kFloat32:
      return "float32";
    case ElementType::kFloat64:
      return "float64";
  }
  return "unknown";
}

std::optional<int64_t> checked_count(std::span<const int64_t> shape) {
  constexpr int64_t kMost = (int64_t{1} << 62) - 1;  // of Shape
  int64_t product = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      empty = true;
      continue;
    }
    if (product > kMost / dim) return std::nullopt;
    product *= dim;
  }
  return empty ? 0 : product;
}

int64_t RawArray::count() const {
  int64_t product = 1;
  for (int64_t dim : shape) product *= dim;
  return product;
}

std::string RawArray::description() const {
  std::string text = std::string(element_name(type)) + "[";
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + "]";
}

}  // namespace capstan::io
