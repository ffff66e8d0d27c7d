// Diagonals and bands of matrices.
//
// Diagonal k of a matrix holds the elements [i, i + k]: 0 is the main one, those above are positive. Several
// diagonals, from `lower` to `upper`, are the rows of one matrix, the highest first; those that are shorter
// than the longest are padded at one end, which one `align` says for those above and those below.
//
// diag and diag_part are each other's adjoint, and set_diag is the sum of a cut and a diag.
#include <cstring>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/numbers.h"
#include "src/core/op_test.h"
#include "src/ops/batching.h"
#include "src/ops/diagonal_layout.h"
#include "src/ops/matrix_families.h"
#include "src/ops/matrices.h"
#include "src/ops/reference.h"

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
constexpr AttributeType kDiagAttributes = attribute_type<DiagAttributes>(
    {field<&DiagAttributes::k>("k"), field<&DiagAttributes::num_rows>("num_rows"),
     field<&DiagAttributes::num_cols>("num_cols"), field<&DiagAttributes::padding_value>("padding_value"),
     field<&DiagAttributes::align>("align")});

struct PartAttributes {
  Diagonals k;
  double padding_value = 0;
  DiagonalAlignment align;
};
constexpr AttributeType kPartAttributes = attribute_type<PartAttributes>(
    {field<&PartAttributes::k>("k"), field<&PartAttributes::padding_value>("padding_value"),
     field<&PartAttributes::align>("align")});

struct SetAttributes {
  Diagonals k;
  DiagonalAlignment align;
};
constexpr AttributeType kSetAttributes =
    attribute_type<SetAttributes>({field<&SetAttributes::k>("k"), field<&SetAttributes::align>("align")});

struct BandAttributes {
  std::int64_t num_lower = 0;
  std::int64_t num_upper = 0;
};
constexpr AttributeType kBandAttributes = attribute_type<BandAttributes>(
    {field<&BandAttributes::num_lower>("num_lower", true), field<&BandAttributes::num_upper>("num_upper", true)});

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
}

