#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include "capstan/dtype.h"
#include "capstan/export.h"
#include "capstan/index.h"
#include "capstan/shape.h"

namespace capstan {

class Tensor;
class Variable;
class Operand;

namespace detail {

struct VariableState;

/// The 128 bytes that a tensor handle points to: header, shape, and up to 64 bytes of elements.
///
/// Metadata is written once, before the block is shared; the exceptions are the sticky bits kLeaf and kAnnotated.
/// `node` is the number of the recorded op that made the tensor, 0 if none did. Larger data lies in a buffer of the
/// allocator's class `buffer_class`; a view (flag kView) borrows the data of `owner` and holds a count on it.
struct alignas(64) Block {
  enum Flag : std::uint8_t {
    kView = 1,        // data belongs to `owner`
    kLeaf = 2,        // some tape or accumulator may know this tensor in a table
    kRowSparse = 4,   // no data: `sparse` holds indices and rows (see Tensor::is_row_sparse)
    kShapeOnly = 8,   // no data: stands for a shape and dtype (see src/tape)
    kAnnotated = 16,  // something is attached to it: see src/core/annotation.h
    kSymbolic = 32,   // no data: a value of a traced function (see src/graph)
    kOnDevice = 64,   // data is an address of device number `buffer_class` (see src/core/backend.h)
  };

  struct Sparse {
    Block* indices;
    Block* values;
  };

  std::atomic<std::uint32_t> refs;
  DType dtype;
  std::uint8_t rank;
  std::atomic<std::uint8_t> flags;
  std::uint8_t buffer_class;
  std::uint64_t node;
  void* data;
  std::uint32_t dims[kMaxRank];
  std::int64_t count;
  union {
    std::byte inline_data[64];
    Block* owner;
    Sparse sparse;
  };
};
static_assert(sizeof(Block) == 128);

CAPSTAN_EXPORT void destroy(Block* block) noexcept;

// Reference counts. While the process has one thread they are plain numbers, as those of std::shared_ptr: a locked
// instruction costs as much as all else that a small op does.
inline bool one_thread() {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

inline void count_up(std::atomic<std::uint32_t>& count) {
  if (one_thread()) {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  } else {
    count.fetch_add(1, std::memory_order_relaxed);
  }
}

// True if that was the last one, which goes without a locked instruction: nobody else can raise a count of one.
inline bool count_down(std::atomic<std::uint32_t>& count) {
  const std::uint32_t before = count.load(std::memory_order_acquire);
  if (before == 1) return true;
  if (!one_thread()) return count.fetch_sub(1, std::memory_order_acq_rel) == 1;
  count.store(before - 1, std::memory_order_relaxed);
  return false;
}

inline void retain(Block* block) { count_up(block->refs); }
inline void release(Block* block) noexcept {
  if (count_down(block->refs)) destroy(block);
}

[[noreturn]] CAPSTAN_EXPORT void throw_no_value(const char* what);
[[noreturn]] CAPSTAN_EXPORT void throw_symbolic(std::string_view what, const Block* block);
// Says why data<T>() has nothing to give: one call for all reasons, because every kernel holds it.
[[noreturn]] CAPSTAN_EXPORT void throw_no_data(const Block* block, DType asked);
[[noreturn]] CAPSTAN_EXPORT void throw_unreadable(const char* what, std::int64_t element, std::size_t bytes);

/// An element as a T that holds it.
template <class T, class Element>
T narrowed(const char* what, Element element) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, Element>) {
    const bool negative = std::is_unsigned_v<T> && element < 0;
    if (negative || static_cast<Element>(static_cast<T>(element)) != element)
      throw_unreadable(what, element, sizeof(T));
  }
  return static_cast<T>(element);
}

/// The operators of tensors and variables, found by argument-dependent look-up in either; numbers may be on either
/// side. There is no operator==: use equal(a, b).
struct Operators {
  friend CAPSTAN_EXPORT Tensor operator+(Operand a, Operand b);
  friend CAPSTAN_EXPORT Tensor operator-(Operand a, Operand b);
  friend CAPSTAN_EXPORT Tensor operator*(Operand a, Operand b);
  friend CAPSTAN_EXPORT Tensor operator/(Operand a, Operand b);
  friend CAPSTAN_EXPORT Tensor operator%(Operand a, Operand b);
  friend CAPSTAN_EXPORT Tensor operator-(Operand x);
  friend CAPSTAN_EXPORT Tensor operator<(Operand a, Operand b);
  friend CAPSTAN_EXPORT Tensor operator<=(Operand a, Operand b);
  friend CAPSTAN_EXPORT Tensor operator>(Operand a, Operand b);
  friend CAPSTAN_EXPORT Tensor operator>=(Operand a, Operand b);
  friend CAPSTAN_EXPORT Tensor operator!(Operand x);
};

}  // namespace detail

