// The quantities of a program: values, derivatives, second derivatives, and where functions are around them.
#include <cmath>

#include "tests/nested/run_with_transforms.h"

namespace capstan::nested {
namespace {

constexpr std::array<const char*, kQuantities> kQuantityNames = {
    "value", "reverse", "forward", "reverse over reverse", "forward over reverse", "reverse over forward"};
constexpr std::array<const char*, kPlaces> kPlaceNames = {"eager", "inside a function", "around a function"};

Tensor slice_of(const std::array<double, kCoordinates>& direction, int source) {
  const auto begin = direction.begin() + source;
  if (!is_table(source)) return constant(*begin, float64);
  return constant(std::vector<double>(begin, begin + kTableSize));
}

// What is differentiated by, for this argument, in the order of kSources.
struct Sources {
  const Leaves& leaves;
  const Tensor& a;
  std::vector<Tensor> directions;

  std::vector<Source> list() const { return {leaves.w, leaves.x, leaves.v, a, leaves.t, leaves.u}; }
  std::vector<Tensor> gradient(GradientTape& tape, const Targets& y, const GradientOptions& options = {}) const {
    return tape.gradient(y, {leaves.w, leaves.x, leaves.v, a, leaves.t, leaves.u}, options);
  }
  void watch(GradientTape& tape) const { tape.watch({leaves.w, leaves.x, leaves.v, a, leaves.t, leaves.u}); }
  Primals primals() const { return {leaves.w, leaves.x, leaves.v, a, leaves.t, leaves.u}; }
};

template <class F>
std::vector<Tensor> reverse_of_gradient(const Sources& sources, const F& y_of) {
  GradientTape outer;
  sources.watch(outer);
  GradientTape inner;
  sources.watch(inner);
  const Tensor y = y_of(sources.a);
  std::vector<Tensor> targets;
  GradientOptions options;
  const std::vector<Tensor> gradients = sources.gradient(inner, y);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].has_value()) continue;
    targets.push_back(gradients[i]);
    options.output_gradients.push_back(sources.directions[i]);
  }
  if (targets.empty()) return std::vector<Tensor>(gradients.size());
  return sources.gradient(outer, targets, options);
}

template <class F>
std::vector<Tensor> compute_here(Quantity quantity, const Sources& sources, const F& y_of) {
  switch (quantity) {
    case Quantity::kValue:
      return {y_of(sources.a)};
    case Quantity::kReverse: {
      GradientTape tape;
      sources.watch(tape);
      const Tensor y = y_of(sources.a);
      return sources.gradient(tape, y);
    }
    case Quantity::kForward: {
      const ForwardAccumulator accumulator(sources.primals(), sources.directions);
      return {accumulator.jvp(y_of(sources.a))};
    }
    case Quantity::kReverseOverReverse:
      return reverse_of_gradient(sources, y_of);
    case Quantity::kForwardOverReverse: {
      const ForwardAccumulator accumulator(sources.primals(), sources.directions);
      GradientTape tape;
      sources.watch(tape);
      const Tensor y = y_of(sources.a);
      std::vector<Tensor> result;
      for (const Tensor& gradient : sources.gradient(tape, y)) {
        result.push_back(gradient.has_value() ? accumulator.jvp(gradient) : Tensor());
      }
      return result;
    }
    case Quantity::kReverseOverForward: {
      GradientTape tape;
      sources.watch(tape);
      const ForwardAccumulator accumulator(sources.primals(), sources.directions);
      const Tensor tangent = accumulator.jvp(y_of(sources.a));
      return tangent.has_value() ? sources.gradient(tape, tangent) : std::vector<Tensor>(kSources.size());
    }
  }
  return {};
}

}  // namespace

const char* name_of(Quantity quantity) { return kQuantityNames[static_cast<std::size_t>(quantity)]; }
const char* name_of(Place place) { return kPlaceNames[static_cast<std::size_t>(place)]; }

std::vector<Tensor> compute(const Program& program, Quantity quantity, Place place,
                            const std::array<double, kCoordinates>& direction) {
  const Leaves leaves = make_leaves(program);
  const auto functions = std::make_shared<KeptFunctions>();
  const auto y_of = [&](const Tensor& a) { return evaluate(program, leaves, a, functions); };
  std::vector<Tensor> directions;
  for (int source : kSources) directions.push_back(slice_of(direction, source));
  const auto dense = [](std::vector<Tensor> tensors) {
    for (Tensor& tensor : tensors) {
      if (tensor.has_value()) tensor = tensor.to_dense();
    }
    return tensors;
  };
  if (place == Place::kEager) {
    if (quantity != Quantity::kValue) y_of(leaves.a);  // What keeps functions has traced them without a tape.
    return dense(compute_here(quantity, {leaves, leaves.a, directions}, y_of));
  }
  if (place == Place::kAround) {
    auto f = function(y_of);
    f(leaves.a);
    return dense(compute_here(quantity, {leaves, leaves.a, directions}, [&](const Tensor& a) { return f(a); }));
  }
  // A function returns what has a value.
  std::vector<bool> found;
  auto f = function([&](const Tensor& a) {
    std::vector<Tensor> present;
    found.clear();
    for (const Tensor& tensor : compute_here(quantity, {leaves, a, directions}, y_of)) {
      found.push_back(tensor.has_value());
      if (tensor.has_value()) present.push_back(tensor.to_dense());
    }
    return present;
  });
  f(leaves.a);
  const std::vector<Tensor> present = f(leaves.a);
  std::vector<Tensor> results;
  std::size_t next = 0;
  for (const bool has_value : found) results.push_back(has_value ? present[next++] : Tensor());
  return results;
}

}  // namespace capstan::nested
