// The kernels that training programs spend their time in, beside those of other frameworks and the machine's limit.
//
//     kernel_workloads --workload NAME[,NAME...]|all|list --mode eager --threads N --seconds S
//
// The protocol is that of protocol/protocol.h. Products and convolutions count in units of 10^9 floating-point
// operations (2 for a multiplication and addition), as does `fma`, a loop of nothing else: its time divided by theirs
// is the share of the peak that they reach. So does a `_copy`, which moves as much memory as the convolution of its
// name reads and writes, and does nothing else: no convolution can take less. Everything else counts in calls.
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/protocol/filled.h"
#include "benchmarks/protocol/protocol.h"
#include "capstan/capstan.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace capstan;
using namespace capstan::benchmarks;

namespace {

constexpr double kUnit = 1e9;

// --- The limit ---

#if defined(__x86_64__)
// Twelve independent sums hide the latency of one; the empty assembly keeps each in its register.
[[gnu::target("avx512f")]] void fma_avx512(std::int64_t rounds) {
  __m512 sums[12];
  for (__m512& sum : sums) sum = _mm512_set1_ps(0.5f);
  const __m512 factor = _mm512_set1_ps(0.999f);
  const __m512 offset = _mm512_set1_ps(1e-3f);
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (__m512& sum : sums) {
      sum = _mm512_fmadd_ps(sum, factor, offset);
      asm volatile("" : "+v"(sum));
    }
  }
}
[[gnu::target("avx2,fma")]] void fma_avx2(std::int64_t rounds) {
  __m256 sums[12];
  for (__m256& sum : sums) sum = _mm256_set1_ps(0.5f);
  const __m256 factor = _mm256_set1_ps(0.999f);
  const __m256 offset = _mm256_set1_ps(1e-3f);
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (__m256& sum : sums) {
      sum = _mm256_fmadd_ps(sum, factor, offset);
      asm volatile("" : "+x"(sum));
    }
  }
}
#endif

void fma(const Arguments& arguments, const std::string& name) {
#if defined(__x86_64__)
  const bool wide = __builtin_cpu_supports("avx512f");
  if (!wide && !__builtin_cpu_supports("avx2")) throw std::runtime_error("this processor has neither AVX-512 nor AVX2");
  constexpr std::int64_t kRounds = 2'000'000;
  const auto step = [&] {
    std::vector<std::thread> others;
    for (int i = 1; i < arguments.threads; ++i) others.emplace_back(wide ? fma_avx512 : fma_avx2, kRounds);
    (wide ? fma_avx512 : fma_avx2)(kRounds);
    for (std::thread& other : others) other.join();
  };
  const double flops = 2.0 * 12 * (wide ? 16 : 8) * static_cast<double>(kRounds) * arguments.threads;
  measure(arguments, name, step, {.per = flops / kUnit});
#else
  static_cast<void>(arguments);
  throw std::runtime_error(name + " is written for x86-64");
#endif
}

// --- Products ---

Workload product(std::int64_t n) {
  return [n](const Arguments& arguments, const std::string& name) {
    const Tensor a = filled({n, n}, 1);
    const Tensor b = filled({n, n}, 2);
    const double size = static_cast<double>(n);
    measure(arguments, name, [&] { matmul(a, b); },
            {.per = 2 * size * size * size / kUnit, .check = {matmul(a, b)[0][0].item<double>()}});
  };
}

// A convolution of `kernel` x `kernel`, "SAME", with as many channels in as out, and its gradients.
struct Convolution {
  std::int64_t batch, size, channels, kernel;

  Tensor image() const { return filled({batch, size, size, channels}, 1); }
  Tensor filters() const { return filled({kernel, kernel, channels, channels}, 2); }

  // Measures `step`, which does the convolution's operations and gives a tensor.
  void run(const Arguments& arguments, const std::string& name, const std::function<Tensor()>& step) const {
    const double flops =
        2.0 * static_cast<double>(batch * size * size * channels) * static_cast<double>(kernel * kernel * channels);
    measure(arguments, name, [&] { step(); }, {.per = flops / kUnit, .check = {step()[0][0][0][0].item<double>()}});
  }
};

Workload convolution(std::int64_t batch, std::int64_t size, std::int64_t channels, std::int64_t kernel) {
  return [c = Convolution{batch, size, channels, kernel}](const Arguments& arguments, const std::string& name) {
    const Tensor x = c.image(), filters = c.filters();
    c.run(arguments, name, [&] { return conv2d(x, filters, {1, 1}, "SAME"); });
  };
}
Workload image_gradient(std::int64_t batch, std::int64_t size, std::int64_t channels, std::int64_t kernel) {
  return [c = Convolution{batch, size, channels, kernel}](const Arguments& arguments, const std::string& name) {
    const Tensor dy = c.image(), filters = c.filters();
    c.run(arguments, name, [&] { return conv2d_backprop_input(dy.shape(), filters, dy, {1, 1}, "SAME"); });
  };
}
Workload filter_gradient(std::int64_t batch, std::int64_t size, std::int64_t channels, std::int64_t kernel) {
  return [c = Convolution{batch, size, channels, kernel}](const Arguments& arguments, const std::string& name) {
    const Tensor x = c.image(), dy = filled(x.shape(), 3);
    const Shape filters{c.kernel, c.kernel, c.channels, c.channels};
    c.run(arguments, name, [&] { return conv2d_backprop_filter(x, filters, dy, {1, 1}, "SAME"); });
  };
}
Workload copy(std::int64_t batch, std::int64_t size, std::int64_t channels, std::int64_t kernel) {
  return [c = Convolution{batch, size, channels, kernel}](const Arguments& arguments, const std::string& name) {
    const Tensor x = c.image();
    std::vector<float> to(static_cast<std::size_t>(x.size()));
    c.run(arguments, name, [&] {
      std::memcpy(to.data(), x.data<float>(), to.size() * sizeof(float));
      return x;
    });
  };
}

