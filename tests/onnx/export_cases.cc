#include "tests/onnx/export_cases.h"

#include "capstan/capstan.h"

namespace capstan::testing {

namespace {

using Tensors = std::vector<Tensor>;

Tensor numbers(const Shape& shape, std::uint64_t seed) { return random::uniform(shape, -1, 1, float32, seed); }
Tensor words(const Shape& shape, std::uint64_t seed) {
  return cast(random::uniform(shape, 0, 10.9, float32, seed), int32);
}

// Weights that are drawn are zeros and ones in part; these are none.
void draw_weights(const Model& model) {
  std::vector<Tensor> weights = model.get_weights();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = random::uniform(weights[i].shape(), 0.1, 0.5, float32, 100 + i) * (i % 2 == 0 ? 1.0 : 0.7);
  }
  model.set_weights(weights);
}

// The shapes of one example, as many as the model has inputs; those of whole numbers are words.
ExportCase of_model(const std::string& name, const Model& model, const std::vector<Shape>& shapes,
                    const std::vector<DType>& dtypes = {}) {
  draw_weights(model);
  ExportCase one{.name = name};
  one.save = [model](const std::string& path) { save_onnx(path, model, {.dynamic_batch = true}); };
  one.run = [model](const Tensors& x) { return model(x.size() == 1 ? Nest(x[0]) : Nest(x)).tensors(); };
  for (const std::int64_t batch : {2, 5, 1}) {
    Tensors x;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Shape shape = {batch};
      for (const std::int64_t length : shapes[i]) shape.push_back(length);
      const bool is_words = i < dtypes.size() && dtypes[i] == int32;
      x.push_back(is_words ? words(shape, 7 + i) : numbers(shape, 7 + i));
    }
    one.inputs.push_back(x);
  }
  return one;
}

template <class F>
ExportCase of_function(const std::string& name, F f, const std::vector<TensorSpec>& specs,
                       const std::vector<Tensors>& inputs) {
  ExportCase one{.name = name};
  one.save = [=](const std::string& path) { save_onnx(path, f, {.inputs = specs}); };
  one.run = [=](const Tensors& x) { return f(x); };
  one.inputs = inputs;
  return one;
}

Model mlp() {
  return Sequential({layers::Dense(8, {.activation = "relu", .input_shape = {4}}), layers::BatchNormalization(),
                     layers::Dense(6, {.activation = "gelu"}), layers::LayerNormalization(), layers::Dropout(0.5),
                     layers::Dense(3, {.activation = "softmax"})});
}

Model cnn() {
  return Sequential({layers::Conv2D(4, {3, 3}, {.padding = "same", .input_shape = {12, 12, 3}}),
                     layers::BatchNormalization(), layers::ReLU(), layers::MaxPooling2D(),
                     layers::DepthwiseConv2D({3, 3}, {.padding = "same"}), layers::Activation("silu"),
                     layers::SeparableConv2D(5, {3, 3}, {.strides = {2, 2}, .padding = "same"}),
                     layers::AveragePooling2D({2, 2}, {.padding = "same"}), layers::Flatten(), layers::Dense(3)});
}

Model residual() {
  const Tensor x = Input({8, 8, 3});
  Tensor h = layers::Conv2D(4, {3, 3}, {.padding = "same"})(x);
  Tensor y = layers::BatchNormalization()(h);
  y = layers::Activation("relu")(y);
  y = layers::Conv2D(4, {3, 3}, {.padding = "same", .use_bias = false})(y);
  h = layers::Add()(Nest{h, y});
  const Tensor pooled = layers::GlobalAveragePooling2D({.keepdims = true})(h);
  const Tensor gate = layers::Conv2D(4, {1, 1}, {.activation = "sigmoid"})(pooled);
  h = layers::Multiply()(Nest{h, gate});
  h = layers::Concatenate()(Nest{h, layers::ZeroPadding2D({1, 1})(layers::Cropping2D({1, 1})(h))});
  h = layers::UpSampling2D({2, 2})(h);
  return Model(x, layers::GlobalMaxPooling2D()(h));
}

