#include "src/transforms/shape_family.h"

#include <cmath>

#include "src/graph/shapes.h"

namespace capstan {

namespace {

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double element : x) sum += element * element;
  return std::sqrt(sum);
}

}  // namespace

// The part of the difference to the first lengths that is no combination of those that have been tried; empty if there
// is none.
std::vector<double> ShapeFamily::residual(const std::vector<std::int64_t>& lengths) const {
  std::vector<double> rest(lengths.size());
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = static_cast<double>(lengths[i] - tried_[i]);
  const double whole = norm(rest);
  if (whole == 0) return {};
  // Twice, since rounding leaves a little of each in the first round.
  for (int round = 0; round < 2; ++round) {
    for (const std::vector<double>& direction : basis_) {
      double along = 0;
      for (std::size_t i = 0; i < rest.size(); ++i) along += rest[i] * direction[i];
      for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= along * direction[i];
    }
  }
  const double left = norm(rest);
  if (left <= 1e-9 * whole) return {};
  for (double& element : rest) element /= left;
  return rest;
}

bool ShapeFamily::covers(const std::vector<std::int64_t>& lengths) const {
  return is_traced_ && dependence_.empty() && residual(lengths).empty();
}

void ShapeFamily::add(const RawTrace& trace, const std::vector<std::int64_t>& lengths) {
  if (!is_traced_) {
    first_ = trace;
    tried_ = lengths;
    is_traced_ = true;
    return;
  }
  if (!dependence_.empty()) return;
  dependence_ = difference_of(first_.graph, trace.graph, trace.argument_variables);
  if (dependence_.empty() && first_.values != trace.values) dependence_ = "a number or text in its result is another";
  std::vector<double> direction = residual(lengths);
  if (!direction.empty()) basis_.push_back(std::move(direction));
}

}  // namespace capstan
