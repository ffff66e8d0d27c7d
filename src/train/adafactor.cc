// Adafactor: second moments of the rows and columns of a matrix, steps in proportion to the variable.
#include <algorithm>
#include <cmath>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/optimizers.h"
#include "capstan/update_rule.h"
#include "src/train/classes.h"

namespace capstan {
namespace optimizers {

std::span<const OptionField> AdafactorOptions::fields() {
  using O = AdafactorOptions;
  static constexpr auto all = with_optimizer_options<O>(
      {option<&O::beta_2_decay>("beta_2_decay").at_most(0), option<&O::epsilon_1>("epsilon_1").above(0),
       option<&O::epsilon_2>("epsilon_2").at_least(0), option<&O::clip_threshold>("clip_threshold").above(0),
       option<&O::relative_step>("relative_step")});
  return all;
}

namespace {

Tensor root_mean_square(const Tensor& x) { return sqrt(reduce_mean(x * x)); }

struct AdafactorRule final : Rule<AdafactorRule, AdafactorOptions> {
  using Rule::Rule;
  static constexpr std::string_view kName = "Adafactor";
  static constexpr std::string_view kText = "Adam with second moments of rows and columns only.";

  // The moments of rows lack the last axis, those of columns the last but one.
  std::vector<Slot> slots(const Variable& variable) const override {
    const Shape shape = variable.shape();
    const int rank = shape.rank();
    if (rank < 2) return {{"velocity"}};
    Shape rows, columns;
    for (int axis = 0; axis < rank; ++axis) {
      if (axis != rank - 1) rows.push_back(shape[axis]);
      if (axis != rank - 2) columns.push_back(shape[axis]);
    }
    return {{.name = "r", .shape = rows}, {.name = "c", .shape = columns}, {"velocity"}};
  }

  Numbers numbers(const Moment& now) const override {
    const auto t = static_cast<double>(now.step);
    return {std::min(now.learning_rate, 1 / std::sqrt(t)), 1 - std::pow(t, options.beta_2_decay)};
  }

  void step(UpdateStep& s) const override {
    const Tensor& w = s.variable();
    if (w.size() == 0) return;  // means of nothing
    const Tensor u = direction(s);
    const Tensor u_clipped = u / maximum(root_mean_square(u) / options.clip_threshold, 1);
    s.set_variable(w - maximum(root_mean_square(w), options.epsilon_2) * s.rate() * u_clipped);
  }

 private:
  // The gradient by the root of its second moment.
  Tensor direction(UpdateStep& s) const {
    const Tensor& g = s.gradient();
    const Tensor& b = s.number(1);
    const Tensor square = g * g + options.epsilon_1;
    if (s.slot_count() == 1) {
      const Tensor v = s.slot(0) * b + square * (1 - b);
      s.set_slot(0, v);
      return g / sqrt(v);
    }
    const Tensor r = s.slot(0) * b + reduce_mean(square, {-1}) * (1 - b);
    const Tensor c = s.slot(1) * b + reduce_mean(square, {-2}) * (1 - b);
    const Tensor rows = expand_dims(r / reduce_mean(r, {-1}, {.keepdims = true}), -1);
    const Tensor columns = expand_dims(c, -2);
    s.set_slot(0, r);
    s.set_slot(1, c);
    s.set_slot(2, rows * columns);
    // Two roots, because the product of two tiny moments is zero in float32, where a row and a column have no gradient.
    return g / (sqrt(rows) * sqrt(columns));
  }
};

}  // namespace

Adafactor::Adafactor(const AdafactorOptions& options) : Optimizer(make_configurable<AdafactorRule>(options)) {}

}  // namespace optimizers

const ClassInfo& detail::adafactor_class() { return optimizers::AdafactorRule::info(); }

}  // namespace capstan