Model transposed() {
  return Sequential(
      {layers::Conv2DTranspose(4, {3, 3}, {.strides = {2, 2}, .padding = "same", .input_shape = {5, 5, 2}}),
       layers::LeakyReLU(), layers::Conv2DTranspose(2, {4, 4}, {.strides = {2, 2}}), layers::ELU()});
}

Model signals() {
  return Sequential({layers::Conv1D(4, 3, {.padding = "causal", .input_shape = {16, 3}}), layers::PReLU(),
                     layers::MaxPooling1D(2), layers::Conv1D(5, 3, {.padding = "same"}), layers::AveragePooling1D(2),
                     layers::GlobalAveragePooling1D()});
}

Model volumes() {
  return Sequential({layers::Conv3D(3, {3, 3, 3}, {.padding = "same", .input_shape = {6, 6, 6, 2}}),
                     layers::MaxPooling3D(), layers::GroupNormalization(3), layers::Flatten(), layers::Dense(2)});
}

Model lstm() {
  const Tensor x = Input({6, 3});
  const auto parts = layers::LSTM(4, {.return_sequences = true, .return_state = true})(Nest(x)).tensors();
  const Tensor both = layers::Bidirectional(layers::LSTM(3))(parts[0]);
  return Model(Nest{x}, Nest{layers::Dense(2)(both), parts[1], parts[2]});
}

Model gru() {
  return Sequential({layers::GRU(4, {.return_sequences = true, .input_shape = {6, 3}}),
                     layers::Bidirectional(layers::GRU(3)), layers::Dense(2)});
}

Model simple_rnn() {
  return Sequential({layers::SimpleRNN(4, {.return_sequences = true, .input_shape = {6, 3}}),
                     layers::Bidirectional(layers::GRU(3, {.reset_after = false, .return_sequences = true})),
                     layers::TimeDistributed(layers::Dense(2, {.activation = "relu"}))});
}

Model conv_lstm() {
  const Tensor x = Input({3, 6, 6, 2});
  return Model(x, layers::GlobalMaxPooling2D()(layers::ConvLSTM2D(3, {3, 3}, {.padding = "same"})(x)));
}

Model masked() {
  const Tensor x = Input({7}, {.dtype = int32});
  const Tensor h = layers::Embedding(11, 5, {.mask_zero = true})(x);
  const Tensor a = layers::LSTM(4, {.return_sequences = true})(h);
  return Model(x, layers::Dense(2)(layers::GRU(3)(a)));
}

// The transformer block of the literature, for sequences of any length.
Model transformer(std::int64_t length) {
  const Tensor x = Input({length, 8});
  Tensor h = layers::LayerNormalization()(x);
  h = layers::MultiHeadAttention(2, 4)(Nest{h, h}, {.use_causal_mask = true}).tensor();
  const Tensor y = layers::Add()(Nest{x, h});
  h = layers::Dense(16, {.activation = "gelu"})(layers::LayerNormalization()(y));
  return Model(x, layers::Add()(Nest{y, layers::Dense(8)(h)}));
}

Model two_inputs() {
  const Tensor left = Input({4}, {.name = "left"}), right = Input({4}, {.name = "right"});
  const layers::Dense dense(3, {.activation = "tanh"});
  const Nest pair = {dense(left), dense(right)};
  return Model(Nest{left, right}, Nest{layers::Dense(2)(layers::Concatenate()(pair)), layers::Dot(-1)(pair)});
}

ExportCase open_transformer() {
  const Model model = transformer(-1);
  ExportCase one = of_model("open_lengths", model, {{5, 8}});
  one.inputs.push_back({numbers({3, 9, 8}, 21)});
  return one;
}

