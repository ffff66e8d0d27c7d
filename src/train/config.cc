// What follows from tables of options, and the classes that are known.
#include "capstan/config.h"

#include <limits>
#include <algorithm>
#include <cctype>
#include <mutex>
#include <optional>

#include "src/core/check.h"
#include "src/train/classes.h"
#include "src/train/known_names.h"

namespace capstan {

namespace {

using Kind = AttributeValue::Kind;

[[noreturn, gnu::cold]] void refuse(const ClassInfo& info, const OptionField& field, std::string_view wanted,
                                    const AttributeValue& value) {
  throw ValueError(
      detail::join(info.name, ": option \"", field.name, "\" must be ", wanted, ", not ", value.to_string()));
}

// Limits of an integer are written as integers.
std::string range_of(const OptionField& field, bool is_integer = false) {
  std::string text;
  const auto number = [&](double value) {
    return (is_integer ? AttributeValue(static_cast<std::int64_t>(value)) : AttributeValue(value)).to_string();
  };
  if (field.least > -std::numeric_limits<double>::infinity()) {
    text = (field.least_is_out ? "more than " : "at least ") + number(field.least);
  }
  if (field.most < std::numeric_limits<double>::infinity()) {
    text += (text.empty() ? "at most " : " and at most ") + number(field.most);
  }
  return text;
}

std::string names_of(const OptionField& field) {
  std::string text = "one of ";
  for (const std::string_view name : field.names) {
    text += (text.back() == ' ' ? "\"" : ", \"") + std::string(name) + "\"";
  }
  return text;
}

// A list is allowed if all of it is.
void check_value(const ClassInfo& info, const OptionField& field, const AttributeValue& value,
                 const AttributeValue& whole) {
  for (const AttributeValue& item : value.list) check_value(info, field, item, whole);
  if (value.is_number()) {
    const bool fits =
        (field.least_is_out ? value.number > field.least : value.number >= field.least) && value.number <= field.most;
    // A field without limits takes NaN, too.
    const std::string range = fits ? "" : range_of(field, value.kind == Kind::kInt);
    if (!range.empty()) refuse(info, field, range, whole);
  }
  if (value.kind == Kind::kString && !field.names.empty() &&
      std::find(field.names.begin(), field.names.end(), value.text) == field.names.end()) {
    refuse(info, field, names_of(field), whole);
  }
}

bool has_letters(std::string_view name, std::string_view letters) {
  std::size_t i = 0;
  for (const char c : name) {
    if (c == '_') continue;
    if (i == letters.size() || std::tolower(static_cast<unsigned char>(c)) != letters[i]) return false;
    ++i;
  }
  return i == letters.size();
}

struct Registered {
  const ClassInfo* info;
  std::string package;  // empty: the library's own
};

struct Registry {
  std::mutex mutex;
  std::vector<Registered> classes;