void run_diag(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<DiagAttributes>();
  const Matrices out = matrices_of(call.op.name, outputs[0]);
  const DiagonalLayout layout(out.rows, out.columns, attributes.k, attributes.align);
  with_size(x.dtype(), [&]<class T>(T) {
    const T fill = padding<T>(attributes.padding_value, x.dtype());
    const T* from = elements<T>(x);
    T* to = elements<T>(outputs[0]);
    std::fill(to, to + out.count * out.rows * out.columns, fill);
    for (std::int64_t b = 0; b < out.count; ++b, from += layout.packed_size(), to += out.rows * out.columns) {
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
}

void run_part(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<PartAttributes>();
  const Matrices in = matrices_of(call.op.name, x);
  const DiagonalLayout layout(in.rows, in.columns, attributes.k, attributes.align);
  with_size(x.dtype(), [&]<class T>(T) {
    const T fill = padding<T>(attributes.padding_value, x.dtype());
    const T* from = elements<T>(x);
    T* to = elements<T>(outputs[0]);
    std::fill(to, to + in.count * layout.packed_size(), fill);
    for (std::int64_t b = 0; b < in.count; ++b, from += in.rows * in.columns, to += layout.packed_size()) {
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
}

void run_set(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<SetAttributes>();
  const Matrices in = matrices_of(call.op.name, x);
  const DiagonalLayout layout(in.rows, in.columns, attributes.k, attributes.align);
  with_size(x.dtype(), [&]<class T>(T) {
    const T* from = elements<T>(call.input(1));
    T* to = elements<T>(outputs[0]);
    std::copy_n(elements<T>(x), x.size(), to);
    for (std::int64_t b = 0; b < in.count; ++b, from += layout.packed_size(), to += in.rows * in.columns) {
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
}

void run_band(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<BandAttributes>();
  const Matrices in = matrices_of(call.op.name, x);
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

// --- Samples and references ---

#if CAPSTAN_TESTING
using reference::ints;
const std::vector<DType> kAnyDType = reference::kEveryDType;

std::vector<OpSample> diag_samples() {
  return {
      {.inputs = {{.shape = {3}}}},
      {.inputs = {{.shape = {2, 3}}}},
      {.inputs = {{.shape = {0}}}},
      {.inputs = {{.shape = {3}}}, .attributes = {{"k", 1}}},
      {.inputs = {{.shape = {2, 2}}}, .attributes = {{"k", -2}, {"num_cols", 3}, {"padding_value", 1}}},
      {.inputs = {{.shape = {3, 3}}}, .attributes = {{"k", ints({-1, 1})}}},
      {.inputs = {{.shape = {2, 2, 3}}}, .attributes = {{"k", ints({0, 1})}, {"align", "LEFT_RIGHT"}}},
      {.inputs = {{.shape = {}}}, .error = "diag: takes tensors of rank 1 or more, not 0"},
      {.inputs = {{.shape = {3}}}, .attributes = {{"num_rows", 2}}, .error = "3 values do not fit diagonals 0 to 0"},
      {.inputs = {{.shape = {2, 3}}}, .attributes = {{"k", ints({-1, 1})}}, .error = "2 rows for 3 diagonals"},
      {.inputs = {{.shape = {3}}}, .attributes = {{"k", ints({1, 0})}}, .error = "is above the highest, 0"},
      {.inputs = {{.shape = {3}}}, .attributes = {{"align", "MIDDLE"}}, .error = "\"RIGHT_LEFT\""},
      {.inputs = {{.shape = {3}}}, .attributes = {{"k", "x"}}, .error = "\"k\" must be a number or two"},
  };
}
// The elements of the diagonals of a matrix as TensorFlow's documentation has them: visit(row of the packed form, place
// in it, row, column), padding with a row of -1.
void for_each_place(std::int64_t rows, std::int64_t columns, const AttributeMap& attributes,
                    const std::function<void(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>& visit) {
  std::vector<std::int64_t> k = reference::integers(attributes, "k");
  if (k.empty()) k = {0};
  const std::int64_t low = k.front();
  const std::int64_t high = k.back();
  const auto found = attributes.find("align");
  const std::string align = found == attributes.end() ? "RIGHT_LEFT" : found->second.text;
  const auto length_of = [&](std::int64_t d) {
    return std::min(rows + std::min<std::int64_t>(d, 0), columns - std::max<std::int64_t>(d, 0));
  };
  std::int64_t longest = 0;
  for (std::int64_t d = low; d <= high; ++d) longest = std::max(longest, length_of(d));
  for (std::int64_t d = high; d >= low; --d) {
    const std::string& side = d > 0 || (d == 0 && align.starts_with("LEFT")) ? align.substr(0, align.find('_'))
                                                                             : align.substr(align.find('_') + 1);
    const std::int64_t offset = side == "LEFT" ? 0 : longest - length_of(d);
    for (std::int64_t place = 0; place < longest; ++place) {
      const std::int64_t i = place - offset;
      const bool inside = i >= 0 && i < length_of(d);
      visit(high - d, place, inside ? i - std::min<std::int64_t>(d, 0) : -1, i + std::max<std::int64_t>(d, 0));
    }
  }
}
void diag_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& x = inputs[0];
  std::vector<std::int64_t> k = reference::integers(attributes, "k");
  if (k.empty()) k = {0};
  const std::int64_t longest = x.shape[-1];
  const std::int64_t least_rows = longest - std::min<std::int64_t>(k.back(), 0);
  const std::int64_t least_columns = longest + std::max<std::int64_t>(k.front(), 0);
  std::int64_t rows = reference::integer(attributes, "num_rows", -1);
  std::int64_t columns = reference::integer(attributes, "num_cols", -1);
  if (rows < 0 && columns < 0) rows = columns = std::max(least_rows, least_columns);
  if (rows < 0) rows = least_rows;
  if (columns < 0) columns = least_columns;
  const int axes = k.back() == k.front() ? 1 : 2;
  const Shape batch(x.shape.dims().first(static_cast<std::size_t>(x.shape.rank() - axes)));
  ReferenceTensor out{x.dtype, matrix_shape(batch, rows, columns), {}};
  out.values.assign(static_cast<std::size_t>(out.shape.size()), reference::number(attributes, "padding_value", 0));
  const std::int64_t packed = longest * (k.back() - k.front() + 1);
  for (std::int64_t b = 0; b < batch.size(); ++b) {
    for_each_place(rows, columns, attributes, [&](std::int64_t d, std::int64_t place, std::int64_t i, std::int64_t j) {
      if (i < 0) return;
      out.values[static_cast<std::size_t>((b * rows + i) * columns + j)] =
          x.values[static_cast<std::size_t>(b * packed + d * longest + place)];
    });
  }
  outputs = {out};
}
const OpTest kDiagTest = {.samples = diag_samples, .reference = diag_reference, .dtypes = kAnyDType};

std::vector<OpSample> part_samples() {
  return {
      {.inputs = {{.shape = {3, 3}}}},
      {.inputs = {{.shape = {2, 2, 3}}}},
      {.inputs = {{.shape = {0, 3}}}},
      {.inputs = {{.shape = {3, 4}}}, .attributes = {{"k", 2}}},
      {.inputs = {{.shape = {3, 4}}}, .attributes = {{"k", ints({-1, 2})}, {"padding_value", 1}}},
      {.inputs = {{.shape = {2, 4, 3}}}, .attributes = {{"k", ints({-2, 1})}, {"align", "LEFT_RIGHT"}}},
      {.inputs = {{.shape = {3, 3}}}, .attributes = {{"k", ints({-1, 1})}, {"align", "LEFT_LEFT"}}},
      {.inputs = {{.shape = {3, 3}}}, .attributes = {{"k", ints({-1, 1})}, {"align", "RIGHT_RIGHT"}}},
      {.inputs = {{.shape = {3}}}, .error = "diag_part: takes matrices, not a tensor of rank 1"},
      {.inputs = {{.shape = {3, 3}}},
       .attributes = {{"k", 3}},
       .error = "diagonals 3 to 3 are outside of a matrix of 3"},
      {.inputs = {{.shape = {3, 3}}}, .attributes = {{"k", ints({1, -1})}}, .error = "is above the highest, -1"},
  };
}
void part_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& x = inputs[0];
  const std::int64_t rows = x.shape[-2];
  const std::int64_t columns = x.shape[-1];
  const Shape batch(x.shape.dims().first(static_cast<std::size_t>(x.shape.rank() - 2)));
  ReferenceTensor out{x.dtype, batch, {}};
  std::int64_t lines = 0;
  std::int64_t longest = 0;
  for (std::int64_t b = 0; b < batch.size(); ++b) {
    for_each_place(rows, columns, attributes, [&](std::int64_t d, std::int64_t place, std::int64_t i, std::int64_t j) {
      lines = d + 1;
      longest = std::max(longest, place + 1);
      out.values.push_back(i < 0 ? reference::number(attributes, "padding_value", 0)
                                 : x.values[static_cast<std::size_t>((b * rows + i) * columns + j)]);
    });
  }
  if (lines > 1) out.shape.push_back(lines);
  out.shape.push_back(longest);
  outputs = {out};
}
const OpTest kDiagPartTest = {.samples = part_samples, .reference = part_reference, .dtypes = kAnyDType};

std::vector<OpSample> set_samples() {
  return {
      {.inputs = {{.shape = {3, 3}}, {.shape = {3}}}},
      {.inputs = {{.shape = {2, 2, 3}}, {.shape = {2, 2}}}},
      {.inputs = {{.shape = {3, 3}}, {.shape = {2}}}, .attributes = {{"k", 1}}},
      {.inputs = {{.shape = {3, 4}}, {.shape = {3, 3}}}, .attributes = {{"k", ints({-1, 1})}, {"align", "LEFT_RIGHT"}}},
      {.inputs = {{.shape = {3, 3}}, {.shape = {2}}}, .error = "set_diag: the diagonal must have shape [3], not [2]"},
      {.inputs = {{.shape = {3}}, {.shape = {3}}}, .error = "takes matrices, not a tensor of rank 1"},
  };
}
void set_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                   std::vector<ReferenceTensor>& outputs) {
  ReferenceTensor out = inputs[0];
  const std::int64_t rows = out.shape[-2];
  const std::int64_t columns = out.shape[-1];
  std::size_t next = 0;
  for (std::int64_t b = 0; b < out.shape.size() / (rows * columns); ++b) {
    for_each_place(rows, columns, attributes, [&](std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) {
      const double value = inputs[1].values[next++];
      if (i >= 0) out.values[static_cast<std::size_t>((b * rows + i) * columns + j)] = value;
    });
  }
  outputs = {out};
}
const OpTest kSetDiagTest = {.samples = set_samples, .reference = set_reference, .dtypes = kAnyDType};

std::vector<OpSample> band_samples() {
  return {
      {.inputs = {{.shape = {3, 4}}}, .attributes = {{"num_lower", 1}, {"num_upper", 1}}},
      {.inputs = {{.shape = {3, 4}}}, .attributes = {{"num_lower", -1}, {"num_upper", 0}}},
      {.inputs = {{.shape = {4, 3}}}, .attributes = {{"num_lower", 0}, {"num_upper", -1}}},
      {.inputs = {{.shape = {2, 3, 2}}}, .attributes = {{"num_lower", 2}, {"num_upper", 0}}},
      {.inputs = {{.shape = {2, 0, 2}}}, .attributes = {{"num_lower", 0}, {"num_upper", 0}}},
      {.inputs = {{.shape = {3}}},
       .attributes = {{"num_lower", 0}, {"num_upper", 0}},
       .error = "band_part: takes matrices, not a tensor of rank 1"},
      {.inputs = {{.shape = {3, 4}}},
       .attributes = {{"num_lower", 4}, {"num_upper", 0}},
       .error = "num_lower 4 and num_upper 0 must not exceed the 3 rows and 4 columns"},
  };
}
void band_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& x = inputs[0];
  const std::int64_t lower = attributes.at("num_lower").integer;
  const std::int64_t upper = attributes.at("num_upper").integer;
  outputs = {reference::build(x.dtype, x.shape, [&](const reference::Position& p) {
    const std::int64_t i = p[p.size() - 2];
    const std::int64_t j = p[p.size() - 1];
    const bool inside = (lower < 0 || i - j <= lower) && (upper < 0 || j - i <= upper);
    return inside ? reference::at(x, p) : 0.0;
  })};
}
const OpTest kBandPartTest = {.samples = band_samples, .reference = band_reference, .dtypes = kAnyDType};
#endif

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
    .attributes = &kDiagAttributes,
    .infer = infer_diag,
    .kernel = run_diag,
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = cotangent_of_diag(call.cotangent(), call.input(0), call.attributes<DiagAttributes>());
        },
    .batch = batch_leading,
    .test = CAPSTAN_OP_TEST(kDiagTest),
};

constinit const OpDef kDiagPart = {
    .name = "diag_part",
    .text = "Diagonals of matrices.",
    .attributes = &kPartAttributes,
    .infer = infer_part,
    .kernel = run_part,
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& attributes = call.attributes<PartAttributes>();
          const SetAttributes set{attributes.k, attributes.align};
          cotangents[0] = apply(kSetDiag, zeros_like(call.input(0)), call.cotangent(), &set);
        },
    .batch = batch_leading,
    .test = CAPSTAN_OP_TEST(kDiagPartTest),
};

constinit const OpDef kSetDiag = {
    .name = "set_diag",
    .text = "Matrices with some of their diagonals replaced.",
    .flags = kLinear,
    .arity = 2,
    .input_names = "x, diagonal",
    .attributes = &kSetAttributes,
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
    .test = CAPSTAN_OP_TEST(kSetDiagTest),
};

constinit const OpDef kBandPart = {
    .name = "band_part",
    .text = "Matrices with zeros outside of a band about the main diagonal.",
    .flags = kLinear,
    .attributes = &kBandAttributes,
    .infer = infer_band,
    .kernel = run_band,
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& attributes = call.attributes<BandAttributes>();
          cotangents[0] = apply(kBandPart, call.cotangent(), &attributes);
        },
    .batch = batch_leading,
    .test = CAPSTAN_OP_TEST(kBandPartTest),
};

Tensor diag(Operand x, DiagOptions options) {
  const DiagAttributes attributes{Diagonals(options.k), options.num_rows, options.num_cols, options.padding_value,
                                  DiagonalAlignment("diag", options.align)};
  return apply(kDiag, x, &attributes);
}

Tensor diag_part(Operand x, DiagPartOptions options) {
  const PartAttributes attributes{Diagonals(options.k), options.padding_value,
                                  DiagonalAlignment("diag_part", options.align)};
  return apply(kDiagPart, x, &attributes);
}

Tensor set_diag(Operand x, Operand diagonal, SetDiagOptions options) {
  const SetAttributes attributes{Diagonals(options.k), DiagonalAlignment("set_diag", options.align)};
  return apply(kSetDiag, x, diagonal, &attributes);
}

Tensor band_part(Operand x, std::int64_t num_lower, std::int64_t num_upper) {
  const BandAttributes attributes{num_lower, num_upper};
  return apply(kBandPart, x, &attributes);
}

OpFamily diagonal_ops() {
  static constexpr const OpDef* ops[] = {&kDiag, &kDiagPart, &kSetDiag, &kBandPart};
  return ops;
}

}  // namespace capstan