ExportCase elementwise() {
  const auto f = [](const Tensors& x) {
    const Tensor a = x[0], b = x[1];
    const Tensor y = tanh(a) * exp(-square(b)) + where(a > b, sigmoid(a), relu(b)) / (1.5 + abs(a));
    const Tensor z = maximum(a, 0.1) - minimum(b, 0.2) + sqrt(abs(a)) + log1p(square(b)) + pow(abs(a) + 0.1, 1.7);
    return Tensors{y + z, cast(logical_and(a > 0, b < 0.5), int32), floormod(a * 7, 2.0)};
  };
  return of_function("elementwise", f, {TensorSpec({-1, 4}, float32, "a"), TensorSpec({-1, 4}, float32, "b")},
                     {{numbers({3, 4}, 1), numbers({3, 4}, 2)}, {numbers({1, 4}, 3), numbers({1, 4}, 4)}});
}

ExportCase reductions() {
  const auto f = [](const Tensors& x) {
    const Tensor a = x[0];
    const TopK best = top_k(a, 2);
    return Tensors{reduce_mean(a, {0, 2}), reduce_max(a, 1, {.keepdims = true}),
                   reduce_sum(square(a)),  argmax(a, 1),
                   cumsum(a, 1),           softmax(a, 1),
                   reduce_logsumexp(a, 2), best.values,
                   best.indices,           l2_normalize(a, 2),
                   reduce_any(a > 0.9, 2), reduce_variance(a, 1)};
  };
  return of_function("reductions", f, {TensorSpec({-1, 3, 5}, float32, "a")},
                     {{numbers({4, 3, 5}, 1)}, {numbers({1, 3, 5}, 2)}});
}

// Lengths that C++ computes from the batch, where they are lengths of shapes.
ExportCase lengths() {
  const auto f = [](const Tensors& x) {
    const Tensor a = x[0];
    const std::int64_t batch = a.dim(0);
    const Tensor flat = reshape(a, {batch * 3, 4});
    const Tensor zero = zeros({batch, 2});
    const Tensor all = concat({reduce_sum(a, 1), zero, broadcast_to(reduce_mean(a, 0)(0), {batch, 4})}, 1);
    return Tensors{reshape(flat, {batch, 3, 2, 2}),
                   all,
                   a / cast(size(a), float32),
                   reduce_sum(a, 0) / static_cast<double>(batch),
                   einsum("bij,bkj->bik", {a, a}),
                   pad(a, {{0, 0}, {1, 0}, {0, 2}}),
                   roll(a, 1, 1),
                   reverse(a, {0, 2})};
  };
  return of_function("lengths", f, {TensorSpec({-1, 3, 4}, float32, "a")},
                     {{numbers({4, 3, 4}, 1)}, {numbers({1, 3, 4}, 2)}});
}

ExportCase indices() {
  const auto f = [table = numbers({11, 3}, 5)](const Tensors& x) {
    const Tensor a = x[0], ids = x[1];
    return Tensors{gather(a, ids, 1, 1), one_hot(ids, 4), gather(table, ids), a(slice(), slice(0, -1, 2), newaxis),
                   stack({a[0], a[1]}),  sort(a, 1),      tile(a, {2, 1}),    a(slice(), -1)};
  };
  return of_function("indices", f, {TensorSpec({-1, 5}, float32, "a"), TensorSpec({-1, 2}, int32, "ids")},
                     {{numbers({4, 5}, 1), constant({{0, 4}, {3, 1}, {2, 2}, {1, 0}})},
                      {numbers({2, 5}, 1), constant({{0, 4}, {3, 1}})}});
}