/// What can be asked of a tensor without owning it. Kernels and shape rules see their arguments as this; programs use
/// Tensor, which adds ownership.
class TensorRef {
 public:
  TensorRef() = default;
  explicit TensorRef(detail::Block* block) : block_(block) {}

  /// False for an empty handle, for example a missing gradient.
  bool has_value() const { return block_ != nullptr; }

  DType dtype() const { return checked("dtype")->dtype; }
  int rank() const { return checked("rank")->rank; }
  /// The number of elements.
  std::int64_t size() const { return checked("size")->count; }
  /// The length of one axis; negative positions count from the end. Errors: IndexError.
  std::int64_t dim(int axis) const {
    const detail::Block* b = checked("dim");
    const int at = axis < 0 ? axis + b->rank : axis;
    return at >= 0 && at < b->rank ? b->dims[at] : shape()[axis];  // which throws
  }
  Shape shape() const {
    const detail::Block* b = checked("shape");
    Shape shape;
    for (int i = 0; i < b->rank; ++i) shape.push_back(b->dims[i]);
    return shape;
  }

  /// The elements, row-major. Errors: DTypeError if T is not the element type; GradientError for a row-sparse gradient;
  /// ValueError if they are in a device's memory, from where item() and to_vector() copy them.
  template <class T>
  const T* data() const {
    if (block_ == nullptr || block_->dtype != kDTypeOf<T> || block_->data == nullptr ||
        (block_->flags & detail::Block::kOnDevice) != 0) [[unlikely]]
      detail::throw_no_data(block_, kDTypeOf<T>);
    return static_cast<const T*>(block_->data);
  }
  const void* raw_data() const {
    if (block_ == nullptr || (block_->flags & detail::Block::kOnDevice) != 0) [[unlikely]]
      detail::throw_no_data(block_, DType::kFloat32);
    return block_->data;
  }

  /// Where the elements are: "CPU:0", or the name of a device.
  CAPSTAN_EXPORT std::string_view device() const;

  detail::Block* block() const { return block_; }

 protected:
  const detail::Block* checked(const char* what) const {
    if (block_ == nullptr) [[unlikely]]
      detail::throw_no_value(what);
    return block_;
  }

  detail::Block* block_ = nullptr;
};

/// An immutable array of numbers, held by a handle of eight bytes; copying shares.
///
/// Tensors are contiguous and row-major, of rank 0 to 8. An empty handle stands for a missing gradient.
///
///     Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});   // float32[2, 2]
///     Tensor y = x * 2 + 1;
///     y(0, 1).item<float>();                           // 5
class CAPSTAN_EXPORT Tensor : public TensorRef, public detail::Operators {
 public:
  Tensor() = default;
  Tensor(const Tensor& other) : TensorRef(other.block_) {
    if (block_ != nullptr) detail::retain(block_);
  }
  Tensor(Tensor&& other) noexcept : TensorRef(std::exchange(other.block_, nullptr)) {}
  // Tensors do not change: `x[0] = y` would assign to a temporary. x = with_slice(x, {0}, y) replaces elements.
  Tensor& operator=(const Tensor& other) & {
    Tensor copy(other);
    std::swap(block_, copy.block_);
    return *this;
  }
  Tensor& operator=(Tensor&& other) & noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Tensor() {
    if (block_ != nullptr) detail::release(block_);
  }
  /// The current value of a variable; reading it watches it on the active tapes, as any use in an op does.
  Tensor(const Variable& variable);  // NOLINT: variables are taken wherever tensors are.

  /// Takes over one count of `block`. For the library's own use.
  static Tensor adopt(detail::Block* block) {
    Tensor tensor;
    tensor.block_ = block;
    return tensor;
  }
  /// Gives up the handle together with its count. For the library's own use.
  detail::Block* release() { return std::exchange(block_, nullptr); }

