// Samples and references of the ops in src/ops/loss/ctc.cc.
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

SampleInput integers(Shape shape, std::vector<double> values, DType dtype = int32) {
  return {.shape = std::move(shape), .values = std::move(values), .dtype = dtype, .differentiable = false};
}

std::vector<OpSample> ctc_loss_samples() {
  return {
      {.inputs = {integers({2, 2}, {1, 2, 2, 0}), {.shape = {2, 4, 3}}, integers({2}, {2, 1}), integers({2}, {4, 3})}},
      // Equal neighbours, which need a blank between them; a blank that is not the first class; no labels.
      {.inputs = {integers({3, 2}, {1, 1, 0, 3, 0, 0}, int64),
                  {.shape = {3, 5, 4}},
                  integers({3}, {2, 2, 0}, int64),
                  integers({3}, {5, 4, 2}, int64)},
       .attributes = {{"blank_index", 2}}},
      {.inputs = {integers({0, 1}, {}), {.shape = {0, 2, 2}}, integers({0}, {}), integers({0}, {})}},
      {.inputs = {integers({1, 2}, {1, 3}), {.shape = {1, 4, 3}}, integers({1}, {2}), integers({1}, {4})},
       .error = "label 3 of sequence 0 is not one of 3 classes"},
      {.inputs = {integers({1, 2}, {1, 0}), {.shape = {1, 4, 3}}, integers({1}, {2}), integers({1}, {4})},
       .error = "label 0 of sequence 0 is not one of 3 classes without the blank 0"},
      {.inputs = {integers({1, 2}, {1, 2}), {.shape = {1, 4, 3}}, integers({1}, {3}), integers({1}, {4})},
       .error = "label_length 3 of sequence 0 is outside the range from 0 to 2"},
      {.inputs = {integers({1, 2}, {1, 2}), {.shape = {1, 4, 3}}, integers({1}, {2}), integers({1}, {5})},
       .error = "logit_length 5 of sequence 0 is outside the range from 0 to 4"},
      {.inputs = {integers({1, 2}, {1, 2}), {.shape = {4, 3}}, integers({1}, {2}), integers({1}, {4})},
       .error = "logits must have rank 3, not 2"},
      {.inputs = {integers({2, 2}, {1, 2, 1, 2}), {.shape = {1, 4, 3}}, integers({1}, {2}), integers({1}, {4})},
       .error = "batches differ, 2 and 1"},
      {.inputs = {integers({1, 1}, {1}), {.shape = {1, 4, 3}}, integers({1}, {1}), integers({1}, {4})},
       .attributes = {{"blank_index", 3}},
       .error = "blank 3 is not one of 3 classes"},
  };
}

// What one sequence gives by enumerating all paths.
struct Enumerated {
  double loss = 0;
  std::vector<double> gradient;
  std::vector<double> curvature;  // along the direction
};

Enumerated enumerate(const std::vector<double>& x, const std::vector<double>& direction, std::int64_t frames,
                     std::int64_t classes, const std::vector<std::int64_t>& labels, std::int64_t blank) {
  const std::size_t size = x.size();
  const auto at = [&](std::int64_t t, std::int64_t c) { return static_cast<std::size_t>(t * classes + c); };
  Enumerated result{.loss = 0, .gradient = std::vector<double>(size), .curvature = std::vector<double>(size)};
  std::vector<double> p(size);
  for (std::int64_t t = 0; t < frames; ++t) {
    double sum = 0;
    double along = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(x[at(t, c)]);
    for (std::int64_t c = 0; c < classes; ++c) {
      p[at(t, c)] = std::exp(x[at(t, c)]) / sum;
      along += p[at(t, c)] * direction[at(t, c)];
    }
    for (std::int64_t c = 0; c < classes; ++c) {
      result.gradient[at(t, c)] = p[at(t, c)];
      result.curvature[at(t, c)] = p[at(t, c)] * (direction[at(t, c)] - along);
    }
  }
  // The mean number of visits, of the direction along the path, and of their product.
  std::vector<double> visits(size);
  std::vector<double> products(size);
  double total = 0;
  double mean = 0;
  std::int64_t paths = 1;
  for (std::int64_t t = 0; t < frames; ++t) paths *= classes;
  for (std::int64_t path = 0; path < paths; ++path) {
    std::vector<std::int64_t> spelled;
    std::vector<std::size_t> places;
    std::int64_t before = blank;
    std::int64_t rest = path;
    double probability = 1;
    double along = 0;
    for (std::int64_t t = 0; t < frames; ++t, rest /= classes) {
      const std::int64_t c = rest % classes;
      places.push_back(at(t, c));
      probability *= p[places.back()];
      along += direction[places.back()];
      if (c != before && c != blank) spelled.push_back(c);
      before = c;
    }
    if (spelled != labels) continue;
    total += probability;
    mean += probability * along;
    for (const std::size_t place : places) {
      visits[place] += probability;
      products[place] += probability * along;
    }
  }
  result.loss = -std::log(total);
  for (std::size_t i = 0; i < size; ++i) {
    result.gradient[i] -= visits[i] / total;
    result.curvature[i] -= products[i] / total - visits[i] / total * (mean / total);
  }
  return result;
}

