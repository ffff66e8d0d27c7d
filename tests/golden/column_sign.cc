#include "tests/golden/column_sign.h"

#include <algorithm>

#include "capstan/ops/math.h"
#include "tests/support/make_tensor.h"

namespace capstan::testing {

namespace {

// For every column of every matrix, 1 or -1: the sign of its product with the stored one.
std::vector<double> signs_of_columns(const Tensor& got, const Tensor& want) {
  const std::vector<double> a = got.to_vector<double>();
  const std::vector<double> b = want.to_vector<double>();
  const auto rows = static_cast<std::size_t>(got.dim(-2));
  const auto columns = static_cast<std::size_t>(got.dim(-1));
  std::vector<double> signs;
  for (std::size_t start = 0; start < a.size() && a.size() == b.size(); start += rows * columns) {
    for (std::size_t j = 0; j < columns; ++j) {
      double product = 0;
      for (std::size_t i = 0; i < rows; ++i) product += a[start + i * columns + j] * b[start + i * columns + j];
      signs.push_back(product < 0 ? -1 : 1);
    }
  }
  return signs;
}

// The first `length` signs of each matrix where `matrices` has more or fewer; those that are lacking come from `rest`.
std::vector<double> resized(const std::vector<double>& signs, std::size_t width, const std::vector<double>& rest,
                            std::size_t length) {
  std::vector<double> result;
  for (std::size_t matrix = 0; width > 0 && length > 0 && matrix < signs.size() / width; ++matrix) {
    for (std::size_t j = 0; j < length; ++j) {
      result.push_back(j < width ? signs[matrix * width + j] : rest[matrix * length + j]);
    }
  }
  return result;
}

Tensor scaled(const Tensor& x, const std::vector<double>& signs, bool columns) {
  Shape shape = x.shape();
  shape.set(columns ? -2 : -1, 1);
  return x * make_tensor(x.dtype(), shape, signs);
}

}  // namespace

std::vector<Tensor> with_signs_of(std::string_view op, const std::vector<Tensor>& outputs,
                                  const std::vector<Tensor>& stored) {
  std::vector<Tensor> result = outputs;
  if (op == "qr") {
    const std::vector<double> signs = signs_of_columns(outputs[0], stored[0]);
    result[0] = scaled(outputs[0], signs, true);
    result[1] = scaled(outputs[1], signs, false);
  } else if (op == "eigh") {
    result[1] = scaled(outputs[1], signs_of_columns(outputs[1], stored[1]), true);
  } else if (op == "svd" && outputs.size() == 3) {
    const std::vector<double> signs = signs_of_columns(outputs[1], stored[1]);
    const std::vector<double> of_v = signs_of_columns(outputs[2], stored[2]);
    const auto width = static_cast<std::size_t>(outputs[1].dim(-1));
    result[1] = scaled(outputs[1], signs, true);
    result[2] = scaled(outputs[2], resized(signs, width, of_v, static_cast<std::size_t>(outputs[2].dim(-1))), true);
  }
  return result;
}

}  // namespace capstan::testing
