#include "src/cli/statistics.h"

#include <algorithm>
#include <cstdio>

#include "capstan/ops/math.h"

namespace capstan::cli {

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::vector<std::string> statistics_of(const Tensor& tensor) {
  if (tensor.size() == 0) return {"-", "-", "-", "0"};
  if (is_complex(tensor.dtype())) return {"-", "-", "-", "-"};
  double least = 0, greatest = 0, sum = 0;
  std::int64_t finite = 0;
  for (const double value : cast(tensor, float64).to_vector<double>()) {
    if (!(value - value == 0)) continue;
    least = finite == 0 ? value : std::min(least, value);
    greatest = finite == 0 ? value : std::max(greatest, value);
    sum += value;
    ++finite;
  }
  const std::string others = std::to_string(tensor.size() - finite);
  if (finite == 0) return {"-", "-", "-", others};
  return {number_text(least), number_text(greatest), number_text(sum / static_cast<double>(finite)), others};
}

}  // namespace capstan::cli
