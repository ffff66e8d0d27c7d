// Optimizers: how gradients change variables.
//
// An optimizer is a handle; copies share its state. It makes its slots (momentum and the like) for the variables of the
// first apply_gradients and from then on knows only these. One update: drop missing gradients, undo the loss scale,
// accumulate, clip, call the program's hooks, decay weights, update, average, apply constraints, count. Rules and their
// order are those of Keras 3. How to write one: capstan/update_rule.h.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/config.h"
#include "capstan/schedules.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

class UpdateRule;
namespace detail {
class OptimizerState;
}

/// A number or a schedule.
class LearningRate {
 public:
  LearningRate(double rate) : rate_(rate) {}
  LearningRate(const Schedule& schedule) : schedule_(schedule.body()) {}
  double operator()(std::int64_t step) const { return schedule_ ? schedule_->rate(step) : rate_; }
  bool is_schedule() const { return schedule_ != nullptr; }
  Schedule schedule() const { return Schedule(schedule_); }

 private:
  double rate_ = 0;
  std::shared_ptr<const ScheduleBody> schedule_;
};

/// A rate in configurations: a number, or a schedule as serialize() gives it.
CAPSTAN_EXPORT void set_field(LearningRate& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const LearningRate& field);

/// Options that every optimizer of the library has, under these names.
struct OptimizerOptions {
  LearningRate learning_rate = 0.001;
  /// Every update first shrinks the variables by this times the learning rate.
  std::optional<double> weight_decay = {};
  /// At most one: each gradient to this norm, each element to [-c, c], or all gradients together to this norm.
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  /// Moving averages of the variables, copied into them every `ema_overwrite_frequency` updates (none or 0: never).
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int> ema_overwrite_frequency = {};
  /// Gradients are divided by it.
  std::optional<double> loss_scale_factor = {};
  /// The mean of this many gradients, at least 2, makes one update (none or 0: every one).
  std::optional<int> gradient_accumulation_steps = {};
};

/// May change gradients in place before an update: entry i is that of `variables[i]`. In a traced function the tensors
/// are symbolic, and the hook is called while it is traced.
using GradientHook = std::function<void(std::span<Tensor> gradients, std::span<const Variable> variables)>;

/// The base of all optimizers, and a handle to any of them.
class CAPSTAN_EXPORT Optimizer {
 public:
  /// An optimizer of a rule; see make_optimizer(). Without a name it has that of the class, with a number. Errors:
  /// ValueError for options that contradict each other.
  explicit Optimizer(std::shared_ptr<const UpdateRule> rule, std::string name = "");
  /// One with its defaults, from its name in Keras ("sgd", "AdamW"). Errors: ValueError for an unknown name.
  Optimizer(const char* name) : Optimizer(std::string_view(name)) {}
  Optimizer(const std::string& name) : Optimizer(std::string_view(name)) {}

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

  /// The loss times `loss_scale_factor`, or times the scale of a LossScaleOptimizer; apply_gradients() divides its
  /// gradients by it.
  Tensor scale_loss(const Tensor& loss) const;

  /// The number of updates made.
  std::int64_t iterations() const;

  /// The rate of the next update. A fixed rate can be replaced. Errors: ValueError for an optimizer with a schedule.
  double learning_rate() const;
  void set_learning_rate(double rate) const;

  /// The slots, in Keras's order: averages, accumulated gradients, then those of the rule. Those of a
  /// LossScaleOptimizer are the number of finite updates since the scale changed, the scale, and the slots of its
  /// optimizer.
  std::vector<Variable> variables() const;

  /// The moving averages of the variables, in their order, if `use_ema` and once there are slots.
  std::vector<Variable> averages() const;

  /// Variables whose path contains one of these texts have no weight decay.
  void exclude_from_weight_decay(const std::vector<std::string>& texts) const;

  /// Copies the moving averages into the variables, if `use_ema`; without updates so far there is nothing to copy.
  /// Errors: ValueError if they were restored, and build() has not said for which variables.
  void finalize_variable_values() const;

  const std::string& name() const;

