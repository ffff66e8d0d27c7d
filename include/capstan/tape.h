#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "capstan/structure.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

class TapeImpl;

/// What gradient() gives for a source that the target does not depend on: an empty tensor, or zeros.
enum class UnconnectedGradients : std::uint8_t { kNone, kZero };

/// A tensor or a variable whose gradient is asked for.
class CAPSTAN_EXPORT Source {
 public:
  Source() = default;
  Source(const Tensor& tensor) : tensor_(&tensor) {}
  Source(const Variable& variable) : variable_(&variable) {}
  const Tensor* tensor() const { return tensor_; }
  const Variable* variable() const { return variable_; }

 private:
  const Tensor* tensor_ = nullptr;
  const Variable* variable_ = nullptr;
};

/// Several targets: their gradient is that of their sum. A tensor, a variable, or any structure of them converts.
class CAPSTAN_EXPORT Targets {
 public:
  Targets(const Tensor& tensor) : one_(tensor), is_one_(true) {}
  Targets(const Variable& variable) : one_(variable), is_one_(true) {}
  template <class T>
  requires(!detail::Leaf<T>) Targets(const T& structure) : is_one_(false) {
    detail::for_each_leaf(structure, [this](const auto& leaf) { list_.emplace_back(leaf); });
  }
  Targets(std::initializer_list<Source> list) : is_one_(false), list_(list) {}
  Targets(std::span<const Source> list) : is_one_(false), list_(list.begin(), list.end()) {}
  std::span<const Source> list() const { return is_one_ ? std::span(&one_, 1) : std::span(list_); }

 private:
  Source one_;
  bool is_one_;
  std::vector<Source> list_;
};

/// Options of a GradientTape.
struct GradientTapeOptions {
  /// The tape serves any number of gradient() calls and keeps what it recorded until it dies.
  bool persistent = false;
  /// Reading a trainable variable watches it.
  bool watch_accessed_variables = true;
};

/// Options of GradientTape::gradient.
struct GradientOptions {
  /// One weight per target, of the target's shape and dtype: the result is the vector-Jacobian product. An empty tensor
  /// in the list means ones.
  std::vector<Tensor> output_gradients = {};
  UnconnectedGradients unconnected_gradients = UnconnectedGradients::kNone;
};

/// Options of GradientTape::jacobian and batch_jacobian.
struct JacobianOptions {
  UnconnectedGradients unconnected_gradients = UnconnectedGradients::kNone;
  /// The most rows that are computed at once, at least 2. Not given: as many as the memory below allows.
  std::optional<int> parallel_iterations = std::nullopt;
  /// False: one reverse pass for each row, on a persistent tape.
  bool experimental_use_pfor = true;
  /// About so many bytes may be in use beside the result, in blocks of rows: what the cache of a core holds.
  std::int64_t memory_budget = std::int64_t{1} << 20;
};

/// Records operations and computes gradients of what they made.
///
/// A tape records from its construction until stop(), the end of its life, or, if it is not persistent, its one
/// gradient() call; start() resumes. An op is recorded when one of its inputs is watched, or was computed from what is
/// watched, and has a floating dtype. Trainable variables are watched when they are read; tensors with watch(). Tapes
/// nest in any order; a gradient taken while another tape records is recorded by it, which gives higher orders.
///
/// A tape belongs to the thread that made it: every call from another thread throws GradientError. Tensors and
/// variables can be shared.
///
///     Variable x(3.0f);
///     GradientTape tape;
///     Tensor y = x * x;
///     Tensor dy_dx = tape.gradient(y, x);   // 6
class CAPSTAN_EXPORT GradientTape {
 public:
  explicit GradientTape(const GradientTapeOptions& options = {});
  GradientTape(GradientTape&& other) noexcept;
  GradientTape& operator=(GradientTape&& other) noexcept;
  ~GradientTape();

