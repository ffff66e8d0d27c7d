// Constraints.
//
// All norms share one form: each vector is scaled by wanted / (1e-7 + norm). The tiny number keeps zeros zero.
#include "capstan/constraints.h"

#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/core/variable_state.h"
#include "src/train/known_names.h"

namespace capstan {

namespace {

using Make = Constraint (*)();

constexpr detail::Named<Make> kNamed[] = {
    {"max_norm", [] { return constraints::MaxNorm(); }, "MaxNorm"},
    {"non_neg", [] { return constraints::NonNeg(); }, "NonNeg"},
    {"unit_norm", [] { return constraints::UnitNorm(); }, "UnitNorm"},
    {"min_max_norm", [] { return constraints::MinMaxNorm(); }, "MinMaxNorm"},
};

}  // namespace

Constraint::Constraint(std::string_view name) {
  *this = detail::find_named<Make>("constraint", name, kNamed, "pass a function of a tensor for one of your own")();
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
