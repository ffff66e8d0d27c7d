// What the blocks of documents are compiled with.
#pragma once

#include <capstan/capstan.h>

#include <array>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace capstan::house {

// A block that is compiled, and run unless `run` is null. What it prints has the texts of `prints`, separated by "; ".
struct Registered {
  Registered(const char* path, int line, void (*run)(), const char* prints);
};

// Compares the numbers of a printed value, or its type, or a text in quotes, with what a comment says.
void check_text(const std::string& printed, const std::string& type, std::string_view comment);

inline std::string printed(const Tensor& x) { return x.to_string(); }
inline std::string printed(const std::string& text) { return text; }
inline std::string printed(double x) { return std::to_string(x); }
inline std::string printed(const std::vector<Tensor>& list) {
  std::string result;
  for (const Tensor& x : list) result += printed(x) + " ";
  return result;
}

// Texts as a comment has them, but for the outer quotes.
inline std::string printed(const std::vector<std::string>& list) {
  std::string result;
  for (const std::string& text : list) result += (result.empty() ? "" : "\", \"") + text;
  return result;
}
inline std::string printed(const Texts& texts) { return printed(texts.values()); }

inline void check_value(const std::ostream&, std::string_view) {}
template <class T>
void check_value(const T& value, std::string_view comment) {
  std::string type;
  if constexpr (std::is_convertible_v<const T&, Tensor> && !std::is_arithmetic_v<T>) {
    const Tensor tensor = value;
    type = std::string(name_of(tensor.dtype())) + tensor.shape().to_string();
    check_text(printed(tensor), type, comment);
  } else {
    check_text(printed(value), type, comment);
  }
}

}  // namespace capstan::house
