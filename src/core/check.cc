#include "src/core/check.h"

#include <sstream>
#include <utility>

namespace capstan {

std::string describe(const TensorRef& tensor) {
  return tensor.has_value() ? describe(tensor.dtype(), tensor.shape()) : "nothing";
}

std::string arguments(std::initializer_list<NamedArgument> list) {
  std::string text;
  for (const NamedArgument& argument : list) {
    text += detail::join("\n  ", argument.name, ": ", describe(argument.tensor));
  }
  return text;
}

namespace detail {

std::string text_of(std::span<const TextPart> parts) {
  std::ostringstream text;
  for (const TextPart& part : parts) part.write(text, part.value);
  return std::move(text).str();
}

}  // namespace detail

}  // namespace capstan
