// What a call says when it refuses.
#pragma once

#include <string>

#include "capstan/error.h"

namespace capstan::testing {

// The text of the error that a call throws.
template <class Thrown = Error, class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Thrown& error) {
    return error.what();
  }
  return "nothing was thrown";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace capstan::testing
