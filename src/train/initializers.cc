// Initializers.
#include "capstan/initializers.h"

#include <algorithm>
#include <cmath>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "src/core/check.h"
#include "src/train/known_names.h"

namespace capstan {

using namespace initializers;

namespace {

using Make = Initializer (*)();

constexpr detail::Named<Make> kNamed[] = {
    {"zeros", [] { return Initializer(Zeros()); }, "zero", "Zeros"},
    {"ones", [] { return Initializer(Ones()); }, "one", "Ones"},
    {"glorot_uniform", [] { return Initializer(GlorotUniform()); }, "GlorotUniform"},
    {"glorot_normal", [] { return Initializer(GlorotNormal()); }, "GlorotNormal"},
    {"he_uniform", [] { return Initializer(HeUniform()); }, "HeUniform"},
    {"he_normal", [] { return Initializer(HeNormal()); }, "HeNormal"},
    {"lecun_uniform", [] { return Initializer(LecunUniform()); }, "LecunUniform"},
    {"lecun_normal", [] { return Initializer(LecunNormal()); }, "LecunNormal"},
    {"random_uniform", [] { return Initializer(RandomUniform()); }, "uniform", "RandomUniform"},
    {"random_normal", [] { return Initializer(RandomNormal()); }, "normal", "RandomNormal"},
    {"truncated_normal", [] { return Initializer(TruncatedNormal()); }, "TruncatedNormal"},
    {"identity", [] { return Initializer(Identity()); }, "Identity"},
};

}  // namespace

Initializer::Initializer(std::string_view name) {
  *this = detail::find_named<Make>("initializer", name, kNamed,
                                   "pass a function of a shape and a dtype for one of your own")();
}

namespace {

std::uint64_t seed_or_next(std::optional<std::uint64_t> seed) { return seed ? *seed : next_seed(); }

struct Fans {
  double in, out;
};

Fans fans_of(const Shape& shape) {
  const int rank = shape.rank();
  if (rank == 0) return {1, 1};
  if (rank == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double receptive_field = 1;
  for (int i = 0; i < rank - 2; ++i) receptive_field *= static_cast<double>(shape[i]);
  return {receptive_field * static_cast<double>(shape[-2]), receptive_field * static_cast<double>(shape[-1])};
}

// The standard deviation of a unit normal cut at two.
constexpr double kTruncatedDeviation = 0.87962566103423978;

}  // namespace

Zeros::Zeros() {
  function_ = [](const Shape& shape, DType dtype) { return zeros(shape, dtype); };
}

Ones::Ones() {
  function_ = [](const Shape& shape, DType dtype) { return ones(shape, dtype); };
}

Constant::Constant(double value) {
  function_ = [value](const Shape& shape, DType dtype) { return zeros(shape, dtype) + value; };
}

Identity::Identity(double gain) {
  function_ = [gain](const Shape& shape, DType dtype) {
    CAPSTAN_CHECK(shape.rank() == 2, ShapeError, "initializer: identity needs a shape of rank 2, not ", shape);
    return eye(shape[0], shape[1], dtype) * gain;
  };
}

RandomNormal::RandomNormal(double mean, double stddev, std::optional<std::uint64_t> seed) {
  function_ = [=, key = seed_or_next(seed)](const Shape& shape, DType dtype) {
    return random::normal(shape, mean, stddev, dtype, key);
  };
}

TruncatedNormal::TruncatedNormal(double mean, double stddev, std::optional<std::uint64_t> seed) {
  function_ = [=, key = seed_or_next(seed)](const Shape& shape, DType dtype) {
    return random::truncated_normal(shape, mean, stddev, dtype, key);
  };
}

RandomUniform::RandomUniform(double minval, double maxval, std::optional<std::uint64_t> seed) {
  function_ = [=, key = seed_or_next(seed)](const Shape& shape, DType dtype) {
    return random::uniform(shape, minval, maxval, dtype, key);
  };
}

VarianceScaling::VarianceScaling(const VarianceScalingOptions& options) {
  CAPSTAN_CHECK(options.scale > 0, ValueError, "initializer: scale must be positive, not ", options.scale);
  const std::string& mode = options.mode;
  CAPSTAN_CHECK(mode == "fan_in" || mode == "fan_out" || mode == "fan_avg", ValueError,
                "initializer: mode must be \"fan_in\", \"fan_out\" or \"fan_avg\", not \"", mode, "\"");
  const std::string& distribution = options.distribution;
  CAPSTAN_CHECK(distribution == "truncated_normal" || distribution == "untruncated_normal" || distribution == "uniform",
                ValueError,
                "initializer: distribution must be \"truncated_normal\", \"untruncated_normal\" or \"uniform\", not \"",
                distribution, "\"");
  function_ = [scale = options.scale, mode, distribution, key = seed_or_next(options.seed)](const Shape& shape,
                                                                                            DType dtype) {
    const Fans fans = fans_of(shape);
    const double fan = mode == "fan_in" ? fans.in : mode == "fan_out" ? fans.out : (fans.in + fans.out) / 2;
    const double variance = scale / std::max(1.0, fan);
    if (distribution == "uniform") {
      const double limit = std::sqrt(3 * variance);
      return random::uniform(shape, -limit, limit, dtype, key);
    }
    if (distribution == "untruncated_normal") return random::normal(shape, 0, std::sqrt(variance), dtype, key);
    return random::truncated_normal(shape, 0, std::sqrt(variance) / kTruncatedDeviation, dtype, key);
  };
}

}  // namespace capstan
