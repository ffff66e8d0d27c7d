#include "src/io/to_tensor.h"

#include <limits>

#include "capstan/error.h"
#include "src/io/byte_source.h"

namespace capstan::io {

namespace {

Tensor copy_of(const RawArray& array) {
  const Shape shape{std::span<const int64_t>(array.shape)};
  switch (array.type) {
    case ElementType::kBool:
      return constant(array.values<bool>(), shape);
    case ElementType::kUint8:
      return constant(array.values<uint8_t>(), shape);
    case ElementType::kInt32:
      return constant(array.values<int32_t>(), shape);
    case ElementType::kInt64:
      return constant(array.values<int64_t>(), shape);
    case ElementType::kFloat32:
      return constant(array.values<float>(), shape);
    case ElementType::kFloat64:
      return constant(array.values<double>(), shape);
  }
  return {};
}

}  // namespace

// The elements are there, so only an array without any can have lengths that no tensor has.
Tensor to_tensor(std::string_view reader, const RawArray& array, const std::string& source) {
  constexpr int64_t kLongest = std::numeric_limits<uint32_t>::max();
  const auto fail = [&](const std::string& expected) {
    fail_file(std::string(reader), "the array is " + array.description() + ", expected " + expected, source);
  };
  for (int64_t dim : array.shape) {
    if (dim > kLongest) fail("axes of at most " + std::to_string(kLongest));
  }
  try {
    return copy_of(array);
  } catch (const ShapeError&) {
    fail("lengths whose product fits 63 bits");
  }
  return {};
}

}  // namespace capstan::io
