#include "src/kernels/math/scalar_math.h"

#include <cmath>

namespace capstan::detail {

double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

double softplus(double x) {
  if (std::isnan(x)) return x;
  return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}

}  // namespace capstan::detail
