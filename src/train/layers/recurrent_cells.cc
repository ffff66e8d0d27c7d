// The cells of simple recurrent networks, LSTMs and GRUs.
//
// The products of the inputs of all steps are one before the first step; a step has the product of the states and what
// is elementwise. With the usual activations and without dropout of the states, an op has all steps. Dropout draws once
// for a sequence; with dropout of the states each gate has masks of its own, as in Keras.
#include "capstan/ops/activation.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/recurrent.h"
#include "src/train/common.h"
#include "src/train/layers/cell.h"
#include "src/train/layers/cell_options.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

using detail::CellRun;
using detail::CellSequence;
using detail::CellStep;

// What a cell has of gates: their product is split into as many parts.
struct Gates {
  int count;
  Tensor kernel, recurrent_kernel, input_bias, state_bias;
  std::vector<Tensor> input_masks, state_masks;  // none, one, or one for each gate
};

Tensor product(const Tensor& x, const Tensor& kernel) {
  if (x.rank() == 2) return matmul(x, kernel);
  return reshape(matmul(reshape(x, {-1, x.dim(-1)}), kernel), {x.dim(0), -1, kernel.dim(-1)});
}

Tensor masked_product(const Tensor& x, const Tensor& kernel, const std::vector<Tensor>& masks) {
  if (masks.empty()) return product(x, kernel);
  if (masks.size() == 1) return product(x * masks[0], kernel);
  const std::vector<Tensor> kernels = split(kernel, static_cast<int>(masks.size()), -1);
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < masks.size(); ++i) parts.push_back(product(x * masks[i], kernels[i]));
  return concat(parts, -1);
}

// The note of its logits that activations::sigmoid leaves would keep them alive.
Tensor apply(const ActivationFunction& function, Tensor x) {
  return function.name() == "sigmoid" ? sigmoid(std::move(x)) : function(std::move(x));
}

class GatedRun : public CellRun {
 public:
  GatedRun(Gates gates, ActivationFunction activation, ActivationFunction recurrent_activation)
      : gates(std::move(gates)),
        activation(std::move(activation)),
        recurrent_activation(std::move(recurrent_activation)) {}
  Tensor project(const Tensor& x) const override {
    Tensor z = masked_product(x, gates.kernel, gates.input_masks);
    return gates.input_bias.has_value() ? bias_add(std::move(z), gates.input_bias) : z;
  }
  bool projects_rows() const override { return gates.input_masks.empty(); }
  int output_state() const override { return 0; }
  Tensor project_sequence(const Tensor& x) const override {
    std::vector<Tensor> masks;
    for (const Tensor& mask : gates.input_masks) masks.push_back(expand_dims(mask, 1));
    Tensor z = matmul(masks.empty() ? x : x * masks[0], gates.kernel);
    return gates.input_bias.has_value() ? bias_add(std::move(z), gates.input_bias) : z;
  }

 protected:
  Tensor recurrent(const Tensor& h) const {
    Tensor z = masked_product(h, gates.recurrent_kernel, gates.state_masks);
    return gates.state_bias.has_value() ? bias_add(std::move(z), gates.state_bias) : z;
  }

  // Whether the ops that have all steps compute the same.
  bool has_op() const {
    return activation.name() == "tanh" && recurrent_activation.name() == "sigmoid" && gates.state_masks.empty();
  }

  const Gates gates;
  const ActivationFunction activation, recurrent_activation;
};

// A table of options, its weights and its dropout.
template <class Derived, class Config>
class GatedCell : public ConfiguredLayer<Derived, Config, detail::RunnableCell> {
 public:
  explicit GatedCell(const Config& given)
      : ConfiguredLayer<Derived, Config, detail::RunnableCell>(given), dropout_(*this, given.seed) {
    this->converts_integers();
  }

  std::vector<Shape> state_shapes(const Shape&) const override {
    return std::vector<Shape>(Derived::kStates, Shape{this->options.units});
  }

 protected:
  void build(const std::vector<Shape>& shapes) override {
    const Config& o = this->options;
    const Shape& x = shapes[0];
    CAPSTAN_CHECK(x.rank() == 2, ShapeError, this->name(), ": the input of a step must be [batch, features], not ", x);
    const std::int64_t width = Derived::kGates * o.units;
    kernel_ = this->add_weight({.name = "kernel",
                                .shape = {x[-1], width},
                                .initializer = o.kernel_initializer,
                                .regularizer = o.kernel_regularizer,
                                .constraint = o.kernel_constraint});
    recurrent_kernel_ = this->add_weight({.name = "recurrent_kernel",
                                          .shape = {o.units, width},
                                          .initializer = o.recurrent_initializer,
                                          .regularizer = o.recurrent_regularizer,
                                          .constraint = o.recurrent_constraint});
    if (!o.use_bias) return;
    const Derived& derived = static_cast<const Derived&>(*this);
    bias_ = this->add_weight({.name = "bias",
                              .shape = derived.bias_shape(width),
                              .initializer = derived.bias_initializer(),
                              .regularizer = o.bias_regularizer,
                              .constraint = o.bias_constraint});
  }

