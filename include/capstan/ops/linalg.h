#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "capstan/ops/array.h"
#include "capstan/tensor.h"

namespace capstan {

/// Options of matmul.
struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  bool adjoint_a = false;  // transposed and conjugated; of real numbers the same as transposed
  bool adjoint_b = false;
};
/// Matrix product over the last two axes; the leading ones broadcast. Integers wrap around;
/// bfloat16 is computed in float32. Errors: ShapeError, DTypeError for bool, ValueError if an operand
/// is to be both transposed and adjoint.
///
///     matmul(x, w);                           // [32, 784] and [784, 10] make [32, 10]
///     matmul(q, k, {.transpose_b = true});    // [batch, n, d] and [batch, m, d] make [batch, n, m]
CAPSTAN_EXPORT Tensor matmul(Operand a, Operand b, const MatmulOptions& options = {});
/// Options of matvec.
struct MatvecOptions {
  bool transpose_a = false;
};
/// Matrix times vector over the last axes; the leading ones broadcast. Errors: ShapeError.
///
///     matvec(constant({{1.0, 2.0}, {3.0, 4.0}}), constant({1.0, -1.0}));  // [-1, -1]
CAPSTAN_EXPORT Tensor matvec(Operand a, Operand x, const MatvecOptions& options = {});
/// Sums products over the last `axes` axes of a and the first ones of b; 0 makes the outer product.
/// Errors: ValueError for more axes than there are, ShapeError for lengths that differ.
///
///     tensordot(zeros({2, 3, 4}), zeros({3, 4, 5}), 2);  // float32[2, 5]
CAPSTAN_EXPORT Tensor tensordot(Operand a, Operand b, int axes);
/// Sums products over pairs of axes. Errors: as above, IndexError for an axis out of range or given
/// twice.
CAPSTAN_EXPORT Tensor tensordot(Operand a, Operand b, std::span<const int> axes_a, std::span<const int> axes_b);
/// Sums of products, described by an equation as in NumPy: letters name axes, those that are not in
/// the result are summed, "..." means leading axes that broadcast, a repeated letter of one
/// term is its diagonal. Errors: ValueError for an equation that makes no sense, ShapeError for
/// tensors that do not fit it.
///
///     einsum("bqhd,bkhd->bhqk", {query, key});
CAPSTAN_EXPORT Tensor einsum(std::string_view equation, Operands tensors);
/// The adjoint of matrices, and their transpose; both exchange the last two axes. Errors: ShapeError for vectors.
///
///     adjoint(constant({{1.0, 2.0}, {3.0, 4.0}}));  // [[1, 3], [2, 4]]
///     matrix_transpose(zeros({5, 2, 3}));  // float32[5, 3, 2]
CAPSTAN_EXPORT Tensor adjoint(Operand a);
CAPSTAN_EXPORT Tensor matrix_transpose(Operand a, const TransposeOptions& options = {});
/// The sums of the main diagonals of matrices, [..., m, n] to [...]. Errors: ShapeError for vectors.
///
///     trace(constant({{1.0, 2.0}, {3.0, 4.0}}));  // 5
CAPSTAN_EXPORT Tensor trace(Operand a);
/// The cross products of vectors of three, along the last axis. Errors: ShapeError unless both have one shape, [...,
/// 3].
///
///     cross(constant({1.0, 0.0, 0.0}), constant({0.0, 1.0, 0.0}));  // [0, 0, 1]
CAPSTAN_EXPORT Tensor cross(Operand a, Operand b);
/// The products of all elements of a with all elements of b: shapes are joined.
///
///     outer(constant({1, 2}), constant({3, 4}));  // [[3, 4], [6, 8]]
CAPSTAN_EXPORT Tensor outer(Operand a, Operand b);
/// The Kronecker product: every element of a times b, as blocks; [m, n] and [p, q] make [m p, n q]. Leading axes
/// broadcast. Errors: ShapeError for vectors.
///
///     kron(constant({{1, 2}}), constant({{1}, {10}}));  // [[1, 2], [10, 20]]
CAPSTAN_EXPORT Tensor kron(Operand a, Operand b);

