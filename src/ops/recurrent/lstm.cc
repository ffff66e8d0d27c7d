// Long short-term memories over all steps, fused: of z, or of rows of a table of it.
//
// Gates and cells of all steps are results, since the gradients are made of them; see lstm_gradients.cc.
#include <algorithm>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/recurrent.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/kernels/recurrent/lstm.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/indices.h"
#include "src/ops/recurrent/lstm.h"
#include "src/ops/recurrent/recurrent.h"
#include "src/ops/wide.h"

namespace capstan {

extern const OpDef kLstm, kLstmOfRows;

namespace {

// --- The ops ---

// After what the inputs give come the recurrent kernel, first states and mask, from `u` on.
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

// Of gates the derivative of their function.
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

LstmSequence sequence_of(const OpDef& op, std::span<Operand> inputs) {
  std::vector<Tensor> outputs = apply_all(op, inputs, nullptr);
  return {std::move(outputs[2]), std::move(outputs[1]), std::move(outputs[0])};
}

}  // namespace

constinit const OpDef kLstm = {
    .name = "lstm",
    .text = "A long short-term memory over all steps.",
    .flags = kTakesAnyDTypes | kUpdatesInPlace | kCostlyAgain,
    .outputs = 3,
    .inputs = "z, recurrent_kernel, first_h, first_cell, mask",
    .infer = infer_lstm,
    .kernel = run_lstm,
    .saves = {.inputs = 30, .outputs = 7},
    .vjp = vjp_lstm,
    .batch = batch_sequences<1, 4>,
};

constinit const OpDef kLstmOfRows = {
    .name = "lstm_of_rows",
    .text = "A long short-term memory whose steps take rows of a table.",
    .flags = kTakesAnyDTypes | kCostlyAgain,
    .outputs = 3,
    .inputs = "table, ids, recurrent_kernel, first_h, first_cell, mask",
    .infer = infer_lstm_of_rows,
    .kernel = run_lstm_of_rows,
    .saves = {.inputs = 62, .outputs = 7},
    .vjp = vjp_lstm_of_rows,
    .batch = batch_lstm_of_rows,
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

CAPSTAN_OPS(lstm, &kLstm, &kLstmOfRows);

}  // namespace capstan