  /// Watches a tensor, a variable (trainable or not) or a structure of them. Ops that ran before are not recorded.
  /// Without effect while no tape of the thread records.
  template <class T>
  void watch(const T& structure) {
    detail::for_each_leaf(structure, [this](const auto& leaf) { this->watch_leaf(leaf); });
  }
  void watch(std::initializer_list<Source> list) {
    for (const Source& leaf : list)
      leaf.variable() != nullptr ? watch_leaf(*leaf.variable()) : watch_leaf(*leaf.tensor());
  }
  /// The same for a list that is made when the program runs.
  void watch(std::span<const Source> list) {
    for (const Source& leaf : list)
      leaf.variable() != nullptr ? watch_leaf(*leaf.variable()) : watch_leaf(*leaf.tensor());
  }

  /// The gradient of the target (of the sum of the targets' elements) with respect to the sources, in the structure of
  /// the sources: one tensor for one tensor or variable; vectors, arrays, pairs, tuples, maps; and user structs with a
  /// member `auto fields() { return std::tie(a, b); }` and a type `Gradients` of the same form (which may be itself).
  /// A gradient is empty (has_value() is false) if the target does not depend on the source. Gradients with respect to
  /// tables read by gather or embedding_lookup are row-sparse.
  ///
  /// Errors: GradientError if the tape has been used up; ShapeError or DTypeError for an output gradient that does not
  /// fit its target, before anything is changed. An exception from a gradient rule leaves a persistent tape usable and
  /// another one used up.
  template <class T>
  GradientsOf<T> gradient(const Targets& target, const T& sources, const GradientOptions& options = {}) {
    if constexpr (detail::Leaf<T>) {
      const Source source(sources);
      Tensor gradient;
      compute(target.list(), std::span(&source, 1), std::span(&gradient, 1), options);
      return gradient;
    } else if constexpr (constexpr std::size_t kLeaves = detail::leaf_count<T>(); kLeaves > 0) {
      std::array<Source, kLeaves> list;
      std::size_t i = 0;
      detail::for_each_leaf(sources, [&](const auto& leaf) { list[i++] = Source(leaf); });
      std::array<Tensor, kLeaves> gradients;
      compute(target.list(), list, gradients, options);
      i = 0;
      return detail::rebuild(sources, [&] { return std::move(gradients[i++]); });
    } else {
      std::vector<Source> list;
      detail::for_each_leaf(sources, [&](const auto& leaf) { list.emplace_back(leaf); });
      std::vector<Tensor> gradients(list.size());
      compute(target.list(), list, gradients, options);
      std::size_t i = 0;
      return detail::rebuild(sources, [&] { return std::move(gradients[i++]); });
    }
  }
  std::vector<Tensor> gradient(const Targets& target, std::initializer_list<Source> sources,
                               const GradientOptions& options = {}) {
    std::vector<Tensor> gradients(sources.size());
    compute(target.list(), std::span(sources.begin(), sources.size()), gradients, options);
    return gradients;
  }
  /// The same for lists that are made when the program runs, tensors and variables mixed.
  std::vector<Tensor> gradient(std::span<const Source> targets, std::span<const Source> sources,
                               const GradientOptions& options = {}) {
    std::vector<Tensor> gradients(sources.size());
    compute(targets, sources, gradients, options);
    return gradients;
  }

