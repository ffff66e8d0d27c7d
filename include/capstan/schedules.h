// Learning rates that change with the number of updates.
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "capstan/export.h"

namespace capstan {

/// A function from the number of updates made so far to a learning rate. Computed in float32, as Keras does.
class CAPSTAN_EXPORT Schedule {
 public:
  template <class F>
    requires std::is_invocable_r_v<double, const F&, std::int64_t>
  Schedule(F function) : function_(std::move(function)) {}
  double operator()(std::int64_t step) const { return function_(step); }

 protected:
  Schedule() = default;
  std::function<double(std::int64_t)> function_;
};

/// Schedules under the names of Keras.
namespace schedules {

/// Options of the decays.
struct DecayOptions {
  /// The rate falls in steps: only whole multiples of decay_steps count.
  bool staircase = false;
};

/// initial / (1 + decay_rate * step / decay_steps). Errors: ValueError for decay_steps <= 0.
///
///     optimizers::Adam({.learning_rate = schedules::InverseTimeDecay(1e-3, 1, 4e-5)});
class CAPSTAN_EXPORT InverseTimeDecay : public Schedule {
 public:
  InverseTimeDecay(double initial_learning_rate, double decay_steps, double decay_rate, DecayOptions options = {});
};

/// initial * decay_rate ^ (step / decay_steps). Errors: ValueError for decay_steps <= 0.
class CAPSTAN_EXPORT ExponentialDecay : public Schedule {
 public:
  ExponentialDecay(double initial_learning_rate, double decay_steps, double decay_rate, DecayOptions options = {});
};

/// values[i] up to and including boundaries[i], the last value afterwards. Errors: ValueError unless there is one value
/// more than boundaries.
class CAPSTAN_EXPORT PiecewiseConstantDecay : public Schedule {
 public:
  PiecewiseConstantDecay(std::vector<std::int64_t> boundaries, std::vector<double> values);
};

}  // namespace schedules
}  // namespace capstan
