// Configurations: what an optimizer, a schedule and their like are made from, as data.
//
// A class that can be configured has a struct of options and a table of its members. From the table follow defaults,
// checks with errors that name class, option and value, printing, the configuration as a map with Keras's keys and
// back, and the making by name. A class of a program's own has the same by the same means, and is registered once:
//
//     struct HalvingOptions {
//       double first = 0.1;
//       std::int64_t every = 100;
//       static std::span<const OptionField> fields() {
//         static constexpr OptionField all[] = {option<&HalvingOptions::first>("first").above(0),
//                                               option<&HalvingOptions::every>("every").at_least(1)};
//         return all;
//       }
//     };
//     struct Halving : Configured<Halving, ScheduleBody, HalvingOptions> {
//       using Configured::Configured;
//       static constexpr std::string_view kName = "Halving", kText = "Halves the rate from time to time.";
//       double rate(std::int64_t step) const override {
//         return options.first / std::exp2(static_cast<double>(step / options.every));
//       }
//     };
//     register_class<Halving>();
//     Schedule schedule = schedules::get("halving");
#pragma once

#include <concepts>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/export.h"
#include "capstan/fields.h"

namespace capstan {

// Once in the library instead of in every file with options.
extern template CAPSTAN_EXPORT void set_field(std::optional<double>& field, const AttributeValue& value,
                                              std::string_view owner, std::string_view name);
extern template CAPSTAN_EXPORT void set_field(std::optional<int>& field, const AttributeValue& value,
                                              std::string_view owner, std::string_view name);
extern template CAPSTAN_EXPORT AttributeValue get_field(const std::optional<double>& field);
extern template CAPSTAN_EXPORT AttributeValue get_field(const std::optional<int>& field);

/// A member of a struct of options, and which values it may have. Absent values are not looked at.
struct OptionField : AttributeField {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool least_is_out = false;                     ///< it must be more than `least`
  std::span<const std::string_view> names = {};  ///< of a text: what it may be
  bool any_case = false;                         ///< "SAME" stands for "same"
  bool can_change = false;                       ///< it is read at every call, so Layer::set_option() may change it

  constexpr OptionField with_type(const FieldType& other) const {
    OptionField copy = *this;
    copy.type = &other;
    return copy;
  }
  constexpr OptionField at_least(double value) const {
    OptionField copy = *this;
    copy.least = value;
    return copy;
  }
  constexpr OptionField above(double value) const {
    OptionField copy = at_least(value);
    copy.least_is_out = true;
    return copy;
  }
  constexpr OptionField at_most(double value) const {
    OptionField copy = *this;
    copy.most = value;
    return copy;
  }
  constexpr OptionField one_of(std::span<const std::string_view> texts) const {
    OptionField copy = *this;
    copy.names = texts;
    return copy;
  }
  constexpr OptionField in_any_case() const {
    OptionField copy = *this;
    copy.any_case = true;
    return copy;
  }
  constexpr OptionField changeable() const {
    OptionField copy = *this;
    copy.can_change = true;
    return copy;
  }
};

/// The row of a member in a table of options. A required one must be in every configuration.
// Static for the reason that field() is.
template <auto Member, class Struct = typename detail::MemberOf<Member>::Struct>
static constexpr OptionField option(std::string_view name, bool required = false) {
  return {field<Member, Struct>(name, required)};
}

struct ClassInfo;

/// The body of an object that has a configuration.
class CAPSTAN_EXPORT Configurable {
 public:
  Configurable() = default;
  Configurable(const Configurable&) = delete;
  Configurable& operator=(const Configurable&) = delete;
  virtual ~Configurable();
  virtual const ClassInfo& class_info() const = 0;
  /// Its struct of options, to which the table of its class belongs.
  virtual const void* options_data() const = 0;
};

namespace detail {
// Whether a T is made from its struct of options alone.
template <class T, class... Arguments>
inline constexpr bool kFromOptions = false;
template <class T, class Argument>
requires requires { typename T::Options; }
inline constexpr bool kFromOptions<T, Argument> = std::same_as<std::remove_cvref_t<Argument>, typename T::Options> &&
                                                  std::constructible_from<T, const typename T::Options&>;
// That T; one function, whoever makes it.
template <class T>
Configurable* make_from_options(const void* options) {
  return new T(*static_cast<const typename T::Options*>(options));
}
}  // namespace detail

/// An object of class `T`, as std::make_shared gives one. What counts its owners and deletes it is the same code for
/// all classes, of which there are hundreds.
template <std::derived_from<Configurable> T, class... Arguments>
std::shared_ptr<T> make_configurable(Arguments&&... arguments) {
  std::shared_ptr<Configurable> object;
  if constexpr (detail::kFromOptions<T, Arguments...>) {
    object.reset(detail::make_from_options<T>(std::addressof(arguments)...));
  } else {
    object.reset(new T(std::forward<Arguments>(arguments)...));
  }
  return std::static_pointer_cast<T>(std::move(object));
}

/// What is known of a class of such objects.
struct ClassInfo {
  std::string_view kind;    ///< "optimizer"
  std::string_view module;  ///< where Keras has this kind: "keras.optimizers"
  std::string_view name;    ///< "Adam"
  std::string_view text;    ///< one sentence
  /// Gives the table of its options; null for a class without options.
  std::span<const OptionField> (*table)();
  /// Makes an object of the class `info`; null for a class that has no configurations.
  std::shared_ptr<Configurable> (*make)(const ClassInfo& info, const AttributeValue& config) = nullptr;
  std::string_view alias = {};  ///< another name that it is made by, or none
  /// The options that a configuration may leave out, with their values; null for a class that has no configurations.
  AttributeValue (*defaults)(const ClassInfo& info) = nullptr;