// Of batch-major logits: the losses, the gradients, the curvatures.
std::vector<ReferenceTensor> enumerate_batch(const std::vector<ReferenceTensor>& inputs, std::int64_t blank) {
  const Shape& shape = inputs[1].shape;
  std::vector<ReferenceTensor> results = {
      {DType::kFloat64, {shape[0]}, {}}, {DType::kFloat64, shape, {}}, {DType::kFloat64, shape, {}}};
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    const auto frames = static_cast<std::int64_t>(inputs[3].values[static_cast<std::size_t>(i)]);
    const auto begin = static_cast<std::ptrdiff_t>(i * shape[1] * shape[2]);
    const auto part = [&](const std::vector<double>& all) {
      return std::vector<double>(all.begin() + begin, all.begin() + begin + shape[1] * shape[2]);
    };
    std::vector<std::int64_t> labels;
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(inputs[2].values[static_cast<std::size_t>(i)]); ++k) {
      labels.push_back(
          static_cast<std::int64_t>(inputs[0].values[static_cast<std::size_t>(i * inputs[0].shape[1] + k)]));
    }
    const std::vector<double> x = part(inputs[1].values);
    const Enumerated one =
        enumerate(x, inputs.size() > 4 ? part(inputs[4].values) : x, frames, shape[2], labels, blank);
    results[0].values.push_back(one.loss);
    results[1].values.insert(results[1].values.end(), one.gradient.begin(), one.gradient.end());
    results[2].values.insert(results[2].values.end(), one.curvature.begin(), one.curvature.end());
  }
  return results;
}

const OpTest kLossAndGradientTest = [] {
  OpTest test;
  test.samples = ctc_loss_samples;
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
    outputs = enumerate_batch(inputs, reference::integer(attributes, "blank_index", 0));
    outputs.pop_back();
  };
  return test;
}();

const OpTest kCurvatureTest = [] {
  OpTest test;
  test.samples = [] {
    std::vector<OpSample> samples = ctc_loss_samples();
    for (OpSample& sample : samples) sample.inputs.push_back({.shape = sample.inputs[1].shape});
    return samples;
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
    outputs = {enumerate_batch(inputs, reference::integer(attributes, "blank_index", 0))[2]};
  };
  return test;
}();

// The samples of batch-major logits, and one that is time-major.
std::vector<OpSample> ctc_samples() {
  std::vector<OpSample> samples = ctc_loss_samples();
  for (OpSample& sample : samples) sample.attributes["logits_time_major"] = AttributeValue(false);
  samples.push_back(
      {.inputs = {integers({2, 2}, {1, 2, 2, 0}), {.shape = {4, 2, 3}}, integers({2}, {2, 1}), integers({2}, {4, 3})},
       .attributes = {{"blank_index", -3}}});
  return samples;
}
void ctc_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                   std::vector<ReferenceTensor>& outputs) {
  std::vector<ReferenceTensor> own = inputs;
  std::int64_t blank = reference::integer(attributes, "blank_index", 0);
  if (!attributes.contains("logits_time_major")) {
    const Shape& shape = inputs[1].shape;
    own[1] = reference::build(DType::kFloat64, {shape[1], shape[0], shape[2]}, [&](const reference::Position& p) {
      return reference::at(inputs[1], {p[1], p[0], p[2]});
    });
  }
  if (blank < 0) blank += inputs[1].shape[2];
  outputs = {enumerate_batch(own, blank)[0]};
}

const OpTests kCtcTests = {
    {"ctc_loss_and_gradient", kLossAndGradientTest},
    {"ctc_loss_curvature", kCurvatureTest},
    {"ctc_loss", {.samples = ctc_samples, .reference = ctc_reference}},
};

}  // namespace

}  // namespace capstan::testing
