// What models take and give while they are trained: batches, and numbers by name.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capstan/data.h"
#include "capstan/losses.h"
#include "capstan/metrics.h"
#include "capstan/nest.h"

namespace capstan {

/// The data of one step: inputs, labels, and weights of the examples. What is not given is nothing.
struct Batch {
  Nest x;
  Nest y;
  Nest sample_weight;
};
template <>
struct Structure<Batch> : Members<&Batch::x, &Batch::y, &Batch::sample_weight> {};

/// What a step gives: scalars by name, "loss" among them.
using StepLogs = std::map<std::string, Tensor>;
/// The same as numbers.
using Logs = std::map<std::string, double>;

/// Batches, in passes: a dataset, a function that opens passes, or one that gives batch after batch.
///
///     model.fit(from_tensor_slices(x, y).shuffle(1000).batch(32), {.epochs = 5});
class CAPSTAN_EXPORT BatchSource {
 public:
  /// One pass: the next batch, or nothing at the end.
  using Pass = std::function<std::optional<Batch>()>;

  /// Opens a pass whenever it is called. `size` is the number of batches in each, if known.
  explicit BatchSource(std::function<Pass()> open, std::optional<std::int64_t> size = {})
      : open_(std::move(open)), size_(size) {}
  /// A dataset of batches: inputs, inputs and labels, or these and weights.
  template <class... Ts>
  BatchSource(const Dataset<Ts...>& dataset)
      : size_(dataset.cardinality() < 0 ? std::nullopt : std::optional(dataset.cardinality())) {
    static_assert(sizeof...(Ts) <= 3, "an element is x, (x, y) or (x, y, sample_weight)");
    open_ = [dataset]() -> Pass {
      auto iterator = std::make_shared<typename Dataset<Ts...>::Iterator>(dataset.begin());
      return [iterator]() -> std::optional<Batch> {
        const auto element = iterator->next();
        if (!element) return std::nullopt;
        if constexpr (sizeof...(Ts) == 1) {
          return Batch{*element, {}, {}};
        } else {
          return std::apply([](const auto&... items) { return Batch{items...}; }, *element);
        }
      };
    };
  }
  /// One sequence of batches for all passes, such as one that never ends: each pass goes on where the last one stopped.
  static BatchSource from_generator(Pass next) {
    return BatchSource([next = std::move(next)] { return next; });
  }

  Pass open() const { return open_(); }
  std::optional<std::int64_t> size() const { return size_; }

 private:
  std::function<Pass()> open_;
  std::optional<std::int64_t> size_;
};

/// The losses of a model's outputs: one, or one for each output, in their order or by their names; an output that is
/// not named has none. "crossentropy" and "ce" become the cross entropy that fits the shapes.
class CAPSTAN_EXPORT LossChoice {
 public:
  LossChoice() = default;
  LossChoice(const char* name) : LossChoice(by_name(name)) {}
  LossChoice(const std::string& name) : LossChoice(by_name(name)) {}
  template <class L>
  requires(std::convertible_to<const L&, Loss> && !std::convertible_to<const L&, std::string>) LossChoice(const L& loss)
      : list{Loss(loss)} {}
  LossChoice(std::initializer_list<Loss> losses) : list(losses), is_one(false) {}
  LossChoice(std::vector<Loss> losses) : list(std::move(losses)), is_one(false) {}
  LossChoice(std::map<std::string, Loss> losses) : named(std::move(losses)), is_one(false) {}

  bool has_value() const { return !list.empty() || !named.empty(); }

  std::vector<Loss> list;
  std::map<std::string, Loss> named;
  bool is_one = true;

 private:
  static Loss by_name(const std::string& name);
};

/// How much the losses of a model's outputs count, in their order or by their names; 1 unless given.
class LossWeights {
 public:
  LossWeights() = default;
  LossWeights(std::initializer_list<double> weights) : list(weights) {}
  LossWeights(std::vector<double> weights) : list(std::move(weights)) {}
  LossWeights(std::map<std::string, double> weights) : named(std::move(weights)) {}

  bool has_value() const { return !list.empty() || !named.empty(); }

  std::vector<double> list;
  std::map<std::string, double> named;
};

/// The metrics of a model's outputs: those of its one output, or for several a list for each, in their order or by
/// their names.
class CAPSTAN_EXPORT MetricChoice {
 public:
  MetricChoice() = default;
  MetricChoice(std::initializer_list<Metric> metrics) : list(metrics) {}
  MetricChoice(std::vector<Metric> metrics) : list(std::move(metrics)) {}
  MetricChoice(std::vector<std::vector<Metric>> metrics) : lists(std::move(metrics)) {}
  MetricChoice(std::map<std::string, std::vector<Metric>> metrics) : named(std::move(metrics)) {}

  bool has_value() const { return !list.empty() || !lists.empty() || !named.empty(); }

  std::vector<Metric> list;
  std::vector<std::vector<Metric>> lists;
  std::map<std::string, std::vector<Metric>> named;
};

class CallbackBody;

/// A callback of any class, and a handle to it; see capstan/callbacks.h.
class CAPSTAN_EXPORT Callback {
 public:
  explicit Callback(std::shared_ptr<CallbackBody> body) : body_(std::move(body)) {}
  CallbackBody* operator->() const { return body_.get(); }
  const std::shared_ptr<CallbackBody>& body() const { return body_; }

 private:
  std::shared_ptr<CallbackBody> body_;
};

/// What fit() recorded: for each epoch that ran its number, and each value at its end, those of the validation as
/// "val_loss" and so on.
struct History {
  std::vector<std::int64_t> epoch = {};
  std::map<std::string, std::vector<double>> history = {};

  /// Errors: ValueError for an unknown name.
  CAPSTAN_EXPORT const std::vector<double>& operator[](const std::string& name) const;
};

}  // namespace capstan
