// Initializers whose variance follows from the shape: VarianceScaling, and the classes that fix its options.
#include <algorithm>
#include <cmath>

#include "capstan/initializers.h"
#include "src/core/check.h"
#include "src/train/classes.h"
#include "src/train/drawing.h"

namespace capstan {

using initializers::FanOptions;
using initializers::VarianceScalingOptions;

namespace {

struct Fans {
  double in, out;
};

double product_over(const Shape& shape, const std::vector<int>& axes) {
  double product = 1;
  for (const int axis : axes) product *= static_cast<double>(shape[axis]);
  return product;
}

// A kernel has its inputs and outputs on the last two axes; the others are its receptive field.
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

// What all of them are: options, and how much of which distribution is drawn.
struct Drawn {
  const Shape& shape;
  DType dtype;
  double scale;
  std::string_view mode, distribution;
  const detail::Draws& draws;
};

template <class Options>
Tensor draw(const Options& options, const Drawn& d) {
  const bool has_axes = options.input_axes && options.output_axes;
  const Fans fans = has_axes
                        ? Fans{product_over(d.shape, *options.input_axes), product_over(d.shape, *options.output_axes)}
                        : fans_of(d.shape);
  const double fan = d.mode == "fan_in" ? fans.in : d.mode == "fan_out" ? fans.out : (fans.in + fans.out) / 2;
  const double variance = d.scale / std::max(1.0, fan);
  if (d.distribution == "uniform") {
    const double limit = std::sqrt(3 * variance);
    return d.draws.uniform(d.shape, -limit, limit, d.dtype);
  }
  if (d.distribution == "untruncated_normal") return d.draws.normal(d.shape, 0, std::sqrt(variance), d.dtype);
  return d.draws.truncated_normal(d.shape, 0, std::sqrt(variance) / kTruncatedDeviation, d.dtype);
}

// The body with fans along other axes, unless it has its own.
template <class Derived, class Options>
struct WithFans : detail::Drawing<Derived, Options> {
  using detail::Drawing<Derived, Options>::Drawing;
  std::shared_ptr<const InitializerBody> with_axes(std::vector<int> input_axes,
                                                   std::vector<int> output_axes) const final {
    Options options = this->options;
    if (options.input_axes || options.output_axes) return nullptr;
    options.input_axes = std::move(input_axes);
    options.output_axes = std::move(output_axes);
    return make_configurable<Derived>(options, this->draws);
  }
};

struct VarianceScalingBody final : WithFans<VarianceScalingBody, VarianceScalingOptions> {
  using WithFans::WithFans;
  static constexpr std::string_view kName = "VarianceScaling";
  static constexpr std::string_view kText = "Draws with the variance scale / fan.";
  Tensor value(const Shape& shape, DType dtype) const override {
    return draw(options, {shape, dtype, options.scale, options.mode, options.distribution, draws});
  }
};

// VarianceScaling with fixed options.
template <class Derived>
struct Scaled : WithFans<Derived, FanOptions> {
  using WithFans<Derived, FanOptions>::WithFans;
  Tensor value(const Shape& shape, DType dtype) const final {
    return draw(this->options, {shape, dtype, Derived::kScale, Derived::kMode, Derived::kDistribution, this->draws});
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
  static constexpr OptionField all[] = {option<&O::seed>("seed"),
                                        option<&O::scale>("scale").above(0),
                                        option<&O::mode>("mode").one_of(modes),
                                        option<&O::distribution>("distribution").one_of(distributions),
                                        option<&O::input_axes>("input_axes"),
                                        option<&O::output_axes>("output_axes")};
  return all;
}

std::span<const OptionField> FanOptions::fields() {
  using O = FanOptions;
  static constexpr OptionField all[] = {option<&O::seed>("seed"), option<&O::input_axes>("input_axes"),
                                        option<&O::output_axes>("output_axes")};
  return all;
}

VarianceScaling::VarianceScaling(const VarianceScalingOptions& options)
    : Initializer(make_configurable<VarianceScalingBody>(options)) {}
GlorotUniform::GlorotUniform(Seed seed) : GlorotUniform(FanOptions{seed}) {}
GlorotUniform::GlorotUniform(const FanOptions& options) : Initializer(make_configurable<GlorotUniformBody>(options)) {}
GlorotNormal::GlorotNormal(Seed seed) : GlorotNormal(FanOptions{seed}) {}
GlorotNormal::GlorotNormal(const FanOptions& options) : Initializer(make_configurable<GlorotNormalBody>(options)) {}
HeUniform::HeUniform(Seed seed) : HeUniform(FanOptions{seed}) {}
HeUniform::HeUniform(const FanOptions& options) : Initializer(make_configurable<HeUniformBody>(options)) {}
HeNormal::HeNormal(Seed seed) : HeNormal(FanOptions{seed}) {}
HeNormal::HeNormal(const FanOptions& options) : Initializer(make_configurable<HeNormalBody>(options)) {}
LecunUniform::LecunUniform(Seed seed) : LecunUniform(FanOptions{seed}) {}
LecunUniform::LecunUniform(const FanOptions& options) : Initializer(make_configurable<LecunUniformBody>(options)) {}
LecunNormal::LecunNormal(Seed seed) : LecunNormal(FanOptions{seed}) {}
LecunNormal::LecunNormal(const FanOptions& options) : Initializer(make_configurable<LecunNormalBody>(options)) {}

}  // namespace initializers

std::vector<const ClassInfo*> detail::variance_scaling_classes() {
  return {&VarianceScalingBody::info(), &GlorotUniformBody::info(), &GlorotNormalBody::info(), &HeUniformBody::info(),
          &HeNormalBody::info(),        &LecunUniformBody::info(),  &LecunNormalBody::info()};
}

}  // namespace capstan