  /// The derivatives of each element of the target with respect to each element of the sources: for every source a
  /// tensor of shape `target.shape + source.shape`, in the structure of the sources. For a structure of targets, the
  /// same for each of them in its structure. Missing ones are empty, or zeros on request; so are those of a target that
  /// the tape does not know. Row-sparse gradients become dense. For a complex target each row is the gradient of its
  /// real part. As tf.GradientTape.jacobian.
  ///
  /// The reverse pass is traced once and then computed for all rows at once, in blocks, by the batching rules of the
  /// ops; the few ops without one run row by row, which is said once on std::cerr. What is computed is recorded by
  /// outer tapes. A tape that is not persistent is used up.
  ///
  /// Errors: GradientError for a used-up tape, and for experimental_use_pfor = false if the tape is not persistent;
  /// ValueError if parallel_iterations is less than 2; TraceError if the rule of a custom_gradient reads elements.
  ///
  ///     GradientTape tape;
  ///     tape.watch(x);                                  // x is [2]
  ///     Tensor j = tape.jacobian(x * x, x);             // [2, 2]: diag(2x)
  template <class Y, class T>
  auto jacobian(const Y& target, const T& sources, const JacobianOptions& options = {}) {
    std::vector<Source> from;
    detail::for_each_leaf(target, [&](const auto& leaf) { from.emplace_back(leaf); });
    std::vector<Source> by;
    detail::for_each_leaf(sources, [&](const auto& leaf) { by.emplace_back(leaf); });
    std::vector<Tensor> list = compute_jacobians(from, by, options);
    std::size_t i = 0;
    return detail::rebuild<GradientsOf<T>>(
        target, [&] { return detail::rebuild(sources, [&] { return std::move(list[i++]); }); });
  }
  std::vector<Tensor> jacobian(const Source& target, std::initializer_list<Source> sources,
                               const JacobianOptions& options = {}) {
    return compute_jacobians(std::span(&target, 1), std::span(sources.begin(), sources.size()), options);
  }
  /// The same for lists that are made when the program runs: for each target one tensor for each source.
  std::vector<Tensor> jacobian(std::span<const Source> targets, std::span<const Source> sources,
                               const JacobianOptions& options = {}) {
    return compute_jacobians(targets, sources, options);
  }

  /// The jacobian of each example by itself: for a target [b, ...] and a source [b, ...] a tensor of shape
  /// `[b] + target.shape[1:] + source.shape[1:]`. It assumes that example i of the target depends on example i of the
  /// source alone; otherwise an entry is the sum over all examples of the target. Zeros if they are not connected. As
  /// tf.GradientTape.batch_jacobian.
  ///
  /// Errors: those of jacobian; ShapeError for a rank below 2 and for different first lengths.
  Tensor batch_jacobian(const Source& target, const Source& source, const JacobianOptions& options = {});

  /// Pauses recording until the guard dies; other tapes go on. Errors: GradientError if the tape is not recording.
  ///
  ///     { auto pause = tape.stop_recording(); ... }
  class CAPSTAN_EXPORT Pause {
   public:
    explicit Pause(GradientTape& tape);
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    ~Pause();

   private:
    GradientTape& tape_;
  };
  [[nodiscard]] Pause stop_recording() { return Pause(*this); }

  /// Stops and resumes recording, as leaving and entering Python's `with` block. Errors: start() on a recording tape.
  void start();
  void stop();
  bool is_recording() const;

  /// Forgets everything that was recorded and watched and goes on recording. Errors: GradientError if not recording.
  void reset();

  /// The variables watched so far, in the order of their construction.
  std::vector<Variable> watched_variables() const;

  /// Why the gradient of `target` with respect to `source` is missing, in one sentence; "connected" if it is not. The
  /// reasons are: the source was never watched, or too late; target or source was computed while the tape did not
  /// record, or on another thread; a named op on the way has no gradient (stop_gradient among them), with its place on
  /// the tape; integers; a variable that was assigned in between; nothing connects them, and what the tape saw last of
  /// the source, if that went on as integers or as numbers of C++. Errors: GradientError if the tape is used up or
  /// belongs to another thread.
  std::string explain(const Source& target, const Source& source) const;

 private:
  void watch_leaf(const Tensor& tensor);
  void watch_leaf(const Variable& variable);
  std::vector<Tensor> compute_jacobians(std::span<const Source> targets, std::span<const Source> sources,
                                        const JacobianOptions& options);
  void compute(std::span<const Source> targets, std::span<const Source> sources, std::span<Tensor> gradients,
               const GradientOptions& options);

  TapeImpl* impl_;
};

/// The result of a function with a gradient of its own: see custom_gradient.
struct CustomGradientResult {
  std::vector<Tensor> outputs;
  /// Takes one cotangent per output and returns one gradient per argument; an empty tensor is a missing gradient.
  std::function<std::vector<Tensor>(std::span<const Tensor> cotangents)> gradient;
  /// For trainable variables that the function reads beside its arguments: takes the cotangents and the variables and
  /// returns one gradient per variable. Required if there are any.
  std::function<std::vector<Tensor>(std::span<const Tensor> cotangents, std::span<const Variable> variables)>
      variable_gradient = nullptr;
  /// For forward mode, if there is a better way than the transpose of the gradient function: takes one tangent per
  /// argument, zeros where nothing moves, and returns one per output; an empty tensor is a zero one. Only for functions
  /// that read no trainable variables beside their arguments.
  std::function<std::vector<Tensor>(std::span<const Tensor> tangents)> jvp = nullptr;
};

