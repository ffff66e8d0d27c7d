// Samples and references of the ops in src/ops/recurrent/lstm_gradients.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/recurrent_reference.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

constexpr Domain kGateDomain = {0.1, 0.9};

// The operands: gates, cells, recurrent kernel, first cells and what follows.
OpSample coefficients(std::vector<SampleInput> more, const std::string& error = {}) {
  OpSample sample{.inputs = {{.shape = {2, 3, 8}, .domain = kGateDomain},
                             {.shape = {2, 3, 2}},
                             {.shape = {2, 8}},
                             {.shape = {2, 2}}},
                  .error = error};
  for (SampleInput& input : more) sample.inputs.push_back(std::move(input));
  return sample;
}
const SampleInput kGatesOf{.shape = {2, 3, 8}}, kStatesOf{.shape = {2, 3, 2}}, kFirstOf{.shape = {2, 2}};

std::vector<OpSample> gradient_samples() {
  OpSample kept = coefficients({kStatesOf, kSomeSteps, kStatesOf, kGatesOf});
  kept.attributes = {{"keep", true}};
  return {coefficients({kStatesOf, kAllSteps}), coefficients({kStatesOf, kSomeSteps, kStatesOf, kGatesOf}), kept,
          coefficients({kStatesOf}, "takes 6 or 8 operands, not 5"),
          coefficients({kFirstOf, kAllSteps}, "dh has shape [2, 2], not [2, 3, 2]")};
}

void gradient_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                        std::vector<ReferenceTensor>& outputs) {
  const auto batch = static_cast<std::size_t>(inputs[1].shape[0]), steps = static_cast<std::size_t>(inputs[1].shape[1]),
             n = static_cast<std::size_t>(inputs[1].shape[2]);
  ReferenceTensor first = inputs[3], kept = inputs[1];
  std::fill(first.values.begin(), first.values.end(), 0.0);
  outputs = {inputs[0], first, first, kept, kept};
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t t = steps; t-- > 0;) {
      const std::size_t at = b * steps + t;
      const bool taken = inputs[5].values.empty() || inputs[5].values[at] != 0;
      std::vector<double> next(n);
      for (std::size_t k = 0; k < n; ++k) {
        const double* const gates = inputs[0].values.data() + at * 4 * n + k;
        const double i = gates[0], f = gates[n], g = gates[2 * n], o = gates[3 * n];
        const double y = std::tanh(inputs[1].values[at * n + k]);
        const double before = t > 0 ? inputs[1].values[(at - 1) * n + k] : inputs[3].values[b * n + k];
        double& of_h = outputs[1].values[b * n + k];
        double& of_cell = outputs[2].values[b * n + k];
        const double dh = of_h + inputs[4].values[at * n + k];
        const double dc = of_cell + dh * o * (1 - y * y) + (inputs.size() > 6 ? inputs[6].values[at * n + k] : 0.0);
        const double dz[] = {dc * g * i * (1 - i), dc * before * f * (1 - f), dc * i * (1 - g * g),
                             dh * y * o * (1 - o)};
        for (std::size_t gate = 0; gate < 4; ++gate) {
          const std::size_t place = (at * 4 + gate) * n + k;
          outputs[0].values[place] = dz[gate] + (inputs.size() > 6 ? inputs[7].values[place] : 0.0);
        }
        outputs[3].values[at * n + k] = dc;
        outputs[4].values[at * n + k] = dh;
        next[k] = taken ? 0 : dh;
        of_cell = dc * f;
      }
      for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t column = 0; column < 4 * n; ++column) {
          next[k] += outputs[0].values[at * 4 * n + column] * inputs[2].values[k * 4 * n + column];
        }
        outputs[1].values[b * n + k] = next[k];
      }
    }
  }
  if (!reference::has(attributes, "keep")) {
    for (std::size_t i : {3, 4}) {
      outputs[i].shape.set(1, 0);
      outputs[i].values.clear();
    }
  }
}
std::vector<OpSample> tangent_samples() {
  return {coefficients({kGatesOf, kFirstOf, kFirstOf, kAllSteps}),
          coefficients({kGatesOf, kFirstOf, kFirstOf, kSomeSteps, kStatesOf, kStatesOf}),
          coefficients({kStatesOf, kFirstOf, kFirstOf, kAllSteps}, "tz has shape [2, 3, 2], not [2, 3, 8]")};
}
void tangent_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                       std::vector<ReferenceTensor>& outputs) {
  const auto batch = static_cast<std::size_t>(inputs[1].shape[0]), steps = static_cast<std::size_t>(inputs[1].shape[1]),
             n = static_cast<std::size_t>(inputs[1].shape[2]);
  outputs = {inputs[4], inputs[1], inputs[1]};
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t t = 0; t < steps; ++t) {
      const std::size_t at = b * steps + t;
      const auto before = [&](const ReferenceTensor& all, int first, std::size_t k) {
        return t > 0 ? all.values[(at - 1) * n + k] : inputs[static_cast<std::size_t>(first)].values[b * n + k];
      };
      const bool taken = inputs[7].values.empty() || inputs[7].values[at] != 0;
      double* const sums = outputs[0].values.data() + at * 4 * n;
      for (std::size_t column = 0; column < 4 * n; ++column) {
        for (std::size_t k = 0; k < n; ++k)
          sums[column] += before(outputs[2], 5, k) * inputs[2].values[k * 4 * n + column];
      }
      for (std::size_t k = 0; k < n; ++k) {
        const double* const gates = inputs[0].values.data() + at * 4 * n + k;
        const double i = gates[0], f = gates[n], g = gates[2 * n], o = gates[3 * n];
        const double y = std::tanh(inputs[1].values[at * n + k]);
        double cell = f * before(outputs[1], 6, k) + sums[n + k] * f * (1 - f) * before(inputs[1], 3, k) +
                      sums[k] * i * (1 - i) * g + sums[2 * n + k] * (1 - g * g) * i;
        if (inputs.size() > 8) cell += inputs[8].values[at * n + k];
        double h = o * (1 - y * y) * cell + sums[3 * n + k] * o * (1 - o) * y;
        if (inputs.size() > 8) h += inputs[9].values[at * n + k];
        if (!taken) h += before(outputs[2], 5, k);
        outputs[1].values[at * n + k] = cell;
        outputs[2].values[at * n + k] = h;
      }
    }
  }
}

const OpTests kLstmGradientsTests = {
    {"lstm_gradients", {.samples = gradient_samples, .reference = gradient_reference}},
    {"lstm_tangents", {.samples = tangent_samples, .reference = tangent_reference}},
};

}  // namespace

}  // namespace capstan::testing
