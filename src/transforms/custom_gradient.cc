// Functions with a gradient of their own.
//
// The function runs as usual, its ops recorded like any others; its outputs are then copied by identity with recording
// paused, and the copies are recorded as made by one op whose rule is the function's. So the ops inside are not reached
// from the outputs, while intermediates that leak out by a closure still carry their ordinary gradients.
//
// In a trace the copies come from a node that holds the rule as a graph: the gradient function is traced at once, with
// symbolic cotangents, and what it uses from around it becomes inputs of the node. So whoever differentiates the graph
// later, to any order, has the rule, although the C++ function that says it is not called again. A program, which has
// no gradients, drops the node (see simplify). What goes wrong while the gradient function is traced is thrown by
// whoever asks for the gradient, as it would be without a trace.
#include <algorithm>
#include <exception>

#include "capstan/ops/math.h"
#include "capstan/tape.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/variable_state.h"
#include "src/graph/control.h"
#include "src/tape/tape_impl.h"
#include "src/transforms/control_parts.h"

namespace capstan {

namespace {

// --- In traces ---

// Its inputs are the outputs of the function, then what they are differentiated by (arguments, captured variables),
// then what the rule uses beside these. Behind the inputs, the slots of the rule are the cotangents.
struct CustomNode final : Control {
  Subgraph rule;
  std::exception_ptr failure;  // what tracing the rule has thrown
  std::size_t sources = 0;

  std::vector<Tensor> run(std::vector<Tensor> inputs, EffectLog*) const override {
    std::vector<Tensor> copies;
    {
      const PauseObservers pause;
      for (std::size_t k = 0; k < outputs.size(); ++k) copies.push_back(identity(inputs[k]));
    }
    if (context.observers == nullptr) return copies;
    std::vector<ObservedInput> observed;
    for (std::size_t i = outputs.size(); i < outputs.size() + sources; ++i) {
      observed.push_back({inputs[i].block(), inputs[i].block()->node});
    }
    const auto kept = std::static_pointer_cast<const CustomNode>(shared_from_this());
    const CustomRule rule_now{
        [kept, inputs](std::span<const Tensor> cotangents) { return kept->gradients(inputs, cotangents); }};
    notify(context.observers, CustomCall{observed, copies, rule_now});
    return copies;
  }

  // One for each source.
  std::vector<Tensor> gradients(std::vector<Tensor> slots, std::span<const Tensor> cotangents) const {
    if (failure != nullptr) std::rethrow_exception(failure);
    slots.insert(slots.end(), cotangents.begin(), cotangents.end());
    std::vector<Tensor> inputs;
    for (const std::size_t slot : rule.from) inputs.push_back(slots[slot]);
    return run_graph(rule.graph, std::move(inputs));
  }

  void infer(const Call& call, OutputSpecs& specs) const override {
    for (int k = 0; k < static_cast<int>(outputs.size()); ++k) specs.add(call.input(k).dtype(), call.input(k).shape());
  }
  std::string difference(const Control& other) const override {
    return difference_of(rule, static_cast<const CustomNode&>(other).rule);
  }
  std::vector<const Subgraph*> parts() const override { return {&rule}; }
};

void custom_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  // Behind the end of a trace its nodes may be gone.
  if (context.tracer == nullptr) detail::throw_symbolic("gradient", call.input(0).block());
  const auto& node = static_cast<const CustomNode&>(*call.attributes<ControlAttributes>().control);
  std::vector<Tensor> inputs;
  std::vector<Tensor> weights;
  for (int i = 0; i < call.input_count(); ++i) inputs.push_back(call.input(i));
  for (std::size_t k = 0; k < node.outputs.size(); ++k) weights.push_back(call.cotangent(static_cast<int>(k)));
  std::vector<Tensor> gradients = node.gradients(std::move(inputs), weights);
  std::move(gradients.begin(), gradients.end(), cotangents.begin() + static_cast<std::ptrdiff_t>(node.outputs.size()));
}

constinit const OpDef kCustomNode = {
    .name = "custom_gradient",
    .text = "The results of a function with a gradient of its own; made in traces alone.",
    .flags = kTakesAnyDTypes | kReturnsViews,
    .arity = kVariadic,
    .outputs = kVariadic,
    .input_names = "inputs",
    .attributes = &kControlAttributes,
    .infer = infer_control,
    .kernel = run_control_kernel,
    .saves = {.inputs = 1},
    .vjp = custom_vjp,
};

void check_gradient(const Tensor& gradient, std::size_t position, const Tensor& source) {
  if (!gradient.has_value()) return;
  CAPSTAN_CHECK(gradient.dtype() == source.dtype(), DTypeError, "custom_gradient: gradient ", position, " is ",
                gradient.dtype(), ", its argument ", source.dtype());
  CAPSTAN_CHECK(gradient.shape() == source.shape(), ShapeError, "custom_gradient: gradient ", position, " has shape ",
                gradient.shape(), ", its argument ", source.shape());
}

// The copies of what a function gave while a trace is under way, and its rule for everybody who sees the trace.
std::vector<Tensor> trace_custom(std::span<const Tensor> results, std::span<const Tensor> sources,
                                 const TensorMap& vjp) {
  const auto node = std::make_shared<CustomNode>();
  node->op = &kCustomNode;
  node->gives_inputs = true;
  node->sources = sources.size();
  std::vector<Tensor> inputs(results.begin(), results.end());
  inputs.insert(inputs.end(), sources.begin(), sources.end());
  ControlParts parts("custom_gradient", std::move(inputs));
  constexpr std::size_t kCotangents = std::size_t{1} << 32;  // slots, as long as the number of inputs is not known
  std::vector<ControlParts::Argument> cotangents;
  for (const Tensor& result : results) {
    node->outputs.push_back({result.dtype(), result.shape()});
    cotangents.push_back({kCotangents + cotangents.size(), node->outputs.back()});
  }
  auto body = [&](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
    tensors = vjp(tensors);
    for (std::size_t i = 0; i < tensors.size(); ++i) check_gradient(tensors[i], i, sources[i]);
    return nullptr;
  };
  try {
    node->rule = parts.trace("rule", cotangents, detail::FunctionBody(body));
    CAPSTAN_CHECK(node->rule.written.empty(), GradientError,
                  "custom_gradient: in a traced function its rule cannot assign variables",
                  help("assign them in the function that it belongs to"));
  } catch (...) {
    node->failure = std::current_exception();
  }
  for (std::size_t& slot : node->rule.from) slot = slot < kCotangents ? slot : slot - kCotangents + parts.size();
  std::vector<bool> reached(parts.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const bool exists = node->failure != nullptr || node->rule.graph.results[i] != Graph::kNone;
    reached[results.size() + i] = exists && is_differentiable(sources[i].dtype());
  }
  node->paths.assign(results.size(), reached);
  return parts.finish(*node, {});
}

// --- Both ---

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

  if (result.outputs.empty()) return {};

  const std::size_t argument_count = values.size();
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
  for (const Variable& variable : captured) values.push_back(current_value(*variable.state()));
  if (context.tracer != nullptr) return trace_custom(result.outputs, values, rule.vjp);

  std::vector<Tensor> outputs;
  {
    PauseObservers pause;
    for (const Tensor& output : result.outputs) outputs.push_back(identity(output));
  }
  if (context.observers == nullptr) return outputs;
  for (std::size_t i = inputs.size(); i < values.size(); ++i)
    inputs.push_back({values[i].block(), values[i].block()->node});
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
