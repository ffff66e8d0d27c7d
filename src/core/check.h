// The one-line check of arguments, and the texts of errors.
//
//     CAPSTAN_CHECK(k == b.dim(0), ShapeError, "matmul: inner dimensions differ, ", k, " and ", b.dim(0),
//                   arguments({{"a", a}, {"b", b}}));
//
// The text is put together only on failure, in a cold function. Its form is fixed: `op: what is wrong, with both
// values`, the arguments one per line, and `help(...)` only when there is a single likely remedy.
#pragma once

#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>

#include "capstan/error.h"
#include "capstan/tensor.h"

namespace capstan {

// "float32[32, 784]"; the form in which every message shows a tensor.
std::string describe(const TensorRef& tensor);
inline std::string describe(DType dtype, const Shape& shape) { return std::string(name_of(dtype)) + shape.to_string(); }

struct NamedArgument {
  std::string_view name;
  TensorRef tensor;
};

// "\n  a: float32[32, 784]\n  b: float32[64, 10]"
std::string arguments(std::initializer_list<NamedArgument> list);

// "\n  help: ..."
inline std::string help(std::string_view text) { return "\n  help: " + std::string(text); }

namespace detail {
template <class... Parts>
[[gnu::cold, gnu::noinline]] std::string join(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return std::move(text).str();
}
}  // namespace detail

}  // namespace capstan

#define CAPSTAN_CHECK(condition, ErrorType, ...)             \
  do {                                                       \
    if (!(condition)) [[unlikely]]                           \
      throw ErrorType(::capstan::detail::join(__VA_ARGS__)); \
  } while (false)
