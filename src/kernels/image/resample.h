// Resampling along an axis: every element of the result is a weighted sum of a few neighbours.
//
// The weights are those of a sparse matrix, so the gradient is the same loop with the matrix transposed. They are
// computed in float64; sums are taken in the type of the elements.
#pragma once

#include <cstdint>
#include <vector>

namespace capstan {

enum class ResampleMethod : std::uint8_t {
  kNearest,
  kBilinear,
  kBicubic,  // Keys' kernel with -1/2
  kArea,
  kLanczos3,
  kLanczos5,
  kGaussian,
  kMitchellCubic
};

// A matrix by rows: row r has weight[k] in column[k] for begin[r] <= k < begin[r + 1].
struct SparseMatrix {
  std::vector<std::int64_t> begin = {0};
  std::vector<std::int64_t> column;
  std::vector<double> weight;
};

// What makes `to` elements from `from`, pixel centres at halves. With `antialias` the kernel is as wide as the pixels
// of the result where there are fewer of them; nearest and area do not change.
SparseMatrix resample_matrix(ResampleMethod method, bool antialias, std::int64_t from, std::int64_t to);

// Which of `from` elements the centre of element `i` of `to` lies on: (i + 1/2) * from / to, in integers.
inline std::int64_t nearest_place(std::int64_t i, std::int64_t from, std::int64_t to) {
  return (2 * i + 1) * from / (2 * to);
}

SparseMatrix transpose_matrix(const SparseMatrix& matrix, std::int64_t columns);

// out[o, r, :] = sum over k of weight[k] * in[o, column[k], :], where in is [outer, from, inner].
void resample_axis(const SparseMatrix& matrix, std::int64_t outer, std::int64_t from, std::int64_t inner,
                   const float* in, float* out);
void resample_axis(const SparseMatrix& matrix, std::int64_t outer, std::int64_t from, std::int64_t inner,
                   const double* in, double* out);

}  // namespace capstan
