// Samples and references of the ops in src/ops/signal/fft.cc.
#include <string>
#include <vector>

#include "tests/op_samples/fft_reference.h"
#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

using reference::ints;

// Lengths with each radix, with a large prime factor, and of more elements than a task takes.
template <int kAxes>
std::vector<OpSample> fft_samples() {
  if (kAxes == 1) {
    return {{.inputs = {{.shape = {4}}}},     {.inputs = {{.shape = {1}}}},
            {.inputs = {{.shape = {2, 15}}}}, {.inputs = {{.shape = {2, 14}}}},
            {.inputs = {{.shape = {37}}}},    {.inputs = {{.shape = {0}}}},
            {.inputs = {{.shape = {0, 3}}}},  {.inputs = {{.shape = {}}}, .error = "needs rank 1 or more, not 0"}};
  }
  Shape shape{2};
  for (int i = 0; i < kAxes; ++i) shape.push_back(i + 2);
  Shape small;
  for (int i = 1; i < kAxes; ++i) small.push_back(2);
  Shape few = small;
  small.push_back(3);
  return {{.inputs = {{.shape = shape}}},
          {.inputs = {{.shape = small}}},
          {.inputs = {{.shape = few}}, .error = "or more, not " + std::to_string(kAxes - 1)}};
}
template <int kAxes>
std::vector<OpSample> length_samples() {
  std::vector<OpSample> samples = fft_samples<kAxes>();
  // Without elements the default length of an inverse has no meaning.
  std::erase_if(samples, [](const OpSample& sample) { return sample.inputs[0].shape.size() == 0; });
  std::vector<AttributeValue> longer;
  std::vector<AttributeValue> shorter;
  Shape shape;
  for (int i = 0; i < kAxes; ++i) {
    shape.push_back(3);
    longer.emplace_back(i + 5);
    shorter.emplace_back(2);
  }
  std::vector<AttributeValue> negative = shorter;
  negative.back() = -2;
  samples.push_back({.inputs = {{.shape = shape}}, .attributes = {{"fft_length", longer}}});
  samples.push_back({.inputs = {{.shape = shape}}, .attributes = {{"fft_length", shorter}}});
  samples.push_back(
      {.inputs = {{.shape = shape}}, .attributes = {{"fft_length", negative}}, .error = "negative length"});
  samples.push_back({.inputs = {{.shape = shape}},
                     .attributes = {{"fft_length", ints({2, 2, 2, 2})}},
                     .error = "fft_length has 4 lengths"});
  return samples;
}
// One element has no inverse of the default length.
template <int kAxes>
std::vector<OpSample> inverse_samples() {
  std::vector<OpSample> samples = length_samples<kAxes>();
  std::erase_if(samples, [](const OpSample& sample) { return sample.inputs[0].shape == Shape{1}; });
  return samples;
}

template <int kAxes, bool kInverse>
const OpTest kFftTest = {.samples = fft_samples<kAxes>,
                         .complex_reference = reference::fft<kAxes, kInverse>,
                         .dtypes = {complex64, complex128}};
template <int kAxes>
const OpTest kRfftTest = {
    .samples = length_samples<kAxes>, .reference = reference::rfft<kAxes>, .dtypes = {float32, float64}};
template <int kAxes>
const OpTest kIrfftTest = {
    .samples = inverse_samples<kAxes>, .complex_reference = reference::irfft<kAxes>, .dtypes = {complex64, complex128}};

const OpTests kFftTests = {
    {"fft", kFftTest<1, false>},   {"ifft", kFftTest<1, true>},   {"fft2d", kFftTest<2, false>},
    {"ifft2d", kFftTest<2, true>}, {"fft3d", kFftTest<3, false>}, {"ifft3d", kFftTest<3, true>},
    {"rfft", kRfftTest<1>},        {"rfft2d", kRfftTest<2>},      {"rfft3d", kRfftTest<3>},
    {"irfft", kIrfftTest<1>},      {"irfft2d", kIrfftTest<2>},    {"irfft3d", kIrfftTest<3>},
};

}  // namespace

}  // namespace capstan::testing
