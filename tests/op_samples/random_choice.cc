// Samples and references of the ops in src/ops/random/random_choice.cc.
#include <cmath>
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/random_inputs.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> categorical_samples() {
  return {
      {.inputs = {fixed({2, 3}, {0, 0, 0, 0, 1, 2}, float64)}, .attributes = {{"num_samples", 5}, {"seed", 5}}},
      {.inputs = {fixed({1, 2}, {0, -1e30})}, .attributes = {{"num_samples", 6}, {"dtype", "int32"}, {"seed", 5}}},
      {.inputs = {fixed({1, 2}, {0, 1}, bfloat16)}, .attributes = {{"num_samples", 0}, {"seed", 5}}},
      {.inputs = {fixed({1, 2}, {0, 1})}, .attributes = {{"num_samples", 9001}, {"seed", 5}}},
      {.inputs = {fixed({3}, {1, 2, 3})}, .attributes = {{"num_samples", 2}}, .error = "must have rank 2, not 1"},
      {.inputs = {fixed({1, 2}, {1, 2})}, .attributes = {{"num_samples", -1}}, .error = "num_samples -1 is negative"},
      {.inputs = {fixed({2, 0}, {})}, .attributes = {{"num_samples", 2}}, .error = "0 classes to choose from"},
      {.inputs = {fixed({1, 2}, {-INFINITY, -INFINITY})},
       .attributes = {{"num_samples", 2}},
       .error = "row 0 of logits has no finite number"},
      {.inputs = {fixed({1, 2}, {1, 2}, int32)}, .attributes = {{"num_samples", 2}}, .error = "dtype int32"},
  };
}
std::vector<OpSample> order_samples() {
  return {
      {.inputs = {fixed({3, 2}, {1, 2, 3, 4, 5, 6}, float64)}, .attributes = {{"seed", 5}}},
      {.inputs = {fixed({5}, {0, -5, -5, -3, 4}, int32)}, .attributes = {{"seed", 5}}},
      {.inputs = {fixed({0, 2}, {})}, .attributes = {{"seed", 5}}},
      {.inputs = {fixed({}, {1})}, .error = "there are no rows in a scalar"},
  };
}
const OpTest kOrderTest = {.samples = order_samples, .random = true};

const OpTests kRandomChoiceTests = {
    {"random_categorical", {.samples = categorical_samples, .random = true}},
    {"random_order", kOrderTest},
    {"random_shuffle", kOrderTest},
};

}  // namespace

}  // namespace capstan::testing
