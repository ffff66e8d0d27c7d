#include "capstan/tensor.h"

#include <complex>
#include <cstring>

#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/numbers.h"

namespace capstan {

using detail::Block;

void detail::throw_no_value(const char* what) {
  throw ValueError(
      join(what, ": this tensor is empty", help("a missing gradient is an empty tensor; test it with has_value()")));
}

void detail::throw_wrong_element_type(const Block* block, DType asked) {
  if ((block->flags & Block::kRowSparse) != 0) {
    throw GradientError(join("data: a row-sparse tensor has rows, not elements",
                             help("read values() and indices(), or convert it with to_dense()")));
  }
  if ((block->flags & Block::kSymbolic) != 0) throw_symbolic("data", block);
  if (block->data == nullptr) throw Error("data: this tensor has a shape but no value");
  throw DTypeError(join("data: the elements are ", block->dtype, ", not ", asked,
                        help("convert with cast(x, dtype), or read with item<T>() or to_vector<T>(), which convert")));
}

void detail::throw_symbolic(std::string_view what, const Block* block) {
  throw TraceError(
      join(what, ": ", describe(TensorRef(const_cast<Block*>(block))),
           " stands for a value of a traced function, which exists only when the function is called",
           help("return it from the function and read it there; choose by values with where() or cond()")));
}

namespace {

// Calls visit(pointer) with the elements as their C++ type.
template <class Visit>
auto with_elements(const Block* block, const Visit& visit) {
  switch (block->dtype) {
    case DType::kFloat32:
      return visit(static_cast<const float*>(block->data));
    case DType::kFloat64:
      return visit(static_cast<const double*>(block->data));
    case DType::kBFloat16:
      return visit(static_cast<const BFloat16*>(block->data));
    case DType::kInt32:
      return visit(static_cast<const std::int32_t*>(block->data));
    case DType::kInt64:
      return visit(static_cast<const std::int64_t*>(block->data));
    case DType::kUInt8:
      return visit(static_cast<const std::uint8_t*>(block->data));
    case DType::kComplex64:
      return visit(static_cast<const std::complex<float>*>(block->data));
    case DType::kComplex128:
      return visit(static_cast<const std::complex<double>*>(block->data));
    default:
      return visit(static_cast<const bool*>(block->data));
  }
}

template <class T>
constexpr bool kIsComplex = is_complex(kDTypeOf<T>);

// One element as a T. Dropping an imaginary part must be asked for.
template <class T, class From>
T element_as(From value) {
  if constexpr (kIsComplex<From> && !kIsComplex<T>) {
    return T{};
  } else if constexpr (kIsComplex<T> && !kIsComplex<From>) {
    return T(static_cast<typename T::value_type>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
void check_readable(const Block* block, const char* what) {
  if ((block->flags & Block::kSymbolic) != 0) detail::throw_symbolic(what, block);
  CAPSTAN_CHECK(!is_complex(block->dtype) || kIsComplex<T>, DTypeError, what, ": the elements are ", block->dtype,
                ", not real numbers", help("read them as std::complex, or take real(x) first"));
}

}  // namespace

template <class T>
T Tensor::item() const {
  const Block* b = checked("item");
  CAPSTAN_CHECK(b->count == 1, ShapeError, "item: needs one element, not ", b->count, "\n  x: ", describe(*this));
  if ((b->flags & Block::kRowSparse) != 0) return to_dense().item<T>();
  check_readable<T>(b, "item");
  return with_elements(b, [](const auto* data) { return element_as<T>(data[0]); });
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  const Block* b = checked("to_vector");
  if ((b->flags & Block::kRowSparse) != 0) return to_dense().to_vector<T>();
  check_readable<T>(b, "to_vector");
  return with_elements(b, [&](const auto* data) {
    std::vector<T> values(static_cast<std::size_t>(b->count));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = element_as<T>(data[i]);
    return values;
  });
}

template float Tensor::item<float>() const;
template double Tensor::item<double>() const;
template std::int32_t Tensor::item<std::int32_t>() const;
template std::int64_t Tensor::item<std::int64_t>() const;
template std::uint8_t Tensor::item<std::uint8_t>() const;
template bool Tensor::item<bool>() const;
template std::complex<float> Tensor::item<std::complex<float>>() const;
template std::complex<double> Tensor::item<std::complex<double>>() const;
template std::vector<float> Tensor::to_vector<float>() const;
template std::vector<double> Tensor::to_vector<double>() const;
template std::vector<std::int32_t> Tensor::to_vector<std::int32_t>() const;
template std::vector<std::int64_t> Tensor::to_vector<std::int64_t>() const;
template std::vector<std::uint8_t> Tensor::to_vector<std::uint8_t>() const;
template std::vector<bool> Tensor::to_vector<bool>() const;
template std::vector<std::complex<float>> Tensor::to_vector<std::complex<float>>() const;
template std::vector<std::complex<double>> Tensor::to_vector<std::complex<double>>() const;

Tensor Tensor::indices() const {
  CAPSTAN_CHECK(is_row_sparse(), ValueError, "indices: this tensor is dense\n  x: ", describe(*this));
  return share(block_->sparse.indices);
}

Tensor Tensor::values() const {
  CAPSTAN_CHECK(is_row_sparse(), ValueError, "values: this tensor is dense\n  x: ", describe(*this));
  return share(block_->sparse.values);
}

DType dtype_from_name(std::string_view name) {
  for (int i = 0; i < kDTypes; ++i) {
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  throw ValueError(detail::join("dtype: there is no dtype \"", name, "\""));
}

// --- constant ---

namespace {

constexpr unsigned kind_bit(Literal::Kind kind) { return 1u << static_cast<unsigned>(kind); }

// The dtype of numbers of these kinds: the first of the list that is among them.
DType dtype_of_kinds(unsigned kinds) {
  constexpr std::pair<Literal::Kind, DType> order[] = {{Literal::Kind::kComplex128, DType::kComplex128},
                                                       {Literal::Kind::kComplex64, DType::kComplex64},
                                                       {Literal::Kind::kFloat, DType::kFloat32},
                                                       {Literal::Kind::kInt, DType::kInt32},
                                                       {Literal::Kind::kBool, DType::kBool}};
  for (const auto& [kind, dtype] : order) {
    if ((kinds & kind_bit(kind)) != 0) return dtype;
  }
  return DType::kFloat32;  // no numbers
}

// The shape of nested lists, and the kinds of their numbers; every list of one depth must have the same length.
void literal_shape(const Literal& value, int depth, Shape& shape, unsigned* kinds) {
  if (value.kind() != Literal::Kind::kList) {
    CAPSTAN_CHECK(depth == shape.rank(), ShapeError, "constant: lists of different depth");
    *kinds |= kind_bit(value.kind());
    return;
  }
  const auto length = static_cast<std::int64_t>(value.list().size());
  CAPSTAN_CHECK(depth < shape.rank() && shape[depth] == length, ShapeError, "constant: lists of different length, ",
                depth < shape.rank() ? shape[depth] : 0, " and ", length);
  for (const Literal& item : value.list()) literal_shape(item, depth + 1, shape, kinds);
}

void write_literal(const Literal& value, DType dtype, std::byte*& out) {
  if (value.kind() == Literal::Kind::kList) {
    for (const Literal& item : value.list()) write_literal(item, dtype, out);
    return;
  }
  if (value.kind() == Literal::Kind::kComplex64 || value.kind() == Literal::Kind::kComplex128) {
    write_number(std::complex<double>(value.number(), value.imaginary()), dtype, out);
    out += size_of(dtype);
    return;
  }
  const Operand number = value.kind() == Literal::Kind::kFloat ? Operand(value.number())
                         : value.kind() == Literal::Kind::kInt ? Operand(static_cast<long>(value.integer()))
                                                               : Operand(value.integer() != 0);
  CAPSTAN_CHECK(value.kind() != Literal::Kind::kFloat || is_differentiable(dtype), ValueError, "constant: the number ",
                value.number(), " does not fit ", dtype);
  const Tensor element = dtype == DType::kInt64 ? to_tensor(number, dtype) : scalar(number.number(), dtype);
  std::memcpy(out, element.raw_data(), size_of(dtype));
  out += size_of(dtype);
}

Tensor make_constant(const Literal& value, const DType* asked) {
  Shape shape;
  for (const Literal* level = &value; level->kind() == Literal::Kind::kList; level = level->list().data()) {
    shape.push_back(static_cast<std::int64_t>(level->list().size()));
    if (level->list().empty()) break;
  }
  unsigned kinds = 0;
  literal_shape(value, 0, shape, &kinds);
  const DType dtype = asked != nullptr ? *asked : dtype_of_kinds(kinds);
  Tensor tensor = new_tensor(dtype, shape);
  auto* out = static_cast<std::byte*>(mutable_raw_data(tensor));
  write_literal(value, dtype, out);
  return tensor;
}

}  // namespace

Tensor constant(Literal value) { return make_constant(value, nullptr); }
Tensor constant(Literal value, DType dtype) { return make_constant(value, &dtype); }

Tensor detail::copy_of(const void* values, std::int64_t count, DType dtype, const Shape& shape) {
  CAPSTAN_CHECK(shape.size() == count, ShapeError, "constant: ", count, " values do not fill the shape ", shape);
  Tensor tensor = new_tensor(dtype, shape);
  if (count > 0) std::memcpy(mutable_raw_data(tensor), values, static_cast<std::size_t>(count) * size_of(dtype));
  return tensor;
}

}  // namespace capstan
