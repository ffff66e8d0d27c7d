// Constraints.
//
// All norms share one form: each vector is scaled by wanted / (1e-7 + norm). The tiny number keeps zeros zero.
#include "capstan/constraints.h"

#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/attributes.h"
#include "src/core/check.h"
#include "src/core/variable_state.h"
#include "src/train/classes.h"

namespace capstan {

using constraints::MaxNormOptions;
using constraints::MinMaxNormOptions;
using constraints::UnitNormOptions;

namespace {

class FunctionConstraint final : public detail::OfFunction<ConstraintBody> {
 public:
  explicit FunctionConstraint(Constraint::Function function) : function_(std::move(function)) {}
  Tensor project(const Tensor& weight) const override { return function_(weight); }

 private:
  Constraint::Function function_;
};

std::shared_ptr<const ConstraintBody> as_body(std::shared_ptr<Configurable> object) {
  return std::static_pointer_cast<ConstraintBody>(std::move(object));
}

}  // namespace

// --- The handle ---

Constraint::Constraint(std::string_view name) : body_(as_body(deserialize("constraint", std::string(name)))) {}

std::shared_ptr<const ConstraintBody> Constraint::of_function(Function function) {
  return function ? make_configurable<FunctionConstraint>(std::move(function)) : nullptr;
}

Constraint::Function Constraint::function() const {
  if (body_ == nullptr) return {};
  return [body = body_](const Tensor& weight) { return body->project(weight); };
}

void set_constraint(const Variable& variable, const Constraint& constraint) {
  CAPSTAN_CHECK(variable.has_value(), ValueError, "set_constraint: the variable is an empty handle");
  variable.state()->constraint = constraint.function();
}

std::function<Tensor(const Tensor&)> constraint_of(const Variable& variable) {
  CAPSTAN_CHECK(variable.has_value(), ValueError, "constraint_of: the variable is an empty handle");
  return variable.state()->constraint;
}

Constraint constraints::get(const AttributeValue& value) {
  return value.has_value() ? Constraint(as_body(deserialize("constraint", value))) : Constraint();
}

void set_field(Constraint& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  field = value.has_value() ? Constraint(as_body(detail::object_of_option("constraint", value, owner, name)))
                            : Constraint();
}

AttributeValue get_field(const Constraint& field) {
  return field.has_value() ? serialize(*field.body()) : AttributeValue();
}

// --- The classes ---

namespace {

constexpr double kEpsilon = 1e-7;

Tensor norm_of(const Tensor& w, const Axes& axis) { return sqrt(reduce_sum(square(w), axis, {.keepdims = true})); }

template <class O>
constexpr OptionField axis_option() {
  return option<&O::axis>("axis").with_type(kOneAxisOrList);
}

struct MaxNormBody final : Configured<MaxNormBody, ConstraintBody, MaxNormOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "MaxNorm";
  static constexpr std::string_view kText = "Shrinks vectors that are longer than `max_value` to this length.";
  Tensor project(const Tensor& w) const override {
    const Tensor norm = norm_of(w, options.axis);
    return w * (minimum(norm, options.max_value) / (norm + kEpsilon));
  }
};

struct NoOptions {
  static std::span<const OptionField> fields() { return {}; }
};

struct NonNegBody final : Configured<NonNegBody, ConstraintBody, NoOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "NonNeg", kText = "Replaces negative elements by 0.";
  Tensor project(const Tensor& w) const override { return w * cast(greater_equal(w, 0), w.dtype()); }
};

struct UnitNormBody final : Configured<UnitNormBody, ConstraintBody, UnitNormOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "UnitNorm", kText = "Gives vectors the length 1.";
  Tensor project(const Tensor& w) const override { return w / (norm_of(w, options.axis) + kEpsilon); }
};

struct MinMaxNormBody final : Configured<MinMaxNormBody, ConstraintBody, MinMaxNormOptions> {
  static constexpr std::string_view kName = "MinMaxNorm";
  static constexpr std::string_view kText = "Moves the length of vectors towards a range.";
  explicit MinMaxNormBody(const MinMaxNormOptions& given) : Configured(given) {
    CAPSTAN_CHECK(options.min_value <= options.max_value, ValueError, kName,
                  ": min_value must not exceed max_value, but they are ", options.min_value, " and ",
                  options.max_value);
  }
  Tensor project(const Tensor& w) const override {
    const auto& o = options;
    const Tensor norm = norm_of(w, o.axis);
    const Tensor wanted = o.rate * clip_by_value(norm, o.min_value, o.max_value) + (1 - o.rate) * norm;
    return w * (wanted / (norm + kEpsilon));
  }
};

}  // namespace

namespace constraints {

std::span<const OptionField> MaxNormOptions::fields() {
  static constexpr OptionField all[] = {option<&MaxNormOptions::max_value>("max_value").at_least(0),
                                        axis_option<MaxNormOptions>()};
  return all;
}

std::span<const OptionField> UnitNormOptions::fields() {
  static constexpr OptionField all[] = {axis_option<UnitNormOptions>()};
  return all;
}

std::span<const OptionField> MinMaxNormOptions::fields() {
  using O = MinMaxNormOptions;
  static constexpr OptionField all[] = {option<&O::min_value>("min_value").at_least(0),
                                        option<&O::max_value>("max_value").at_least(0),
                                        option<&O::rate>("rate").at_least(0).at_most(1), axis_option<O>()};
  return all;
}

Constraint MaxNorm(const MaxNormOptions& options) { return Constraint(make_configurable<MaxNormBody>(options)); }
Constraint NonNeg() { return Constraint(make_configurable<NonNegBody>()); }
Constraint UnitNorm(const UnitNormOptions& options) { return Constraint(make_configurable<UnitNormBody>(options)); }
Constraint MinMaxNorm(const MinMaxNormOptions& options) {
  return Constraint(make_configurable<MinMaxNormBody>(options));
}

}  // namespace constraints

std::vector<const ClassInfo*> detail::constraint_classes() {
  return {&MaxNormBody::info(), &NonNegBody::info(), &UnitNormBody::info(), &MinMaxNormBody::info()};
}

}  // namespace capstan
