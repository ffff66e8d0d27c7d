#include "src/core/check.h"

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

Message::Message() = default;
Message::~Message() = default;
std::string Message::take() { return std::move(stream_).str(); }

}  // namespace detail

}  // namespace capstan