ExportCase control() {
  const auto f = [](const Tensors& x) {
    const Tensor a = x[0], w = x[1];
    const Tensor chosen = cond(
        reduce_sum(a) > 0, [&] { return a * 2; }, [&] { return tanh(a) + reduce_sum(w); });
    const Tensor walked =
        foldr([&](const Tensor& sum, const Tensor& row) { return tanh(matmul(sum, w)) + row; }, a, zeros({1, 3}));
    const Tensor mapped = map_fn([&](const Tensor& row) { return softmax(row) * reduce_max(w); }, a);
    return Tensors{chosen, walked, mapped};
  };
  return of_function("control", f, {TensorSpec({-1, 3}, float32, "a"), TensorSpec({3, 3}, float32, "w")},
                     {{numbers({4, 3}, 1), numbers({3, 3}, 2)}, {numbers({5, 3}, 8), numbers({3, 3}, 9)}});
}

ExportCase loops() {
  const auto f = [](const Tensors& x) {
    const Tensor a = x[0], w = x[1];
    const auto is_small = [](const Tensor& y) { return reduce_sum(abs(y)) < 100.0; };
    // A choice within a loop, which reads what is outside of both.
    const Tensor grown = while_loop(
        is_small,
        [&](const Tensor& y) {
          return cond(
              reduce_sum(y) > 0, [&] { return y * 1.5 + reduce_max(w); }, [&] { return y * 2 - 1; });
        },
        a);
    const auto [count, limited] = while_loop(
        [](const Tensor&, const Tensor&) { return constant(true); },
        [&](const Tensor& i, const Tensor& y) { return std::tuple(i + 2, tanh(matmul(y, w)) + cast(i, float32)); },
        std::tuple(constant(0), a), {.maximum_iterations = 3});
    // A loop within a loop, and one that never begins.
    const Tensor nested = while_loop(
        is_small,
        [&](const Tensor& y) {
          return while_loop(
                     is_small, [](const Tensor& z) { return z + z; }, y) *
                 2;
        },
        a);
    const Tensor none =
        while_loop([](const Tensor& y) { return reduce_sum(y) > 1e9; }, [](const Tensor& y) { return y * 2; }, a);
    const Tensor number = cast(reduce_sum(a) * 10, int32) % 5 - 1;
    const Tensor chosen = switch_case<Tensor>(
        number, {[&] { return a; }, [&] { return a * 2 + reduce_sum(w); }, [&] { return exp(a); }, [&] { return -a; }});
    const Tensor two = switch_case<Tensor>(number, {[&] { return a + 1; }, [&] { return a - 1; }});
    const Tensor only = switch_case<Tensor>(number, {[&] { return sin(a); }});
    return Tensors{grown, count, limited, nested, none, chosen, two, only};
  };
  std::vector<Tensors> inputs;
  for (int seed = 1; seed <= 6; ++seed) inputs.push_back({numbers({seed == 1 ? 4 : 5, 3}, seed), numbers({3, 3}, 9)});
  return of_function("loops", f, {TensorSpec({-1, 3}, float32, "a"), TensorSpec({3, 3}, float32, "w")}, inputs);
}

}  // namespace

std::vector<ExportCase> export_cases() {
  return {
      of_model("mlp", mlp(), {{4}}),
      of_model("cnn", cnn(), {{12, 12, 3}}),
      of_model("residual", residual(), {{8, 8, 3}}),
      of_model("transposed", transposed(), {{5, 5, 2}}),
      of_model("signals", signals(), {{16, 3}}),
      of_model("volumes", volumes(), {{6, 6, 6, 2}}),
      of_model("lstm", lstm(), {{6, 3}}),
      of_model("gru", gru(), {{6, 3}}),
      of_model("simple_rnn", simple_rnn(), {{6, 3}}),
      of_model("conv_lstm", conv_lstm(), {{3, 6, 6, 2}}),
      of_model("masked", masked(), {{7}}, {int32}),
      of_model("transformer", transformer(5), {{5, 8}}),
      of_model("two_inputs", two_inputs(), {{4}, {4}}),
      open_transformer(),
      elementwise(),
      reductions(),
      lengths(),
      indices(),
      control(),
      loops(),
  };
}

}  // namespace capstan::testing
