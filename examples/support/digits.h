// Handwritten digits for the examples: drawn ones, or those of MNIST.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "capstan/datasets.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/tensor.h"
#include "examples/mnist/digits.h"

namespace examples {

struct Digits {
  capstan::Tensor images;  ///< float32 [count, 28, 28, 1], from 0 (paper) to 1 (ink)
  capstan::Tensor labels;  ///< int32 [count]
};

/// Digits that the program draws itself.
inline Digits draw_digits(std::int64_t count, std::uint64_t seed) {
  const ::mnist::DrawnDigits drawn = ::mnist::draw_digits(count, seed);
  return {capstan::cast(capstan::constant(drawn.images, {count, 28, 28, 1}), capstan::float32) / 255.0,
          capstan::cast(capstan::constant(drawn.labels), capstan::int32)};
}

/// Digits to train on and digits to test with: the first ones of MNIST, if a directory with its files is given, else
/// drawn ones. Errors: IoError.
inline std::pair<Digits, Digits> load_digits(const std::optional<std::string>& directory, std::int64_t train,
                                             std::int64_t test) {
  if (!directory) return {draw_digits(train, 1), draw_digits(test, 2)};
  const auto first = [](const std::pair<capstan::Tensor, capstan::Tensor>& all, std::int64_t count) {
    const capstan::Slice rows = capstan::slice(0, std::min(count, all.first.dim(0)));
    return Digits{capstan::cast(capstan::expand_dims(all.first(rows), -1), capstan::float32) / 255.0,
                  capstan::cast(all.second(rows), capstan::int32)};
  };
  const auto [a, b] = capstan::datasets::mnist::load_data(*directory);
  return {first(a, train), first(b, test)};
}

/// Those of some classes, from `first` to `last`.
inline Digits between(const Digits& digits, int first, int last) {
  const capstan::Tensor kept = capstan::logical_and(digits.labels >= first, digits.labels <= last);
  return {capstan::boolean_mask(digits.images, kept), capstan::boolean_mask(digits.labels, kept)};
}

}  // namespace examples
