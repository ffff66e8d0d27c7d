// Samples and references of the ops in src/ops/image/image_resize.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::ints;

std::vector<OpSample> resize_samples() {
  std::vector<OpSample> samples;
  for (const char* method :
       {"nearest", "bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"}) {
    samples.push_back(
        {.inputs = {{.shape = {1, 3, 4, 2}}}, .attributes = {{"size", ints({5, 3})}, {"method", std::string(method)}}});
    samples.push_back({.inputs = {{.shape = {7, 5, 1}}},
                       .attributes = {{"size", ints({3, 6})}, {"method", std::string(method)}, {"antialias", true}}});
  }
  samples.push_back({.inputs = {{.shape = {3, 3, 1}}}, .attributes = {{"size", ints({3, 3})}, {"method", "gaussian"}}});
  samples.push_back(
      {.inputs = {{.shape = {4, 2, 1}}}, .attributes = {{"size", ints({6, 6})}, {"preserve_aspect_ratio", true}}});
  samples.push_back({.inputs = {{.shape = {0, 2, 2, 1}}}, .attributes = {{"size", ints({1, 1})}}});
  samples.push_back({.inputs = {{.shape = {3, 3}}}, .attributes = {{"size", ints({2, 2})}}, .error = "not of rank 2"});
  samples.push_back({.inputs = {{.shape = {3, 3, 1}}},
                     .attributes = {{"size", ints({2, 2})}, {"method", "cubicish"}},
                     .error = "not cubicish"});
  samples.push_back({.inputs = {{.shape = {3, 3, 1}}},
                     .attributes = {{"size", ints({2, 2, 2})}},
                     .error = "must be {height, width}"});
  samples.push_back(
      {.inputs = {{.shape = {3, 3, 1}}}, .attributes = {{"size", ints({0, 2})}}, .error = "the size is 0 x 2"});
  samples.push_back(
      {.inputs = {{.shape = {0, 3, 1}}}, .attributes = {{"size", ints({2, 2})}}, .error = "the image has no pixels"});
  return samples;
}

double sinc(double x) { return x == 0 ? 1 : std::sin(M_PI * x) / (M_PI * x); }

// The unnormalised weight of element j for element i of the result.
double weight_of(const std::string& method, bool antialias, std::int64_t i, std::int64_t j, std::int64_t from,
                 std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double center = (static_cast<double>(i) + 0.5) * scale;
  const auto place = static_cast<double>(j);
  if (method == "nearest") return std::floor(center) == place ? 1 : 0;
  if (method == "area") {
    const double low = static_cast<double>(i) * scale;
    return std::max(0.0, std::min(place + 1, low + scale) - std::max(place, low));
  }
  const double x = std::abs(place + 0.5 - center) / (antialias ? std::max(scale, 1.0) : 1.0);
  if (method == "bilinear") return std::max(0.0, 1 - x);
  if (method == "gaussian") return x < 1.5 ? std::exp(-x * x / 0.5) : 0;
  if (method == "lanczos3") return x < 3 ? sinc(x) * sinc(x / 3) : 0;
  if (method == "lanczos5") return x < 5 ? sinc(x) * sinc(x / 5) : 0;
  // The family of cubics with B and C.
  const double b = method == "bicubic" ? 0 : 1.0 / 3;
  const double c = method == "bicubic" ? 0.5 : 1.0 / 3;
  if (x < 1) return ((12 - 9 * b - 6 * c) * x * x * x + (-18 + 12 * b + 6 * c) * x * x + 6 - 2 * b) / 6;
  if (x < 2) {
    return ((-b - 6 * c) * x * x * x + (6 * b + 30 * c) * x * x + (-12 * b - 48 * c) * x + 8 * b + 24 * c) / 6;
  }
  return 0;
}

