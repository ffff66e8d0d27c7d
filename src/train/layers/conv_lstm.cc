// LSTMs whose products are convolutions.
//
// One cell serves signals, images and volumes. As in LSTM, the convolutions of the inputs of all steps are one, over
// steps and batch together.
#include <algorithm>
#include <array>

#include "capstan/ops/array.h"
#include "capstan/ops/conv.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "src/train/common.h"
#include "src/train/layers/cell_options.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/recurrent_layer.h"
#include "src/train/layers/spatial.h"

namespace capstan::layers {

namespace {

using detail::CellRun;
using detail::CellStep;

struct ConvLSTMConfig : ConvLSTMOptions {
  std::int64_t filters = 0;
  std::vector<std::int64_t> kernel_size;
  static std::span<const OptionField> fields() {
    using O = ConvLSTMConfig;
    static constexpr auto all =
        detail::joined(detail::run_options<O>(),
                       std::array{option<&O::filters, O>("filters", true).at_least(1),
                                  option<&O::kernel_size, O>("kernel_size", true).at_least(1),
                                  option<&O::strides, O>("strides").at_least(1),
                                  detail::padding_option<O>(),
                                  detail::data_format_option<O>(),
                                  option<&O::dilation_rate, O>("dilation_rate").at_least(1),
                                  option<&O::activation, O>("activation"),
                                  option<&O::recurrent_activation, O>("recurrent_activation"),
                                  option<&O::use_bias, O>("use_bias"),
                                  option<&O::kernel_initializer, O>("kernel_initializer"),
                                  option<&O::recurrent_initializer, O>("recurrent_initializer"),
                                  option<&O::bias_initializer, O>("bias_initializer"),
                                  option<&O::unit_forget_bias, O>("unit_forget_bias"),
                                  option<&O::kernel_regularizer, O>("kernel_regularizer"),
                                  option<&O::recurrent_regularizer, O>("recurrent_regularizer"),
                                  option<&O::bias_regularizer, O>("bias_regularizer"),
                                  option<&O::activity_regularizer, O>("activity_regularizer"),
                                  option<&O::kernel_constraint, O>("kernel_constraint"),
                                  option<&O::recurrent_constraint, O>("recurrent_constraint"),
                                  option<&O::bias_constraint, O>("bias_constraint"),
                                  option<&O::dropout, O>("dropout").at_least(0).at_most(1),
                                  option<&O::recurrent_dropout, O>("recurrent_dropout").at_least(0).at_most(1),
                                  option<&O::seed, O>("seed")});
    return all;
  }
};

// A window for each axis.
struct Window {
  std::vector<std::int64_t> strides, dilations;
  bool same, channels_first;
};

Tensor moved_channels(const Tensor& x, int axes, bool to_last) {
  std::vector<int> order = {0};
  if (!to_last) order.push_back(axes + 1);
  for (int i = 1; i <= axes; ++i) order.push_back(to_last ? i + 1 : i);
  if (to_last) order.push_back(1);
  return transpose(x, order);
}

// Of [batch, ...] with the channels last.
Tensor convolved(const Tensor& x, const Tensor& kernel, const Window& w) {
  const std::vector<std::int64_t>&s = w.strides, &d = w.dilations;
  const char* const padding = w.same ? "SAME" : "VALID";
  switch (s.size()) {
    case 1:
      return conv1d(x, kernel, s[0], padding, d[0]);
    case 2:
      return conv2d(x, kernel, {s[0], s[1]}, padding, {d[0], d[1]});
    default:
      return conv3d(x, kernel, {s[0], s[1], s[2]}, padding, {d[0], d[1], d[2]});
  }
}

// The same for the layout of the options, with a bias.
Tensor product(Tensor x, const Tensor& kernel, const Tensor& bias, const Window& w) {
  const int axes = static_cast<int>(w.strides.size());
  if (w.channels_first) x = moved_channels(x, axes, true);
  Tensor y = convolved(x, kernel, w);
  if (bias.has_value()) y = bias_add(std::move(y), bias);
  return w.channels_first ? moved_channels(y, axes, false) : y;
}

struct ConvWeights {
  Tensor kernel, recurrent_kernel, bias, input_mask, state_mask;
};

class ConvRun final : public CellRun {
 public:
  ConvRun(ConvWeights weights, Window of_input, Window of_state, ActivationFunction activation,
          ActivationFunction recurrent_activation)
      : weights_(std::move(weights)),
        of_input_(std::move(of_input)),
        of_state_(std::move(of_state)),
        activation_(std::move(activation)),
        recurrent_activation_(std::move(recurrent_activation)) {}

