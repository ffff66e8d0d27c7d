// Draws whose parameters are tensors: gamma, beta, exponential, Laplace, Poisson, binomial.
//
// Element i of a draw reads the stream of its key at position i (src/kernels/random/draws.h). The shape of a draw
// is before that of its parameters, so element i has the parameters at i modulo their number.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "capstan/ops/special.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/thread_pool.h"
#include "src/kernels/joins.h"
#include "src/kernels/random/draws.h"
#include "src/kernels/random/random_draws.h"
#include "src/kernels/with_type.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/lengths.h"
#include "src/ops/seed.h"

namespace capstan {

namespace {

struct DrawAttributes {
  Lengths shape;
  DType dtype = DType::kFloat32;
  OptionalSeed seed;
};
constexpr AttributeField kFields[] = {field<&DrawAttributes::shape>("shape", true),
                                      field<&DrawAttributes::seed>("seed")};
constexpr const AttributeType& kTyped = attribute_table<DrawAttributes, "shape, dtype, seed", 1>;

const DrawAttributes& attributes_of(const void* attributes) { return *static_cast<const DrawAttributes*>(attributes); }

// `front` followed by the lengths of `parameters`. Throws ShapeError if there are too many.
Shape joined(std::string_view op, const Lengths& front, const Shape& parameters) {
  Shape shape = result_shape(op, front);
  CAPSTAN_CHECK(shape.rank() + parameters.rank() <= kMaxRank, ShapeError, op, ": the shape ", shape,
                " before parameters of shape ", parameters, " has more than ", kMaxRank, " axes");
  for (std::int64_t length : parameters) shape.push_back(length);
  return shape;
}

// Element i of a floating tensor.
double number_at(const TensorRef& x, std::int64_t i) {
  if (x.dtype() == DType::kFloat32) return static_cast<double>(x.data<float>()[i]);
  if (x.dtype() == DType::kFloat64) return x.data<double>()[i];
  return static_cast<double>(static_cast<float>(x.data<BFloat16>()[i]));
}

void check_floating(std::string_view op, std::string_view name, const TensorRef& x) {
  CAPSTAN_CHECK(is_floating(x.dtype()), DTypeError, op, ": dtype ", x.dtype(), " is not supported",
                arguments({{name, x}}));
}

// Writes value(i) to every element, in parallel. Integers take the nearest number that they have.
template <class Value>
void fill_draws(const Tensor& out, const Value& value) {
  const std::int64_t n = out.size();
  constexpr std::int64_t kChunk = 1024;
  const auto run = [&](const auto& write) {
    parallel_for((n + kChunk - 1) / kChunk, [&](std::int64_t task) {
      for (std::int64_t i = task * kChunk; i < std::min(n, (task + 1) * kChunk); ++i) write(i, value(i));
    });
  };
  if (out.dtype() == DType::kInt32) {
    run([&](std::int64_t i, double x) {
      mutable_data<std::int32_t>(out)[i] = static_cast<std::int32_t>(std::min(x, 2147483647.0));
    });
  } else if (out.dtype() == DType::kInt64) {
    run([&](std::int64_t i, double x) {
      mutable_data<std::int64_t>(out)[i] =
          x < 9.2e18 ? static_cast<std::int64_t>(x) : std::numeric_limits<std::int64_t>::max();
    });
  } else {
    with_floating_type(out.dtype(), [&]<class T>(T) {
      run([to = mutable_data<T>(out)](std::int64_t i, double x) { to[i] = T(static_cast<Wide<T>>(x)); });
    });
  }
}

// Parameters of a test: they are not varied, because a draw by rejection jumps where the derivative of the distribution
// does not. random_test.cc has the gradients.

}  // namespace

// --- Gamma ---

constinit const OpDef kRandomGamma = {
    .name = "random_gamma",
    .text = "Gamma distributed numbers with the concentration alpha.",
    .flags = kStateful,
    .inputs = "alpha",
    .attributes = &attribute_type<DrawAttributes, kFields>,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          const TensorRef& alpha = call.input(0);
          check_floating(call.op.name, "alpha", alpha);
          outputs.add(alpha.dtype(), joined(call.op.name, call.attributes<DrawAttributes>().shape, alpha.shape()));
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const TensorRef& alpha = call.input(0);
          const std::uint64_t key = call.attributes<DrawAttributes>().seed.key();
          // A draw of 0 would have the density infinity or 0; the smallest normal number stands for it.
          const double smallest = alpha.dtype() == DType::kFloat64 ? std::numeric_limits<double>::min()
                                                                   : double{std::numeric_limits<float>::min()};
          const std::int64_t parameters = alpha.size();
          fill_draws(outputs[0], [&](std::int64_t i) {
            const double x =
                std::exp(draw_log_gamma(key, static_cast<std::uint64_t>(i), number_at(alpha, i % parameters)));
            return x < smallest ? smallest : x;
          });
        },
    .saves = {.inputs = 1, .outputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = call.cotangent() * random_gamma_grad(call.input(0), call.output());
        },
};

