// The check of arguments in what is part of the library of files, which sees only what the core library exports.
#pragma once

#include <sstream>
#include <string>
#include <string_view>

#include "capstan/error.h"

namespace capstan::io {

template <class ErrorType, class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void refuse(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw ErrorType(text.str());
}

// "\n  help: ..."
inline std::string remedy(std::string_view text) { return "\n  help: " + std::string(text); }

}  // namespace capstan::io

#define CAPSTAN_IO_CHECK(condition, ErrorType, ...)  \
  do {                                               \
    if (!(condition)) [[unlikely]]                   \
      ::capstan::io::refuse<ErrorType>(__VA_ARGS__); \
  } while (false)
