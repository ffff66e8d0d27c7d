// Products of matrices.
#include "capstan/ops/decompositions.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"

#include "src/core/check.h"
#include "src/onnx/import.h"

namespace capstan::onnx {
namespace {

void run_matmul(NodeCall& call) {
  const Tensor a = call.tensor(0), b = call.tensor(1);
  if (a.rank() >= 2 && b.rank() >= 2) return call.give(matmul(a, b));
  // A vector is a matrix of one row or one column, which the result lacks.
  const Tensor left = a.rank() == 1 ? expand_dims(a, 0) : a, right = b.rank() == 1 ? expand_dims(b, 1) : b;
  Tensor y = matmul(left, right);
  if (b.rank() == 1) y = squeeze(y, -1);
  if (a.rank() == 1) y = squeeze(y, b.rank() == 1 ? -1 : -2);
  call.give(y);
}

void gemm(NodeCall& call) {
  const Tensor a = call.tensor(0), b = call.tensor(1);
  const double alpha = call.number("alpha", 1), beta = call.number("beta", 1);
  Tensor y =
      matmul(a, b, {.transpose_a = call.integer("transA", 0) != 0, .transpose_b = call.integer("transB", 0) != 0});
  if (alpha != 1) y = is_floating(y.dtype()) ? y * alpha : cast(cast(y, float64) * alpha, y.dtype());
  if (call.has(2)) {
    const Tensor c = call.tensor(2);
    y = y + (beta == 1 ? c : c * beta);
  }
  call.give(y);
}

void run_einsum(NodeCall& call) {
  std::string equation;
  for (const char letter : call.text("equation", "")) {
    if (letter != ' ') equation += letter;
  }
  call.give(einsum(equation, call.tensors()));
}

void run_det(NodeCall& call) { call.give(det(call.tensor(0))); }

constexpr Operator kProductOperators[] = {
    {"Det", run_det},
    {"Einsum", run_einsum},
    {"Gemm", gemm},
    {"MatMul", run_matmul},
};

}  // namespace

std::span<const Operator> product_operators() { return kProductOperators; }

}  // namespace capstan::onnx
