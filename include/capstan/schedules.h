// Learning rates that change with the number of updates.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/config.h"
#include "capstan/export.h"

namespace capstan {

/// What a class of schedules implements; see capstan/config.h for its options.
class CAPSTAN_EXPORT ScheduleBody : public Configurable {
 public:
  static constexpr std::string_view kKind = "schedule", kModule = "keras.optimizers.schedules";
  /// The learning rate after so many updates.
  virtual double rate(std::int64_t step) const = 0;
};

/// A function from the number of updates made so far to a learning rate: one of the classes below, computed in float32
/// as Keras does, or any function. Copies share it.
class CAPSTAN_EXPORT Schedule {
 public:
  template <class F>
  requires(!std::is_base_of_v<Schedule, F> && std::is_invocable_r_v<double, const F&, std::int64_t>)
      Schedule(F function)
      : Schedule(of_function(std::move(function))) {}
  explicit Schedule(std::shared_ptr<const ScheduleBody> body) : body_(std::move(body)) {}
  double operator()(std::int64_t step) const { return body_->rate(step); }

  const std::shared_ptr<const ScheduleBody>& body() const { return body_; }

 private:
  static std::shared_ptr<const ScheduleBody> of_function(std::function<double(std::int64_t)> function);

  std::shared_ptr<const ScheduleBody> body_;
};

/// Schedules under the names of Keras.
namespace schedules {

/// What serialize() gives of a schedule (capstan/config.h), as a schedule again. Errors: ValueError for an unknown
/// class or option.
///
///     Schedule s = schedules::get(AttributeValue::from_json(R"({"class_name": "ExponentialDecay", "config":
///         {"initial_learning_rate": 0.1, "decay_steps": 100, "decay_rate": 0.5}})"));
CAPSTAN_EXPORT Schedule get(const AttributeValue& value);

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
  InverseTimeDecay(double initial_learning_rate, double decay_steps, double decay_rate,
                   const DecayOptions& options = {});
};

/// initial * decay_rate ^ (step / decay_steps). Errors: ValueError for decay_steps <= 0.
class CAPSTAN_EXPORT ExponentialDecay : public Schedule {
 public:
  ExponentialDecay(double initial_learning_rate, double decay_steps, double decay_rate,
                   const DecayOptions& options = {});
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