  Tensor project(const Tensor& given) const override {
    const Tensor x = weights_.input_mask.has_value() ? given * weights_.input_mask : given;
    const int step_rank = static_cast<int>(of_input_.strides.size()) + 2;
    if (x.rank() == step_rank) return product(x, weights_.kernel, weights_.bias, of_input_);
    // Steps and batch as one axis.
    Shape rows = {-1};
    for (int i = 2; i < x.rank(); ++i) rows.push_back(x.dim(i));
    const Tensor y = product(reshape(x, rows), weights_.kernel, weights_.bias, of_input_);
    Shape shape = {x.dim(0), -1};
    for (int i = 1; i < y.rank(); ++i) shape.push_back(y.dim(i));
    return reshape(y, shape);
  }

  CellStep step(const Tensor& projected, std::span<const Tensor> states) const override {
    const Tensor h = weights_.state_mask.has_value() ? states[0] * weights_.state_mask : states[0];
    const Tensor all = projected + product(h, weights_.recurrent_kernel, Tensor(), of_state_);
    const std::vector<Tensor> z = split(all, 4, of_state_.channels_first ? 1 : -1);
    const Tensor c = recurrent_activation_(z[1]) * states[1] + recurrent_activation_(z[0]) * activation_(z[2]);
    const Tensor output = recurrent_activation_(z[3]) * activation_(c);
    return {output, {output, c}};
  }
  int output_state() const override { return 0; }

 private:
  ConvWeights weights_;
  Window of_input_, of_state_;
  ActivationFunction activation_, recurrent_activation_;
};

// One length for each axis.
std::vector<std::int64_t> lengths(const char* layer, const char* option, const std::vector<std::int64_t>& given,
                                  int axes) {
  if (given.size() == 1) return std::vector<std::int64_t>(static_cast<std::size_t>(axes), given[0]);
  CAPSTAN_CHECK(given.size() == static_cast<std::size_t>(axes), ValueError, layer, ": ", option, " must have 1 or ",
                axes, " lengths, not ", given.size());
  return given;
}

// One length for every axis in each option that has them, as Keras's configurations have.
ConvLSTMConfig for_axes(ConvLSTMConfig o, const char* layer, int axes) {
  o.kernel_size = lengths(layer, "kernel_size", o.kernel_size, axes);
  o.strides = lengths(layer, "strides", o.strides, axes);
  o.dilation_rate = lengths(layer, "dilation_rate", o.dilation_rate, axes);
  return o;
}

class ConvLSTMCell final : public detail::RunnableCell {
 public:
  ConvLSTMCell(const char* layer, const ConvLSTMConfig& o)
      : RunnableCell("ConvLSTMCell", {.name = "conv_lstm_cell", .trainable = o.trainable, .dtype = o.dtype}),
        options_(o),
        of_input_{o.strides, o.dilation_rate, o.padding == "same", o.data_format == "channels_first"},
        of_state_{std::vector<std::int64_t>(o.strides.size(), 1), std::vector<std::int64_t>(o.strides.size(), 1), true,
                  of_input_.channels_first},
        dropout_(*this, o.seed) {
    const auto largest = [](const std::vector<std::int64_t>& list) {
      return *std::max_element(list.begin(), list.end());
    };
    CAPSTAN_CHECK(largest(of_input_.strides) == 1 || largest(of_input_.dilations) == 1, ValueError, layer,
                  ": strides above 1 and dilations above 1 exclude each other");
  }

  std::vector<Shape> state_shapes(const Shape& input_shape) const override {
    Shape state;
    if (of_input_.channels_first) state.push_back(options_.filters);
    for (std::size_t i = 0; i < options_.kernel_size.size(); ++i) {
      const std::int64_t length = input_shape[static_cast<int>(i) + (of_input_.channels_first ? 2 : 1)];
      const std::int64_t window = of_input_.same ? 1 : (options_.kernel_size[i] - 1) * of_input_.dilations[i] + 1;
      CAPSTAN_CHECK(length >= window, ShapeError, name(), ": a kernel that spans ", window,
                    " does not fit into an axis of length ", length, ": ", input_shape,
                    help("padding = \"same\" allows it"));
      state.push_back((length - window) / of_input_.strides[i] + 1);
    }
    if (!of_input_.channels_first) state.push_back(options_.filters);
    return {state, state};
  }

  std::unique_ptr<CellRun> begin(const Tensor& x, std::span<const Tensor> states, bool training) override {
    ConvWeights weights{value_of(kernel_), value_of(recurrent_kernel_), {}, {}, {}};
    const std::int64_t channels = x.dim(of_input_.channels_first ? 1 : -1);
    CAPSTAN_CHECK(channels == weights.kernel.dim(-2), ShapeError, name(), ": the input must have ",
                  weights.kernel.dim(-2), " channels, not ", channels);
    if (options_.use_bias) weights.bias = value_of(bias_);
    if (training && options_.dropout > 0) weights.input_mask = dropout_.mask(x, options_.dropout);
    if (training && options_.recurrent_dropout > 0) {
      weights.state_mask = dropout_.mask(states[0], options_.recurrent_dropout);
    }
    return std::make_unique<ConvRun>(std::move(weights), of_input_, of_state_, options_.activation,
                                     options_.recurrent_activation);
  }

