// Matrices of derivatives of functions: jacobian, hessian. Those of what a tape has recorded are members of it.
#pragma once

#include "capstan/control_flow.h"
#include "capstan/derivatives.h"
#include "capstan/tape.h"
#include "capstan/vectorized_map.h"

namespace capstan {

/// The derivatives of each element of `f(x)` with respect to each element of x: a tensor of shape
/// `f(x).shape + x.shape`. If f returns a structure, the result has that structure, and each leaf is a structure shaped
/// like x. Missing ones are zeros. A tensor that occurs twice in x counts as two. As jax.jacrev; errors are those of
/// GradientTape::jacobian.
///
///     Tensor j = jacobian([](const Tensor& x) { return x * x; }, x);   // [n] -> [n, n]: diag(2x)
template <class F, class T>
auto jacobian(F f, const T& x,
              const JacobianOptions& options = {.unconnected_gradients = UnconnectedGradients::kZero}) {
  const auto own = detail::own_tensors(x);
  GradientTape tape;
  tape.watch(own);
  const auto y = detail::call_with(f, own);
  return tape.jacobian(y, own, options);
}

/// The second derivatives of the scalar `f(x)`: a tensor of shape `x.shape + x.shape`; for a structure,
/// each leaf of the result is a structure shaped like x: the blocks of its pairs. Missing ones are zeros. As
/// jax.hessian; computed as the jacobian of the gradient, so that it can be differentiated again.
///
/// Errors: ShapeError if f does not return a scalar, and those of GradientTape::jacobian.
///
///     Tensor h = hessian([](const Tensor& x) { return reduce_sum(pow(x, 3)); }, x);   // diag(6x)
template <class F, class T>
auto hessian(F f, const T& x, const JacobianOptions& options = {.unconnected_gradients = UnconnectedGradients::kZero}) {
  const auto gradient = [&](const auto& at) {
    GradientTape tape;
    tape.watch(at);
    const Tensor y = detail::call_with(f, at);
    detail::check_loss("hessian", y);
    return tape.gradient(y, at, {.unconnected_gradients = UnconnectedGradients::kZero});
  };
  return jacobian(gradient, x, options);
}

}  // namespace capstan
