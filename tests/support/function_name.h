// The name of the function that calls an op.
#pragma once

#include <string>
#include <string_view>

namespace capstan::testing {

// What a program calls: random_uniform is random::uniform.
inline std::string function_name(std::string_view op) {
  for (const char* space : {"random", "image"}) {
    if (op.starts_with(std::string(space) + "_")) {
      return std::string(space) + "::" + std::string(op.substr(std::string_view(space).size() + 1));
    }
  }
  return std::string(op);
}

}  // namespace capstan::testing
