#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "capstan/tensor.h"

namespace capstan {

// Values that are defined by an equation, with gradients by the implicit function theorem: not the iterations are
// differentiated but the equation, at its solution. Gradients flow to everything that f uses beside its argument,
// trainable variables that it reads and watched tensors that it captures, in any order. What f computes is not kept:
// gradients call it again, so it captures by value what may be gone by then.
//
// In the trace of a function f is traced once, and each run of the function iterates until it has converged; what goes
// wrong is thrown by that run. Of many items at once (vectorized_map, the rows of a jacobian) each is solved by itself.
// Tensors are float32 or float64.

/// Options of fixed_point and root.
struct ImplicitOptions {
  /// The last step may change x by tolerance * (1 + the largest magnitude in x). Not given: 1e-13, and 1e-6 for
  /// float32.
  std::optional<double> tolerance = {};
  int max_iterations = 1000;
};

/// The x with x = f(x) that the iteration x -> f(x) reaches from x0; the shape and dtype are those of x0, and f keeps
/// them. Gradients solve u = g + J^T u in the same way, J being the Jacobian of f, so f has to be contracting at the
/// solution. x0 has no gradient: the solution does not depend on it.
///
/// Errors: ValueError if it does not converge or meets NaN, and for a negative tolerance; ShapeError or DTypeError for
/// an f that changes them.
///
///     Variable c(0.5f);
///     GradientTape tape;
///     Tensor x = fixed_point([&](const Tensor& x) { return cos(x) * c; }, constant(0.0f));
///     Tensor dx_dc = tape.gradient(x, c);   // cos(x) / (1 + c sin(x))
CAPSTAN_EXPORT Tensor fixed_point(const std::function<Tensor(const Tensor& x)>& f, const Tensor& x0,
                                  const ImplicitOptions& options = {});

/// An x with f(x) = 0, by Newton's method from x0, with shorter steps where a whole one does not help; f gives as many
/// elements as x has. The Jacobian is computed row by row, one reverse pass for each, and solved as a dense matrix: for
/// tens or hundreds of unknowns. Gradients solve with its adjoint.
///
/// Errors: ValueError if it does not converge, meets NaN, or the Jacobian is singular.
///
///     Tensor sqrt_a = root([&](const Tensor& x) { return x * x - a; }, constant(1.0));
CAPSTAN_EXPORT Tensor root(const std::function<Tensor(const Tensor& x)>& f, const Tensor& x0,
                           const ImplicitOptions& options = {.max_iterations = 50});

/// How odeint is differentiated.
enum class OdeGradient {
  kAdjoint,  ///< by a second equation, solved backwards: memory does not grow with the number of steps
  kDirect,   ///< through the steps that were made, whose values are kept
};

/// Options of odeint.
struct OdeOptions {
  /// The error of a step may be absolute + relative * |y|, as a mean over the elements. For float32 the relative one is
  /// at least 1e-6.
  double relative = 1e-7;
  double absolute = 1e-9;
  /// Between two times; rejected ones count.
  int max_steps = 10000;
  OdeGradient gradient = OdeGradient::kAdjoint;
};

/// The solution of dy/dt = f(t, y), y(times[0]) = y0, at the times, which rise or fall: [times, shape of y0]. t is a
/// scalar of y's dtype. The method is the one of Dormand and Prince of order 5(4) with steps that follow the error. The
/// adjoint's gradients are as exact as its own steps, whose error is controlled in the same way; those of kDirect are
/// the derivatives of what was computed.
///
/// Errors: ValueError for times that do not rise or fall, for more than max_steps, and for steps that become too small,
/// as they do where y explodes; ShapeError or DTypeError for an f that does not give the shape and dtype of y.
///
///     Tensor y = odeint([&](const Tensor&, const Tensor& y) { return -k * y; }, y0, {0.0, 0.5, 1.0});   // [3, ...]
CAPSTAN_EXPORT Tensor odeint(const std::function<Tensor(const Tensor& t, const Tensor& y)>& f, const Tensor& y0,
                             const std::vector<double>& times, const OdeOptions& options = {});

}  // namespace capstan
