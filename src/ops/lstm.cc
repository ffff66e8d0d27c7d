// Long short-term memories over all steps, fused: of z, or of rows of a table of it.
//
// Gates and cells of all steps are results, since the gradients are made of them; see lstm_gradients.cc.
#include <algorithm>
#include <cmath>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/recurrent.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/op_test.h"
#include "src/kernels/lstm.h"
#include "src/ops/batching.h"
#include "src/ops/families.h"
#include "src/ops/indices.h"
#include "src/ops/lstm.h"
#include "src/ops/recurrent.h"
#include "src/ops/reference.h"
#include "src/ops/wide.h"

namespace capstan {

extern const OpDef kLstm, kLstmOfRows;

namespace {

// --- The ops ---

// Behind what the inputs give stand recurrent kernel, first states and mask, from `u` on.
void infer_states(const Call& call, int u, const Steps& s, OutputSpecs& outputs) {
  check_input(call, u, "recurrent_kernel", {s.units, kLstmGates * s.units});
  check_input(call, u + 1, "first_h", {s.batch, s.units});
  check_input(call, u + 2, "first_cell", {s.batch, s.units});
  check_mask(call, u + 3, s);
  const DType dtype = call.input(0).dtype();
  outputs.add(dtype, {s.batch, s.steps, kLstmGates * s.units});
  outputs.add(dtype, {s.batch, s.steps, s.units});
  outputs.add(dtype, {s.batch, s.steps, s.units});
}

void run_states(const Call& call, int u, const std::int64_t* rows, std::span<Tensor> outputs) {
  const TensorRef& states = outputs[1];
  const LstmShape shape{states.dim(0), states.dim(1), states.dim(2), mask_of_steps(call, u + 3)};
  with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
    const WideInput<T> z(call.input(0)), kernel(call.input(u)), h(call.input(u + 1)), c(call.input(u + 2));
    const WideOutput<T> gates(outputs[0]), cells(outputs[1]), all(outputs[2]);
    lstm_kernels_here<T>().forward(shape, {z, rows, kernel, h, c, gates, cells, all});
  });
}

void infer_lstm(const Call& call, OutputSpecs& outputs) {
  infer_states(call, 1, check_steps(call, 0, "z", kLstmGates), outputs);
}
void run_lstm(const Call& call, std::span<Tensor> outputs) { run_states(call, 1, nullptr, outputs); }

void infer_lstm_of_rows(const Call& call, OutputSpecs& outputs) {
  const TensorRef &table = call.input(0), &ids = call.input(1);
  const auto shown = [&] { return arguments({{"table", table}, {"ids", ids}}); };
  CAPSTAN_CHECK(is_floating(table.dtype()), DTypeError, call.op.name, ": dtype ", table.dtype(), " is not supported",
                shown());
  check_indices(call.op.name, ids);
  CAPSTAN_CHECK(table.rank() == 2 && table.dim(1) > 0 && table.dim(1) % kLstmGates == 0, ShapeError, call.op.name,
                ": the table must be [rows, 4 * units], not ", table.shape(), shown());
  CAPSTAN_CHECK(ids.rank() == 2 && ids.dim(1) > 0, ShapeError, call.op.name,
                ": ids must be [batch, steps] with at least one step, not ", ids.shape(), shown());
  infer_states(call, 2, {ids.dim(0), ids.dim(1), table.dim(1) / kLstmGates}, outputs);
}
void run_lstm_of_rows(const Call& call, std::span<Tensor> outputs) {
  const std::int64_t length = call.input(0).dim(0);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(call.input(1).size()));
  with_indices(call.input(1), [&](const auto* ids) { std::copy_n(ids, rows.size(), rows.begin()); });
  for (const std::int64_t row : rows) {
    if (row < 0 || row >= length) throw_index(call.op.name, row, 0, length);
  }
  run_states(call, 2, rows.data(), outputs);
}

// --- The rules ---

// Of gates their derivative by what they are a function of.
Tensor slopes(const Tensor& gates) {
  const std::vector<Tensor> g = split(gates, kLstmGates, -1);
  return concat({g[0] * (1 - g[0]), g[1] * (1 - g[1]), 1 - square(g[2]), g[3] * (1 - g[3])}, -1);
}

// `at` is the place of the recurrent kernel, as in infer_states.
void vjp_states(const VjpCall& call, int at, std::span<Tensor> cotangents) {
  const Tensor &u = call.input(at), &first_h = call.input(at + 1), &first_cell = call.input(at + 2),
               &mask = call.input(at + 3);
  const Tensor &gates = call.output(0), &cells = call.output(1), &dh = call.cotangent(2);
  const bool plain = !call.has_cotangent(0) && !call.has_cotangent(1);
  LstmGradients g = plain ? lstm_gradients(gates, cells, u, first_cell, dh, mask)
                          : lstm_gradients(gates, cells, u, first_cell, dh, mask, call.cotangent(1),
                                           call.cotangent(0) * slopes(gates));
  const std::span<Tensor> of_states = cotangents.subspan(static_cast<std::size_t>(at), 3);
  if (call.needs(at)) of_states[0] = rows_product(step_before(first_h, call.output(2)), g.z);
  cotangents[0] = std::move(g.z);
  of_states[1] = std::move(g.first_h);
  of_states[2] = std::move(g.first_cell);
}

