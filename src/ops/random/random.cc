// Random draws.
//
// Every draw is a function of a key and an element's position (src/kernels/random/random.h). Draws without
// a key take the next one of a stream of the process, which is one atomic counter, mixed by a mixing
// function.
#include "capstan/ops/random.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/key_log.h"
#include "src/core/named_errors.h"
#include "src/core/seed_stream.h"
#include "src/kernels/random/fill.h"
#include "src/kernels/random/random.h"
#include "src/ops/family.h"
#include "src/ops/lengths.h"

namespace capstan {

void set_seed(std::uint64_t seed) { restart_seed_streams(seed); }

std::uint64_t next_seed() {
  CAPSTAN_CHECK(context.tracer == nullptr, TraceError,
                "next_seed: a key that is drawn while a function is traced would be the same at every call",
                help("draw with random::uniform() and its kin, or give a seed"));
  return key_of_object();
}

namespace {

// All that a draw depends on. `first` and `second` are minval and maxval, or mean and standard
// deviation. The struct has the 64 bytes that attributes may have, so "a seed is given" is a flag
// beside it.
struct RandomAttributes {
  Lengths shape;
  DType dtype = DType::kFloat32;
  bool has_seed = false;
  double first = 0;
  double second = 1;
  std::uint64_t seed = 0;

