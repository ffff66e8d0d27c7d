// Samples and references of the ops in src/ops/math/complex.cc.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "src/core/apply.h"
#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

using Inputs = std::vector<ComplexTensor>;

template <std::complex<double> (*function)(std::complex<double>), DType kOutput>
void map_reference(const Inputs& in, const AttributeMap&, Inputs& out) {
  out = {{kOutput, in[0].shape, {}}};
  for (const std::complex<double>& z : in[0].values) out[0].values.push_back(function(z));
}

std::vector<OpSample> part_samples() {
  return {{.inputs = {{.shape = {2, 3}, .domain = {0.25, 2.0}}}},
          {.inputs = {{.shape = {}, .domain = {0.25, 2.0}}}},
          {.inputs = {{.shape = {0, 2}}}},
          {.inputs = {{.shape = {70000}, .domain = {0.25, 2.0}}}}};
}

template <std::complex<double> (*function)(std::complex<double>), DType kOutput>
const OpTest kPartTest = {
    .samples = part_samples, .complex_reference = map_reference<function, kOutput>, .dtypes = {complex64, complex128}};

std::complex<double> real_of(std::complex<double> z) { return z.real(); }
std::complex<double> imaginary_of(std::complex<double> z) { return z.imag(); }
std::complex<double> conjugate_of(std::complex<double> z) { return std::conj(z); }
std::complex<double> magnitude_of(std::complex<double> z) { return std::abs(z); }
std::complex<double> angle_of(std::complex<double> z) { return std::arg(z); }

std::vector<OpSample> complex_samples() {
  return {{.inputs = {{.shape = {2, 3}}, {.shape = {2, 3}}}},
          {.inputs = {{.shape = {2, 1}}, {.shape = {3}}}},
          {.inputs = {{.shape = {0}}, {.shape = {}}}},
          {.inputs = {{.shape = {2}}, {.shape = {3}}}, .error = "complex: shapes do not broadcast, [2] and [3]"}};
}
void complex_reference(const std::vector<ReferenceTensor>& in, const AttributeMap&, std::vector<ReferenceTensor>& out) {
  const Shape shape = broadcast_shapes("reference", in[0].shape, in[1].shape);
  out = {{in[0].dtype == DType::kFloat32 ? DType::kComplex64 : DType::kComplex128, shape, {}}};
  const auto element = [&](const ReferenceTensor& x, std::int64_t row, std::int64_t column) {
    const std::int64_t columns = x.shape.rank() == 0 ? 1 : x.shape[-1];
    const std::int64_t rows = x.shape.rank() < 2 ? 1 : x.shape[-2];
    return x.values[static_cast<std::size_t>((rows == 1 ? 0 : row) * columns + (columns == 1 ? 0 : column))];
  };
  const std::int64_t columns = std::max<std::int64_t>(1, shape[-1]);
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    out[0].values.push_back(element(in[0], i / columns, i % columns));
    out[0].values.push_back(element(in[1], i / columns, i % columns));
  }
}

const OpTests kComplexTests = {
    {"complex", {.samples = complex_samples, .reference = complex_reference, .dtypes = {float32, float64}}},
    {"real", kPartTest<real_of, DType::kFloat64>},
    {"imag", kPartTest<imaginary_of, DType::kFloat64>},
    {"conj", kPartTest<conjugate_of, DType::kComplex128>},
    {"complex_abs", kPartTest<magnitude_of, DType::kFloat64>},
    {"angle", kPartTest<angle_of, DType::kFloat64>},
};

}  // namespace

}  // namespace capstan::testing
