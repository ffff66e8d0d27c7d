// Moving elements: one loop for transposes, broadcasts, slices, joins, pads, tiles and flips.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace capstan {

// One axis of a copy: `length` steps, along which the two sides advance by so many elements. A
// source stride of 0 repeats an element, a negative one runs backwards.
struct CopyAxis {
  std::int64_t length;
  std::int64_t to;
  std::int64_t from;
};

inline constexpr int kMaxCopyAxes = 16;

// Copies elements of `size` bytes (1, 2, 4, 8 or 16) for all positions along the axes, outermost first.
// Destinations must not overlap each other or the source. Large copies run on the thread pool.
void strided_copy(void* to, const void* from, std::span<const CopyAxis> axes, std::size_t size);

// Writes `count` copies of one element.
void fill_elements(void* to, const void* element, std::int64_t count, std::size_t size);

}  // namespace capstan