  std::uint64_t key() const { return has_seed ? seed : next_seed(); }
};

// Of the whole struct.
constexpr FieldType kSeedType = {
    [](void* attributes, const AttributeValue& value, std::string_view op, std::string_view name) {
      auto& a = *static_cast<RandomAttributes*>(attributes);
      OptionalInt seed;
      set_field(seed, value, op, name);
      a.has_seed = seed.has_value;
      a.seed = static_cast<std::uint64_t>(seed.value);
    },
    [](const void* attributes) {
      const auto& a = *static_cast<const RandomAttributes*>(attributes);
      return a.has_seed ? AttributeValue(static_cast<std::int64_t>(a.seed)) : AttributeValue();
    }};

constexpr AttributeField kSeedField = {"seed", false, 0, &kSeedType};

constexpr AttributeField kShape = field<&RandomAttributes::shape>("shape", true);
constexpr AttributeField kDType = field<&RandomAttributes::dtype>("dtype");
constexpr AttributeField kNormalFields[] = {kShape, field<&RandomAttributes::first>("mean"),
                                            field<&RandomAttributes::second>("stddev"), kDType, kSeedField};
constexpr AttributeField kUniformFields[] = {kShape, field<&RandomAttributes::first>("minval"),
                                             field<&RandomAttributes::second>("maxval").with_type(kNumberOrDefault),
                                             kDType, kSeedField};
// The upper end of a uniform draw is 1 if it is not given, but integers need one. NaN stands for "no upper end is
// given".
constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();
constexpr AttributeType kUniformAttributes = [] {
  AttributeType type = attribute_type<RandomAttributes, kUniformFields>;
  type.construct = [](void* attributes) { (new (attributes) RandomAttributes())->second = kNotGiven; };
  return type;
}();
constexpr const AttributeType& kNormalAttributes = attribute_type<RandomAttributes, kNormalFields>;

void infer_uniform(const Call& call, OutputSpecs& outputs) {
  const auto& a = call.attributes<RandomAttributes>();
  const bool integers = a.dtype == DType::kInt32 || a.dtype == DType::kInt64;
  CAPSTAN_CHECK(integers || is_floating(a.dtype), DTypeError, call.op.name, ": dtype ", a.dtype, " is not supported");
  if (integers) {
    CAPSTAN_CHECK(!std::isnan(a.second), ValueError, call.op.name, ": integers need maxval");
    CAPSTAN_CHECK(a.first == std::floor(a.first) && a.second == std::floor(a.second), ValueError, call.op.name,
                  ": minval ", a.first, " and maxval ", a.second, " are not integers");
    CAPSTAN_CHECK(a.first < a.second, ValueError, call.op.name, ": minval ", a.first, " is not below maxval ",
                  a.second);
    const double limit = a.dtype == DType::kInt32 ? 2147483648.0 : 9007199254740992.0;
    CAPSTAN_CHECK(a.first >= -limit && a.second <= limit, ValueError, call.op.name, ": minval ", a.first,
                  " and maxval ", a.second, " exceed the range of draws");
  }
  const Shape shape = result_shape(call.op.name, a.shape);
  outputs.add(a.dtype, shape);
}

void infer_normal(const Call& call, OutputSpecs& outputs) {
  const auto& a = call.attributes<RandomAttributes>();
  CAPSTAN_CHECK(is_floating(a.dtype), DTypeError, call.op.name, ": dtype ", a.dtype, " is not supported");
  const Shape shape = result_shape(call.op.name, a.shape);
  outputs.add(a.dtype, shape);
}

void run_uniform(const Call& call, std::span<Tensor> outputs) {
  const auto& a = call.attributes<RandomAttributes>();
  fill_uniform(a.key(), a.dtype, a.first, std::isnan(a.second) ? 1.0 : a.second, outputs[0].size(),
               mutable_raw_data(outputs[0]));
}

template <bool kTruncated>
void run_normal(const Call& call, std::span<Tensor> outputs) {
  const auto& a = call.attributes<RandomAttributes>();
  const auto fill = kTruncated ? fill_truncated_normal : fill_normal;
  fill(a.key(), a.dtype, a.first, a.second, outputs[0].size(), mutable_raw_data(outputs[0]));
}

}  // namespace

constinit const OpDef kRandomUniform = {
    .name = "random_uniform",
    .text = "Evenly distributed numbers in [minval, maxval).",
    .flags = kStateful | kNotDifferentiable,
    .inputs = "",
    .attributes = &kUniformAttributes,
    .infer = infer_uniform,
    .kernel = run_uniform,
};

constinit const OpDef kRandomNormal = {
    .name = "random_normal",
    .text = "Normally distributed numbers.",
    .flags = kStateful | kNotDifferentiable,
    .inputs = "",
    .attributes = &kNormalAttributes,
    .infer = infer_normal,
    .kernel = run_normal<false>,
};

constinit const OpDef kRandomTruncatedNormal = {
    .name = "random_truncated_normal",
    .text = "Normally distributed numbers within two standard deviations of the mean.",
    .flags = kStateful | kNotDifferentiable,
    .inputs = "",
    .attributes = &kNormalAttributes,
    .infer = infer_normal,
    .kernel = run_normal<true>,
};

namespace {

Tensor draw(const OpDef& op, const Shape& shape, double first, double second, DType dtype, Seed seed) {
  const RandomAttributes attributes{
      pack_lengths(op.name, shape), dtype, seed.has_value(), first, second, seed.value_or(0)};
  return apply(op, std::span<Operand>(), &attributes);
}

// A draw with the parameters 0 and 1, which the caller moves and scales: the gradient of a parameter is that of this.
Tensor unit(const OpDef& op, const Shape& shape, DType dtype, Seed seed) { return draw(op, shape, 0, 1, dtype, seed); }

Tensor fitted(std::string_view op, const Shape& shape, Tensor result) {
  CAPSTAN_CHECK(result.shape() == shape, ShapeError, op, ": the parameters would enlarge ", shape, " to ",
                result.shape());
  return result;
}

}  // namespace

namespace random {

Tensor uniform(const Shape& shape, double minval, double maxval, DType dtype, Seed seed) try {
  return draw(kRandomUniform, shape, minval, maxval, dtype, seed);
} catch (const Error&) {
  rethrow_as("random::uniform");
}
Tensor normal(const Shape& shape, double mean, double stddev, DType dtype, Seed seed) try {
  return draw(kRandomNormal, shape, mean, stddev, dtype, seed);
} catch (const Error&) {
  rethrow_as("random::normal");
}
Tensor truncated_normal(const Shape& shape, double mean, double stddev, DType dtype, Seed seed) try {
  return draw(kRandomTruncatedNormal, shape, mean, stddev, dtype, seed);
} catch (const Error&) {
  rethrow_as("random::truncated_normal");
}

Tensor uniform(const Shape& shape, Operand minval, Operand maxval, DType dtype, Seed seed) try {
  const Tensor low = to_tensor(minval, dtype);
  CAPSTAN_CHECK(is_floating(dtype), DTypeError, "random_uniform: dtype ", dtype, " is not supported");
  return fitted("random_uniform", shape,
                add(low, multiply(unit(kRandomUniform, shape, dtype, seed), subtract(maxval, low))));
} catch (const Error&) {
  rethrow_as("random::uniform");
}
Tensor normal(const Shape& shape, Operand mean, Operand stddev, DType dtype, Seed seed) try {
  return fitted("random_normal", shape, add(mean, multiply(unit(kRandomNormal, shape, dtype, seed), stddev)));
} catch (const Error&) {
  rethrow_as("random::normal");
}
Tensor truncated_normal(const Shape& shape, Operand mean, Operand stddev, DType dtype, Seed seed) try {
  return fitted("random_truncated_normal", shape,
                add(mean, multiply(unit(kRandomTruncatedNormal, shape, dtype, seed), stddev)));
} catch (const Error&) {
  rethrow_as("random::truncated_normal");
}

}  // namespace random

std::vector<std::int64_t> random_permutation(std::int64_t n, std::uint64_t seed) {
  CAPSTAN_CHECK(n >= 0, ValueError, "random_permutation: negative length ", n);
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  // Fisher and Yates: position i swaps with one of those up to it.
  for (std::int64_t i = n - 1; i > 0; --i) {
    const PhiloxBlock block = philox(seed, static_cast<std::uint64_t>(i));
    const std::uint64_t bits = std::uint64_t{block.words[1]} << 32 | block.words[0];
    const auto range = static_cast<std::uint64_t>(i) + 1;
    const auto j = static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * range) >> 64);
    std::swap(order[static_cast<std::size_t>(i)], order[j]);
  }
  return order;
}

CAPSTAN_OPS(random, &kRandomUniform, &kRandomNormal, &kRandomTruncatedNormal);

}  // namespace capstan
