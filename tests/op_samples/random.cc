// Samples and references of the ops in src/ops/random/random.cc.
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/random_inputs.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> normal_samples() {
  return {
      {.attributes = {{"shape", lengths_of({2, 3})}, {"seed", 5}}},
      {.attributes = {{"shape", lengths_of({})}, {"seed", 5}}},
      {.attributes =
           {{"shape", lengths_of({3001})}, {"mean", 2.0}, {"stddev", 0.5}, {"dtype", "float64"}, {"seed", 5}}},
      {.attributes = {{"shape", lengths_of({0, 2})}, {"dtype", "bfloat16"}, {"seed", 5}}},
      {.attributes = {{"shape", lengths_of({2})}, {"dtype", "int32"}}, .error = "dtype int32 is not supported"},
      {.attributes = {{"shape", lengths_of({-1})}}, .error = "negative length -1"},
  };
}
std::vector<OpSample> uniform_samples() {
  return {
      {.attributes = {{"shape", lengths_of({2, 3})}, {"seed", 5}}},
      {.attributes =
           {{"shape", lengths_of({3001})}, {"minval", -3.0}, {"maxval", 5.0}, {"dtype", "float64"}, {"seed", 5}}},
      {.attributes = {{"shape", lengths_of({20})}, {"minval", 2}, {"maxval", 5}, {"dtype", "int32"}, {"seed", 5}}},
      {.attributes = {{"shape", lengths_of({20})}, {"minval", -4}, {"maxval", -1}, {"dtype", "int64"}, {"seed", 5}}},
      {.attributes = {{"shape", lengths_of({2})}, {"dtype", "int32"}}, .error = "integers need maxval"},
      {.attributes = {{"shape", lengths_of({2})}, {"minval", 3}, {"maxval", 3}, {"dtype", "int32"}},
       .error = "minval 3 is not below maxval 3"},
  };
}
const OpTest kNormalTest = {.samples = normal_samples, .random = true};

const OpTests kRandomTests = {
    {"random_uniform", {.samples = uniform_samples, .random = true}},
    {"random_normal", kNormalTest},
    {"random_truncated_normal", kNormalTest},
};

}  // namespace

}  // namespace capstan::testing
