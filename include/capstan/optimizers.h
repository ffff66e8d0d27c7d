// Optimizers: how gradients change variables.
//
// An optimizer is a handle; copies share its state. It makes its slots (momentum and the like) for the variables of the
// first apply_gradients and from then on knows only these. One update: drop missing gradients, undo the loss scale,
// accumulate, clip, decay weights, update, average, apply constraints, count. Rules and their order are those of
// Keras 3.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/schedules.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

namespace detail {
class OptimizerState;
}

/// A number or a schedule.
class LearningRate {
 public:
  LearningRate(double rate) : rate_(rate) {}
  LearningRate(Schedule schedule) : schedule_(std::move(schedule)) {}
  double operator()(std::int64_t step) const { return schedule_ ? (*schedule_)(step) : rate_; }
  bool is_schedule() const { return schedule_.has_value(); }

 private:
  double rate_ = 0;
  std::optional<Schedule> schedule_;
};

/// The base of all optimizers, and a handle to any of them.
class CAPSTAN_EXPORT Optimizer {
 public:
  /// Changes the variables by their gradients, one for one.
  ///
  /// A missing gradient (an empty tensor) leaves its variable alone; a warning names such variables once. Row-sparse
  /// gradients of plain SGD touch only their rows; everything else sees the dense gradient, in which repeated rows are
  /// summed. Tapes do not see the update.
  ///
  /// Errors, before anything is changed: ValueError for lists of different lengths, if all gradients are missing, or
  /// for a variable that was not among those of the first call; ShapeError and DTypeError for a gradient that does not
  /// fit.
  ///
  ///     optimizer.apply_gradients(gradients, model.trainable_variables());
  void apply_gradients(std::span<const Tensor> gradients, std::span<const Variable> variables) const;
  /// The same with variables, or both, in braces.
  ///
  ///     optimizer.apply_gradients(tape.gradient(loss, {w, b}), {w, b});
  void apply_gradients(std::span<const Tensor> gradients, std::initializer_list<Variable> variables) const {
    apply_gradients(gradients, std::span(variables.begin(), variables.size()));
  }
  void apply_gradients(std::initializer_list<Tensor> gradients, std::initializer_list<Variable> variables) const {
    apply_gradients(std::span(gradients.begin(), gradients.size()), std::span(variables.begin(), variables.size()));
  }

  /// Makes the slots now. Errors: ValueError if it was done for other variables.
  void build(std::span<const Variable> variables) const;

  /// The number of updates made.
  std::int64_t iterations() const;

  /// The rate of the next update. A fixed rate can be replaced. Errors: ValueError for an optimizer with a schedule.
  double learning_rate() const;
  void set_learning_rate(double rate) const;

  /// The slots, in Keras's order: averages, accumulated gradients, then those of the rule.
  std::vector<Variable> variables() const;

  /// Variables whose path contains one of these texts have no weight decay.
  void exclude_from_weight_decay(const std::vector<std::string>& texts) const;

  /// Copies the moving averages into the variables, if `use_ema`.
  void finalize_variable_values() const;

  const std::string& name() const;

 protected:
  explicit Optimizer(std::shared_ptr<detail::OptimizerState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<detail::OptimizerState> state_;
};

/// Optimizers under the names of Keras.
namespace optimizers {

/// Options of SGD.
struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  /// Every update first shrinks the variables by this times the learning rate.
  std::optional<double> weight_decay = {};
  /// At most one: each gradient to this norm, each element to [-c, c], or all gradients together to this norm.
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  /// Moving averages of the variables, copied into them every `ema_overwrite_frequency` updates (0: never).
  bool use_ema = false;
  double ema_momentum = 0.99;
  int ema_overwrite_frequency = 0;
  /// Gradients are divided by it.
  std::optional<double> loss_scale_factor = {};
  /// The mean of this many gradients makes one update (0: every one).
  int gradient_accumulation_steps = 0;
};

/// variable -= rate * gradient; with momentum m = momentum * m - rate * gradient and variable += m, or with `nesterov`
/// variable += momentum * m - rate * gradient. Errors: ValueError for a momentum outside [0, 1].
class CAPSTAN_EXPORT SGD : public Optimizer {
 public:
  explicit SGD(const SGDOptions& options = {});
};

/// Options of Adam.
struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  std::optional<double> weight_decay = {};  ///< this and what follows: see SGDOptions
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  int ema_overwrite_frequency = 0;
  std::optional<double> loss_scale_factor = {};
  int gradient_accumulation_steps = 0;
};

/// Adam in Keras's form: m += (g - m)(1 - beta_1), v += (g^2 - v)(1 - beta_2),
/// variable -= rate sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + epsilon).
class CAPSTAN_EXPORT Adam : public Optimizer {
 public:
  explicit Adam(const AdamOptions& options = {});
};

/// Adam with a weight decay of 0.004 unless given.
class CAPSTAN_EXPORT AdamW : public Optimizer {
 public:
  explicit AdamW(const AdamOptions& options = {});
};

}  // namespace optimizers
}  // namespace capstan
