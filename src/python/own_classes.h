// Classes of Python's in the library's registry, so that configurations and files name them and make objects of them.
#pragma once

#include <string>

#include "capstan/config.h"

namespace capstan::python {

/// What the library knows of a class: the name, and the package under which Keras registers it, or the module if it is
/// not registered. Made once for each pair and never freed, as objects refer to it. Its objects are made by
/// `from_config` of `capstan.keras._saving`, which looks up the class at that time: one that is defined again counts.
const ClassInfo& own_class(const std::string& name, const std::string& package, const std::string& module);

bool is_own_class(const ClassInfo& info);

/// Makes it known to configurations. Errors: ValueError if a class has the same letters and the same package.
void register_own_class(const ClassInfo& info);

}  // namespace capstan::python
