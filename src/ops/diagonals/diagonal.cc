// Diagonals and bands of matrices.
//
// Diagonal k of a matrix holds the elements [i, i + k]: 0 is the main one, those above are positive. Several
// diagonals, from `lower` to `upper`, are the rows of one matrix, the highest first; those that are shorter
// than the longest are padded at one end, which one `align` says for those above and those below.
//
// diag and diag_part are each other's adjoint, and set_diag is the sum of a cut and a diag.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/numbers.h"
#include "src/ops/batching.h"
#include "src/ops/decompositions/matrices.h"
#include "src/ops/diagonals/diagonal_layout.h"
#include "src/ops/family.h"

namespace capstan {

// The rules name each other's ops.
extern const OpDef kDiagPart;
extern const OpDef kSetDiag;
extern const OpDef kBandPart;

namespace {

struct DiagAttributes {
  Diagonals k;
  std::int64_t num_rows = -1;
  std::int64_t num_cols = -1;
  double padding_value = 0;
  DiagonalAlignment align;
};

struct PartAttributes {
  Diagonals k;
  double padding_value = 0;
  DiagonalAlignment align;
};

struct SetAttributes {
  Diagonals k;
  DiagonalAlignment align;
};

struct BandAttributes {
  std::int64_t num_lower = 0;
  std::int64_t num_upper = 0;
};

// Calls run(T{}) for a type as large as the elements: what is moved is not looked at.
template <class Run>
void with_size(DType dtype, const Run& run) {
  struct Sixteen {
    std::uint64_t halves[2];
  };
  switch (size_of(dtype)) {
    case 1:
      return run(std::uint8_t{});
    case 2:
      return run(std::uint16_t{});
    case 4:
      return run(std::uint32_t{});
    case 8:
      return run(std::uint64_t{});
    default:
      return run(Sixteen{});
  }
}

template <class T>
const T* elements(const TensorRef& x) {
  return static_cast<const T*>(x.raw_data());
}
template <class T>
T* elements(Tensor& x) {
  return static_cast<T*>(mutable_raw_data(x));
}

template <class T>
T padding(double value, DType dtype) {
  T element;
  write_scalar(value, dtype, &element);
  return element;
}

// How a batch of matrices and their diagonals lie.
struct PackedMatrices {
  std::int64_t count;
  DiagonalLayout layout;
};

// --- diag ---

void infer_diag(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<DiagAttributes>();
  const Shape shape = x.shape();
  const Diagonals& k = attributes.k;
  CAPSTAN_CHECK(k.lower <= k.upper, ValueError, call.op.name, ": the lowest diagonal, ", k.lower,
                ", is above the highest, ", k.upper);
  const bool single = k.count() == 1;
  CAPSTAN_CHECK(shape.rank() >= (single ? 1 : 2), ShapeError, call.op.name, ": takes tensors of rank ", single ? 1 : 2,
                " or more, not ", shape.rank(), arguments({{"x", x}}));
  CAPSTAN_CHECK(single || shape[-2] == k.count(), ShapeError, call.op.name, ": ", shape[-2], " rows for ", k.count(),
                " diagonals", arguments({{"x", x}}));
  const std::int64_t longest = shape[-1];
  const std::int64_t least_rows = longest - std::min<std::int64_t>(k.upper, 0);
  const std::int64_t least_columns = longest + std::max<std::int64_t>(k.lower, 0);
  std::int64_t rows = attributes.num_rows;
  std::int64_t columns = attributes.num_cols;
  if (rows == -1 && columns == -1) {
    rows = columns = std::max(least_rows, least_columns);
  } else if (rows == -1) {
    rows = least_rows;
  } else if (columns == -1) {
    columns = least_columns;
  }
  CAPSTAN_CHECK(rows >= least_rows && columns >= least_columns && (rows == least_rows || columns == least_columns),
                ShapeError, call.op.name, ": ", longest, " values do not fit diagonals ", k.lower, " to ", k.upper,
                " of a matrix of ", rows, " by ", columns, arguments({{"x", x}}));
  const Shape batch(shape.dims().first(static_cast<std::size_t>(shape.rank() - (single ? 1 : 2))));
  outputs.add(x.dtype(), matrix_shape(batch, rows, columns));
  outputs.hand_on(PackedMatrices{batch.size(), {rows, columns, k, attributes.align}});
}

void run_diag(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& [count, layout] = call.geometry<PackedMatrices>();
  with_size(x.dtype(), [&]<class T>(T) {
    const T fill = padding<T>(call.attributes<DiagAttributes>().padding_value, x.dtype());
    const T* from = elements<T>(x);
    T* to = elements<T>(outputs[0]);
    std::fill(to, to + count * layout.size(), fill);
    for (std::int64_t b = 0; b < count; ++b, from += layout.packed_size(), to += layout.size()) {
      layout.for_each([&](std::int64_t packed, std::int64_t element) { to[element] = from[packed]; });
    }
  });
}

// --- diag_part ---

void infer_part(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const Matrices matrices = matrices_of(call.op.name, x);
  const auto& attributes = call.attributes<PartAttributes>();
  check_diagonals(call.op.name, matrices.rows, matrices.columns, attributes.k);
  const DiagonalLayout layout(matrices.rows, matrices.columns, attributes.k, attributes.align);
  outputs.add(x.dtype(), layout.packed_shape(matrices.batch));
  outputs.hand_on(PackedMatrices{matrices.count, layout});
}

void run_part(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& [count, layout] = call.geometry<PackedMatrices>();
  with_size(x.dtype(), [&]<class T>(T) {
    const T fill = padding<T>(call.attributes<PartAttributes>().padding_value, x.dtype());
    const T* from = elements<T>(x);
    T* to = elements<T>(outputs[0]);
    std::fill(to, to + count * layout.packed_size(), fill);
    for (std::int64_t b = 0; b < count; ++b, from += layout.size(), to += layout.packed_size()) {
      layout.for_each([&](std::int64_t packed, std::int64_t element) { to[packed] = from[element]; });
    }
  });
}

// --- set_diag ---

void infer_set(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const Matrices matrices = matrices_of(call.op.name, x);
  const auto& attributes = call.attributes<SetAttributes>();
  check_diagonals(call.op.name, matrices.rows, matrices.columns, attributes.k);
  const DiagonalLayout layout(matrices.rows, matrices.columns, attributes.k, attributes.align);
  const Shape wanted = layout.packed_shape(matrices.batch);
  CAPSTAN_CHECK(call.input(1).shape() == wanted, ShapeError, call.op.name, ": the diagonal must have shape ", wanted,
                ", not ", call.input(1).shape(), arguments({{"x", x}, {"diagonal", call.input(1)}}));
  outputs.add(x.dtype(), x.shape());
  outputs.hand_on(PackedMatrices{matrices.count, layout});
}

void run_set(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& [count, layout] = call.geometry<PackedMatrices>();
  with_size(x.dtype(), [&]<class T>(T) {
    const T* from = elements<T>(call.input(1));
    T* to = elements<T>(outputs[0]);
    std::copy_n(elements<T>(x), x.size(), to);
    for (std::int64_t b = 0; b < count; ++b, from += layout.packed_size(), to += layout.size()) {
      layout.for_each([&](std::int64_t packed, std::int64_t element) { to[element] = from[packed]; });
    }
  });
}

// --- band_part ---

void infer_band(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  const Matrices matrices = matrices_of(call.op.name, x);
  const auto& attributes = call.attributes<BandAttributes>();
  CAPSTAN_CHECK(attributes.num_lower <= matrices.rows && attributes.num_upper <= matrices.columns, ValueError,
                call.op.name, ": num_lower ", attributes.num_lower, " and num_upper ", attributes.num_upper,
                " must not exceed the ", matrices.rows, " rows and ", matrices.columns, " columns",
                arguments({{"x", x}}));
  outputs.add(x.dtype(), x.shape());
  outputs.hand_on(matrices);
}

void run_band(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<BandAttributes>();
  const auto& in = call.geometry<Matrices>();
  const std::int64_t below = attributes.num_lower < 0 ? in.rows : attributes.num_lower;
  const std::int64_t above = attributes.num_upper < 0 ? in.columns : attributes.num_upper;
  with_size(x.dtype(), [&]<class T>(T) {
    const T* from = elements<T>(x);
    T* to = elements<T>(outputs[0]);
    for (std::int64_t row = 0; row < in.count * in.rows; ++row, from += in.columns, to += in.columns) {
      const std::int64_t i = row % in.rows;
      const std::int64_t begin = std::clamp<std::int64_t>(i - below, 0, in.columns);
      const std::int64_t end = std::clamp<std::int64_t>(i + above + 1, begin, in.columns);
      std::fill(to, to + begin, T{});
      std::copy(from + begin, from + end, to + begin);
      std::fill(to + end, to + in.columns, T{});
    }
  });
}

Tensor part_of(const Tensor& x, const Diagonals& k, const DiagonalAlignment& align) {
  const PartAttributes attributes{k, 0, align};
  return apply(kDiagPart, x, &attributes);
}

}  // namespace

// Diagonals beside the matrix have no elements, so nothing but padding of x belongs to them.
static Tensor cotangent_of_diag(const Tensor& g, const Tensor& x, const DiagAttributes& attributes) {
  const Diagonals& k = attributes.k;
  Diagonals inside = k;
  inside.lower = std::max(k.lower, std::min<std::int64_t>(0, 1 - g.dim(-2)));
  inside.upper = std::min(k.upper, std::max<std::int64_t>(0, g.dim(-1) - 1));
  if (inside.lower > inside.upper) return zeros_like(x);
  const Tensor part = part_of(g, inside, attributes.align);
  if (inside.count() == k.count()) return reshape_like(part, x);
  std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
  widths[widths.size() - 2] = {k.upper - inside.upper, inside.lower - k.lower};
  return pad(inside.count() == 1 ? expand_dims(part, -2) : part, widths);
}

constinit const OpDef kDiag = {
    .name = "diag",
    .text = "Matrices with given diagonals.",
    .attributes = &attribute_table<DiagAttributes, "k, num_rows, num_cols, padding_value, align">,
    .infer = infer_diag,
    .kernel = run_diag,
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = cotangent_of_diag(call.cotangent(), call.input(0), call.attributes<DiagAttributes>());
        },
    .batch = batch_leading,
};

