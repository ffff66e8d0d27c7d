// Capstan on the workloads that TensorFlow, PyTorch and JAX are measured on.
//
//     shared_workloads --workload NAME[,NAME...]|all|list --mode eager|function --threads N --seconds S
//
// The protocol is that of protocol/protocol.h.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/protocol/filled.h"
#include "benchmarks/protocol/protocol.h"
#include "capstan/capstan.h"

using namespace capstan;
using namespace capstan::benchmarks;

namespace {

// --- Data ---

Tensor labels(int n, int classes) {
  std::vector<std::int32_t> values;
  for (int i = 0; i < n; ++i) values.push_back((7 * i + 3) % classes);
  return constant(values);
}

Tensor glorot(const Shape& shape, int seed) {
  double field = 1;
  for (int i = 0; i + 2 < shape.rank(); ++i) field *= static_cast<double>(shape[i]);
  return filled(shape, seed, std::sqrt(6.0 / (field * static_cast<double>(shape[-2] + shape[-1]))));
}

// --- Modes ---

// A step as it is, or as a traced function. What a step reads of data comes as arguments: a tensor from outside is a
// constant of the trace, and what is computed from constants alone is computed once.
template <class Step>
class InMode {
 public:
  InMode(const Arguments& arguments, Step step)
      : step_(std::move(step)), traced_(function(step_)), is_traced_(arguments.mode == "function") {}

  template <class... Data>
  auto operator()(const Data&... data) {
    return is_traced_ ? traced_(data...) : step_(data...);
  }

