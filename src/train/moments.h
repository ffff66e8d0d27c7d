// What rules with the moments of Adam share.
#pragma once

#include <cmath>

#include "capstan/update_rule.h"

namespace capstan::detail {

// The rate with the corrections of both moments, which begin at zero; computed in the dtype of the variable.
inline double corrected_rate(double beta_1, double beta_2, const Moment& now) {
  const auto in = [&]<class T>(T rate) {
    const T power_1 = std::pow(static_cast<T>(beta_1), static_cast<T>(now.step));
    const T power_2 = std::pow(static_cast<T>(beta_2), static_cast<T>(now.step));
    return double{rate * std::sqrt(T{1} - power_2) / (T{1} - power_1)};
  };
  return now.dtype == DType::kFloat64 ? in(now.learning_rate) : in(static_cast<float>(now.learning_rate));
}

}  // namespace capstan::detail
