// Penalties on weights and outputs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "capstan/tensor.h"

namespace capstan {

/// Takes a weight (or an output) and gives a scalar that is added to the model's losses: a name ("l1", "l2", "l1l2",
/// "orthogonal_regularizer"; each with its default factors), a function of namespace regularizers, any function of a
/// tensor, or nothing. Errors: ValueError for an unknown name.
///
///     layers::Dense(64, {.kernel_regularizer = regularizers::L2(1e-4)});
///     layers::Dense(64, {.kernel_regularizer = [](const Tensor& w) { return reduce_sum(pow(w, 4)); }});
class CAPSTAN_EXPORT Regularizer {
 public:
  Regularizer() = default;
  Regularizer(const char* name) : Regularizer(std::string_view(name)) {}
  Regularizer(const std::string& name) : Regularizer(std::string_view(name)) {}
  Regularizer(std::string_view name);
  template <class F>
  requires(!std::is_base_of_v<Regularizer, F> && std::is_invocable_r_v<Tensor, const F&, const Tensor&>)
      Regularizer(F function)
      : function_(std::move(function)) {}

  bool has_value() const { return static_cast<bool>(function_); }
  Tensor operator()(const Tensor& weight) const { return function_(weight); }

 private:
  std::function<Tensor(const Tensor&)> function_;
};

/// Penalties under the names and with the formulas of Keras.
namespace regularizers {

/// `factor` times the sum of absolute values. Errors: ValueError for a negative or infinite factor.
CAPSTAN_EXPORT Regularizer L1(double factor = 0.01);
/// `factor` times the sum of squares (without a half).
CAPSTAN_EXPORT Regularizer L2(double factor = 0.01);
/// Both; a factor of 0 leaves its part out, so that without any the gradient is missing.
CAPSTAN_EXPORT Regularizer L1L2(double l1 = 0, double l2 = 0);
/// `factor` times half the mean, over pairs of rows (or of columns) of a matrix, of the absolute cosine between them,
/// where each pair is counted twice: n rows with the Gram matrix G of their unit vectors cost
/// factor / 2 * sum |G - I| / (n (n - 1) / 2). One row alone costs nothing. Errors: ValueError for a negative or
/// infinite factor, or a mode that is not "rows" or "columns"; when called, ShapeError unless the rank is 2.
CAPSTAN_EXPORT Regularizer OrthogonalRegularizer(double factor = 0.01, std::string_view mode = "rows");

}  // namespace regularizers
}  // namespace capstan
