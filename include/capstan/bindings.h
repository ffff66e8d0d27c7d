// What bindings for other languages need of the library beside calls: hooks into long runs and messages, a word of
// their own in each variable, and tensors that they fill.
#pragma once

#include <string>
#include <string_view>

#include "capstan/export.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

/// What the library asks of the language around it. Each may be null.
struct BindingHooks {
  /// Called every now and then by long runs: before each program, each iteration of a loop and each batch of fit(). It
  /// throws to end the run, whose variables then keep the values that they have.
  void (*interrupt)() = nullptr;
  /// Where the program of the user is, as a file and a line, for errors that say so; empty if unknown.
  std::string (*place)() = nullptr;
  /// Takes a warning, which otherwise goes to stderr. It must not throw.
  void (*warning)(std::string_view text) = nullptr;
  /// Of an exception of the other language in flight: whether it stands for a ValueNeededError.
  bool (*needs_value)() = nullptr;
};

/// Sets the hooks of the process. Call it before other threads use the library.
///
///     set_binding_hooks({.warning = [](std::string_view text) { std::fputs(std::string(text).c_str(), stdout); }});
CAPSTAN_EXPORT void set_binding_hooks(const BindingHooks& hooks);
/// The hooks of the process.
///
///     if (binding_hooks().warning != nullptr) binding_hooks().warning("this runs row by row");
CAPSTAN_EXPORT const BindingHooks& binding_hooks() noexcept;

/// Keeps a word with a variable, however many handles share it: what stands for the variable in another language.
/// `died` is called with the word when the variable dies, before its value is freed; it must not throw. Null for the
/// word forgets it. Errors: ValueError for an empty handle.
///
///     attach(variable, object);
///     void* same = attachment(variable);
CAPSTAN_EXPORT void attach(const Variable& variable, void* word, void (*died)(void* word) noexcept = nullptr);
/// The word, or null. Errors: ValueError for an empty handle.
CAPSTAN_EXPORT void* attachment(const Variable& variable);

namespace detail {
CAPSTAN_EXPORT Tensor unfilled(DType dtype, const Shape& shape);
}

/// A new tensor whose elements `fill(void* elements)` writes, all of them, before anybody else sees it. Errors:
/// ShapeError if the size overflows; what `fill` throws.
///
///     Tensor x = filled(float32, {3}, [](void* elements) { std::fill_n(static_cast<float*>(elements), 3, 7.0f); });
template <class Fill>
Tensor filled(DType dtype, const Shape& shape, const Fill& fill) {
  Tensor tensor = detail::unfilled(dtype, shape);
  fill(const_cast<void*>(tensor.raw_data()));
  return tensor;
}

}  // namespace capstan
