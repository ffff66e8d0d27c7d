// Learning-rate schedules. Every step is done in float32, so that the last digits are those of Keras.
#include "capstan/schedules.h"

#include <cmath>

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

PiecewiseConstantDecay::PiecewiseConstantDecay(std::vector<std::int64_t> boundaries, std::vector<double> values) {
  CAPSTAN_CHECK(values.size() == boundaries.size() + 1, ValueError, "schedule: ", boundaries.size(), " boundaries need ",
                boundaries.size() + 1, " values, not ", values.size());
  function_ = [boundaries = std::move(boundaries), values = std::move(values)](std::int64_t step) {
    std::size_t i = 0;
    while (i < boundaries.size() && step > boundaries[i]) ++i;
    return double{static_cast<float>(values[i])};
  };
}

}  // namespace capstan::schedules
