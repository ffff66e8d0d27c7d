// Equations with more or fewer rows than unknowns: the pseudo-inverse and least squares.
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "src/core/named_errors.h"
#include "src/core/op_test.h"
#include "src/ops/batching.h"
#include "src/ops/matrix_families.h"
#include "src/ops/floating.h"
#include "src/ops/matrices.h"
#include "src/ops/reference_matrix.h"

namespace capstan {

namespace {

// --- pinv ---

// A cutoff below zero stands for the usual one, ten times the rounding of the larger length.
struct PinvAttributes {
  double rcond = -1;
};
constexpr AttributeType kPinvAttributes = attribute_type<PinvAttributes>({field<&PinvAttributes::rcond>("rcond")});

void infer_pinv(const Call& call, OutputSpecs& outputs) {
  const Matrices matrices = factorable(call.op.name, call.input(0));
  outputs.add(call.input(0).dtype(), matrix_shape(matrices.batch, matrices.columns, matrices.rows));
}

void run_pinv(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& a = call.input(0);
  const Lapack& lapack = need_lapack(call.op.name);
  const Matrices matrices = matrices_of(call.op.name, a);
  const std::int64_t m = matrices.rows;
  const std::int64_t n = matrices.columns;
  const double given = call.attributes<PinvAttributes>().rcond;
  with_matrix_type(a.dtype(), [&]<class T>(T) {
    const T* in = a.data<T>();
    T* out = mutable_data<T>(outputs[0]);
    const double usual =
        10 * static_cast<double>(std::max(m, n)) * static_cast<double>(std::numeric_limits<RealOf<T>>::epsilon());
    const double rcond = given < 0 ? usual : given;
    const double work = 20 * static_cast<double>(m * n) * static_cast<double>(std::min(m, n));
    check_spectral(call.op.name, for_each_matrix(matrices.count, work, [&](std::int64_t i) {
                     return static_cast<int>(pseudo_inverse(lapack, m, n, rcond, in + i * m * n, out + i * m * n));
                   }));
  });
}

// The derivative for matrices near which the rank is constant (Golub and Pereyra); unlike that through singular
// vectors it holds for equal singular values.
void vjp_pinv(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& a = call.input(0);
  const Tensor& p = call.output();
  const Tensor g = adjoint(call.cotangent());
  const Tensor turned = adjoint(p);
  Tensor result = -matmul(turned, matmul(adjoint(g), turned));
  // (I - a p) g p p^H + p^H p g (I - p a)
  const Tensor left = matmul(matmul(g, p), turned);
  const Tensor right = matmul(turned, matmul(p, g));
  result = result + (left - matmul(a, matmul(p, left)));
  cotangents[0] = result + (right - matmul(matmul(right, p), a));
}

#if CAPSTAN_TESTING
std::vector<OpSample> pinv_samples() {
  const std::vector<double> values = {1.2, -0.7, 0.4, 0.9, -1.5, 0.3};
  return {
      {.inputs = {{.shape = {3, 2}, .values = values}}},
      {.inputs = {{.shape = {2, 3}, .values = values}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {2, 0.5, -1, 1.5, 0.3, -1.5, 2, 0.7}}}},
      {.inputs = {{.shape = {2, 2}, .values = {0, 1, -1, 0}}}, .attributes = {{"rcond", 1e-3}}},
      {.inputs = {{.shape = {2, 0}}}},
      {.inputs = {{.shape = {3}}}, .error = "takes matrices, not a tensor of rank 1"},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, NAN, 3}}}, .error = "matrix 0 has elements that are not finite"},
  };
}
// Of full rank: (a^T a)^-1 a^T, or the other way round.
reference::Matrix pinv_of(const reference::Matrix& a) {
  const reference::Matrix turned = reference::adjoint_of(a);
  if (a.rows < a.columns) return reference::adjoint_of(pinv_of(turned));
  return reference::solved(reference::product(turned, a), turned);
}
void pinv_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                    std::vector<ComplexTensor>& outputs) {
  const Shape& shape = inputs[0].shape;
  outputs = {reference::map_matrices(inputs[0], shape[-1], shape[-2], pinv_of)};
}
const OpTest kPinvTest = {.samples = pinv_samples,
                          .reference = reference::real_reference<pinv_reference>,
                          .complex_reference = pinv_reference,
                          .dtypes = reference::kMatrixDTypes};
#endif

// --- lstsq ---

struct LstsqAttributes {
  double l2_regularizer = 0;
  bool fast = true;
};
constexpr AttributeType kLstsqAttributes = attribute_type<LstsqAttributes>(
    {field<&LstsqAttributes::l2_regularizer>("l2_regularizer"), field<&LstsqAttributes::fast>("fast")});

// gram + l2 I, solved for `right` by Cholesky's factor.
Tensor solve_gram(const Tensor& gram, double l2_regularizer, const Tensor& right) {
  const Tensor raised = l2_regularizer == 0 ? gram : set_diag(gram, diag_part(gram) + l2_regularizer);
  Tensor factor;
  try {
    factor = cholesky(raised);
  } catch (const ValueError&) {
    throw ValueError(detail::join("lstsq: the matrix does not have full rank",
                                  help("pass fast = false, or an l2_regularizer above 0")));
  }
  return cholesky_solve(factor, right);
}

