// Samples and references of the ops in src/ops/random/random_distributions.cc.
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/random_inputs.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> gamma_samples() {
  return {
      {.inputs = {fixed({2}, {0.5, 3})}, .attributes = {{"shape", lengths_of({2, 3})}, {"seed", 5}}},
      {.inputs = {fixed({}, {2}, float64)}, .attributes = {{"shape", lengths_of({1501})}, {"seed", 5}}},
      {.inputs = {fixed({2}, {0.5, 3}, bfloat16)}, .attributes = {{"shape", lengths_of({})}, {"seed", 5}}},
      {.inputs = {fixed({2}, {1, 3}, int32)},
       .attributes = {{"shape", lengths_of({})}, {"seed", 5}},
       .error = "dtype int32 is not supported"},
      {.inputs = {fixed({2}, {1, 3})}, .attributes = {{"shape", lengths_of({-1})}}, .error = "negative length -1"},
      {.inputs = {fixed({1, 1, 1, 1}, {1})},
       .attributes = {{"shape", lengths_of({1, 1, 1, 1, 1})}},
       .error = "more than 8 axes"},
  };
}
const OpTest kGammaTest = {.samples = gamma_samples, .random = true};

std::vector<OpSample> pair_samples() {
  return {
      {.inputs = {fixed({2}, {0.5, 3}), fixed({}, {2})}, .attributes = {{"shape", lengths_of({2, 3})}, {"seed", 5}}},
      {.inputs = {fixed({2, 1}, {0.5, 3}, float64), fixed({3}, {1, 2, 3}, float64)},
       .attributes = {{"shape", lengths_of({})}, {"seed", 5}}},
      {.inputs = {fixed({2}, {0.5, 3}), fixed({3}, {1, 2, 3})},
       .attributes = {{"shape", lengths_of({})}},
       .error = "broadcast"},
  };
}
const OpTest kPairTest = {.samples = pair_samples, .random = true};

std::vector<OpSample> poisson_samples() {
  std::vector<OpSample> samples = gamma_samples();
  samples.push_back({.inputs = {fixed({3}, {0, 5, 5000})},
                     .attributes = {{"shape", lengths_of({4})}, {"dtype", "int64"}, {"seed", 5}}});
  samples.push_back(
      {.inputs = {fixed({1}, {-1})}, .attributes = {{"shape", lengths_of({})}}, .error = "lam -1 is not a mean"});
  samples.push_back({.inputs = {fixed({1}, {1})},
                     .attributes = {{"shape", lengths_of({})}, {"dtype", "bool"}},
                     .error = "dtype bool is not supported"});
  return samples;
}
std::vector<OpSample> binomial_samples() {
  return {
      {.inputs = {fixed({2}, {5, 300}), fixed({}, {0.25})}, .attributes = {{"shape", lengths_of({4, 2})}, {"seed", 5}}},
      {.inputs = {fixed({}, {10}, float64), fixed({3}, {0, 0.5, 1}, float64)},
       .attributes = {{"shape", lengths_of({3})}, {"dtype", "float64"}, {"seed", 5}}},
      {.inputs = {fixed({1}, {2.5}), fixed({}, {0.25})},
       .attributes = {{"shape", lengths_of({1})}},
       .error = "counts 2.5 is not a number of trials"},
      {.inputs = {fixed({1}, {2}), fixed({}, {1.5})},
       .attributes = {{"shape", lengths_of({1})}},
       .error = "probs 1.5 is not a probability"},
      {.inputs = {fixed({3}, {2, 2, 2}), fixed({}, {0.5})}, .attributes = {{"shape", lengths_of({2})}}, .error = "[3]"},
  };
}

const OpTests kRandomDistributionsTests = {
    {"random_gamma", kGammaTest},
    {"random_beta", kPairTest},
    {"random_exponential", kGammaTest},
    {"random_laplace", kPairTest},
    {"random_poisson", {.samples = poisson_samples, .random = true}},
    {"random_binomial", {.samples = binomial_samples, .random = true}},
};

}  // namespace

}  // namespace capstan::testing
