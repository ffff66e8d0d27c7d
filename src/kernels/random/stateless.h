// Draws that are functions of a pair of seeds, with the bits of TensorFlow's stateless functions, or of the three
// numbers of a random generator's state.
//
// The pair is scrambled into a key and the upper half of a counter of 128 bits by one block of the same generator.
// Block i of the draw is that of the counter plus i; its words are taken in order.
#pragma once

#include <cstdint>
#include <span>

#include "capstan/dtype.h"

namespace capstan {

enum class Stateless : std::uint8_t { kUniform, kNormal, kTruncatedNormal };

// n numbers of a floating dtype: of [0, 1), of the standard normal distribution, or of that without those of two
// deviations or more. `state` is a pair of seeds, or the counter, its lower half first, and the key.
void draw_stateless(Stateless draw, DType dtype, std::span<const std::int64_t> state, std::int64_t n, void* out);

// n integers, int32 or int64, of [minval, maxval); all there are if both are equal.
void draw_stateless_integers(DType dtype, std::span<const std::int64_t> state, std::int64_t minval, std::int64_t maxval,
                             std::int64_t n, void* out);

}  // namespace capstan
