// Samples and references of the ops in src/ops/bitwise/bitwise.cc.
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

std::int64_t and_of(std::int64_t x, std::int64_t y) { return x & y; }
std::int64_t or_of(std::int64_t x, std::int64_t y) { return x | y; }
std::int64_t xor_of(std::int64_t x, std::int64_t y) { return x ^ y; }
std::int64_t left_of(std::int64_t x, std::int64_t places) { return x << places; }
std::int64_t right_of(std::int64_t x, std::int64_t places) { return x >> places; }

// Samples are small enough for every shift to stay in range.
template <std::int64_t (*kFunction)(std::int64_t, std::int64_t)>
const OpTest kIntegerTest = [] {
  OpTest test;
  test.domain = {0, 5};
  test.value = [](const double* x, const double*) {
    return static_cast<double>(kFunction(static_cast<std::int64_t>(x[0]), static_cast<std::int64_t>(x[1])));
  };
  return test;
}();
const OpTest kInvertTest = [] {
  OpTest test;
  test.domain = {-5, 5};
  test.value = [](const double* x, const double*) { return static_cast<double>(~static_cast<std::int64_t>(x[0])); };
  return test;
}();
const OpTest kNextAfterTest = [] {
  OpTest test;
  test.value = [](const double* x, const double*) { return std::nextafter(x[0], x[1]); };
  return test;
}();

std::vector<OpSample> population_samples() {
  return {{.inputs = {{.shape = {4}, .values = {0, 1, 7, 100}}}},
          {.inputs = {{.shape = {2, 0}}}},
          {.inputs = {{.shape = {}}}},
          {.inputs = {{.shape = {1}, .dtype = DType::kFloat32, .differentiable = false}},
           .error = "dtype float32 is not supported"}};
}
void population_reference(const std::vector<ReferenceTensor>& in, const AttributeMap&,
                          std::vector<ReferenceTensor>& out) {
  out = {{DType::kUInt8, in[0].shape, {}}};
  for (double value : in[0].values) {
    out[0].values.push_back(std::popcount(static_cast<std::uint64_t>(static_cast<std::int64_t>(value))));
  }
}

const OpTests kBitwiseTests = {
    {"bitwise_and", kIntegerTest<and_of>},
    {"bitwise_or", kIntegerTest<or_of>},
    {"bitwise_xor", kIntegerTest<xor_of>},
    {"left_shift", kIntegerTest<left_of>},
    {"right_shift", kIntegerTest<right_of>},
    {"invert", kInvertTest},
    {"population_count",
     {.samples = population_samples,
      .reference = population_reference,
      .dtypes = {DType::kInt32, DType::kInt64, DType::kUInt8}}},
    {"nextafter", kNextAfterTest},
};

}  // namespace

}  // namespace capstan::testing
