#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <type_traits>

#include "capstan/export.h"

namespace capstan {

/// The largest rank of a tensor.
inline constexpr int kMaxRank = 8;

namespace detail {
/// Integers that count: not truth values, and not letters.
template <class T>
concept Integer = std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>;

/// A vector, array or span of integers.
template <class R>
concept Integers = requires(const R& r) {
  r.size();
  requires Integer<std::remove_cvref_t<decltype(*r.data())>>;
};

[[noreturn]] CAPSTAN_EXPORT void throw_beyond_int64(std::uint64_t number);

/// An integer as int64; ValueError for one that is larger.
template <class T>
constexpr std::int64_t to_int64(T number) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(std::int64_t)) {
    if (number > static_cast<T>(INT64_MAX)) throw_beyond_int64(number);
  }
  return static_cast<std::int64_t>(number);
}
}  // namespace detail

/// The lengths of a tensor's axes. `Shape{}` is that of a scalar.
///
/// A small value without allocation. Where an operation allows it, -1 stands for "whatever fits".
/// Errors: ShapeError for more than 8 axes.
///
///     Shape shape{32, 784};
///     shape.rank();   // 2
///     shape[-1];      // 784
///     reshape(x, std::vector<std::size_t>{32, 784});
class CAPSTAN_EXPORT Shape {
 public:
  constexpr Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);
  /// From a vector, array or span of integers.
  template <detail::Integers R>
  Shape(const R& dims) {  // NOLINT: lists of lengths are taken wherever shapes are
    for (const auto length : dims) push_back(detail::to_int64(length));
  }

  int rank() const { return rank_; }

  /// The length of one axis; negative positions count from the end. Errors: IndexError.
  std::int64_t operator[](int axis) const {
    if (axis < 0) axis += rank_;
    if (axis < 0 || axis >= rank_) axis_out_of_range(axis);
    return dims_[axis];
  }

  /// The number of elements: the product of all lengths. Errors: ShapeError if it exceeds 2^62 or a length is negative.
  std::int64_t size() const;

  /// Appends an axis. Errors: ShapeError beyond rank 8.
  void push_back(std::int64_t length) {
    if (rank_ >= kMaxRank) too_many_axes();
    dims_[rank_++] = length;
  }

  void set(int axis, std::int64_t length) { dims_[axis < 0 ? axis + rank_ : axis] = length; }

  const std::int64_t* begin() const { return dims_; }
  const std::int64_t* end() const { return dims_ + rank_; }
  /// The lengths, which live as long as the shape: those of a temporary cannot be asked for.
  std::span<const std::int64_t> dims() const& { return {dims_, static_cast<std::size_t>(rank_)}; }
  std::span<const std::int64_t> dims() const&& = delete;

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a.dims_[i] != b.dims_[i]) return false;
    }
    return true;
  }

  /// "[32, 784]"
  std::string to_string() const;

 private:
  [[noreturn]] void axis_out_of_range(int axis) const;
  [[noreturn]] void too_many_axes() const;

  std::int64_t dims_[kMaxRank] = {};
  int rank_ = 0;
};

/// Writes what to_string() has.
CAPSTAN_EXPORT std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// The axes that a reduction runs over: none given means all of them.
///
///     reduce_sum(x);                // all axes
///     reduce_sum(x, 0);             // one
///     reduce_sum(x, {0, -1}, {.keepdims = true}); // two, kept with length 1
///     reduce_sum(x, {.axis = {0, -1}, .keepdims = true});  // the same, as ReduceOptions
class CAPSTAN_EXPORT Axes {
 public:
  constexpr Axes() = default;
  // Templates, since a truth value must not turn into an axis, and g++ 12 takes designated options for a constructor's
  // arguments where it can.
  template <detail::Integer T>
  constexpr Axes(T axis) : count_(1), all_(false) {
    axes_[0] = clamp(axis);
  }
  template <detail::Integer T>
  Axes(std::initializer_list<T> axes) : Axes(std::span<const T>(axes.begin(), axes.size())) {}
  /// From a vector, array or span of integers; an empty one means no axis at all. Errors: ValueError for more than 8
  /// axes.
  template <detail::Integers R>
  Axes(const R& axes) : all_(false) {  // NOLINT: lists of axes are taken wherever axes are
    if (axes.size() > kMaxRank) too_many_axes(axes.size());
    for (const auto axis : axes) axes_[count_++] = clamp(axis);
  }

  bool all() const { return all_; }
  int size() const { return count_; }
  int operator[](int i) const { return axes_[i]; }

 private:
  // Any axis outside -128 to 127 is out of range for every rank, and stays so when clamped.
  template <class T>
  static constexpr std::int8_t clamp(T axis) {
    if constexpr (std::is_signed_v<T>) {
      if (axis < -128) return -128;
    }
    return axis > 127 ? std::int8_t{127} : static_cast<std::int8_t>(axis);
  }
  [[noreturn]] static void too_many_axes(std::size_t count);

  std::int8_t axes_[kMaxRank] = {};
  std::int8_t count_ = 0;
  bool all_ = true;
};

/// Options of what reduces axes and is given them beside.
///
///     reduce_mean(x, 0, {.keepdims = true});
struct KeepdimsOptions {
  bool keepdims = false;  ///< whether the axes stay, with length 1
};
/// Options of a reduction, its axes among them.
///
///     reduce_mean(x, {.axis = 0, .keepdims = true});
struct ReduceOptions {
  Axes axis = {};
  bool keepdims = false;
};

}  // namespace capstan

// size() counts elements, so what takes a range has to count the lengths: std::span(x.shape()) has as many as the rank.
template <>
inline constexpr bool std::ranges::disable_sized_range<capstan::Shape> = true;
