// Between values and parts of elements: what functions of users get and give, and the types of datasets that follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/dataset_nodes.h"
#include "capstan/dataset_parts.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

template <class... Ts>
class Dataset;

/// A dataset has a begin and an end, but is no list of tensors.
template <class... Ts>
struct Structure<Dataset<Ts...>> {
  static constexpr StructureKind kKind = StructureKind::kNone;
  template <class L>
  using With = Dataset<Ts...>;
};

/// Windows can be part of a position; other datasets inside of datasets cannot.
template <class... Ts>
struct DatasetTraits<Dataset<Ts...>> {
  static std::vector<Tensor> save(const Dataset<Ts...>& window) { return detail::save_list(window.node()); }
  static Dataset<Ts...> restore(const std::vector<Tensor>& tensors) {
    return Dataset<Ts...>(detail::restore_list(detail::part_types<Ts...>(), tensors));
  }
};

namespace detail {

// What a dataset holds of what a function gives.
template <class T>
struct PartValueOf {
  using type = T;
};
template <>
struct PartValueOf<Variable> {
  using type = Tensor;
};
template <class T>
requires(Text<T> && !std::is_same_v<T, std::string>) struct PartValueOf<T> {
  using type = std::string;
};
template <class T>
using PartValue = typename PartValueOf<std::remove_cvref_t<T>>::type;

template <class T>
struct ResultDataset {
  using type = Dataset<PartValue<T>>;
};
template <class... T>
struct ResultDataset<std::tuple<T...>> {
  using type = Dataset<PartValue<T>...>;
};
template <class A, class B>
struct ResultDataset<std::pair<A, B>> {
  using type = Dataset<PartValue<A>, PartValue<B>>;
};
// The dataset of what a function gives: a pair or a tuple has several parts.
template <class T>
using DatasetOf = typename ResultDataset<std::remove_cvref_t<T>>::type;

template <class T>
struct IsDataset : std::false_type {};
template <class... Ts>
struct IsDataset<Dataset<Ts...>> : std::true_type {};

template <class T>
PartValue<T> as_part_value(T&& value) {
  return PartValue<T>(std::forward<T>(value));
}

// Writes a value of a function, from part `first` of a tuple on.
template <std::size_t First = 0, class R>
void write_parts(R&& value, Part* parts) {
  using Plain = std::remove_cvref_t<R>;
  if constexpr (IsTuple<Plain>::value) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((parts[I] = to_part<PartValue<std::tuple_element_t<I + First, Plain>>>(
            as_part_value(std::get<I + First>(std::forward<R>(value))))),
       ...);
    }
    (std::make_index_sequence<std::tuple_size_v<Plain> - First>());
  } else {
    parts[0] = to_part<PartValue<Plain>>(as_part_value(std::forward<R>(value)));
  }
}

template <class... Ts, class F>
decltype(auto) call_with_parts(F& f, const Part* parts) {
  return [&]<std::size_t... I>(std::index_sequence<I...>)->decltype(auto) { return f(from_part<Ts>(parts[I])...); }
  (std::index_sequence_for<Ts...>());
}

template <class T>
T take_part(Part& part) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return std::move(part.tensor);
  } else {
    if constexpr (!NumberPart<T>) {
      // It is constant for those who share it, and was not made so.
      if (is_only_holder(part)) return std::move(const_cast<T&>(object_of<T>(part)));
    }
    return from_part<T>(part);
  }
}

// What a predicate gives: a bool, or a tensor of one.
template <class R>
bool as_truth(const char* what, const R& value) {
  static_assert(std::is_convertible_v<R, Tensor> || std::is_same_v<R, bool>, "a predicate gives a bool");
  if constexpr (std::is_same_v<R, bool>) {
    return value;
  } else {
    return truth_of(what, value);
  }
}

// What a function of keys, classes and lengths gives: an integer, or a tensor of one.
template <class R>
std::int64_t as_integer(const R& value) {
  if constexpr (std::is_convertible_v<R, Tensor>) {
    return Tensor(value).template item<std::int64_t>();
  } else {
    static_assert(std::is_integral_v<R>, "a key, a class or a length is an integer");
    return static_cast<std::int64_t>(value);
  }
}

template <class... Ts, class F>
PartPredicate predicate(const char* what, F f) {
  return
      [what, f = std::move(f)](const Part* parts) mutable { return as_truth(what, call_with_parts<Ts...>(f, parts)); };
}
template <class... Ts, class F>
PartNumber number_function(F f) {
  return [f = std::move(f)](const Part* parts) mutable { return as_integer(call_with_parts<Ts...>(f, parts)); };
}

// The batches of parts, of each its own.
template <class... Ts>
struct BatchDataset {
  static_assert((!std::is_void_v<typename Batching<Ts>::Batch> && ...),
                "elements of this type have no batches: specialise DatasetTraits<T> with Batch and batch()");
  using type = Dataset<typename Batching<Ts>::Batch...>;
};
template <class... Ts>
struct ItemDataset {
  static_assert((!std::is_void_v<typename Batching<Ts>::Item> && ...),
                "elements of this type are no batches: specialise DatasetTraits<T> with Item and unbatch()");
  using type = Dataset<typename Batching<Ts>::Item...>;
};

// What scan gives: the tuple after the state.
template <class R>
struct ScanResult;
template <class S, class... T>
struct ScanResult<std::tuple<S, T...>> {
  using type = Dataset<PartValue<T>...>;
};
template <class S, class T>
struct ScanResult<std::pair<S, T>> {
  using type = Dataset<PartValue<T>>;
};

// The parts of several datasets.
template <class... Datasets>
struct ZippedDatasets;
template <class... Ts>
struct ZippedDatasets<Dataset<Ts...>> {
  using type = Dataset<Ts...>;
};
template <class... Ts, class... Us, class... Rest>
struct ZippedDatasets<Dataset<Ts...>, Dataset<Us...>, Rest...> : ZippedDatasets<Dataset<Ts..., Us...>, Rest...> {};

template <class... Ts>
std::vector<DatasetNodePtr> nodes_of(const std::vector<Dataset<Ts...>>& datasets) {
  std::vector<DatasetNodePtr> nodes;
  for (const Dataset<Ts...>& dataset : datasets) nodes.push_back(dataset.node());
  return nodes;
}

// What a source of rows holds: a tensor, or a list of texts.
template <class T>
inline constexpr bool kIsTexts = std::is_same_v<T, Texts> || std::is_same_v<T, std::vector<std::string>>;
template <class T>
concept Sliceable = std::is_convertible_v<const T&, Tensor> || kIsTexts<T>;
template <class T>
using SliceOf = std::conditional_t<kIsTexts<T>, std::string, Tensor>;

template <class T>
DatasetNodePtr slices_of_one(const T& source) {
  if constexpr (kIsTexts<T>) {
    return texts_of(Texts(source));
  } else {
    return slices_of({Tensor(source)});
  }
}

template <class S>
void check_same_state(const char* what, const S& before, const S& after) {
  if constexpr (std::is_same_v<S, Tensor>) check_state(what, before, after);
}

}  // namespace detail

}  // namespace capstan