  /// Calls the hook in every update, after those that are there already: when the gradients have been unscaled,
  /// averaged over accumulated steps and clipped, and before anything is changed. All-reduce between processes, noise,
  /// other ways to clip. Missing gradients are left out; row-sparse ones may be replaced by dense ones. Errors of an
  /// update: ShapeError and DTypeError if a gradient does not fit any more.
  ///
  ///     optimizer.on_gradients([](std::span<Tensor> gradients, std::span<const Variable>) {
  ///       for (Tensor& g : gradients) g = g + random::normal(g.shape(), 0, 0.01);
  ///     });
  void on_gradients(GradientHook hook) const;

  /// The options as a map with Keras's keys, with the name and the learning rate of now. optimizers::get() makes an
  /// optimizer of it. Errors: ValueError if the rate is a function of the program.
  ///
  ///     optimizers::SGD().get_config().to_json();  // {"name": "sgd", "learning_rate": 0.01, ...
  AttributeValue get_config() const;
  const UpdateRule& rule() const;

 private:
  friend class detail::OptimizerState;
  explicit Optimizer(std::string_view name);

  std::shared_ptr<detail::OptimizerState> state_;
};

/// Optimizers under the names of Keras.
namespace optimizers {

/// An optimizer from its name with its defaults ("adam"), or from what serialize() gave. Errors: ValueError for an
/// unknown class or option, or a value that does not fit, naming them.
///
///     optimizers::get("adam");
///     optimizers::get(AttributeValue::from_json(text));
CAPSTAN_EXPORT Optimizer get(const AttributeValue& value);
/// The class and the options of an optimizer as a map: {"class_name": "SGD", "config": {...}, ...}; without its state.
///
///     optimizers::serialize(optimizers::SGD({.learning_rate = 0.5})).to_json();
CAPSTAN_EXPORT AttributeValue serialize(const Optimizer& optimizer);

/// Options of SGD.
struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  std::optional<double> weight_decay = {};  ///< this and what follows: see OptimizerOptions
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int> gradient_accumulation_steps = {};
  static std::span<const OptionField> fields();
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
  std::optional<double> weight_decay = {};  ///< this and what follows: see OptimizerOptions
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int> gradient_accumulation_steps = {};
  static std::span<const OptionField> fields();
};

/// Adam in Keras's form: m += (g - m)(1 - beta_1), v += (g^2 - v)(1 - beta_2),
/// variable -= rate sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + epsilon). With `amsgrad` the root is taken of
/// the largest v so far.
class CAPSTAN_EXPORT Adam : public Optimizer {
 public:
  explicit Adam(const AdamOptions& options = {});
};

/// Adam with a weight decay of 0.004 unless given.
class CAPSTAN_EXPORT AdamW : public Optimizer {
 public:
  explicit AdamW(const AdamOptions& options = {});
};

/// Options of RMSprop.
struct RMSpropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0;
  double epsilon = 1e-7;
  bool centered = false;
  std::optional<double> weight_decay = {};  ///< this and what follows: see OptimizerOptions
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int> gradient_accumulation_steps = {};
  static std::span<const OptionField> fields();
};

/// v = rho v + (1 - rho) g^2, variable -= rate g / sqrt(v + epsilon); `centered` subtracts the square of the mean of g
/// from v, and with momentum m = momentum * m + (that step), variable -= m.
class CAPSTAN_EXPORT RMSprop : public Optimizer {
 public:
  explicit RMSprop(const RMSpropOptions& options = {});
};

/// Options of Adagrad.
struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = {};  ///< this and what follows: see OptimizerOptions
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int> gradient_accumulation_steps = {};
  static std::span<const OptionField> fields();
};

/// a += g^2, variable -= rate g / sqrt(a + epsilon). Row-sparse gradients touch only their rows.
class CAPSTAN_EXPORT Adagrad : public Optimizer {
 public:
  explicit Adagrad(const AdagradOptions& options = {});
};

/// Options of Adadelta.
struct AdadeltaOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.95;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = {};  ///< this and what follows: see OptimizerOptions
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int> gradient_accumulation_steps = {};
  static std::span<const OptionField> fields();
};

/// a = rho a + (1 - rho) g^2, d = sqrt(b + epsilon) / sqrt(a + epsilon) g, b = rho b + (1 - rho) d^2,
/// variable -= rate d.
class CAPSTAN_EXPORT Adadelta : public Optimizer {
 public:
  explicit Adadelta(const AdadeltaOptions& options = {});
};

/// Options of Adamax.
struct AdamaxOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = {};  ///< this and what follows: see OptimizerOptions
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int> gradient_accumulation_steps = {};
  static std::span<const OptionField> fields();
};

