// Draws that are functions of a pair of seeds, with the bits of TensorFlow's stateless functions; or of the state of a
// random::Generator.
#include <array>
#include <span>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/allocator.h"
#include "src/kernels/random/stateless.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/lengths.h"

namespace capstan {

namespace {

struct StatelessAttributes {
  Lengths shape;
  DType dtype = DType::kFloat32;
};

// Without a range: all integers.
struct IntegersAttributes {
  Lengths shape;
  std::int64_t minval = 0, maxval = 0;
  DType dtype = DType::kInt64;
};

// The shape of a draw. Axes of the seed before its last one are a batch of draws.
Shape shape_of_draw(const Call& call, const Lengths& lengths) {
  const TensorRef& seed = call.input(0);
  const Shape shape = seed.shape();
  CAPSTAN_CHECK(seed.dtype() == DType::kInt64 && shape.rank() > 0 && (shape[-1] == 2 || shape[-1] == 3), ShapeError,
                call.op.name, ": the seed must be two numbers of int64, or the three of a Generator's state",
                arguments({{"seed", seed}}));
  Shape all(std::vector<std::int64_t>(shape.begin(), shape.end() - 1));
  for (const std::int64_t length : result_shape(call.op.name, lengths)) all.push_back(length);
  return all;
}

void infer(const Call& call, OutputSpecs& outputs) {
  const auto& a = call.attributes<StatelessAttributes>();
  CAPSTAN_CHECK(is_floating(a.dtype), DTypeError, call.op.name, ": dtype ", a.dtype, " is not supported");
  outputs.add(a.dtype, shape_of_draw(call, a.shape));
}

void infer_integers(const Call& call, OutputSpecs& outputs) {
  const auto& a = call.attributes<IntegersAttributes>();
  CAPSTAN_CHECK(a.dtype == DType::kInt32 || a.dtype == DType::kInt64, DTypeError, call.op.name, ": dtype ", a.dtype,
                " is not supported");
  const bool is_all = a.minval == 0 && a.maxval == 0;
  CAPSTAN_CHECK(is_all || a.minval < a.maxval, ValueError, call.op.name, ": there is no number from ", a.minval,
                " up to below ", a.maxval);
  const auto fits = [&](std::int64_t n) { return a.dtype == DType::kInt64 || n == static_cast<std::int32_t>(n); };
  CAPSTAN_CHECK(is_all || (fits(a.minval) && fits(a.maxval - 1)), ValueError, call.op.name, ": numbers from ", a.minval,
                " up to below ", a.maxval, " do not fit ", a.dtype);
  outputs.add(a.dtype, shape_of_draw(call, a.shape));
}

// Calls draw(numbers of the seed, how many, place of the first, length) for each seed of the batch.
template <class Draw>
void for_each_seed(const TensorRef& seed, const Tensor& out, const Draw& draw) {
  const std::int64_t numbers = seed.shape()[-1], seeds = seed.size() / numbers;
  const std::int64_t count = seeds == 0 ? 0 : out.size() / seeds;
  auto* to = static_cast<std::byte*>(mutable_raw_data(out));
  for (std::int64_t i = 0; i < seeds; ++i) {
    const std::span state(seed.data<std::int64_t>() + i * numbers, static_cast<std::size_t>(numbers));
    draw(state, to + static_cast<std::size_t>(i * count) * size_of(out.dtype()), count);
  }
}

template <Stateless kDraw>
void run(const Call& call, std::span<Tensor> outputs) {
  for_each_seed(call.input(0), outputs[0], [&](std::span<const std::int64_t> state, void* to, std::int64_t count) {
    draw_stateless(kDraw, outputs[0].dtype(), state, count, to);
  });
}

constexpr OpDef float_op(std::string_view name, std::string_view text, Kernel kernel) {
  OpDef op;
  op.name = name;
  op.text = text;
  op.flags = kNotDifferentiable;
  op.inputs = "seed";
  op.attributes = &attribute_table<StatelessAttributes, "shape, dtype", 1>;
  op.infer = infer;
  op.kernel = kernel;
  op.batch = batch_leading;
  return op;
}

}  // namespace

constinit const OpDef kStatelessUniform = float_op(
    "stateless_uniform", "Evenly distributed numbers in [0, 1), a function of two seeds with TensorFlow's bits.",
    run<Stateless::kUniform>);
constinit const OpDef kStatelessNormal = float_op(
    "stateless_normal", "Standard normal numbers, a function of two seeds as in TensorFlow.", run<Stateless::kNormal>);
constinit const OpDef kStatelessTruncatedNormal =
    float_op("stateless_truncated_normal", "The same, without those of two deviations or more.",
             run<Stateless::kTruncatedNormal>);
constinit const OpDef kStatelessIntegers = {
    .name = "stateless_integers",
    .text = "Integers of [minval, maxval), or all of the dtype, a function of two seeds with TensorFlow's bits.",
    .flags = kNotDifferentiable,
    .inputs = "seed",
    .attributes = &attribute_table<IntegersAttributes, "shape, minval, maxval, dtype", 1>,
    .infer = infer_integers,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const auto& a = call.attributes<IntegersAttributes>();
          for_each_seed(call.input(0), outputs[0], [&](std::span<const std::int64_t> state, void* to, std::int64_t n) {
            draw_stateless_integers(a.dtype, state, a.minval, a.maxval, n, to);
          });
        },
    .batch = batch_leading,
};

