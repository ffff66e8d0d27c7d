// Samples and references of the ops in src/ops/image/image_measure.cc.
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::Position;

// The pixel `rows` further down and `columns` to the right; the position's last axes are [height, width, channels].
double neighbour(const ReferenceTensor& x, Position position, std::int64_t rows, std::int64_t columns) {
  position[position.size() - 3] += rows;
  position[position.size() - 2] += columns;
  return reference::at(x, position);
}

std::vector<OpSample> batch_samples() {
  return {{.inputs = {{.shape = {1, 3, 3, 1}}}},
          {.inputs = {{.shape = {2, 2, 4, 2}}}},
          {.inputs = {{.shape = {3, 3, 1}}}, .error = "must be [batch, height, width, channels], not of rank 3"}};
}
void gradients_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  const Shape& shape = in[0].shape;
  out.clear();
  for (int axis : {1, 2}) {
    out.push_back(reference::build(in[0].dtype, shape, [&](const Position& at) {
      if (at[static_cast<std::size_t>(axis)] == shape[axis] - 1) return 0.0;
      return neighbour(in[0], at, axis == 1, axis == 2) - reference::at(in[0], at);
    }));
  }
}
void sobel_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  Shape shape = in[0].shape;
  shape.push_back(2);
  const auto mirrored = [](std::int64_t i, std::int64_t n) { return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i; };
  out = {reference::build(in[0].dtype, shape, [&](const Position& at) {
    double sum = 0;
    for (std::int64_t i = -1; i <= 1; ++i) {
      for (std::int64_t j = -1; j <= 1; ++j) {
        const double weight = static_cast<double>(at[4] == 0 ? i * (2 - std::abs(j)) : j * (2 - std::abs(i)));
        sum +=
            weight * reference::at(in[0], {at[0], mirrored(at[1] + i, shape[1]), mirrored(at[2] + j, shape[2]), at[3]});
      }
    }
    return sum;
  })};
}
std::vector<OpSample> variation_samples() {
  return {{.inputs = {{.shape = {3, 2, 1}}}},
          {.inputs = {{.shape = {2, 2, 3, 2}}}},
          {.inputs = {{.shape = {1, 1, 2}}}},
          {.inputs = {{.shape = {3}}}, .error = "not of rank 1"}};
}
void variation_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  const Shape& shape = in[0].shape;
  const bool batch = shape.rank() == 4;
  out = {{in[0].dtype, batch ? Shape{shape[0]} : Shape{}, std::vector<double>(batch ? shape[0] : 1)}};
  reference::for_each(shape, [&](const Position& at) {
    double& sum = out[0].values[batch ? static_cast<std::size_t>(at[0]) : 0];
    const double mine = reference::at(in[0], at);
    if (at[at.size() - 3] + 1 < shape[-3]) sum += std::abs(neighbour(in[0], at, 1, 0) - mine);
    if (at[at.size() - 2] + 1 < shape[-2]) sum += std::abs(neighbour(in[0], at, 0, 1) - mine);
  });
}
std::vector<OpSample> psnr_samples() {
  return {{.inputs = {{.shape = {2, 2, 1}}, {.shape = {2, 2, 1}}}, .attributes = {{"max_val", 1.0}}},
          {.inputs = {{.shape = {2, 2, 3, 1}}, {.shape = {2, 2, 3, 1}}}, .attributes = {{"max_val", 255}}},
          {.inputs = {{.shape = {2, 2, 1}}, {.shape = {2, 1, 1}}},
           .attributes = {{"max_val", 1}},
           .error = "shapes differ, [2, 2, 1] and [2, 1, 1]"},
          {.inputs = {{.shape = {2, 2, 1}}, {.shape = {2, 2, 1}}},
           .attributes = {{"max_val", 0}},
           .error = "max_val is 0"}};
}
void psnr_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const Shape& shape = in[0].shape;
  const bool batch = shape.rank() == 4;
  const auto n = static_cast<std::size_t>(shape[-3] * shape[-2] * shape[-1]);
  const double largest = attributes.at("max_val").number;
  out = {{in[0].dtype, batch ? Shape{shape[0]} : Shape{}, {}}};
  for (std::size_t begin = 0; begin < in[0].values.size(); begin += n) {
    double sum = 0;
    for (std::size_t i = begin; i < begin + n; ++i) sum += std::pow(in[0].values[i] - in[1].values[i], 2);
    out[0].values.push_back(10 * std::log10(largest * largest * static_cast<double>(n) / sum));
  }
}
std::vector<OpSample> ssim_samples() {
  const auto pixels = [](Shape shape) { return SampleInput{.shape = shape, .domain = {0, 1}}; };
  return {{.inputs = {pixels({4, 5, 1}), pixels({4, 5, 1})}, .attributes = {{"max_val", 1.0}, {"filter_size", 3}}},
          {.inputs = {pixels({2, 3, 4, 2}), pixels({2, 3, 4, 2})},
           .attributes = {{"max_val", 1.0}, {"filter_size", 2}, {"filter_sigma", 0.8}}},
          {.inputs = {pixels({3, 5, 1}), pixels({3, 5, 1})},
           .attributes = {{"max_val", 1.0}},
           .error = "3 x 5 pixels are less than the window of 11"},
          {.inputs = {pixels({3, 5, 1}), pixels({3, 5, 1})},
           .attributes = {{"max_val", 1.0}, {"filter_size", 0}},
           .error = "filter_size is 0"}};
}
// Weights of a Gaussian window that add up to 1.
std::vector<double> gaussian(std::int64_t size, double sigma) {
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const double x = (static_cast<double>(i) - static_cast<double>(size - 1) / 2) / sigma;
    weights.push_back(std::exp(-x * x / 2));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}
