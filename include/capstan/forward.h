#pragma once

#include <concepts>
#include <initializer_list>
#include <span>
#include <vector>

#include "capstan/tape.h"

namespace capstan {

class AccumulatorImpl;

/// What tangents are given for: a tensor, a variable, or any structure of them.
using Primals = Targets;

/// One tangent for each primal: a tensor, a variable, a plain number, braces of these, or a structure of tensors. Use
/// it as a parameter type only: it does not keep its tensors alive.
class CAPSTAN_EXPORT Tangents {
 public:
  template <std::convertible_to<Operand> T>
  Tangents(const T& one) : list_{Operand(one)} {}
  Tangents(std::initializer_list<Operand> list) : list_(list) {}
  Tangents(std::span<const Operand> list) : list_(list.begin(), list.end()) {}
  template <class T>
  requires(!std::convertible_to<const T&, Operand>) Tangents(const T& structure) {
    detail::for_each_leaf(structure, [this](const auto& leaf) { list_.emplace_back(leaf); });
  }
  std::span<const Operand> list() const { return list_; }

 private:
  std::vector<Operand> list_;
};

/// Forward mode: computes Jacobian-vector products while the ops run.
///
/// From its construction until stop() or the end of its life each op that depends on a primal also computes the tangent
/// of its result: the derivative along the direction that the tangents of the primals give. The cost is about that of
/// the ops once more, for any number of results, and nothing is kept: a tangent lives as long as its tensor does. For
/// few results and many sources use a GradientTape.
///
/// Accumulators and tapes nest in any order. Each sees what those inside of it compute: a tape around an accumulator
/// differentiates its tangents, and an accumulator around a tape has the tangents of its gradients, which are
/// Hessian-vector products. Inside of function() and around one it works as outside.
///
/// Primals are tensors, variables (whatever is read of them has their tangent, also after an assignment), or a
/// structure of them; integers keep their tangent and give none to what is computed from them. A function with a
/// gradient of its own (custom_gradient) has the tangents that follow from that.
///
/// Errors: ValueError for another number of tangents than primals, for a primal that is given twice and for empty
/// tensors; ShapeError and DTypeError for a tangent that does not fit its primal (a number takes its dtype). Like a
/// tape, an accumulator belongs to the thread that made it: GradientError elsewhere.
///
///     Tensor x = constant({1.0, 2.0});
///     ForwardAccumulator accumulator(x, constant({1.0, 0.0}));
///     Tensor y = x * x;
///     accumulator.jvp(y);                                        // [2, 0]
class CAPSTAN_EXPORT ForwardAccumulator {
 public:
  ForwardAccumulator(const Primals& primals, const Tangents& tangents);
  ForwardAccumulator(const ForwardAccumulator&) = delete;
  ForwardAccumulator& operator=(const ForwardAccumulator&) = delete;
  ~ForwardAccumulator();

  /// More primals, from now on. The tangent of one that already has one is increased.
  void watch(const Primals& primals, const Tangents& tangents);

  /// The tangents of a tensor, a variable or a structure of them, in the same structure: looked up, not computed, at
  /// any time and any number of times. A tangent is empty (has_value() is false) where nothing depends on the primals,
  /// or zeros with UnconnectedGradients::kZero. Errors: ValueError for an empty tensor.
  template <class T>
  GradientsOf<T> jvp(const T& targets, UnconnectedGradients unconnected_gradients = UnconnectedGradients::kNone) const {
    if constexpr (detail::Leaf<T>) {
      return look_up(targets, unconnected_gradients);
    } else {
      std::vector<Tensor> tangents;
      detail::for_each_leaf(targets,
                            [&](const auto& leaf) { tangents.push_back(look_up(leaf, unconnected_gradients)); });
      std::size_t i = 0;
      return detail::rebuild(targets, [&] { return std::move(tangents[i++]); });
    }
  }

  /// Stops and resumes, as leaving and entering Python's `with` block; what is known stays known. When it resumes, it
  /// is then the innermost of all that is active. Errors: GradientError for start() on an active accumulator.
  void start();
  void stop();
  bool is_recording() const;

 private:
  Tensor look_up(const Source& target, UnconnectedGradients unconnected_gradients) const;

  AccumulatorImpl* impl_;
};

}  // namespace capstan
