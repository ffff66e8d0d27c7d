#include "src/python/own_classes.h"

#include <map>
#include <utility>

#include "src/python/layers.h"

namespace capstan::python {

namespace {

std::shared_ptr<Configurable> make(const ClassInfo& info, const AttributeValue& config);

struct OwnClass : ClassInfo {
  std::string own_name, package, own_module;

  OwnClass(std::string name_, std::string package_, std::string module_)
      : own_name(std::move(name_)), package(std::move(package_)), own_module(std::move(module_)) {
    kind = LayerBase::kKind;
    module = own_module;
    name = own_name;
    text = "A class of Python's.";
    ClassInfo::make = &python::make;
  }
};

std::shared_ptr<Configurable> make(const ClassInfo& info, const AttributeValue& config) {
  const auto& own = static_cast<const OwnClass&>(info);
  const Locked lock;
  static PyObject* const from_config = import_from("capstan.keras._saving", "from_config");
  if (from_config == nullptr) throw nb::python_error();
  try {
    const nb::object object = nb::handle(from_config)(own.own_name, own.package, config);
    return nb::cast<const LayerHandle&>(object.attr("_ensure_handle")()).body;
  } catch (const nb::python_error& error) {
    rethrow_as_value_error(error);
  }
}

}  // namespace

const ClassInfo& own_class(const std::string& name, const std::string& package, const std::string& module) {
  // A node of a map stays where it is.
  static auto* const classes = new std::map<std::pair<std::string, std::string>, OwnClass>;
  return classes->try_emplace({name, package}, name, package, module).first->second;
}

bool is_own_class(const ClassInfo& info) { return info.make == &make; }

void register_own_class(const ClassInfo& info) { register_class(info, static_cast<const OwnClass&>(info).package); }

}  // namespace capstan::python