/// The order of a norm: "euclidean" (also of matrices: of all elements), "fro" (matrices only), "inf", or a positive
/// number. Of matrices, 1 and "inf" are the largest sums of a column and of a row, 2 is the largest singular value;
/// "nuclear", which TensorFlow lacks, is the sum of the singular values.
class CAPSTAN_EXPORT NormOrder {
 public:
  NormOrder() = default;
  NormOrder(const char* name);
  NormOrder(double number);
  NormOrder(int number) : NormOrder(static_cast<double>(number)) {}

  double number() const { return number_; }
  bool is_named() const { return kind_ != Kind::kNumber; }
  bool is_frobenius() const { return kind_ == Kind::kFrobenius; }
  bool is_nuclear() const { return kind_ == Kind::kNuclear; }

 private:
  enum class Kind : std::uint8_t { kEuclidean, kFrobenius, kNuclear, kNumber };
  double number_ = 2;
  Kind kind_ = Kind::kEuclidean;
};
/// The norm of all elements, of vectors along one axis, or of matrices along two: those of the rows and of the columns.
/// The gradient of a Euclidean norm at zero is NaN. Errors: ValueError for an order that makes no sense, IndexError for
/// an axis out of range.
///
///     norm(x);                        // Euclidean, of all elements
///     norm(x, 1, -1);                 // sums of magnitudes along the last axis
///     norm(a, 2, {-2, -1});           // the largest singular value of each matrix
CAPSTAN_EXPORT Tensor norm(Operand x, NormOrder ord = "euclidean", Axes axis = {}, const KeepdimsOptions& options = {});
/// x divided by its norm, and the norm, with its axes kept.
struct Normalized {
  Tensor value;
  Tensor norm;
};
/// The norm is that of `norm` with the same order and axes; where it is 0 the value is NaN. Errors: as norm.
///
///     normalize(constant({3.0, 4.0})).value;  // [0.6, 0.8]
CAPSTAN_EXPORT Normalized normalize(Operand x, NormOrder ord = "euclidean", Axes axis = {});
/// x / sqrt(max(sum(x^2), epsilon)), the sum over all axes or the given ones.
///
///     l2_normalize(constant({3.0, 4.0}));  // [0.6, 0.8]
CAPSTAN_EXPORT Tensor l2_normalize(Operand x, Axes axis = {}, double epsilon = 1e-12);

/// The square root of the sum of all squares of all tensors. Empty tensors are skipped; row-sparse
/// ones count by their rows. Errors: DTypeError if the dtypes differ.
///
///     global_norm({constant({3.0}), constant({{4.0}})});  // 5
CAPSTAN_EXPORT Tensor global_norm(std::span<const Tensor> tensors);
inline Tensor global_norm(std::initializer_list<Tensor> tensors) {
  return global_norm(std::span(tensors.begin(), tensors.size()));
}

/// Scales x down where its norm over the axes exceeds clip_norm. A row-sparse gradient stays one.
/// Errors: DTypeError for integers, ShapeError if clip_norm would enlarge x.
///
///     clip_by_norm(constant({3.0, 4.0}), 1.0);  // [0.6, 0.8]
CAPSTAN_EXPORT Tensor clip_by_norm(Operand x, Operand clip_norm, Axes axes = {});
/// The same for the norm divided by the number of elements.
///
///     clip_by_average_norm(constant({3.0, 4.0}), 1.0);  // [1.2, 1.6]
CAPSTAN_EXPORT Tensor clip_by_average_norm(Operand x, Operand clip_norm);

/// What clip_by_global_norm returns.
struct ClippedByGlobalNorm {
  std::vector<Tensor> tensors;
  Tensor global_norm;
};
/// Scales all tensors down together if their global norm exceeds clip_norm. Missing gradients
/// (empty tensors) pass through; a global norm that is not finite makes every result NaN. `use_norm` is the global norm
/// where it is known already, as a scalar. Errors: DTypeError, ShapeError for a use_norm that is no scalar.
///
///     clip_by_global_norm({constant({3.0}), constant({4.0})}, 1.0).tensors;  // [0.6], [0.8]
CAPSTAN_EXPORT ClippedByGlobalNorm clip_by_global_norm(std::span<const Tensor> tensors, Operand clip_norm,
                                                       const Tensor& use_norm = {});
inline ClippedByGlobalNorm clip_by_global_norm(std::initializer_list<Tensor> tensors, Operand clip_norm,
                                               const Tensor& use_norm = {}) {
  return clip_by_global_norm(std::span(tensors.begin(), tensors.size()), std::move(clip_norm), use_norm);
}

}  // namespace capstan
