// What elements of datasets consist of, without their types.
//
// The nodes of a pipeline are no templates. They see an element as an array of parts: tensors and numbers are tensors,
// everything else is an object that a pointer leads to. A table of functions for each type says what more can be done
// with its parts: joining them to a batch, taking a batch apart, writing them as tensors. The templates of
// capstan/data.h only convert between values and parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/structure.h"
#include "capstan/tensor.h"
#include "capstan/texts.h"

namespace capstan {

/// What datasets may do with values of a type of your own beside handing them on. Tensors, numbers, texts and
/// structures of tensors need none. A specialisation has any of these, all static:
///
/// - `Batch batch(const std::vector<T>& items)`, with `using Batch = ...;`: what batch() makes of consecutive elements;
/// - `std::vector<Item> unbatch(const T& batch)`, with `using Item = ...;`: the elements that unbatch() makes of one;
/// - `std::vector<Tensor> save(const T& value)` and `T restore(const std::vector<Tensor>& tensors)`: the value as
///   tensors, for positions of iterators that hold elements, such as the buffer of shuffle().
template <class T>
struct DatasetTraits {};

namespace detail {

/// One part of an element.
struct Part {
  Tensor tensor;                       ///< of tensors and numbers
  std::shared_ptr<const void> object;  ///< of everything else
};

/// The same part of some elements: every `stride`-th part from `first` on.
struct PartColumn {
  const Part* first = nullptr;
  std::size_t count = 0;
  std::size_t stride = 1;
  const Part& operator[](std::size_t i) const { return first[i * stride]; }
};

/// What can be done with parts of a type; null where it cannot.
struct PartType {
  std::string_view name;
  bool is_tensor = false;
  Part (*batch)(const PartColumn& items) = nullptr;
  std::vector<Part> (*unbatch)(const Part& part) = nullptr;
  std::vector<Tensor> (*save)(const Part& part) = nullptr;
  Part (*restore)(const std::vector<Tensor>& tensors) = nullptr;
};
using PartTypes = std::span<const PartType* const>;

CAPSTAN_EXPORT extern const PartType kTensorPart;
CAPSTAN_EXPORT extern const PartType kStringPart;
CAPSTAN_EXPORT extern const PartType kTextsPart;

/// Tensors joined along a new first axis. Errors: ShapeError and DTypeError for tensors that differ, ValueError for an
/// empty tensor.
CAPSTAN_EXPORT Tensor joined(const std::vector<Tensor>& tensors);
/// The rows of a tensor, as views. Errors: ShapeError for a scalar, ValueError for an empty tensor.
CAPSTAN_EXPORT std::vector<Tensor> rows_of(const Tensor& tensor);
/// One number of any dtype.
CAPSTAN_EXPORT Tensor number_as_tensor(DType dtype, const void* number);
/// Texts as tensors of bytes, and back.
CAPSTAN_EXPORT std::vector<Tensor> save_keys(const std::vector<std::string>& keys);
CAPSTAN_EXPORT std::vector<std::string> restore_keys(const std::vector<Tensor>& tensors);

[[noreturn]] CAPSTAN_EXPORT void throw_different_structures();
[[noreturn]] CAPSTAN_EXPORT void throw_wrong_position(std::string_view type);

// The name of a type for messages.
template <class T>
constexpr std::string_view type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  return text.substr(0, text.find_first_of(";]"));
}

template <class T>
concept NumberPart = std::is_arithmetic_v<T>;
// A structure of tensors alone, and no tensor.
template <class T>
concept StructurePart = !std::is_same_v<T, Tensor> && HasParts<T> && only_tensors<T>();
template <class T>
concept TensorPart = std::is_same_v<T, Tensor> || NumberPart<T>;

template <class T>
concept HasBatchTrait = requires {
  typename DatasetTraits<T>::Batch;
};
template <class T>
concept HasUnbatchTrait = requires {
  typename DatasetTraits<T>::Item;
};
template <class T>
concept HasSaveTrait = requires(const T& value, const std::vector<Tensor>& tensors) {
  { DatasetTraits<T>::save(value) } -> std::convertible_to<std::vector<Tensor>>;
  { DatasetTraits<T>::restore(tensors) } -> std::convertible_to<T>;
};

// The type of batches of T, and of the elements of a batch T; void if there is none.
template <class T>
struct Batching {
  using Batch = void;
  using Item = void;
};
template <>
struct Batching<Tensor> {
  using Batch = Tensor;
  using Item = Tensor;
};
template <NumberPart T>
struct Batching<T> {
  using Batch = Tensor;
  using Item = void;
};
template <>
struct Batching<std::string> {
  using Batch = Texts;
  using Item = void;
};
template <>
struct Batching<Texts> {
  using Batch = Texts;
  using Item = std::string;
};
template <StructurePart T>
struct Batching<T> {
  using Batch = T;
  using Item = T;
};
template <class T>
requires(!StructurePart<T> && HasBatchTrait<T> && !HasUnbatchTrait<T>) struct Batching<T> {
  using Batch = typename DatasetTraits<T>::Batch;
  using Item = void;
};
template <class T>
requires(!StructurePart<T> && !HasBatchTrait<T> && HasUnbatchTrait<T>) struct Batching<T> {
  using Batch = void;
  using Item = typename DatasetTraits<T>::Item;
};
template <class T>
requires(!StructurePart<T> && HasBatchTrait<T> && HasUnbatchTrait<T>) struct Batching<T> {
  using Batch = typename DatasetTraits<T>::Batch;
  using Item = typename DatasetTraits<T>::Item;
};

template <class T>
const T& object_of(const Part& part) {
  return *static_cast<const T*>(part.object.get());
}
/// Whether nothing else holds the object of the part: no buffer, no cache, no other element.
CAPSTAN_EXPORT bool is_only_holder(const Part& part);

template <class T>
Part to_part(T value) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return {std::move(value), nullptr};
  } else if constexpr (NumberPart<T>) {
    const auto element = static_cast<ElementOf<T>>(value);
    return {number_as_tensor(kDTypeOf<ElementOf<T>>, &element), nullptr};
  } else {
    return {Tensor(), std::make_shared<T>(std::move(value))};
  }
}

