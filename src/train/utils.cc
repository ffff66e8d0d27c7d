#include "capstan/utils.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
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

Tensor utils::normalize(const Tensor& x, int axis, int order) {
  const Tensor length = norm(x, order, axis, {.keepdims = true});
  return x / where(equal(length, 0.0), 1.0, length);
}

Tensor pad_sequences(const std::vector<std::vector<double>>& sequences, const PadSequencesOptions& options) {
  const auto is_post = [](const char* what, const std::string& place) {
    CAPSTAN_CHECK(place == "pre" || place == "post", ValueError, "pad_sequences: ", what,
                  " must be \"pre\" or \"post\", not \"", place, "\"");
    return place == "post";
  };
  const bool pads_after = is_post("padding", options.padding), cuts_after = is_post("truncating", options.truncating);
  CAPSTAN_CHECK(options.maxlen >= 0, ValueError, "pad_sequences: maxlen must not be negative, but is ", options.maxlen);
  std::size_t length = static_cast<std::size_t>(options.maxlen);
  if (length == 0) {
    for (const std::vector<double>& sequence : sequences) length = std::max(length, sequence.size());
  }
  std::vector<double> all(sequences.size() * length, options.value);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::vector<double>& sequence = sequences[i];
    const std::size_t kept = std::min(length, sequence.size());
    const std::size_t from = cuts_after ? 0 : sequence.size() - kept;
    const std::size_t to = i * length + (pads_after ? 0 : length - kept);
    std::copy_n(sequence.begin() + static_cast<std::ptrdiff_t>(from), kept,
                all.begin() + static_cast<std::ptrdiff_t>(to));
  }
  const Shape shape{static_cast<std::int64_t>(sequences.size()), static_cast<std::int64_t>(length)};
  return cast(constant(all, shape), options.dtype);
}

}  // namespace capstan
