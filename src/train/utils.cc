#include "capstan/utils.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"

namespace capstan {

Tensor to_categorical(const Tensor& given, std::int64_t num_classes, DType dtype) {
  CAPSTAN_CHECK(given.has_value(), ValueError, "to_categorical: the labels are an empty tensor");
  CAPSTAN_CHECK(given.dtype() != DType::kBool, DTypeError, "to_categorical: labels are numbers of classes, not bool");
  CAPSTAN_CHECK(num_classes >= 0, ValueError, "to_categorical: num_classes must not be negative, but is ", num_classes);
  Tensor labels = cast(given, int64);
  if (labels.rank() > 1 && labels.dim(-1) == 1) labels = squeeze(labels, -1);
  std::vector<std::int64_t> numbers = labels.to_vector<std::int64_t>();
  if (num_classes == 0 && !numbers.empty()) {
    const std::int64_t last = *std::max_element(numbers.begin(), numbers.end());
    CAPSTAN_CHECK(last < INT64_MAX, IndexError, "to_categorical: label ", last, " asks for too many classes");
    num_classes = std::max<std::int64_t>(last + 1, 0);
  }
  bool any_negative = false;
  for (std::int64_t& label : numbers) {
    CAPSTAN_CHECK(label >= -num_classes && label < num_classes, IndexError, "to_categorical: label ", label,
                  " is outside the ", num_classes, " classes");
    any_negative |= label < 0;
    if (label < 0) label += num_classes;
  }
  if (any_negative) labels = constant(numbers, labels.shape());
  return one_hot(labels, num_classes, 1, 0, -1, dtype);
}

}  // namespace capstan
