// Gated recurrent units over all steps, and their derivatives, each fused.
//
// As with LSTMs (lstm.cc) the gradients and the tangents of a sequence are solutions of one linear system and its
// transpose, each the rule of the other. Of the tangents only those of h need a loop over time. With s for the sums of
// the states' part and ' for the step before, a step has
//     ts = tsums + th' u,   tz = (tx_z + ts_z) z (1 - z),   tr = (tx_r + ts_r) r (1 - r),   tq = ts_q,
//     tn = (tx_n + r tq + q tr) (1 - n^2),   th = tz (h' - n) + z th' + (1 - z) tn + added.
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/recurrent.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/kernels/recurrent/gru.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/recurrent/recurrent.h"
#include "src/ops/wide.h"

namespace capstan {

extern const OpDef kGru, kGruGradients, kGruTangents;

namespace {

// What inputs and states give sums for, and what is kept of a step: update, reset, candidate and the candidate's sum.
constexpr std::int64_t kSums = 3, kGates = 4;

struct GruGradientAttributes {
  bool keep = false;
};

// --- The ops ---

void infer_gru(const Call& call, OutputSpecs& outputs) {
  const Steps s = check_steps(call, 0, "x", kSums);
  check_input(call, 1, "recurrent_kernel", {s.units, kSums * s.units});
  check_input(call, 2, "recurrent_bias", {kSums * s.units});
  check_input(call, 3, "first_h", {s.batch, s.units});
  check_mask(call, 4, s);
  const DType dtype = call.input(0).dtype();
  outputs.add(dtype, {s.batch, s.steps, kGates * s.units});
  outputs.add(dtype, {s.batch, s.steps, s.units});
}

void run_gru(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  with_wide_type(x.dtype(), [&]<class T>(T) {
    const WideInput<T> wide(x), u(call.input(1)), b(call.input(2)), h(call.input(3));
    const WideOutput<T> gates(outputs[0]), all(outputs[1]);
    gru_kernels<T>(instruction_set())
        .forward({x.dim(0), x.dim(1), x.dim(2) / kSums}, {wide, u, b, h, mask_of_steps(call, 4), gates, all});
  });
}

// Gates, states, recurrent kernel and first states, which are first in both other ops.
Steps check_coefficients(const Call& call, int fewest) {
  CAPSTAN_CHECK(call.input_count() == fewest || call.input_count() == fewest + 1, ValueError, call.op.name, ": takes ",
                fewest, " or ", fewest + 1, " operands, not ", call.input_count());
  const Steps s = check_steps(call, 0, "gates", kGates);
  check_input(call, 1, "h", {s.batch, s.steps, s.units});
  check_input(call, 2, "recurrent_kernel", {s.units, kSums * s.units});
  check_input(call, 3, "first_h", {s.batch, s.units});
  return s;
}
GruShape shape_of(const Call& call) {
  const TensorRef& h = call.input(1);
  return {h.dim(0), h.dim(1), h.dim(2)};
}

void infer_gradients(const Call& call, OutputSpecs& outputs) {
  const Steps s = check_coefficients(call, 5);
  check_input(call, 4, "dh", {s.batch, s.steps, s.units});
  if (call.input_count() > 5) check_input(call, 5, "dgates", call.input(0).shape());
  const DType dtype = call.input(0).dtype();
  for (int i = 0; i < 2; ++i) outputs.add(dtype, {s.batch, s.steps, kSums * s.units});
  outputs.add(dtype, {s.batch, s.units});
  outputs.add(dtype, {s.batch, call.attributes<GruGradientAttributes>().keep ? s.steps : 0, s.units});
}

void run_gradients(const Call& call, std::span<Tensor> outputs) {
  with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
    const WideInput<T> gates(call.input(0)), h(call.input(1)), u(call.input(2)), first(call.input(3)),
        dh(call.input(4));
    const OptionalInput<T> dgates(call, 5);
    const WideOutput<T> dx(outputs[0]), dsums(outputs[1]), first_h(outputs[2]), whole(outputs[3]);
    T* const kept = call.attributes<GruGradientAttributes>().keep ? static_cast<T*>(whole) : nullptr;
    gru_kernels<T>(instruction_set())
        .gradients(shape_of(call), {gates, h, u, first, dh, dgates, dx, dsums, first_h, kept});
  });
}

void infer_tangents(const Call& call, OutputSpecs& outputs) {
  const Steps s = check_coefficients(call, 7);
  check_input(call, 4, "tx", {s.batch, s.steps, kSums * s.units});
  check_input(call, 5, "tsums", {s.batch, s.steps, kSums * s.units});
  check_input(call, 6, "tfirst_h", {s.batch, s.units});
  if (call.input_count() > 7) check_input(call, 7, "added", {s.batch, s.steps, s.units});
  outputs.add(call.input(0).dtype(), {s.batch, s.steps, s.units});
}

