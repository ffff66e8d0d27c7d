// The derivatives of long short-term memories, each fused.
//
// A step of an LSTM is linear in the tangents of its operands, and two ops compute with that linear system: the
// gradients solve its transpose, backwards in time, the tangents solve it, forwards. Each is the rule of the other, so
// derivatives of any order are made of these two. How the coefficients of the system, gates and cells, enter is the
// same for both: of a system L x = b the cotangent of L is - (the solution of the transpose) x^T.
//
// With s for what z and the states give for the gates, w = 1 - tanh(cell)^2 and ' for the step before, a step has
//     tcell = f tcell' + ts_f f (1 - f) cell' + ts_i i (1 - i) g + ts_g (1 - g^2) i + added,
//     th    = o w tcell + ts_o o (1 - o) tanh(cell) + added (+ th' where the mask leaves the step out),
//     ts    = tz + th' u.
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/recurrent.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/kernels/recurrent/lstm.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/recurrent/lstm.h"
#include "src/ops/recurrent/recurrent.h"
#include "src/ops/wide.h"

namespace capstan {

namespace {

struct LstmGradientAttributes {
  bool keep = false;
};

LstmShape shape_of(const Call& call, int sequence, int mask) {
  const TensorRef& x = call.input(sequence);
  return {.batch = x.dim(0), .steps = x.dim(1), .units = x.dim(2) / kLstmGates, .mask = mask_of_steps(call, mask)};
}

// --- The ops ---

// Gates, cells, recurrent kernel and first cells, which are first in both ops.
Steps check_coefficients(const Call& call, int fewest, int more) {
  CAPSTAN_CHECK(call.input_count() == fewest || call.input_count() == fewest + more, ValueError, call.op.name,
                ": takes ", fewest, " or ", fewest + more, " operands, not ", call.input_count());
  const Steps s = check_steps(call, 0, "gates", kLstmGates);
  check_input(call, 1, "cells", {s.batch, s.steps, s.units});
  check_input(call, 2, "recurrent_kernel", {s.units, kLstmGates * s.units});
  check_input(call, 3, "first_cell", {s.batch, s.units});
  return s;
}

void infer_lstm_gradients(const Call& call, OutputSpecs& outputs) {
  const Steps s = check_coefficients(call, 6, 2);
  const Shape states = {s.batch, s.steps, s.units};
  check_input(call, 4, "dh", states);
  check_mask(call, 5, s);
  if (call.input_count() > 6) {
    check_input(call, 6, "dcells", states);
    check_input(call, 7, "added", call.input(0).shape());
  }
  const DType dtype = call.input(0).dtype();
  const std::int64_t kept = call.attributes<LstmGradientAttributes>().keep ? s.steps : 0;
  outputs.add(dtype, call.input(0).shape());
  for (int i = 0; i < 2; ++i) outputs.add(dtype, {s.batch, s.units});
  for (int i = 0; i < 2; ++i) outputs.add(dtype, {s.batch, kept, s.units});
}

void run_lstm_gradients(const Call& call, std::span<Tensor> outputs) {
  const bool keep = call.attributes<LstmGradientAttributes>().keep;
  with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
    const WideInput<T> gates(call.input(0)), cells(call.input(1)), u(call.input(2)), c(call.input(3)),
        dh(call.input(4));
    const OptionalInput<T> dcells(call, 6), added(call, 7);
    const WideOutput<T> dz(outputs[0]), first_h(outputs[1]), first_cell(outputs[2]), whole_cells(outputs[3]),
        whole_h(outputs[4]);
    T* const no_keeping = nullptr;
    lstm_kernels_here<T>().gradients(
        shape_of(call, 0, 5),
        {gates, cells, u, c, dh, dcells, added, dz, first_h, first_cell,
         keep ? static_cast<T*>(whole_cells) : no_keeping, keep ? static_cast<T*>(whole_h) : no_keeping});
  });
}

void infer_lstm_tangents(const Call& call, OutputSpecs& outputs) {
  const Steps s = check_coefficients(call, 8, 2);
  const Shape states = {s.batch, s.steps, s.units};
  check_input(call, 4, "tz", call.input(0).shape());
  check_input(call, 5, "tfirst_h", {s.batch, s.units});
  check_input(call, 6, "tfirst_cell", {s.batch, s.units});
  check_mask(call, 7, s);
  if (call.input_count() > 8) {
    check_input(call, 8, "added_cells", states);
    check_input(call, 9, "added_h", states);
  }
  const DType dtype = call.input(0).dtype();
  outputs.add(dtype, call.input(0).shape());
  for (int i = 0; i < 2; ++i) outputs.add(dtype, states);
}

