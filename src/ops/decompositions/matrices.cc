#include "src/ops/decompositions/matrices.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <new>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/thread_pool.h"

namespace capstan {

namespace {

// LAPACK counts elements of work arrays, up to five times the square of the smaller length, in 32 bits.
constexpr std::int64_t kLargestOrder = 16384;
constexpr std::int64_t kLargestLength = std::int64_t{1} << 24;

}  // namespace

Matrices matrices_of(std::string_view op, const TensorRef& x) {
  const Shape shape = x.shape();
  CAPSTAN_CHECK(shape.rank() >= 2, ShapeError, op, ": takes matrices, not a tensor of rank ", shape.rank(),
                arguments({{"x", x}}));
  Matrices matrices;
  matrices.batch = Shape(shape.dims().first(static_cast<std::size_t>(shape.rank() - 2)));
  matrices.count = matrices.batch.size();
  matrices.rows = shape[-2];
  matrices.columns = shape[-1];
  return matrices;
}

Matrices factorable(std::string_view op, const TensorRef& x) {
  CAPSTAN_CHECK(is_differentiable(x.dtype()) && x.dtype() != DType::kBFloat16, DTypeError, op, ": dtype ", x.dtype(),
                " is not supported", arguments({{"x", x}}));
  const Matrices matrices = matrices_of(op, x);
  CAPSTAN_CHECK(std::min(matrices.rows, matrices.columns) <= kLargestOrder &&
                    std::max(matrices.rows, matrices.columns) <= kLargestLength,
                ValueError, op, ": matrices of ", matrices.rows, " by ", matrices.columns,
                " are too large, the limits are ", kLargestLength, " and ", kLargestOrder, " for the smaller length");
  return matrices;
}

Matrices square_matrices(std::string_view op, const TensorRef& x) {
  const Matrices matrices = factorable(op, x);
  CAPSTAN_CHECK(matrices.rows == matrices.columns, ShapeError, op, ": takes square matrices, not ", matrices.rows,
                " by ", matrices.columns, arguments({{"x", x}}));
  return matrices;
}

void infer_square(const Call& call, OutputSpecs& outputs) {
  const Matrices matrices = square_matrices(call.op.name, call.input(0));
  outputs.add(call.input(0).dtype(), call.input(0).shape());
  outputs.hand_on(matrices);
}

Shape matrix_shape(const Shape& batch, std::int64_t rows, std::int64_t columns) {
  Shape shape = batch;
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}

Shape vector_shape(const Shape& batch, std::int64_t length) {
  Shape shape = batch;
  shape.push_back(length);
  return shape;
}

const Lapack& need_lapack(std::string_view op) {
  const LoadedLapack& loaded = load_lapack();
  CAPSTAN_CHECK(loaded.routines != nullptr, Error, op, ": needs LAPACK, which cannot be loaded: ", loaded.problem,
                help("apt-get install libopenblas0-serial"));
  return *loaded.routines;
}

MatrixFailure for_each_matrix(std::int64_t count, double work, int (*body)(void* context, std::int64_t i),
                              void* context) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> first{kNone};
  std::atomic<bool> out_of_memory{false};
  constexpr double kTaskWork = 20'000;
  const auto per_task = std::max<std::int64_t>(1, static_cast<std::int64_t>(kTaskWork / std::max(1.0, work)));
  // The code of a matrix is found again by its number, so that threads need to agree on one number only.
  const auto run = [&](std::int64_t i) {
    try {
      return body(context, i);
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
      return 0;
    }
  };
  parallel_for((count + per_task - 1) / per_task, [&](std::int64_t task) {
    for (std::int64_t i = task * per_task; i < std::min(count, (task + 1) * per_task); ++i) {
      if (run(i) == 0) continue;
      std::int64_t known = first;
      while (i < known && !first.compare_exchange_weak(known, i)) {
      }
    }
  });
  if (out_of_memory) throw std::bad_alloc();
  if (first == kNone) return {};
  return {first, body(context, first)};
}

void check_spectral(std::string_view op, const MatrixFailure& failure) {
  if (!failure) return;
  const bool finite = failure.code != static_cast<int>(Spectral::kNotFinite);
  CAPSTAN_CHECK(finite, ValueError, op, ": matrix ", failure.matrix, " has elements that are not finite");
  throw ValueError(detail::join(op, ": the iterations for matrix ", failure.matrix, " do not converge"));
}

std::string which_matrix(const MatrixFailure& failure, const Matrices& matrices) {
  return matrices.batch.rank() == 0 ? "the matrix" : "matrix " + std::to_string(failure.matrix);
}

namespace {

Tensor part(const Tensor& x, int axis, std::int64_t begin, std::int64_t length) {
  Shape from;
  Shape size;
  for (int i = 0; i < x.rank(); ++i) {
    const bool cut = i == x.rank() + axis;
    from.push_back(cut ? begin : 0);
    size.push_back(cut ? length : x.dim(i));
  }
  return slice(x, from, size);
}

}  // namespace

Tensor first_columns(const Tensor& x, std::int64_t count) { return x.dim(-1) == count ? x : part(x, -1, 0, count); }
Tensor columns_after(const Tensor& x, std::int64_t count) { return part(x, -1, count, x.dim(-1) - count); }
Tensor first_rows(const Tensor& x, std::int64_t count) { return x.dim(-2) == count ? x : part(x, -2, 0, count); }

Tensor as_dtype_of(const Tensor& x, const Tensor& like) { return cast(x, like.dtype()); }

Tensor as_column(const Tensor& vector) { return expand_dims(vector, -1); }
Tensor as_row(const Tensor& vector) { return expand_dims(vector, -2); }

Tensor hermitian_part(const Tensor& x) { return 0.5 * (x + adjoint(x)); }

Tensor reciprocal_gaps(const Tensor& values) { return divide_no_nan(1.0, as_row(values) - as_column(values)); }

}  // namespace capstan