 private:
  Step step_;
  Function<Step> traced_;
  bool is_traced_;
};

// --- Workloads ---

void op(const Arguments& arguments, const std::string& name) {
  if (arguments.mode != "eager") throw std::runtime_error("a compiler makes one of the hundred equal products");
  const Tensor x = constant({0.999});
  const auto step = [&] {
    Tensor y;
    for (int i = 0; i < 100; ++i) y = x * x;
    return y;
  };
  measure(arguments, name, [&] { step(); }, {.per = 100});
}

void op_gradient(const Arguments& arguments, const std::string& name) {
  const Tensor x = constant({0.999});
  InMode run(arguments, [](const Tensor& t) {
    GradientTape tape;
    tape.watch(t);
    const Tensor y = t * t;
    return tape.gradient(y, t);
  });
  measure(arguments, name, [&] { run(x); }, {});
}

Workload chain100(int n) {
  return [n](const Arguments& arguments, const std::string& name) {
    const Tensor data = constant(std::vector<float>(static_cast<std::size_t>(n), 0.999f));
    InMode step(arguments, [](const Tensor& x) {
      GradientTape tape;
      tape.watch(x);
      Tensor y = x;
      for (int i = 0; i < 50; ++i) {
        y = y * x;
        y = y + x;
      }
      return tape.gradient(y, x);
    });
    measure(arguments, name, [&] { step(data); }, {.per = 100, .check = {step(data)[0].item<double>()}});
  };
}

void regression(const Arguments& arguments, const std::string& name) {
  const Tensor x = range(11.0);
  const Tensor y = x * 10 + 5;
  const Variable a(0.3f);
  const Variable b(0.7f);
  InMode step(arguments, [&a, &b](const Tensor& inputs, const Tensor& truth) {
    GradientTape tape;
    const Tensor loss = abs(truth - (a * inputs + b));
    const auto [a_gradient, b_gradient] = tape.gradient(loss, std::pair(a, b));
    a.assign_sub(a_gradient * 0.001);
    b.assign_sub(b_gradient * 0.001);
  });
  for (int i = 0; i < 100; ++i) step(x, y);
  measure(arguments, name, [&] { step(x, y); }, {.check = {a.item<double>(), b.item<double>()}});
}

// Dense layers as variables: kernel 1, bias 1, kernel 2, ...
std::vector<Variable> dense_stack(const std::vector<int>& units) {
  std::vector<Variable> variables;
  for (std::size_t i = 0; i + 1 < units.size(); ++i) {
    const int seed = 2 * static_cast<int>(i) + 1;
    variables.emplace_back(glorot({units[i], units[i + 1]}, seed));
    variables.emplace_back(filled({units[i + 1]}, seed + 1, 0.1));
  }
  return variables;
}

template <class Activation>
Tensor run_stack(const std::vector<Variable>& variables, Tensor x, const Activation& activation) {
  for (std::size_t i = 0; i < variables.size(); i += 2) {
    x = bias_add(matmul(x, variables[i]), variables[i + 1]);
    if (i + 2 < variables.size()) x = activation(x);
  }
  return x;
}

Tensor mean_cross_entropy(const Tensor& y, const Tensor& logits) {
  return reduce_mean(sparse_softmax_cross_entropy_with_logits(y, logits));
}

void mlp_adam(const Arguments& arguments, const std::string& name) {
  const std::vector<Variable> variables = dense_stack({20, 64, 32, 5});
  const Tensor x = filled({32, 20}, 50);
  const Tensor y = labels(32, 5);
  const optimizers::Adam optimizer({.learning_rate = 1e-3});
  InMode step(arguments, [&](const Tensor& batch, const Tensor& truth) {
    GradientTape tape;
    const Tensor loss = mean_cross_entropy(truth, run_stack(variables, batch, [](const Tensor& t) { return relu(t); }));
    optimizer.apply_gradients(tape.gradient(loss, variables), variables);
    return loss;
  });
  std::vector<double> losses;
  for (int i = 0; i < 10; ++i) losses.push_back(step(x, y).item<double>());
  measure(arguments, name, [&] { step(x, y); }, {.check = {losses.end() - 3, losses.end()}});
}

// The tutorial's network for MNIST.
Sequential cnn_model(double dropout_rate) {
  Sequential model({
      layers::Conv2D(16, {3, 3}, {.padding = "same", .input_shape = {28, 28, 1}}),
      layers::Activation("relu"),
      layers::BatchNormalization(),
      layers::MaxPooling2D({2, 2}),
      layers::Conv2D(32, {3, 3}, {.padding = "same"}),
      layers::Activation("relu"),
      layers::BatchNormalization(),
      layers::Conv2D(32, {3, 3}, {.padding = "same"}),
      layers::Activation("relu"),
      layers::BatchNormalization(),
      layers::MaxPooling2D({2, 2}),
      layers::Conv2D(64, {3, 3}, {.padding = "same"}),
      layers::Activation("relu"),
      layers::BatchNormalization(),
      layers::Conv2D(64, {3, 3}, {.padding = "same"}),
      layers::Activation("relu"),
      layers::BatchNormalization(),
      layers::Conv2D(64, {3, 3}, {.padding = "same"}),
      layers::Activation("relu"),
      layers::BatchNormalization(),
      layers::MaxPooling2D({2, 2}),
      layers::Flatten(),
      layers::Dense(256),
      layers::Activation("relu"),
      layers::BatchNormalization(),
      layers::Dropout(dropout_rate),
      layers::Dense(10),
  });
  int seed = 1;
  for (const Variable& variable : model.trainable_variables()) {
    const Shape shape = variable.shape();
    if (shape.rank() > 1) {
      variable.assign(glorot(shape, seed));
    } else if (variable.path().ends_with("/bias")) {
      variable.assign(filled(shape, seed + 1, 0.1));
      seed += 2;
    }
  }
  return model;
}

void cnn_adam(const Arguments& arguments, const std::string& name) {
  const Tensor x = 0.5 + 0.5 * filled({64, 28, 28, 1}, 60);
  const Tensor y = labels(64, 10);
  const auto make_step = [&](double dropout_rate) {
    return InMode(arguments, [model = cnn_model(dropout_rate), optimizer = optimizers::Adam({.learning_rate = 1e-3})](
                                 const Tensor& batch, const Tensor& truth) {
      GradientTape tape;
      const Tensor loss = mean_cross_entropy(truth, model(batch, {.training = true}));
      optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
      return loss;
    });
  };
  std::vector<double> losses;
  {
    auto checked = make_step(0.0);
    for (int i = 0; i < 3; ++i) losses.push_back(checked(x, y).item<double>());
  }
  auto step = make_step(0.5);
  measure(arguments, name, [&] { step(x, y); }, {.seconds = std::max(4.0, arguments.seconds), .check = losses});
}

// The network of the second derivatives, 20-64-32-5 with tanh, whose weights are one vector.
struct FlatNetwork {
  std::vector<Shape> shapes = {{20, 64}, {64}, {64, 32}, {32}, {32, 5}, {5}};
  std::vector<std::int64_t> sizes;
  Tensor weights;
  Tensor x = filled({32, 20}, 50);
  Tensor y = labels(32, 5);

