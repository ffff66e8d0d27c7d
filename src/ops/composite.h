// The OpDef of a composite, from the type of its function:
//
//     constexpr OpDef kCrelu = composite<&crelu, "x, axis", -1>("crelu", "relu of x and of -x, one after the other.");
//
// Parameters that are Operands, which come first, are the inputs, the others the attributes; the last ones of these
// have the defaults that are given, which are those of the declaration (C++ does not tell them). NoValue{} stands for
// one without content: no number, all axes. A struct of options is as many attributes as it has fields, named in their
// order, with the defaults that it declares.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/core/attributes.h"
#include "src/core/op_def.h"
#include "src/ops/axis.h"

namespace capstan {

// The default of an attribute that may be absent.
struct NoValue {};

// A text as an argument of a template: names, separated by ", ".
template <std::size_t kSize>
struct Names {
  char text[kSize] = {};

  consteval Names(const char (&literal)[kSize]) { std::copy_n(literal, kSize, text); }
  constexpr std::string_view view() const { return {text, kSize - 1}; }
  constexpr std::size_t count() const {
    return view().empty() ? 0 : 1 + static_cast<std::size_t>(std::count(text, text + kSize, ','));
  }
  // The names from one to another. By indices, since g++ 12 with -fsanitize=undefined does not take find() for a
  // constant.
  constexpr std::string_view part(std::size_t from, std::size_t to) const {
    if (from == to) return {};
    std::size_t begin = 0, end = 0;
    for (std::size_t name = 0; end < kSize - 1; ++end) {
      if (text[end] != ',') continue;
      ++name;
      if (name == to) break;
      if (name == from) begin = end + 2;
    }
    return {text + begin, end - begin};
  }
};

namespace detail {

// A parameter as a member of the attributes, which are trivially copyable, and back.
template <class T>
struct StoredAs {
  using Type = T;
};
template <>
struct StoredAs<std::string_view> {
  using Type = capstan::Text;
};
inline std::string_view as_parameter(const capstan::Text& member) { return member.view(); }
template <class T>
const T& as_parameter(const T& member) {
  return member;
}

// A parameter that is a struct of options, of one or two fields.
template <class T>
concept Options = std::is_class_v<T> && std::is_aggregate_v<T>;
// Stands for a value of any type in an initialiser.
struct AnyValue {
  template <class T>
  operator T() const;
};
// How many attributes a parameter is.
template <class T>
consteval std::size_t width_of() {
  if constexpr (!Options<T>)
    return 1;
  else if constexpr (requires { T{AnyValue(), AnyValue()}; })
    return 2;
  else
    return 1;
}
// The field of one parameter, which is the parameter itself unless that is a struct of options.
template <std::size_t kIndex, class T>
constexpr auto& field_of(T& parameter) {
  if constexpr (!Options<T>) {
    return parameter;
  } else if constexpr (width_of<T>() == 1) {
    auto& [first] = parameter;
    return first;
  } else {
    auto& [first, second] = parameter;
    if constexpr (kIndex == 0)
      return first;
    else
      return second;
  }
}

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

// The parameters beside the inputs, in order.
template <std::size_t kInputs, class... Parameters>
struct Signature {
  static constexpr std::size_t kInputCount = kInputs;
  static constexpr std::size_t kCount = sizeof...(Parameters);
  static constexpr std::size_t kWidths[kCount + 1] = {width_of<std::remove_cvref_t<Parameters>>()..., 0};
  static constexpr bool kAreOptions[kCount + 1] = {Options<std::remove_cvref_t<Parameters>>..., false};
  // The attribute that a parameter starts with.
  static constexpr std::size_t start_of(std::size_t parameter) {
    return std::accumulate(kWidths, kWidths + parameter, std::size_t{0});
  }
  static constexpr std::size_t parameter_of(std::size_t attribute) {
    std::size_t parameter = 0;
    while (start_of(parameter + 1) <= attribute) ++parameter;
    return parameter;
  }
  // Parameters that are no options are counted by themselves.
  static constexpr std::size_t number_of(std::size_t parameter) {
    return static_cast<std::size_t>(std::count(kAreOptions, kAreOptions + parameter, false));
  }
};
template <std::size_t kInputs, class... Rest>
struct Split {
  using Type = Signature<kInputs, Rest...>;
};
template <std::size_t kInputs, class... Rest>
struct Split<kInputs, Operand, Rest...> : Split<kInputs + 1, Rest...> {};
template <class... P>
typename Split<0, P...>::Type signature_of(Tensor (*)(P...));

template <auto kFunction, Names kNames, auto... kDefaults>
struct Composite {
  using Parameters = decltype(signature_of(kFunction));
  static constexpr std::size_t kInputs = Parameters::kInputCount;
  static constexpr std::size_t kCount = Parameters::kCount;
  static constexpr std::size_t kAttributes = Parameters::start_of(kCount);
  static constexpr std::size_t kRequired = Parameters::number_of(kCount) - sizeof...(kDefaults);
  using Indices = std::make_index_sequence<kCount>;

