// Recurrent layers: sequences step by step.
//
// A cell computes one step from an input and the states of the step before; RNN runs a cell over time. LSTM, GRU and
// SimpleRNN are RNNs with the cells of these names, and a program can write cells of its own. In function() the steps
// are one loop whose body is traced once, so long sequences make no large graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capstan/activations.h"
#include "capstan/layer.h"
#include "capstan/seed.h"

namespace capstan {
namespace layers {

/// What cells of recurrent layers derive from: layers that take an input and a list of states, `{x, {h, c}}`, and give
/// the output and the new states in the same form.
///
///     class Decay : public layers::CellBody {
///       std::vector<Shape> state_shapes(const Shape& input_shape) const override { return {{input_shape[-1]}}; }
///       Nest call(const Nest& inputs, const CallOptions&) override {
///         const Tensor h = 0.5 * inputs[1][0].tensor() + inputs[0].tensor();
///         return {h, {h}};
///       }
///     };
///     layers::RNN decay(LayerOf<Decay>(), {.return_sequences = true});
///
/// `build` gets the shape of the input of a step, then those of the states.
class CAPSTAN_EXPORT CellBody : public LayerBodyOf<Nest(Nest)> {
 public:
  ~CellBody() override;

  /// The shapes of the states without the batch, for an input of this shape, which has it.
  virtual std::vector<Shape> state_shapes(const Shape& input_shape) const = 0;
  /// The shape of the output without the batch. Not overridden: that of the first state.
  virtual Shape output_shape(const Shape& input_shape) const;

 protected:
  explicit CellBody(const LayerOptions& options = {}) : LayerBodyOf("", options) {}
  CellBody(const char* type_name, const LayerOptions& options) : LayerBodyOf(type_name, options) {}
};

/// Options of SimpleRNNCell.
struct SimpleRNNCellOptions {
  ActivationFunction activation = "tanh";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0;            ///< of the inputs
  double recurrent_dropout = 0;  ///< of the states
  Seed seed = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Options of LSTMCell.
struct LSTMCellOptions {
  ActivationFunction activation = "tanh";
  ActivationFunction recurrent_activation = "sigmoid";  ///< of the gates
  bool use_bias = true;
  bool unit_forget_bias = true;  ///< the bias of the forget gate begins with ones
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0;            ///< of the inputs
  double recurrent_dropout = 0;  ///< of the states
  Seed seed = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Options of GRUCell.
struct GRUCellOptions {
  ActivationFunction activation = "tanh";
  ActivationFunction recurrent_activation = "sigmoid";  ///< of the gates
  bool use_bias = true;
  bool reset_after = true;  ///< the reset gate acts on the recurrent product, not on the state before it
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0;            ///< of the inputs
  double recurrent_dropout = 0;  ///< of the states
  Seed seed = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// One step of a simple recurrent network: h = activation(x . kernel + h . recurrent_kernel + bias), which is output
/// and state. x is [batch, in], the state [batch, units]. Weights: kernel [in, units], recurrent_kernel [units, units],
/// bias [units]. Errors: ValueError for units < 1 or a rate outside [0, 1]; ShapeError for inputs or states of other
/// shapes.
class CAPSTAN_EXPORT SimpleRNNCell final : public Layer {
 public:
  explicit SimpleRNNCell(std::int64_t units, const SimpleRNNCellOptions& options = {});
};

/// One step of a long short-term memory with the states h and c, [batch, units] each: with z = x . kernel + h .
/// recurrent_kernel + bias, whose quarters are i, f, g, o, c = s(f) c + s(i) a(g) and h = s(o) a(c), where s is
/// `recurrent_activation` and a `activation`. Weights: kernel [in, 4 units], recurrent_kernel [units, 4 units], bias
/// [4 units]. Errors as for SimpleRNNCell.
class CAPSTAN_EXPORT LSTMCell final : public Layer {
 public:
  explicit LSTMCell(std::int64_t units, const LSTMCellOptions& options = {});
};

/// One step of a gated recurrent unit with the gates z and r: h = z h + (1 - z) a(x_h + r (h . R_h + b_h)), or
/// a(x_h + (r h) . R_h) without `reset_after`. Weights: kernel [in, 3 units], recurrent_kernel [units, 3 units], in the
/// order z, r, h, and bias [2, 3 units], of the input and of the recurrent product, or [3 units] without `reset_after`.
/// Errors as for SimpleRNNCell.
class CAPSTAN_EXPORT GRUCell final : public Layer {
 public:
  explicit GRUCell(std::int64_t units, const GRUCellOptions& options = {});
};

/// Cells one after the other as one cell: the output of each is the input of the next. Its states are those of all
/// cells, in one list. Weights: those of the cells. Errors: ValueError for an empty list or a layer that is no cell.
class CAPSTAN_EXPORT StackedRNNCells final : public Layer {
 public:
  explicit StackedRNNCells(const std::vector<Layer>& cells, const LayerOptions& options = {});
};

/// Options of RNN. They are those of all recurrent layers.
struct RNNOptions {
  bool return_sequences = false;  ///< the outputs of all steps, [batch, time, ...], instead of the last one
  bool return_state = false;      ///< a list of the output and the last states
  bool go_backwards = false;      ///< from the last step to the first; outputs are in the order of the run
  bool stateful = false;          ///< a call begins with the states that the one before ended with
  bool unroll = false;            ///< a traced function has a copy of each step instead of a loop
  bool zero_output_for_mask = false;
  Regularizer activity_regularizer = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Runs a cell over the steps of [batch, time, ...].
///
/// A call takes a mask, bool[batch, time], which the input may carry: at a step that does not count the states stay,
/// and the output is that of the step before (zeros at first, or always with `zero_output_for_mask`). It takes the
/// states to begin with as `initial_state`, one tensor for each; without them they are zeros, or those of the call
/// before if the layer is stateful. With `return_state` the result is the list of the output and all states; with
/// `return_sequences` the mask is passed on.
///
///     const layers::LSTM lstm(32, {.return_sequences = true, .return_state = true});
///     const Nest result = lstm(Nest(x), {.mask = sequence_mask(lengths), .initial_state = {h, c}});
///     const Tensor y = result[0].tensor();
///
/// Weights: those of the cell. Errors: ValueError for a layer that is no cell, or another number of states; ShapeError
/// for an input without steps or of rank below 3, for masks and states of other shapes, and for another batch length
/// of a stateful layer; DTypeError for a mask that is not bool.
class CAPSTAN_EXPORT RNN : public Layer {
 public:
  explicit RNN(const Layer& cell, const RNNOptions& options = {});

