// Products of vectors, traces, and transposes of matrices: made of other ops.
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/named_errors.h"
#include "src/core/op_test.h"
#include "src/ops/matrix_families.h"
#include "src/ops/matrices.h"
#include "src/ops/reference.h"

namespace capstan {

namespace {

struct TransposeAttributes {
  bool conjugate = false;
};
constexpr AttributeType kTransposeAttributes =
    attribute_type<TransposeAttributes>({field<&TransposeAttributes::conjugate>("conjugate")});

Tensor with_last_axes_exchanged(std::string_view op, const Tensor& a, bool conjugate) {
  matrices_of(op, a);
  int order[kMaxRank];
  const int rank = a.rank();
  for (int i = 0; i < rank; ++i) order[i] = i;
  std::swap(order[rank - 1], order[rank - 2]);
  return transpose(a, Axes(std::span<const int>(order, static_cast<std::size_t>(rank))), conjugate);
}

#if CAPSTAN_TESTING
std::vector<OpSample> adjoint_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}}},
      {.inputs = {{.shape = {2, 3, 2}}}},
      {.inputs = {{.shape = {0, 2}}}},
      {.inputs = {{.shape = {3}}}, .error = "takes matrices, not a tensor of rank 1"},
  };
}
void adjoint_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                       std::vector<ReferenceTensor>& outputs) {
  Shape shape = inputs[0].shape;
  shape.set(-1, inputs[0].shape[-2]);
  shape.set(-2, inputs[0].shape[-1]);
  outputs = {reference::build(inputs[0].dtype, shape, [&](reference::Position p) {
    std::swap(p[p.size() - 1], p[p.size() - 2]);
    return reference::at(inputs[0], p);
  })};
}
void complex_adjoint_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                               std::vector<ComplexTensor>& outputs) {
  ComplexTensor out{.shape = inputs[0].shape};
  out.shape.set(-1, inputs[0].shape[-2]);
  out.shape.set(-2, inputs[0].shape[-1]);
  reference::for_each(out.shape, [&](reference::Position p) {
    std::swap(p[p.size() - 1], p[p.size() - 2]);
    out.values.push_back(std::conj(inputs[0].values[reference::flat(inputs[0].shape, p)]));
  });
  outputs = {out};
}
const OpTest kAdjointTest = {.samples = adjoint_samples,
                             .reference = adjoint_reference,
                             .complex_reference = complex_adjoint_reference,
                             .dtypes = reference::kEveryDType};
const OpTest kMatrixTransposeTest = {
    .samples = adjoint_samples, .reference = adjoint_reference, .dtypes = reference::kEveryDType};

std::vector<OpSample> trace_samples() {
  return {
      {.inputs = {{.shape = {3, 3}}}},
      {.inputs = {{.shape = {2, 2, 3}}}},
      {.inputs = {{.shape = {0, 2}}}},
      {.inputs = {{.shape = {3}}}, .error = "trace: takes matrices, not a tensor of rank 1"},
  };
}
void trace_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                     std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& a = inputs[0];
  const Shape batch(a.shape.dims().first(static_cast<std::size_t>(a.shape.rank() - 2)));
  outputs = {reference::build(a.dtype, batch, [&](reference::Position p) {
    double sum = 0;
    for (std::int64_t i = 0; i < std::min(a.shape[-1], a.shape[-2]); ++i) {
      reference::Position place = p;
      place.push_back(i);
      place.push_back(i);
      sum += reference::at(a, place);
    }
    return sum;
  })};
}
const OpTest kTraceTest = {.samples = trace_samples,
                           .reference = trace_reference,
                           .dtypes = {float32, float64, bfloat16, int32, int64, complex64, complex128}};