namespace {

Tensor draw_gamma(const Lengths& shape, Operand alpha, const OptionalSeed& seed) {
  const DrawAttributes attributes{.shape = shape, .seed = seed};
  return apply(kRandomGamma, alpha, &attributes);
}

// Operands of two parameters as tensors of one floating dtype and one shape.
struct Parameters {
  Tensor first;
  Tensor second;
};
Parameters parameters_of(std::string_view op, Operand a, Operand b) {
  const bool take_second = a.is_literal() && !b.is_literal();
  Tensor first = take_second ? Tensor() : a.is_literal() ? to_tensor(a, floatx()) : to_tensor(a);
  Tensor second = b.is_literal() ? to_tensor(b, first.dtype()) : to_tensor(b);
  if (take_second) first = to_tensor(a, second.dtype());
  CAPSTAN_CHECK(is_floating(first.dtype()), DTypeError, op, ": dtype ", first.dtype(), " is not supported");
  CAPSTAN_CHECK(first.dtype() == second.dtype(), DTypeError, op, ": dtypes differ, ", first.dtype(), " and ",
                second.dtype());
  const Shape shape = broadcast_shapes(op, first.shape(), second.shape());
  if (first.shape() != shape) first = broadcast_to(first, shape);
  if (second.shape() != shape) second = broadcast_to(second, shape);
  return {first, second};
}

// A second key that follows from the first.
OptionalSeed another(const OptionalSeed& seed) {
  return seed.has_value ? OptionalSeed(mix_key(seed.value + 0x9E3779B97F4A7C15u)) : seed;
}

// Evenly distributed in (0, 1], of a shape before that of the parameters.
Tensor draw_fraction(const Lengths& shape, const Tensor& parameters, const OptionalSeed& seed, std::string_view op) {
  const Shape full = joined(op, shape, parameters.shape());
  const Tensor u = seed.has_value ? random::uniform(full, 0, 1, parameters.dtype(), seed.value)
                                  : random::uniform(full, 0, 1, parameters.dtype());
  return 1.0 - u;
}

}  // namespace

constinit const OpDef kRandomBeta =
    composite<&random::beta, "shape, a, b, seed", NoValue{}>("random_beta", "Beta distributed numbers.");

constinit const OpDef kRandomExponential = composite<&random::exponential, "shape, rate, seed", NoValue{}>(
    "random_exponential", "Exponentially distributed numbers.");

constinit const OpDef kRandomLaplace = composite<&random::laplace, "shape, loc, scale, seed", NoValue{}>(
    "random_laplace", "Numbers exponentially distributed to both sides of a place.");

// --- Counts ---

namespace {

void check_count_dtype(std::string_view op, DType dtype) {
  CAPSTAN_CHECK(is_floating(dtype) || dtype == DType::kInt32 || dtype == DType::kInt64, DTypeError, op, ": dtype ",
                dtype, " is not supported");
}

void infer_poisson(const Call& call, OutputSpecs& outputs) {
  const TensorRef& lam = call.input(0);
  const auto& a = call.attributes<DrawAttributes>();
  check_floating(call.op.name, "lam", lam);
  check_count_dtype(call.op.name, a.dtype);
  outputs.add(a.dtype, joined(call.op.name, a.shape, lam.shape()));
}

void check_means(const Call& call) {
  const TensorRef& lam = call.input(0);
  for (std::int64_t i = 0; i < lam.size(); ++i) {
    const double mean = number_at(lam, i);
    CAPSTAN_CHECK(mean >= 0 && std::isfinite(mean), ValueError, call.op.name, ": lam ", mean, " is not a mean");
  }
}

void infer_binomial(const Call& call, OutputSpecs& outputs) {
  const TensorRef& counts = call.input(0);
  const TensorRef& probs = call.input(1);
  const auto& a = call.attributes<DrawAttributes>();
  check_floating(call.op.name, "counts", counts);
  check_count_dtype(call.op.name, a.dtype);
  const Shape shape = joined(call.op.name, a.shape, {});
  CAPSTAN_CHECK(counts.shape() == shape && probs.shape() == shape, ShapeError, call.op.name, ": parameters of shape ",
                counts.shape(), " and ", probs.shape(), " do not fit the shape ", shape);
  outputs.add(a.dtype, shape);
}

void check_trials(const Call& call) {
  for (std::int64_t i = 0; i < call.input(0).size(); ++i) {
    const double n = number_at(call.input(0), i);
    const double p = number_at(call.input(1), i);
    CAPSTAN_CHECK(n >= 0 && n <= 0x1p53 && n == std::floor(n), ValueError, call.op.name, ": counts ", n,
                  " is not a number of trials");
    CAPSTAN_CHECK(p >= 0 && p <= 1, ValueError, call.op.name, ": probs ", p, " is not a probability");
  }
}

Tensor draw_binomials(const Lengths& lengths, Operand counts, Operand probs, DType dtype, const OptionalSeed& seed);

}  // namespace

