// Structures: how a type holds tensors.
//
// Sources and targets of a tape, arguments and results of functions, what loops carry on, what layers take and give:
// all are structures, that is, tensors and variables in vectors, arrays, pairs, tuples, maps and structs, nested in any
// way. Structure<T> says what the parts of a T are; whoever takes a structure apart or puts one together asks it.
//
// A struct of your own joins with one specialisation, or by a member `auto fields() { return std::tie(a, b); }`:
//
//     struct Parameters {
//       Tensor kernel, bias;
//     };
//     template <>
//     struct capstan::Structure<Parameters> : capstan::Members<&Parameters::kernel, &Parameters::bias> {};
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/fields.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

/// What a type is as a structure.
enum class StructureKind : std::uint8_t {
  kNone,   ///< no structure
  kLeaf,   ///< a tensor or a variable
  kValue,  ///< a number or an enumerator: may be an argument or a result of a function, but never stands for a tensor
  kText,
  kParts,  ///< a fixed number of parts, each of its own type
  kList,   ///< any number of parts of one type
  kMap,    ///< the same under keys
  kNest,   ///< a Nest (capstan/nest.h), whose form is known when the program runs
};

/// What the parts of a T are. Each specialisation has
///
/// - `kKind`;
/// - of what has parts, `visit(value, f)`, which calls f with each of them, const or not as the value is, in order;
/// - `Parts`, a tuple of their types (kParts), or `Item`, the type of each (kList, kMap);
/// - `With<L>`, the same structure with an L in place of each tensor or variable.
template <class T>
struct Structure {
  static constexpr StructureKind kKind = StructureKind::kNone;
  template <class L>
  using With = T;
};

namespace detail {

template <class T>
using StructureOf = Structure<std::remove_cvref_t<T>>;
template <class T>
inline constexpr StructureKind kKindOf = StructureOf<T>::kKind;
// With an L in place of each leaf.
template <class T, class L>
using ReplacedBy = typename StructureOf<T>::template With<L>;

template <class T>
concept Leaf = kKindOf<T>
== StructureKind::kLeaf;
template <class T>
concept HasParts = kKindOf<T>
>= StructureKind::kParts;

template <class T>
concept PlainValue = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class T>
concept Text = !PlainValue<T> && std::is_convertible_v<const T&, std::string_view>;
template <class T>
concept HasFields = requires(T& t) {
  t.fields();
};
// A vector or an array, but no text and no associative container.
template <class T>
concept ListLike = !Text<T> && !HasFields<T> && requires(const T& list) {
  list.begin();
  list.end();
  list.size();
  requires !requires { typename T::key_type; };
};

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};

struct LeafStructure {
  static constexpr StructureKind kKind = StructureKind::kLeaf;
  template <class L>
  using With = L;
};

template <class T>
struct ListStructure {
  static constexpr StructureKind kKind = StructureKind::kList;
  using Item = std::remove_cvref_t<T>;
  template <class L>
  using With = std::vector<ReplacedBy<Item, L>>;
  template <class V, class F>
  static constexpr void visit(V& value, const F& f) {
    for (auto& item : value) f(item);
  }
};

template <class... T>
struct TupleStructure {
  static constexpr StructureKind kKind = StructureKind::kParts;
  using Parts = std::tuple<std::remove_cvref_t<T>...>;
  template <class V, class F>
  static constexpr void visit(V& value, const F& f) {
    std::apply([&](auto&... items) { (f(items), ...); }, value);
  }
};

// What a struct becomes with an L in place of each leaf: itself, or what it names for gradients, if it holds variables.
template <class T, class L>
struct StructWith {
  using type = T;
};
template <class T>
requires requires { typename T::Gradients; }
struct StructWith<T, Tensor> {
  using type = typename T::Gradients;
};

}  // namespace detail

/// The structure of a struct: its members that are or hold tensors, in this order. With variables among them, the
/// struct names the type of its gradients, which has as many members: `using Gradients = ...;`.
template <auto First, auto... Members_>
struct Members {
  static constexpr StructureKind kKind = StructureKind::kParts;
  using Struct = typename detail::MemberOf<First>::Struct;
  using Parts = std::tuple<typename detail::MemberOf<First>::Field, typename detail::MemberOf<Members_>::Field...>;
  template <class L>
  using With = typename detail::StructWith<Struct, L>::type;
  template <class V, class F>
  static constexpr void visit(V& value, const F& f) {
    f(value.*First);
    (f(value.*Members_), ...);
  }
};