 protected:
  void build(const std::vector<Shape>& shapes) override {
    const ConvLSTMConfig& o = options_;
    Shape kernel = options_.kernel_size, recurrent = options_.kernel_size;
    kernel.push_back(shapes[0][of_input_.channels_first ? 1 : -1]);
    recurrent.push_back(o.filters);
    for (Shape* shape : {&kernel, &recurrent}) shape->push_back(4 * o.filters);
    kernel_ = add_weight({.name = "kernel",
                          .shape = kernel,
                          .initializer = o.kernel_initializer,
                          .regularizer = o.kernel_regularizer,
                          .constraint = o.kernel_constraint});
    recurrent_kernel_ = add_weight({.name = "recurrent_kernel",
                                    .shape = recurrent,
                                    .initializer = o.recurrent_initializer,
                                    .regularizer = o.recurrent_regularizer,
                                    .constraint = o.recurrent_constraint});
    if (!o.use_bias) return;
    const auto forgetful = [n = o.filters, others = o.bias_initializer](const Shape&, DType dtype) {
      return concat({others({n}, dtype), ones({n}, dtype), others({2 * n}, dtype)}, 0);
    };
    bias_ = add_weight({.name = "bias",
                        .shape = {4 * o.filters},
                        .initializer = o.unit_forget_bias ? Initializer(forgetful) : o.bias_initializer,
                        .regularizer = o.bias_regularizer,
                        .constraint = o.bias_constraint});
  }

 private:
  const ConvLSTMConfig options_;
  const Window of_input_, of_state_;
  detail::SequenceDropout dropout_;
  Variable kernel_, recurrent_kernel_, bias_;
};

template <class Derived, int kAxes>
class ConvLSTMBody : public ConfiguredLayer<Derived, ConvLSTMConfig, detail::RecurrentBody> {
 public:
  static constexpr char kText[] = "An LSTM whose products are convolutions.";
  explicit ConvLSTMBody(const ConvLSTMConfig& o)
      : ConfiguredLayer<Derived, ConvLSTMConfig, detail::RecurrentBody>(for_axes(o, Derived::kName, kAxes)) {
    this->set_up(LayerOf<ConvLSTMCell>(Derived::kName, this->options), this->options);
  }

 protected:
  void check_input(const Shape& shape) const final {
    CAPSTAN_CHECK(shape.rank() == kAxes + 3, ShapeError, this->name(), ": the input must have rank ", kAxes + 3,
                  ", with the axes of batch, time and channels, not ", shape.rank(), ": ", shape);
  }
};

struct ConvLSTM1DBody final : ConvLSTMBody<ConvLSTM1DBody, 1> {
  static constexpr char kName[] = "ConvLSTM1D";
  using ConvLSTMBody::ConvLSTMBody;
};
struct ConvLSTM2DBody final : ConvLSTMBody<ConvLSTM2DBody, 2> {
  static constexpr char kName[] = "ConvLSTM2D";
  using ConvLSTMBody::ConvLSTMBody;
};
struct ConvLSTM3DBody final : ConvLSTMBody<ConvLSTM3DBody, 3> {
  static constexpr char kName[] = "ConvLSTM3D";
  using ConvLSTMBody::ConvLSTMBody;
};

ConvLSTMConfig config(std::int64_t filters, const std::vector<std::int64_t>& kernel_size, const ConvLSTMOptions& o) {
  return {o, filters, kernel_size};
}

}  // namespace

ConvLSTM1D::ConvLSTM1D(std::int64_t filters, const std::vector<std::int64_t>& kernel_size,
                       const ConvLSTMOptions& options)
    : RNN(make_configurable<ConvLSTM1DBody>(config(filters, kernel_size, options))) {}
ConvLSTM2D::ConvLSTM2D(std::int64_t filters, const std::vector<std::int64_t>& kernel_size,
                       const ConvLSTMOptions& options)
    : RNN(make_configurable<ConvLSTM2DBody>(config(filters, kernel_size, options))) {}
ConvLSTM3D::ConvLSTM3D(std::int64_t filters, const std::vector<std::int64_t>& kernel_size,
                       const ConvLSTMOptions& options)
    : RNN(make_configurable<ConvLSTM3DBody>(config(filters, kernel_size, options))) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::conv_lstm1d_class() { return layers::ConvLSTM1DBody::info(); }
const capstan::ClassInfo& capstan::detail::conv_lstm2d_class() { return layers::ConvLSTM2DBody::info(); }
const capstan::ClassInfo& capstan::detail::conv_lstm3d_class() { return layers::ConvLSTM3DBody::info(); }
