// Projections that keep weights where they should be.
//
// An optimizer that has updated a variable replaces it by what the variable's constraint makes of it: after the update
// and after the moving average has been taken, as in Keras. Nothing else applies constraints: assign() does not.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "capstan/config.h"
#include "capstan/shape.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

/// What a class of constraints implements; see capstan/config.h for its options.
class CAPSTAN_EXPORT ConstraintBody : public Configurable {
 public:
  static constexpr std::string_view kKind = "constraint", kModule = "keras.constraints";
  /// The value to keep instead of this one, of the same shape and dtype.
  virtual Tensor project(const Tensor& weight) const = 0;
};

/// Takes the value of a weight and gives the one to keep, of the same shape and dtype: a name ("max_norm", "non_neg",
/// "unit_norm", "min_max_norm"; each with its defaults), a function of namespace constraints, any function of a tensor,
/// or nothing. Errors: ValueError for an unknown name.
///
///     layers::Dense(64, {.kernel_constraint = constraints::MaxNorm({.max_value = 3})});
class CAPSTAN_EXPORT Constraint {
 public:
  using Function = std::function<Tensor(const Tensor&)>;

  Constraint() = default;
  Constraint(const char* name) : Constraint(std::string_view(name)) {}
  Constraint(const std::string& name) : Constraint(std::string_view(name)) {}
  Constraint(std::string_view name);
  template <class F>
  requires(!std::is_base_of_v<Constraint, F> && std::is_invocable_r_v<Tensor, const F&, const Tensor&>)
      Constraint(F function)
      : Constraint(of_function(std::move(function))) {}
  explicit Constraint(std::shared_ptr<const ConstraintBody> body) : body_(std::move(body)) {}

  bool has_value() const { return body_ != nullptr; }
  Tensor operator()(const Tensor& weight) const { return body_->project(weight); }
  /// The same as a function; an empty one for nothing.
  Function function() const;

  /// Null for nothing.
  const std::shared_ptr<const ConstraintBody>& body() const { return body_; }

 private:
  static std::shared_ptr<const ConstraintBody> of_function(Function function);

  std::shared_ptr<const ConstraintBody> body_;
};

/// A constraint in configurations: none, a name, or what serialize() gave. Errors: ValueError for anything else, naming
/// the option; when written, for a function of the program.
CAPSTAN_EXPORT void set_field(Constraint& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const Constraint& field);

/// Gives a variable a constraint, or takes it away if that is empty. Weights of layers get theirs from the layer's
/// options. Errors: ValueError for an empty variable.
///
///     Variable w(constant({-1.0, 2.0}));
///     set_constraint(w, constraints::NonNeg());
///     optimizers::SGD({.learning_rate = 1}).apply_gradients({zeros({2})}, {w});
///     w.value();  // [0, 2]
CAPSTAN_EXPORT void set_constraint(const Variable& variable, const Constraint& constraint);
/// What the constraint of a variable makes of a value; an empty function if it has none. Errors: ValueError for an
/// empty variable.
///
///     Variable w(constant({-1.0, 2.0}));
///     if (const auto constraint = constraint_of(w)) w.assign(constraint(w.value()));
CAPSTAN_EXPORT std::function<Tensor(const Tensor&)> constraint_of(const Variable& variable);

/// Constraints under the names and with the formulas of Keras. A norm is taken over `axis`: 0 for the incoming weights
/// of each unit of a dense kernel, {0, 1, 2} for each filter of an image convolution. Errors, when called: IndexError
/// for an axis that the weight does not have.
namespace constraints {

/// A constraint from its name with its defaults ("non_neg"), or from what serialize() gave; none gives nothing. Errors:
/// ValueError for an unknown class or option, or a value that does not fit, naming them.
///
///     constraints::get(AttributeValue::from_json(R"({"class_name": "MaxNorm", "config": {"max_value": 3}})"));
CAPSTAN_EXPORT Constraint get(const AttributeValue& value);

/// Options of MaxNorm.
struct MaxNormOptions {
  double max_value = 2;
  Axes axis = 0;
  static std::span<const OptionField> fields();
};
/// Shrinks vectors that are longer than `max_value` to this length: w * min(norm, max_value) / (1e-7 + norm).
/// Errors: ValueError for a negative max_value.
///
///     constraints::MaxNorm()(constant({{3.0}, {4.0}}));  // [[1.2], [1.6]]
CAPSTAN_EXPORT Constraint MaxNorm(const MaxNormOptions& options = {});

/// Replaces negative elements by 0.
///
///     constraints::NonNeg()(constant({-1.0, 2.0}));  // [0, 2]
CAPSTAN_EXPORT Constraint NonNeg();

/// Options of UnitNorm.
struct UnitNormOptions {
  Axes axis = 0;
  static std::span<const OptionField> fields();
};
/// Gives vectors the length 1: w / (1e-7 + norm).
///
///     constraints::UnitNorm()(constant({{3.0}, {4.0}}));  // [[0.6], [0.8]]
CAPSTAN_EXPORT Constraint UnitNorm(const UnitNormOptions& options = {});

/// Options of MinMaxNorm.
struct MinMaxNormOptions {
  double min_value = 0;
  double max_value = 1;
  double rate = 1;
  Axes axis = 0;
  static std::span<const OptionField> fields();
};
/// Moves the length of vectors towards the range from `min_value` to `max_value`, by the fraction `rate` of the way:
/// w * (rate * clip(norm, min_value, max_value) + (1 - rate) * norm) / (1e-7 + norm).
/// Errors: ValueError unless 0 <= min_value <= max_value and 0 <= rate <= 1.
///
///     constraints::MinMaxNorm({.min_value = 1, .max_value = 2})(constant({{3.0}, {4.0}}));  // [[1.2], [1.6]]
CAPSTAN_EXPORT Constraint MinMaxNorm(const MinMaxNormOptions& options = {});

}  // namespace constraints
}  // namespace capstan
