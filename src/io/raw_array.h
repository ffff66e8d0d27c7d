// An array as a file holds it: an element type, a shape, and bytes.
//
// Readers of file formats hand this back instead of a Tensor, so that they need nothing of the
// library but its errors and can be tested, fuzzed and used by tools alone. Whoever wants tensors
// converts at one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace capstan::io {

/// What one element of a RawArray is.
enum class ElementType : uint8_t { kBool, kUint8, kInt32, kInt64, kFloat32, kFloat64 };

/// Bytes per element.
size_t element_size(ElementType type);

/// The dtype's name as it is in error texts: "uint8", "float32".
const char* element_name(ElementType type);

/// More axes than a tensor can have are refused by every reader.
inline constexpr size_t kMaxRank = 8;

/// Number of elements of a shape; nothing if a dimension is negative or if the product of the
/// dimensions other than zero does not fit into 62 bits, which is what Shape::size() refuses (so
/// that no later product over a part of the shape can overflow either).
std::optional<int64_t> checked_count(std::span<const int64_t> shape);

/// An array in row-major order and in the byte order of this machine.
///
/// Readers guarantee `data.size() == count() * element_size(type)` and that a bool is 0 or 1.
struct RawArray {
  ElementType type = ElementType::kUint8;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;

  int64_t count() const;

  /// "uint8[60000, 28, 28]", as error texts show it.
  std::string description() const;

  /// The elements, seen as `T`. The caller has checked `type`; the vector's storage is aligned for
  /// every `T` here.
  template <class T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
};

}  // namespace capstan::io
