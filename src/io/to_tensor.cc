#include "src/io/to_tensor.h"

#include <limits>

#include "src/io/byte_source.h"

namespace capstan::io {

Tensor to_tensor(const RawArray& array, const std::string& source) {
  // Only an array without elements can come here with such an axis.
  constexpr int64_t kLongest = std::numeric_limits<uint32_t>::max();
  for (int64_t dim : array.shape) {
    if (dim > kLongest) {
      fail_file("load",
                "the array is " + array.description() + ", expected axes of at most " + std::to_string(kLongest),
                source);
    }
  }
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

}  // namespace capstan::io
