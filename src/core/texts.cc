#include "capstan/texts.h"

#include "src/core/check.h"

namespace capstan {

void detail::throw_no_text() { throw ValueError("texts: a null pointer is no text"); }

Texts::Texts(std::initializer_list<detail::OneText> texts) {
  values_.reserve(texts.size());
  for (const detail::OneText& text : texts) values_.push_back(text.value);
}

Texts Texts::rows(std::initializer_list<std::initializer_list<detail::OneText>> rows) {
  Texts result;
  result.rank_ = 2;
  for (const auto& row : rows) result.add_row(Texts(row).values());
  return result;
}

Texts Texts::from(std::vector<std::string> texts, const Shape& shape) {
  CAPSTAN_CHECK(shape.rank() <= 2, ShapeError, "texts: rank ", shape.rank(), " is above 2: ", shape);
  CAPSTAN_CHECK(shape.size() == static_cast<std::int64_t>(texts.size()), ShapeError, "texts: ", texts.size(),
                " texts do not fill the shape ", shape);
  Texts result(std::move(texts));
  result.rank_ = shape.rank();
  for (std::int64_t i = 0; shape.rank() == 2 && i < shape[0]; ++i) {
    result.ends_.push_back(static_cast<std::size_t>((i + 1) * shape[1]));
  }
  return result;
}

void Texts::add_row(std::span<const std::string> row) {
  CAPSTAN_CHECK(rank_ == 2 || values_.empty(), ValueError, "texts: a row is added to what has no rows");
  rank_ = 2;
  values_.insert(values_.end(), row.begin(), row.end());
  ends_.push_back(values_.size());
}

std::span<const std::string> Texts::row(std::size_t i) const {
  CAPSTAN_CHECK(i < row_count(), IndexError, "texts: row ", i, " is out of range, there are ", row_count());
  if (rank_ < 2) return values_;
  const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::span<const std::string>(values_).subspan(begin, ends_[i] - begin);
}

bool Texts::has_shape() const {
  for (std::size_t i = 1; i < ends_.size(); ++i) {
    if (row(i).size() != row(0).size()) return false;
  }
  return true;
}

Shape Texts::shape() const {
  if (rank_ == 0) return {};
  const auto length = static_cast<std::int64_t>(size());
  if (rank_ == 1) return {length};
  for (std::size_t i = 1; i < ends_.size(); ++i) {
    CAPSTAN_CHECK(row(i).size() == row(0).size(), ShapeError, "texts: rows have different lengths, ", row(0).size(),
                  " and ", row(i).size());
  }
  return {length, ends_.empty() ? 0 : static_cast<std::int64_t>(row(0).size())};
}

Texts Texts::select(std::span<const std::int64_t> numbers) const {
  CAPSTAN_CHECK(rank_ >= 1, ValueError, "texts: one text has no parts to select");
  Texts result;
  result.rank_ = rank_;
  for (const std::int64_t number : numbers) {
    CAPSTAN_CHECK(number >= 0 && number < static_cast<std::int64_t>(size()), IndexError, "texts: number ", number,
                  " is out of range, there are ", size());
    const auto i = static_cast<std::size_t>(number);
    if (rank_ == 2) {
      result.add_row(row(i));
    } else {
      result.values_.push_back(values_[i]);
    }
  }
  return result;
}

}  // namespace capstan
