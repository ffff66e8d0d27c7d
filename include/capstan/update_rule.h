// Rules: what makes an optimizer one, for those who write one.
//
// A rule is options, slots and one formula in tensor ops. All else follows: the plain update, the same as a node of a
// traced function, row-sparse gradients, clipping, weight decay, averages, the configuration, the making by name. If
// what the formula does is elementwise it is recorded and runs as one loop that changes the variable and its slots
// where they lie; if not, it runs op by op. This is SGD with momentum:
//
//     struct HeavyBallOptions {
//       LearningRate learning_rate = 0.01;
//       double momentum = 0.9;
//       std::optional<double> clipnorm = {};  // any of OptimizerOptions
//       static std::span<const OptionField> fields() {
//         static constexpr OptionField all[] = {
//             option<&HeavyBallOptions::learning_rate>("learning_rate"),
//             option<&HeavyBallOptions::momentum>("momentum").at_least(0).at_most(1),
//             option<&HeavyBallOptions::clipnorm>("clipnorm")};
//         return all;
//       }
//     };
//     struct HeavyBall : Rule<HeavyBall, HeavyBallOptions> {
//       using Rule::Rule;
//       static constexpr std::string_view kName = "HeavyBall", kText = "Gradient descent with momentum.";
//       std::vector<Slot> slots(const Variable&) const override { return {{"momentum"}}; }
//       void step(UpdateStep& s) const override {
//         const Tensor m = s.slot(0) * options.momentum - s.rate() * s.gradient();
//         s.set_slot(0, m);
//         s.set_variable(s.variable() + m);
//       }
//     };
//     Optimizer optimizer = make_optimizer<HeavyBall>({.momentum = 0.8});
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/config.h"
#include "capstan/optimizers.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

/// What a rule remembers of a variable: a tensor of its dtype, and of its shape unless another is given.
struct Slot {
  std::string name;
  double initial = 0;    ///< every element
  bool is_copy = false;  ///< begins as the variable instead
  /// In the list of all slots it is with the same slot of the other variables, instead of with the other slots of
  /// its variable. The slots of that kind come last.
  bool in_block = false;
  /// With another shape than the variable's the rule runs op by op for this variable. Not for copies.
  std::optional<Shape> shape = {};
};

/// Which update is made: for numbers that depend on it.
struct Moment {
  double learning_rate;
  std::int64_t step;  ///< counts from 1
  DType dtype;        ///< of the variable, float32 or float64
};

/// The numbers of an update that are not the same in all of them, at most 8; rounded to the dtype of the variable.
class CAPSTAN_EXPORT Numbers {
 public:
  Numbers() = default;
  /// Errors: ValueError for more than 8.
  Numbers(std::initializer_list<double> numbers);
  std::size_t size() const { return count_; }
  double operator[](std::size_t i) const { return numbers_[i]; }

 private:
  std::array<double, 8> numbers_ = {};
  std::size_t count_ = 0;
};

/// What a formula sees and gives for one variable: tensors of its shape, slots, and scalars. Errors: IndexError for a
/// slot or number that is not there.
class CAPSTAN_EXPORT UpdateStep {
 public:
  /// `values` are the variable and its slots, `after` the same after the step.
  UpdateStep(std::span<const Tensor> values, const Tensor& gradient, std::span<const Tensor> numbers,
             std::span<Tensor> after)
      : values_(values), gradient_(gradient), numbers_(numbers), after_(after) {}

  const Tensor& variable() const { return values_[0]; }
  const Tensor& gradient() const { return gradient_; }
  const Tensor& slot(std::size_t i) const { return values_[checked("slot", i, slot_count()) + 1]; }
  /// How many slots this variable has: a rule tells by it which of its formulas is meant.
  std::size_t slot_count() const { return values_.size() - 1; }
  /// What UpdateRule::numbers() gave; the first is the rate unless the rule says otherwise.
  const Tensor& number(std::size_t i) const { return numbers_[checked("number", i, numbers_.size())]; }
  const Tensor& rate() const { return number(0); }

  /// What is not set stays as it is.
  void set_variable(Tensor value) { after_[0] = std::move(value); }
  void set_slot(std::size_t i, Tensor value) { after_[checked("slot", i, slot_count()) + 1] = std::move(value); }

 private:
  static std::size_t checked(const char* what, std::size_t i, std::size_t count) {
    if (i >= count) throw_missing(what, i, count);
    return i;
  }
  [[noreturn]] static void throw_missing(const char* what, std::size_t i, std::size_t count);

