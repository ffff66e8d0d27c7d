// What the library asks of the language around it: see capstan/bindings.h.
#pragma once

#include <string>
#include <string_view>

#include "capstan/bindings.h"

namespace capstan {

// Set before the library is used by several threads, and only read afterwards.
CAPSTAN_EXPORT extern constinit BindingHooks installed_hooks;

// A point where a long run may be ended from outside, by what the hook throws.
inline void check_interrupt() {
  if (installed_hooks.interrupt != nullptr) [[unlikely]]
    installed_hooks.interrupt();
}

// A line of an error that says where the program of the user is, or nothing if nobody knows.
CAPSTAN_EXPORT std::string place_of_caller();

// Within a handler: whether the exception is a ValueNeededError, or what stands for one in the language around.
CAPSTAN_EXPORT bool is_value_needed();

// A warning: "capstan: warning: " and the text on stderr, unless a hook takes the text.
CAPSTAN_EXPORT void warn(std::string_view text);

}  // namespace capstan
