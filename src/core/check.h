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
// A text that is being put together. Its members are out of line, for every check has code of its own that uses one.
// Exported, as what describes tensors: the library of files has checks, too.
class CAPSTAN_EXPORT Message {
 public:
  Message();
  ~Message();
  std::string take();
  std::ostringstream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

template <class... Parts>
[[gnu::cold, gnu::noinline]] std::string join(const Parts&... parts) {
  Message message;
  (message.stream() << ... << parts);
  return message.take();
}

template <class ErrorType>
[[noreturn, gnu::cold, gnu::noinline]] void throw_text(Message& message) {
  throw ErrorType(message.take());
}

// Throws. Out of line with all that belongs to it, so that a function is no larger for a check than for a call, and
// needs no stack if it calls nothing else.
template <class ErrorType, class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const Parts&... parts) {
  Message message;
  (message.stream() << ... << parts);
  throw_text<ErrorType>(message);
}
}  // namespace detail

}  // namespace capstan

#define CAPSTAN_CHECK(condition, ErrorType, ...)       \
  do {                                                 \
    if (!(condition)) [[unlikely]]                     \
      ::capstan::detail::fail<ErrorType>(__VA_ARGS__); \
  } while (false)
