// Samples and references of the ops in src/ops/recurrent/lstm.cc.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/recurrent_reference.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> lstm_samples() {
  const auto inputs = [](std::int64_t batch, std::int64_t steps, std::int64_t units, const SampleInput& mask) {
    return std::vector<SampleInput>{{.shape = {batch, steps, 4 * units}},
                                    {.shape = {units, 4 * units}},
                                    {.shape = {batch, units}},
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
      wrong(0, {2, 8}, "z must be [batch, steps, 4 * units], not [2, 8]"),
      wrong(0, {2, 3, 6}, "z must be [batch, steps, 4 * units], not [2, 3, 6]"),
      wrong(0, {2, 0, 8}, "there must be at least one step and one unit"),
      wrong(0, {2, 3, 0}, "there must be at least one step and one unit"),
      wrong(1, {2, 4}, "recurrent_kernel has shape [2, 4], not [2, 8]"),
      wrong(2, {3, 2}, "first_h has shape [3, 2], not [2, 2]"),
      wrong(3, {2, 3}, "first_cell has shape [2, 3], not [2, 2]"),
      wrong(4, {2, 3}, "the mask must be bool"),
      {.inputs = inputs(3, 3, 2, kSomeSteps), .error = "the mask has shape [2, 3], not [3, 3]"},
  };
}

// Sequences of vectors, and sums over the recurrent kernel.
void lstm_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                    std::vector<ReferenceTensor>& outputs) {
  const auto batch = static_cast<std::size_t>(inputs[0].shape[0]), steps = static_cast<std::size_t>(inputs[0].shape[1]),
             n = static_cast<std::size_t>(inputs[1].shape[0]);
  ReferenceTensor states{inputs[0].dtype, {inputs[0].shape[0], inputs[0].shape[1], inputs[1].shape[0]}, {}};
  states.values.resize(batch * steps * n);
  outputs = {inputs[0], states, states};
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t t = 0; t < steps; ++t) {
      const std::size_t at = b * steps + t;
      const auto before = [&](int output, int first, std::size_t k) {
        const auto& all = outputs[static_cast<std::size_t>(output)].values;
        return t > 0 ? all[(at - 1) * n + k] : inputs[static_cast<std::size_t>(first)].values[b * n + k];
      };
      const bool taken = inputs[4].values.empty() || inputs[4].values[at] != 0;
      const auto sum = [&](std::size_t column) {
        double total = inputs[0].values[at * 4 * n + column];
        for (std::size_t k = 0; k < n; ++k) total += before(2, 2, k) * inputs[1].values[k * 4 * n + column];
        return total;
      };
      for (std::size_t k = 0; k < n; ++k) {
        const double i = taken ? naive_sigmoid(sum(k)) : 0, f = taken ? naive_sigmoid(sum(n + k)) : 1,
                     g = taken ? std::tanh(sum(2 * n + k)) : 1, o = taken ? naive_sigmoid(sum(3 * n + k)) : 0;
        double* const gates = outputs[0].values.data() + at * 4 * n + k;
        gates[0] = i, gates[n] = f, gates[2 * n] = g, gates[3 * n] = o;
        const double cell = f * before(1, 3, k) + i * g;
        outputs[1].values[at * n + k] = cell;
        outputs[2].values[at * n + k] = taken ? o * std::tanh(cell) : before(2, 2, k);
      }
    }
  }
}
std::vector<OpSample> lstm_of_rows_samples() {
  const SampleInput ids{.shape = {2, 3}, .values = {4, 0, 0, 2, 4, 0}, .dtype = int32, .differentiable = false};
  const auto inputs = [&](const SampleInput& mask) {
    return std::vector<SampleInput>{{.shape = {5, 8}}, ids, {.shape = {2, 8}}, {.shape = {2, 2}},
                                    {.shape = {2, 2}}, mask};
  };
  const auto wrong = [&](std::size_t which, const SampleInput& input, const std::string& error) {
    OpSample sample{.inputs = inputs(kAllSteps), .error = error};
    sample.inputs[which] = input;
    return sample;
  };
  SampleInput other = ids, many = ids, below = ids, flat = ids;
  other.dtype = int64;
  other.values = {1, 1, 1, 1, 1, 1};
  many.values[3] = 5;
  below.values[3] = -1;
  flat.shape = {6};
  return {{.inputs = inputs(kAllSteps)},
          {.inputs = inputs(kSomeSteps)},
          {.inputs = {{.shape = {2, 4}}, other, {.shape = {1, 4}}, {.shape = {2, 1}}, {.shape = {2, 1}}, kAllSteps}},
          wrong(0, {.shape = {5, 6}}, "the table must be [rows, 4 * units], not [5, 6]"),
          wrong(0, {.shape = {8}}, "the table must be [rows, 4 * units], not [8]"),
          wrong(1, {.shape = {2, 3}}, "indices must be int32 or int64, not float"),
          wrong(1, flat, "ids must be [batch, steps] with at least one step, not [6]"),
          wrong(1, many, "index 5 is out of range for axis 0 of length 5"),
          wrong(1, below, "index -1 is out of range for axis 0 of length 5"),
          wrong(2, {.shape = {2, 4}}, "recurrent_kernel has shape [2, 4], not [2, 8]"),
          wrong(3, {.shape = {3, 2}}, "first_h has shape [3, 2], not [2, 2]"),
          wrong(5, {.shape = {2, 3}}, "the mask must be bool")};
}
void lstm_of_rows_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                            std::vector<ReferenceTensor>& outputs) {
  const std::int64_t width = inputs[0].shape[1];
  ReferenceTensor z{inputs[0].dtype, {inputs[1].shape[0], inputs[1].shape[1], width}, {}};
  for (const double id : inputs[1].values) {
    const auto row = inputs[0].values.begin() + static_cast<std::ptrdiff_t>(id) * width;
    z.values.insert(z.values.end(), row, row + width);
  }
  lstm_reference({z, inputs[2], inputs[3], inputs[4], inputs[5]}, attributes, outputs);
}

const OpTests kLstmTests = {
    {"lstm", {.samples = lstm_samples, .reference = lstm_reference}},
    {"lstm_of_rows", {.samples = lstm_of_rows_samples, .reference = lstm_of_rows_reference}},
};

}  // namespace

}  // namespace capstan::testing