template <>
struct Structure<Tensor> : detail::LeafStructure {};
template <>
struct Structure<Variable> : detail::LeafStructure {};

template <detail::PlainValue T>
struct Structure<T> {
  static constexpr StructureKind kKind = StructureKind::kValue;
  template <class L>
  using With = T;
};
template <detail::Text T>
struct Structure<T> {
  static constexpr StructureKind kKind = StructureKind::kText;
  template <class L>
  using With = T;
};

template <detail::ListLike T>
struct Structure<T> : detail::ListStructure<decltype(*std::declval<T&>().begin())> {};
template <class T, std::size_t N>
struct Structure<std::array<T, N>> : detail::ListStructure<T> {
  template <class L>
  using With = std::array<detail::ReplacedBy<T, L>, N>;
};
template <class T, std::size_t N>
struct Structure<T[N]> : detail::ListStructure<T> {};
template <std::size_t N>
struct Structure<char[N]> {
  static constexpr StructureKind kKind = StructureKind::kText;
  template <class L>
  using With = char[N];
};

template <class... T>
struct Structure<std::tuple<T...>> : detail::TupleStructure<T...> {
  template <class L>
  using With = std::tuple<detail::ReplacedBy<T, L>...>;
};
template <class A, class B>
struct Structure<std::pair<A, B>> : detail::TupleStructure<A, B> {
  template <class L>
  using With = std::pair<detail::ReplacedBy<A, L>, detail::ReplacedBy<B, L>>;
};

template <class K, class T, class Compare, class Alloc>
struct Structure<std::map<K, T, Compare, Alloc>> {
  static constexpr StructureKind kKind = StructureKind::kMap;
  using Item = T;
  template <class L>
  using With = std::map<K, detail::ReplacedBy<T, L>, Compare>;
  template <class V, class F>
  static void visit(V& value, const F& f) {
    for (auto& [key, item] : value) f(item);
  }
};

template <detail::HasFields T>
struct Structure<T> {
  static constexpr StructureKind kKind = StructureKind::kParts;
  using Parts = std::remove_cvref_t<decltype(std::tuple_cat(std::declval<T&>().fields()))>;
  template <class L>
  using With = typename detail::StructWith<T, L>::type;
  template <class V, class F>
  static void visit(V& value, const F& f) {
    // `fields` need not be const.
    std::apply(
        [&](auto&... items) {
          if constexpr (std::is_const_v<V>) {
            (f(std::as_const(items)), ...);
          } else {
            (f(items), ...);
          }
        },
        const_cast<T&>(value).fields());
  }
};