void run_tangents(const Call& call, std::span<Tensor> outputs) {
  with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
    const WideInput<T> gates(call.input(0)), h(call.input(1)), u(call.input(2)), first(call.input(3)),
        tx(call.input(4)), tsums(call.input(5)), tfirst(call.input(6));
    const OptionalInput<T> added(call, 7);
    const WideOutput<T> th(outputs[0]);
    gru_kernels<T>(instruction_set()).tangents(shape_of(call), {gates, h, u, first, tx, tsums, tfirst, added, th});
  });
}

// --- The rules ---

void vjp_gru(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor &u = call.input(1), &first_h = call.input(3), &gates = call.output(0), &h = call.output(1);
  const Tensor& mask = call.input(4);
  // The gates of a step that is left out are numbers.
  const auto dgates = [&] {
    const Tensor& g = call.cotangent(0);
    return mask.size() == 0 ? g : where(expand_dims(mask, -1), g, zeros_like(g));
  };
  GruGradients g = call.has_cotangent(0) ? gru_gradients(gates, h, u, first_h, call.cotangent(1), dgates())
                                         : gru_gradients(gates, h, u, first_h, call.cotangent(1));
  if (call.needs(1)) cotangents[1] = rows_product(step_before(first_h, h), g.sums);
  if (call.needs(2)) cotangents[2] = reduce_sum(g.sums, {0, 1});
  cotangents[0] = std::move(g.x);
  cotangents[3] = std::move(g.first_h);
}

// What one step of the system has, given the tangents of h: elementwise.
struct Tangents {
  std::vector<Tensor> gates;   // z, r, n, q
  Tensor sum_z, sum_r, sum_n;  // of what z and r are a sigmoid of and n a tanh
  Tensor th_before;

  Tangents(const VjpCall& call, const std::vector<Tensor>& g, const Tensor& tx, const Tensor& tsums,
           const Tensor& tfirst_h, const Tensor& th)
      : th_before(step_before(tfirst_h, th)) {
    const std::vector<Tensor> x = split(tx, kSums, -1), s = split(tsums + matmul(th_before, call.input(2)), kSums, -1);
    sum_z = x[0] + s[0];
    sum_r = x[1] + s[1];
    const Tensor tr = sum_r * g[1] * (1 - g[1]);
    sum_n = x[2] + g[1] * s[2] + g[3] * tr;
    gates = {sum_z * g[0] * (1 - g[0]), tr, sum_n * (1 - square(g[2])), s[2]};
  }
};

// The cotangents of gates, states, recurrent kernel and first states, given the solutions of both systems. `dgates` is
// what came from outside, and may be empty.
void of_coefficients(const VjpCall& call, std::span<Tensor> cotangents, const std::vector<Tensor>& g,
                     const GruGradients& back, const Tensor& dgates, const Tangents& t) {
  const Tensor &h = call.input(1), &dh = back.whole_h;
  const Tensor before = step_before(call.input(3), h);
  if (call.needs(0)) {
    const std::vector<Tensor> more = dgates.has_value() ? split(dgates, kGates, -1) : std::vector<Tensor>();
    const auto with = [&](const Tensor& x, std::size_t gate) { return more.empty() ? x : x + more[gate]; };
    const Tensor dz = with(dh * (before - g[2]), 0), dn = with(dh * (1 - g[0]), 2);
    const Tensor to_n = dn * (1 - square(g[2]));
    const Tensor dr = with(to_n * g[3], 1);
    cotangents[0] = concat({dh * (t.th_before - t.gates[2]) + dz * t.sum_z * (1 - 2 * g[0]),
                            dr * t.sum_r * (1 - 2 * g[1]) + to_n * t.gates[3],
                            -(dh * t.gates[0]) - 2 * dn * t.sum_n * g[2], to_n * t.gates[1]},
                           -1);
  }
  const Tensor of_before = dh * t.gates[0];
  cotangents[1] = step_behind(of_before);
  if (call.needs(2)) cotangents[2] = rows_product(t.th_before, back.sums);
  cotangents[3] = first_step(of_before);
}

void vjp_gradients(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor &gates = call.input(0), &h = call.input(1), &u = call.input(2), &first_h = call.input(3);
  const Tensor &tx = call.cotangent(0), &tsums = call.cotangent(1), &tfirst_h = call.cotangent(2);
  const Tensor dgates = call.input_count() > 5 ? call.input(5) : Tensor();
  const GruGradients back = dgates.has_value()
                                ? gru_gradients(gates, h, u, first_h, call.input(4), dgates, {.keep = true})
                                : gru_gradients(gates, h, u, first_h, call.input(4), {.keep = true});
  Tensor th = call.attributes<GruGradientAttributes>().keep
                  ? gru_tangents(gates, h, u, first_h, tx, tsums, tfirst_h, call.cotangent(3))
                  : gru_tangents(gates, h, u, first_h, tx, tsums, tfirst_h);
  const std::vector<Tensor> g = split(gates, kGates, -1);
  const Tangents t(call, g, tx, tsums, tfirst_h, th);
  of_coefficients(call, cotangents, g, back, dgates, t);
  if (dgates.has_value()) cotangents[5] = concat(t.gates, -1);
  cotangents[4] = std::move(th);
}