/// Adam with the largest gradient instead of the second moment: m += (g - m)(1 - beta_1), u = max(beta_2 u, |g|),
/// variable -= rate m / ((1 - beta_1^t) (u + epsilon)).
class CAPSTAN_EXPORT Adamax : public Optimizer {
 public:
  explicit Adamax(const AdamaxOptions& options = {});
};

/// Options of Nadam.
struct NadamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = {};  ///< this and what follows: see OptimizerOptions
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int> gradient_accumulation_steps = {};
  static std::span<const OptionField> fields();
};

/// Adam with Nesterov's momentum, whose factor u_t = beta_1 (1 - 0.96^t / 2) grows towards beta_1.
class CAPSTAN_EXPORT Nadam : public Optimizer {
 public:
  explicit Nadam(const NadamOptions& options = {});
};

/// Options of Ftrl.
struct FtrlOptions {
  LearningRate learning_rate = 0.001;
  double learning_rate_power = -0.5;
  double initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0;
  double l2_regularization_strength = 0;
  double l2_shrinkage_regularization_strength = 0;
  double beta = 0;
  std::optional<double> weight_decay = {};  ///< this and what follows: see OptimizerOptions
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int> gradient_accumulation_steps = {};
  static std::span<const OptionField> fields();
};

/// "Follow the regularised leader", for large sparse models: the variable is what its accumulated gradients and
/// penalties say, and zero where they stay below the l1 strength. Errors: ValueError for a positive power, or a
/// negative first accumulator or strength.
class CAPSTAN_EXPORT Ftrl : public Optimizer {
 public:
  explicit Ftrl(const FtrlOptions& options = {});
};

/// Options of Lion.
struct LionOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.99;
  std::optional<double> weight_decay = {};  ///< this and what follows: see OptimizerOptions
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int> gradient_accumulation_steps = {};
  static std::span<const OptionField> fields();
};

/// variable -= rate sign(beta_1 m + (1 - beta_1) g), m = beta_2 m + (1 - beta_2) g. Errors: ValueError unless beta_1 is
/// in (0, 1].
class CAPSTAN_EXPORT Lion : public Optimizer {
 public:
  explicit Lion(const LionOptions& options = {});
};

/// Options of Lamb.
struct LambOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = {};  ///< this and what follows: see OptimizerOptions
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int> gradient_accumulation_steps = {};
  static std::span<const OptionField> fields();
};

/// Adam whose step of each variable is as long as rate times the norm of the variable.
class CAPSTAN_EXPORT Lamb : public Optimizer {
 public:
  explicit Lamb(const LambOptions& options = {});
};

/// Options of Adafactor.
struct AdafactorOptions {
  LearningRate learning_rate = 0.001;
  double beta_2_decay = -0.8;
  double epsilon_1 = 1e-30;
  double epsilon_2 = 0.001;
  double clip_threshold = 1;
  /// Has no effect, as in Keras: the rate is at most 1 / sqrt(t) either way.
  bool relative_step = true;
  std::optional<double> weight_decay = {};  ///< this and what follows: see OptimizerOptions
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int> gradient_accumulation_steps = {};
  static std::span<const OptionField> fields();
};

/// Adafactor (Shazeer and Stern, arXiv 1804.04235) in Keras's form, with second moments of rows and columns. In step t,
/// of a variable of two axes or more, b = 1 - t^beta_2_decay, r = b r + (1 - b) mean of g^2 + epsilon_1 over the last
/// axis, c the same over the last but one, v = r c / mean of r over its last axis; of others v = b v + (1 - b)(g^2 +
/// epsilon_1). With u = g / sqrt(v): variable -= max(epsilon_2, rms(variable)) min(rate, 1 / sqrt(t)) u / max(1, rms(u)
/// / clip_threshold). Errors: ValueError for epsilon_1 <= 0, clip_threshold <= 0, epsilon_2 < 0 or beta_2_decay > 0.
///
///     optimizers::Adafactor optimizer({.learning_rate = 0.01});
class CAPSTAN_EXPORT Adafactor : public Optimizer {
 public:
  explicit Adafactor(const AdafactorOptions& options = {});
};

