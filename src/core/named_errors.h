// The name in errors: what the caller wrote, not what it is made of.
//
// A function that is made of ops leaves most checks to these. Their messages name ops that its caller never wrote, so
// they are thrown on under the name of the function. This is a catch, not a scope that is entered: it costs nothing
// where nothing fails. Functions of the caller are not run inside of one; an error in these has the right name already.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "capstan/error.h"

namespace capstan {

// Within a handler: throws the error on as "batch_normalization: shapes do not broadcast" instead of "multiply: ...".
// Errors of classes that are not the library's go on as they are.
[[noreturn, gnu::cold]] void rethrow_as(std::string_view name);

// A line "key: value" of an error.
struct ErrorLine {
  std::string_view key;
  std::string value;
};

// Within a handler: throws the error on with more lines before its help. A line is left out if the error has one with
// that key, or if it begins with its value, the name of what failed.
[[noreturn, gnu::cold]] CAPSTAN_EXPORT void rethrow_with(std::span<const ErrorLine> lines);

// Runs body; the errors that it throws get the function's name.
template <class Body>
auto with_errors_of(std::string_view name, const Body& body) {
  try {
    return body();
  } catch (const Error&) {
    rethrow_as(name);
  }
}

}  // namespace capstan
