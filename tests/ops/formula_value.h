// The value of an elementwise op on one element in float64, from its formula as data.
#pragma once

#include <complex>

#include "src/core/op_def.h"

namespace capstan::testing {

// x are the inputs, `parameters` the attributes. The steps of the formula are evaluated one by one with the functions
// of the standard library and of src/kernels/math/scalar_math.h, without a vector; an op without steps (a portable
// formula, which goes from element to element anyway) runs its loop on one element.
double formula_value(const OpDef& op, const double* x, const double* parameters);

// Over complex numbers. The loops of these go from element to element, so it is the loop on one element.
std::complex<double> complex_formula_value(const OpDef& op, const std::complex<double>* x, const double* parameters);

}  // namespace capstan::testing