/// Options of Muon.
struct MuonOptions {
  LearningRate learning_rate = 0.001;
  double adam_beta_1 = 0.9;
  double adam_beta_2 = 0.999;
  std::optional<double> adam_weight_decay = 0.004;  ///< of the variables that Adam updates
  double epsilon = 1e-7;
  /// Regular expressions (POSIX, extended, without counts and references), searched for in paths.
  std::vector<std::string> exclude_layers = {};
  bool exclude_embeddings = true;  ///< variables with "embedding" in their path
  double muon_a = 3.4445;
  double muon_b = -4.775;
  double muon_c = 2.0315;
  double adam_lr_ratio = 1;  ///< Adam's rate is this times the rate
  double momentum = 0.95;
  int ns_steps = 5;
  bool nesterov = true;
  std::optional<double> rms_rate = 0.2;
  std::optional<double> weight_decay = 0.004;  ///< this and what follows: see OptimizerOptions
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int> gradient_accumulation_steps = {};
  static std::span<const OptionField> fields();
};

/// Steps by the momentum with its singular values made one, of matrices; Adam for other variables and excluded ones
/// (Jordan, github.com/KellerJordan/Muon; Liu et al., arXiv 2502.16982). m = momentum m + g, x = m or with `nesterov` g
/// + momentum m, x /= |x| + 1e-7, then ns_steps times x = a x + (b A + c A A) x with A = x x' (Newton and Schulz; of
/// the transpose if there are more rows than columns), variable -= rate rms_rate sqrt(longer side) x; without rms_rate
/// variable -= rate x. Errors: ValueError for ns_steps < 1, or a text that is no regular expression.
///
///     optimizers::Muon optimizer({.learning_rate = 0.01, .exclude_layers = {"logits"}});
class CAPSTAN_EXPORT Muon : public Optimizer {
 public:
  explicit Muon(const MuonOptions& options = {});
};

/// Options of ScheduleFreeAdamW.
struct ScheduleFreeAdamWOptions {
  LearningRate learning_rate = 0.0025;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-8;
  int warmup_steps = 0;
  std::optional<double> weight_decay = {};  ///< this and what follows: see OptimizerOptions
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int> gradient_accumulation_steps = {};
  static std::span<const OptionField> fields();
};

/// Adam without a schedule (Defazio et al., arXiv 2405.15682), as published. z begins as the variable. In step t, v +=
/// (g^2 - v)(1 - beta_2), x = (variable - (1 - beta_1) z) / beta_1, z -= rate min(1, t / warmup_steps) g / (sqrt(v / (1
/// - beta_2^t)) + epsilon), x += (z - x) / t, variable = (1 - beta_1) z + beta_1 x. Keras 3.15 on TensorFlow has the
/// new z in the formula of x, which is an error there. Errors: ValueError unless beta_1 is in (0, 1], or for negative
/// warmup_steps.
///
///     optimizers::ScheduleFreeAdamW optimizer({.warmup_steps = 100});
class CAPSTAN_EXPORT ScheduleFreeAdamW : public Optimizer {
 public:
  explicit ScheduleFreeAdamW(const ScheduleFreeAdamWOptions& options = {});
};

/// Options of LossScaleOptimizer.
struct LossScaleOptimizerOptions {
  double initial_scale = 32768;
  int dynamic_growth_steps = 2000;
};

/// Another optimizer, for losses that are scaled so that small gradients do not vanish in 16 bits. Give it the
/// gradients of scale_loss(loss). If all are finite, they are divided by the scale and the other optimizer makes its
/// update; after `dynamic_growth_steps` such updates in a row the scale is doubled. If one is not, there is no update,
/// and the scale is halved. The scale stays between 2^-126 and 2^127. The rate, iterations(), hooks and averages are
/// the other optimizer's. Errors: ValueError for an optimizer with a `loss_scale_factor`, or of this class; for a scale
/// that is not in those limits; for dynamic_growth_steps < 1.
///
///     optimizers::LossScaleOptimizer optimizer(optimizers::SGD({.learning_rate = 0.1}));
///     Tensor scaled = optimizer.scale_loss(loss);
///     optimizer.apply_gradients(tape.gradient(scaled, variables), variables);
class CAPSTAN_EXPORT LossScaleOptimizer : public Optimizer {
 public:
  explicit LossScaleOptimizer(const Optimizer& inner_optimizer, const LossScaleOptimizerOptions& options = {});
};

}  // namespace optimizers
}  // namespace capstan