// A reference into the part, or a number.
template <class T>
decltype(auto) from_part(const Part& part) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return (part.tensor);
  } else if constexpr (NumberPart<T>) {
    return part.tensor.item<T>();
  } else {
    return (object_of<T>(part));
  }
}

// Structures of tensors as tensors: a vector has any number of these, a map keys, all others as many as the type says.
template <class T>
std::vector<Tensor> tensors_of_structure(const T& value) {
  std::vector<Tensor> tensors;
  for_each_leaf(value, [&](const Tensor& leaf) { tensors.push_back(leaf); });
  return tensors;
}
template <class T>
inline constexpr bool kIsTensorMap = std::is_same_v<T, std::map<std::string, Tensor>>;
template <class T>
inline constexpr bool kIsTensorVector = std::is_same_v<T, std::vector<Tensor>>;
template <class T>
inline constexpr bool kSavedStructure = kIsTensorMap<T> || kIsTensorVector<T> ||
                                        (leaf_count<T>() > 0 && std::is_default_constructible_v<T>);

template <class T>
std::vector<Tensor> save_structure(const Part& part) {
  const T& value = object_of<T>(part);
  std::vector<Tensor> tensors = tensors_of_structure(value);
  if constexpr (kIsTensorMap<T>) {
    std::vector<std::string> keys;
    for (const auto& [key, tensor] : value) keys.push_back(key);
    std::vector<Tensor> names = save_keys(keys);
    tensors.insert(tensors.begin(), names.begin(), names.end());
  }
  return tensors;
}
template <class T>
Part restore_structure(const std::vector<Tensor>& tensors) {
  if constexpr (kIsTensorVector<T>) {
    return to_part<T>(tensors);
  } else if constexpr (kIsTensorMap<T>) {
    const std::vector<std::string> keys = restore_keys(tensors);
    if (tensors.size() != keys.size() + 2) throw_wrong_position(type_name<T>());
    T value;
    for (std::size_t i = 0; i < keys.size(); ++i) value.emplace(keys[i], tensors[i + 2]);
    return to_part<T>(std::move(value));
  } else {
    if (tensors.size() != leaf_count<T>()) throw_wrong_position(type_name<T>());
    T value{};
    std::size_t i = 0;
    replace_tensors(value, [&](Tensor& tensor) { tensor = tensors[i++]; });
    return to_part<T>(std::move(value));
  }
}

