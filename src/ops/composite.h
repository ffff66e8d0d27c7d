// The OpDef of a composite, from the type of its function:
//
//     constexpr OpDef kCrelu = composite<&crelu, "x, axis", -1>("crelu", "relu of x and of -x, one after the other.");
//
// Parameters that are tensors, which follow one another, are the inputs; a list of tensors is all of them. The others
// are the attributes; the last ones of these have the defaults that are given, which are those of the declaration (C++
// does not tell them). NoValue{} stands for the default of the type: no number, all axes, no padding; NameList{"xy"} is
// a text. A struct of options is as many attributes as it has fields, named in their order, with the defaults that it
// declares; one beside which set_field() and get_field() are declared is one attribute. The result is one tensor, a
// list of them, or a struct of two or three. Where a call by name takes its arguments otherwise than the public
// function, the composite is that of a function ..._by_name, which calls it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/core/apply.h"
#include "src/core/attributes.h"
#include "src/core/op_def.h"
#include "src/ops/axis.h"

namespace capstan {

// The default of an attribute that may be absent.
struct NoValue {};

namespace detail {

// --- The parameters ---

template <class T>
concept InputList = std::is_same_v<T, Operands> || std::is_same_v<T, std::span<const Tensor>>;
template <class T>
concept Input = std::is_same_v<T, Operand> || std::is_same_v<T, Tensor> || InputList<T>;
// What is an attribute by itself, whatever its fields.
template <class T>
concept OneAttribute = requires(T& field, const AttributeValue& value, std::string_view text) {
  set_field(field, value, text, text);
};
template <class T>
concept Options = std::is_class_v<T> && std::is_aggregate_v<T> && !OneAttribute<T> && !requires {
  std::tuple_size<T>::value;
};

// The attributes as an aggregate; a std::tuple is not trivially copyable.
template <class... Members>
struct Pack {};
template <class First, class... Rest>
struct Pack<First, Rest...> {
  First first{};
  [[no_unique_address]] Pack<Rest...> rest;
};
template <std::size_t kIndex, class P>
constexpr auto& member_of(P& pack) {
  if constexpr (kIndex == 0)
    return pack.first;
  else
    return member_of<kIndex - 1>(pack.rest);
}
template <class... A, class... B>
Pack<A..., B...> operator+(Pack<A...>, Pack<B...>);

// The inputs as tensors.
std::vector<Tensor> list_of(std::span<const Operand> inputs);

// --- The result ---

template <class Result>
consteval std::int8_t output_count() {
  if constexpr (std::is_same_v<Result, Tensor>)
    return 1;
  else if constexpr (std::is_same_v<Result, std::vector<Tensor>>)
    return kVariadic;
  else if constexpr (requires(Tensor x) { Result{x, x, x}; })
    return 3;
  else
    return 2;
}
// Hundreds of composites give one tensor, so this is not inlined.
void put_tensor(std::vector<Tensor>& outputs, Tensor result);
template <class Result>
void put(std::vector<Tensor>& outputs, Result result) {
  if constexpr (std::is_same_v<Result, Tensor>) {
    put_tensor(outputs, std::move(result));
  } else if constexpr (std::is_same_v<Result, std::vector<Tensor>>) {
    outputs = std::move(result);
  } else {
    std::apply([&](auto&... tensors) { (put_tensor(outputs, std::move(tensors)), ...); },
               fields_of<output_count<Result>()>(result));
  }
}

// --- The function ---

template <auto kFunction, NameList kNames, auto... kDefaults>
struct Composite;

template <class Result, class... P, Result (*kFunction)(P...), NameList kNames, auto... kDefaults>
struct Composite<kFunction, kNames, kDefaults...> {
  using Returned = Result;
  static constexpr std::size_t kCount = sizeof...(P);
  template <std::size_t kIndex>
  using Parameter = std::remove_cvref_t<std::tuple_element_t<kIndex, std::tuple<P...>>>;
  using Indices = std::make_index_sequence<kCount>;

  // For each parameter: whether it is an input, a struct of options, or one attribute.
  static constexpr std::array<bool, kCount + 1> kIsInput = {Input<std::remove_cvref_t<P>>..., false};
  static constexpr std::array<bool, kCount + 1> kIsOptions = {Options<std::remove_cvref_t<P>>..., false};
  static constexpr bool kIsVariadic = (InputList<std::remove_cvref_t<P>> || ...);
  static constexpr std::size_t count_before(const std::array<bool, kCount + 1>& list, std::size_t parameter) {
    return static_cast<std::size_t>(std::count(list.begin(), list.begin() + parameter, true));
  }
  static constexpr std::size_t kInputs = count_before(kIsInput, kCount);
  // How many names are left for the fields of the options.
  static constexpr std::size_t kFields = kNames.count() + count_before(kIsOptions, kCount) - kCount;
  static_assert(count_before(kIsOptions, kCount) <= 1 && kFields <= 5 && (!kIsVariadic || kInputs == 1));