std::vector<std::vector<double>> dense_matrix(const AttributeMap& attributes, std::int64_t from, std::int64_t to,
                                              bool same) {
  const std::string method = same                            ? "nearest"
                             : attributes.contains("method") ? attributes.at("method").text
                                                             : "bilinear";
  std::vector<std::vector<double>> matrix;
  for (std::int64_t i = 0; i < to; ++i) {
    std::vector<double> row;
    double sum = 0;
    for (std::int64_t j = 0; j < from; ++j) {
      row.push_back(weight_of(method, attributes.contains("antialias"), i, j, from, to));
      sum += row.back();
    }
    for (double& weight : row) weight /= sum;
    matrix.push_back(row);
  }
  return matrix;
}

// The images resized from `small` to `large`, or the transpose of that.
ReferenceTensor apply_dense(const ReferenceTensor& x, const AttributeMap& attributes, std::int64_t height,
                            std::int64_t width, bool transposed) {
  const Shape from = x.shape;
  Shape to = from;
  to.set(-3, height);
  to.set(-2, width);
  const bool same = from[-3] == height && from[-2] == width;
  const auto rows =
      transposed ? dense_matrix(attributes, height, from[-3], same) : dense_matrix(attributes, from[-3], height, same);
  const auto columns =
      transposed ? dense_matrix(attributes, width, from[-2], same) : dense_matrix(attributes, from[-2], width, same);
  const auto weight = [&](const auto& matrix, std::int64_t of, std::int64_t by) {
    return transposed ? matrix[static_cast<std::size_t>(by)][static_cast<std::size_t>(of)]
                      : matrix[static_cast<std::size_t>(of)][static_cast<std::size_t>(by)];
  };
  return reference::build(x.dtype, to, [&](reference::Position position) {
    const std::size_t row = position.size() - 3;
    const std::int64_t y = position[row];
    const std::int64_t z = position[row + 1];
    double sum = 0;
    for (std::int64_t i = 0; i < from[-3]; ++i) {
      for (std::int64_t j = 0; j < from[-2]; ++j) {
        position[row] = i;
        position[row + 1] = j;
        sum += weight(rows, y, i) * weight(columns, z, j) * reference::at(x, position);
      }
    }
    return sum;
  });
}

void resize_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  std::vector<std::int64_t> size = reference::integers(attributes, "size");
  if (attributes.contains("preserve_aspect_ratio")) {
    const double height = static_cast<double>(in[0].shape[-3]);
    const double width = static_cast<double>(in[0].shape[-2]);
    const double scale = std::min(static_cast<double>(size[0]) / height, static_cast<double>(size[1]) / width);
    size = {std::lround(height * scale), std::lround(width * scale)};
  }
  out = {apply_dense(in[0], attributes, size[0], size[1], false)};
}
std::vector<OpSample> adjoint_samples() {
  return {{.inputs = {{.shape = {2, 5, 3, 1}}, {.shape = {2, 3, 4, 1}, .differentiable = false}}},
          {.inputs = {{.shape = {3, 2, 2}}, {.shape = {7, 5, 2}, .differentiable = false}},
           .attributes = {{"method", "lanczos3"}, {"antialias", true}}},
          {.inputs = {{.shape = {3, 2, 1}}, {.shape = {3, 2, 1}, .differentiable = false}}},
          {.inputs = {{.shape = {3, 2, 1}}, {.shape = {3, 2, 2}, .differentiable = false}},
           .error = "shapes differ beside the size"},
          {.inputs = {{.shape = {3, 2, 1}}, {.shape = {3, 2, 1}, .differentiable = false}},
           .attributes = {{"method", "cubicish"}},
           .error = "not cubicish"}};
}
void adjoint_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  out = {apply_dense(in[0], attributes, in[1].shape[-3], in[1].shape[-2], true)};
}

const OpTests kImageResizeTests = {
    {"image_resize", {.samples = resize_samples, .reference = resize_reference}},
    {"image_resize_adjoint", {.samples = adjoint_samples, .reference = adjoint_reference}},
};

}  // namespace

}  // namespace capstan::testing
