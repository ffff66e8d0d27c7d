// RNN, GRU and LSTM, step by step; both directions, sequences of their own lengths.
#include <functional>

#include "capstan/ops/activation.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/rearrange.h"

#include "src/core/check.h"
#include "src/onnx/import.h"

namespace capstan::onnx {
namespace {

using Activation = std::function<Tensor(const Tensor&)>;

Activation activation_of(const std::string& name, double alpha, double beta) {
  if (name == "Sigmoid") return [](const Tensor& x) { return sigmoid(x); };
  if (name == "Tanh") return [](const Tensor& x) { return tanh(x); };
  if (name == "Relu") return [](const Tensor& x) { return relu(x); };
  if (name == "Softsign") return [](const Tensor& x) { return softsign(x); };
  if (name == "Softplus") return [](const Tensor& x) { return softplus(x); };
  if (name == "Affine") return [=](const Tensor& x) { return x * alpha + beta; };
  if (name == "LeakyRelu") return [=](const Tensor& x) { return leaky_relu(x, alpha); };
  if (name == "ThresholdedRelu") return [=](const Tensor& x) { return threshold(x, alpha, 0); };
  if (name == "ScaledTanh") return [=](const Tensor& x) { return alpha * tanh(beta * x); };
  if (name == "HardSigmoid") return [=](const Tensor& x) { return clip_by_value(x * alpha + beta, 0, 1); };
  if (name == "Elu") return [=](const Tensor& x) { return where(x > 0, x, alpha * expm1(minimum(x, 0))); };
  not_supported("activation " + name);
}

// One direction: what a step needs beside its input.
struct Cell {
  Tensor recurrent;       // [units, gates * units]
  Tensor recurrent_bias;  // [gates * units], or empty
  Tensor peepholes;       // [3 * units], or empty
  std::vector<Activation> f;
  std::int64_t units = 0;
  double clip = 0;  // 0: none
  bool linear_before_reset = false, input_forget = false;

