// Texts: what layers of texts take in place of a tensor.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/export.h"
#include "capstan/shape.h"

namespace capstan {

namespace detail {
[[noreturn]] CAPSTAN_EXPORT void throw_no_text();

// One text in braces. A type of its own: two of them in braces would make one std::string, of the characters between
// two addresses.
struct OneText {
  template <class T>
  requires std::convertible_to<const T&, std::string_view> OneText(const T& text) {
    if constexpr (std::is_pointer_v<T>) {
      if (text == nullptr) throw_no_text();
    }
    value = std::string(std::string_view(text));
  }
  std::string value;
};
}  // namespace detail

/// One text, a list of texts, or rows of them, which may have different lengths. Tensors hold no texts, so layers of
/// texts have calls that take these and give tensors. The encoding is UTF-8.
///
///     Texts one = "a red fox";
///     Texts list = {"a red fox", "a dog"};
///     Texts rows = Texts::rows({{"red", "fox"}, {"dog", "cat"}});
///     Texts many = std::vector<std::string>(1000, "again");
///
/// Errors: ValueError for a null pointer.
class CAPSTAN_EXPORT Texts {
 public:
  /// An empty list.
  Texts() = default;
  Texts(const char* text) : Texts(std::initializer_list<detail::OneText>{text}) { rank_ = 0; }
  Texts(std::string text) : values_{std::move(text)}, rank_(0) {}
  Texts(std::initializer_list<detail::OneText> texts);
  template <std::same_as<std::string> S>
  Texts(std::vector<S> texts) : values_(std::move(texts)) {}
  template <std::same_as<std::string> S>
  Texts(const std::vector<std::vector<S>>& rows) : rank_(2) {
    for (const std::vector<S>& row : rows) add_row(row);
  }
  static Texts rows(std::initializer_list<std::initializer_list<detail::OneText>> rows);
  /// Texts of a given shape, row by row; [n, 1] are rows of one text each. Errors: ShapeError for a rank above 2 or
  /// another number of texts.
  static Texts from(std::vector<std::string> texts, const Shape& shape);

  /// 0 for one text, 1 for a list, 2 for rows.
  int rank() const { return rank_; }
  /// All texts, row by row.
  const std::vector<std::string>& values() const { return values_; }
  /// The number of texts of a list, of rows; 1 for one text.
  std::size_t size() const { return rank_ == 2 ? ends_.size() : values_.size(); }
  /// The texts of one row; a list or one text is one row. Errors: IndexError for a number that is too large.
  std::span<const std::string> row(std::size_t i) const;
  /// The number of rows; 1 for a list or one text.
  std::size_t row_count() const { return rank_ == 2 ? ends_.size() : 1; }
  /// [], [texts] or [rows, texts in each]. Errors: ShapeError if rows have different lengths.
  Shape shape() const;
  /// Whether all rows have as many texts.
  bool has_shape() const;

  /// A list of some of the texts, or some of the rows, by their numbers. Errors: ValueError for one text, IndexError
  /// for a number out of range.
  Texts select(std::span<const std::int64_t> numbers) const;

  void add_row(std::span<const std::string> row);

 private:
  std::vector<std::string> values_;
  std::vector<std::size_t> ends_;  // of the rows
  int rank_ = 1;
};

}  // namespace capstan
