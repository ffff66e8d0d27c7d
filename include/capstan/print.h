#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/structure.h"

namespace capstan {

/// Where and how print() prints.
struct PrintOptions {
  /// Null: standard error. Must outlive the functions that print to it.
  std::ostream* stream = nullptr;
  /// Gets each text, its end included, instead of a stream.
  std::function<void(std::string_view text)> sink = {};
  /// Stands between two items.
  std::string separator = " ";
  /// Written after the last one.
  std::string end = "\n";
};

namespace detail {

// What one print() prints: texts with tensors between them.
struct PrintJob {
  PrintOptions options;
  std::vector<std::string> texts{std::string()};
  std::vector<Tensor> tensors;

  CAPSTAN_EXPORT void add(std::string_view text);
  CAPSTAN_EXPORT void add(const Tensor& tensor);
  CAPSTAN_EXPORT void add(const Variable& variable);
  CAPSTAN_EXPORT void add_number(double number);
  CAPSTAN_EXPORT void add_number(std::int64_t number);
};

template <class T>
void add_item(PrintJob& job, const T& item) {
  if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, Variable>) {
    job.add(item);
  } else if constexpr (std::is_same_v<T, bool>) {
    job.add(std::string_view(item ? "true" : "false"));
  } else if constexpr (std::is_same_v<T, char>) {
    job.add(std::string_view(&item, 1));
  } else if constexpr (std::is_floating_point_v<T>) {
    job.add_number(static_cast<double>(item));
  } else if constexpr (std::is_integral_v<T>) {
    job.add_number(static_cast<std::int64_t>(item));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    job.add(std::string_view(item));
  } else if constexpr (kKindOf<T> == StructureKind::kMap) {
    std::string_view before = "{";
    for (const auto& [key, part] : item) {
      job.add(std::exchange(before, ", "));
      add_item(job, key);
      job.add(std::string_view(": "));
      add_item(job, part);
    }
    job.add(std::string_view(item.empty() ? "{}" : "}"));
  } else {
    // The rest are lists; a tuple and a struct have round brackets.
    constexpr bool kIsList = kKindOf<T> == StructureKind::kList;
    bool is_first = true;
    job.add(std::string_view(kIsList ? "[" : "("));
    visit_parts(item, [&](const auto& part) {
      if (!is_first) job.add(std::string_view(", "));
      is_first = false;
      add_item(job, part);
    });
    job.add(std::string_view(kIsList ? "]" : ")"));
  }
}

CAPSTAN_EXPORT void run_print(PrintJob job);

}  // namespace detail

/// Prints texts, numbers, tensors, variables, and lists of these, to standard error or where the options say: now, or,
/// in a traced function, at every call of it, in program order, whether anything else uses what is printed or not.
/// Tensors look as Tensor::to_string() has them. In a trace texts and numbers are those of the trace. As tf.print.
///
///     print("step", step, "loss", loss);
///     print({.stream = &std::cout, .separator = ""}, "x is ", x);
template <class... Items>
void print(const PrintOptions& options, const Items&... items) {
  detail::PrintJob job;
  job.options = options;
  bool is_first = true;
  const auto add = [&](const auto& item) {
    if (!is_first) job.add(std::string_view(options.separator));
    is_first = false;
    detail::add_item(job, item);
  };
  (add(items), ...);
  detail::run_print(std::move(job));
}
template <class... Items>
void print(const Items&... items) {
  print(PrintOptions(), items...);
}

}  // namespace capstan