  std::span<const Tensor> values_;
  const Tensor& gradient_;
  std::span<const Tensor> numbers_;
  std::span<Tensor> after_;
};

/// The body of an optimizer; derive from Rule, which brings options.
class CAPSTAN_EXPORT UpdateRule : public Configurable {
 public:
  static constexpr std::string_view kKind = "optimizer", kModule = "keras.optimizers";

  /// The slots of a variable, at most 7; they may differ between variables. Asked once per variable.
  virtual std::vector<Slot> slots(const Variable& variable) const;
  /// The weight decay of a variable: the option, unless overridden. Asked once per variable.
  virtual std::optional<double> weight_decay(const Variable& variable) const;
  /// The numbers of one update: the rate, unless overridden. Asked once per update and dtype.
  virtual Numbers numbers(const Moment& now) const;
  /// The formula. It depends on nothing but what it is given, and the options; it may look at shapes, not at elements.
  virtual void step(UpdateStep& s) const = 0;
  /// True if an element whose gradient is zero keeps its value and slots. Row-sparse gradients then touch only their
  /// rows.
  virtual bool rests_without_gradient() const { return false; }

  /// What every optimizer has of its options.
  virtual OptimizerOptions common_options() const = 0;
};

/// The base of rules: `Derived` has `kName` and `kText`, `Options` any members of OptimizerOptions, of which
/// `learning_rate` has to be one, and a table (see capstan/config.h).
template <class Derived, class Options>
class Rule : public Configured<Derived, UpdateRule, Options> {
 public:
  using Configured<Derived, UpdateRule, Options>::Configured;

  OptimizerOptions common_options() const final {
    const Options& o = this->options;
    OptimizerOptions common{.learning_rate = o.learning_rate};
    if constexpr (requires { o.weight_decay; }) common.weight_decay = o.weight_decay;
    if constexpr (requires { o.clipnorm; }) common.clipnorm = o.clipnorm;
    if constexpr (requires { o.clipvalue; }) common.clipvalue = o.clipvalue;
    if constexpr (requires { o.global_clipnorm; }) common.global_clipnorm = o.global_clipnorm;
    if constexpr (requires { o.use_ema; }) common.use_ema = o.use_ema;
    if constexpr (requires { o.ema_momentum; }) common.ema_momentum = o.ema_momentum;
    if constexpr (requires { o.ema_overwrite_frequency; }) common.ema_overwrite_frequency = o.ema_overwrite_frequency;
    if constexpr (requires { o.loss_scale_factor; }) common.loss_scale_factor = o.loss_scale_factor;
    if constexpr (requires { o.gradient_accumulation_steps; }) {
      common.gradient_accumulation_steps = o.gradient_accumulation_steps;
    }
    return common;
  }
};

/// An optimizer of a rule. Errors: ValueError for options that are not allowed.
template <class R>
Optimizer make_optimizer(const typename R::Options& options = {}) {
  return Optimizer(make_configurable<R>(options));
}

/// The rows of the members of OptimizerOptions, with their limits, for a struct that has all of them.
template <class O>
constexpr std::array<OptionField, 10> optimizer_option_rows() {
  return {option<&O::learning_rate>("learning_rate"),
          option<&O::weight_decay>("weight_decay"),
          option<&O::clipnorm>("clipnorm"),
          option<&O::global_clipnorm>("global_clipnorm"),
          option<&O::clipvalue>("clipvalue"),
          option<&O::use_ema>("use_ema"),
          option<&O::ema_momentum>("ema_momentum").at_least(0).at_most(1),
          option<&O::ema_overwrite_frequency>("ema_overwrite_frequency").at_least(0),
          option<&O::loss_scale_factor>("loss_scale_factor").above(0),
          option<&O::gradient_accumulation_steps>("gradient_accumulation_steps").at_least(0)};
}

/// The table of options that has all members of OptimizerOptions, and then these.
template <class O, std::size_t N>
constexpr std::array<OptionField, N + 10> with_optimizer_options(const OptionField (&own)[N]) {
  constexpr std::array<OptionField, 10> common = optimizer_option_rows<O>();
  std::array<OptionField, N + 10> all = {};
  for (std::size_t i = 0; i < common.size(); ++i) all[i] = common[i];
  for (std::size_t i = 0; i < N; ++i) all[common.size() + i] = own[i];
  return all;
}

}  // namespace capstan
