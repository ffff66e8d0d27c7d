// Functions of one number that the standard library lacks. They are the reference of vector functions; the special
// functions, which have no vector form, are in special_math.h.
#pragma once

namespace capstan::detail {

// 1 / (1 + exp(-x)).
double sigmoid(double x);
// log(1 + exp(x)).
double softplus(double x);

}  // namespace capstan::detail