  /// The value of a tensor of one element, converted to T: any integer or floating type, bool, BFloat16 or std::complex
  /// of float or double. Errors: ShapeError for any other size; DTypeError for a complex number that is asked for as a
  /// real one; ValueError for a number that T cannot hold, if T is an integer that is no element type, as std::size_t.
  template <class T>
  T item() const {
    return detail::narrowed<T>("item", read_item<detail::ElementOf<T>>());
  }

  /// All elements, row-major, converted to T, as item() does. Errors: DTypeError, ValueError.
  template <class T>
  std::vector<T> to_vector() const {
    using Element = detail::ElementOf<T>;
    if constexpr (std::is_same_v<T, Element>) {
      return read_all<T>();
    } else {
      std::vector<T> converted;
      converted.reserve(static_cast<std::size_t>(size()));
      for (const Element element : read_all<Element>()) converted.push_back(detail::narrowed<T>("to_vector", element));
      return converted;
    }
  }

  /// Prints like NumPy, with elision above 1,000 elements.
  std::string to_string() const;

  /// Elements, rows and slices as NumPy selects them; see Index. Errors: IndexError.
  ///
  ///     x(0);                           // the first row
  ///     x(slice(1, 5), ellipsis, -1);   // rows 1 to 4, the last element of the last axis
  ///     x(newaxis, slice());            // a new first axis
  template <class... Indices>
  Tensor operator()(const Indices&... indices) const;
  Tensor operator[](std::int64_t index) const;

  /// True for a gradient that is given as rows: those of gather and embedding_lookup. Every op accepts one and sees the
  /// dense tensor; optimizers update only the rows.
  bool is_row_sparse() const { return (checked("is_row_sparse")->flags & detail::Block::kRowSparse) != 0; }
  /// The row numbers, int32[k] or int64[k]; repeats are summed. Errors: ValueError if not row-sparse.
  Tensor indices() const;
  /// The rows, [k, ...]. Errors: ValueError if not row-sparse.
  Tensor values() const;
  /// The dense tensor; the tensor itself if it is dense.
  Tensor to_dense() const;

 private:
  template <class Element>
  Element read_item() const;
  template <class Element>
  std::vector<Element> read_all() const;
};

/// The same handle: both sides are the same tensor object, not merely equal.
inline bool same_tensor(const Tensor& a, const Tensor& b) { return a.block() == b.block(); }

/// `x += y` makes x a new tensor, as in Python; a variable is changed with assign_add.
inline Tensor& operator+=(Tensor& x, Operand y);
inline Tensor& operator-=(Tensor& x, Operand y);
inline Tensor& operator*=(Tensor& x, Operand y);
inline Tensor& operator/=(Tensor& x, Operand y);

/// One argument of an op: a tensor lent, a tensor given up, a variable, or a plain number.
///
/// A number takes the dtype of the tensor it meets; by itself a floating one has the dtype floatx(), an integer is
/// int32, or int64 if int32 cannot hold it, and a complex one has the precision of its C++ type; it meets complex
/// tensors only. A given-up tensor (an rvalue) may have its buffer reused for the result. Use it as a parameter type
/// only: it does not keep its tensor alive. Errors: ValueError for an unsigned number beyond int64.
class CAPSTAN_EXPORT Operand {
 public:
  // As wide as a register: a processor that reads a word right after a byte of it was written waits for the cache.
  enum class Kind : std::uint64_t { kLent, kGiven, kVariable, kFloat, kInt, kBool, kComplex64, kComplex128 };

