// Where the elements of diagonals are in a matrix, and where in their packed form (see diagonal.cc).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "capstan/ops/diagonals.h"
#include "src/core/check.h"
#include "src/core/op_def.h"

namespace capstan {

// The diagonals from `lower` to `upper`.
struct Diagonals {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  bool is_pair = false;

  constexpr Diagonals() = default;
  explicit Diagonals(DiagonalRange range);
  std::int64_t count() const { return upper - lower + 1; }
};

// At which end the shorter diagonals begin.
struct DiagonalAlignment {
  bool upper_left = false;  // of those above the main one
  bool lower_left = true;

  constexpr DiagonalAlignment() = default;
  // From "RIGHT_LEFT" and so on: first those above, then those below.
  DiagonalAlignment(std::string_view op, std::string_view text);
};

void set_field(Diagonals& field, const AttributeValue& value, std::string_view op, std::string_view name);
void set_field(DiagonalAlignment& field, const AttributeValue& value, std::string_view op, std::string_view name);
AttributeValue get_field(const Diagonals& field);
AttributeValue get_field(const DiagonalAlignment& field);

// Throws unless the diagonals lie in a matrix of this size.
void check_diagonals(std::string_view op, std::int64_t rows, std::int64_t columns, const Diagonals& diagonals);

class DiagonalLayout {
 public:
  DiagonalLayout(std::int64_t rows, std::int64_t columns, const Diagonals& diagonals, const DiagonalAlignment& align)
      : rows_(rows),
        columns_(columns),
        diagonals_(diagonals),
        align_(align),
        longest_(std::max<std::int64_t>(0, std::min(rows + std::min<std::int64_t>(diagonals.upper, 0),
                                                    columns - std::max<std::int64_t>(diagonals.lower, 0)))) {}

  // Elements of one matrix.
  std::int64_t size() const { return rows_ * columns_; }
  // Elements of the packed form of one matrix, padding included.
  std::int64_t packed_size() const { return diagonals_.count() * longest_; }
  // A single diagonal has no axis of its own.
  Shape packed_shape(const Shape& batch) const {
    Shape shape = batch;
    if (diagonals_.count() > 1) shape.push_back(diagonals_.count());
    shape.push_back(longest_);
    return shape;
  }

  // Calls visit(number in the packed form, number in the matrix) for every element of the diagonals.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::int64_t k = diagonals_.upper; k >= diagonals_.lower; --k) {
      const std::int64_t below = std::max<std::int64_t>(-k, 0);
      const std::int64_t right = std::max<std::int64_t>(k, 0);
      const std::int64_t length = std::min(rows_ - below, columns_ - right);
      const bool left = (k >= 0 && align_.upper_left) || (k <= 0 && align_.lower_left);
      const std::int64_t start = (diagonals_.upper - k) * longest_ + (left ? 0 : longest_ - length);
      for (std::int64_t i = 0; i < length; ++i) visit(start + i, (below + i) * columns_ + right + i);
    }
  }

 private:
  std::int64_t rows_;
  std::int64_t columns_;
  Diagonals diagonals_;
  DiagonalAlignment align_;
  std::int64_t longest_;
};

}  // namespace capstan