void run_lstm_tangents(const Call& call, std::span<Tensor> outputs) {
  with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
    const WideInput<T> gates(call.input(0)), cells(call.input(1)), u(call.input(2)), c(call.input(3)),
        tz(call.input(4)), th(call.input(5)), tc(call.input(6));
    const OptionalInput<T> added_cells(call, 8), added_h(call, 9);
    const WideOutput<T> sums(outputs[0]), all_cells(outputs[1]), all_h(outputs[2]);
    lstm_kernels_here<T>().tangents(shape_of(call, 0, 7),
                                    {gates, cells, u, c, tz, th, tc, added_cells, added_h, sums, all_cells, all_h});
  });
}

// --- The rules ---

// For derivatives of derivatives, which are rare: they are compiled for size.

// The cotangents of gates, cells, recurrent kernel and first cells, given the solutions of both systems.
[[gnu::cold]] void of_coefficients(const VjpCall& call, std::span<Tensor> cotangents, const LstmGradients& back,
                                   const LstmTangents& ahead, const Tensor& tfirst_h, const Tensor& tfirst_cell) {
  if (!call.needs(0) && !call.needs(1) && !call.needs(2) && !call.needs(3)) return;
  const Tensor &cells = call.input(1), &dc = back.whole_cells, &dh = back.whole_h;
  const std::vector<Tensor> gates = split(call.input(0), kLstmGates, -1), ts = split(ahead.sums, kLstmGates, -1);
  const Tensor &i = gates[0], &f = gates[1], &g = gates[2], &o = gates[3];
  const Tensor y = tanh(cells);
  const Tensor w = 1 - square(y);
  const Tensor before = step_before(call.input(3), cells);
  if (call.needs(0)) {
    cotangents[0] =
        concat({dc * (ts[0] * (1 - 2 * i) * g + ts[2] * (1 - square(g))),
                dc * (ts[1] * (1 - 2 * f) * before + step_before(tfirst_cell, ahead.cells)),
                dc * (ts[0] * i * (1 - i) - 2 * ts[2] * g * i), dh * (ahead.cells * w + ts[3] * (1 - 2 * o) * y)},
               -1);
  }
  const Tensor of_before = dc * ts[1] * f * (1 - f);
  cotangents[1] = dh * w * (ts[3] * o * (1 - o) - 2 * ahead.cells * o * y) + step_behind(of_before);
  if (call.needs(2)) cotangents[2] = rows_product(step_before(tfirst_h, ahead.h), back.z);
  cotangents[3] = first_step(of_before);
}

[[gnu::cold]] void vjp_lstm_gradients(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor &gates = call.input(0), &cells = call.input(1), &u = call.input(2), &first_cell = call.input(3),
               &dh = call.input(4), &mask = call.input(5);
  const Tensor &tz = call.cotangent(0), &tfirst_h = call.cotangent(1), &tfirst_cell = call.cotangent(2);
  const bool more = call.input_count() > 6, kept = call.attributes<LstmGradientAttributes>().keep;
  const LstmGradients back =
      more ? lstm_gradients(gates, cells, u, first_cell, dh, mask, call.input(6), call.input(7), {.keep = true})
           : lstm_gradients(gates, cells, u, first_cell, dh, mask, {.keep = true});
  LstmTangents ahead = kept ? lstm_tangents(gates, cells, u, first_cell, tz, tfirst_h, tfirst_cell, mask,
                                            call.cotangent(3), call.cotangent(4))
                            : lstm_tangents(gates, cells, u, first_cell, tz, tfirst_h, tfirst_cell, mask);
  of_coefficients(call, cotangents, back, ahead, tfirst_h, tfirst_cell);
  if (more) {
    cotangents[6] = ahead.cells;
    cotangents[7] = ahead.sums;
  }
  cotangents[4] = std::move(ahead.h);
}