  Operand(const Tensor& tensor) : kind_(Kind::kLent) { value_.block = tensor.block(); }
  Operand(Tensor&& tensor) : kind_(Kind::kGiven) { value_.tensor = &tensor; }
  inline Operand(const Variable& variable);  // in variable.h
  Operand(float number) : kind_(Kind::kFloat) { value_.number = number; }
  Operand(double number) : kind_(Kind::kFloat) { value_.number = number; }
  Operand(long double number) : kind_(Kind::kFloat) { value_.number = static_cast<double>(number); }
  Operand(int number) : kind_(Kind::kInt) { value_.integer = number; }
  Operand(long number) : kind_(Kind::kInt) { value_.integer = number; }
  Operand(long long number) : kind_(Kind::kInt) { value_.integer = number; }
  Operand(unsigned number) : kind_(Kind::kInt) { value_.integer = number; }
  Operand(unsigned long number) : kind_(Kind::kInt) { value_.integer = detail::to_int64(number); }
  Operand(unsigned long long number) : kind_(Kind::kInt) { value_.integer = detail::to_int64(number); }
  template <class T, class = std::enable_if_t<std::is_same_v<T, bool>>>  // No pointer turns into a truth value.
  Operand(T truth) : kind_(Kind::kBool) {
    value_.integer = truth;
  }
  /// std::complex<float> and std::complex<double>.
  template <detail::ComplexNumber T>
  Operand(const T& number) {
    if constexpr (std::is_same_v<typename T::value_type, float>) {
      kind_ = Kind::kComplex64;
      value_.parts[0] = number.real();
      value_.parts[1] = number.imag();
    } else {
      kind_ = Kind::kComplex128;
      value_.complex = reinterpret_cast<const double*>(&number);  // [complex.numbers]: the two parts, as an array
    }
  }

  Kind kind() const { return kind_; }
  bool is_literal() const { return kind_ >= Kind::kFloat; }
  detail::Block* lent() const { return value_.block; }
  Tensor* given() const { return value_.tensor; }
  detail::VariableState* variable() const { return value_.variable; }
  double number() const { return kind_ == Kind::kFloat ? value_.number : static_cast<double>(value_.integer); }
  std::int64_t integer() const { return value_.integer; }
  bool is_complex_literal() const { return kind_ >= Kind::kComplex64; }
  /// The real and the imaginary part of any literal.
  double real() const {
    return kind_ == Kind::kComplex64 ? value_.parts[0] : kind_ == Kind::kComplex128 ? value_.complex[0] : number();
  }
  double imaginary() const {
    return kind_ == Kind::kComplex64 ? value_.parts[1] : kind_ == Kind::kComplex128 ? value_.complex[1] : 0;
  }

 private:
  union {
    detail::Block* block;
    Tensor* tensor;
    detail::VariableState* variable;
    double number;
    std::int64_t integer;
    float parts[2];
    const double* complex;  // An operand has to stay two words.
  } value_;
  Kind kind_;
};

/// A list of arguments for ops that take any number of tensors: braces, a vector of tensors or of variables.
class CAPSTAN_EXPORT Operands {
 public:
  Operands(std::initializer_list<Operand> list) : operands_(list) {}
  Operands(const std::vector<Tensor>& tensors) : operands_(tensors.begin(), tensors.end()) {}
  Operands(std::span<const Tensor> tensors) : operands_(tensors.begin(), tensors.end()) {}
  Operands(const std::vector<Variable>& variables);

  std::size_t size() const { return operands_.size(); }
  std::span<Operand> span() { return operands_; }
  Operand operator[](std::size_t i) const { return operands_[i]; }

 private:
  std::vector<Operand> operands_;
};

/// A number or nested lists of numbers, as written in braces. Use it as a parameter type only: it refers to the list.
class CAPSTAN_EXPORT Literal {
 public:
  Literal(float number) : kind_(Kind::kFloat) { value_.number = number; }
  Literal(double number) : kind_(Kind::kFloat) { value_.number = number; }
  Literal(long double number) : kind_(Kind::kFloat) { value_.number = static_cast<double>(number); }
  Literal(int number) : kind_(Kind::kInt) { value_.integer = number; }
  Literal(long number) : kind_(Kind::kInt) { value_.integer = number; }
  Literal(long long number) : kind_(Kind::kInt) { value_.integer = number; }
  Literal(unsigned number) : kind_(Kind::kInt) { value_.integer = number; }
  Literal(unsigned long number) : kind_(Kind::kInt) { value_.integer = detail::to_int64(number); }
  Literal(unsigned long long number) : kind_(Kind::kInt) { value_.integer = detail::to_int64(number); }
  template <class T, class = std::enable_if_t<std::is_same_v<T, bool>>>
  Literal(T truth) : kind_(Kind::kBool) {
    value_.integer = truth;
  }
  /// std::complex<float> and std::complex<double>.
  template <detail::ComplexNumber T>
  Literal(const T& number)
      : kind_(std::is_same_v<typename T::value_type, float> ? Kind::kComplex64 : Kind::kComplex128),
        imaginary_(number.imag()) {
    value_.number = number.real();
  }
  Literal(std::initializer_list<Literal> list) : kind_(Kind::kList), size_(list.size()) { value_.list = list.begin(); }

