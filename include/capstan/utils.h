// Small helpers of training programs.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

#include "capstan/tensor.h"

namespace capstan {

/// One-hot rows: class numbers [...] or [..., 1] become [..., num_classes], which is the largest label + 1 unless
/// given. Negative labels count from the end. Errors: IndexError for a label outside the classes, DTypeError unless
/// integer or floating.
///
///     to_categorical(constant({2, 0}), 3);   // {{0, 0, 1}, {1, 0, 0}}
CAPSTAN_EXPORT Tensor to_categorical(const Tensor& labels, std::int64_t num_classes = 0, DType dtype = floatx());

/// Options of pad_sequences.
struct PadSequencesOptions {
  std::int64_t maxlen = 0;         ///< 0: that of the longest sequence
  std::string padding = "pre";     ///< where a shorter sequence is filled up: or "post"
  std::string truncating = "pre";  ///< where a longer one is cut: or "post"
  double value = 0;                ///< what it is filled up with
  DType dtype = int32;
};

/// Sequences of numbers as the rows of one tensor [sequences, maxlen]. Errors: ValueError for an unknown place or a
/// negative length.
///
///     pad_sequences({{1}, {2, 3}});   // {{0, 1}, {2, 3}}
CAPSTAN_EXPORT Tensor pad_sequences(const std::vector<std::vector<double>>& sequences,
                                    const PadSequencesOptions& options = {});
template <std::integral T>
Tensor pad_sequences(const std::vector<std::vector<T>>& sequences, const PadSequencesOptions& options = {}) {
  std::vector<std::vector<double>> numbers;
  for (const std::vector<T>& sequence : sequences) numbers.emplace_back(sequence.begin(), sequence.end());
  return pad_sequences(numbers, options);
}

/// A name that nothing has yet, as layers, models and optimizers without one are called: the prefix, and from the
/// second time on with a number.
///
///     auto_name("block");  // "block"
///     auto_name("block");  // "block_1"
CAPSTAN_EXPORT std::string auto_name(const std::string& prefix);

/// keras.utils.clear_session: names are numbered from the beginning again. What is there keeps its name.
///
///     clear_session();
CAPSTAN_EXPORT void clear_session();

namespace utils {

/// keras.utils.normalize: x divided by its norm of an order along an axis; what is zero stays zero. For the norm of
/// tf.linalg.normalize, see normalize. Errors: IndexError for an axis out of range.
///
///     utils::normalize(constant({{3.0, 4.0}}));   // {{0.6, 0.8}}
CAPSTAN_EXPORT Tensor normalize(const Tensor& x, int axis = -1, int order = 2);

}  // namespace utils

}  // namespace capstan
