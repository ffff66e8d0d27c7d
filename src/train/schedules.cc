// Learning-rate schedules. Every step is done in float32, so that the last digits are those of Keras.
#include "capstan/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "src/core/check.h"

namespace capstan::schedules {

namespace {

void check_decay_steps(double decay_steps) {
  CAPSTAN_CHECK(decay_steps > 0, ValueError, "schedule: decay_steps must be positive, not ", decay_steps);
}

float periods(std::int64_t step, float decay_steps, bool staircase) {
  const float p = static_cast<float>(step) / decay_steps;
  return staircase ? std::floor(p) : p;
}

}  // namespace

InverseTimeDecay::InverseTimeDecay(double initial_learning_rate, double decay_steps, double decay_rate,
                                   DecayOptions options) {
  check_decay_steps(decay_steps);
  function_ = [initial = static_cast<float>(initial_learning_rate), steps = static_cast<float>(decay_steps),
               rate = static_cast<float>(decay_rate), staircase = options.staircase](std::int64_t step) {
    return double{initial / (1.0f + rate * periods(step, steps, staircase))};
  };
}

ExponentialDecay::ExponentialDecay(double initial_learning_rate, double decay_steps, double decay_rate,
                                   DecayOptions options) {
  check_decay_steps(decay_steps);
  function_ = [initial = static_cast<float>(initial_learning_rate), steps = static_cast<float>(decay_steps),
               rate = static_cast<float>(decay_rate), staircase = options.staircase](std::int64_t step) {
    return double{initial * std::pow(rate, periods(step, steps, staircase))};
  };
}

PolynomialDecay::PolynomialDecay(double initial_learning_rate, double decay_steps, double end_learning_rate,
                                 double power, bool cycle) {
  check_decay_steps(decay_steps);
  function_ = [initial = static_cast<float>(initial_learning_rate), steps = static_cast<float>(decay_steps),
               end = static_cast<float>(end_learning_rate), power = static_cast<float>(power),
               cycle](std::int64_t step) {
    const auto at = static_cast<float>(step);
    // A cycle stretches the decay to the next multiple of its length; otherwise it ends.
    const float length = cycle ? steps * std::max(1.0f, std::ceil(at / steps)) : steps;
    const float p = (cycle ? at : std::min(at, steps)) / length;
    return double{(initial - end) * std::pow(1.0f - p, power) + end};
  };
}

namespace {

// From 1 down to alpha as `fraction` goes from 0 to 1, times `height`.
float cosine(float fraction, float height, float alpha) {
  const float wave = 0.5f * height * (1.0f + std::cos(std::numbers::pi_v<float> * fraction));
  return (1.0f - alpha) * wave + alpha;
}

}  // namespace

CosineDecay::CosineDecay(double initial_learning_rate, double decay_steps, const CosineDecayOptions& options) {
  check_decay_steps(decay_steps);
  function_ = [initial = static_cast<float>(initial_learning_rate), steps = static_cast<float>(decay_steps),
               alpha = static_cast<float>(options.alpha), target = options.warmup_target,
               warmup = static_cast<float>(options.warmup_steps)](std::int64_t step) {
    auto at = static_cast<float>(step);
    float first = initial;
    if (target) {
      first = static_cast<float>(*target);
      if (at < warmup) return double{(first - initial) * (at / warmup) + initial};
      at -= warmup;
    }
    return double{first * cosine(std::min(at, steps) / steps, 1.0f, alpha)};
  };
}

CosineDecayRestarts::CosineDecayRestarts(double initial_learning_rate, double first_decay_steps,
                                         const CosineDecayRestartsOptions& options) {
  check_decay_steps(first_decay_steps);
  function_ = [initial = static_cast<float>(initial_learning_rate), steps = static_cast<float>(first_decay_steps),
               t = static_cast<float>(options.t_mul), m = static_cast<float>(options.m_mul),
               alpha = static_cast<float>(options.alpha)](std::int64_t step) {
    float fraction = static_cast<float>(step) / steps;
    float period = std::floor(fraction);
    if (t == 1.0f) {
      fraction -= period;
    } else {
      period = std::floor(std::log(1.0f - fraction * (1.0f - t)) / std::log(t));
      const float power = std::pow(t, period);
      fraction = (fraction - (1.0f - power) / (1.0f - t)) / power;
    }
    return double{initial * cosine(fraction, std::pow(m, period), alpha)};
  };
}

PiecewiseConstantDecay::PiecewiseConstantDecay(std::vector<std::int64_t> boundaries, std::vector<double> values) {
  CAPSTAN_CHECK(values.size() == boundaries.size() + 1, ValueError, "schedule: ", boundaries.size(),
                " boundaries need ", boundaries.size() + 1, " values, not ", values.size());
  function_ = [boundaries = std::move(boundaries), values = std::move(values)](std::int64_t step) {
    std::size_t i = 0;
    while (i < boundaries.size() && step > boundaries[i]) ++i;
    return double{static_cast<float>(values[i])};
  };
}

}  // namespace capstan::schedules
