// Nests: structures of tensors whose form is known when the program runs.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/structure.h"

namespace capstan {

class Nest;

/// A nest is a structure of tensors: its own tensor, or its items.
template <>
struct Structure<Nest> {
  static constexpr StructureKind kKind = StructureKind::kNest;
  template <class L>
  using With = Nest;
  // Of what is nothing there is no part.
  template <class V, class F>
  static void visit(V& value, const F& f) {
    if (value.holds_tensor_) {
      f(value.tensor_);
    } else if (value.parts_ != nullptr) {
      if constexpr (std::is_const_v<V>) {
        for (const Nest& item : value.parts_->items) f(item);
      } else {
        for (Nest& item : value.own_items()) f(item);
      }
    }
  }
};

/// Nothing, a tensor, a list of nests, or a map from texts to nests: what layers take and give if it is more than one
/// tensor. A structure of a program's types converts to one, and it converts back with `as`. Copies share the items.
///
///     Nest inputs = {query, value};                      // a list of two
///     Nest named = std::map<std::string, Tensor>{{"image", x}, {"label", y}};
///     inputs[0];                                         // query, as a nest
///     auto [q, v] = inputs.as<std::pair<Tensor, Tensor>>();
class CAPSTAN_EXPORT Nest {
 public:
  /// Nothing: stands for what is not given.
  Nest() = default;
  Nest(Tensor tensor) : tensor_(std::move(tensor)), holds_tensor_(tensor_.has_value()) {}
  Nest(const Variable& variable) : Nest(variable.value()) {}
  Nest(std::initializer_list<Nest> items) : Nest(list(std::vector<Nest>(items))) {}
  /// A vector, array, pair, tuple or struct gives a list, a map a map.
  template <class T>
  requires(detail::HasParts<T>) Nest(const T& structure) {
    constexpr StructureKind kKind = detail::kKindOf<T>;
    std::vector<Nest> items;
    if constexpr (kKind == StructureKind::kMap) {
      std::vector<std::string> keys;
      for (const auto& [key, item] : structure) {
        keys.push_back(std::string(key));
        items.push_back(Nest(item));
      }
      *this = map(std::move(keys), std::move(items));
    } else {
      detail::visit_parts(structure, [&](const auto& part) { items.push_back(Nest(part)); });
      *this = list(std::move(items));
    }
  }

  static Nest list(std::vector<Nest> items);
  /// Errors: ValueError for keys that are not as many as items.
  static Nest map(std::vector<std::string> keys, std::vector<Nest> items);

  bool has_value() const { return tensor_.has_value() || parts_ != nullptr; }
  bool is_tensor() const { return parts_ == nullptr && tensor_.has_value(); }
  bool is_list() const { return parts_ != nullptr && !parts_->is_map; }
  bool is_map() const { return parts_ != nullptr && parts_->is_map; }

  /// The tensor that this is. Errors: ValueError for anything else.
  const Tensor& tensor() const {
    if (!is_tensor()) throw_not_one();
    return tensor_;
  }
  /// The tensor, or an empty one for nothing. Errors: ValueError for a list or a map.
  const Tensor& tensor_or_empty() const {
    if (parts_ != nullptr) throw_not_one();
    return tensor_;
  }

  /// The items of a list or map, in their order; this itself for a tensor; none for nothing.
  std::span<const Nest> items() const;
  std::size_t size() const { return items().size(); }
  /// The keys of a map.
  std::span<const std::string> keys() const;
  /// One item. Errors: IndexError for a number that is too large, ValueError for an unknown key or for no map.
  const Nest& operator[](std::size_t i) const;
  const Nest& operator[](std::string_view key) const;

  /// All tensors, in order. Items that are nothing are left out.
  std::vector<Tensor> tensors() const;

  /// As a structure of a program's types; an item that is nothing becomes an empty tensor. Errors: ValueError if it has
  /// another form.
  template <class T>
  T as() const {
    T result{};
    fill(result);
    return result;
  }

  /// "_" for a tensor, "-" for nothing, "[_, _]", "{a: _, b: [_]}".
  std::string form() const;

 private:
  friend struct Structure<Nest>;
  struct Parts {
    bool is_map;
    std::vector<Nest> items;
    std::vector<std::string> keys;
  };

  [[noreturn]] void throw_not_one() const;
  // Throws ValueError unless there are so many items.
  void check_size(std::size_t size) const;
  // The items to be written, no longer shared.
  std::vector<Nest>& own_items();

  template <class T>
  void fill(T& result) const {
    constexpr StructureKind kKind = detail::kKindOf<T>;
    static_assert(detail::only_tensors<T>(), "a nest becomes a tensor or a structure of tensors");
    if constexpr (kKind == StructureKind::kLeaf) {
      result = tensor_or_empty();
    } else if constexpr (kKind == StructureKind::kNest) {
      result = *this;
    } else if constexpr (kKind == StructureKind::kMap) {
      for (const std::string& key : keys()) (*this)[key].fill(result[key]);
      check_size(result.size());
    } else {
      if constexpr (requires { result.resize(1); }) {
        result.resize(size());
      }
      std::size_t count = 0;
      detail::visit_parts(result, [&](auto&) { ++count; });
      check_size(count);
      std::size_t i = 0;
      detail::visit_parts(result, [&](auto& part) { items()[i++].fill(part); });
    }
  }

  Tensor tensor_;
  // Also while the tensor is elsewhere, to be put back.
  bool holds_tensor_ = false;
  std::shared_ptr<Parts> parts_;
};

}  // namespace capstan