void vjp_tangents(const VjpCall& call, std::span<Tensor> cotangents) {
  const GruGradients back =
      gru_gradients(call.input(0), call.input(1), call.input(2), call.input(3), call.cotangent(), {.keep = true});
  const std::vector<Tensor> g = split(call.input(0), kGates, -1);
  of_coefficients(call, cotangents, g, back, {},
                  Tangents(call, g, call.input(4), call.input(5), call.input(6), call.output()));
  cotangents[4] = back.x;
  cotangents[5] = back.sums;
  cotangents[6] = back.first_h;
  if (call.input_count() > 7) cotangents[7] = back.whole_h;
}

GruGradients gradients_of(std::span<Operand> inputs, bool keep) {
  const GruGradientAttributes attributes{keep};
  std::vector<Tensor> o = apply_all(kGruGradients, inputs, &attributes);
  return {std::move(o[0]), std::move(o[1]), std::move(o[2]), std::move(o[3])};
}

}  // namespace

constinit const OpDef kGru = {
    .name = "gru",
    .text = "A gated recurrent unit over all steps.",
    .flags = kTakesAnyDTypes | kCostlyAgain,
    .outputs = 2,
    .inputs = "x, recurrent_kernel, recurrent_bias, first_h, mask",
    .infer = infer_gru,
    .kernel = run_gru,
    .saves = {.inputs = 26, .outputs = 3},
    .vjp = vjp_gru,
    .batch = batch_sequences<1, 4, 2>,
};

constinit const OpDef kGruGradients = {
    .name = "gru_gradients",
    .text = "The gradients of gru for x, the sums of its states and the first states.",
    .flags = kTakesAnyDTypes,
    .outputs = 4,
    .inputs = {"gates, h, recurrent_kernel, first_h, dh, dgates", kVariadic},
    .attributes = &attribute_table<GruGradientAttributes, "keep">,
    .infer = infer_gradients,
    .kernel = run_gradients,
    .saves = {.inputs = 1},
    .vjp = vjp_gradients,
    .batch = batch_sequences<2>,
};

constinit const OpDef kGruTangents = {
    .name = "gru_tangents",
    .text = "The tangents of the states of gru.",
    .flags = kTakesAnyDTypes,
    .inputs = {"gates, h, recurrent_kernel, first_h, tx, tsums, tfirst_h, added", kVariadic},
    .infer = infer_tangents,
    .kernel = run_tangents,
    .saves = {.inputs = 1, .outputs = 1},
    .vjp = vjp_tangents,
    .batch = batch_sequences<2>,
};

GruSequence gru(Operand x, Operand recurrent_kernel, Operand recurrent_bias, Operand first_h) {
  return gru(x, recurrent_kernel, recurrent_bias, first_h, all_steps());
}
GruSequence gru(Operand x, Operand recurrent_kernel, Operand recurrent_bias, Operand first_h, Operand mask) {
  Operand inputs[] = {x, recurrent_kernel, recurrent_bias, first_h, mask};
  std::vector<Tensor> outputs = apply_all(kGru, inputs, nullptr);
  return {std::move(outputs[1]), std::move(outputs[0])};
}

GruGradients gru_gradients(Operand gates, Operand h, Operand recurrent_kernel, Operand first_h, Operand dh,
                           const RecurrentGradientOptions& options) {
  Operand inputs[] = {gates, h, recurrent_kernel, first_h, dh};
  return gradients_of(inputs, options.keep);
}
GruGradients gru_gradients(Operand gates, Operand h, Operand recurrent_kernel, Operand first_h, Operand dh,
                           Operand dgates, const RecurrentGradientOptions& options) {
  Operand inputs[] = {gates, h, recurrent_kernel, first_h, dh, dgates};
  return gradients_of(inputs, options.keep);
}

Tensor gru_tangents(Operand gates, Operand h, Operand recurrent_kernel, Operand first_h, Operand tx, Operand tsums,
                    Operand tfirst_h) {
  Operand inputs[] = {gates, h, recurrent_kernel, first_h, tx, tsums, tfirst_h};
  return apply(kGruTangents, inputs, nullptr);
}
Tensor gru_tangents(Operand gates, Operand h, Operand recurrent_kernel, Operand first_h, Operand tx, Operand tsums,
                    Operand tfirst_h, Operand added) {
  Operand inputs[] = {gates, h, recurrent_kernel, first_h, tx, tsums, tfirst_h, added};
  return apply(kGruTangents, inputs, nullptr);
}

CAPSTAN_OPS(gru, &kGru, &kGruGradients, &kGruTangents);

}  // namespace capstan
