// RNN of any cell, and the layers that are an RNN of a cell of the library.
#include <array>

#include "src/train/common.h"
#include "src/train/layers/cell_options.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/recurrent_layer.h"

namespace capstan::layers {

namespace {

// --- RNN ---

struct RNNConfig : RNNOptions {
  Layer cell = {};
  static std::span<const OptionField> fields() {
    using O = RNNConfig;
    static constexpr auto all = detail::joined(
        detail::run_options<O>(),
        std::array{option<&O::activity_regularizer, O>("activity_regularizer"), option<&O::cell, O>("cell", true)});
    return all;
  }
};

class RNNBody final : public ConfiguredLayer<RNNBody, RNNConfig, detail::RecurrentBody> {
 public:
  static constexpr char kName[] = "RNN", kText[] = "A cell over the steps of a sequence.";
  explicit RNNBody(const RNNConfig& o) : ConfiguredLayer(o) { set_up(o.cell, o); }
};

// The options that a layer hands to its cell, all but those of one kind of cell.
template <class CellOptions, class O>
CellOptions cell_options_of(const O& o, const char* name) {
  CellOptions cell;
  cell.activation = o.activation;
  cell.use_bias = o.use_bias;
  cell.kernel_initializer = o.kernel_initializer;
  cell.recurrent_initializer = o.recurrent_initializer;
  cell.bias_initializer = o.bias_initializer;
  cell.kernel_regularizer = o.kernel_regularizer;
  cell.recurrent_regularizer = o.recurrent_regularizer;
  cell.bias_regularizer = o.bias_regularizer;
  cell.kernel_constraint = o.kernel_constraint;
  cell.recurrent_constraint = o.recurrent_constraint;
  cell.bias_constraint = o.bias_constraint;
  cell.dropout = o.dropout;
  cell.recurrent_dropout = o.recurrent_dropout;
  cell.seed = o.seed;
  cell.name = name;
  cell.trainable = o.trainable;
  cell.dtype = o.dtype;
  return cell;
}

// --- SimpleRNN ---

struct SimpleRNNConfig : SimpleRNNOptions {
  std::int64_t units = 0;
  static std::span<const OptionField> fields() {
    using O = SimpleRNNConfig;
    static constexpr auto all = detail::with_run_options<O>();
    return all;
  }
};

class SimpleRNNBody final : public ConfiguredLayer<SimpleRNNBody, SimpleRNNConfig, detail::RecurrentBody> {
 public:
  static constexpr char kName[] = "SimpleRNN", kText[] = "A simple recurrent network.";
  explicit SimpleRNNBody(const SimpleRNNConfig& o) : ConfiguredLayer(o) {
    set_up(SimpleRNNCell(o.units, cell_options_of<SimpleRNNCellOptions>(o, "simple_rnn_cell")), o);
    converts_integers();
    // Keras takes it and has no loss for it, of this layer only.
    set_activity_regularizer({});
  }
};

// --- LSTM ---

struct LSTMConfig : LSTMOptions {
  std::int64_t units = 0;
  static std::span<const OptionField> fields() {
    using O = LSTMConfig;
    static constexpr auto all = detail::with_run_options<O>(option<&O::recurrent_activation, O>("recurrent_activation"),
                                                            option<&O::unit_forget_bias, O>("unit_forget_bias"));
    return all;
  }
};

class LSTMBody final : public ConfiguredLayer<LSTMBody, LSTMConfig, detail::RecurrentBody> {
 public:
  static constexpr char kName[] = "LSTM", kText[] = "A long short-term memory.";
  explicit LSTMBody(const LSTMConfig& o) : ConfiguredLayer(o) {
    auto cell = cell_options_of<LSTMCellOptions>(o, "lstm_cell");
    cell.recurrent_activation = o.recurrent_activation;
    cell.unit_forget_bias = o.unit_forget_bias;
    set_up(LSTMCell(o.units, cell), o);
    converts_integers();
  }
};

// --- GRU ---

struct GRUConfig : GRUOptions {
  std::int64_t units = 0;
  static std::span<const OptionField> fields() {
    using O = GRUConfig;
    static constexpr auto all = detail::with_run_options<O>(option<&O::recurrent_activation, O>("recurrent_activation"),
                                                            option<&O::reset_after, O>("reset_after"));
    return all;
  }
};

class GRUBody final : public ConfiguredLayer<GRUBody, GRUConfig, detail::RecurrentBody> {
 public:
  static constexpr char kName[] = "GRU", kText[] = "A gated recurrent unit.";
  explicit GRUBody(const GRUConfig& o) : ConfiguredLayer(o) {
    auto cell = cell_options_of<GRUCellOptions>(o, "gru_cell");
    cell.recurrent_activation = o.recurrent_activation;
    cell.reset_after = o.reset_after;
    set_up(GRUCell(o.units, cell), o);
    converts_integers();
  }
};

detail::RecurrentBody& recurrent(const Layer& layer) {
  detail::RecurrentBody* const body = detail::recurrent_body(layer);
  CAPSTAN_CHECK(body != nullptr, ValueError, "RNN: ", layer.has_value() ? layer.name() : "an empty handle",
                " is no recurrent layer");
  return *body;
}

}  // namespace

RNN::RNN(const Layer& cell, const RNNOptions& options) : Layer(make_configurable<RNNBody>(RNNConfig{options, cell})) {}

RNN RNN::from(const Layer& layer) {
  recurrent(layer);
  RNN rnn;
  static_cast<Layer&>(rnn) = layer;
  return rnn;
}

Layer RNN::cell() const { return recurrent(*this).cell(); }

std::vector<Tensor> RNN::states() const {
  std::vector<Tensor> states;
  for (const Variable& state : recurrent(*this).kept()) states.push_back(state.value());
  return states;
}

void RNN::reset_state() const { recurrent(*this).reset_state(); }

SimpleRNN::SimpleRNN(std::int64_t units, const SimpleRNNOptions& options)
    : RNN(make_configurable<SimpleRNNBody>(SimpleRNNConfig{options, units})) {}
LSTM::LSTM(std::int64_t units, const LSTMOptions& options)
    : RNN(make_configurable<LSTMBody>(LSTMConfig{options, units})) {}
GRU::GRU(std::int64_t units, const GRUOptions& options) : RNN(make_configurable<GRUBody>(GRUConfig{options, units})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::rnn_class() { return layers::RNNBody::info(); }
const capstan::ClassInfo& capstan::detail::simple_rnn_class() { return layers::SimpleRNNBody::info(); }
const capstan::ClassInfo& capstan::detail::lstm_class() { return layers::LSTMBody::info(); }
const capstan::ClassInfo& capstan::detail::gru_class() { return layers::GRUBody::info(); }