  Shape bias_shape(std::int64_t width) const { return {width}; }
  Initializer bias_initializer() const { return this->options.bias_initializer; }

  Gates gates(const Tensor& x, const Tensor& h, bool training) {
    const Config& o = this->options;
    Gates gates{Derived::kGates, this->value_of(kernel_), this->value_of(recurrent_kernel_), {}, {}, {}, {}};
    CAPSTAN_CHECK(x.dim(-1) == gates.kernel.dim(0), ShapeError, this->name(),
                  ": the last axis of the input must have length ", gates.kernel.dim(0), ", not ", x.dim(-1));
    if (o.use_bias) {
      const Tensor bias = this->value_of(bias_);
      gates.input_bias = bias.rank() == 2 ? bias[0] : bias;
      if (bias.rank() == 2) gates.state_bias = bias[1];
    }
    if (!training) return gates;
    const int count = o.recurrent_dropout > 0 ? Derived::kGates : 1;
    gates.input_masks = masks(x, o.dropout, count);
    gates.state_masks = masks(h, o.recurrent_dropout, count);
    return gates;
  }

 private:
  std::vector<Tensor> masks(const Tensor& like, double rate, int count) {
    std::vector<Tensor> masks;
    for (int i = 0; rate > 0 && i < count; ++i) masks.push_back(dropout_.mask(like, rate));
    return masks;
  }
  Variable kernel_, recurrent_kernel_, bias_;
  detail::SequenceDropout dropout_;
};

// --- SimpleRNN ---

struct SimpleRNNCellConfig : SimpleRNNCellOptions {
  std::int64_t units = 0;
  static std::span<const OptionField> fields() {
    static constexpr auto all = detail::with_cell_options<SimpleRNNCellConfig>();
    return all;
  }
};

class SimpleRun final : public GatedRun {
 public:
  using GatedRun::GatedRun;
  CellStep step(const Tensor& projected, std::span<const Tensor> states) const override {
    const Tensor h = activation(projected + recurrent(states[0]));
    return {h, {h}};
  }
};

class SimpleRNNCellBody final : public GatedCell<SimpleRNNCellBody, SimpleRNNCellConfig> {
 public:
  static constexpr char kName[] = "SimpleRNNCell", kText[] = "One step of a simple recurrent network.";
  static constexpr int kGates = 1, kStates = 1;
  using GatedCell::GatedCell;
  std::unique_ptr<CellRun> begin(const Tensor& x, std::span<const Tensor> states, bool training) override {
    return std::make_unique<SimpleRun>(gates(x, states[0], training), options.activation, ActivationFunction());
  }

 private:
  friend GatedCell;
};

// --- LSTM ---

struct LSTMCellConfig : LSTMCellOptions {
  std::int64_t units = 0;
  static std::span<const OptionField> fields() {
    using O = LSTMCellConfig;
    static constexpr auto all =
        detail::with_cell_options<O>(option<&O::recurrent_activation, O>("recurrent_activation"),
                                     option<&O::unit_forget_bias, O>("unit_forget_bias"));
    return all;
  }
};

class LSTMRun final : public GatedRun {
 public:
  using GatedRun::GatedRun;
  CellStep step(const Tensor& projected, std::span<const Tensor> states) const override {
    const std::vector<Tensor> z = split(projected + recurrent(states[0]), 4, -1);
    const Tensor i = apply(recurrent_activation, z[0]), f = apply(recurrent_activation, z[1]);
    const Tensor c = f * states[1] + i * activation(z[2]);
    const Tensor h = apply(recurrent_activation, z[3]) * activation(c);
    return {h, {h, c}};
  }
  bool runs_sequences() const override { return has_op(); }
  CellSequence sequence(Tensor z, const Tensor& mask, std::span<const Tensor> states) const override {
    return with_last(mask.has_value() ? lstm(std::move(z), gates.recurrent_kernel, states[0], states[1], mask)
                                      : lstm(std::move(z), gates.recurrent_kernel, states[0], states[1]));
  }
  CellSequence sequence_of_rows(const Tensor& table, const Tensor& ids, const Tensor& mask,
                                std::span<const Tensor> states) const override {
    const Tensor& u = gates.recurrent_kernel;
    return with_last(mask.has_value() ? lstm_of_rows(table, ids, u, states[0], states[1], mask)
                                      : lstm_of_rows(table, ids, u, states[0], states[1]));
  }

 private:
  static CellSequence with_last(const LstmSequence& all) {
    return {all.h, {all.h(slice(), -1), all.cells(slice(), -1)}};
  }
};

class LSTMCellBody final : public GatedCell<LSTMCellBody, LSTMCellConfig> {
 public:
  static constexpr char kName[] = "LSTMCell", kText[] = "One step of a long short-term memory.";
  static constexpr int kGates = 4, kStates = 2;
  using GatedCell::GatedCell;
  std::unique_ptr<CellRun> begin(const Tensor& x, std::span<const Tensor> states, bool training) override {
    return std::make_unique<LSTMRun>(gates(x, states[0], training), options.activation, options.recurrent_activation);
  }

