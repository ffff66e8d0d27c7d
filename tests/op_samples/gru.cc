// Samples and references of the ops in src/ops/recurrent/gru.cc.
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

std::vector<OpSample> gru_samples() {
  const auto inputs = [](std::int64_t batch, std::int64_t steps, std::int64_t units, const SampleInput& mask) {
    return std::vector<SampleInput>{{.shape = {batch, steps, 3 * units}},
                                    {.shape = {units, 3 * units}},
                                    {.shape = {3 * units}},
                                    {.shape = {batch, units}},
                                    mask};
  };
  const auto wrong = [&](std::size_t which, const Shape& shape, const std::string& error) {
    return with_wrong(inputs(2, 3, 2, kAllSteps), which, shape, error);
  };
  return {
      {.inputs = inputs(2, 3, 2, kAllSteps)},
      {.inputs = inputs(1, 1, 3, kAllSteps)},
      {.inputs = inputs(2, 3, 2, kSomeSteps)},
      {.inputs = inputs(0, 2, 3, kAllSteps)},
      {.inputs = inputs(35, 2, 18, kAllSteps)},
      wrong(0, {2, 3, 8}, "x must be [batch, steps, 3 * units], not [2, 3, 8]"),
      wrong(1, {2, 4}, "recurrent_kernel has shape [2, 4], not [2, 6]"),
      wrong(2, {2, 6}, "recurrent_bias has shape [2, 6], not [6]"),
      wrong(3, {3, 2}, "first_h has shape [3, 2], not [2, 2]"),
  };
}

struct Lengths {
  std::size_t batch, steps, n;
};
Lengths lengths_of(const ReferenceTensor& h) {
  return {static_cast<std::size_t>(h.shape[0]), static_cast<std::size_t>(h.shape[1]),
          static_cast<std::size_t>(h.shape[2])};
}

void gru_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                   std::vector<ReferenceTensor>& outputs) {
  const std::int64_t units = inputs[1].shape[0];
  ReferenceTensor gates = inputs[0], h = inputs[0];
  gates.shape.set(2, 4 * units);
  h.shape.set(2, units);
  const auto [batch, steps, n] = lengths_of(h);
  gates.values.resize(batch * steps * 4 * n);
  h.values.resize(batch * steps * n);
  outputs = {gates, h};
  for (std::size_t at = 0; at < batch * steps; ++at) {
    const auto before = [&, n = n, steps = steps](std::size_t k) {
      return at % steps > 0 ? outputs[1].values[(at - 1) * n + k] : inputs[3].values[at / steps * n + k];
    };
    const bool taken = inputs[4].values.empty() || inputs[4].values[at] != 0;
    const auto sum = [&, n = n](std::size_t column) {
      double total = inputs[2].values[column];
      for (std::size_t k = 0; k < n; ++k) total += before(k) * inputs[1].values[k * 3 * n + column];
      return total;
    };
    const double* const x = inputs[0].values.data() + at * 3 * n;
    for (std::size_t k = 0; k < n; ++k) {
      double z = 1, r = 0, q = 0, c = 0;
      if (taken) {
        z = naive_sigmoid(x[k] + sum(k));
        r = naive_sigmoid(x[n + k] + sum(n + k));
        q = sum(2 * n + k);
        c = std::tanh(x[2 * n + k] + r * q);
      }
      double* const kept = outputs[0].values.data() + at * 4 * n + k;
      kept[0] = z, kept[n] = r, kept[2 * n] = c, kept[3 * n] = q;
      outputs[1].values[at * n + k] = z * before(k) + (1 - z) * c;
    }
  }
}
const SampleInput kSumsOf{.shape = {2, 3, 6}}, kStatesOf{.shape = {2, 3, 2}}, kFirstOf{.shape = {2, 2}},
    kGatesOf{.shape = {2, 3, 8}};

// The operands of the two others: gates, states, recurrent kernel, first states and what follows.
OpSample coefficients(std::vector<SampleInput> more, const std::string& error = {}) {
  OpSample sample{.inputs = {{.shape = {2, 3, 8}, .domain = {0.1, 0.9}}, kStatesOf, {.shape = {2, 6}}, kFirstOf},
                  .error = error};
  for (SampleInput& input : more) sample.inputs.push_back(std::move(input));
  return sample;
}