  FlatNetwork() {
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const int seed = static_cast<int>(i) + 1;
      parts.push_back(reshape(shapes[i].rank() == 2 ? glorot(shapes[i], seed) : filled(shapes[i], seed, 0.1), {-1}));
      sizes.push_back(shapes[i].size());
    }
    weights = concat(parts, 0);
  }

  Tensor logits(const Tensor& w, const Tensor& in) const {
    const std::vector<Tensor> p = split(w, sizes);
    Tensor h = in;
    for (std::size_t i = 0; i < p.size(); i += 2) {
      h = bias_add(matmul(h, reshape(p[i], shapes[i])), p[i + 1]);
      if (i + 2 < p.size()) h = tanh(h);
    }
    return h;
  }

  Tensor gradient_of_loss(const Tensor& w) const {
    GradientTape tape;
    tape.watch(w);
    return tape.gradient(mean_cross_entropy(y, logits(w, x)), w);
  }
};

void hvp(const Arguments& arguments, const std::string& name) {
  const FlatNetwork network;
  const Tensor direction = filled(network.weights.shape(), 70);
  InMode step(arguments, [&](const Tensor& w, const Tensor& v) {
    GradientTape outer;
    outer.watch(w);
    return outer.gradient(network.gradient_of_loss(w), w, {.output_gradients = {v}});
  });
  measure(arguments, name, [&] { step(network.weights, direction); },
          {.check = {norm(step(network.weights, direction)).item<double>()}});
}

// A matrix of derivatives: `of` is called with what it is differentiated by.
template <class F>
void derivatives(const Arguments& arguments, const std::string& name, const F& of, const Tensor& by, double seconds) {
  InMode step(arguments, of);
  measure(arguments, name, [&] { step(by); },
          {.seconds = std::max(seconds, arguments.seconds), .check = {norm(step(by)).template item<double>()}});
}

void hessian(const Arguments& arguments, const std::string& name) {
  const FlatNetwork network;
  const auto of = [&](const Tensor& w) {
    GradientTape tape;
    tape.watch(w);
    return tape.jacobian(network.gradient_of_loss(w), w);
  };
  derivatives(arguments, name, of, network.weights, 3);
}

void batch_jacobian(const Arguments& arguments, const std::string& name) {
  const FlatNetwork network;
  const auto of = [&](const Tensor& in) {
    GradientTape tape;
    tape.watch(in);
    return tape.batch_jacobian(network.logits(network.weights, in), in);
  };
  derivatives(arguments, name, of, network.x, 0);
}

void parameter_jacobian(const Arguments& arguments, const std::string& name) {
  const FlatNetwork network;
  const auto of = [&](const Tensor& w) {
    GradientTape tape;
    tape.watch(w);
    return tape.jacobian(network.logits(w, network.x), w);
  };
  derivatives(arguments, name, of, network.weights, 2);
}