// --- Forward and backward ---

double mean_square(const Tensor& x) { return reduce_mean(square(x)).item<double>(); }

// The gradient of sum(f(sources) * weights) by the sources; the check is the mean of the first one's square.
template <class F>
void forward_and_backward(const Arguments& arguments, const std::string& name, const std::vector<Tensor>& sources,
                          const Tensor& weights, const F& f) {
  const auto step = [&] {
    GradientTape tape;
    tape.watch(sources);
    const Tensor y = f(sources);
    return tape.gradient(y, sources, {.output_gradients = {weights}});
  };
  measure(arguments, name, [&] { step(); }, {.check = {mean_square(step()[0])}});
}

void softmax_rows(const Arguments& arguments, const std::string& name) {
  forward_and_backward(arguments, name, {filled({4096, 512}, 1, 4)}, filled({4096, 512}, 2),
                       [](const std::vector<Tensor>& in) { return softmax(in[0]); });
}

void layer_norm_rows(const Arguments& arguments, const std::string& name) {
  forward_and_backward(arguments, name, {filled({4096, 512}, 1), 1 + 0.1 * filled({512}, 3), filled({512}, 4, 0.1)},
                       filled({4096, 512}, 2),
                       [](const std::vector<Tensor>& in) { return layer_normalization(in[0], in[1], in[2], 1, 1e-3); });
}

Workload attention(bool causal) {
  return [causal](const Arguments& arguments, const std::string& name) {
    const Shape shape{32, 4, 128, 32};
    forward_and_backward(arguments, name, {filled(shape, 1), filled(shape, 2), filled(shape, 3)}, filled(shape, 4),
                         [&](const std::vector<Tensor>& in) {
                           return scaled_dot_product_attention(in[0], in[1], in[2], {.causal = causal});
                         });
  };
}

// --- Elementwise ---

template <Tensor (*F)(Operand)>
void million(const Arguments& arguments, const std::string& name) {
  const Tensor x = 1.1 + filled({1'000'000}, 1);
  measure(arguments, name, [&] { F(x); }, {.check = {F(x)[0].item<double>()}});
}

const Workloads& workloads() {
  static const Workloads list = {
      {"fma", fma},
      {"matmul_32", product(32)},
      {"matmul_64", product(64)},
      {"matmul_128", product(128)},
      {"matmul_256", product(256)},
      {"matmul_512", product(512)},
      {"matmul_1024", product(1024)},
      {"conv3x3_16", convolution(64, 28, 16, 3)},
      {"conv3x3_32", convolution(64, 14, 32, 3)},
      {"conv3x3_64", convolution(64, 14, 64, 3)},
      {"conv3x3_128", convolution(32, 14, 128, 3)},
      {"conv1x1_16", convolution(64, 28, 16, 1)},
      {"conv1x1_16_b4", convolution(4, 28, 16, 1)},
      {"conv1x1_32_b4", convolution(4, 28, 32, 1)},
      {"conv1x1_64_b4", convolution(4, 14, 64, 1)},
      {"conv1x1_64", convolution(64, 28, 64, 1)},
      {"conv1x1_256", convolution(32, 14, 256, 1)},
      {"conv3x3_16_dx", image_gradient(64, 28, 16, 3)},
      {"conv3x3_16_dw", filter_gradient(64, 28, 16, 3)},
      {"conv3x3_64_dx", image_gradient(64, 14, 64, 3)},
      {"conv3x3_64_dw", filter_gradient(64, 14, 64, 3)},
      {"conv1x1_16_dx", image_gradient(64, 28, 16, 1)},
      {"conv1x1_16_dw", filter_gradient(64, 28, 16, 1)},
      {"conv1x1_16_copy", copy(64, 28, 16, 1)},
      {"conv1x1_16_b4_dx", image_gradient(4, 28, 16, 1)},
      {"conv1x1_16_b4_dw", filter_gradient(4, 28, 16, 1)},
      {"conv1x1_16_b4_copy", copy(4, 28, 16, 1)},
      {"conv1x1_32_b4_dw", filter_gradient(4, 28, 32, 1)},
      {"conv1x1_64_dx", image_gradient(64, 28, 64, 1)},
      {"conv1x1_64_dw", filter_gradient(64, 28, 64, 1)},
      {"conv1x1_64_copy", copy(64, 28, 64, 1)},
      {"softmax", softmax_rows},
      {"layer_norm", layer_norm_rows},
      {"attention", attention(false)},
      {"attention_causal", attention(true)},
      {"exp", million<exp>},
      {"log", million<log>},
      {"tanh", million<tanh>},
      {"erf", million<erf>},
  };
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  return run_workloads(argc, argv, {.name = "capstan", .set_threads = set_num_threads}, workloads());
}