std::vector<OpSample> gradient_samples() {
  OpSample kept = coefficients({kStatesOf, kGatesOf});
  kept.attributes = {{"keep", true}};
  return {coefficients({kStatesOf}), coefficients({kStatesOf, kGatesOf}), kept,
          coefficients({}, "takes 5 or 6 operands, not 4"),
          coefficients({kFirstOf}, "dh has shape [2, 2], not [2, 3, 2]")};
}
void gradient_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                        std::vector<ReferenceTensor>& outputs) {
  const auto [batch, steps, n] = lengths_of(inputs[1]);
  ReferenceTensor sums = inputs[1], first = inputs[3];
  sums.shape.set(2, 3 * inputs[1].shape[2]);
  sums.values.assign(batch * steps * 3 * n, 0);
  std::fill(first.values.begin(), first.values.end(), 0.0);
  outputs = {sums, sums, first, inputs[1]};
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t t = steps; t-- > 0;) {
      const std::size_t at = b * steps + t;
      std::vector<double> next(n);
      for (std::size_t k = 0; k < n; ++k) {
        const auto gate = [&, n = n](std::size_t which) { return inputs[0].values[(at * 4 + which) * n + k]; };
        const auto more = [&, n = n](std::size_t which) {
          return inputs.size() > 5 ? inputs[5].values[(at * 4 + which) * n + k] : 0.0;
        };
        const double z = gate(0), r = gate(1), c = gate(2), q = gate(3);
        const double before = t > 0 ? inputs[1].values[(at - 1) * n + k] : inputs[3].values[b * n + k];
        const double dh = outputs[2].values[b * n + k] + inputs[4].values[at * n + k];
        const double dn = (dh * (1 - z) + more(2)) * (1 - c * c);
        double* const dx = outputs[0].values.data() + at * 3 * n + k;
        double* const dsums = outputs[1].values.data() + at * 3 * n + k;
        dx[0] = dsums[0] = (dh * (before - c) + more(0)) * z * (1 - z);
        dx[n] = dsums[n] = (dn * q + more(1)) * r * (1 - r);
        dx[2 * n] = dn;
        dsums[2 * n] = dn * r + more(3);
        outputs[3].values[at * n + k] = dh;
        next[k] = dh * z;
      }
      for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t column = 0; column < 3 * n; ++column) {
          next[k] += outputs[1].values[at * 3 * n + column] * inputs[2].values[k * 3 * n + column];
        }
        outputs[2].values[b * n + k] = next[k];
      }
    }
  }
  if (!reference::has(attributes, "keep")) {
    outputs[3].shape.set(1, 0);
    outputs[3].values.clear();
  }
}
std::vector<OpSample> tangent_samples() {
  return {coefficients({kSumsOf, kSumsOf, kFirstOf}), coefficients({kSumsOf, kSumsOf, kFirstOf, kStatesOf}),
          coefficients({kSumsOf, kStatesOf, kFirstOf}, "tsums has shape [2, 3, 2], not [2, 3, 6]")};
}
void tangent_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                       std::vector<ReferenceTensor>& outputs) {
  const auto [batch, steps, n] = lengths_of(inputs[1]);
  outputs = {inputs[1]};
  for (std::size_t at = 0; at < batch * steps; ++at) {
    const auto before = [&, n = n, steps = steps](const ReferenceTensor& all, std::size_t first, std::size_t k) {
      return at % steps > 0 ? all.values[(at - 1) * n + k] : inputs[first].values[at / steps * n + k];
    };
    const auto sum = [&, n = n](std::size_t column) {
      double total = inputs[5].values[at * 3 * n + column];
      for (std::size_t k = 0; k < n; ++k) total += before(outputs[0], 6, k) * inputs[2].values[k * 3 * n + column];
      return total;
    };
    const double* const tx = inputs[4].values.data() + at * 3 * n;
    std::vector<double> next(n);
    for (std::size_t k = 0; k < n; ++k) {
      const auto gate = [&, n = n](std::size_t which) { return inputs[0].values[(at * 4 + which) * n + k]; };
      const double z = gate(0), r = gate(1), c = gate(2), q = gate(3);
      const double tz = (tx[k] + sum(k)) * z * (1 - z), tr = (tx[n + k] + sum(n + k)) * r * (1 - r);
      const double tn = (tx[2 * n + k] + r * sum(2 * n + k) + q * tr) * (1 - c * c);
      next[k] = tz * (before(inputs[1], 3, k) - c) + z * before(outputs[0], 6, k) + (1 - z) * tn;
      if (inputs.size() > 7) next[k] += inputs[7].values[at * n + k];
    }
    std::copy(next.begin(), next.end(), outputs[0].values.begin() + static_cast<std::ptrdiff_t>(at * n));
  }
}

const OpTests kGruTests = {
    {"gru", {.samples = gru_samples, .reference = gru_reference}},
    {"gru_gradients", {.samples = gradient_samples, .reference = gradient_reference}},
    {"gru_tangents", {.samples = tangent_samples, .reference = tangent_reference}},
};

}  // namespace

}  // namespace capstan::testing