#if CAPSTAN_TESTING
std::vector<OpSample> lstsq_samples() {
  const std::vector<double> values = {1.2, -0.7, 0.4, 0.9, -1.5, 0.3};
  return {
      {.inputs = {{.shape = {3, 2}, .values = values}, {.shape = {3, 2}}}},
      {.inputs = {{.shape = {2, 3}, .values = values}, {.shape = {2, 1}}}},
      {.inputs = {{.shape = {3, 2}, .values = values}, {.shape = {3, 1}}}, .attributes = {{"l2_regularizer", 0.5}}},
      {.inputs = {{.shape = {2, 3}, .values = values}, {.shape = {2, 1}}}, .attributes = {{"l2_regularizer", 0.5}}},
      {.inputs = {{.shape = {3, 2}, .values = values}, {.shape = {3, 1}}}, .attributes = {{"fast", false}}},
      {.inputs = {{.shape = {2, 3}, .values = values}, {.shape = {2, 1}}}, .attributes = {{"fast", false}}},
      {.inputs = {{.shape = {3, 2}}, {.shape = {2, 1}}}, .error = "lstsq: 3 rows and 2 values per right-hand side"},
      {.inputs = {{.shape = {3, 2}}, {.shape = {3}}}, .error = "lstsq: takes matrices, not a tensor of rank 1"},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, 2, 4}}, {.shape = {2, 1}}}, .error = "does not have full rank"},
      {.inputs = {{.shape = {3, 2}}, {.shape = {3, 1}}},
       .attributes = {{"l2_regularizer", -1.0}},
       .error = "lstsq: l2_regularizer must not be negative, it is -1"},
  };
}
void lstsq_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                     std::vector<ComplexTensor>& outputs) {
  const double l2 = reference::flag(attributes, "fast", true) ? reference::number(attributes, "l2_regularizer", 0) : 0;
  const reference::Matrix a = reference::matrix_of(inputs[0], 0);
  const reference::Matrix b = reference::matrix_of(inputs[1], 0);
  const reference::Matrix turned = reference::adjoint_of(a);
  const bool deep = a.rows >= a.columns;
  reference::Matrix gram = deep ? reference::product(turned, a) : reference::product(a, turned);
  for (std::int64_t i = 0; i < gram.rows; ++i) gram(i, i) += l2;
  const reference::Matrix x = deep ? reference::solved(gram, reference::product(turned, b))
                                   : reference::product(turned, reference::solved(gram, b));
  outputs = {{DType::kComplex128, {x.rows, x.columns}, x.values}};
}
const OpTest kLstsqTest = {.samples = lstsq_samples,
                           .reference = reference::real_reference<lstsq_reference>,
                           .complex_reference = lstsq_reference,
                           .dtypes = reference::kMatrixDTypes};
#endif

}  // namespace

constinit const OpDef kPinv = {
    .name = "pinv",
    .text = "The Moore-Penrose inverse of matrices.",
    .input_names = "a",
    .attributes = &kPinvAttributes,
    .infer = infer_pinv,
    .kernel = run_pinv,
    .saves = {.inputs = 1, .outputs = 1},
    .vjp = vjp_pinv,
    .batch = batch_leading,
    .test = CAPSTAN_OP_TEST(kPinvTest),
};

constinit const OpDef kLstsq = {
    .name = "lstsq",
    .text = "The x for which matrix x is nearest to rhs.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "matrix, rhs",
    .attributes = &kLstsqAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const LstsqAttributes*>(attributes);
          outputs.push_back(lstsq(inputs[0], inputs[1], a.l2_regularizer, a.fast));
        },
    .test = CAPSTAN_OP_TEST(kLstsqTest),
};

Tensor pinv(Operand a, std::optional<double> rcond) {
  CAPSTAN_CHECK(!rcond || *rcond >= 0, ValueError, "pinv: rcond must not be negative, it is ", *rcond);
  const PinvAttributes attributes{rcond.value_or(-1)};
  return apply(kPinv, a, &attributes);
}

Tensor lstsq(Operand matrix, Operand rhs, double l2_regularizer, bool fast) try {
  const Tensor a = to_tensor(matrix);
  const Tensor b = to_tensor(rhs);
  const Matrices left = factorable("lstsq", a);
  const Matrices right = factorable("lstsq", b);
  CAPSTAN_CHECK(left.rows == right.rows, ShapeError, "lstsq: ", left.rows, " rows and ", right.rows,
                " values per right-hand side", arguments({{"matrix", a}, {"rhs", b}}));
  CAPSTAN_CHECK(l2_regularizer >= 0, ValueError, "lstsq: l2_regularizer must not be negative, it is ", l2_regularizer);
  if (!fast) return matmul(pinv(a), b);
  const Tensor turned = adjoint(a);
  if (left.rows >= left.columns) return solve_gram(matmul(turned, a), l2_regularizer, matmul(turned, b));
  return matmul(turned, solve_gram(matmul(a, turned), l2_regularizer, b));
} catch (const Error&) {
  rethrow_as("lstsq");
}

OpFamily least_squares_ops() {
  static constexpr const OpDef* ops[] = {&kPinv, &kLstsq};
  return ops;
}

}  // namespace capstan
