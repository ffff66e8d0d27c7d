// The name in the errors of composites.
//
// A composite leaves most checks to the ops that it is made of. Their messages name those ops,
// which its caller never wrote; they are thrown on under the composite's own name.
#pragma once

#include <string>
#include <string_view>

#include "capstan/error.h"

namespace capstan {

// "multiply: shapes do not broadcast" as "batch_normalization: shapes do not broadcast".
[[gnu::cold]] inline std::string renamed(std::string_view op, const Error& error) {
  const std::string_view text = error.what();
  const std::size_t colon = text.find(": ");
  return std::string(op) + std::string(colon == text.npos ? ": " : "") +
         std::string(colon == text.npos ? text : text.substr(colon));
}

// Runs body; the errors that it throws for its arguments get the op's name.
template <class Body>
auto with_errors_of(std::string_view op, const Body& body) {
  try {
    return body();
  } catch (const ShapeError& error) {
    throw ShapeError(renamed(op, error));
  } catch (const DTypeError& error) {
    throw DTypeError(renamed(op, error));
  } catch (const IndexError& error) {
    throw IndexError(renamed(op, error));
  } catch (const ValueError& error) {
    throw ValueError(renamed(op, error));
  }
}

}  // namespace capstan
