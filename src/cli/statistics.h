// A tensor in a few numbers.
#pragma once

#include <string>
#include <vector>

#include "capstan/tensor.h"

namespace capstan::cli {

// "0.5": six digits.
std::string number_text(double value);

// The least, the greatest and the mean of the finite elements, and how many are not finite.
std::vector<std::string> statistics_of(const Tensor& tensor);

}  // namespace capstan::cli
