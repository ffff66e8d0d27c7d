// Samples and references of the ops in src/ops/loss/loss_functions.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "src/core/apply.h"
#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

// Away from zero and from each other, so that no kink is near.
constexpr Domain kLabels{0.1, 0.6};
constexpr Domain kPredictions{0.7, 1.6};

std::vector<OpSample> pair_samples() {
  return {
      {.inputs = {{.shape = {2, 3}, .domain = kLabels}, {.shape = {2, 3}, .domain = kPredictions}}},
      {.inputs = {{.shape = {4}, .domain = kLabels}, {.shape = {4}, .domain = kPredictions}}},
      {.inputs = {{.shape = {2, 1, 3}, .domain = kLabels}, {.shape = {4, 3}, .domain = kPredictions}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2}}}, .error = "broadcast"},
      {.inputs = {{.shape = {}}, {.shape = {}}}, .error = "axis -1 is out of range for rank 0"},
  };
}

// The labels and predictions of one row.
struct Row {
  std::vector<double> labels;
  std::vector<double> predictions;
  std::size_t size() const { return labels.size(); }
};

// One value per row of the broadcast operands, of rank 3 at most.
template <class Value>
void rows_reference(const std::vector<ReferenceTensor>& inputs, std::vector<ReferenceTensor>& outputs,
                    const Value& value) {
  const Shape shape = broadcast_shapes("reference", inputs[0].shape, inputs[1].shape);
  const auto element = [&](const ReferenceTensor& x, std::int64_t i) {
    std::int64_t index = 0;
    std::int64_t stride = 1;
    for (int axis = 1; axis <= x.shape.rank(); ++axis) {
      const std::int64_t position = i % shape[-axis];
      i /= shape[-axis];
      if (x.shape[-axis] != 1) index += position * stride;
      stride *= x.shape[-axis];
    }
    return x.values[static_cast<std::size_t>(index)];
  };
  Shape rows;
  for (int i = 0; i + 1 < shape.rank(); ++i) rows.push_back(shape[i]);
  ReferenceTensor result{inputs[1].dtype, rows, {}};
  const std::int64_t n = shape[-1];
  for (std::int64_t i = 0; i < shape.size(); i += n) {
    Row row;
    for (std::int64_t k = i; k < i + n; ++k) {
      row.labels.push_back(element(inputs[0], k));
      row.predictions.push_back(element(inputs[1], k));
    }
    result.values.push_back(value(row));
  }
  outputs.push_back(result);
}

// The mean of value(label, prediction).
template <double (*value)(double, double)>
void mean_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                    std::vector<ReferenceTensor>& outputs) {
  rows_reference(inputs, outputs, [](const Row& row) {
    double sum = 0;
    for (std::size_t i = 0; i < row.size(); ++i) sum += value(row.labels[i], row.predictions[i]);
    return sum / static_cast<double>(row.size());
  });
}

double squared(double t, double p) { return (p - t) * (p - t); }
double absolute(double t, double p) { return std::abs(p - t); }
double percentage(double t, double p) { return 100 * std::abs((t - p) / t); }
double logarithmic(double t, double p) { return squared(std::log1p(t), std::log1p(p)); }
double hinge_of(double t, double p) { return std::max(0.0, 1 - t * p); }
double squared_hinge_of(double t, double p) { return hinge_of(t, p) * hinge_of(t, p); }
double log_cosh_of(double t, double p) { return std::log(std::cosh(p - t)); }
double poisson_of(double t, double p) { return p - t * std::log(p + 1e-7); }

