#include "tests/support/compare.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <sstream>
#include <vector>

#include "src/core/backend.h"

namespace capstan::testing {

namespace {

std::string describe(const Tensor& tensor) { return std::string(name_of(tensor.dtype())) + tensor.shape().to_string(); }

bool agree(double got, double want, double allowed) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want)) return got == want;
  return std::abs(got - want) <= allowed;  // false if got is NaN or infinite
}

}  // namespace

Tolerance golden_tolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kComplex128:
      return {1e-10, 1e-12};
    case DType::kFloat32:
    case DType::kComplex64:
      return {2e-5, 1e-6};
    case DType::kBFloat16:
      return {1.0 / 128, 1.0 / 1024};
    default:
      return {};
  }
}

std::string position(const Shape& shape, std::int64_t i) {
  std::string text = "]";
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text = std::to_string(i % shape[axis]) + (axis == shape.rank() - 1 ? "" : ", ") + text;
    i /= shape[axis];
  }
  return "[" + text;
}

namespace {

// Both parts may be off by what the magnitudes allow.
std::string complex_difference(const Tensor& got, const Tensor& want, Tolerance tolerance) {
  const auto a = got.to_vector<std::complex<double>>();
  const auto b = want.to_vector<std::complex<double>>();
  double largest = 0;
  for (const std::complex<double>& value : b) {
    if (std::isfinite(std::abs(value))) largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double magnitude = std::isfinite(std::abs(b[i])) ? std::abs(b[i]) : 0;
    const double allowed = tolerance.relative * magnitude + tolerance.floor * largest + tolerance.absolute;
    if (agree(a[i].real(), b[i].real(), allowed) && agree(a[i].imag(), b[i].imag(), allowed)) continue;
    std::ostringstream text;
    text.precision(17);
    text << "element " << position(want.shape(), static_cast<std::int64_t>(i)) << ": got " << a[i] << ", want " << b[i];
    return text.str();
  }
  return "";
}

}  // namespace

std::string difference(const Tensor& got, const Tensor& want, Tolerance tolerance) {
  if (!got.has_value()) return "got a missing tensor, want " + describe(want);
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
    return "got " + describe(got) + ", want " + describe(want);
  }
  const Tensor dense = got.to_dense();
  if (is_complex(want.dtype())) return complex_difference(dense, want, tolerance);
  if (!is_floating(want.dtype())) {
    const std::vector<std::int64_t> a = dense.to_vector<std::int64_t>();
    const std::vector<std::int64_t> b = want.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < b.size(); ++i) {
      if (a[i] == b[i]) continue;
      return "element " + position(want.shape(), static_cast<std::int64_t>(i)) + ": got " + std::to_string(a[i]) +
             ", want " + std::to_string(b[i]);
    }
    return "";
  }
  const std::vector<double> a = dense.to_vector<double>();
  const std::vector<double> b = want.to_vector<double>();
  double largest = 0;
  for (const double value : b) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (agree(a[i], b[i], tolerance.relative * std::abs(b[i]) + tolerance.floor * largest + tolerance.absolute))
      continue;
    std::ostringstream text;
    text.precision(17);
    text << "element " << position(want.shape(), static_cast<std::int64_t>(i)) << ": got " << a[i] << ", want " << b[i];
    text.precision(2);
    text << " (difference " << a[i] - b[i] << ", largest " << largest << ")";
    return text.str();
  }
  return "";
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.has_value() != b.has_value()) return false;
  if (!a.has_value()) return true;
  const Tensor dense_a = copy_to_host(a.to_dense());
  const Tensor dense_b = copy_to_host(b.to_dense());
  return dense_a.dtype() == dense_b.dtype() && dense_a.shape() == dense_b.shape() &&
         (dense_a.size() == 0 || std::memcmp(dense_a.raw_data(), dense_b.raw_data(),
                                             static_cast<std::size_t>(dense_a.size()) * size_of(dense_a.dtype())) == 0);
}

bool all_zero(const Tensor& tensor) {
  const auto values = tensor.to_dense().to_vector<std::complex<double>>();
  return std::all_of(values.begin(), values.end(), [](const std::complex<double>& value) { return value == 0.0; });
}

}  // namespace capstan::testing
