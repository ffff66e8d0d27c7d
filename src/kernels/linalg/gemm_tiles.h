// The innermost loops of the matrix product, one table of them per element type and instruction
// set.
//
// A tile is a block of C that fits in registers: a few rows, and a few vectors of columns. For
// every step along k the loop loads the vectors of one row of B, broadcasts one element of A per
// row, and multiplies and adds. How A and B lie in memory is a matter of strides only, so the same
// tile serves packed and unpacked operands. gemm.cc cuts a product into tiles.
//
// Every element of C is one chain of fused multiply-adds in the order of k, which starts at zero or
// at the old element. Neither the place of an element in a tile nor the width of a vector changes
// its bits.
#pragma once

#include <cstdint>

namespace capstan {

constexpr std::int64_t kLineBytes = 64;  // of a cache
template <class T>
constexpr std::int64_t kLineElements = kLineBytes / sizeof(T);

template <class T>
struct TileArguments {
  const T* a;  // element (row, step) is a[row * a_row + step * a_step]
  std::int64_t a_row;
  std::int64_t a_step;
  const T* b;  // element (step, column) is b[step * b_step + column]
  std::int64_t b_step;
  T* c;  // element (row, column) is c[row * c_row + column]
  std::int64_t c_row;
  // Where the next tile will be written, to fetch it early, or null.
  const T* next_c;
  // What comes next, fetched into the second-level cache, or null, and how far each step goes on there.
  const T* ahead;
  std::int64_t ahead_step;
  // Steps along k.
  std::int64_t depth;
  // Fills all vectors of the tile but the last, and that one in part or whole.
  std::int64_t columns;
  // Starts at the old elements of C.
  bool accumulate;
};

template <class T>
struct TileKernels {
  static constexpr int kMostRows = 16;
  static constexpr int kMostVectors = 4;

  using Tile = void (*)(const TileArguments<T>& arguments);

  int lanes;        // elements of a vector
  int rows;         // rows of the largest tile that is `vectors` wide
  int narrow_rows;  // and of one that is a vector wide
  int vectors;      // the usual width of a tile
  // c[i] = a[i] * b for rows of kStreamDepth elements that lie side by side, with b in registers: a product that is as
  // short and at most a vector wide ends before the next tile is under way. `rows` is a multiple of stream_rows. Null
  // where there are too few registers.
  static constexpr int kStreamDepth = 16;
  void (*stream)(const TileArguments<T>& arguments, std::int64_t rows);
  int stream_rows;

  // A flat product has at most `flat_rows` rows. Its tiles are `kMostVectors` wide, because the few
  // rows alone do not give enough independent chains to hide the latency of an addition.
  int flat_rows;

  // tile[a_row is 1 and not a_step][the last vector is partial][vectors - 1][rows - 1]
  Tile tile[2][2][kMostVectors][kMostRows];

  // Both may write anything up to the next multiple of a vector if to_step has room for it.
  // to[step * to_step + i] = from[step * from_step + i] for i < width.
  void (*copy)(std::int64_t depth, std::int64_t width, const T* from, std::int64_t from_step, T* to,
               std::int64_t to_step);
  // to[step * to_step + i] = from[i * from_step + step] for i < width.
  void (*transpose)(std::int64_t depth, std::int64_t width, const T* from, std::int64_t from_step, T* to,
                    std::int64_t to_step);
  // c[i * c_step] (+)= the scalar product of x and row i of `matrix`, for i < rows. The product is
  // made of kDotSums partial sums, whatever the vector.
  void (*dots)(std::int64_t rows, std::int64_t depth, const T* matrix, std::int64_t row_step, const T* x, T* c,
               std::int64_t c_step, bool accumulate);
  static constexpr int kDotSums = 64 / sizeof(T);
};

// The table of an instruction set, see InstructionSet in src/core/cpu.h.
template <class T>
const TileKernels<T>& tile_kernels(int instruction_set);

}  // namespace capstan
