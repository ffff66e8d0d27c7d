// Projections that keep weights where they should be.
//
// An optimizer that has updated a variable replaces it by what the variable's constraint makes of it: after the update
// and after the moving average has been taken, as in Keras. Nothing else applies constraints: assign() does not.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "capstan/shape.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

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
      : function_(std::move(function)) {}

  bool has_value() const { return static_cast<bool>(function_); }
  Tensor operator()(const Tensor& weight) const { return function_(weight); }
  const Function& function() const { return function_; }

 private:
  Function function_;
};

/// Gives a variable a constraint, or takes it away if that is empty. Weights of layers get theirs from the layer's
/// options. Errors: ValueError for an empty variable.
CAPSTAN_EXPORT void set_constraint(const Variable& variable, const Constraint& constraint);

/// Constraints under the names and with the formulas of Keras. A norm is taken over `axis`: 0 for the incoming weights
/// of each unit of a dense kernel, {0, 1, 2} for each filter of an image convolution. Errors, when called: IndexError
/// for an axis that the weight does not have.
namespace constraints {

/// Options of MaxNorm.
struct MaxNormOptions {
  double max_value = 2;
  Axes axis = 0;
};
/// Shrinks vectors that are longer than `max_value` to this length: w * min(norm, max_value) / (1e-7 + norm).
/// Errors: ValueError for a negative max_value.
CAPSTAN_EXPORT Constraint MaxNorm(const MaxNormOptions& options = {});

/// Replaces negative elements by 0.
CAPSTAN_EXPORT Constraint NonNeg();

/// Options of UnitNorm.
struct UnitNormOptions {
  Axes axis = 0;
};
/// Gives vectors the length 1: w / (1e-7 + norm).
CAPSTAN_EXPORT Constraint UnitNorm(const UnitNormOptions& options = {});

/// Options of MinMaxNorm.
struct MinMaxNormOptions {
  double min_value = 0;
  double max_value = 1;
  double rate = 1;
  Axes axis = 0;
};
/// Moves the length of vectors towards the range from `min_value` to `max_value`, by the fraction `rate` of the way:
/// w * (rate * clip(norm, min_value, max_value) + (1 - rate) * norm) / (1e-7 + norm).
/// Errors: ValueError unless 0 <= min_value <= max_value and 0 <= rate <= 1.
CAPSTAN_EXPORT Constraint MinMaxNorm(const MinMaxNormOptions& options = {});

}  // namespace constraints
}  // namespace capstan