  Registry() {
    for (const ClassInfo* info : detail::built_in_classes()) classes.push_back({info, ""});
  }
};
Registry& registry() {
  static auto* const registry = new Registry;
  return *registry;
}

// Options of Keras that nothing here corresponds to: a configuration may have them as long as they are off.
constexpr std::string_view kKerasAlone[] = {"quantization_config", "rms_scaling", "use_gate",
                                            "sliding_window",      "class_id",    "ignore_class"};

bool is_off_in_keras(std::string_view key, const AttributeValue& value) {
  const bool is_off = !value.has_value() || (value.kind == Kind::kBool && !value.truth);
  return is_off && std::find(std::begin(kKerasAlone), std::end(kKerasAlone), key) != std::end(kKerasAlone);
}

// The first that has the name, in a package if one is given.
const Registered* find_class(std::string_view kind, std::string_view name,
                             std::optional<std::string_view> package = {}) {
  const std::string letters = detail::letters_of(name);
  for (const Registered& known : registry().classes) {
    const ClassInfo& info = *known.info;
    if (info.kind != kind || (package && known.package != *package)) continue;
    if (has_letters(info.name, letters) || (!info.alias.empty() && has_letters(info.alias, letters))) return &known;
  }
  return nullptr;
}

const ClassInfo& class_of(std::string_view kind, std::string_view name) {
  const std::lock_guard lock(registry().mutex);
  // A class of a program's own may be after its package: "Custom>Halving".
  const std::size_t end = name.rfind('>');
  const std::string_view own_name = end == name.npos ? name : name.substr(end + 1);
  const Registered* found = end == name.npos ? nullptr : find_class(kind, own_name, name.substr(0, end));
  if (found == nullptr) found = find_class(kind, own_name);
  if (found != nullptr) return *found->info;
  std::vector<std::string_view> names;
  for (const Registered& known : registry().classes) {
    if (known.info->kind == kind) names.push_back(known.info->name);
  }
  detail::throw_unknown_name(kind, own_name, names, "register_class() makes one of your own known");
}

}  // namespace

template void set_field(std::optional<double>& field, const AttributeValue& value, std::string_view owner,
                        std::string_view name);
template void set_field(std::optional<int>& field, const AttributeValue& value, std::string_view owner,
                        std::string_view name);
template AttributeValue get_field(const std::optional<double>& field);
template AttributeValue get_field(const std::optional<int>& field);

Configurable::~Configurable() = default;

void check_options(const ClassInfo& info, void* options) {
  for (const OptionField& field : info.options()) {
    const bool has_limits = !range_of(field).empty() || !field.names.empty();
    if (!has_limits) continue;
    AttributeValue value = field.get(options);
    if (field.any_case && value.kind == Kind::kString) {
      for (char& letter : value.text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
      field.set(options, value, info.name);
    }
    check_value(info, field, value, value);
  }
}

AttributeValue config_of(const ClassInfo& info, const void* options) {
  AttributeValue config = AttributeValue::map();
  for (const OptionField& field : info.options()) config.set(field.name, field.get(options));
  return config;
}

AttributeValue optional_config_of(const ClassInfo& info, const void* options) {
  AttributeValue config = AttributeValue::map();
  for (const OptionField& field : info.options()) {
    if (!field.required) config.set(field.name, field.get(options));
  }
  return config;
}

AttributeValue detail::defaults_of(const ClassInfo& info, void (*with_options)(OptionsUser, void*)) {
  struct Context {
    const ClassInfo& info;
    AttributeValue defaults;
  } context{info, {}};
  with_options(
      [](void* options, void* given) {
        auto& to = *static_cast<Context*>(given);
        to.defaults = optional_config_of(to.info, options);
      },
      &context);
  return std::move(context.defaults);
}

std::shared_ptr<Configurable> detail::make_from_config(const ClassInfo& info, const AttributeValue& config,
                                                       void (*with_options)(OptionsUser, void*),
                                                       Configurable* (*make)(const void* options)) {
  struct Context {
    const ClassInfo& info;
    const AttributeValue& config;
    Configurable* (*make)(const void* options);
    std::shared_ptr<Configurable> object;
  } context{info, config, make, nullptr};
  with_options(
      [](void* options, void* given) {
        auto& to = *static_cast<Context*>(given);
        set_options(to.info, options, to.config);
        to.object.reset(to.make(options));
      },
      &context);
  return std::move(context.object);
}

void set_options(const ClassInfo& info, void* options, const AttributeValue& config) {
  CAPSTAN_CHECK(config.kind == Kind::kMap, ValueError, info.name, ": a configuration is a map, not ",
                config.to_string());
  for (const auto& [key, value] : config.items) {
    const auto field = std::find_if(info.options().begin(), info.options().end(),
                                    [&key = key](const OptionField& option) { return option.name == key; });
    if (field == info.options().end() && (key == "name" || is_off_in_keras(key, value))) continue;
    if (field == info.options().end()) {
      std::vector<std::string_view> names;
      for (const OptionField& option : info.options()) names.push_back(option.name);
      detail::throw_unknown_name(detail::join("option of ", info.name), key, names,
                                 "options that are left out have their defaults");
    }
    field->set(options, value, info.name);
  }
  for (const OptionField& field : info.options()) {
    CAPSTAN_CHECK(!field.required || config.find(field.name) != nullptr, ValueError, info.name, ": option \"",
                  field.name, "\" must be given");
  }
}

void register_class(const ClassInfo& info, std::string_view package) {
  const std::lock_guard lock(registry().mutex);
  const Registered* present = find_class(info.kind, info.name, package);
  if (present != nullptr && present->info == &info) return;
  if (present == nullptr && !info.alias.empty()) present = find_class(info.kind, info.alias, package);
  CAPSTAN_CHECK(present == nullptr, ValueError, "register_class: there is ", info.kind, " \"", present->info->name,
                "\" already, so there can be none with the name \"", info.name, "\"");
  registry().classes.push_back({&info, std::string(package)});
}

std::vector<const ClassInfo*> list_classes(std::string_view kind) {
  const std::lock_guard lock(registry().mutex);
  std::vector<const ClassInfo*> list;
  for (const Registered& known : registry().classes) {
    if (known.info->kind == kind) list.push_back(known.info);
  }
  return list;
}

AttributeValue serialize(const Configurable& object) {
  return serialize(object, config_of(object.class_info(), object.options_data()));
}

AttributeValue serialize(const Configurable& object, AttributeValue config) {
  const ClassInfo& info = object.class_info();
  CAPSTAN_CHECK(info.make != nullptr, ValueError, "serialize: this ", info.kind,
                " is a function of the program and has no configuration",
                help("write a class with options, and register it"));
  std::string package = "Custom";
  {
    const std::lock_guard lock(registry().mutex);
    const auto known = std::find_if(registry().classes.begin(), registry().classes.end(),
                                    [&](const Registered& one) { return one.info == &info; });
    if (known != registry().classes.end()) package = known->package;
  }
  AttributeValue value = AttributeValue::map();
  // A class that is known by its module alone is there under its own name.
  const bool has_module = package.empty() || package == info.module;
  const std::string name(info.name);
  value.set("module", has_module ? AttributeValue(std::string(info.module)) : AttributeValue());
  value.set("class_name", name);
  value.set("config", std::move(config));
  value.set("registered_name", package.empty() ? AttributeValue() : has_module ? name : package + ">" + name);
  return value;
}

std::shared_ptr<Configurable> deserialize(std::string_view kind, const AttributeValue& value) {
  if (value.kind == Kind::kString) {
    const ClassInfo& info = class_of(kind, value.text);
    return info.make(info, AttributeValue::map());
  }
  const AttributeValue* const name = value.find("class_name");
  CAPSTAN_CHECK(name != nullptr && name->kind == Kind::kString, ValueError, kind,
                ": it must be a name, or a map with \"class_name\" and \"config\", not ", value.to_string());
  const AttributeValue* const config = value.find("config");
  // A class of a program's own is known by its package or by its module.
  const AttributeValue* const registered = value.find("registered_name");
  const AttributeValue* const module = value.find("module");
  std::string whole = name->text;
  if (registered != nullptr && registered->text.find('>') != std::string::npos) {
    whole = registered->text;
  } else if (module != nullptr && !module->text.empty()) {
    whole = module->text + ">" + whole;
  }
  const ClassInfo& info = class_of(kind, whole);
  return info.make(info, config == nullptr ? AttributeValue::map() : *config);
}

std::shared_ptr<Configurable> detail::object_of_option(std::string_view kind, const AttributeValue& value,
                                                       std::string_view owner, std::string_view name) {
  const std::string_view article = kind[0] == 'a' || kind[0] == 'i' || kind[0] == 'o' ? "an " : "a ";
  try {
    return deserialize(kind, value);
  } catch (const ValueError& error) {
    throw ValueError(join(owner, ": option \"", name, "\" must be ", article, kind, ", not ", value.to_string(), "; ",
                          error.what()));
  }
}

}  // namespace capstan
