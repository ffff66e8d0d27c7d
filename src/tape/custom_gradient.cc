// Functions with a gradient of their own.
//
// The function runs as usual, its ops recorded like any others; its outputs are then copied by identity with recording
// paused, and the copies are recorded as made by one op whose rule is the function's. So the ops inside are not reached
// from the outputs, while intermediates that leak out by a closure still carry their ordinary gradients.
#include <algorithm>

#include "capstan/ops/math.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/ops/shape.h"
#include "src/tape/tape_impl.h"

namespace capstan {

constinit const OpDef kCustomGradient = {
    .name = "custom_gradient",
    .text = "A function with a gradient of its own; made by custom_gradient().",
    .kind = OpKind::kComposite,
    .arity = kVariadic,
    .outputs = kVariadic,
};

namespace {

// The rule is a C++ function, which knows nothing of the graph that a trace makes. A tape inside the trace has it; one
// that sees the graph run later would take the ops' own rules instead, so it is told.
constinit const OpDef kResultOfCustomGradient = {
    .name = "result_of_custom_gradient",
    .text = "A result of a function with a gradient of its own; made in traces alone.",
    .flags = kReturnsViews | kReshapes,
    .infer = infer_first,
    .kernel = view_first,
    .vjp =
        [](const VjpCall&, std::span<Tensor>) {
          throw GradientError(
              "custom_gradient: inside a traced function its rule is known only to tapes that are inside as well" +
              std::string(help("take the gradient within the function, or apply custom_gradient outside of it")));
        },
};

// Collects the trainable variables that are read while it is installed.
class ReadCollector final : public Observer {
 public:
  ReadCollector() { enter(); }
  ~ReadCollector() { leave(); }  // a tape that the function left running may stand before it
  ReadCollector(const ReadCollector&) = delete;
  ReadCollector& operator=(const ReadCollector&) = delete;

  void record(const ObservedCall&) override {}
  void record(const CustomCall&) override {}
  void read(detail::VariableState& variable) override {
    const auto same = [&](const Variable& v) { return v.state() == &variable; };
    if (variable.trainable && std::none_of(variables.begin(), variables.end(), same)) {
      variables.push_back(Variable::share(&variable));
    }
  }

  std::vector<Variable> variables;
};

}  // namespace

std::vector<Tensor> custom_gradient(const std::function<CustomGradientResult(std::span<const Tensor>)>& f,
                                    Operands arguments) {
  std::vector<ObservedInput> inputs;
  std::vector<Tensor> values;
  std::vector<const detail::VariableState*> variables;  // those among the arguments, which are not captured
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Operand operand = arguments[i];
    // A variable is one of the arguments itself: its value block is the leaf.
    if (operand.kind() == Operand::Kind::kVariable && operand.variable() != nullptr) {
      notify_read(*operand.variable());
      values.push_back(current_value(*operand.variable()));
      variables.push_back(operand.variable());
    } else {
      values.push_back(to_tensor(operand));
    }
    inputs.push_back({values.back().block(), values.back().block()->node});
  }

  CustomGradientResult result;
  std::vector<Variable> captured;
  {
    ReadCollector collector;
    result = f(values);
    captured = std::move(collector.variables);
  }
  std::erase_if(captured, [&](const Variable& variable) {
    return std::find(variables.begin(), variables.end(), variable.state()) != variables.end();
  });
  CAPSTAN_CHECK(captured.empty() || result.variable_gradient != nullptr, GradientError,
                "custom_gradient: the function reads ", captured.size(), " trainable variables, the first \"",
                captured.empty() ? "" : captured[0].name(), "\", and gives no gradient for them",
                help("set variable_gradient, or pass the variables as arguments"));

  std::vector<Tensor> outputs;
  {
    PauseObservers pause;
    for (const Tensor& output : result.outputs) {
      outputs.push_back(context.tracer == nullptr ? identity(output) : apply(kResultOfCustomGradient, output));
    }
  }
  if (context.observers == nullptr || outputs.empty()) return outputs;

  const std::size_t argument_count = inputs.size();
  for (const Variable& variable : captured) {
    const Tensor& value = current_value(*variable.state());
    inputs.push_back({value.block(), value.block()->node});
  }
  const CustomRule rule{[result, captured, argument_count](std::span<const Tensor> cotangents) {
    std::vector<Tensor> gradients = result.gradient(cotangents);
    CAPSTAN_CHECK(gradients.size() == argument_count, GradientError, "custom_gradient: expected ", argument_count,
                  " gradients, not ", gradients.size());
    if (!captured.empty()) {
      std::vector<Tensor> more = result.variable_gradient(cotangents, captured);
      CAPSTAN_CHECK(more.size() == captured.size(), GradientError, "custom_gradient: expected ", captured.size(),
                    " gradients of variables, not ", more.size());
      gradients.insert(gradients.end(), more.begin(), more.end());
    }
    return gradients;
  }};
  notify(context.observers, CustomCall{inputs, outputs, rule});
  return outputs;
}

std::vector<Tensor> grad_pass_through(const std::function<std::vector<Tensor>(std::span<const Tensor>)>& f,
                                      Operands arguments) {
  return custom_gradient(
      [&f](std::span<const Tensor> values) -> CustomGradientResult {
        return {.outputs = f(values),
                .gradient = [](std::span<const Tensor> g) { return std::vector<Tensor>(g.begin(), g.end()); },
                .variable_gradient =
                    [](std::span<const Tensor>, std::span<const Variable> variables) {
                      return std::vector<Tensor>(variables.size());
                    }};
      },
      std::move(arguments));
}

}  // namespace capstan
