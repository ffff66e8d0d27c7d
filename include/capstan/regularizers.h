// Penalties on weights and outputs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "capstan/config.h"
#include "capstan/tensor.h"

namespace capstan {

/// What a class of regularizers implements; see capstan/config.h for its options.
class CAPSTAN_EXPORT RegularizerBody : public Configurable {
 public:
  static constexpr std::string_view kKind = "regularizer", kModule = "keras.regularizers";
  /// The penalty, a scalar.
  virtual Tensor penalty(const Tensor& weight) const = 0;
};

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
      : Regularizer(of_function(std::move(function))) {}
  explicit Regularizer(std::shared_ptr<const RegularizerBody> body) : body_(std::move(body)) {}

  bool has_value() const { return body_ != nullptr; }
  Tensor operator()(const Tensor& weight) const { return body_->penalty(weight); }

  /// Null for nothing.
  const std::shared_ptr<const RegularizerBody>& body() const { return body_; }

 private:
  static std::shared_ptr<const RegularizerBody> of_function(std::function<Tensor(const Tensor&)> function);

  std::shared_ptr<const RegularizerBody> body_;
};

/// A regularizer in configurations: none, a name, or what serialize() gave. Errors: ValueError for anything else,
/// naming the option; when written, for a function of the program.
CAPSTAN_EXPORT void set_field(Regularizer& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const Regularizer& field);

/// Penalties under the names and with the formulas of Keras.
namespace regularizers {

/// A regularizer from its name with its defaults ("l2"), or from what serialize() gave; none gives nothing. Errors:
/// ValueError for an unknown class or option, or a value that does not fit, naming them.
///
///     regularizers::get(AttributeValue::from_json(R"({"class_name": "L2", "config": {"l2": 0.5}})"));
CAPSTAN_EXPORT Regularizer get(const AttributeValue& value);

/// `factor` times the sum of absolute values. Errors: ValueError for a negative or infinite factor.
///
///     regularizers::L1(0.5)(constant({-1.0, 2.0}));  // 1.5
CAPSTAN_EXPORT Regularizer L1(double factor = 0.01);
/// `factor` times the sum of squares (without a half).
///
///     regularizers::L2(0.5)(constant({-1.0, 2.0}));  // 2.5
CAPSTAN_EXPORT Regularizer L2(double factor = 0.01);
/// Both; a factor of 0 leaves its part out, so that without any the gradient is missing.
///
///     regularizers::L1L2(0.5, 0.5)(constant({-1.0, 2.0}));  // 4
CAPSTAN_EXPORT Regularizer L1L2(double l1 = 0, double l2 = 0);
/// `factor` times half the mean, over pairs of rows (or of columns) of a matrix, of the absolute cosine between them,
/// where each pair is counted twice: n rows with the Gram matrix G of their unit vectors cost
/// factor / 2 * sum |G - I| / (n (n - 1) / 2). One row alone costs nothing. Errors: ValueError for a negative or
/// infinite factor, or a mode that is not "rows" or "columns"; when called, ShapeError unless the rank is 2.
///
///     regularizers::OrthogonalRegularizer(1.0)(constant({{1.0, 0.0}, {0.0, 1.0}}));  // 0
CAPSTAN_EXPORT Regularizer OrthogonalRegularizer(double factor = 0.01, std::string_view mode = "rows");

}  // namespace regularizers
}  // namespace capstan
