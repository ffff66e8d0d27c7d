#include "src/kernels/image/resample.h"

#include <algorithm>
#include <cmath>

#include "src/core/thread_pool.h"

namespace capstan {

namespace {

// Elements of the result per task; fixed, so that the split depends on the shape only.
constexpr std::int64_t kTaskElements = 1 << 14;

constexpr double kPi = 3.14159265358979323846;

double radius_of(ResampleMethod method) {
  switch (method) {
    case ResampleMethod::kBicubic:
    case ResampleMethod::kMitchellCubic:
      return 2;
    case ResampleMethod::kLanczos3:
      return 3;
    case ResampleMethod::kLanczos5:
      return 5;
    case ResampleMethod::kGaussian:
      return 1.5;
    default:
      return 1;
  }
}

double lanczos(double x, double radius) {
  if (x > radius) return 0;
  if (x <= 1e-3) return 1;  // where the formula is 0 / 0
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}

// The kernel at distance x >= 0.
double kernel_at(ResampleMethod method, double x) {
  switch (method) {
    case ResampleMethod::kBicubic:
      if (x >= 2) return 0;
      return x >= 1 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : (1.5 * x - 2.5) * x * x + 1;
    case ResampleMethod::kMitchellCubic:
      if (x >= 2) return 0;
      return x >= 1 ? ((-7.0 / 18 * x + 2) * x - 10.0 / 3) * x + 16.0 / 9 : (7.0 / 6 * x - 2) * x * x + 8.0 / 9;
    case ResampleMethod::kLanczos3:
      return lanczos(x, 3);
    case ResampleMethod::kLanczos5:
      return lanczos(x, 5);
    case ResampleMethod::kGaussian:
      return x >= 1.5 ? 0 : std::exp(-2 * x * x);  // a third of the radius is the deviation
    default:
      return x >= 1 ? 0 : 1 - x;
  }
}

void add_weight(SparseMatrix& matrix, std::int64_t column, double weight) {
  if (weight == 0) return;
  matrix.column.push_back(column);
  matrix.weight.push_back(weight);
}

// By the share of each pixel that the pixel of the result covers.
void area_row(SparseMatrix& matrix, double scale, std::int64_t from, std::int64_t row) {
  const double low = static_cast<double>(row) * scale;
  const double high = low + scale;
  const auto end = std::min(from, static_cast<std::int64_t>(std::ceil(high)));
  for (auto i = static_cast<std::int64_t>(low); i < end; ++i) {
    const auto pixel = static_cast<double>(i);
    add_weight(matrix, i, std::max(0.0, std::min(pixel + 1, high) - std::max(pixel, low)) / scale);
  }
}

void kernel_row(SparseMatrix& matrix, ResampleMethod method, double width, double center, std::int64_t from) {
  const double radius = radius_of(method) * width;
  const double last = static_cast<double>(from - 1);
  const auto begin = static_cast<std::int64_t>(std::clamp(std::ceil(center - radius - 0.5), 0.0, last));
  const auto end = static_cast<std::int64_t>(std::clamp(std::floor(center + radius - 0.5), 0.0, last));
  const std::size_t first = matrix.weight.size();
  double sum = 0;
  for (std::int64_t i = begin; i <= end; ++i) {
    const double weight = kernel_at(method, std::abs(static_cast<double>(i) + 0.5 - center) / width);
    sum += weight;
    add_weight(matrix, i, weight);
  }
  // Beyond the edges there is nothing, and what remains counts for all.
  if (std::abs(sum) < 1e-35) return;
  for (std::size_t k = first; k < matrix.weight.size(); ++k) matrix.weight[k] /= sum;
}

template <class T>
void resample(const SparseMatrix& matrix, std::int64_t outer, std::int64_t from, std::int64_t inner, const T* in,
              T* out) {
  const auto rows = static_cast<std::int64_t>(matrix.begin.size()) - 1;
  if (rows == 0 || outer == 0 || inner == 0) return;
  const std::int64_t per_task = std::max<std::int64_t>(1, kTaskElements / inner);
  const std::int64_t total = outer * rows;
  parallel_for((total + per_task - 1) / per_task, [&](std::int64_t task) {
    for (std::int64_t i = task * per_task; i < std::min(total, (task + 1) * per_task); ++i) {
      T* to = out + i * inner;
      const auto row = static_cast<std::size_t>(i % rows);
      std::fill_n(to, inner, T(0));
      for (auto k = static_cast<std::size_t>(matrix.begin[row]); k < static_cast<std::size_t>(matrix.begin[row + 1]);
           ++k) {
        const T weight = static_cast<T>(matrix.weight[k]);
        const T* x = in + (i / rows * from + matrix.column[k]) * inner;
        for (std::int64_t j = 0; j < inner; ++j) to[j] += weight * x[j];
      }
    }
  });
}

}  // namespace

SparseMatrix resample_matrix(ResampleMethod method, bool antialias, std::int64_t from, std::int64_t to) {
  SparseMatrix matrix;
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double width = antialias ? std::max(scale, 1.0) : 1.0;
  for (std::int64_t row = 0; row < to; ++row) {
    if (method == ResampleMethod::kNearest) {
      add_weight(matrix, nearest_place(row, from, to), 1);
    } else if (method == ResampleMethod::kArea) {
      area_row(matrix, scale, from, row);
    } else {
      kernel_row(matrix, method, width, (static_cast<double>(row) + 0.5) * scale, from);
    }
    matrix.begin.push_back(static_cast<std::int64_t>(matrix.column.size()));
  }
  return matrix;
}

SparseMatrix transpose_matrix(const SparseMatrix& matrix, std::int64_t columns) {
  SparseMatrix result;
  result.begin.assign(static_cast<std::size_t>(columns) + 1, 0);
  for (std::int64_t column : matrix.column) ++result.begin[static_cast<std::size_t>(column) + 1];
  for (std::size_t i = 1; i < result.begin.size(); ++i) result.begin[i] += result.begin[i - 1];
  result.column.resize(matrix.column.size());
  result.weight.resize(matrix.weight.size());
  std::vector<std::int64_t> next = result.begin;
  for (std::size_t row = 0; row + 1 < matrix.begin.size(); ++row) {
    for (auto k = static_cast<std::size_t>(matrix.begin[row]); k < static_cast<std::size_t>(matrix.begin[row + 1]);
         ++k) {
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(matrix.column[k])]++);
      result.column[to] = static_cast<std::int64_t>(row);
      result.weight[to] = matrix.weight[k];
    }
  }
  return result;
}

void resample_axis(const SparseMatrix& matrix, std::int64_t outer, std::int64_t from, std::int64_t inner,
                   const float* in, float* out) {
  resample(matrix, outer, from, inner, in, out);
}
void resample_axis(const SparseMatrix& matrix, std::int64_t outer, std::int64_t from, std::int64_t inner,
                   const double* in, double* out) {
  resample(matrix, outer, from, inner, in, out);
}

}  // namespace capstan
