#include "src/transforms/open_lengths.h"

#include <cstddef>
#include <cstdint>
#include <exception>

#include "capstan/error.h"
#include "src/core/check.h"
#include "src/transforms/trace.h"

namespace capstan {

namespace {

// What open lengths are in two traces: the first axis, which is the batch, and the others. These differ from axis to
// axis of all inputs if the function takes that, so that they can be told apart, and else from axis to axis of each.
struct Trial {
  std::int64_t first = 0, second = 0, step = 0;
  bool is_shared = false;
};
constexpr std::int64_t kBatch = 3, kOtherBatch = 67;
constexpr Trial kTrials[] = {{64, 192, 16, false}, {64, 192, 16, true}, {16, 48, 4, false},
                             {16, 48, 4, true},    {8, 12, 2, false},   {8, 12, 2, true}};

std::vector<Shape> shapes_of(const std::vector<TensorSpec>& specs, const Trial& trial, bool second) {
  std::vector<Shape> shapes;
  std::int64_t number = 0;
  for (const TensorSpec& spec : specs) {
    Shape shape = *spec.shape;
    if (trial.is_shared) number = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (axis > 0) ++number;
      if (shape[axis] != -1) continue;
      const std::int64_t length = second ? trial.second + 2 * trial.step * number : trial.first + trial.step * number;
      shape.set(axis, axis > 0 ? length : second ? kOtherBatch : kBatch);
    }
    shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace

TwoTraces trace_open(const std::string& op, const std::vector<TensorSpec>& specs, const TraceForShapes& trace,
                     const std::function<void(const Graph&, const Graph&)>& check) {
  bool is_open = false;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    CAPSTAN_CHECK(specs[i].shape.has_value(), ValueError, op, ": the rank of input ", i, ", ", specs[i].to_string(),
                  ", is open", help("give a shape, with -1 for lengths that are open"));
    for (const std::int64_t length : *specs[i].shape) is_open = is_open || length == -1;
  }
  if (!is_open) return {trace(shapes_of(specs, kTrials[0], false)), nullptr};
  std::exception_ptr error;
  for (const Trial& trial : kTrials) {
    try {
      TwoTraces traces{trace(shapes_of(specs, trial, false)), trace(shapes_of(specs, trial, true))};
      check(traced_graph(*traces.first), traced_graph(*traces.second));
      return traces;
    } catch (const std::exception&) {
      // Lengths that the function does not take say nothing about others.
      if (error == nullptr) error = std::current_exception();
    }
  }
  std::rethrow_exception(error);
}

TwoTraces trace_open(const std::string& op, const std::vector<TensorSpec>& specs, const detail::FunctionBody& body,
                     const std::function<void(const Graph&, const Graph&)>& check) {
  const auto trace = [&](const std::vector<Shape>& shapes) -> std::shared_ptr<const ConcreteState> {
    detail::CallSignature signature;
    signature.key.push_back(0);
    for (std::size_t i = 0; i < specs.size(); ++i) signature.add(TensorSpec(shapes[i], specs[i].dtype));
    return detail::make_concrete(detail::make_function({.name = op}), signature, body);
  };
  return trace_open(op, specs, trace, check);
}

}  // namespace capstan