  enum class Kind : std::uint8_t { kFloat, kInt, kBool, kComplex64, kComplex128, kList };
  Kind kind() const { return kind_; }
  /// The number; of a complex one the real part.
  double number() const {
    return kind_ == Kind::kInt || kind_ == Kind::kBool ? static_cast<double>(value_.integer) : value_.number;
  }
  double imaginary() const { return imaginary_; }
  std::int64_t integer() const { return value_.integer; }
  std::span<const Literal> list() const { return {value_.list, size_}; }

 private:
  union {
    double number;
    std::int64_t integer;
    const Literal* list;
  } value_;
  Kind kind_;
  union {
    std::size_t size_ = 0;  // of a list
    double imaginary_;      // of a complex number
  };
};

/// `x(...)` with the items as a list; see Tensor::operator().
///
///     const Index indices[] = {slice(1, 3), 0};
///     getitem(x, indices);  // float32[2, 3]
CAPSTAN_EXPORT Tensor getitem(Operand x, std::span<const Index> indices);

/// `x` with the elements that `x(indices...)` selects replaced by `value`, which broadcasts to their shape: how an
/// element of a tensor is written, since tensors do not change. The gradient of x is zero there, that of value is what
/// was selected. Variable::assign_slice writes into a variable. Errors: IndexError; ShapeError if value does not
/// broadcast; DTypeError.
///
///     x = with_slice(x, {0}, zeros({3}));                   // x[0] = zeros
///     x = with_slice(x, {slice(1, 3), ellipsis, -1}, 7);    // x[1:3, ..., -1] = 7
CAPSTAN_EXPORT Tensor with_slice(Operand x, std::span<const Index> indices, Operand value);
inline Tensor with_slice(Operand x, std::initializer_list<Index> indices, Operand value) {
  return with_slice(x, std::span(indices.begin(), indices.size()), value);
}

template <class... Indices>
Tensor Tensor::operator()(const Indices&... indices) const {
  const Index items[] = {Index(indices)...};
  return getitem(*this, items);
}

inline Tensor Tensor::operator[](std::int64_t index) const { return (*this)(index); }

extern template float Tensor::read_item<float>() const;
extern template double Tensor::read_item<double>() const;
extern template std::int32_t Tensor::read_item<std::int32_t>() const;
extern template std::int64_t Tensor::read_item<std::int64_t>() const;
extern template std::uint8_t Tensor::read_item<std::uint8_t>() const;
extern template bool Tensor::read_item<bool>() const;
extern template std::vector<float> Tensor::read_all<float>() const;
extern template std::vector<double> Tensor::read_all<double>() const;
extern template std::vector<std::int32_t> Tensor::read_all<std::int32_t>() const;
extern template std::vector<std::int64_t> Tensor::read_all<std::int64_t>() const;
extern template std::vector<std::uint8_t> Tensor::read_all<std::uint8_t>() const;
extern template std::vector<bool> Tensor::read_all<bool>() const;

/// Writes what to_string() has; of a variable, its value.
///
///     std::cout << x << "\n";        // [1. 2. 3.]
CAPSTAN_EXPORT std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
CAPSTAN_EXPORT std::ostream& operator<<(std::ostream& out, const Variable& variable);

// --- Creation -------------------------------------------------------------------------------------------------------

/// A tensor of the given numbers: floating ones make floatx(), which is float32 unless set_floatx() was called;
/// integers int32, or int64 if int32 cannot hold one of them, whatever their C++ type; truth values bool; complex ones
/// a complex dtype of their precision. Errors: ShapeError for lists of unequal lengths, ValueError for a number that
/// `dtype` cannot hold.
///
///     constant(3.0);                              // float32[]
///     constant({{1.0, 2.0}, {3.0, 4.0}});         // float32[2, 2]
///     constant({1, 2, 3}, float64);               // float64[3]
///     constant(3000000000);                       // int64[]
CAPSTAN_EXPORT Tensor constant(Literal value);
CAPSTAN_EXPORT Tensor constant(Literal value, DType dtype);

