// Functions of square matrices.
//
// The derivative of f at a along e is the upper right block of f([[a, e], [0, a]]) (Mathias 1996), and its
// adjoint is the derivative at a^H. So the gradient of such a function is the function itself, of a matrix
// twice as large, and gradients of every order are exact.
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/op_test.h"
#include "src/kernels/matrix_functions.h"
#include "src/ops/matrix_families.h"
#include "src/ops/matrices.h"
#include "src/ops/reference_matrix.h"

namespace capstan {

namespace {

using MatrixFunction = Tensor (*)(Operand);

// The cotangent of a given that of f(a), f by the public function.
Tensor cotangent_of_argument(MatrixFunction f, const Tensor& a, const Tensor& g) {
  if (a.size() == 0) return g;
  const std::int64_t n = a.dim(-1);
  const Tensor turned = adjoint(a);
  // The block is linear in g; brought to the size of one it does not spoil the scaling of f.
  const Tensor largest = reduce_max(abs(g), Axes{-2, -1}, true);
  const Tensor scale = stop_gradient(where(greater(largest, 0), largest, 1.0));
  const Tensor upper = concat({turned, g / scale}, -1);
  const Tensor lower = concat({zeros_like(turned), turned}, -1);
  const Tensor both = f(concat({upper, lower}, -2));
  return scale * first_rows(columns_after(both, n), n);
}

void infer_function(const Call& call, OutputSpecs& outputs) {
  square_matrices(call.op.name, call.input(0));
  outputs.add(call.input(0).dtype(), call.input(0).shape());
}

void run_expm(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& a = call.input(0);
  const Lapack& lapack = need_lapack(call.op.name);
  const Matrices matrices = matrices_of(call.op.name, a);
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

#if CAPSTAN_TESTING
std::vector<OpSample> expm_samples() {
  return {
      {.inputs = {{.shape = {3, 3}, .domain = {-1, 1}}}},
      {.inputs = {{.shape = {2, 2, 2}, .domain = {-1, 1}}}},
      {.inputs = {{.shape = {2, 2}, .values = {0, 3, -8, 0.5}}}},
      {.inputs = {{.shape = {2, 2}, .values = {0, 0, 0, 0}}}},
      {.inputs = {{.shape = {0, 0}}}},
      {.inputs = {{.shape = {2, 3}}}, .error = "takes square matrices, not 2 by 3"},
      {.inputs = {{.shape = {3}}}, .error = "takes matrices, not a tensor of rank 1"},
  };
}
// The power series of a / 1024, squared ten times.
reference::Matrix expm_of(const reference::Matrix& a) {
  reference::Matrix x = a;
  for (double& value : x.values) value /= 1024;
  reference::Matrix sum = reference::identity(a.rows, a.rows);
  reference::Matrix term = sum;
  for (int k = 1; k < 12; ++k) {
    term = reference::product(term, x);
    for (double& value : term.values) value /= k;
    for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += term.values[i];
  }
  for (int k = 0; k < 10; ++k) sum = reference::product(sum, sum);
  return sum;
}
void expm_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                    std::vector<ReferenceTensor>& outputs) {
  const std::int64_t n = inputs[0].shape[-1];
  outputs = {reference::map_matrices(inputs[0], n, n, expm_of)};
}
const OpTest kExpmTest = {.samples = expm_samples, .reference = expm_reference, .dtypes = {float32, float64}};
#endif

}  // namespace

constinit const OpDef kExpm = {
    .name = "expm",
    .text = "The exponential of square matrices.",
    .input_names = "a",
    .infer = infer_function,
    .kernel = run_expm,
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = cotangent_of_argument(expm, call.input(0), call.cotangent());
        },
    .test = CAPSTAN_OP_TEST(kExpmTest),
};

Tensor expm(Operand a) { return apply(kExpm, a); }

OpFamily matrix_function_ops() {
  static constexpr const OpDef* ops[] = {&kExpm};
  return ops;
}

}  // namespace capstan
