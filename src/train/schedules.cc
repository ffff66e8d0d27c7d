// Learning-rate schedules. Every step is done in float32, so that the last digits are those of Keras.
#include "capstan/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "src/core/check.h"
#include "src/train/classes.h"

namespace capstan {

namespace {

class FunctionSchedule final : public detail::OfFunction<ScheduleBody> {
 public:
  explicit FunctionSchedule(std::function<double(std::int64_t)> function) : function_(std::move(function)) {}
  double rate(std::int64_t step) const override { return function_(step); }

 private:
  std::function<double(std::int64_t)> function_;
};

}  // namespace

std::shared_ptr<const ScheduleBody> Schedule::of_function(std::function<double(std::int64_t)> function) {
  return make_configurable<FunctionSchedule>(std::move(function));
}

namespace schedules {

Schedule get(const AttributeValue& value) {
  return Schedule(std::static_pointer_cast<ScheduleBody>(deserialize("schedule", value)));
}

namespace {

float as_float(double number) { return static_cast<float>(number); }

float periods(std::int64_t step, double decay_steps, bool staircase) {
  const float p = static_cast<float>(step) / as_float(decay_steps);
  return staircase ? std::floor(p) : p;
}

// Of the decays.
struct RateOptions {
  double initial_learning_rate = 0;
  double decay_steps = 0;
  double decay_rate = 0;
  bool staircase = false;
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&RateOptions::initial_learning_rate>("initial_learning_rate", true),
                                          option<&RateOptions::decay_steps>("decay_steps", true).above(0),
                                          option<&RateOptions::decay_rate>("decay_rate", true),
                                          option<&RateOptions::staircase>("staircase")};
    return all;
  }
};

struct InverseTime final : Configured<InverseTime, ScheduleBody, RateOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "InverseTimeDecay";
  static constexpr std::string_view kText = "initial / (1 + decay_rate * step / decay_steps).";
  double rate(std::int64_t step) const override {
    return as_float(options.initial_learning_rate) /
           (1.0f + as_float(options.decay_rate) * periods(step, options.decay_steps, options.staircase));
  }
};

struct Exponential final : Configured<Exponential, ScheduleBody, RateOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "ExponentialDecay";
  static constexpr std::string_view kText = "initial * decay_rate ^ (step / decay_steps).";
  double rate(std::int64_t step) const override {
    return as_float(options.initial_learning_rate) *
           std::pow(as_float(options.decay_rate), periods(step, options.decay_steps, options.staircase));
  }
};

struct PolynomialOptions {
  double initial_learning_rate = 0;
  double decay_steps = 0;
  double end_learning_rate = 1e-4;
  double power = 1;
  bool cycle = false;
  static std::span<const OptionField> fields() {
    using O = PolynomialOptions;
    static constexpr OptionField all[] = {option<&O::initial_learning_rate>("initial_learning_rate", true),
                                          option<&O::decay_steps>("decay_steps", true).above(0),
                                          option<&O::end_learning_rate>("end_learning_rate"),
                                          option<&O::power>("power"), option<&O::cycle>("cycle")};
    return all;
  }
};

struct Polynomial final : Configured<Polynomial, ScheduleBody, PolynomialOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "PolynomialDecay";
  static constexpr std::string_view kText = "(initial - end) * (1 - step / decay_steps) ^ power + end.";
  double rate(std::int64_t step) const override {
    const auto at = static_cast<float>(step);
    const float steps = as_float(options.decay_steps), end = as_float(options.end_learning_rate);
    // A cycle stretches the decay to the next multiple of its length; otherwise it ends.
    const float length = options.cycle ? steps * std::max(1.0f, std::ceil(at / steps)) : steps;
    const float p = (options.cycle ? at : std::min(at, steps)) / length;
    return (as_float(options.initial_learning_rate) - end) * std::pow(1.0f - p, as_float(options.power)) + end;
  }
};

// From 1 down to alpha as `fraction` goes from 0 to 1, times `height`.
float cosine(float fraction, float height, float alpha) {
  const float wave = 0.5f * height * (1.0f + std::cos(std::numbers::pi_v<float> * fraction));
  return (1.0f - alpha) * wave + alpha;
}

struct CosineOptions {
  double initial_learning_rate = 0;
  double decay_steps = 0;
  double alpha = 0;
  std::optional<double> warmup_target = {};
  double warmup_steps = 0;
  static std::span<const OptionField> fields() {
    using O = CosineOptions;
    static constexpr OptionField all[] = {option<&O::initial_learning_rate>("initial_learning_rate", true),
                                          option<&O::decay_steps>("decay_steps", true).above(0),
                                          option<&O::alpha>("alpha"), option<&O::warmup_target>("warmup_target"),
                                          option<&O::warmup_steps>("warmup_steps")};
    return all;
  }
};

