// Orthogonal initializers.
//
// The vectors of the shorter side are drawn and made orthonormal, each against those before it (Gram and Schmidt),
// which gives the q of the decomposition whose r has a positive diagonal. That is done twice, since once leaves vectors
// that are nearly parallel to begin with only nearly orthogonal. Blocks of vectors are freed of all blocks before them
// by matrix products; inside a block it goes vector by vector. LAPACK, which a program may lack, is not needed.
#include <algorithm>
#include <cmath>
#include <vector>

#include "capstan/initializers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"
#include "src/train/classes.h"
#include "src/train/drawing.h"

namespace capstan {

namespace {

// Four sums at once: one after the other each addition would wait for the one before it.
double dot(const double* a, const double* b, std::int64_t n) {
  double sums[4] = {};
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The rows [count, length], made orthonormal among themselves.
void make_orthonormal(std::vector<double>& rows, std::int64_t count, std::int64_t length) {
  for (std::int64_t i = 0; i < count; ++i) {
    double* const row = rows.data() + i * length;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t j = 0; j < i; ++j) {
        const double* const before = rows.data() + j * length;
        const double shared = dot(row, before, length);
        for (std::int64_t k = 0; k < length; ++k) row[k] -= shared * before[k];
      }
    }
    const double norm = std::sqrt(dot(row, row, length));
    for (std::int64_t k = 0; k < length; ++k) row[k] /= norm;
  }
}

// The rows of a float64 matrix that has at least as many columns, made orthonormal.
Tensor orthonormal_rows(const Tensor& drawn) {
  constexpr std::int64_t kBlock = 32;
  const std::int64_t count = drawn.dim(0), length = drawn.dim(1);
  std::vector<Tensor> done;
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const std::int64_t size = std::min(kBlock, count - first);
    Tensor block = slice(drawn, {first, 0}, {size, length});
    const Tensor before = done.empty() ? Tensor() : concat(done, 0);
    for (int pass = 0; pass < 2 && before.has_value(); ++pass) {
      block = block - matmul(matmul(block, before, {.transpose_b = true}), before);
    }
    std::vector<double> rows = block.to_vector<double>();
    make_orthonormal(rows, size, length);
    done.push_back(constant(rows, {size, length}));
  }
  return done.empty() ? drawn : concat(done, 0);
}

struct OrthogonalOptions {
  double gain = 1;
  Seed seed = {};
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&OrthogonalOptions::seed>("seed"),
                                          option<&OrthogonalOptions::gain>("gain")};
    return all;
  }
};

struct OrthogonalBody final : detail::Drawing<OrthogonalBody, OrthogonalOptions> {
  using Drawing::Drawing;
  static constexpr std::string_view kName = "Orthogonal", kAlias = "OrthogonalInitializer";
  static constexpr std::string_view kText = "A matrix with orthonormal rows or columns, times `gain`.";
  Tensor value(const Shape& shape, DType dtype) const override {
    CAPSTAN_CHECK(shape.rank() >= 2, ShapeError, "initializer: orthogonal needs a shape of rank 2 or more, not ",
                  shape);
    const std::int64_t columns = shape[-1];
    const std::int64_t rows = columns == 0 ? 0 : shape.size() / columns;
    const std::int64_t many = std::max(rows, columns), few = std::min(rows, columns);
    if (few == 0) return zeros(shape, dtype);
    const DType drawn_as = dtype == DType::kFloat64 ? dtype : DType::kFloat32;
    const Tensor drawn = draws.normal({many, few}, 0, 1, drawn_as);
    const Tensor unit = orthonormal_rows(transpose(cast(drawn, DType::kFloat64)));
    return cast(reshape(rows < columns ? unit : transpose(unit), shape) * options.gain, dtype);
  }
};

}  // namespace

initializers::Orthogonal::Orthogonal(double gain, Seed seed)
    : Initializer(make_configurable<OrthogonalBody>(OrthogonalOptions{gain, seed})) {}

const ClassInfo& detail::orthogonal_class() { return OrthogonalBody::info(); }

}  // namespace capstan