void ssim_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const Shape& shape = in[0].shape;
  const std::int64_t size = reference::integer(attributes, "filter_size", 11);
  const std::vector<double> window = gaussian(size, reference::number(attributes, "filter_sigma", 1.5));
  const double c1 = std::pow(0.01 * attributes.at("max_val").number, 2);
  const double c2 = std::pow(0.03 * attributes.at("max_val").number, 2);
  const bool batch = shape.rank() == 4;
  out = {{in[0].dtype, batch ? Shape{shape[0]} : Shape{}, std::vector<double>(batch ? shape[0] : 1)}};
  Shape windows = shape;
  windows.set(-3, shape[-3] - size + 1);
  windows.set(-2, shape[-2] - size + 1);
  const double count = static_cast<double>(windows[-3] * windows[-2] * windows[-1]);
  reference::for_each(windows, [&](const Position& at) {
    double mean_a = 0;
    double mean_b = 0;
    double product = 0;
    double squares = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t j = 0; j < size; ++j) {
        const double weight = window[static_cast<std::size_t>(i)] * window[static_cast<std::size_t>(j)];
        const double a = neighbour(in[0], at, i, j);
        const double b = neighbour(in[1], at, i, j);
        mean_a += weight * a;
        mean_b += weight * b;
        product += weight * a * b;
        squares += weight * (a * a + b * b);
      }
    }
    const double means = mean_a * mean_a + mean_b * mean_b;
    out[0].values[batch ? static_cast<std::size_t>(at[0]) : 0] += (2 * mean_a * mean_b + c1) / (means + c1) *
                                                                  (2 * product - 2 * mean_a * mean_b + c2) /
                                                                  (squares - means + c2) / count;
  });
}

const OpTests kImageMeasureTests = {
    {"image_image_gradients", {.samples = batch_samples, .reference = gradients_reference}},
    {"image_sobel_edges", {.samples = batch_samples, .reference = sobel_reference}},
    {"image_total_variation", {.samples = variation_samples, .reference = variation_reference}},
    {"image_psnr", {.samples = psnr_samples, .reference = psnr_reference}},
    {"image_ssim",
     {.samples = ssim_samples, .reference = ssim_reference, .dtypes = {DType::kFloat32, DType::kFloat64}}},
};

}  // namespace

}  // namespace capstan::testing