constinit const OpDef kRandomPoisson = {
    .name = "random_poisson",
    .text = "Poisson distributed numbers with the mean lam.",
    .flags = kStateful | kNotDifferentiable,
    .inputs = "lam",
    .attributes = &kTyped,
    .infer = infer_poisson,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const TensorRef& lam = call.input(0);
          const std::uint64_t key = call.attributes<DrawAttributes>().seed.key();
          const std::int64_t parameters = lam.size();
          check_means(call);
          fill_draws(outputs[0], [&](std::int64_t i) {
            return draw_poisson(key, static_cast<std::uint64_t>(i), number_at(lam, i % parameters));
          });
        },
};

constinit const OpDef kRandomBinomial = {
    .name = "random_binomial",
    .text = "How many of a number of trials succeed.",
    .flags = kStateful | kNotDifferentiable,
    .inputs = "counts, probs",
    .attributes = &kTyped,
    .infer = infer_binomial,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const TensorRef& counts = call.input(0);
          const TensorRef& probs = call.input(1);
          const std::uint64_t key = call.attributes<DrawAttributes>().seed.key();
          check_trials(call);
          fill_draws(outputs[0], [&](std::int64_t i) {
            return draw_binomial(key, static_cast<std::uint64_t>(i), number_at(counts, i), number_at(probs, i));
          });
        },
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const DrawAttributes& a = attributes_of(attributes);
          outputs.push_back(draw_binomials(a.shape, inputs[0], inputs[1], a.dtype, a.seed));
        },
};

namespace {

Tensor draw_binomials(const Lengths& lengths, Operand counts, Operand probs, DType dtype, const OptionalSeed& seed) {
  const Parameters p = parameters_of("random_binomial", counts, probs);
  const DrawAttributes attributes{lengths, dtype, seed};
  const Shape shape = lengths.shape();
  return with_errors_of("random_binomial", [&] {
    return apply(kRandomBinomial, broadcast_to(p.first, shape), broadcast_to(p.second, shape), &attributes);
  });
}

}  // namespace

namespace random {

Tensor gamma(const Shape& shape, Operand alpha, Operand beta, Seed seed) try {
  const Lengths lengths = pack_lengths("random_gamma", shape);
  const Parameters p = parameters_of("random_gamma", alpha, beta);
  return draw_gamma(lengths, p.first, seed) / p.second;
} catch (const Error&) {
  rethrow_as("random::gamma");
}
Tensor beta(const Shape& shape, Operand a, Operand b, Seed seed) try {
  const Lengths lengths = pack_lengths("random_beta", shape);
  const Parameters p = parameters_of("random_beta", a, b);
  // In float64, where gamma draws of small concentrations do not underflow.
  const Tensor x = draw_gamma(lengths, cast(p.first, float64), seed);
  const Tensor y = draw_gamma(lengths, cast(p.second, float64), another(seed));
  return cast(x / (x + y), p.first.dtype());
} catch (const Error&) {
  rethrow_as("random::beta");
}
Tensor exponential(const Shape& shape, Operand rate, Seed seed) try {
  const Lengths lengths = pack_lengths("random_exponential", shape);
  const Tensor r = rate.is_literal() ? to_tensor(rate, floatx()) : to_tensor(rate);
  CAPSTAN_CHECK(is_floating(r.dtype()), DTypeError, "random_exponential: dtype ", r.dtype(), " is not supported");
  return -log(draw_fraction(lengths, r, seed, "random_exponential")) / r;
} catch (const Error&) {
  rethrow_as("random::exponential");
}
Tensor laplace(const Shape& shape, Operand loc, Operand scale, Seed seed) try {
  const Lengths lengths = pack_lengths("random_laplace", shape);
  const Parameters p = parameters_of("random_laplace", loc, scale);
  // The difference of two exponential draws.
  const Tensor right = log(draw_fraction(lengths, p.first, seed, "random_laplace"));
  const Tensor left = log(draw_fraction(lengths, p.first, another(seed), "random_laplace"));
  return p.first + p.second * (left - right);
} catch (const Error&) {
  rethrow_as("random::laplace");
}
Tensor poisson(const Shape& shape, Operand lam, DType dtype, Seed seed) try {
  const DrawAttributes attributes{pack_lengths("random_poisson", shape), dtype, seed};
  if (lam.is_literal()) return apply(kRandomPoisson, to_tensor(lam, floatx()), &attributes);
  return apply(kRandomPoisson, lam, &attributes);
} catch (const Error&) {
  rethrow_as("random::poisson");
}
Tensor binomial(const Shape& shape, Operand counts, Operand probs, DType dtype, Seed seed) try {
  return draw_binomials(pack_lengths("random_binomial", shape), counts, probs, dtype, seed);
} catch (const Error&) {
  rethrow_as("random::binomial");
}

}  // namespace random

CAPSTAN_OPS(random_distributions, &kRandomGamma, &kRandomBeta, &kRandomExponential, &kRandomLaplace, &kRandomPoisson,
            &kRandomBinomial);

}  // namespace capstan
