// Initializers: those that draw nothing, and those that draw each element by itself.
#include "capstan/initializers.h"

#include <algorithm>
#include <cmath>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "src/core/check.h"
#include "src/train/classes.h"

namespace capstan {

using initializers::VarianceScalingOptions;

namespace {

class FunctionInitializer final : public detail::OfFunction<InitializerBody> {
 public:
  explicit FunctionInitializer(Initializer::Function function) : function_(std::move(function)) {}
  Tensor value(const Shape& shape, DType dtype) const override { return function_(shape, dtype); }

 private:
  Initializer::Function function_;
};

std::shared_ptr<const InitializerBody> as_body(std::shared_ptr<Configurable> object) {
  return std::static_pointer_cast<InitializerBody>(std::move(object));
}

}  // namespace

// --- The handle ---

Initializer::Initializer(std::string_view name) : body_(as_body(deserialize("initializer", std::string(name)))) {}

Initializer::Initializer(std::shared_ptr<const InitializerBody> body) : body_(std::move(body)) {
  CAPSTAN_CHECK(body_ != nullptr, ValueError, "initializer: there is no body");
}

std::shared_ptr<const InitializerBody> Initializer::of_function(Function function) {
  CAPSTAN_CHECK(function, ValueError, "initializer: the function is empty");
  return std::make_shared<FunctionInitializer>(std::move(function));
}

Initializer initializers::get(const AttributeValue& value) {
  return Initializer(as_body(deserialize("initializer", value)));
}

void set_field(Initializer& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  field = Initializer(as_body(detail::object_of_option("initializer", value, owner, name)));
}

AttributeValue get_field(const Initializer& field) { return serialize(*field.body()); }

// --- Those that draw nothing ---

namespace {

struct NoOptions {
  static std::span<const OptionField> fields() { return {}; }
};

struct ZerosBody final : Configured<ZerosBody, InitializerBody, NoOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "Zeros", kAlias = "zero", kText = "Zeros everywhere.";
  Tensor value(const Shape& shape, DType dtype) const override { return zeros(shape, dtype); }
};

struct OnesBody final : Configured<OnesBody, InitializerBody, NoOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "Ones", kAlias = "one", kText = "Ones everywhere.";
  Tensor value(const Shape& shape, DType dtype) const override { return ones(shape, dtype); }
};

struct ConstantOptions {
  double value = 0;
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&ConstantOptions::value>("value")};
    return all;
  }
};

struct ConstantBody final : Configured<ConstantBody, InitializerBody, ConstantOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "Constant", kText = "One value everywhere.";
  Tensor value(const Shape& shape, DType dtype) const override { return zeros(shape, dtype) + options.value; }
};

struct IdentityOptions {
  double gain = 1;
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&IdentityOptions::gain>("gain")};
    return all;
  }
};

struct IdentityBody final : Configured<IdentityBody, InitializerBody, IdentityOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "Identity", kAlias = "IdentityInitializer";
  static constexpr std::string_view kText = "`gain` on the diagonal of a matrix.";
  Tensor value(const Shape& shape, DType dtype) const override {
    CAPSTAN_CHECK(shape.rank() == 2, ShapeError, "initializer: identity needs a shape of rank 2, not ", shape);
    return eye(shape[0], shape[1], dtype) * options.gain;
  }
};

// --- Those that draw ---

// The seed is taken when the object is made, so that an object always gives the same values.
std::uint64_t seed_or_next(std::optional<std::uint64_t> seed) { return seed ? *seed : next_seed(); }

template <class Derived, class Options>
struct Drawing : Configured<Derived, InitializerBody, Options> {
  explicit Drawing(const Options& given)
      : Configured<Derived, InitializerBody, Options>(given), key(seed_or_next(given.seed)) {}
  const std::uint64_t key;
};

struct NormalOptions {
  double mean = 0;
  double stddev = 0.05;
  std::optional<std::uint64_t> seed = {};
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&NormalOptions::seed>("seed"), option<&NormalOptions::mean>("mean"),
                                          option<&NormalOptions::stddev>("stddev")};
    return all;
  }
};

struct RandomNormalBody final : Drawing<RandomNormalBody, NormalOptions> {
  using Drawing::Drawing;
  static constexpr std::string_view kName = "RandomNormal", kAlias = "normal";
  static constexpr std::string_view kText = "Normal with the given mean and standard deviation.";
  Tensor value(const Shape& shape, DType dtype) const override {
    return random::normal(shape, options.mean, options.stddev, dtype, key);
  }
};