[[gnu::cold]] void vjp_lstm_tangents(const VjpCall& call, std::span<Tensor> cotangents) {
  const LstmGradients back =
      lstm_gradients(call.input(0), call.input(1), call.input(2), call.input(3), call.cotangent(2), call.input(7),
                     call.cotangent(1), call.cotangent(0), {.keep = true});
  of_coefficients(call, cotangents, back, {call.output(0), call.output(1), call.output(2)}, call.input(5),
                  call.input(6));
  cotangents[4] = back.z;
  cotangents[5] = back.first_h;
  cotangents[6] = back.first_cell;
  if (call.input_count() > 8) {
    cotangents[8] = back.whole_cells;
    cotangents[9] = back.whole_h;
  }
}

LstmGradients lstm_gradients_of(std::span<Operand> inputs, bool keep) {
  const LstmGradientAttributes attributes{keep};
  std::vector<Tensor> o = apply_all(kLstmGradients, inputs, &attributes);
  return {std::move(o[0]), std::move(o[1]), std::move(o[2]), std::move(o[3]), std::move(o[4])};
}
LstmTangents tangents_of(std::span<Operand> inputs) {
  std::vector<Tensor> outputs = apply_all(kLstmTangents, inputs, nullptr);
  return {std::move(outputs[0]), std::move(outputs[1]), std::move(outputs[2])};
}

}  // namespace

constinit const OpDef kLstmGradients = {
    .name = "lstm_gradients",
    .text = "The gradients of lstm for z and the first states.",
    .flags = kTakesAnyDTypes | kUpdatesInPlace,
    .outputs = 5,
    .inputs = {"gates, cells, recurrent_kernel, first_cell, dh, mask, dcells, added", kVariadic},
    .attributes = &attribute_table<LstmGradientAttributes, "keep">,
    .infer = infer_lstm_gradients,
    .kernel = run_lstm_gradients,
    .saves = {.inputs = 1},
    .vjp = vjp_lstm_gradients,
    .batch = batch_sequences<2, 5>,
};

constinit const OpDef kLstmTangents = {
    .name = "lstm_tangents",
    .text = "The tangents of the results of lstm.",
    .flags = kTakesAnyDTypes,
    .outputs = 3,
    .inputs = {"gates, cells, recurrent_kernel, first_cell, tz, tfirst_h, tfirst_cell, mask, added_cells, added_h",
               kVariadic},
    .infer = infer_lstm_tangents,
    .kernel = run_lstm_tangents,
    .saves = {.inputs = 1, .outputs = 7},
    .vjp = vjp_lstm_tangents,
    .batch = batch_sequences<2, 7>,
};

LstmGradients lstm_gradients(Operand gates, Operand cells, Operand recurrent_kernel, Operand first_cell, Operand dh,
                             Operand mask, const RecurrentGradientOptions& options) {
  Operand inputs[] = {gates, cells, recurrent_kernel, first_cell, dh, mask};
  return lstm_gradients_of(inputs, options.keep);
}
LstmGradients lstm_gradients(Operand gates, Operand cells, Operand recurrent_kernel, Operand first_cell, Operand dh,
                             Operand mask, Operand dcells, Operand added, const RecurrentGradientOptions& options) {
  Operand inputs[] = {gates, cells, recurrent_kernel, first_cell, dh, mask, dcells, added};
  return lstm_gradients_of(inputs, options.keep);
}

LstmTangents lstm_tangents(Operand gates, Operand cells, Operand recurrent_kernel, Operand first_cell, Operand tz,
                           Operand tfirst_h, Operand tfirst_cell, Operand mask) {
  Operand inputs[] = {gates, cells, recurrent_kernel, first_cell, tz, tfirst_h, tfirst_cell, mask};
  return tangents_of(inputs);
}
LstmTangents lstm_tangents(Operand gates, Operand cells, Operand recurrent_kernel, Operand first_cell, Operand tz,
                           Operand tfirst_h, Operand tfirst_cell, Operand mask, Operand added_cells, Operand added_h) {
  Operand inputs[] = {gates,       cells, recurrent_kernel, first_cell, tz, tfirst_h,
                      tfirst_cell, mask,  added_cells,      added_h};
  return tangents_of(inputs);
}

CAPSTAN_OPS(lstm_gradients, &kLstmGradients, &kLstmTangents);

}  // namespace capstan