  Tensor clipped(const Tensor& x) const { return clip > 0 ? clip_by_value(x, -clip, clip) : x; }
};

struct States {
  Tensor h, c;
};
using Step = States (*)(const Cell& cell, const Tensor& z, const States& before);

Tensor part(const Tensor& x, std::int64_t i, std::int64_t units) {
  return x(ellipsis, slice(i * units, (i + 1) * units));
}

States rnn_step(const Cell& cell, const Tensor& z, const States& before) {
  Tensor sum = z + matmul(before.h, cell.recurrent);
  if (cell.recurrent_bias.has_value()) sum = sum + cell.recurrent_bias;
  return {cell.f[0](cell.clipped(sum)), Tensor()};
}

// Gates: update, reset, candidate.
States gru_step(const Cell& cell, const Tensor& z, const States& before) {
  const std::int64_t n = cell.units;
  const auto bias = [&](const Tensor& x, std::int64_t i) {
    return cell.recurrent_bias.has_value() ? x + part(cell.recurrent_bias, i, n) : x;
  };
  const Tensor& h = before.h;
  const Tensor update = cell.f[0](cell.clipped(bias(part(z, 0, n) + matmul(h, part(cell.recurrent, 0, n)), 0)));
  const Tensor reset = cell.f[0](cell.clipped(bias(part(z, 1, n) + matmul(h, part(cell.recurrent, 1, n)), 1)));
  const Tensor kernel = part(cell.recurrent, 2, n);
  const Tensor past =
      cell.linear_before_reset ? reset * bias(matmul(h, kernel), 2) : bias(matmul(reset * h, kernel), 2);
  const Tensor candidate = cell.f[1](cell.clipped(part(z, 2, n) + past));
  return {(1 - update) * candidate + update * h, Tensor()};
}

// Gates: input, output, forget, cell.
States lstm_step(const Cell& cell, const Tensor& z, const States& before) {
  const std::int64_t n = cell.units;
  Tensor sum = z + matmul(before.h, cell.recurrent);
  if (cell.recurrent_bias.has_value()) sum = sum + cell.recurrent_bias;
  const auto gate = [&](std::int64_t i, std::int64_t peephole, const Tensor& c) {
    Tensor x = part(sum, i, n);
    if (cell.peepholes.has_value()) x = x + part(cell.peepholes, peephole, n) * c;
    return cell.f[0](cell.clipped(x));
  };
  const Tensor input = gate(0, 0, before.c);
  const Tensor forget = cell.input_forget ? 1 - input : gate(2, 2, before.c);
  const Tensor c = forget * before.c + input * cell.f[1](cell.clipped(part(sum, 3, n)));
  const Tensor output = gate(1, 1, c);
  return {output * cell.f[2](c), c};
}

void run_steps(NodeCall& call, Step step, std::int64_t gates, bool has_cells,
               const std::vector<std::string>& default_activations) {
  const bool batch_first = call.integer("layout", 0) != 0;
  Tensor x = call.tensor(0);
  CAPSTAN_CHECK(x.rank() == 3, ShapeError, "onnx: sequences have three axes, not ", x.rank());
  if (batch_first) x = transpose(x, {1, 0, 2});
  const Tensor w = call.tensor(1), r = call.tensor(2);
  const std::string direction = call.text("direction", "forward");
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  CAPSTAN_CHECK(w.rank() == 3 && r.rank() == 3 && w.dim(0) == directions && r.dim(0) == directions &&
                    w.dim(1) == r.dim(1) && r.dim(1) == gates * r.dim(2),
                ShapeError, "onnx: the weights ", w.shape(), " and ", r.shape(), " do not fit ", gates, " gates and ",
                directions, " directions");
  const std::int64_t steps = x.dim(0), batch = x.dim(1), units = r.dim(2);
  CAPSTAN_CHECK(steps > 0, ShapeError, "onnx: sequences have no steps");
  Tensor lengths, first_h, first_c;
  if (call.has(4)) lengths = call.tensor(4);
  const auto state = [&](std::size_t i) {
    if (!call.has(i)) return zeros({directions, batch, units}, x.dtype());
    return batch_first ? transpose(call.tensor(i), {1, 0, 2}) : call.tensor(i);
  };
  first_h = state(5);
  if (has_cells) first_c = state(6);
  const Attribute* const names = call.node().find("activations");
  const std::vector<double> alphas = call.numbers("activation_alpha"), betas = call.numbers("activation_beta");
  std::vector<Tensor> all, last_h, last_c;
  std::size_t next_alpha = 0, next_beta = 0;
  for (std::int64_t d = 0; d < directions; ++d) {
    const bool reversed = direction == "reverse" || d == 1;
    Cell cell;
    cell.units = units;
    cell.recurrent = transpose(r[d]);
    cell.clip = call.number("clip", 0);
    cell.linear_before_reset = call.integer("linear_before_reset", 0) != 0;
    cell.input_forget = call.integer("input_forget", 0) != 0;
    const std::size_t per = default_activations.size();
    for (std::size_t i = 0; i < per; ++i) {
      const std::size_t at = static_cast<std::size_t>(d) * per + i;
      if (names != nullptr) {
        CAPSTAN_CHECK(at < names->texts.size(), ValueError, "onnx: there are ", names->texts.size(), " activations");
      }
      const std::string name = names == nullptr ? default_activations[i] : names->texts[at];
      const bool takes_alpha = name == "LeakyRelu" || name == "ThresholdedRelu" || name == "ScaledTanh" ||
                               name == "HardSigmoid" || name == "Elu" || name == "Affine";
      const bool takes_beta = name == "ScaledTanh" || name == "HardSigmoid" || name == "Affine";
      double alpha = name == "LeakyRelu" ? 0.01 : name == "HardSigmoid" ? 0.2 : 1;
      double beta = name == "HardSigmoid" ? 0.5 : name == "ScaledTanh" ? 1 : 0;
      if (takes_alpha && next_alpha < alphas.size()) alpha = alphas[next_alpha++];
      if (takes_beta && next_beta < betas.size()) beta = betas[next_beta++];
      cell.f.push_back(activation_of(name, alpha, beta));
    }
    Tensor z = matmul(x, transpose(w[d]));
    if (call.has(3)) {
      const Tensor bias = call.tensor(3)[d];
      z = z + bias(slice(0, gates * units));
      cell.recurrent_bias = bias(slice(gates * units, 2 * gates * units));
    }
    if (call.has(7)) cell.peepholes = call.tensor(7)[d];
    if (reversed) z = lengths.has_value() ? reverse_sequence(z, lengths, 0, 1) : reverse(z, 0);
    States states{first_h[d], has_cells ? first_c[d] : Tensor()};
    std::vector<Tensor> rows;
    for (std::int64_t t = 0; t < steps; ++t) {
      const States next = step(cell, z[t], states);
      if (!lengths.has_value()) {
        rows.push_back(next.h);
        states = next;
        continue;
      }
      const Tensor runs = expand_dims(greater(cast(lengths, int64), t), 1);
      rows.push_back(where(runs, next.h, zeros_like(next.h)));
      states.h = where(runs, next.h, states.h);
      if (has_cells) states.c = where(runs, next.c, states.c);
    }
    Tensor y = stack(rows);
    if (reversed) y = lengths.has_value() ? reverse_sequence(y, lengths, 0, 1) : reverse(y, 0);
    all.push_back(y);
    last_h.push_back(states.h);
    if (has_cells) last_c.push_back(states.c);
  }
  const auto give = [&](const std::vector<Tensor>& states) { call.give(stack(states, batch_first ? 1 : 0)); };
  call.give(batch_first ? transpose(stack(all, 1), {2, 0, 1, 3}) : stack(all, 1));
  give(last_h);
  if (has_cells) give(last_c);
}

void rnn(NodeCall& call) { run_steps(call, rnn_step, 1, false, {"Tanh"}); }
void run_gru(NodeCall& call) { run_steps(call, gru_step, 3, false, {"Sigmoid", "Tanh"}); }
void run_lstm(NodeCall& call) { run_steps(call, lstm_step, 4, true, {"Sigmoid", "Tanh", "Tanh"}); }

constexpr Operator kRecurrentOperators[] = {
    {"GRU", run_gru},
    {"LSTM", run_lstm},
    {"RNN", rnn},
};

}  // namespace

std::span<const Operator> recurrent_operators() { return kRecurrentOperators; }

}  // namespace capstan::onnx