struct Cosine final : Configured<Cosine, ScheduleBody, CosineOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "CosineDecay";
  static constexpr std::string_view kText = "Half a cosine from the initial rate down to `alpha` of it.";
  double rate(std::int64_t step) const override {
    auto at = static_cast<float>(step);
    const float steps = as_float(options.decay_steps);
    float first = as_float(options.initial_learning_rate);
    if (options.warmup_target) {
      const float initial = first, warmup = as_float(options.warmup_steps);
      first = as_float(*options.warmup_target);
      if (at < warmup) return (first - initial) * (at / warmup) + initial;
      at -= warmup;
    }
    return first * cosine(std::min(at, steps) / steps, 1.0f, as_float(options.alpha));
  }
};

struct RestartsOptions {
  double initial_learning_rate = 0;
  double first_decay_steps = 0;
  double t_mul = 2;
  double m_mul = 1;
  double alpha = 0;
  static std::span<const OptionField> fields() {
    using O = RestartsOptions;
    static constexpr OptionField all[] = {option<&O::initial_learning_rate>("initial_learning_rate", true),
                                          option<&O::first_decay_steps>("first_decay_steps", true).above(0),
                                          option<&O::t_mul>("t_mul"), option<&O::m_mul>("m_mul"),
                                          option<&O::alpha>("alpha")};
    return all;
  }
};

struct Restarts final : Configured<Restarts, ScheduleBody, RestartsOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "CosineDecayRestarts";
  static constexpr std::string_view kText = "CosineDecay that begins again and again.";
  double rate(std::int64_t step) const override {
    const float t = as_float(options.t_mul);
    float fraction = static_cast<float>(step) / as_float(options.first_decay_steps);
    float period = std::floor(fraction);
    if (t == 1.0f) {
      fraction -= period;
    } else {
      period = std::floor(std::log(1.0f - fraction * (1.0f - t)) / std::log(t));
      const float power = std::pow(t, period);
      fraction = (fraction - (1.0f - power) / (1.0f - t)) / power;
    }
    const float height = std::pow(as_float(options.m_mul), period);
    return as_float(options.initial_learning_rate) * cosine(fraction, height, as_float(options.alpha));
  }
};

struct PiecewiseOptions {
  std::vector<std::int64_t> boundaries;
  std::vector<double> values;
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&PiecewiseOptions::boundaries>("boundaries", true),
                                          option<&PiecewiseOptions::values>("values", true)};
    return all;
  }
};

struct Piecewise final : Configured<Piecewise, ScheduleBody, PiecewiseOptions> {
  static constexpr std::string_view kName = "PiecewiseConstantDecay";
  static constexpr std::string_view kText = "values[i] up to and including boundaries[i], the last value afterwards.";
  explicit Piecewise(const PiecewiseOptions& given) : Configured(given) {
    const std::size_t wanted = options.boundaries.size() + 1;
    CAPSTAN_CHECK(options.values.size() == wanted, ValueError, kName, ": ", wanted - 1, " boundaries need ", wanted,
                  " values, not ", options.values.size());
  }
  double rate(std::int64_t step) const override {
    std::size_t i = 0;
    while (i < options.boundaries.size() && step > options.boundaries[i]) ++i;
    return as_float(options.values[i]);
  }
};

}  // namespace

InverseTimeDecay::InverseTimeDecay(double initial_learning_rate, double decay_steps, double decay_rate,
                                   const DecayOptions& options)
    : Schedule(make_configurable<InverseTime>(
          RateOptions{initial_learning_rate, decay_steps, decay_rate, options.staircase})) {}

ExponentialDecay::ExponentialDecay(double initial_learning_rate, double decay_steps, double decay_rate,
                                   const DecayOptions& options)
    : Schedule(make_configurable<Exponential>(
          RateOptions{initial_learning_rate, decay_steps, decay_rate, options.staircase})) {}

PolynomialDecay::PolynomialDecay(double initial_learning_rate, double decay_steps, double end_learning_rate,
                                 double power, bool cycle)
    : Schedule(make_configurable<Polynomial>(
          PolynomialOptions{initial_learning_rate, decay_steps, end_learning_rate, power, cycle})) {}

CosineDecay::CosineDecay(double initial_learning_rate, double decay_steps, const CosineDecayOptions& options)
    : Schedule(make_configurable<Cosine>(CosineOptions{initial_learning_rate, decay_steps, options.alpha,
                                                       options.warmup_target, options.warmup_steps})) {}

CosineDecayRestarts::CosineDecayRestarts(double initial_learning_rate, double first_decay_steps,
                                         const CosineDecayRestartsOptions& options)
    : Schedule(make_configurable<Restarts>(
          RestartsOptions{initial_learning_rate, first_decay_steps, options.t_mul, options.m_mul, options.alpha})) {}

PiecewiseConstantDecay::PiecewiseConstantDecay(std::vector<std::int64_t> boundaries, std::vector<double> values)
    : Schedule(make_configurable<Piecewise>(PiecewiseOptions{std::move(boundaries), std::move(values)})) {}

}  // namespace schedules

std::vector<const ClassInfo*> detail::schedule_classes() {
  using namespace schedules;
  return {&InverseTime::info(), &Exponential::info(), &Polynomial::info(),
          &Cosine::info(),      &Restarts::info(),    &Piecewise::info()};
}

}  // namespace capstan