void vjp_lstm(const VjpCall& call, std::span<Tensor> cotangents) { vjp_states(call, 1, cotangents); }

void vjp_lstm_of_rows(const VjpCall& call, std::span<Tensor> cotangents) {
  vjp_states(call, 2, cotangents);
  if (!call.needs(0)) return;
  cotangents[0] = tensor_scatter_nd_add(zeros_like(call.input(0)), expand_dims(call.input(1), -1), cotangents[0]);
}

// For items the rows are taken one by one: what the items have in common is not the point then.
[[gnu::cold]] bool batch_lstm_of_rows(const BatchCall& call, std::vector<Tensor>& outputs) {
  std::vector<Tensor> inputs(call.inputs.begin() + 1, call.inputs.end());
  std::vector<std::uint8_t> batched(call.batched.begin() + 1, call.batched.end());
  inputs[0] = call.is_batched(0) ? gather(call.input(0), with_items(call, 1), 1, 1) : gather(call.input(0), inputs[0]);
  batched[0] = call.is_batched(0) || call.is_batched(1) ? 1 : 0;
  return batch_sequences<1, 4>({kLstm, inputs, batched, call.size, nullptr}, outputs);
}

// --- Samples and references ---

#if CAPSTAN_TESTING

std::vector<OpSample> lstm_samples() {
  const auto inputs = [](std::int64_t batch, std::int64_t steps, std::int64_t units, const SampleInput& mask) {
    return std::vector<SampleInput>{{.shape = {batch, steps, 4 * units}},
                                    {.shape = {units, 4 * units}},
                                    {.shape = {batch, units}},
                                    {.shape = {batch, units}},
                                    mask};
  };
  const auto wrong = [&](int which, const Shape& shape, const std::string& error) {
    OpSample sample{.inputs = inputs(2, 3, 2, kAllSteps), .error = error};
    sample.inputs[static_cast<std::size_t>(which)] = {.shape = shape};
    return sample;
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

double naive_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

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
const OpTest kLstmTest = {.samples = lstm_samples, .reference = lstm_reference};

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
const OpTest kLstmOfRowsTest = {.samples = lstm_of_rows_samples, .reference = lstm_of_rows_reference};

#endif

LstmSequence sequence_of(const OpDef& op, std::span<Operand> inputs) {
  std::vector<Tensor> outputs = apply_all(op, inputs, nullptr);
  return {std::move(outputs[2]), std::move(outputs[1]), std::move(outputs[0])};
}

}  // namespace

constinit const OpDef kLstm = {
    .name = "lstm",
    .text = "A long short-term memory over all steps.",
    .flags = kTakesAnyDTypes | kUpdatesInPlace | kCostlyAgain,
    .arity = 5,
    .outputs = 3,
    .input_names = "z, recurrent_kernel, first_h, first_cell, mask",
    .infer = infer_lstm,
    .kernel = run_lstm,
    .saves = {.inputs = 30, .outputs = 7},
    .vjp = vjp_lstm,
    .batch = batch_sequences<1, 4>,
    .test = CAPSTAN_OP_TEST(kLstmTest),
};

constinit const OpDef kLstmOfRows = {
    .name = "lstm_of_rows",
    .text = "A long short-term memory whose steps take rows of a table.",
    .flags = kTakesAnyDTypes | kCostlyAgain,
    .arity = 6,
    .outputs = 3,
    .input_names = "table, ids, recurrent_kernel, first_h, first_cell, mask",
    .infer = infer_lstm_of_rows,
    .kernel = run_lstm_of_rows,
    .saves = {.inputs = 62, .outputs = 7},
    .vjp = vjp_lstm_of_rows,
    .batch = batch_lstm_of_rows,
    .test = CAPSTAN_OP_TEST(kLstmOfRowsTest),
};

LstmSequence lstm(Operand z, Operand recurrent_kernel, Operand first_h, Operand first_cell) {
  return lstm(z, recurrent_kernel, first_h, first_cell, all_steps());
}
LstmSequence lstm(Operand z, Operand recurrent_kernel, Operand first_h, Operand first_cell, Operand mask) {
  Operand inputs[] = {z, recurrent_kernel, first_h, first_cell, mask};
  return sequence_of(kLstm, inputs);
}
LstmSequence lstm_of_rows(Operand table, Operand ids, Operand recurrent_kernel, Operand first_h, Operand first_cell) {
  return lstm_of_rows(table, ids, recurrent_kernel, first_h, first_cell, all_steps());
}
LstmSequence lstm_of_rows(Operand table, Operand ids, Operand recurrent_kernel, Operand first_h, Operand first_cell,
                          Operand mask) {
  Operand inputs[] = {table, ids, recurrent_kernel, first_h, first_cell, mask};
  return sequence_of(kLstmOfRows, inputs);
}

OpFamily lstm_ops() {
  static constexpr const OpDef* ops[] = {&kLstm, &kLstmOfRows, &kLstmGradients, &kLstmTangents};
  return ops;
}

}  // namespace capstan
