// Turning a matrix: the loop of strided copies whose source runs across the rows of the destination.
#pragma once

#include <cstddef>
#include <cstdint>

namespace capstan {

// Side of a tile, in elements: the columns of the destination that are best written together.
inline constexpr std::int64_t kTransposeTile = 32;

// A matrix of the destination; strides are in elements.
struct TransposeBlock {
  std::int64_t rows;     // as many elements lie side by side in the source
  std::int64_t columns;  // as many elements lie side by side in the destination
  std::int64_t to;       // from row to row of the destination
  std::int64_t from;     // from row to row of the source
};

// to[i * block.to + j] = from[j * block.from + i]. With `stream` the destination goes past the caches, for copies that
// are larger than these.
using TransposeFunction = void (*)(std::byte* to, const std::byte* from, const TransposeBlock& block, bool stream);

// The function for elements of `size` bytes (1, 2, 4, 8 or 16) and an instruction set.
TransposeFunction transpose_function(std::size_t size, int instruction_set);

}  // namespace capstan
