// Minima of functions of one tensor, for small problems: all data at once, float64.
//
// An optimizer (capstan/optimizers.h) makes a step from whatever gradient it gets, which may be that of a part of the
// data. A minimizer here calls the function itself, as often as it needs, and gets many digits of the minimum.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "capstan/config.h"
#include "capstan/tensor.h"

namespace capstan {

/// Why a minimizer ended.
enum class MinimizeEnd : std::uint8_t {
  kConverged,       ///< no element of the gradient is larger than `gradient_tolerance`
  kIterationLimit,  ///< after `max_iterations`
  kNoProgress,      ///< no lower value was found along the gradient: what is left is rounding, or a kink
};

/// What a minimizer found.
struct Minimum {
  Tensor x;
  Tensor gradient;  ///< there
  double value;     ///< there
  int iterations;   ///< directions searched
  int evaluations;  ///< of the function and its gradient
  MinimizeEnd end;
  bool converged() const { return end == MinimizeEnd::kConverged; }
};

namespace optimizers {

/// Options of LBFGS.
struct LBFGSOptions {
  int max_iterations = 1000;
  double gradient_tolerance = 1e-8;
  int memory = 10;                ///< how many steps the matrix of second derivatives is estimated from
  double decrease = 1e-4;         ///< c1 of Wolfe's conditions
  double curvature = 0.9;         ///< c2; small numbers make searches along lines exact
  int max_line_evaluations = 50;  ///< in the search along one line
  static std::span<const OptionField> fields();
};

/// Minimizes by the method of Broyden, Fletcher, Goldfarb and Shanno with limited memory (Liu and Nocedal, "On the
/// limited memory BFGS method for large scale optimization", 1989). A step a along the direction p satisfies the strong
/// conditions of Wolfe, f(x + a p) <= f(x) + decrease a p'g(x) and |p'g(x + a p)| <= curvature |p'g(x)|; where the
/// difference of the values is rounding, the first is p'g(x + a p) <= (2 decrease - 1) p'g(x) (Hager and Zhang, 2005).
/// Points along a line where f is infinite or NaN count as too far. Errors: ValueError unless 0 < decrease < curvature
/// < 1, memory >= 1, max_iterations >= 0, max_line_evaluations >= 1 and gradient_tolerance >= 0.
class CAPSTAN_EXPORT LBFGS {
 public:
  explicit LBFGS(const LBFGSOptions& options = {});

  /// A local minimum of f, which gives a scalar, near x0. Errors: DTypeError unless x0 and f(x0) have the same of
  /// float32 and float64; ShapeError if f gives no scalar; ValueError if f has no gradient for x, if f or its gradient
  /// is NaN or infinite at x0 or at all points tried along a line, or if f falls to minus infinity.
  ///
  ///     optimizers::LBFGS lbfgs({.gradient_tolerance = 1e-10});
  ///     Minimum m = lbfgs.minimize([](const Tensor& x) { return reduce_sum(square(x - 1)); }, zeros({3}, float64));
  Minimum minimize(const std::function<Tensor(const Tensor& x)>& f, const Tensor& x0) const;

 private:
  LBFGSOptions options_;
};

}  // namespace optimizers

/// A local minimum of f near x0, by optimizers::LBFGS. Errors: those of LBFGS::minimize().
///
///     Minimum m = minimize([](const Tensor& x) { return reduce_sum(square(x - 1)); }, zeros({3}, float64));
CAPSTAN_EXPORT Minimum minimize(const std::function<Tensor(const Tensor& x)>& f, const Tensor& x0,
                                const optimizers::LBFGSOptions& options = {});

}  // namespace capstan