std::vector<OpSample> cross_samples() {
  return {
      {.inputs = {{.shape = {3}}, {.shape = {3}}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2, 3}}}},
      {.inputs = {{.shape = {2}}, {.shape = {2}}}, .error = "cross: takes vectors of three, not [2]"},
      {.inputs = {{.shape = {}}, {.shape = {}}}, .error = "cross: takes vectors of three, not []"},
      {.inputs = {{.shape = {2, 3}}, {.shape = {3}}}, .error = "cross: shapes differ, [2, 3] and [3]"},
  };
}
void cross_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                     std::vector<ReferenceTensor>& outputs) {
  outputs = {inputs[0]};
  for (std::size_t v = 0; v < inputs[0].values.size(); v += 3) {
    const double* a = &inputs[0].values[v];
    const double* b = &inputs[1].values[v];
    for (std::size_t i = 0; i < 3; ++i) {
      outputs[0].values[v + i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
    }
  }
}
const OpTest kCrossTest = {
    .samples = cross_samples, .reference = cross_reference, .dtypes = {float32, float64, int32, int64}};

std::vector<OpSample> outer_samples() {
  return {
      {.inputs = {{.shape = {3}}, {.shape = {2}}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2}}}},
      {.inputs = {{.shape = {}}, {.shape = {2}}}},
      {.inputs = {{.shape = {0}}, {.shape = {2}}}},
      {.inputs = {{.shape = {1, 1, 1, 1, 1}}, {.shape = {1, 1, 1, 1}}}, .error = "outer: the result has 9 axes"},
  };
}
void outer_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                     std::vector<ReferenceTensor>& outputs) {
  ReferenceTensor out{inputs[0].dtype, inputs[0].shape, {}};
  for (const std::int64_t length : inputs[1].shape) out.shape.push_back(length);
  for (const double a : inputs[0].values) {
    for (const double b : inputs[1].values) out.values.push_back(a * b);
  }
  outputs = {out};
}
const OpTest kOuterTest = {.samples = outer_samples,
                           .reference = outer_reference,
                           .over_complex = OverComplex::kProduct,
                           .dtypes = {float32, float64, int32, int64, complex64, complex128}};

std::vector<OpSample> kron_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}, {.shape = {3, 2}}}},
      {.inputs = {{.shape = {1, 1}}, {.shape = {2, 2}}}},
      {.inputs = {{.shape = {0, 2}}, {.shape = {2, 2}}}},
      {.inputs = {{.shape = {3}}, {.shape = {2, 2}}}, .error = "kron: takes matrices, not a tensor of rank 1"},
  };
}
void kron_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                    std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& a = inputs[0];
  const ReferenceTensor& b = inputs[1];
  const Shape shape{a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]};
  outputs = {reference::build(a.dtype, shape, [&](const reference::Position& p) {
    return reference::at(a, {p[0] / b.shape[0], p[1] / b.shape[1]}) *
           reference::at(b, {p[0] % b.shape[0], p[1] % b.shape[1]});
  })};
}
const OpTest kKronTest = {.samples = kron_samples, .reference = kron_reference, .dtypes = {float32, float64, int32}};

std::vector<OpSample> tensor_diag_samples() {
  return {
      {.inputs = {{.shape = {3}}}},
      {.inputs = {{.shape = {2, 3}}}},
      {.inputs = {{.shape = {}}}},
      {.inputs = {{.shape = {1, 1, 1, 1, 1}}}, .error = "tensor_diag: takes tensors of rank 4 or less, not 5"},
  };
}
void tensor_diag_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                           std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& x = inputs[0];
  Shape shape = x.shape;
  for (const std::int64_t length : x.shape) shape.push_back(length);
  outputs = {reference::build(x.dtype, shape, [&](const reference::Position& p) {
    const auto middle = p.begin() + static_cast<std::ptrdiff_t>(p.size() / 2);
    const reference::Position left(p.begin(), middle);
    return left == reference::Position(middle, p.end()) ? reference::at(x, left) : 0.0;
  })};
}
const OpTest kTensorDiagTest = {
    .samples = tensor_diag_samples, .reference = tensor_diag_reference, .dtypes = {float32, float64, int32, int64}};