void wgan_gp(const Arguments& arguments, const std::string& name) {
  const std::vector<Variable> variables = dense_stack({64, 128, 128, 1});
  const Tensor real_data = filled({64, 64}, 80);
  const Tensor fake_data = filled({64, 64}, 81);
  const Tensor mix_data = 0.5 + 0.5 * filled({64, 1}, 82);
  const optimizers::Adam optimizer({.learning_rate = 1e-4});
  const auto critic = [&](const Tensor& t) {
    return run_stack(variables, t, [](const Tensor& h) { return leaky_relu(h, 0.2); });
  };
  InMode step(arguments, [&](const Tensor& real, const Tensor& fake, const Tensor& mix) {
    GradientTape tape;
    const Tensor between = mix * real + (1 - mix) * fake;
    Tensor slope;
    {
      GradientTape inner({.watch_accessed_variables = false});
      inner.watch(between);
      slope = inner.gradient(critic(between), between);
    }
    const Tensor penalty = reduce_mean(square(sqrt(reduce_sum(square(slope), 1)) - 1));
    const Tensor loss = reduce_mean(critic(fake)) - reduce_mean(critic(real)) + 10 * penalty;
    optimizer.apply_gradients(tape.gradient(loss, variables), variables);
    return loss;
  });
  std::vector<double> losses;
  for (int i = 0; i < 3; ++i) losses.push_back(step(real_data, fake_data, mix_data).item<double>());
  measure(arguments, name, [&] { step(real_data, fake_data, mix_data); }, {.check = losses});
}

Workload chain10(int n) {
  return [n](const Arguments& arguments, const std::string& name) {
    const Tensor data = 0.5 + 0.5 * filled({n}, 90);
    InMode step(arguments, [](const Tensor& x) {
      GradientTape tape;
      tape.watch(x);
      const Tensor t3 = tanh(x * 0.5 + 0.1);
      const Tensor t6 = exp(t3 * x - 0.3);
      const Tensor t9 = relu(t6 * 0.25 + t3);
      return tape.gradient(reduce_sum(t9 * t9), x);
    });
    measure(arguments, name, [&] { step(data); }, {.seconds = 2.0, .check = {reduce_mean(step(data)).item<double>()}});
  };
}

// Sequences of class numbers: all but the last of each are inputs, all but the first what is to be foretold.
struct Text {
  Tensor ids, next;
  Text(int sequences, int length, int vocabulary) {
    const Tensor all = reshape(labels(sequences * (length + 1), vocabulary), {sequences, length + 1});
    const std::vector<Tensor> parts = split(all, {1, length - 1, 1}, 1);
    ids = concat({parts[0], parts[1]}, 1);
    next = concat({parts[1], parts[2]}, 1);
  }
};

void lstm(const Arguments& arguments, const std::string& name) {
  const Text text(64, 64, 65);
  const Sequential model({layers::Embedding(65, 64), layers::LSTM(128, {.return_sequences = true}), layers::Dense(65)});
  model(text.ids);
  const Tensor bias = concat({zeros({128}), ones({128}), zeros({256})}, 0);
  model.set_weights({filled({65, 64}, 1, 0.05), glorot({64, 512}, 2), glorot({128, 512}, 3), bias, glorot({128, 65}, 4),
                     zeros({65})});
  const optimizers::Adam optimizer({.learning_rate = 1e-3});
  InMode step(arguments, [&](const Tensor& ids, const Tensor& next) {
    GradientTape tape;
    const Tensor loss = mean_cross_entropy(next, model(ids, {.training = true}));
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    return loss;
  });
  std::vector<double> losses;
  for (int i = 0; i < 3; ++i) losses.push_back(step(text.ids, text.next).item<double>());
  measure(arguments, name, [&] { step(text.ids, text.next); },
          {.seconds = std::max(3.0, arguments.seconds), .check = losses});
}

// A stack of blocks of attention and a network of two layers, each behind a normalisation.
class Transformer {
 public:
  static constexpr int kVocabulary = 65, kWidth = 128, kHeads = 4, kContext = 128, kDepth = 4;

