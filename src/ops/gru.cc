// Gated recurrent units over all steps, and their derivatives, each fused.
//
// As with LSTMs (lstm.cc) the gradients and the tangents of a sequence are solutions of one linear system and its
// transpose, each the rule of the other. Of the tangents only those of h need a loop over time. With s for the sums of
// the states' part and ' for the step before, a step has
//     ts = tsums + th' u,   tz = (tx_z + ts_z) z (1 - z),   tr = (tx_r + ts_r) r (1 - r),   tq = ts_q,
//     tn = (tx_n + r tq + q tr) (1 - n^2),   th = tz (h' - n) + z th' + (1 - z) tn + added.
#include <algorithm>
#include <cmath>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/recurrent.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/op_test.h"
#include "src/kernels/gru.h"
#include "src/ops/batching.h"
#include "src/ops/families.h"
#include "src/ops/recurrent.h"
#include "src/ops/reference.h"
#include "src/ops/wide.h"

namespace capstan {

extern const OpDef kGru, kGruGradients, kGruTangents;

namespace {

// What inputs and states give sums for, and what is kept of a step: update, reset, candidate and the candidate's sum.
constexpr std::int64_t kSums = 3, kGates = 4;

struct GruGradientAttributes {
  bool keep = false;
};
constexpr AttributeType kGruGradientAttributes =
    attribute_type<GruGradientAttributes>({field<&GruGradientAttributes::keep>("keep")});

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

// Gates, states, recurrent kernel and first states, which stand first in both other ops.
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
  const GruGradients back = dgates.has_value() ? gru_gradients(gates, h, u, first_h, call.input(4), dgates, true)
                                               : gru_gradients(gates, h, u, first_h, call.input(4), true);
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
      gru_gradients(call.input(0), call.input(1), call.input(2), call.input(3), call.cotangent(), true);
  const std::vector<Tensor> g = split(call.input(0), kGates, -1);
  of_coefficients(call, cotangents, g, back, {},
                  Tangents(call, g, call.input(4), call.input(5), call.input(6), call.output()));
  cotangents[4] = back.x;
  cotangents[5] = back.sums;
  cotangents[6] = back.first_h;
  if (call.input_count() > 7) cotangents[7] = back.whole_h;
}

// --- Samples and references ---

#if CAPSTAN_TESTING

std::vector<OpSample> gru_samples() {
  const auto inputs = [](std::int64_t batch, std::int64_t steps, std::int64_t units, const SampleInput& mask) {
    return std::vector<SampleInput>{{.shape = {batch, steps, 3 * units}},
                                    {.shape = {units, 3 * units}},
                                    {.shape = {3 * units}},
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
      wrong(0, {2, 3, 8}, "x must be [batch, steps, 3 * units], not [2, 3, 8]"),
      wrong(1, {2, 4}, "recurrent_kernel has shape [2, 4], not [2, 6]"),
      wrong(2, {2, 6}, "recurrent_bias has shape [2, 6], not [6]"),
      wrong(3, {3, 2}, "first_h has shape [3, 2], not [2, 2]"),
  };
}

double naive_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

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
const OpTest kGruTest = {.samples = gru_samples, .reference = gru_reference};

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
const OpTest kGruGradientsTest = {.samples = gradient_samples, .reference = gradient_reference};

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
const OpTest kGruTangentsTest = {.samples = tangent_samples, .reference = tangent_reference};

#endif

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
    .arity = 5,
    .outputs = 2,
    .input_names = "x, recurrent_kernel, recurrent_bias, first_h, mask",
    .infer = infer_gru,
    .kernel = run_gru,
    .saves = {.inputs = 26, .outputs = 3},
    .vjp = vjp_gru,
    .batch = batch_sequences<1, 4, 2>,
    .test = CAPSTAN_OP_TEST(kGruTest),
};

constinit const OpDef kGruGradients = {
    .name = "gru_gradients",
    .text = "The gradients of gru for x, the sums of its states and the first states.",
    .flags = kTakesAnyDTypes,
    .arity = kVariadic,
    .outputs = 4,
    .input_names = "gates, h, recurrent_kernel, first_h, dh, dgates",
    .attributes = &kGruGradientAttributes,
    .infer = infer_gradients,
    .kernel = run_gradients,
    .saves = {.inputs = 1},
    .vjp = vjp_gradients,
    .batch = batch_sequences<2>,
    .test = CAPSTAN_OP_TEST(kGruGradientsTest),
};

constinit const OpDef kGruTangents = {
    .name = "gru_tangents",
    .text = "The tangents of the states of gru.",
    .flags = kTakesAnyDTypes,
    .arity = kVariadic,
    .input_names = "gates, h, recurrent_kernel, first_h, tx, tsums, tfirst_h, added",
    .infer = infer_tangents,
    .kernel = run_tangents,
    .saves = {.inputs = 1, .outputs = 1},
    .vjp = vjp_tangents,
    .batch = batch_sequences<2>,
    .test = CAPSTAN_OP_TEST(kGruTangentsTest),
};

GruSequence gru(Operand x, Operand recurrent_kernel, Operand recurrent_bias, Operand first_h) {
  return gru(x, recurrent_kernel, recurrent_bias, first_h, all_steps());
}
GruSequence gru(Operand x, Operand recurrent_kernel, Operand recurrent_bias, Operand first_h, Operand mask) {
  Operand inputs[] = {x, recurrent_kernel, recurrent_bias, first_h, mask};
  std::vector<Tensor> outputs = apply_all(kGru, inputs, nullptr);
  return {std::move(outputs[1]), std::move(outputs[0])};
}

GruGradients gru_gradients(Operand gates, Operand h, Operand recurrent_kernel, Operand first_h, Operand dh, bool keep) {
  Operand inputs[] = {gates, h, recurrent_kernel, first_h, dh};
  return gradients_of(inputs, keep);
}
GruGradients gru_gradients(Operand gates, Operand h, Operand recurrent_kernel, Operand first_h, Operand dh,
                           Operand dgates, bool keep) {
  Operand inputs[] = {gates, h, recurrent_kernel, first_h, dh, dgates};
  return gradients_of(inputs, keep);
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

OpFamily gru_ops() {
  static constexpr const OpDef* ops[] = {&kGru, &kGruGradients, &kGruTangents};
  return ops;
}

}  // namespace capstan