  // The name that a parameter starts with, and its first attribute.
  static constexpr std::size_t name_before(std::size_t parameter) {
    const std::size_t options = count_before(kIsOptions, parameter);
    return parameter - options + options * kFields;
  }
  static constexpr std::size_t start_of(std::size_t parameter) {
    return name_before(parameter) - count_before(kIsInput, parameter);
  }
  static constexpr std::size_t kAttributes = start_of(kCount);
  static constexpr std::size_t kFirstInput =
      static_cast<std::size_t>(std::find(kIsInput.begin(), kIsInput.end(), true) - kIsInput.begin()) % (kCount + 1);
  static_assert(kInputs == 0 || count_before(kIsInput, kFirstInput + kInputs) == kInputs,
                "the inputs follow one another");
  static constexpr std::string_view input_names() {
    return kNames.part(name_before(kFirstInput), name_before(kFirstInput) + kInputs);
  }

  // The default of a parameter: the one that is given for it, or NoValue{}.
  static constexpr std::size_t number_of(std::size_t parameter) {
    return parameter - count_before(kIsInput, parameter) - count_before(kIsOptions, parameter);
  }
  static constexpr std::size_t kRequired = number_of(kCount) - sizeof...(kDefaults);
  static constexpr bool is_required(std::size_t parameter) {
    return !kIsOptions[parameter] && number_of(parameter) < kRequired;
  }
  template <std::size_t kIndex>
  static constexpr auto default_of() {
    if constexpr (kIsInput[kIndex] || kIsOptions[kIndex] || is_required(kIndex))
      return NoValue();
    else
      return std::get<number_of(kIndex) - kRequired>(std::tuple(kDefaults...));
  }

  template <std::size_t kIndex>
  static constexpr auto kDefault = default_of<kIndex>();
  template <std::size_t kIndex>
  static constexpr bool has_default() {
    return !std::is_same_v<std::remove_cv_t<decltype(kDefault<kIndex>)>, NoValue>;
  }
  template <std::size_t kIndex>
  static constexpr bool kIsText = std::is_same_v<Parameter<kIndex>, std::string_view>;
  // Calls run<kField>() for the fields of the options.
  template <std::size_t kIndex, class Run>
  static void for_fields(const Run& run) {
    [&]<std::size_t... kField>(std::index_sequence<kField...>) { (run.template operator()<kField>(), ...); }
    (std::make_index_sequence<kFields>());
  }

  // What a parameter or a field of the options is among the attributes. An axis is checked as such, and is its default
  // if a call by name gives none.
  template <std::size_t kName, class T>
  static constexpr bool kIsAxis = std::is_same_v<T, int>&& kNames.part(kName, kName + 1) == "axis";
  template <std::size_t kName, class T>
  using Field = std::conditional_t<kIsAxis<kName, T>, Axis, typename AttributeOf<T>::Type>;
  template <std::size_t kIndex>
  static constexpr auto members_of() {
    using T = Parameter<kIndex>;
    constexpr std::size_t name = name_before(kIndex);
    if constexpr (kIsInput[kIndex]) {
      return Pack<>();
    } else if constexpr (kIsOptions[kIndex]) {
      return []<class... F, std::size_t... kField>(std::type_identity<std::tuple<F&...>>,
                                                   std::index_sequence<kField...>) {
        return Pack<Field<name + kField, F>...>();
      }(std::type_identity<decltype(fields_of<kFields>(std::declval<T&>()))>(), std::make_index_sequence<kFields>());
    } else if constexpr (kIsAxis<name, T> && has_default<kIndex>()) {
      return Pack<AxisOr<kDefault<kIndex>>>();
    } else {
      return Pack<Field<name, T>>();
    }
  }
  template <std::size_t... kIndices>
  static auto values_of(std::index_sequence<kIndices...>) -> decltype((Pack<>() + ... + members_of<kIndices>()));
  using Values = decltype(values_of(Indices()));
  static_assert(std::is_trivially_copyable_v<Values> && sizeof(Values) <= 64 && kAttributes <= 8);