const OpTest kCategoricalHingeTest = [] {
  OpTest test;
  test.samples = pair_samples;
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                      std::vector<ReferenceTensor>& outputs) {
    rows_reference(inputs, outputs, [](const Row& row) {
      double right = 0;
      double wrong = -INFINITY;
      for (std::size_t i = 0; i < row.size(); ++i) {
        right += row.labels[i] * row.predictions[i];
        wrong = std::max(wrong, (1 - row.labels[i]) * row.predictions[i]);
      }
      return std::max(0.0, 1 + wrong - right);
    });
  };
  return test;
}();
const OpTest kDivergenceTest = [] {
  OpTest test;
  test.samples = [] {
    std::vector<OpSample> samples = pair_samples();
    for (OpSample& sample : samples) sample.inputs[1].domain = {0.2, 0.9};
    return samples;
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                      std::vector<ReferenceTensor>& outputs) {
    rows_reference(inputs, outputs, [](const Row& row) {
      double sum = 0;
      for (std::size_t i = 0; i < row.size(); ++i) sum += row.labels[i] * std::log(row.labels[i] / row.predictions[i]);
      return sum;
    });
  };
  return test;
}();
const OpTest kHuberTest = [] {
  OpTest test;
  test.samples = [] {
    std::vector<OpSample> samples = pair_samples();
    samples.push_back(
        {.inputs = {{.shape = {4}, .values = {0, 0, 0, 0}}, {.shape = {4}, .values = {0.25, -0.4, 3, -2}}},
         .attributes = {{"delta", 0.5}}});
    samples.push_back({.inputs = {{.shape = {2}}, {.shape = {2}}},
                       .attributes = {{"delta", -1.0}},
                       .error = "delta must not be negative"});
    return samples;
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
    const double delta = attributes.empty() ? 1 : attributes.begin()->second.number;
    rows_reference(inputs, outputs, [&](const Row& row) {
      double sum = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const double e = absolute(row.labels[i], row.predictions[i]);
        sum += e <= delta ? e * e / 2 : delta * e - delta * delta / 2;
      }
      return sum / static_cast<double>(row.size());
    });
  };
  return test;
}();
const OpTest kCosineTest = [] {
  OpTest test;
  test.samples = [] {
    std::vector<OpSample> samples = pair_samples();
    samples.push_back({.inputs = {{.shape = {2, 2}}, {.shape = {2, 2}}},
                       .attributes = {{"axis", 2}},
                       .error = "axis 2 is out of range for rank 2"});
    return samples;
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                      std::vector<ReferenceTensor>& outputs) {
    rows_reference(inputs, outputs, [](const Row& row) {
      double dot = 0;
      double a = 0;
      double b = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        dot += row.labels[i] * row.predictions[i];
        a += row.labels[i] * row.labels[i];
        b += row.predictions[i] * row.predictions[i];
      }
      return -dot / std::sqrt(a * b);
    });
  };
  return test;
}();
const OpTest kLogPoissonTest = [] {
  OpTest test;
  test.samples = [] {
    return std::vector<OpSample>{
        {.inputs = {{.shape = {2, 3}, .domain = {0.2, 3}}, {.shape = {2, 3}}}},
        {.inputs = {{.shape = {4}, .values = {0.5, 1.5, 2, 5}}, {.shape = {4}}},
         .attributes = {{"compute_full_loss", true}}},
        {.inputs = {{.shape = {2}}, {.shape = {3}}}, .error = "shapes differ, [2] and [3]"},
    };
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
    outputs = {inputs[1]};
    for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
      const double t = inputs[0].values[i];
      const double x = inputs[1].values[i];
      const double stirling = t * std::log(t) - t + 0.5 * std::log(2 * 3.14159265358979323846 * t);
      outputs[0].values[i] = std::exp(x) - x * t + (!attributes.empty() && t > 1 ? stirling : 0);
    }
  };
  return test;
}();

const OpTests kLossFunctionsTests = {
    {"mean_squared_error", {.samples = pair_samples, .reference = mean_reference<squared>}},
    {"mean_absolute_error", {.samples = pair_samples, .reference = mean_reference<absolute>}},
    {"mean_absolute_percentage_error", {.samples = pair_samples, .reference = mean_reference<percentage>}},
    {"mean_squared_logarithmic_error", {.samples = pair_samples, .reference = mean_reference<logarithmic>}},
    {"hinge", {.samples = pair_samples, .reference = mean_reference<hinge_of>}},
    {"squared_hinge", {.samples = pair_samples, .reference = mean_reference<squared_hinge_of>}},
    {"categorical_hinge", kCategoricalHingeTest},
    {"log_cosh", {.samples = pair_samples, .reference = mean_reference<log_cosh_of>}},
    {"kl_divergence", kDivergenceTest},
    {"poisson_loss", {.samples = pair_samples, .reference = mean_reference<poisson_of>}},
    {"huber", kHuberTest},
    {"cosine_similarity", kCosineTest},
    {"log_poisson_loss", kLogPoissonTest},
};

}  // namespace

}  // namespace capstan::testing