namespace detail {
CAPSTAN_EXPORT Tensor copy_of(const void* values, std::int64_t count, DType dtype, const Shape& shape);
/// A list of `length` at `depth` of nested lists, the first one that is met or not.
CAPSTAN_EXPORT void add_nested(Shape& shape, int depth, std::size_t length, bool first);

/// The numbers at the bottom of nested vectors and arrays.
template <class R>
struct LeafOf {
  using type = R;
  static constexpr int kDepth = 0;
};
template <class T>
struct LeafOf<std::vector<T>> : LeafOf<T> {
  static constexpr int kDepth = LeafOf<T>::kDepth + 1;
};
template <class T, std::size_t N>
struct LeafOf<std::array<T, N>> : LeafOf<T> {
  static constexpr int kDepth = LeafOf<T>::kDepth + 1;
};

/// A number as the element that holds it; std::vector<bool> has no elements to point to.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, ElementOf<T>>;
template <class T>
Stored<T> stored(T number) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<Stored<T>>(to_int64(number));
  } else {
    return static_cast<Stored<T>>(number);
  }
}

template <class T, class R>
void collect(const R& values, Shape& shape, int depth, std::vector<Stored<T>>& elements) {
  add_nested(shape, depth, values.size(), elements.empty());
  for (const auto& value : values) {
    if constexpr (LeafOf<R>::kDepth == 1) {
      elements.push_back(stored<T>(value));
    } else {
      collect<T>(value, shape, depth + 1, elements);
    }
  }
}
}  // namespace detail

/// A tensor that copies `values`, row-major; the dtype is that of T, and for integers that no dtype has the smaller of
/// int32 and int64 that holds them all; long double is rounded to float64. Without `shape` the result has rank 1, or
/// one axis for each level of nested vectors and arrays. Errors: ShapeError if the number of values is not the shape's,
/// or nested lists differ in length; ValueError for a number beyond int64.
///
///     constant(std::vector<std::vector<double>>{{1, 2}, {3, 4}});   // float64[2, 2]
///     constant(std::vector<short>{1, 2, 3});                        // int32[3]
template <class T>
Tensor constant(std::span<const T> values, const Shape& shape) {
  if constexpr (std::is_same_v<T, detail::ElementOf<T>>) {
    return detail::copy_of(values.data(), static_cast<std::int64_t>(values.size()), kDTypeOf<T>, shape);
  } else {
    std::vector<detail::ElementOf<T>> elements;
    elements.reserve(values.size());
    for (const T value : values) elements.push_back(detail::stored(value));
    return constant(std::span<const detail::ElementOf<T>>(elements), shape);
  }
}
template <class T>
Tensor constant(std::span<const T> values) {
  return constant(values, Shape{static_cast<std::int64_t>(values.size())});
}
template <class T>
Tensor constant(const std::vector<T>& values, const Shape& shape) {
  return constant(std::span<const T>(values), shape);
}
template <class T>
Tensor constant(const std::vector<T>& values) {
  if constexpr (detail::LeafOf<T>::kDepth == 0 && !std::is_same_v<T, bool>) {
    return constant(std::span<const T>(values));
  } else {
    using Leaf = typename detail::LeafOf<T>::type;
    Shape shape;
    std::vector<detail::Stored<Leaf>> elements;
    detail::collect<Leaf>(values, shape, 0, elements);
    return detail::copy_of(elements.data(), static_cast<std::int64_t>(elements.size()),
                           kDTypeOf<detail::ElementOf<Leaf>>, shape);
  }
}
template <class T, std::size_t N>
Tensor constant(const std::array<T, N>& values) {
  if constexpr (detail::LeafOf<T>::kDepth == 0) {
    return constant(std::span<const T>(values));
  } else {
    return constant(std::vector<T>(values.begin(), values.end()));
  }
}

inline Tensor& operator+=(Tensor& x, Operand y) { return x = std::move(x) + y; }
inline Tensor& operator-=(Tensor& x, Operand y) { return x = std::move(x) - y; }
inline Tensor& operator*=(Tensor& x, Operand y) { return x = std::move(x) * y; }
inline Tensor& operator/=(Tensor& x, Operand y) { return x = std::move(x) / y; }

}  // namespace capstan