constinit const OpDef kDiagPart = {
    .name = "diag_part",
    .text = "Diagonals of matrices.",
    .attributes = &attribute_table<PartAttributes, "k, padding_value, align">,
    .infer = infer_part,
    .kernel = run_part,
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& attributes = call.attributes<PartAttributes>();
          const SetAttributes set{attributes.k, attributes.align};
          cotangents[0] = apply(kSetDiag, zeros_like(call.input(0)), call.cotangent(), &set);
        },
    .batch = batch_leading,
};

constinit const OpDef kSetDiag = {
    .name = "set_diag",
    .text = "Matrices with some of their diagonals replaced.",
    .flags = kLinear,
    .inputs = "x, diagonal",
    .attributes = &attribute_table<SetAttributes, "k, align">,
    .infer = infer_set,
    .kernel = run_set,
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& attributes = call.attributes<SetAttributes>();
          const Tensor& g = call.cotangent();
          if (call.needs(0)) cotangents[0] = apply(kSetDiag, g, zeros_like(call.input(1)), &attributes);
          if (call.needs(1)) cotangents[1] = part_of(g, attributes.k, attributes.align);
        },
    .batch = batch_leading,
};

constinit const OpDef kBandPart = {
    .name = "band_part",
    .text = "Matrices with zeros outside of a band about the main diagonal.",
    .flags = kLinear,
    .attributes = &attribute_table<BandAttributes, "num_lower, num_upper", 2>,
    .infer = infer_band,
    .kernel = run_band,
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& attributes = call.attributes<BandAttributes>();
          cotangents[0] = apply(kBandPart, call.cotangent(), &attributes);
        },
    .batch = batch_leading,
};

Tensor diag(Operand x, const DiagOptions& options) {
  const DiagAttributes attributes{Diagonals(options.k), options.num_rows, options.num_cols, options.padding_value,
                                  DiagonalAlignment("diag", options.align)};
  return apply(kDiag, x, &attributes);
}

Tensor diag_part(Operand x, const DiagPartOptions& options) {
  const PartAttributes attributes{Diagonals(options.k), options.padding_value,
                                  DiagonalAlignment("diag_part", options.align)};
  return apply(kDiagPart, x, &attributes);
}

Tensor set_diag(Operand x, Operand diagonal, const SetDiagOptions& options) {
  const SetAttributes attributes{Diagonals(options.k), DiagonalAlignment("set_diag", options.align)};
  return apply(kSetDiag, x, diagonal, &attributes);
}

Tensor band_part(Operand x, std::int64_t num_lower, std::int64_t num_upper) {
  const BandAttributes attributes{num_lower, num_upper};
  return apply(kBandPart, x, &attributes);
}

CAPSTAN_OPS(diagonal, &kDiag, &kDiagPart, &kSetDiag, &kBandPart);

}  // namespace capstan
