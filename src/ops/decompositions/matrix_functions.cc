// Functions of square matrices.
//
// The derivative of f at a along e is the upper right block of f([[a, e], [0, a]]) (Mathias 1996), and its
// adjoint is the derivative at a^H. So the gradient of such a function is the function itself, of a matrix
// twice as large, and gradients of every order are exact.
#include "capstan/ops/array.h"
#include "capstan/ops/decompositions.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/kernels/decompositions/matrix_functions.h"
#include "src/ops/batching.h"
#include "src/ops/decompositions/matrices.h"
#include "src/ops/decompositions/regular.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

using MatrixFunction = Tensor (*)(Operand);

// The cotangent of a given that of f(a), f by the public function.
Tensor cotangent_of_argument(MatrixFunction f, const Tensor& a, const Tensor& g) {
  if (a.size() == 0) return g;
  const std::int64_t n = a.dim(-1);
  const Tensor turned = adjoint(a);
  // The block is linear in g; brought to the size of one it does not spoil the scaling of f.
  const Tensor largest = reduce_max(abs(g), Axes{-2, -1}, {.keepdims = true});
  const Tensor scale = stop_gradient(as_dtype_of(where(greater(largest, 0), largest, 1.0), g));
  const Tensor upper = concat({turned, g / scale}, -1);
  const Tensor lower = concat({zeros_like(turned), turned}, -1);
  const Tensor both = f(concat({upper, lower}, -2));
  return scale * first_rows(columns_after(both, n), n);
}

void run_expm(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& a = call.input(0);
  const Lapack& lapack = need_lapack(call.op.name);
  const auto& matrices = call.geometry<Matrices>();
  const std::int64_t n = matrices.rows;
  with_matrix_type(a.dtype(), [&]<class T>(T) {
    const T* in = a.data<T>();
    T* out = mutable_data<T>(outputs[0]);
    for_each_matrix(matrices.count, 8 * static_cast<double>(n * n) * static_cast<double>(n), [&](std::int64_t i) {
      matrix_exponential(lapack, n, in + i * n * n, out + i * n * n);
      return 0;
    });
  });
}

// Those that exist for some matrices only.
template <class Function>
void run_partial(const Call& call, std::span<Tensor> outputs, const Function& function) {
  const TensorRef& a = call.input(0);
  const auto& matrices = call.geometry<Matrices>();
  const std::int64_t n = matrices.rows;
  with_matrix_type(a.dtype(), [&]<class T>(T) {
    const T* in = a.data<T>();
    T* out = mutable_data<T>(outputs[0]);
    const double work = 50 * static_cast<double>(n * n) * static_cast<double>(n);
    const MatrixFailure failure = for_each_matrix(matrices.count, work, [&](std::int64_t i) {
      return static_cast<int>(function(n, in + i * n * n, out + i * n * n));
    });
    if (!failure) return;
    const std::string which = which_matrix(failure, matrices);
    switch (static_cast<MatrixFunctionEnd>(failure.code)) {
      case MatrixFunctionEnd::kNotFinite:
        throw ValueError(detail::join(call.op.name, ": ", which, " has elements that are not finite"));
      case MatrixFunctionEnd::kNoConvergence:
        throw ValueError(detail::join(call.op.name, ": the iterations for ", which, " do not converge"));
      case MatrixFunctionEnd::kNotDefined:
        throw ValueError(detail::join(call.op.name, ": is not defined for ", which, ", which is singular"));
      default:
        throw ValueError(detail::join(call.op.name, ": ", which, " is real, but the result is not",
                                      help("cast the matrix to a complex dtype")));
    }
  });
}

void run_sqrtm(const Call& call, std::span<Tensor> outputs) {
  const Lapack& lapack = need_lapack(call.op.name);
  run_partial(call, outputs,
              [&](std::int64_t n, const auto* a, auto* out) { return matrix_square_root(lapack, n, a, out); });
}

void run_logm(const Call& call, std::span<Tensor> outputs) {
  const Lapack& lapack = need_lapack(call.op.name);
  run_partial(call, outputs,
              [&](std::int64_t n, const auto* a, auto* out) { return matrix_logarithm(lapack, n, a, out); });
}

}  // namespace

constinit const OpDef kExpm = {
    .name = "expm",
    .text = "The exponential of square matrices.",
    .inputs = "a",
    .infer = infer_square,
    .kernel = run_expm,
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = cotangent_of_argument(expm, call.input(0), call.cotangent());
        },
    .batch = batch_leading,
};

constinit const OpDef kSqrtm = {
    .name = "sqrtm",
    .text = "The principal square root of square matrices.",
    .inputs = "a",
    .infer = infer_square,
    .kernel = run_sqrtm,
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          // A singular matrix may have a root, but that has no derivative.
          const Tensor& a = call.input(0);
          const Tensor log = slogdet(a).log_abs_determinant;
          const Tensor is_regular = is_finite(is_complex(a.dtype()) ? real(log) : log);
          cotangents[0] =
              or_nan(is_regular, cotangent_of_argument(sqrtm, or_identity(is_regular, a), call.cotangent()));
        },
    .batch = batch_leading,
};

constinit const OpDef kLogm = {
    .name = "logm",
    .text = "The principal logarithm of square matrices.",
    .inputs = "a",
    .infer = infer_square,
    .kernel = run_logm,
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = cotangent_of_argument(logm, call.input(0), call.cotangent());
        },
    .batch = batch_leading,
};

Tensor expm(Operand a) { return apply(kExpm, a); }
Tensor sqrtm(Operand a) { return apply(kSqrtm, a); }
Tensor logm(Operand a) { return apply(kLogm, a); }

CAPSTAN_OPS(matrix_functions, &kExpm, &kSqrtm, &kLogm);

}  // namespace capstan
