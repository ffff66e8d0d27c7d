// What has state: named tensors, there and back.
//
// A training is to go on as if it had never stopped. What that takes is spread over objects of many kinds: weights, the
// slots of optimizers, counts, the keys of what is drawn, the position in the data. `State` is the one view of all of
// them that checkpoints have (capstan/checkpoint.h). The names of what a layer holds come from its place among the
// layers around it and from the classes, not from the names of layers, which depend on what else a program has made.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/layer.h"
#include "capstan/metrics.h"
#include "capstan/optimizers.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

using NamedTensors = std::map<std::string, Tensor>;

/// Stands for the process's random numbers: where the streams are that set_seed() starts, from which draws and layers
/// without a seed of their own take theirs.
struct RandomState {};

/// How saved tensors differ from what an object has. Each line names one tensor and says what is wrong.
struct StateDifference {
  std::vector<std::string> missing = {};     ///< the object has it, and it was not saved
  std::vector<std::string> left_over = {};   ///< it was saved, and the object has none of this name
  std::vector<std::string> mismatched = {};  ///< another shape or dtype, or a number that does not fit
};

/// What a state is of, for files that follow the structure of objects instead of names. At most one is given.
struct StateOwner {
  const Layer* layer = nullptr;
  const Optimizer* optimizer = nullptr;
  std::optional<DType> number = {};  ///< int32 for an int, whatever it is saved as
};

/// The state of one object, which a State holds. A class of your own needs none: it has `save` and `restore` instead.
class CAPSTAN_EXPORT StateBody {
 public:
  StateBody() = default;
  StateBody(const StateBody&) = delete;
  StateBody& operator=(const StateBody&) = delete;
  virtual ~StateBody();
  virtual NamedTensors save() const = 0;
  /// Takes over what fits, under the names of save(); what is not given stays.
  virtual void restore(const NamedTensors& saved) = 0;
  /// How `saved` differs from what the object has; compares with save() unless overridden.
  virtual StateDifference compare(const NamedTensors& saved) const;
  /// False if only restore() knows what can be restored, and may throw.
  virtual bool is_comparable() const { return true; }
  /// Lives as long as this.
  virtual StateOwner owner() const { return {}; }
};

/// Another object that has state: `save` gives it, under names of its own, and `restore` takes it back, or throws and
/// changes nothing. Iterators over data are such objects.
template <class T>
concept HasState = requires(const T& object, T& changed, const NamedTensors& saved) {
  { object.save() } -> std::convertible_to<NamedTensors>;
  changed.restore(saved);
};

/// A view of an object's state: of a variable, a layer or model, an optimizer, a metric, the random numbers, a number,
/// or any object with `save` and `restore`. Handles are shared; numbers and other objects are referred to and must
/// outlive the view.
///
///     std::int64_t step = 0;
///     State state(step);
///     NamedTensors saved = state.save();
///     step = 7;
///     state.restore(saved);   // step is 0 again
class CAPSTAN_EXPORT State {
 public:
  State(const Variable& variable);
  /// The weights, and the keys of the layers that draw. Errors, when it is used: ValueError before the weights are
  /// there.
  State(const Layer& layer);
  /// The number of updates, the learning rate unless it is a schedule, and the slots. An optimizer that has no slots
  /// yet keeps what it is given until they are made.
  State(const Optimizer& optimizer);
  State(const Metric& metric);
  State(const RandomState& random);
  State(std::int64_t& number);
  State(int& number);
  State(double& number);
  template <HasState T>
  requires(!std::derived_from<T, Layer>) State(T& object) : body_(std::make_shared<Own<T>>(object)) {}

  /// Copies of what there is now, by name. Errors: TraceError while a function is traced.
  NamedTensors save() const;
  /// What restoring would find; nothing is changed.
  StateDifference compare(const NamedTensors& saved) const;
  /// Takes over what was saved. Errors, before anything is changed: ValueError if something is missing, left over or
  /// of another shape, with a line for each; TraceError while a function is traced.
  void restore(const NamedTensors& saved) const;

  /// The same for those tensors whose names, shapes and dtypes the object knows; others are left out.
  void restore_matching(const NamedTensors& saved) const;
  /// Whether compare() can tell beforehand what restoring would do: not of an object of your own, whose `restore` may
  /// throw.
  bool is_comparable() const { return body_->is_comparable(); }
  /// The layer, optimizer or number; nothing of other objects.
  StateOwner owner() const { return body_->owner(); }

 private:
  template <class T>
  class Own final : public StateBody {
   public:
    explicit Own(T& object) : object_(object) {}
    NamedTensors save() const override { return object_.save(); }
    void restore(const NamedTensors& saved) override { object_.restore(saved); }
    StateDifference compare(const NamedTensors&) const override { return {}; }
    bool is_comparable() const override { return false; }

   private:
    T& object_;
  };

  std::shared_ptr<StateBody> body_;
};

/// The weights of a layer or model by name: "dense/kernel", "dense_1/bias". A layer within another has the name of its
/// class, with a number from the second one on; a layer in several places has that of the first.
///
///     layers::Dense dense(3);
///     dense(zeros({1, 2}));
///     for (const auto& [name, weight] : named_weights(dense)) std::cout << name << " " << weight.shape() << "\n";
CAPSTAN_EXPORT std::vector<std::pair<std::string, Variable>> named_weights(const Layer& layer);

}  // namespace capstan