/// Calls `f(arguments)`, whose gradient is the function that it returns beside its outputs, instead of what its ops
/// say.
///
/// The gradient function's ops are recorded by outer tapes, so higher orders exist. In a traced function the gradient
/// function is traced as well, with the variables as they are at the call, and cannot assign any; in a vectorized_map
/// it is traced for one row and run for all. Errors: GradientError when the number of gradients is not that of the
/// arguments (thrown by gradient()), or if f reads trainable variables and gives no variable_gradient (thrown here).
///
///     Tensor y = custom_gradient([](std::span<const Tensor> in) -> CustomGradientResult {
///       Tensor e = exp(in[0]);
///       return {{log(1 + e)}, [e](std::span<const Tensor> g) -> std::vector<Tensor> {
///         return {g[0] * (1 - 1 / (1 + e))};
///       }};
///     }, {x})[0];
CAPSTAN_EXPORT std::vector<Tensor> custom_gradient(
    const std::function<CustomGradientResult(std::span<const Tensor> arguments)>& f, Operands arguments);

/// The same as a function of tensors, in the form of tf.custom_gradient: `f(tensors...)` returns its result, a tensor
/// or a structure of tensors, and beside it the gradient function, which takes the same structure of cotangents and
/// returns the gradients of all arguments: a tensor for one, a tuple or vector for several.
///
///     auto log1pexp = custom_gradient([](const Tensor& x) {
///       Tensor e = exp(x);
///       return std::pair(log(1 + e), [e](const Tensor& g) { return g * (1 - 1 / (1 + e)); });
///     });
///     Tensor y = log1pexp(x);
template <class F>
auto custom_gradient(F f) {
  return [f = std::move(f)]<class... Arguments>(const Arguments&... arguments) {
    using Pair = std::invoke_result_t<const F&, std::conditional_t<false, Arguments, const Tensor&>...>;
    static_assert(
        requires { typename Pair::second_type; },
        "a function for custom_gradient returns std::pair(result, gradient): a tensor or a structure of "
        "tensors, and the function that takes its cotangents");
    std::optional<GradientsOf<typename Pair::first_type>> form;
    const auto body = [&](std::span<const Tensor> in) {
      auto [value, rule] = [&]<std::size_t... I>(std::index_sequence<I...>) { return f(in[I]...); }
      (std::index_sequence_for<Arguments...>());
      form = detail::rebuild(value, [] { return Tensor(); });
      CustomGradientResult result;
      detail::for_each_leaf(value, [&](const Tensor& leaf) { result.outputs.push_back(leaf); });
      result.gradient = [form = *form, rule = std::move(rule)](std::span<const Tensor> cotangents) {
        std::size_t i = 0;
        std::vector<Tensor> gradients;
        detail::for_each_leaf(rule(detail::rebuild(form, [&] { return cotangents[i++]; })),
                              [&](const Tensor& leaf) { gradients.push_back(leaf); });
        return gradients;
      };
      return result;
    };
    const std::vector<Tensor> outputs = custom_gradient(body, Operands{Operand(arguments)...});
    std::size_t i = 0;
    return detail::rebuild(*form, [&] { return outputs[i++]; });
  };
}

/// Calls f; the cotangent of output i becomes the gradient of argument i (a straight-through estimator).
///
///     auto round_through = [](std::span<const Tensor> v) { return std::vector{round(v[0])}; };
///     Tensor y = grad_pass_through(round_through, {x})[0];
CAPSTAN_EXPORT std::vector<Tensor> grad_pass_through(
    const std::function<std::vector<Tensor>(std::span<const Tensor> arguments)>& f, Operands arguments);

}  // namespace capstan
