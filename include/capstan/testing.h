#pragma once

#include <functional>
#include <vector>

#include "capstan/tensor.h"

namespace capstan {

/// Options of check_gradients.
struct GradientCheckOptions {
  /// 1 compares gradients, 2 also gradients of gradients.
  int order = 1;
  /// The largest relative error of first and second order.
  double first_order = 1e-6;
  double second_order = 1e-4;
  /// 0 compares every entry of every input; a larger number as many random directions, which is
  /// faster for large inputs.
  int directions = 0;
};

/// Compares the gradients that a tape computes with central differences: a test of functions with
/// gradients of their own, and of anything else that should be differentiable.
///
/// `f` maps float64 or complex128 tensors to one tensor; it is called many times and must give the same result
/// each time. The inputs should lie away from kinks. A missing gradient counts as zeros. Ops that
/// the calling thread's tapes would see are not recorded by them.
///
/// Errors: GradientError if an entry differs; the text names the input and the entry and has both
/// values. DTypeError for inputs that are neither, whose differences would say nothing.
///
///     check_gradients([](const std::vector<Tensor>& in) { return matmul(in[0], tanh(in[1])); },
///     {a, b}, {.order = 2});
CAPSTAN_EXPORT void check_gradients(const std::function<Tensor(const std::vector<Tensor>& inputs)>& f,
                                    const std::vector<Tensor>& inputs, const GradientCheckOptions& options = {});

}  // namespace capstan
