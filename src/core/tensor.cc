#include "capstan/tensor.h"

#include <atomic>
#include <complex>
#include <cstring>

#include "capstan/memory.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/backend.h"
#include "src/core/check.h"
#include "src/core/numbers.h"
#include "src/core/unfilled.h"

namespace capstan {

using detail::Block;

void detail::throw_no_value(const char* what) {
  throw ValueError(
      join(what, ": this tensor is empty", help("a missing gradient is an empty tensor; test it with has_value()")));
}

void detail::throw_no_data(const Block* block, DType asked) {
  if (block == nullptr) throw_no_value("data");
  if (is_on_device(block)) {
    throw ValueError(join("data: the elements are in the memory of ", backend_of(block)->name(),
                          help("item<T>() and to_vector<T>() copy them from there")));
  }
  if ((block->flags & Block::kRowSparse) != 0) {
    throw GradientError(join("data: a row-sparse tensor has rows, not elements",
                             help("read values() and indices(), or convert it with to_dense()")));
  }
  if ((block->flags & Block::kSymbolic) != 0) throw_symbolic("data", block);
  if (block->data == nullptr) throw Error("data: this tensor has a shape but no value");
  throw DTypeError(join("data: the elements are ", block->dtype, ", not ", asked,
                        help("convert with cast(x, dtype), or read with item<T>() or to_vector<T>(), which convert")));
}

void detail::throw_unreadable(const char* what, std::int64_t element, std::size_t bytes) {
  throw ValueError(join(what, ": the number ", element, " does not fit the integer of ", bytes,
                        bytes == 1 ? " byte" : " bytes", " that was asked for"));
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
T Tensor::read_item() const {
  const Block* b = checked("item");
  CAPSTAN_CHECK(b->count == 1, ShapeError, "item: needs one element, not ", b->count, "\n  x: ", describe(*this));
  if ((b->flags & Block::kRowSparse) != 0) return to_dense().read_item<T>();
  if (is_on_device(b)) return copy_to_host(*this).read_item<T>();
  check_readable<T>(b, "item");
  return with_elements(b, [](const auto* data) { return element_as<T>(data[0]); });
}

template <class T>
std::vector<T> Tensor::read_all() const {
  const Block* b = checked("to_vector");
  if ((b->flags & Block::kRowSparse) != 0) return to_dense().read_all<T>();
  if (is_on_device(b)) return copy_to_host(*this).read_all<T>();
  check_readable<T>(b, "to_vector");
  return with_elements(b, [&](const auto* data) {
    std::vector<T> values(static_cast<std::size_t>(b->count));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = element_as<T>(data[i]);
    return values;
  });
}

template float Tensor::read_item<float>() const;
template double Tensor::read_item<double>() const;
template BFloat16 Tensor::read_item<BFloat16>() const;
template std::int32_t Tensor::read_item<std::int32_t>() const;
template std::int64_t Tensor::read_item<std::int64_t>() const;
template std::uint8_t Tensor::read_item<std::uint8_t>() const;
template bool Tensor::read_item<bool>() const;
template std::complex<float> Tensor::read_item<std::complex<float>>() const;
template std::complex<double> Tensor::read_item<std::complex<double>>() const;
template std::vector<float> Tensor::read_all<float>() const;
template std::vector<double> Tensor::read_all<double>() const;
template std::vector<BFloat16> Tensor::read_all<BFloat16>() const;
template std::vector<std::int32_t> Tensor::read_all<std::int32_t>() const;
template std::vector<std::int64_t> Tensor::read_all<std::int64_t>() const;
template std::vector<std::uint8_t> Tensor::read_all<std::uint8_t>() const;
template std::vector<bool> Tensor::read_all<bool>() const;
template std::vector<std::complex<float>> Tensor::read_all<std::complex<float>>() const;
template std::vector<std::complex<double>> Tensor::read_all<std::complex<double>>() const;

Tensor Tensor::indices() const {
  CAPSTAN_CHECK(is_row_sparse(), ValueError, "indices: this tensor is dense\n  x: ", describe(*this));
  return share(block_->sparse.indices);
}

Tensor Tensor::values() const {
  CAPSTAN_CHECK(is_row_sparse(), ValueError, "values: this tensor is dense\n  x: ", describe(*this));
  return share(block_->sparse.values);
}

namespace {
constinit std::atomic<DType> default_dtype{DType::kFloat32};
}
DType floatx() noexcept { return default_dtype.load(std::memory_order_relaxed); }
void set_floatx(DType dtype) {
  CAPSTAN_CHECK(is_floating(dtype), DTypeError, "set_floatx: dtype ", dtype, " is not floating");
  default_dtype.store(dtype, std::memory_order_relaxed);
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
constexpr unsigned kLarge = 1u << 31;  // an integer that int32 cannot hold

// The dtype of numbers of these kinds.
DType dtype_of_kinds(unsigned kinds) {
  const auto any = [&](Literal::Kind kind) { return (kinds & kind_bit(kind)) != 0; };
  if (any(Literal::Kind::kComplex128)) return DType::kComplex128;
  if (any(Literal::Kind::kComplex64)) return DType::kComplex64;
  if (any(Literal::Kind::kFloat)) return floatx();
  if (any(Literal::Kind::kInt)) return (kinds & kLarge) != 0 ? DType::kInt64 : DType::kInt32;
  return any(Literal::Kind::kBool) ? DType::kBool : floatx();
}

// The shape of nested lists, and the kinds of their numbers; every list of one depth must have the same length.
void literal_shape(const Literal& value, int depth, Shape& shape, unsigned* kinds) {
  if (value.kind() != Literal::Kind::kList) {
    CAPSTAN_CHECK(depth == shape.rank(), ShapeError, "constant: lists of different depth");
    *kinds |= kind_bit(value.kind());
    if (value.kind() == Literal::Kind::kInt && dtype_of_integer(value.integer()) == DType::kInt64) *kinds |= kLarge;
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
  return placed(std::move(tensor));
}

}  // namespace

Tensor constant(Literal value) { return make_constant(value, nullptr); }
Tensor constant(Literal value, DType dtype) { return make_constant(value, &dtype); }

void detail::add_nested(Shape& shape, int depth, std::size_t length, bool first) {
  if (depth == shape.rank() && first) return shape.push_back(static_cast<std::int64_t>(length));
  CAPSTAN_CHECK(depth < shape.rank() && shape[depth] == static_cast<std::int64_t>(length), ShapeError,
                "constant: lists of different length, ", depth < shape.rank() ? shape[depth] : 0, " and ", length);
}

Tensor detail::unfilled(DType dtype, const Shape& shape) { return new_tensor(dtype, shape); }

Tensor from_memory(std::shared_ptr<const void> memory, DType dtype, const Shape& shape) {
  if (shape.size() == 0) return new_tensor(dtype, shape);
  const std::size_t alignment = is_complex(dtype) ? size_of(dtype) / 2 : size_of(dtype);
  CAPSTAN_CHECK(memory != nullptr, ValueError, "from_memory: there is no memory for ", shape);
  CAPSTAN_CHECK(reinterpret_cast<std::uintptr_t>(memory.get()) % alignment == 0, ValueError,
                "from_memory: the address ", memory.get(), " is no multiple of ", alignment, ", the alignment of ",
                dtype);
  // A view, which nothing writes in place.
  return make_view(Tensor::adopt(new_shared_block(dtype, std::move(memory))), shape);
}

Tensor detail::copy_of(const void* values, std::int64_t count, DType dtype, const Shape& shape) {
  CAPSTAN_CHECK(shape.size() == count, ShapeError, "constant: ", count, " values do not fill the shape ", shape);
  Tensor tensor = new_tensor(dtype, shape);
  if (count > 0) std::memcpy(mutable_raw_data(tensor), values, static_cast<std::size_t>(count) * size_of(dtype));
  return placed(std::move(tensor));
}

}  // namespace capstan
