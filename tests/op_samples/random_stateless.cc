// Samples and references of the ops in src/ops/random/random_stateless.cc.
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> stateless_samples() {
  const auto list = [](std::vector<AttributeValue> numbers) { return AttributeValue(std::move(numbers)); };
  return {
      {.attributes = {{"shape", list({2, 3})}, {"seed", list({1, 2})}}},
      {.attributes = {{"shape", list({})}, {"seed", list({1, 2})}, {"dtype", "float64"}}},
      {.attributes = {{"shape", list({9001})}, {"seed", list({-1, 2})}, {"dtype", "float64"}}},
      {.attributes = {{"shape", list({0, 2})}, {"seed", list({1, 2})}, {"dtype", "bfloat16"}}},
      {.attributes = {{"shape", list({2})}, {"seed", list({1, 2})}, {"dtype", "int32"}},
       .error = "dtype int32 is not supported"},
      {.attributes = {{"shape", list({-1})}, {"seed", list({1, 2})}}, .error = "negative length -1"},
      {.attributes = {{"shape", list({2})}, {"seed", list({1})}}, .error = "must be two integers"},
  };
}

const OpTests kTests = {
    {"stateless_uniform", {.samples = stateless_samples, .random = true}},
};

}  // namespace

}  // namespace capstan::testing
