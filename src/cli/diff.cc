#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>

#include "capstan/ops/math.h"
#include "src/cli/commands.h"
#include "src/cli/formats.h"
#include "src/cli/table.h"

namespace capstan::cli {

namespace {

std::string description(const Tensor& tensor) {
  return std::string(name_of(tensor.dtype())) + tensor.shape().to_string();
}

// The largest difference of two elements; infinite if one of them is NaN, or infinite, and the other is not.
double distance(const Tensor& a, const Tensor& b) {
  const DType wide = is_complex(a.dtype()) ? complex128 : float64;
  double largest = 0;
  const auto compare = [&](double x, double y) {
    const bool same = x == y || (std::isnan(x) && std::isnan(y));
    const double difference = same ? 0 : std::abs(x - y);
    largest = std::max(largest, std::isnan(difference) ? HUGE_VAL : difference);
  };
  if (wide == complex128) {
    const auto x = cast(a, wide).to_vector<std::complex<double>>(), y = cast(b, wide).to_vector<std::complex<double>>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      compare(x[i].real(), y[i].real());
      compare(x[i].imag(), y[i].imag());
    }
  } else {
    const std::vector<double> x = cast(a, wide).to_vector<double>(), y = cast(b, wide).to_vector<double>();
    for (std::size_t i = 0; i < x.size(); ++i) compare(x[i], y[i]);
  }
  return largest;
}

}  // namespace

int diff(const DiffOptions& options) {
  const Content first = format_of(options.first).read(options.first);
  const Content second = format_of(options.second).read(options.second);
  int differences = 0;
  const auto report = [&](const std::string& name, const std::string& what) {
    std::printf("%s: %s\n", printable(name).c_str(), what.c_str());
    ++differences;
  };
  for (const auto& [name, a] : first.tensors) {
    const auto other = second.tensors.find(name);
    if (other == second.tensors.end()) {
      report(name, "only in " + options.first);
      continue;
    }
    const Tensor& b = other->second;
    if (a.dtype() != b.dtype() || a.shape() != b.shape()) {
      report(name, description(a) + " and " + description(b));
      continue;
    }
    const double largest = distance(a, b);
    if (largest > options.tolerance) {
      char text[60];
      std::snprintf(text, sizeof text, "differs by up to %.6g", largest);
      report(name, text);
    }
  }
  for (const auto& [name, tensor] : second.tensors) {
    if (!first.tensors.contains(name)) report(name, "only in " + options.second);
  }
  return differences == 0 ? 0 : 1;
}

}  // namespace capstan::cli
