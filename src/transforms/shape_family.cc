#include "src/transforms/shape_family.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "src/graph/shapes.h"

namespace capstan {

namespace {

using Lengths = std::vector<std::int64_t>;

// Probes reach this far, or four times as far as what came.
constexpr std::int64_t kFar = 16384;

Lengths minus(const Lengths& a, const Lengths& b) {
  Lengths difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return difference;
}

// The position of the first element that is not 0, or the size.
std::size_t pivot(const Lengths& row) {
  std::size_t i = 0;
  while (i < row.size() && row[i] == 0) ++i;
  return i;
}

void subtract(Lengths& from, const Lengths& row, std::int64_t times) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= times * row[i];
}

}  // namespace

bool ShapeFamily::is_within(const Lengths& lengths) const {
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < lowest_[i] || lengths[i] > highest_[i]) return false;
  }
  return true;
}

Lengths ShapeFamily::rest_of(Lengths difference) const {
  for (const Lengths& row : rows_) {
    const std::size_t at = pivot(row);
    if (difference[at] % row[at] == 0) subtract(difference, row, difference[at] / row[at]);
  }
  return difference;
}

bool ShapeFamily::covers(const Lengths& lengths) const {
  if (!is_traced_ || !dependence_.empty() || !is_within(lengths)) return false;
  const Lengths rest = rest_of(minus(lengths, tried_));
  return pivot(rest) == rest.size();
}

// Euclid's algorithm, row by row.
void ShapeFamily::add_difference(Lengths difference) {
  for (Lengths& row : rows_) {
    const std::size_t at = pivot(row);
    while (difference[at] != 0) {
      subtract(row, difference, row[at] / difference[at]);
      std::swap(row, difference);
    }
  }
  const std::size_t at = pivot(difference);
  if (at == difference.size()) return;
  const auto place = std::find_if(rows_.begin(), rows_.end(), [&](const Lengths& row) { return pivot(row) > at; });
  rows_.insert(place, std::move(difference));
}

void ShapeFamily::add(const RawTrace& trace, const Lengths& lengths) {
  if (!is_traced_) {
    first_ = trace;
    tried_ = lowest_ = highest_ = lengths;
    is_traced_ = true;
    return;
  }
  if (!dependence_.empty()) return;
  dependence_ = difference_of(first_.graph, trace.graph, trace.argument_variables);
  if (dependence_.empty() && first_.values != trace.values) dependence_ = "a number or text in its result is another";
  add_difference(minus(lengths, tried_));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    lowest_[i] = std::min(lowest_[i], lengths[i]);
    highest_[i] = std::max(highest_[i], lengths[i]);
  }
}

std::vector<Lengths> ShapeFamily::probes(const Lengths& lengths) const {
  const Lengths direction = minus(lengths, tried_);
  std::vector<Lengths> found;
  if (pivot(direction) == direction.size()) return found;
  const std::int64_t far = std::max(kFar, 4 * *std::max_element(lengths.begin(), lengths.end()));
  for (const std::int64_t sign : {1, -1}) {
    // So many steps until a length would fall below 2 or rise above `far`.
    std::int64_t steps = far;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      const std::int64_t step = sign * direction[i];
      if (step > 0) steps = std::min(steps, (far - tried_[i]) / step);
      if (step < 0) steps = std::min(steps, (tried_[i] - 2) / -step);
    }
    if (steps <= 0) continue;
    Lengths probe = tried_;
    subtract(probe, direction, -sign * steps);
    if (!is_within(probe)) found.push_back(std::move(probe));
  }
  return found;
}

}  // namespace capstan