  static constexpr std::string_view name_of(std::size_t attribute) {
    return kNames.part(kInputs + attribute, kInputs + attribute + 1);
  }
  static constexpr bool is_required(std::size_t parameter) {
    return !Parameters::kAreOptions[parameter] && Parameters::number_of(parameter) < kRequired;
  }
  static constexpr int default_number(std::size_t parameter) {
    const auto number_of = [](auto value) {
      if constexpr (std::is_same_v<decltype(value), int>) return value;
      return 0;
    };
    std::size_t i = kRequired;
    int number = 0;
    ((number = i++ == Parameters::number_of(parameter) ? number_of(kDefaults) : number), ...);
    return number;
  }
  // An axis is checked as such, and is its default if a call by name gives none.
  template <std::size_t kIndex, class T>
  static constexpr auto member_type() {
    if constexpr (!std::is_same_v<T, int> || name_of(Parameters::start_of(kIndex)) != "axis")
      return std::type_identity<typename StoredAs<T>::Type>();
    else if constexpr (is_required(kIndex))
      return std::type_identity<Axis>();
    else
      return std::type_identity<AxisOr<default_number(kIndex)>>();
  }
  template <class... T, std::size_t... kIndices>
  static constexpr auto values_of(Signature<kInputs, T...>, std::index_sequence<kIndices...>) {
    return Pack<typename decltype(member_type<kIndices, std::remove_cvref_t<T>>())::type...>();
  }
  using Values = decltype(values_of(Parameters(), Indices()));
  static_assert(kNames.count() == kInputs + kAttributes, "a name for each parameter");
  static_assert(std::is_trivially_copyable_v<Values> && sizeof(Values) <= 64 && kAttributes <= 8);

  static void construct(void* attributes) {
    Values& values = *new (attributes) Values();
    [&]<std::size_t... kIndices>(std::index_sequence<kIndices...>) { (set_default<kIndices, kDefaults>(values), ...); }
    (std::make_index_sequence<sizeof...(kDefaults)>());
  }
  // The parameter with a number of those that may be left out and are no options.
  static constexpr std::size_t optional_parameter(std::size_t number) {
    std::size_t parameter = 0;
    while (Parameters::kAreOptions[parameter] || Parameters::number_of(parameter) < kRequired + number) ++parameter;
    return parameter;
  }
  template <std::size_t kNumber, auto kDefault>
  static void set_default(Values& values) {
    if constexpr (!std::is_same_v<std::remove_cv_t<decltype(kDefault)>, NoValue>)
      member_of<optional_parameter(kNumber)>(values) = kDefault;
  }

  static void compose(std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
    [&]<std::size_t... kOperands, std::size_t... kIndices>(std::index_sequence<kOperands...>,
                                                           std::index_sequence<kIndices...>) {
      outputs.push_back(kFunction(inputs[kOperands]...,
                                  as_parameter(member_of<kIndices>(*static_cast<const Values*>(attributes)))...));
    }
    (std::make_index_sequence<kInputs>(), Indices());
  }

  template <std::size_t kAttribute>
  static constexpr AttributeField make_field() {
    constexpr std::size_t kIndex = Parameters::parameter_of(kAttribute);
    constexpr auto member = [](Values & values) -> auto& {
      return field_of<kAttribute - Parameters::start_of(kIndex)>(member_of<kIndex>(values));
    };
    return {name_of(kAttribute), is_required(kIndex), offset_of<Values>(member),
            &field_type<std::remove_reference_t<decltype(member(std::declval<Values&>()))>>};
  }
  static constexpr AttributeType kType = []<std::size_t... kIndices>(std::index_sequence<kIndices...>) {
    return AttributeType{sizeof(Values), &construct, {make_field<kIndices>()...}, static_cast<int>(kAttributes)};
  }
  (std::make_index_sequence<kAttributes>());
};

}  // namespace detail

template <auto kFunction, Names kNames, auto... kDefaults>
constexpr OpDef composite(std::string_view name, std::string_view text, std::uint16_t flags = kNoFlags) {
  using C = detail::Composite<kFunction, kNames, kDefaults...>;
  OpDef op;
  op.name = name;
  op.text = text;
  op.kind = OpKind::kComposite;
  op.flags = flags;
  op.arity = static_cast<std::int8_t>(C::kInputs);
  op.input_names = kNames.part(0, C::kInputs);
  if constexpr (C::kAttributes > 0) op.attributes = &C::kType;
  op.compose = &C::compose;
  return op;
}

}  // namespace capstan
