// LibTorch, PyTorch from C++, on the workloads of shared_workloads.cc. One mode: eager.
//
// The protocol is that of ../protocol/protocol.h; formulas and layouts are those of pytorch_peer.py.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "benchmarks/protocol/protocol.h"

using namespace capstan::benchmarks;
using torch::Tensor;
using torch::autograd::grad;
using torch::nn::functional::cross_entropy;

namespace {

using Shape = std::vector<std::int64_t>;
using Tensors = std::vector<Tensor>;

// --- Data ---

Tensor filled(const Shape& shape, int seed, double scale = 1.0) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return torch::tensor(fill_values(count, seed, scale)).reshape(shape);
}

Tensor labels(int n, int classes) { return (torch::arange(n) * 7 + 3).remainder(classes); }

Tensor glorot(const Shape& shape, int seed) {
  double field = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) field *= static_cast<double>(shape[i]);
  return filled(shape, seed, std::sqrt(6.0 / (field * static_cast<double>(shape[shape.size() - 2] + shape.back()))));
}

// Dense layers: kernel 1, bias 1, kernel 2, ...
Tensors dense_stack(const Shape& units) {
  Tensors parameters;
  for (std::size_t i = 0; i + 1 < units.size(); ++i) {
    const int seed = 2 * static_cast<int>(i) + 1;
    parameters.push_back(glorot({units[i], units[i + 1]}, seed).requires_grad_());
    parameters.push_back(filled({units[i + 1]}, seed + 1, 0.1).requires_grad_());
  }
  return parameters;
}

template <class Activation>
Tensor run_stack(const Tensors& parameters, Tensor x, const Activation& activation) {
  for (std::size_t i = 0; i < parameters.size(); i += 2) {
    x = torch::addmm(parameters[i + 1], x, parameters[i]);
    if (i + 2 < parameters.size()) x = activation(x);
  }
  return x;
}

// --- Chains of ops ---

void op(const Arguments& arguments, const std::string& name) {
  const c10::InferenceMode guard;
  const Tensor x = torch::full({1}, 0.999f);
  measure(arguments, name,
          [&] {
            for (int i = 0; i < 100; ++i) Tensor y = x * x;
          },
          {.per = 100});
}

void op_gradient(const Arguments& arguments, const std::string& name) {
  const Tensor x = torch::full({1}, 0.999f, torch::requires_grad());
  measure(arguments, name, [&] { grad({x * x}, {x}); }, {});
}

Workload chain100(int n) {
  return [n](const Arguments& arguments, const std::string& name) {
    const Tensor x = torch::full({n}, 0.999f, torch::requires_grad());
    const Tensor ones = torch::ones({n});
    const auto step = [&] {
      Tensor y = x;
      for (int i = 0; i < 50; ++i) {
        y = y * x;
        y = y + x;
      }
      return grad({y}, {x}, {ones})[0];
    };
    measure(arguments, name, step, {.per = 100, .check = {step()[0].item<double>()}});
  };
}

Workload chain10(int n) {
  return [n](const Arguments& arguments, const std::string& name) {
    const Tensor x = (0.5 + 0.5 * filled({n}, 90)).requires_grad_();
    const auto step = [&] {
      const Tensor t3 = torch::tanh(x * 0.5 + 0.1);
      const Tensor t6 = torch::exp(t3 * x - 0.3);
      const Tensor t9 = torch::relu(t6 * 0.25 + t3);
      return grad({(t9 * t9).sum()}, {x})[0];
    };
    measure(arguments, name, step, {.seconds = 2.0, .check = {step().mean().item<double>()}});
  };
}

// --- Training steps ---

void regression(const Arguments& arguments, const std::string& name) {
  const Tensor x = torch::arange(0, 11, torch::kFloat);
  const Tensor y = x * 10 + 5;
  const Tensor ones = torch::ones({11});
  const Tensor a = torch::tensor(0.3f, torch::requires_grad());
  const Tensor b = torch::tensor(0.7f, torch::requires_grad());
  const auto step = [&] {
    const Tensors gradients = grad({torch::abs(y - (a * x + b))}, {a, b}, {ones});
    const torch::NoGradGuard guard;
    a.sub_(gradients[0] * 0.001);
    b.sub_(gradients[1] * 0.001);
  };
  for (int i = 0; i < 100; ++i) step();
  measure(arguments, name, step, {.check = {a.item<double>(), b.item<double>()}});
}

// A step that returns the loss.
template <class LossOf>
auto training_step(const Tensors& parameters, double rate, LossOf loss_of) {
  return [loss_of, optimizer = torch::optim::Adam(parameters, torch::optim::AdamOptions(rate).eps(1e-7))]() mutable {
    optimizer.zero_grad();
    const Tensor loss = loss_of();
    loss.backward();
    optimizer.step();
    return loss;
  };
}

template <class Step>
std::vector<double> last_losses(Step& step, int calls) {
  std::vector<double> losses;
  for (int i = 0; i < calls; ++i) losses.push_back(step().template item<double>());
  return {losses.end() - 3, losses.end()};
}

void mlp_adam(const Arguments& arguments, const std::string& name) {
  const Tensors parameters = dense_stack({20, 64, 32, 5});
  const Tensor x = filled({32, 20}, 50);
  const Tensor y = labels(32, 5);
  auto step = training_step(parameters, 1e-3, [&] {
    return cross_entropy(run_stack(parameters, x, [](const Tensor& t) { return torch::relu(t); }), y);
  });
  const std::vector<double> losses = last_losses(step, 10);
  measure(arguments, name, [&] { step(); }, {.check = losses});
}