std::vector<OpSample> tensor_diag_part_samples() {
  return {
      {.inputs = {{.shape = {3, 3}}}},
      {.inputs = {{.shape = {2, 3, 2, 3}}}},
      {.inputs = {{.shape = {2, 3}}},
       .error = "tensor_diag_part: takes tensors whose shape is some shape twice, not [2"},
      {.inputs = {{.shape = {3}}}, .error = "tensor_diag_part: takes tensors whose shape is some shape twice, not [3]"},
  };
}
void tensor_diag_part_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                                std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& x = inputs[0];
  const Shape half(x.shape.dims().first(static_cast<std::size_t>(x.shape.rank() / 2)));
  outputs = {reference::build(x.dtype, half, [&](reference::Position p) {
    const reference::Position again = p;
    p.insert(p.end(), again.begin(), again.end());
    return reference::at(x, p);
  })};
}
const OpTest kTensorDiagPartTest = {.samples = tensor_diag_part_samples,
                                    .reference = tensor_diag_part_reference,
                                    .dtypes = {float32, float64, int32, int64}};
#endif

// A composite of one input.
template <Tensor (*F)(Operand)>
void compose_unary(std::span<const Operand> inputs, const void*, std::vector<Tensor>& outputs) {
  outputs.push_back(F(inputs[0]));
}
template <Tensor (*F)(Operand, Operand)>
void compose_binary(std::span<const Operand> inputs, const void*, std::vector<Tensor>& outputs) {
  outputs.push_back(F(inputs[0], inputs[1]));
}

}  // namespace

constinit const OpDef kAdjoint = {
    .name = "adjoint",
    .text = "The adjoints of matrices.",
    .kind = OpKind::kComposite,
    .input_names = "a",
    .compose = compose_unary<adjoint>,
    .test = CAPSTAN_OP_TEST(kAdjointTest),
};

constinit const OpDef kMatrixTranspose = {
    .name = "matrix_transpose",
    .text = "The transposes of matrices.",
    .kind = OpKind::kComposite,
    .input_names = "a",
    .attributes = &kTransposeAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          outputs.push_back(
              matrix_transpose(inputs[0], static_cast<const TransposeAttributes*>(attributes)->conjugate));
        },
    .test = CAPSTAN_OP_TEST(kMatrixTransposeTest),
};

constinit const OpDef kTrace = {
    .name = "trace",
    .text = "The sums of the main diagonals of matrices.",
    .kind = OpKind::kComposite,
    .input_names = "a",
    .compose = compose_unary<trace>,
    .test = CAPSTAN_OP_TEST(kTraceTest),
};

constinit const OpDef kCross = {
    .name = "cross",
    .text = "The cross products of vectors of three.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "a, b",
    .compose = compose_binary<cross>,
    .test = CAPSTAN_OP_TEST(kCrossTest),
};

constinit const OpDef kOuter = {
    .name = "outer",
    .text = "The products of all pairs of elements.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "a, b",
    .compose = compose_binary<outer>,
    .test = CAPSTAN_OP_TEST(kOuterTest),
};

constinit const OpDef kKron = {
    .name = "kron",
    .text = "The Kronecker products of matrices.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "a, b",
    .compose = compose_binary<kron>,
    .test = CAPSTAN_OP_TEST(kKronTest),
};

constinit const OpDef kTensorDiag = {
    .name = "tensor_diag",
    .text = "The tensor of twice the rank whose diagonal is given.",
    .kind = OpKind::kComposite,
    .compose = compose_unary<tensor_diag>,
    .test = CAPSTAN_OP_TEST(kTensorDiagTest),
};

constinit const OpDef kTensorDiagPart = {
    .name = "tensor_diag_part",
    .text = "The diagonal of a tensor whose shape is some shape twice.",
    .kind = OpKind::kComposite,
    .compose = compose_unary<tensor_diag_part>,
    .test = CAPSTAN_OP_TEST(kTensorDiagPartTest),
};

Tensor adjoint(Operand a) try { return with_last_axes_exchanged("adjoint", to_tensor(a), true); } catch (const Error&) {
  rethrow_as("adjoint");
}

Tensor matrix_transpose(Operand a, bool conjugate) try {
  return with_last_axes_exchanged("matrix_transpose", to_tensor(a), conjugate);
} catch (const Error&) {
  rethrow_as("matrix_transpose");
}

