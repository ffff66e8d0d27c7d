// The slow references of Fourier transforms: sums over all elements, by the definition.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing::reference {

// The transform along one axis, not scaled.
inline ComplexTensor transform_axis(const ComplexTensor& x, int axis, bool inverse) {
  std::int64_t inner = 1;
  for (int i = axis + 1; i < x.shape.rank(); ++i) inner *= x.shape[i];
  const std::int64_t n = x.shape[axis];
  ComplexTensor out = x;
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(x.values.size()); ++at) {
    const std::int64_t k = at / inner % n;
    std::complex<double> sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const double angle = 2 * 3.14159265358979323846 * static_cast<double>(j * k % n) / static_cast<double>(n);
      sum += x.values[static_cast<std::size_t>(at + (j - k) * inner)] * std::polar(1.0, inverse ? angle : -angle);
    }
    out.values[static_cast<std::size_t>(at)] = sum;
  }
  return out;
}

// Along the last axes; the inverse is scaled.
inline ComplexTensor transform(ComplexTensor x, int axes, bool inverse) {
  for (int i = 1; i <= axes; ++i) {
    const int axis = x.shape.rank() - i;
    x = transform_axis(x, axis, inverse);
    if (!inverse) continue;
    for (std::complex<double>& value : x.values) value /= static_cast<double>(x.shape[axis]);
  }
  return x;
}

// The last axes cut or padded with zeros.
inline ComplexTensor fit(const ComplexTensor& x, const std::vector<std::int64_t>& lengths) {
  ComplexTensor out{x.dtype, x.shape, {}};
  for (std::size_t i = 1; i <= lengths.size(); ++i) out.shape.set(-static_cast<int>(i), lengths[lengths.size() - i]);
  for_each(out.shape, [&](const Position& position) {
    bool inside = true;
    for (int i = 0; i < x.shape.rank(); ++i) inside &= position[static_cast<std::size_t>(i)] < x.shape[i];
    out.values.push_back(inside ? x.values[flat(x.shape, position)] : 0);
  });
  return out;
}

template <int kAxes, bool kInverse>
void fft(const std::vector<ComplexTensor>& in, const AttributeMap&, std::vector<ComplexTensor>& out) {
  out = {transform(in[0], kAxes, kInverse)};
  out[0].dtype = DType::kComplex128;
}

// The whole transform, of which the first half along the last axis is kept.
template <int kAxes>
void rfft(const std::vector<ReferenceTensor>& in, const AttributeMap& attributes, std::vector<ReferenceTensor>& out) {
  ComplexTensor x{DType::kComplex128, in[0].shape, {in[0].values.begin(), in[0].values.end()}};
  if (has(attributes, "fft_length")) x = fit(x, integers(attributes, "fft_length"));
  x = transform(x, kAxes, false);
  const std::int64_t n = x.shape[-1];
  out = {{in[0].dtype == DType::kFloat32 ? DType::kComplex64 : DType::kComplex128, x.shape, {}}};
  out[0].shape.set(-1, n == 0 ? 0 : n / 2 + 1);
  for_each(out[0].shape, [&](const Position& position) {
    const std::complex<double> value = x.values[flat(x.shape, position)];
    out[0].values.push_back(value.real());
    out[0].values.push_back(value.imag());
  });
}

// The inverse along all axes but the last, and then of the half with its conjugates.
template <int kAxes>
void irfft(const std::vector<ComplexTensor>& in, const AttributeMap& attributes, std::vector<ComplexTensor>& out) {
  std::vector<std::int64_t> lengths = integers(attributes, "fft_length");
  if (lengths.empty()) {
    for (int i = kAxes; i > 1; --i) lengths.push_back(in[0].shape[-i]);
    lengths.push_back(2 * (in[0].shape[-1] - 1));
  }
  const std::int64_t n = lengths.back();
  lengths.back() = n / 2 + 1;
  ComplexTensor x = fit(in[0], lengths);
  for (int i = 2; i <= kAxes; ++i) {
    const int axis = x.shape.rank() - i;
    x = transform_axis(x, axis, true);
    for (std::complex<double>& value : x.values) value /= static_cast<double>(x.shape[axis]);
  }
  ComplexTensor whole{DType::kFloat64, x.shape, {}};
  whole.shape.set(-1, n);
  for_each(whole.shape, [&](Position position) {
    const std::int64_t k = position.back();
    position.back() = std::min(k, n - k);
    const std::complex<double> value = x.values[flat(x.shape, position)];
    whole.values.push_back(k == 0 || 2 * k == n ? value.real() : 2 * k < n ? value : std::conj(value));
  });
  whole = transform(whole, 1, true);
  for (std::complex<double>& value : whole.values) value = value.real();
  out = {whole};
}

}  // namespace capstan::testing::reference
