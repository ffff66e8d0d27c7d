#include "src/core/named_errors.h"

#include <algorithm>
#include <string>
#include <typeinfo>

namespace capstan {

namespace {

// Throws the error being handled with another text, as an object of the class that it has.
template <class... Classes, class Change>
[[noreturn]] void rethrow_changed(const Change& change) {
  try {
    throw;
  } catch (const Error& error) {
    const std::string text = change(std::string_view(error.what()));
    ((typeid(error) == typeid(Classes) ? throw Classes(text) : void()), ...);
    throw;
  }
}

template <class Change>
[[noreturn]] void rethrow_changed_error(const Change& change) {
  rethrow_changed<Error, ShapeError, DTypeError, IndexError, ValueError, GradientError, TraceError, ValueNeededError,
                  IoError>(change);
}

}  // namespace

void rethrow_as(std::string_view name) {
  rethrow_changed_error([&](std::string_view text) {
    const std::size_t colon = text.find(": ");
    return colon == text.npos ? std::string(name) + ": " + std::string(text)
                              : std::string(name) + std::string(text.substr(colon));
  });
}

void rethrow_with(std::span<const ErrorLine> lines) {
  rethrow_changed_error([&](std::string_view given) {
    std::string text(given);
    std::string added;
    for (const auto& [key, value] : lines) {
      const std::string begin = "\n  " + std::string(key) + ": ";
      if (text.find(begin) == text.npos && !text.starts_with(value + ": ")) added += begin + value;
    }
    return text.insert(std::min(text.find("\n  help: "), text.size()), added);
  });
}

}  // namespace capstan
