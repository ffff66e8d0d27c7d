// Samples and references of the ops in src/ops/random/random_stateless.cc.
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

AttributeValue list(std::vector<AttributeValue> numbers) { return {std::move(numbers)}; }
SampleInput seed(const Shape& shape, std::vector<double> values, DType dtype = DType::kInt64) {
  return {.shape = shape, .values = std::move(values), .dtype = dtype, .differentiable = false};
}
constexpr const char* kSeedError = "the seed must be two numbers of int64, or the three of a Generator's state";

std::vector<OpSample> float_samples() {
  return {
      {.inputs = {seed({2}, {1, 2})}, .attributes = {{"shape", list({2, 3})}}},
      {.inputs = {seed({2}, {1, 2})}, .attributes = {{"shape", list({})}, {"dtype", "float64"}}},
      {.inputs = {seed({2}, {-1, 2})}, .attributes = {{"shape", list({9001})}, {"dtype", "float64"}}},
      {.inputs = {seed({3}, {-1, 2, 3})}, .attributes = {{"shape", list({9001})}}},
      {.inputs = {seed({2}, {1, 2})}, .attributes = {{"shape", list({0, 2})}, {"dtype", "bfloat16"}}},
      {.inputs = {seed({2, 1, 2}, {1, 2, 3, 4})}, .attributes = {{"shape", list({3})}}},
      {.inputs = {seed({0, 3}, {})}, .attributes = {{"shape", list({3})}}},
      {.inputs = {seed({2}, {1, 2})},
       .attributes = {{"shape", list({2})}, {"dtype", "int32"}},
       .error = "dtype int32 is not supported"},
      {.inputs = {seed({2}, {1, 2})}, .attributes = {{"shape", list({-1})}}, .error = "negative length -1"},
      {.inputs = {seed({1}, {1})}, .attributes = {{"shape", list({2})}}, .error = kSeedError},
      {.inputs = {seed({2}, {1, 2}, DType::kFloat32)}, .attributes = {{"shape", list({2})}}, .error = kSeedError},
  };
}
const OpTest kFloatTest = {.samples = float_samples, .random = true};

std::vector<OpSample> integer_samples() {
  const auto range = [](AttributeValue low, AttributeValue high, const char* dtype) {
    return AttributeMap{{"shape", list({2, 3})}, {"minval", low}, {"maxval", high}, {"dtype", dtype}};
  };
  return {
      {.inputs = {seed({2}, {1, 2})}, .attributes = {{"shape", list({2, 3})}}},
      {.inputs = {seed({2}, {1, 2})}, .attributes = range(-5, 7, "int32")},
      {.inputs = {seed({3}, {1, 2, 3})}, .attributes = range(-5, 7, "int64")},
      {.inputs = {seed({2}, {1, 2})}, .attributes = range(7, 7, "int64"), .error = "no number from 7 up to below 7"},
      {.inputs = {seed({2}, {1, 2})},
       .attributes = range(0, std::int64_t{1} << 40, "int32"),
       .error = "do not fit int32"},
      {.inputs = {seed({2}, {1, 2})}, .attributes = range(0, 7, "float32"), .error = "dtype float32 is not supported"},
      {.inputs = {seed({2, 1}, {1, 2})}, .attributes = range(0, 7, "int64"), .error = kSeedError},
  };
}

const OpTests kRandomStatelessTests = {
    {"stateless_uniform", kFloatTest},
    {"stateless_normal", kFloatTest},
    {"stateless_truncated_normal", kFloatTest},
    {"stateless_integers", {.samples = integer_samples, .random = true}},
};

}  // namespace

}  // namespace capstan::testing
