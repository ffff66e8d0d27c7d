// The one-line check of arguments, and the texts of errors.
//
//     CAPSTAN_CHECK(k == b.dim(0), ShapeError, "matmul: inner dimensions differ, ", k, " and ", b.dim(0),
//                   arguments({{"a", a}, {"b", b}}));
//
// The text is put together only on failure, in a cold function. Its form is fixed: `op: what is wrong, with both
// values`, the arguments one per line, and `help(...)` only when there is a single likely remedy.
#pragma once

#include <initializer_list>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "capstan/error.h"
#include "capstan/tensor.h"

namespace capstan {

// "float32[32, 784]"; the form in which every message shows a tensor.
CAPSTAN_EXPORT std::string describe(const TensorRef& tensor);
inline std::string describe(DType dtype, const Shape& shape) { return std::string(name_of(dtype)) + shape.to_string(); }

struct NamedArgument {
  std::string_view name;
  TensorRef tensor;
};

// "\n  a: float32[32, 784]\n  b: float32[64, 10]"
CAPSTAN_EXPORT std::string arguments(std::initializer_list<NamedArgument> list);

// "\n  help: ..."
inline std::string help(std::string_view text) { return "\n  help: " + std::string(text); }

namespace detail {
// A part of a text, and how it is written.
struct TextPart {
  const void* value;
  void (*write)(std::ostream& text, const void* value);
};
template <class T>
[[gnu::cold]] void write_part(std::ostream& text, const void* value) {
  text << *static_cast<const T*>(value);
}
// Exported, as what describes tensors: the library of files has checks, too.
CAPSTAN_EXPORT std::string text_of(std::span<const TextPart> parts);

// How a part is handed on: literals of all lengths as one type, numbers in registers. Checks with parts of the same
// types then share their code.
template <class T>
using PartOf =
    std::conditional_t<std::is_array_v<T>, const char*, std::conditional_t<std::is_scalar_v<T>, T, const T&>>;

template <class... Parts>
[[gnu::cold, gnu::noinline]] std::string join_parts(Parts... parts) {
  const TextPart list[] = {{&parts, &write_part<std::remove_cvref_t<Parts>>}...};
  return text_of(list);
}
template <class... Parts>
[[gnu::always_inline]] inline std::string join(const Parts&... parts) {
  return join_parts<PartOf<Parts>...>(parts...);
}

template <class ErrorType>
[[noreturn, gnu::cold, gnu::noinline]] void throw_text(std::span<const TextPart> parts) {
  throw ErrorType(text_of(parts));
}
template <class ErrorType, class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail_with(Parts... parts) {
  const TextPart list[] = {{&parts, &write_part<std::remove_cvref_t<Parts>>}...};
  throw_text<ErrorType>(list);
}
// Throws. Out of line with all that belongs to it, so that a function is no larger for a check than for a call, and
// needs no stack if it calls nothing else.
template <class ErrorType, class... Parts>
[[noreturn, gnu::always_inline]] inline void fail(const Parts&... parts) {
  fail_with<ErrorType, PartOf<Parts>...>(parts...);
}
}  // namespace detail

}  // namespace capstan

#define CAPSTAN_CHECK(condition, ErrorType, ...)       \
  do {                                                 \
    if (!(condition)) [[unlikely]]                     \
      ::capstan::detail::fail<ErrorType>(__VA_ARGS__); \
  } while (false)