  Transformer()
      : token_(add(filled({kVocabulary, kWidth}, 1, 0.05))), position_(add(filled({kContext, kWidth}, 2, 0.05))) {
    int seed = 3;
    const auto dense = [&](int in, int out) { return Affine{add(glorot({in, out}, seed++)), add(zeros({out}))}; };
    for (int i = 0; i < kDepth; ++i) {
      Block block;
      block.qkv = dense(kWidth, 3 * kWidth);
      block.out = dense(kWidth, kWidth);
      block.up = dense(kWidth, 4 * kWidth);
      block.down = dense(4 * kWidth, kWidth);
      block.first_norm = norm_weights();
      block.second_norm = norm_weights();
      blocks_.push_back(block);
    }
    norm_ = norm_weights();
    head_ = add(glorot({kWidth, kVocabulary}, seed));
  }

  const std::vector<Variable>& variables() const { return variables_; }

  // [batch, context] gives logits [batch, context, vocabulary].
  Tensor operator()(const Tensor& ids) const {
    Tensor x = gather(token_, ids) + position_;
    for (const Block& block : blocks_) {
      x = x + affine(attention(affine(norm(x, block.first_norm), block.qkv)), block.out);
      x = x + affine(gelu(affine(norm(x, block.second_norm), block.up), {.approximate = true}), block.down);
    }
    return matmul(norm(x, norm_), head_);
  }

 private:
  struct Affine {
    Variable weight, bias;
  };
  struct Block {
    Affine qkv, out, up, down, first_norm, second_norm;
  };

  Variable add(const Tensor& value) {
    variables_.emplace_back(value);
    return variables_.back();
  }
  Affine norm_weights() { return {add(ones({kWidth})), add(zeros({kWidth}))}; }

  static Tensor affine(const Tensor& x, const Affine& by) { return bias_add(matmul(x, by.weight), by.bias); }
  static Tensor norm(const Tensor& x, const Affine& by) { return layer_normalization(x, by.weight, by.bias, 1, 1e-5); }
  static Tensor attention(const Tensor& qkv) {
    const Tensor heads = reshape(qkv, {-1, kContext, 3, kHeads, kWidth / kHeads});
    const std::vector<Tensor> parts = unstack(transpose(heads, {2, 0, 3, 1, 4}));
    const Tensor mixed = scaled_dot_product_attention(parts[0], parts[1], parts[2], {.causal = true});
    return reshape(transpose(mixed, {0, 2, 1, 3}), {-1, kContext, kWidth});
  }

  std::vector<Variable> variables_;
  Variable token_, position_, head_;
  std::vector<Block> blocks_;
  Affine norm_;
};

void transformer(const Arguments& arguments, const std::string& name) {
  const Text text(32, Transformer::kContext, Transformer::kVocabulary);
  const Transformer model;
  const optimizers::Adam optimizer({.learning_rate = 1e-3});
  InMode step(arguments, [&](const Tensor& ids, const Tensor& next) {
    GradientTape tape;
    const Tensor loss = mean_cross_entropy(next, model(ids));
    optimizer.apply_gradients(tape.gradient(loss, model.variables()), model.variables());
    return loss;
  });
  std::vector<double> losses;
  for (int i = 0; i < 3; ++i) losses.push_back(step(text.ids, text.next).item<double>());
  measure(arguments, name, [&] { step(text.ids, text.next); },
          {.seconds = std::max(6.0, arguments.seconds), .check = losses});
}

const Workloads& workloads() {
  static const Workloads list = {
      {"op", op},
      {"op_gradient", op_gradient},
      {"chain100_n1", chain100(1)},
      {"chain100_n1000", chain100(1000)},
      {"regression", regression},
      {"mlp_adam", mlp_adam},
      {"cnn_adam", cnn_adam},
      {"hvp", hvp},
      {"hessian", hessian},
      {"batch_jacobian", batch_jacobian},
      {"parameter_jacobian", parameter_jacobian},
      {"wgan_gp", wgan_gp},
      {"chain10_1k", chain10(1'000)},
      {"chain10_100k", chain10(100'000)},
      {"chain10_10m", chain10(10'000'000)},
      {"lstm", lstm},
      {"transformer", transformer},
  };
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  return run_workloads(argc, argv, {.name = "capstan", .modes = {"eager", "function"}, .set_threads = set_num_threads},
                       workloads());
}