  /// A recurrent layer that is held as a Layer. Errors: ValueError for any other layer.
  static RNN from(const Layer& layer);

  /// The layer that computes a step.
  Layer cell() const;
  /// The states that a stateful layer keeps; none before its first call.
  std::vector<Tensor> states() const;
  /// Makes the states of a stateful layer zeros. Errors: ValueError for one that keeps none.
  void reset_state() const;

 protected:
  explicit RNN(std::shared_ptr<LayerBase> body) : Layer(std::move(body)) {}

 private:
  RNN() = default;
};

/// Options of SimpleRNN, see those of SimpleRNNCell and RNN.
struct SimpleRNNOptions {
  ActivationFunction activation = "tanh";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0;            ///< of the inputs
  double recurrent_dropout = 0;  ///< of the states
  Seed seed = {};
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  bool zero_output_for_mask = false;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Options of LSTM, see those of LSTMCell and RNN.
struct LSTMOptions {
  ActivationFunction activation = "tanh";
  ActivationFunction recurrent_activation = "sigmoid";  ///< of the gates
  bool use_bias = true;
  bool unit_forget_bias = true;  ///< the bias of the forget gate begins with ones
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0;            ///< of the inputs
  double recurrent_dropout = 0;  ///< of the states
  Seed seed = {};
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  bool zero_output_for_mask = false;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Options of GRU, see those of GRUCell and RNN.
struct GRUOptions {
  ActivationFunction activation = "tanh";
  ActivationFunction recurrent_activation = "sigmoid";  ///< of the gates
  bool use_bias = true;
  bool reset_after = true;  ///< the reset gate acts on the recurrent product, not on the state before it
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0;            ///< of the inputs
  double recurrent_dropout = 0;  ///< of the states
  Seed seed = {};
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  bool zero_output_for_mask = false;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// An RNN with the cell SimpleRNNCell: [batch, time, in] to [batch, units], or [batch, time, units] with
/// `return_sequences`. Calls, weights and errors as for RNN and the cell. As in Keras 3.15, `activity_regularizer` is
/// taken and has no effect on this layer; add the layer ActivityRegularization after it instead.
class CAPSTAN_EXPORT SimpleRNN final : public RNN {
 public:
  explicit SimpleRNN(std::int64_t units, const SimpleRNNOptions& options = {});
};

/// An RNN with the cell LSTMCell, whose states are h and c; see SimpleRNN.
class CAPSTAN_EXPORT LSTM final : public RNN {
 public:
  explicit LSTM(std::int64_t units, const LSTMOptions& options = {});
};

/// An RNN with the cell GRUCell; see SimpleRNN.
class CAPSTAN_EXPORT GRU final : public RNN {
 public:
  explicit GRU(std::int64_t units, const GRUOptions& options = {});
};

/// Options of ConvLSTM1D, ConvLSTM2D and ConvLSTM3D. Lengths of windows are one for all axes, or one for each.
struct ConvLSTMOptions {
  std::vector<std::int64_t> strides = {1};
  std::string padding = "valid";                  ///< or "same"
  std::string data_format = "channels_last";      ///< or "channels_first"
  std::vector<std::int64_t> dilation_rate = {1};  ///< with strides of 1 only
  ActivationFunction activation = "tanh";
  ActivationFunction recurrent_activation = "sigmoid";
  bool use_bias = true;
  bool unit_forget_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0;
  double recurrent_dropout = 0;
  Seed seed = {};
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  bool zero_output_for_mask = false;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// An LSTM whose products are convolutions, of signals: [batch, time, width, channels] to [batch, width', filters], or
/// [batch, time, width', filters] with `return_sequences`. Strides, padding and dilations are those of the convolution
/// of the input; that of the state keeps its lengths. Calls as for RNN; the states h and c are of the output's shape.
/// Weights: kernel [width, channels, 4 filters], recurrent_kernel [width, filters, 4 filters], bias [4 filters], with
/// the gates in the order of LSTMCell. Errors: ValueError for lengths below 1 or as many as do not fit, an unknown
/// padding or data_format, or strides and dilations above 1 together; ShapeError for an input of another rank or a
/// kernel larger than the input; those of RNN.
class CAPSTAN_EXPORT ConvLSTM1D final : public RNN {
 public:
  ConvLSTM1D(std::int64_t filters, const std::vector<std::int64_t>& kernel_size, const ConvLSTMOptions& options = {});
};

/// The same for images [batch, time, height, width, channels]; see ConvLSTM1D.
class CAPSTAN_EXPORT ConvLSTM2D final : public RNN {
 public:
  ConvLSTM2D(std::int64_t filters, const std::vector<std::int64_t>& kernel_size, const ConvLSTMOptions& options = {});
};

/// The same for volumes [batch, time, depth, height, width, channels]; see ConvLSTM1D.
class CAPSTAN_EXPORT ConvLSTM3D final : public RNN {
 public:
  ConvLSTM3D(std::int64_t filters, const std::vector<std::int64_t>& kernel_size, const ConvLSTMOptions& options = {});
};

/// Options of Bidirectional.
struct BidirectionalOptions {
  /// How outputs are joined: "concat" (last axis), "sum", "mul", "ave"; nothing gives a list of both.
  std::optional<std::string> merge_mode = "concat";
  /// What runs backwards; not given, a copy of the layer with `go_backwards` the other way round and weights of its
  /// own.
  Layer backward_layer = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Runs a copy of a recurrent layer forwards and another one backwards, and joins their outputs. With
/// `return_sequences` the outputs of the second are put into the order of time, and those of masked steps are zeros.
/// With `return_state` of the layer the result is the list of the output, or of both, the states of the first and those
/// of the second; `initial_state` has the same order. Weights: those of both. Errors: ValueError for a layer that is
/// not recurrent, layers that both run in one direction or give different things, or an odd number of initial states.
class CAPSTAN_EXPORT Bidirectional final : public Layer {
 public:
  explicit Bidirectional(const Layer& layer, const BidirectionalOptions& options = {});
  /// Makes the states of stateful layers zeros.
  void reset_state() const;
};

/// Applies a layer to each step of [batch, time, ...], with the same weights, one step after the other. Of a mask,
/// bool[batch, time], the layer gets its step's. Weights: those of the layer. Errors: ShapeError for an input of rank
/// below 3 or a mask of another shape.
class CAPSTAN_EXPORT TimeDistributed final : public Layer {
 public:
  explicit TimeDistributed(const Layer& layer, const LayerOptions& options = {});
};

static_assert(detail::kAddNothing<SimpleRNNCell, LSTMCell, GRUCell, StackedRNNCells, RNN, SimpleRNN, LSTM, GRU,
                                  ConvLSTM1D, ConvLSTM2D, ConvLSTM3D, Bidirectional, TimeDistributed>);

}  // namespace layers
}  // namespace capstan