namespace random {

namespace {

Tensor draw(const OpDef& op, const Shape& shape, const Seeds& seeds, double scale, double offset, DType dtype) {
  const StatelessAttributes attributes{pack_lengths(op.name, shape), dtype};
  Tensor unit = apply(op, seeds.tensor(), &attributes);
  if (scale == 1 && offset == 0) return unit;
  return std::move(unit) * scale + offset;
}

}  // namespace

Seeds::Seeds(std::int64_t first, std::int64_t second) : tensor_(constant({first, second}, int64)) {}
Seeds::Seeds(const std::array<std::int64_t, 2>& seeds) : Seeds(seeds[0], seeds[1]) {}
Seeds::Seeds(const Tensor& seeds) : tensor_(seeds.dtype() == int32 ? cast(seeds, int64) : seeds) {}

Tensor stateless_uniform(const Shape& shape, const Seeds& seed, double minval, double maxval, DType dtype) try {
  return draw(kStatelessUniform, shape, seed, maxval - minval, minval, dtype);
} catch (const Error&) {
  rethrow_as("random::stateless_uniform");
}

Tensor stateless_normal(const Shape& shape, const Seeds& seed, double mean, double stddev, DType dtype) try {
  return draw(kStatelessNormal, shape, seed, stddev, mean, dtype);
} catch (const Error&) {
  rethrow_as("random::stateless_normal");
}

Tensor stateless_truncated_normal(const Shape& shape, const Seeds& seed, double mean, double stddev, DType dtype) try {
  return draw(kStatelessTruncatedNormal, shape, seed, stddev, mean, dtype);
} catch (const Error&) {
  rethrow_as("random::stateless_truncated_normal");
}

Tensor stateless_integers(const Shape& shape, const Seeds& seed, std::int64_t minval, std::int64_t maxval,
                          DType dtype) try {
  CAPSTAN_CHECK(minval < maxval, ValueError, "stateless_integers: there is no number from ", minval, " up to below ",
                maxval);
  const IntegersAttributes attributes{pack_lengths("stateless_integers", shape), minval, maxval, dtype};
  return apply(kStatelessIntegers, seed.tensor(), &attributes);
} catch (const Error&) {
  rethrow_as("random::stateless_integers");
}

Tensor stateless_integers(const Shape& shape, const Seeds& seed, DType dtype) try {
  const IntegersAttributes attributes{pack_lengths("stateless_integers", shape), 0, 0, dtype};
  return apply(kStatelessIntegers, seed.tensor(), &attributes);
} catch (const Error&) {
  rethrow_as("random::stateless_integers");
}

}  // namespace random

CAPSTAN_OPS(random_stateless, &kStatelessUniform, &kStatelessNormal, &kStatelessTruncatedNormal, &kStatelessIntegers);

}  // namespace capstan