 private:
  friend GatedCell;
  Initializer bias_initializer() const {
    if (!options.unit_forget_bias) return options.bias_initializer;
    return [units = options.units, others = options.bias_initializer](const Shape&, DType dtype) {
      return concat({others({units}, dtype), ones({units}, dtype), others({2 * units}, dtype)}, 0);
    };
  }
};

// --- GRU ---

struct GRUCellConfig : GRUCellOptions {
  std::int64_t units = 0;
  static std::span<const OptionField> fields() {
    using O = GRUCellConfig;
    static constexpr auto all = detail::with_cell_options<O>(
        option<&O::recurrent_activation, O>("recurrent_activation"), option<&O::reset_after, O>("reset_after"));
    return all;
  }
};

class GRURun final : public GatedRun {
 public:
  GRURun(bool reset_after, Gates gates, ActivationFunction activation, ActivationFunction recurrent_activation)
      : GatedRun(std::move(gates), std::move(activation), std::move(recurrent_activation)), reset_after_(reset_after) {
    if (reset_after_) return;
    // The last third waits for the reset gate.
    const std::int64_t units = this->gates.recurrent_kernel.dim(0);
    const std::vector<Tensor> kernels = split(this->gates.recurrent_kernel, {2 * units, units}, -1);
    gate_kernel_ = kernels[0];
    state_kernel_ = kernels[1];
  }
  CellStep step(const Tensor& projected, std::span<const Tensor> states) const override {
    const Tensor& old = states[0];
    const std::vector<Tensor> x = split(projected, 3, -1);
    Tensor z, r, candidate;
    if (reset_after_) {
      const std::vector<Tensor> h = split(recurrent(old), 3, -1);
      z = apply(recurrent_activation, x[0] + h[0]);
      r = apply(recurrent_activation, x[1] + h[1]);
      candidate = x[2] + r * h[2];
    } else {
      const std::vector<Tensor>& masks = gates.state_masks;
      const std::vector<Tensor> first_masks(masks.begin(), masks.begin() + (masks.empty() ? 0 : 2));
      const std::vector<Tensor> h = split(masked_product(old, gate_kernel_, first_masks), 2, -1);
      z = apply(recurrent_activation, x[0] + h[0]);
      r = apply(recurrent_activation, x[1] + h[1]);
      candidate = x[2] + matmul(r * (masks.empty() ? old : old * masks[2]), state_kernel_);
    }
    const Tensor h = z * old + (1 - z) * activation(candidate);
    return {h, {h}};
  }
  bool runs_sequences() const override { return reset_after_ && has_op(); }
  CellSequence sequence(Tensor x, const Tensor& mask, std::span<const Tensor> states) const override {
    const Tensor bias =
        gates.state_bias.has_value() ? gates.state_bias : zeros({gates.recurrent_kernel.dim(-1)}, x.dtype());
    const GruSequence all = mask.has_value() ? gru(std::move(x), gates.recurrent_kernel, bias, states[0], mask)
                                             : gru(std::move(x), gates.recurrent_kernel, bias, states[0]);
    return {all.h, {all.h(slice(), -1)}};
  }

 private:
  bool reset_after_;
  Tensor gate_kernel_, state_kernel_;
};

class GRUCellBody final : public GatedCell<GRUCellBody, GRUCellConfig> {
 public:
  static constexpr char kName[] = "GRUCell", kText[] = "One step of a gated recurrent unit.";
  static constexpr int kGates = 3, kStates = 1;
  using GatedCell::GatedCell;
  std::unique_ptr<CellRun> begin(const Tensor& x, std::span<const Tensor> states, bool training) override {
    return std::make_unique<GRURun>(options.reset_after, gates(x, states[0], training), options.activation,
                                    options.recurrent_activation);
  }

 private:
  friend GatedCell;
  Shape bias_shape(std::int64_t width) const { return options.reset_after ? Shape{2, width} : Shape{width}; }
};

}  // namespace

SimpleRNNCell::SimpleRNNCell(std::int64_t units, const SimpleRNNCellOptions& options)
    : Layer(make_configurable<SimpleRNNCellBody>(SimpleRNNCellConfig{options, units})) {}
LSTMCell::LSTMCell(std::int64_t units, const LSTMCellOptions& options)
    : Layer(make_configurable<LSTMCellBody>(LSTMCellConfig{options, units})) {}
GRUCell::GRUCell(std::int64_t units, const GRUCellOptions& options)
    : Layer(make_configurable<GRUCellBody>(GRUCellConfig{options, units})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::simple_rnn_cell_class() { return layers::SimpleRNNCellBody::info(); }
const capstan::ClassInfo& capstan::detail::lstm_cell_class() { return layers::LSTMCellBody::info(); }
const capstan::ClassInfo& capstan::detail::gru_cell_class() { return layers::GRUCellBody::info(); }