struct TruncatedNormalBody final : Drawing<TruncatedNormalBody, NormalOptions> {
  using Drawing::Drawing;
  static constexpr std::string_view kName = "TruncatedNormal";
  static constexpr std::string_view kText = "Normal, redrawn beyond two standard deviations.";
  Tensor value(const Shape& shape, DType dtype) const override {
    return random::truncated_normal(shape, options.mean, options.stddev, dtype, key);
  }
};

struct UniformOptions {
  double minval = -0.05;
  double maxval = 0.05;
  std::optional<std::uint64_t> seed = {};
  static std::span<const OptionField> fields() {
    using O = UniformOptions;
    static constexpr OptionField all[] = {option<&O::seed>("seed"), option<&O::minval>("minval"),
                                          option<&O::maxval>("maxval")};
    return all;
  }
};

struct RandomUniformBody final : Drawing<RandomUniformBody, UniformOptions> {
  using Drawing::Drawing;
  static constexpr std::string_view kName = "RandomUniform", kAlias = "uniform";
  static constexpr std::string_view kText = "Uniform in [minval, maxval).";
  Tensor value(const Shape& shape, DType dtype) const override {
    return random::uniform(shape, options.minval, options.maxval, dtype, key);
  }
};

// --- Those whose variance follows from the shape ---

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

Tensor draw_scaled(const Shape& shape, DType dtype, double scale, std::string_view mode, std::string_view distribution,
                   std::uint64_t key) {
  const Fans fans = fans_of(shape);
  const double fan = mode == "fan_in" ? fans.in : mode == "fan_out" ? fans.out : (fans.in + fans.out) / 2;
  const double variance = scale / std::max(1.0, fan);
  if (distribution == "uniform") {
    const double limit = std::sqrt(3 * variance);
    return random::uniform(shape, -limit, limit, dtype, key);
  }
  if (distribution == "untruncated_normal") return random::normal(shape, 0, std::sqrt(variance), dtype, key);
  return random::truncated_normal(shape, 0, std::sqrt(variance) / kTruncatedDeviation, dtype, key);
}

struct VarianceScalingBody final : Drawing<VarianceScalingBody, VarianceScalingOptions> {
  using Drawing::Drawing;
  static constexpr std::string_view kName = "VarianceScaling";
  static constexpr std::string_view kText = "Draws with the variance scale / fan.";
  Tensor value(const Shape& shape, DType dtype) const override {
    return draw_scaled(shape, dtype, options.scale, options.mode, options.distribution, key);
  }
};

struct SeedOptions {
  std::optional<std::uint64_t> seed = {};
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&SeedOptions::seed>("seed")};
    return all;
  }
};

// VarianceScaling with fixed options.
template <class Derived>
struct Scaled : Drawing<Derived, SeedOptions> {
  using Drawing<Derived, SeedOptions>::Drawing;
  Tensor value(const Shape& shape, DType dtype) const final {
    return draw_scaled(shape, dtype, Derived::kScale, Derived::kMode, Derived::kDistribution, this->key);
  }
};

struct GlorotUniformBody final : Scaled<GlorotUniformBody> {
  using Scaled::Scaled;
  static constexpr std::string_view kName = "GlorotUniform", kMode = "fan_avg", kDistribution = "uniform";
  static constexpr std::string_view kText = "Uniform within sqrt(6 / (fan in + fan out)).";
  static constexpr double kScale = 1;
};

struct GlorotNormalBody final : Scaled<GlorotNormalBody> {
  using Scaled::Scaled;
  static constexpr std::string_view kName = "GlorotNormal", kMode = "fan_avg", kDistribution = "truncated_normal";
  static constexpr std::string_view kText = "Truncated normal of variance 2 / (fan in + fan out).";
  static constexpr double kScale = 1;
};

struct HeUniformBody final : Scaled<HeUniformBody> {
  using Scaled::Scaled;
  static constexpr std::string_view kName = "HeUniform", kMode = "fan_in", kDistribution = "uniform";
  static constexpr std::string_view kText = "Uniform within sqrt(6 / fan in).";
  static constexpr double kScale = 2;
};

