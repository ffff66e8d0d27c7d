#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "capstan/tensor.h"

namespace capstan {

/// Options of a Variable.
struct VariableOptions {
  /// Tapes watch a trainable variable by themselves when it is read.
  bool trainable = true;
  std::string name = "Variable";
  /// The dtype of the value; that of the initial value unless given.
  std::optional<DType> dtype = std::nullopt;
};

/// A tensor that can be changed: a handle to shared state; copying a handle shares the variable, and
/// `Variable(other.value())` makes another one.
///
/// Reading a trainable variable in an op watches it on every active tape of the thread. Writes are invisible to tapes:
/// a state write cuts the flow of gradients. A tensor read earlier keeps its value when the variable changes.
/// Shape and dtype are fixed at construction. Reads and writes from several threads at once need a lock of the
/// caller's.
///
///     Variable w({{1.0}, {2.0}});              // float32[2, 1]
///     w.assign_sub(0.1 * gradient);
class CAPSTAN_EXPORT Variable : public detail::Operators {
 public:
  /// An empty handle; any use of it is an error.
  Variable() = default;
  explicit Variable(Literal initial, const VariableOptions& options = {});
  explicit Variable(std::initializer_list<Literal> initial, const VariableOptions& options = {})
      : Variable(Literal(initial), options) {}
  explicit Variable(Tensor initial, const VariableOptions& options = {});
  Variable(const Variable& other);
  Variable(Variable&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Variable& operator=(Variable other) & noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Variable();

  bool has_value() const { return state_ != nullptr; }

  /// A snapshot of the value; reading watches.
  Tensor value() const;
  Tensor read_value() const { return value(); }

  /// Replaces, increases or decreases the value and returns the variable. Errors, all before anything is changed:
  /// ShapeError for another shape (there is no broadcasting), DTypeError for a tensor of another dtype.
  const Variable& assign(Operand value) const;
  const Variable& assign_add(Operand delta) const;
  const Variable& assign_sub(Operand delta) const;

  /// Writes `value`, which broadcasts, where `(*this)(indices...)` selects; see with_slice(). Errors: IndexError,
  /// ShapeError, DTypeError, all before anything is changed.
  ///
  ///     v.assign_slice({0}, zeros({3}));              // v[0].assign(...)
  ///     v.assign_slice({slice(1, 3), -1}, 7);         // v[1:3, -1].assign(...)
  const Variable& assign_slice(std::span<const Index> indices, Operand value) const;
  const Variable& assign_slice(std::initializer_list<Index> indices, Operand value) const {
    return assign_slice(std::span(indices.begin(), indices.size()), value);
  }

  /// Adds, subtracts or writes rows: `indices` is int32[k] or int64[k], `updates` is [k, ...]. Repeated indices add up.
  /// Errors: IndexError, ShapeError, DTypeError.
  const Variable& scatter_add(Operand indices, Operand updates) const;
  const Variable& scatter_sub(Operand indices, Operand updates) const;
  const Variable& scatter_update(Operand indices, Operand updates) const;
  /// The same for the larger and the smaller of row and update, and for products and quotients; repeated indices count
  /// one after the other.
  const Variable& scatter_max(Operand indices, Operand updates) const;
  const Variable& scatter_min(Operand indices, Operand updates) const;
  const Variable& scatter_mul(Operand indices, Operand updates) const;
  const Variable& scatter_div(Operand indices, Operand updates) const;
  /// The same by coordinates: the last axis of `indices` holds one for each of the leading axes.
  const Variable& scatter_nd_add(Operand indices, Operand updates) const;
  const Variable& scatter_nd_sub(Operand indices, Operand updates) const;
  const Variable& scatter_nd_update(Operand indices, Operand updates) const;
  const Variable& scatter_nd_max(Operand indices, Operand updates) const;
  const Variable& scatter_nd_min(Operand indices, Operand updates) const;

  /// The rows of the given numbers, as gather() of the value: the gradient is row-sparse. Errors: IndexError.
  Tensor sparse_read(Operand indices) const;
  /// What lies at coordinates, as gather_nd() of the value. Errors: IndexError.
  Tensor gather_nd(Operand indices) const;

  DType dtype() const;
  Shape shape() const;
  std::int64_t size() const { return shape().size(); }
  bool trainable() const;
  void set_trainable(bool trainable) const;
  /// The name given at construction; variables of layers also have a path, such as "sequential/dense/kernel".
  const std::string& name() const;
  const std::string& path() const;
  void set_path(std::string path) const;

  template <class T>
  T item() const {
    return value().item<T>();
  }
  template <class T>
  std::vector<T> to_vector() const {
    return value().to_vector<T>();
  }

  template <class... Indices>
  Tensor operator()(const Indices&... indices) const {
    return value()(indices...);
  }
  Tensor operator[](std::int64_t index) const { return value()[index]; }

  // A variable is not rebound by arithmetic; use assign_add and its kin.
  Variable& operator+=(Operand) = delete;
  Variable& operator-=(Operand) = delete;
  Variable& operator*=(Operand) = delete;
  Variable& operator/=(Operand) = delete;

  detail::VariableState* state() const { return state_; }
  /// Shares the variable of `state`. For the library's own use.
  static Variable share(detail::VariableState* state);

  /// The same variable, not merely an equal value.
  friend bool operator==(const Variable& a, const Variable& b) { return a.state_ == b.state_; }

 private:
  detail::VariableState* state_ = nullptr;
};

inline Operand::Operand(const Variable& variable) : kind_(Kind::kVariable) { value_.variable = variable.state(); }

}  // namespace capstan
