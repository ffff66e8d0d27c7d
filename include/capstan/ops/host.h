#pragma once

#include <functional>

#include "capstan/tensor.h"

namespace capstan {

/// True while a function is traced: see function() in capstan/function.h.
CAPSTAN_EXPORT bool inside_function();

/// A scalar that the program computes outside of Capstan: `f()` now, or, in a traced function, `f()` anew at every
/// call, in the order of the trace. The calls happen whether the result is used or not. Errors: DTypeError unless the
/// dtype is float32 or float64.
///
///     auto step = function([&](const Tensor& x) { return x * host_value([&] { return sensor.read(); }); });
CAPSTAN_EXPORT Tensor host_value(const std::function<double()>& f, DType dtype = float32);

}  // namespace capstan