struct HeNormalBody final : Scaled<HeNormalBody> {
  using Scaled::Scaled;
  static constexpr std::string_view kName = "HeNormal", kMode = "fan_in", kDistribution = "truncated_normal";
  static constexpr std::string_view kText = "Truncated normal of variance 2 / fan in.";
  static constexpr double kScale = 2;
};

struct LecunUniformBody final : Scaled<LecunUniformBody> {
  using Scaled::Scaled;
  static constexpr std::string_view kName = "LecunUniform", kMode = "fan_in", kDistribution = "uniform";
  static constexpr std::string_view kText = "Uniform within sqrt(3 / fan in).";
  static constexpr double kScale = 1;
};

struct LecunNormalBody final : Scaled<LecunNormalBody> {
  using Scaled::Scaled;
  static constexpr std::string_view kName = "LecunNormal", kMode = "fan_in", kDistribution = "truncated_normal";
  static constexpr std::string_view kText = "Truncated normal of variance 1 / fan in.";
  static constexpr double kScale = 1;
};

}  // namespace

namespace initializers {

std::span<const OptionField> VarianceScalingOptions::fields() {
  using O = VarianceScalingOptions;
  static constexpr std::string_view modes[] = {"fan_in", "fan_out", "fan_avg"};
  static constexpr std::string_view distributions[] = {"truncated_normal", "untruncated_normal", "uniform"};
  static constexpr OptionField all[] = {option<&O::seed>("seed"), option<&O::scale>("scale").above(0),
                                        option<&O::mode>("mode").one_of(modes),
                                        option<&O::distribution>("distribution").one_of(distributions)};
  return all;
}

Zeros::Zeros() : Initializer(std::make_shared<ZerosBody>()) {}
Ones::Ones() : Initializer(std::make_shared<OnesBody>()) {}
Constant::Constant(double value) : Initializer(std::make_shared<ConstantBody>(ConstantOptions{value})) {}
Identity::Identity(double gain) : Initializer(std::make_shared<IdentityBody>(IdentityOptions{gain})) {}
RandomNormal::RandomNormal(double mean, double stddev, std::optional<std::uint64_t> seed)
    : Initializer(std::make_shared<RandomNormalBody>(NormalOptions{mean, stddev, seed})) {}
TruncatedNormal::TruncatedNormal(double mean, double stddev, std::optional<std::uint64_t> seed)
    : Initializer(std::make_shared<TruncatedNormalBody>(NormalOptions{mean, stddev, seed})) {}
RandomUniform::RandomUniform(double minval, double maxval, std::optional<std::uint64_t> seed)
    : Initializer(std::make_shared<RandomUniformBody>(UniformOptions{minval, maxval, seed})) {}
VarianceScaling::VarianceScaling(const VarianceScalingOptions& options)
    : Initializer(std::make_shared<VarianceScalingBody>(options)) {}
GlorotUniform::GlorotUniform(std::optional<std::uint64_t> seed)
    : Initializer(std::make_shared<GlorotUniformBody>(SeedOptions{seed})) {}
GlorotNormal::GlorotNormal(std::optional<std::uint64_t> seed)
    : Initializer(std::make_shared<GlorotNormalBody>(SeedOptions{seed})) {}
HeUniform::HeUniform(std::optional<std::uint64_t> seed)
    : Initializer(std::make_shared<HeUniformBody>(SeedOptions{seed})) {}
HeNormal::HeNormal(std::optional<std::uint64_t> seed)
    : Initializer(std::make_shared<HeNormalBody>(SeedOptions{seed})) {}
LecunUniform::LecunUniform(std::optional<std::uint64_t> seed)
    : Initializer(std::make_shared<LecunUniformBody>(SeedOptions{seed})) {}
LecunNormal::LecunNormal(std::optional<std::uint64_t> seed)
    : Initializer(std::make_shared<LecunNormalBody>(SeedOptions{seed})) {}

}  // namespace initializers

std::vector<const ClassInfo*> detail::initializer_classes() {
  return {&ZerosBody::info(),         &OnesBody::info(),
          &ConstantBody::info(),      &IdentityBody::info(),
          &RandomNormalBody::info(),  &TruncatedNormalBody::info(),
          &RandomUniformBody::info(), &VarianceScalingBody::info(),
          &GlorotUniformBody::info(), &GlorotNormalBody::info(),
          &HeUniformBody::info(),     &HeNormalBody::info(),
          &LecunUniformBody::info(),  &LecunNormalBody::info()};
}

}  // namespace capstan