torch::nn::Sequential cnn_model(double dropout_rate) {
  using namespace torch::nn;
  const torch::NoGradGuard guard;
  Sequential model;
  int channels = 1;
  int seed = 1;
  for (const std::vector<int>& group : std::vector<std::vector<int>>{{16}, {32, 32}, {64, 64, 64}}) {
    for (const int filters : group) {
      Conv2d convolution(Conv2dOptions(channels, filters, 3).padding(1));
      // Assigned rather than copied, so that it is channels-last as the images are.
      convolution->weight.set_data(
          glorot({3, 3, channels, filters}, seed).permute({3, 2, 0, 1}).contiguous(at::MemoryFormat::ChannelsLast));
      convolution->bias.copy_(filled({filters}, seed + 1, 0.1));
      model->push_back(convolution);
      model->push_back(ReLU());
      model->push_back(BatchNorm2d(BatchNorm2dOptions(filters).eps(1e-3).momentum(0.01)));
      channels = filters;
      seed += 2;
    }
    model->push_back(MaxPool2d(MaxPool2dOptions(2)));
  }
  Linear hidden(576, 256);
  Linear output(256, 10);
  // Here the channels are flattened before height and width.
  hidden->weight.copy_(glorot({576, 256}, seed).reshape({3, 3, 64, 256}).permute({3, 2, 0, 1}).reshape({256, 576}));
  hidden->bias.copy_(filled({256}, seed + 1, 0.1));
  output->weight.copy_(glorot({256, 10}, seed + 2).t());
  output->bias.copy_(filled({10}, seed + 3, 0.1));
  model->push_back(Flatten());
  model->push_back(hidden);
  model->push_back(ReLU());
  model->push_back(BatchNorm1d(BatchNorm1dOptions(256).eps(1e-3).momentum(0.01)));
  model->push_back(Dropout(dropout_rate));
  model->push_back(output);
  return model;
}

void cnn_adam(const Arguments& arguments, const std::string& name) {
  const Tensor x =
      (0.5 + 0.5 * filled({64, 28, 28, 1}, 60)).permute({0, 3, 1, 2}).contiguous(at::MemoryFormat::ChannelsLast);
  const Tensor y = labels(64, 10);
  const auto make_step = [&](double dropout_rate) {
    torch::nn::Sequential model = cnn_model(dropout_rate);
    return training_step(model->parameters(), 1e-3,
                         [&, model]() mutable { return cross_entropy(model->forward(x), y); });
  };
  auto checked = make_step(0.0);
  const std::vector<double> losses = last_losses(checked, 3);
  auto step = make_step(0.5);
  measure(arguments, name, [&] { step(); }, {.seconds = std::max(4.0, arguments.seconds), .check = losses});
}

// --- Second derivatives ---

Tensor flattened(const Tensors& parts) {
  Tensors flat;
  for (const Tensor& part : parts) flat.push_back(part.reshape({-1}));
  return torch::cat(flat);
}

void hvp(const Arguments& arguments, const std::string& name) {
  const Tensors layers = dense_stack({20, 64, 32, 5});
  std::vector<std::int64_t> sizes;
  for (const Tensor& part : layers) sizes.push_back(part.numel());
  const Tensor w = flattened(layers).detach();
  const Tensor v = filled({w.numel()}, 70);
  const Tensor x = filled({32, 20}, 50);
  const Tensor y = labels(32, 5);
  const auto step = [&] {
    const Tensor leaf = w.clone().requires_grad_();
    Tensors parts = leaf.split_with_sizes(sizes);
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = parts[i].view_as(layers[i]);
    const Tensor loss = cross_entropy(run_stack(parts, x, [](const Tensor& t) { return torch::tanh(t); }), y);
    const Tensors gradient = grad({loss}, {leaf}, {}, /*retain_graph=*/true, /*create_graph=*/true);
    return grad(gradient, {leaf}, {v})[0];
  };
  measure(arguments, name, step, {.check = {step().norm().item<double>()}});
}

void wgan_gp(const Arguments& arguments, const std::string& name) {
  const Tensors parameters = dense_stack({64, 128, 128, 1});
  const Tensor real = filled({64, 64}, 80);
  const Tensor fake = filled({64, 64}, 81);
  const Tensor mix = 0.5 + 0.5 * filled({64, 1}, 82);
  const auto critic = [&](const Tensor& t) {
    return run_stack(parameters, t, [](const Tensor& h) { return torch::leaky_relu(h, 0.2); });
  };
  auto step = training_step(parameters, 1e-4, [&] {
    const Tensor between = (mix * real + (1 - mix) * fake).requires_grad_();
    const Tensor slope = grad({critic(between).sum()}, {between}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
    const Tensor penalty = (slope.norm(2, {1}) - 1).pow(2).mean();
    return critic(fake).mean() - critic(real).mean() + 10 * penalty;
  });
  const std::vector<double> losses = last_losses(step, 3);
  measure(arguments, name, [&] { step(); }, {.check = losses});
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
      {"wgan_gp", wgan_gp},
      {"chain10_1k", chain10(1'000)},
      {"chain10_100k", chain10(100'000)},
      {"chain10_10m", chain10(10'000'000)},
  };
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  const Library library = {.name = "libtorch " TORCH_VERSION, .set_threads = [](int n) { torch::set_num_threads(n); }};
  return run_workloads(argc, argv, library, workloads());
}
