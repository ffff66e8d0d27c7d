// Constraints.
//
// All norms share one form: each vector is scaled by wanted / (1e-7 + norm). The tiny number keeps zeros zero.
#include "capstan/constraints.h"

#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/core/variable_state.h"

namespace capstan {

Constraint::Constraint(std::string_view name) {
  if (name == "max_norm" || name == "MaxNorm") {
    *this = constraints::MaxNorm();
  } else if (name == "non_neg" || name == "NonNeg") {
    *this = constraints::NonNeg();
  } else if (name == "unit_norm" || name == "UnitNorm") {
    *this = constraints::UnitNorm();
  } else if (name == "min_max_norm" || name == "MinMaxNorm") {
    *this = constraints::MinMaxNorm();
  } else {
    throw ValueError(detail::join("constraint: there is none with the name \"", name, "\"",
                                  help("pass a function of a tensor for one of your own")));
  }
}

void set_constraint(const Variable& variable, const Constraint& constraint) {
  CAPSTAN_CHECK(variable.has_value(), ValueError, "set_constraint: the variable is an empty handle");
  variable.state()->constraint = constraint.function();
}

namespace constraints {

namespace {

constexpr double kEpsilon = 1e-7;

Tensor norm_of(const Tensor& w, const Axes& axis) { return sqrt(reduce_sum(square(w), axis, true)); }

}  // namespace

Constraint MaxNorm(const MaxNormOptions& options) {
  CAPSTAN_CHECK(options.max_value >= 0, ValueError, "constraint: max_value must not be negative, but is ",
                options.max_value);
  return [o = options](const Tensor& w) {
    const Tensor norm = norm_of(w, o.axis);
    return w * (minimum(norm, o.max_value) / (norm + kEpsilon));
  };
}

Constraint NonNeg() {
  return [](const Tensor& w) { return w * cast(greater_equal(w, 0), w.dtype()); };
}

Constraint UnitNorm(const UnitNormOptions& options) {
  return [o = options](const Tensor& w) { return w / (norm_of(w, o.axis) + kEpsilon); };
}

Constraint MinMaxNorm(const MinMaxNormOptions& options) {
  CAPSTAN_CHECK(options.min_value >= 0 && options.min_value <= options.max_value, ValueError,
                "constraint: 0 <= min_value <= max_value must hold, not 0 <= ", options.min_value,
                " <= ", options.max_value);
  CAPSTAN_CHECK(options.rate >= 0 && options.rate <= 1, ValueError, "constraint: rate must be between 0 and 1, not ",
                options.rate);
  return [o = options](const Tensor& w) {
    const Tensor norm = norm_of(w, o.axis);
    const Tensor wanted = o.rate * clip_by_value(norm, o.min_value, o.max_value) + (1 - o.rate) * norm;
    return w * (wanted / (norm + kEpsilon));
  };
}

}  // namespace constraints
}  // namespace capstan