namespace detail {

// Says what is wrong with a type that is no structure, in the place of what would follow from it.
template <class T>
constexpr void check_structure() {
  static_assert(Leaf<T> || HasParts<T>,
                "a structure consists of tensors and variables in std::vector, std::array, std::pair, std::tuple, "
                "std::map, or structs with a Structure<> of their own; this type is none of these");
}

// Calls f(part) for each part of a structure.
template <class T, class F>
constexpr void visit_parts(T& value, const F& f) {
  StructureOf<T>::visit(value, f);
}

// Calls visit(leaf) for every tensor or variable in order.
template <class T, class Visit>
void for_each_leaf(const T& value, const Visit& visit) {
  check_structure<T>();
  if constexpr (Leaf<T>) {
    visit(value);
  } else if constexpr (HasParts<T>) {
    visit_parts(value, [&](const auto& part) { for_each_leaf(part, visit); });
  }
}

// Calls replace(leaf) for each tensor of a structure, in order, to write another one into it. Plain values and what is
// no structure have none.
template <class T, class Replace>
void replace_tensors(T& value, const Replace& replace) {
  if constexpr (std::is_same_v<T, Tensor>) {
    replace(value);
  } else if constexpr (HasParts<T>) {
    visit_parts(value, [&](auto& part) { replace_tensors(part, replace); });
  }
}

// Whether kTest holds of all types in a tuple.
template <class Tuple, template <class> class Test>
struct AllOf;
template <class... T, template <class> class Test>
struct AllOf<std::tuple<T...>, Test> : std::bool_constant<(Test<std::remove_cvref_t<T>>::value && ...)> {};

// True of tensors, structures of tensors alone, and nothing: a number could not change in a trace.
template <class T>
struct OnlyTensors {
  static constexpr bool test() {
    if constexpr (std::is_void_v<T> || std::is_same_v<T, Tensor>) {
      return true;
    } else if constexpr (kKindOf<T> == StructureKind::kParts) {
      return AllOf<typename StructureOf<T>::Parts, OnlyTensors>::value;
    } else if constexpr (kKindOf<T> == StructureKind::kList || kKindOf<T> == StructureKind::kMap) {
      return OnlyTensors<typename StructureOf<T>::Item>::value;
    } else {
      return kKindOf<T> == StructureKind::kNest;
    }
  }
  static constexpr bool value = test();
};
template <class T>
constexpr bool only_tensors() {
  return OnlyTensors<T>::value;
}

// The number of leaves of a structure whose type says it, else 0.
template <class T>
constexpr std::size_t leaf_count() {
  if constexpr (Leaf<T>) {
    return 1;
  } else if constexpr (kKindOf<T> == StructureKind::kParts) {
    return []<class... Items>(std::type_identity<std::tuple<Items...>>) {
      return ((leaf_count<Items>() > 0) && ...) ? (leaf_count<Items>() + ... + 0) : 0;
    }(std::type_identity<typename StructureOf<T>::Parts>());
  } else {
    return 0;
  }
}

// The structure of `value` with an L in place of each leaf, from `next()` in the same order.
template <class L = Tensor, class T, class Next>
ReplacedBy<T, L> rebuild(const T& value, const Next& next) {
  using Result = ReplacedBy<T, L>;
  constexpr StructureKind kKind = kKindOf<T>;
  if constexpr (kKind == StructureKind::kLeaf) {
    return next();
  } else if constexpr (IsTuple<T>::value) {
    return std::apply([&](const auto&... items) { return Result{rebuild<L>(items, next)...}; }, value);
  } else if constexpr (kKind == StructureKind::kMap) {
    Result result;
    for (const auto& [key, item] : value) result.emplace(key, rebuild<L>(item, next));
    return result;
  } else if constexpr (kKind == StructureKind::kList && requires(Result r) { r.reserve(1); }) {
    Result result;
    result.reserve(std::size(value));
    for (const auto& item : value) result.push_back(rebuild<L>(item, next));
    return result;
  } else if constexpr (kKind == StructureKind::kList) {
    Result result{};
    std::size_t i = 0;
    for (const auto& item : value) result[i++] = rebuild<L>(item, next);
    return result;
  } else if constexpr (kKind == StructureKind::kParts) {
    static_assert(only_tensors<Result>(),
                  "a struct with variables names the type of its gradients: `using Gradients = ...;`");
    static_assert(
        std::same_as<ReplacedBy<typename StructureOf<T>::Parts, L>, ReplacedBy<typename StructureOf<Result>::Parts, L>>,
        "the gradients of a struct have a member for each of its members, in their order");
    // Part by part, for the gradients may be another struct, whose lists are empty yet.
    Result result{};
    std::size_t i = 0;
    visit_parts(value, [&](const auto& part) {
      using Made = ReplacedBy<decltype(part), L>;
      Made made = rebuild<L>(part, next);
      std::size_t place = 0;
      visit_parts(result, [&]<class Slot>(Slot& slot) {
        if constexpr (std::is_same_v<Slot, Made>) {
          if (place == i) slot = std::move(made);
        }
        ++place;
      });
      ++i;
    });
    return result;
  } else {
    // A Nest of tensors; of what is no structure for_each_leaf has said what is wrong.
    Result result(value);
    replace_tensors(result, [&](Tensor& tensor) { tensor = next(); });
    return result;
  }
}

}  // namespace detail

/// The type of `gradient`'s result for sources of type T: the same structure with a tensor for each source.
template <class T>
using GradientsOf = detail::ReplacedBy<T, Tensor>;

}  // namespace capstan