  // An attribute that is a text is none until one is given, and then stands for its default.
  template <std::size_t kIndex>
  static void set_default(Values& values) {
    if constexpr (kIsOptions[kIndex]) {
      const Parameter<kIndex> options{};
      for_fields<kIndex>([&]<std::size_t kField>() {
        const auto& field = std::get<kField>(fields_of<kFields>(options));
        auto& member = member_of<start_of(kIndex) + kField>(values);
        if constexpr (!std::is_same_v<decltype(member), capstan::Text&>)
          member = AttributeOf<std::remove_cvref_t<decltype(field)>>::keep(field);
      });
    } else if constexpr (has_default<kIndex>()) {
      if constexpr (!kIsText<kIndex>) member_of<start_of(kIndex)>(values) = kDefault<kIndex>;
    }
  }
  static void construct(void* attributes) {
    Values& values = *new (attributes) Values();
    [&]<std::size_t... kIndices>(std::index_sequence<kIndices...>) { (set_default<kIndices>(values), ...); }
    (Indices());
  }

  template <std::size_t kIndex>
  static const auto& value_of(const void* attributes) {
    return member_of<kIndex>(*static_cast<const Values*>(attributes));
  }
  template <std::size_t kIndex>
  static decltype(auto) argument(std::span<const Operand> inputs, const void* attributes) {
    using T = Parameter<kIndex>;
    if constexpr (InputList<T>) {
      return list_of(inputs);
    } else if constexpr (kIsInput[kIndex]) {
      return (inputs[count_before(kIsInput, kIndex)]);
    } else if constexpr (kIsOptions[kIndex]) {
      T options{};
      for_fields<kIndex>([&]<std::size_t kField>() {
        auto& field = std::get<kField>(fields_of<kFields>(options));
        const auto& member = value_of<start_of(kIndex) + kField>(attributes);
        if constexpr (std::is_same_v<decltype(member), const capstan::Text&>) {
          if (member.text == nullptr) return;
        }
        field = AttributeOf<std::remove_cvref_t<decltype(field)>>::give(member);
      });
      return options;
    } else if constexpr (has_default<kIndex>() && kIsText<kIndex>) {
      const capstan::Text& text = value_of<start_of(kIndex)>(attributes);
      return text.text == nullptr ? kDefault<kIndex>.view() : text.view();
    } else {
      return AttributeOf<T>::give(value_of<start_of(kIndex)>(attributes));
    }
  }
  template <std::size_t... kIndices>
  static void call(std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs,
                   std::index_sequence<kIndices...>) {
    put<Result>(outputs, kFunction(argument<kIndices>(inputs, attributes)...));
  }
  static void compose(std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
    call(inputs, attributes, outputs, Indices());
  }

  template <std::size_t kAttribute>
  static constexpr AttributeField make_field() {
    constexpr std::size_t kIndex = [] {
      std::size_t parameter = 0;
      while (start_of(parameter + 1) <= kAttribute) ++parameter;
      return parameter;
    }();
    constexpr std::size_t name = name_before(kIndex) + kAttribute - start_of(kIndex);
    constexpr auto member = [](Values & values) -> auto& { return member_of<kAttribute>(values); };
    const AttributeField field = {kNames.part(name, name + 1), is_required(kIndex), offset_of<Values>(member),
                                  &field_type<std::remove_reference_t<decltype(member(std::declval<Values&>()))>>};
    if constexpr (std::is_same_v<decltype(kDefault<kIndex>), const double>) {
      // What no number stands for cannot be written as one everywhere.
      if (kDefault<kIndex> == std::numeric_limits<double>::infinity()) return field.with_type(kNumberOrDefault);
    }
    return field;
  }
  static constexpr auto kAttributeFields = []<std::size_t... kIndices>(std::index_sequence<kIndices...>) {
    return std::array<AttributeField, kAttributes>{make_field<kIndices>()...};
  }
  (std::make_index_sequence<kAttributes>());
  static constexpr AttributeType kType = {sizeof(Values), &construct, kAttributeFields.data(),
                                          static_cast<int>(kAttributes)};
};

}  // namespace detail

// The function of a type among those of a name, for composite<>.
template <class Function>
constexpr Function* overload(Function* function) {
  return function;
}

template <auto kFunction, NameList kNames, auto... kDefaults>
constexpr OpDef composite(std::string_view name, std::string_view text, std::uint16_t flags = kNoFlags,
                          const OpForPrograms* programs = nullptr) {
  using C = detail::Composite<kFunction, kNames, kDefaults...>;
  OpDef op;
  op.name = name;
  op.text = text;
  op.kind = OpKind::kComposite;
  op.flags = flags;
  op.outputs = detail::output_count<typename C::Returned>();
  op.inputs = C::kIsVariadic ? InputNames(C::input_names(), kVariadic) : InputNames(C::input_names());
  if constexpr (C::kAttributes > 0) op.attributes = &C::kType;
  op.compose = &C::compose;
  op.programs = programs;
  return op;
}

}  // namespace capstan
