#include "src/core/hooks.h"

#include <cstdio>

#include "src/core/check.h"
#include "src/core/variable_state.h"

namespace capstan {

constinit BindingHooks installed_hooks;

void set_binding_hooks(const BindingHooks& hooks) { installed_hooks = hooks; }
const BindingHooks& binding_hooks() noexcept { return installed_hooks; }

std::string place_of_caller() {
  const std::string place = installed_hooks.place == nullptr ? std::string() : installed_hooks.place();
  return place.empty() ? place : "\n  at: " + place;
}

bool is_value_needed() {
  try {
    throw;
  } catch (const ValueNeededError&) {
    return true;
  } catch (...) {
    return installed_hooks.needs_value != nullptr && installed_hooks.needs_value();
  }
}

void warn(std::string_view text) {
  if (installed_hooks.warning != nullptr) return installed_hooks.warning(text);
  std::fprintf(stderr, "capstan: warning: %.*s\n", static_cast<int>(text.size()), text.data());
}

void attach(const Variable& variable, void* word, void (*died)(void* word) noexcept) {
  CAPSTAN_CHECK(variable.has_value(), ValueError, "attach: the variable is an empty handle");
  variable.state()->word = word;
  variable.state()->word_died = word == nullptr ? nullptr : died;
}

void* attachment(const Variable& variable) {
  CAPSTAN_CHECK(variable.has_value(), ValueError, "attachment: the variable is an empty handle");
  return variable.state()->word;
}

}  // namespace capstan