template <class T>
Part batch_structures(const PartColumn& items) {
  std::vector<std::vector<Tensor>> leaves(items.count);
  for (std::size_t i = 0; i < items.count; ++i) {
    leaves[i] = tensors_of_structure(object_of<T>(items[i]));
    if (leaves[i].size() != leaves[0].size()) throw_different_structures();
  }
  std::size_t at = 0;
  return to_part<T>(rebuild(object_of<T>(items[0]), [&] {
    std::vector<Tensor> column;
    for (const std::vector<Tensor>& item : leaves) column.push_back(item[at]);
    ++at;
    return joined(column);
  }));
}
template <class T>
std::vector<Part> unbatch_structure(const Part& part) {
  const T& value = object_of<T>(part);
  std::vector<std::vector<Tensor>> columns;
  for (const Tensor& leaf : tensors_of_structure(value)) {
    columns.push_back(rows_of(leaf));
    if (columns.back().size() != columns.front().size()) throw_different_structures();
  }
  std::vector<Part> parts;
  for (std::size_t row = 0; !columns.empty() && row < columns[0].size(); ++row) {
    std::size_t at = 0;
    parts.push_back(to_part<T>(rebuild(value, [&] { return columns[at++][row]; })));
  }
  return parts;
}

template <class T>
constexpr PartType make_part_type() {
  PartType type{.name = type_name<T>()};
  if constexpr (StructurePart<T>) {
    type.batch = batch_structures<T>;
    type.unbatch = unbatch_structure<T>;
    if constexpr (kSavedStructure<T>) {
      type.save = save_structure<T>;
      type.restore = restore_structure<T>;
    }
  } else {
    if constexpr (HasBatchTrait<T>) {
      type.batch = [](const PartColumn& items) {
        std::vector<T> values;
        for (std::size_t i = 0; i < items.count; ++i) values.push_back(object_of<T>(items[i]));
        return to_part<typename DatasetTraits<T>::Batch>(DatasetTraits<T>::batch(values));
      };
    }
    if constexpr (HasUnbatchTrait<T>) {
      type.unbatch = [](const Part& part) {
        std::vector<Part> parts;
        for (auto& item : DatasetTraits<T>::unbatch(object_of<T>(part))) {
          parts.push_back(to_part<typename DatasetTraits<T>::Item>(std::move(item)));
        }
        return parts;
      };
    }
    if constexpr (HasSaveTrait<T>) {
      type.save = [](const Part& part) -> std::vector<Tensor> { return DatasetTraits<T>::save(object_of<T>(part)); };
      type.restore = [](const std::vector<Tensor>& tensors) { return to_part<T>(DatasetTraits<T>::restore(tensors)); };
    }
  }
  return type;
}

template <class T>
inline constexpr PartType kObjectPart = make_part_type<T>();

template <class T>
constexpr const PartType* part_type() {
  if constexpr (TensorPart<T>) {
    return &kTensorPart;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return &kStringPart;
  } else if constexpr (std::is_same_v<T, Texts>) {
    return &kTextsPart;
  } else {
    return &kObjectPart<T>;
  }
}

// What files of elements call a type.
template <class T>
std::string kind_of_part() {
  if constexpr (NumberPart<T>) {
    return std::string(name_of(kDTypeOf<ElementOf<T>>));
  } else if constexpr (kIsTensorMap<T>) {
    return "map of tensors";
  } else if constexpr (kIsTensorVector<T>) {
    return "list of tensors";
  } else if constexpr (StructurePart<T> && kSavedStructure<T>) {
    return "structure of " + std::to_string(leaf_count<T>()) + " tensors";
  } else {
    return std::string(part_type<T>()->name);
  }
}

// The tables of the parts of an element.
template <class... Ts>
inline const PartType* const kPartTypes[] = {part_type<Ts>()...};
template <class... Ts>
PartTypes part_types() {
  return kPartTypes<Ts...>;
}

}  // namespace detail
}  // namespace capstan