Tensor trace(Operand a) try {
  const Tensor x = to_tensor(a);
  matrices_of("trace", x);
  return reduce_sum(diag_part(x), -1);
} catch (const Error&) {
  rethrow_as("trace");
}

Tensor cross(Operand a, Operand b) try {
  const Tensor x = to_tensor(a);
  const Tensor y = to_tensor(b);
  CAPSTAN_CHECK(x.rank() > 0 && x.dim(-1) == 3, ShapeError, "cross: takes vectors of three, not ", x.shape(),
                arguments({{"a", x}, {"b", y}}));
  CAPSTAN_CHECK(x.shape() == y.shape(), ShapeError, "cross: shapes differ, ", x.shape(), " and ", y.shape(),
                arguments({{"a", x}, {"b", y}}));
  // Element i takes those after it, counted round the corner.
  return roll(x, -1, -1) * roll(y, -2, -1) - roll(x, -2, -1) * roll(y, -1, -1);
} catch (const Error&) {
  rethrow_as("cross");
}

Tensor outer(Operand a, Operand b) try {
  const Tensor x = to_tensor(a);
  const Tensor y = to_tensor(b);
  CAPSTAN_CHECK(x.rank() + y.rank() <= kMaxRank, ShapeError, "outer: the result has ", x.rank() + y.rank(),
                " axes, more than ", kMaxRank, arguments({{"a", x}, {"b", y}}));
  Shape shape = x.shape();
  for (int i = 0; i < y.rank(); ++i) shape.push_back(1);
  return reshape(x, shape) * y;
} catch (const Error&) {
  rethrow_as("outer");
}

Tensor kron(Operand a, Operand b) try {
  const Tensor x = to_tensor(a);
  const Tensor y = to_tensor(b);
  const Matrices left = matrices_of("kron", x);
  const Matrices right = matrices_of("kron", y);
  CAPSTAN_CHECK(std::max(x.rank(), y.rank()) + 2 <= kMaxRank, ShapeError, "kron: takes tensors of rank ", kMaxRank - 2,
                " or less, not ", std::max(x.rank(), y.rank()), arguments({{"a", x}, {"b", y}}));
  // [..., m, 1, n, 1] * [..., 1, p, 1, q]
  const Tensor product = expand_dims(expand_dims(x, -1), -3) * expand_dims(expand_dims(y, -2), -4);
  const Shape lengths = product.shape();
  const Shape batch(lengths.dims().first(static_cast<std::size_t>(product.rank() - 4)));
  return reshape(product, matrix_shape(batch, left.rows * right.rows, left.columns * right.columns));
} catch (const Error&) {
  rethrow_as("kron");
}

Tensor tensor_diag(Operand x) try {
  const Tensor value = to_tensor(x);
  CAPSTAN_CHECK(2 * value.rank() <= kMaxRank, ShapeError, "tensor_diag: takes tensors of rank ", kMaxRank / 2,
                " or less, not ", value.rank(), arguments({{"x", value}}));
  Shape shape = value.shape();
  for (int i = 0; i < value.rank(); ++i) shape.push_back(value.dim(i));
  return reshape(diag(reshape(value, {value.size()})), shape);
} catch (const Error&) {
  rethrow_as("tensor_diag");
}

Tensor tensor_diag_part(Operand x) try {
  const Tensor value = to_tensor(x);
  const Shape shape = value.shape();
  const auto half = static_cast<std::size_t>(shape.rank() / 2);
  const Shape first(shape.dims().first(half));
  CAPSTAN_CHECK(shape.rank() % 2 == 0 && first == Shape(shape.dims().last(half)), ShapeError,
                "tensor_diag_part: takes tensors whose shape is some shape twice, not ", shape,
                arguments({{"x", value}}));
  const std::int64_t n = first.size();
  return reshape(diag_part(reshape(value, {n, n})), first);
} catch (const Error&) {
  rethrow_as("tensor_diag_part");
}

OpFamily vector_ops() {
  static constexpr const OpDef* ops[] = {&kAdjoint, &kMatrixTranspose, &kTrace,         &kCross, &kOuter,
                                         &kKron,    &kTensorDiag,      &kTensorDiagPart};
  return ops;
}

}  // namespace capstan