  std::span<const OptionField> options() const { return table == nullptr ? std::span<const OptionField>() : table(); }
};

/// Throws ValueError for an option whose value is not allowed. Texts that may be in any case become lower case.
///
///     struct SlopeOptions {
///       double slope = 1;
///       static std::span<const OptionField> fields() {
///         static constexpr OptionField all[] = {option<&SlopeOptions::slope>("slope").at_least(0)};
///         return all;
///       }
///     };
///     static const ClassInfo info{"slope", "examples", "Slope", "A straight line.", SlopeOptions::fields};
///     SlopeOptions options;
///     set_options(info, &options, AttributeValue::from_json(R"({"slope": 2.5})"));
///     check_options(info, &options);
///     config_of(info, &options).find("slope")->to_json();           // 2.5
///     optional_config_of(info, &options).find("slope")->to_json();  // 2.5
///     register_class(info);
///     list_classes("slope").size();  // 1
CAPSTAN_EXPORT void check_options(const ClassInfo& info, void* options);
/// The options as a map.
CAPSTAN_EXPORT AttributeValue config_of(const ClassInfo& info, const void* options);
/// The same without those that must be given.
CAPSTAN_EXPORT AttributeValue optional_config_of(const ClassInfo& info, const void* options);

namespace detail {
// Calls `use` with a struct of options as it is when it is made. One function for each type of options.
using OptionsUser = void (*)(void* options, void* context);
template <class Options>
void with_new_options(OptionsUser use, void* context) {
  Options options{};
  use(&options, context);
}
CAPSTAN_EXPORT AttributeValue defaults_of(const ClassInfo& info, void (*with_options)(OptionsUser, void*));
CAPSTAN_EXPORT std::shared_ptr<Configurable> make_from_config(const ClassInfo& info, const AttributeValue& config,
                                                              void (*with_options)(OptionsUser, void*),
                                                              Configurable* (*make)(const void* options));
}  // namespace detail

/// What a struct of options has when it is made, for ClassInfo::defaults.
template <class Options>
AttributeValue default_options(const ClassInfo& info) {
  return detail::defaults_of(info, detail::with_new_options<Options>);
}
/// The object of class `T` that a configuration of its options makes, for ClassInfo::make. Errors: those of
/// set_options(), and ValueError for values that are not allowed.
template <class T>
std::shared_ptr<Configurable> make_from_config(const ClassInfo& info, const AttributeValue& config) {
  return detail::make_from_config(info, config, detail::with_new_options<typename T::Options>,
                                  detail::make_from_options<T>);
}
/// Sets the options that a map has; the others stay as they are. The key "name" is left to the object unless it
/// is an option. Errors: ValueError for a key that is no option, a required one that is missing, or a value that does
/// not fit.
CAPSTAN_EXPORT void set_options(const ClassInfo& info, void* options, const AttributeValue& config);

/// The body of class `Derived`, of a kind that `Base` stands for, with its options. The class has `kName` and `kText`,
/// and `kAlias` if it has another name; its struct of options has the table: `static std::span<const OptionField>
/// fields()`.
template <class Derived, class Base, class OptionsOf>
class Configured : public Base {
 public:
  using Options = OptionsOf;
  /// Errors: ValueError for options that are not allowed.
  explicit Configured(const Options& given = {}) : options(checked(given)) {}

  static const ClassInfo& info() {
    static const ClassInfo info{Base::kKind,    Base::kModule,           Derived::kName,
                                Derived::kText, Options::fields,         capstan::make_from_config<Derived>,
                                alias(),        default_options<Options>};
    return info;
  }
  const ClassInfo& class_info() const final { return info(); }
  const void* options_data() const final { return &options; }

  const Options options;

 private:
  static Options checked(Options given) {
    check_options(info(), &given);
    return given;
  }
  static constexpr std::string_view alias() {
    if constexpr (requires { Derived::kAlias; }) {
      return Derived::kAlias;
    } else {
      return {};
    }
  }
};

/// Makes a class known under its name, in any spelling of capitals and underscores. A class of the library that has the
/// name stays what the name alone stands for; a configuration with the registered name "package>name" finds this one.
/// Errors: ValueError if another class of the kind has it in the package.
CAPSTAN_EXPORT void register_class(const ClassInfo& info, std::string_view package = "Custom");
template <class T>
void register_class(std::string_view package = "Custom") {
  register_class(T::info(), package);
}

/// All classes of a kind ("optimizer", "schedule") that are known, the library's own first.
CAPSTAN_EXPORT std::vector<const ClassInfo*> list_classes(std::string_view kind);

/// An object as Keras writes it: {"module": ..., "class_name": ..., "config": {...}, "registered_name": ...}. Errors:
/// ValueError for one that is a function of the program and has no configuration.
///
///     auto l2 = deserialize("regularizer", "l2");
///     deserialize("regularizer", serialize(*l2))->class_info().name == "L2";  // true
CAPSTAN_EXPORT AttributeValue serialize(const Configurable& object);
/// The same with a configuration that has been changed.
CAPSTAN_EXPORT AttributeValue serialize(const Configurable& object, AttributeValue config);

/// Makes an object from its name, with defaults, or from what serialize() gave, of which only "class_name" and "config"
/// are looked at. Errors: ValueError for an unknown class and for what set_options() refuses.
CAPSTAN_EXPORT std::shared_ptr<Configurable> deserialize(std::string_view kind, const AttributeValue& value);

}  // namespace capstan
