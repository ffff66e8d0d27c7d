// Functions of one number that the standard library lacks, or has with a side effect.
//
// They do the work of those functions that have no vector kernel (vector_math-inl.h), and are the
// reference of others.
#pragma once

namespace capstan::detail {

// 1 / (1 + exp(-x)).
double sigmoid(double x);
// log(1 + exp(x)).
double softplus(double x);
// log|gamma(x)|; unlike std::lgamma it writes no global sign, so that several threads may call it.
double log_gamma(double x);
// The derivative of log_gamma. NaN at zero and at the negative integers.
double digamma(double x);
// The n-th derivative of digamma, n = 0, 1, 2, ...; NaN for any other n. Relative error below 1e-13
// for x > 0 and n < 20.
double polygamma(double n, double x);

}  // namespace capstan::detail
