// Functions of one number that the standard library lacks or has with a side effect.
//
// They are the reference of the vector kernels (src/kernels/vector_math-inl.h) and do the work of
// those functions that have no vector kernel.
#pragma once

namespace capstan::detail {

// The derivative of log_gamma. NaN at zero and the negative integers.
double digamma(double x);
// The derivative of digamma.
double trigamma(double x);
// 1 / (1 + exp(-x)).
double sigmoid(double x);
// log(1 + exp(x)).
double softplus(double x);
// log|gamma(x)|; unlike std::lgamma it writes no global sign, so that threads may call it.
double log_gamma(double x);

}  // namespace capstan::detail
