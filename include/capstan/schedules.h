// Learning rates that change with the number of updates.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

#include "capstan/export.h"

namespace capstan {

/// A function from the number of updates made so far to a learning rate. Computed in float32, as Keras does.
class CAPSTAN_EXPORT Schedule {
 public:
  template <class F>
  requires(!std::is_base_of_v<Schedule, F> && std::is_invocable_r_v<double, const F&, std::int64_t>)
      Schedule(F function)
      : function_(std::move(function)) {}
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

/// (initial - end) * (1 - step / decay_steps) ^ power + end, and `end` afterwards. Errors: ValueError for decay_steps
/// <= 0.
class CAPSTAN_EXPORT PolynomialDecay : public Schedule {
 public:
  PolynomialDecay(double initial_learning_rate, double decay_steps, double end_learning_rate = 1e-4, double power = 1,
                  bool cycle = false);
};

/// Options of CosineDecay.
struct CosineDecayOptions {
  double alpha = 0;                          ///< the last rate, as a fraction of the first
  std::optional<double> warmup_target = {};  ///< the rate that a linear rise from the initial one reaches
  double warmup_steps = 0;
};

/// Half a cosine from the initial rate down to `alpha` of it. Errors: ValueError for decay_steps <= 0.
class CAPSTAN_EXPORT CosineDecay : public Schedule {
 public:
  CosineDecay(double initial_learning_rate, double decay_steps, const CosineDecayOptions& options = {});
};

/// Options of CosineDecayRestarts.
struct CosineDecayRestartsOptions {
  double t_mul = 2;  ///< how much longer each period is than the one before
  double m_mul = 1;  ///< how much higher each period begins
  double alpha = 0;
};

/// CosineDecay that begins again and again. Errors: ValueError for first_decay_steps <= 0.
class CAPSTAN_EXPORT CosineDecayRestarts : public Schedule {
 public:
  CosineDecayRestarts(double initial_learning_rate, double first_decay_steps,
                      const CosineDecayRestartsOptions& options = {});
};

/// values[i] up to and including boundaries[i], the last value afterwards. Errors: ValueError unless there is one value
/// more than boundaries.
class CAPSTAN_EXPORT PiecewiseConstantDecay : public Schedule {
 public:
  PiecewiseConstantDecay(std::vector<std::int64_t> boundaries, std::vector<double> values);
};

}  // namespace schedules
}  // namespace capstan
