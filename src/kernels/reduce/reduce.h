// Reductions over axes: sums, means, products, extrema, truth values, norms.
//
// A tensor is described by its axes, outermost first, each kept or reduced. Neighbouring axes of
// one kind are one axis, and axes of length 1 are none, so most reductions turn out to be one of
// three: all elements, the last axis
// ([rows, n] -> [rows]), or the leading one ([n, columns] -> [columns]). Everything else is a
// sequence of these.
//
// Floating-point results have the same bits for any number of threads and any instruction set: a
// row has 16 (float32) or 8 (float64) partial results over blocks of at most 1024 elements, blocks
// are joined by halving, and a column has 4 partial results over blocks of 256 rows. So the error
// of a float32 sum grows with the logarithm of its length, not with the length. bfloat16 is
// computed in float32 and rounded once; integers wrap around. Complex numbers have sums, means and products.
#pragma once

#include <cstdint>

#include "capstan/dtype.h"
#include "src/kernels/axis_view.h"

namespace capstan {

enum class Reduction : std::uint8_t {
  kSum,
  kMean,  // of nothing: NaN; integers: the quotient is truncated
  kProduct,
  kMaximum,  // a NaN wins; of nothing: the lowest value
  kMinimum,
  kAny,  // bool only, as kAll
  kAll,
  kSumOfSquares,
  kEuclideanNorm,  // floating dtypes only: the square root of the sum of squares
};

// The axes of a reduction, outermost first, built with add().
struct ReduceShape {
  static constexpr int kMaxAxes = 9;  // those of a tensor, and the parts of complex numbers
  std::int64_t length[kMaxAxes] = {};
  bool reduced[kMaxAxes] = {};
  int axes = 0;

  void add(std::int64_t axis_length, bool is_reduced) {
    if (axis_length == 1) return;
    if (axes > 0 && reduced[axes - 1] == is_reduced) {
      length[axes - 1] *= axis_length;
      return;
    }
    length[axes] = axis_length;
    reduced[axes++] = is_reduced;
  }
  std::int64_t kept_count() const { return count(false); }
  std::int64_t reduced_count() const { return count(true); }

 private:
  std::int64_t count(bool which) const {
    std::int64_t product = 1;
    for (int i = 0; i < axes; ++i) {
      if (reduced[i] == which) product *= length[i];
    }
    return product;
  }
};

// Writes kept_count() elements. `in` and `out` hold elements of `dtype` and do not overlap. Large
// reductions run on the thread pool.
void reduce(Reduction reduction, DType dtype, const ReduceShape& shape, const void* in, void* out);

// For tests: as above, with an instruction set that this processor has, see InstructionSet.
void reduce_with(int instruction_set, Reduction reduction, DType dtype, const ReduceShape& shape, const void* in,
                 void* out);

// The position of the largest (smallest) element of every row along n >= 1: the first one at ties; a NaN wins over
// nothing. `out` holds outer * inner positions.
void arg_extremum(bool largest, DType dtype, const AxisView& view, const void* in, std::int64_t* out);

}  // namespace capstan
