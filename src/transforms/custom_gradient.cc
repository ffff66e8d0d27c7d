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
// whoever asks for the gradient, as it would be without a trace. A rule for tangents, if there is one, is a second
// graph. For many items at once the results are copied like any others, and the graphs of the rules run for all items.
#include <algorithm>
#include <exception>
#include <optional>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/live.h"
#include "src/core/variable_state.h"
#include "src/graph/control.h"
#include "src/ops/batching.h"
#include "src/tape/tape_impl.h"
#include "src/transforms/batching.h"
#include "src/transforms/control_nodes.h"
#include "src/transforms/control_parts.h"
#include "src/transforms/uses.h"

namespace capstan {

namespace {

// --- In traces ---

std::vector<Tensor> with_zeros(std::span<const Tensor> tangents, std::span<const Tensor> like) {
  std::vector<Tensor> filled(tangents.begin(), tangents.end());
  for (std::size_t i = 0; i < filled.size(); ++i) {
    if (!filled[i].has_value()) filled[i] = zeros_like(like[i]);
  }
  return filled;
}

// Its inputs are the outputs of the function, then what they are differentiated by (arguments, captured variables),
// then what the rule uses beside these. After the inputs, the slots of the rule are the cotangents.
struct CustomNode final : Control {
  Subgraph rule;
  std::optional<Subgraph> tangent_rule;  // whose slots after the inputs are the tangents of the sources
  std::exception_ptr failure;            // what tracing the rules has thrown
  std::size_t sources = 0;

  std::vector<Tensor> run(std::vector<Tensor> inputs, EffectLog*) const override {
    std::vector<Tensor> given = copies(std::span(inputs).first(outputs.size()));
    if (context.observers == nullptr) return given;
    const std::vector<ObservedInput> by = observed(std::span(inputs).subspan(outputs.size(), sources));
    const auto kept = std::static_pointer_cast<const CustomNode>(shared_from_this());
    CustomRule rule_now{
        [kept, inputs](std::span<const Tensor> cotangents) { return kept->gradients(inputs, cotangents); }};
    if (tangent_rule) {
      rule_now.jvp = [kept, inputs](std::span<const Tensor> tangents) { return kept->tangents(inputs, tangents); };
    }
    notify(context.observers, CustomCall{by, given, rule_now});
    return given;
  }

  // One for each source.
  std::vector<Tensor> gradients(const std::vector<Tensor>& inputs, std::span<const Tensor> cotangents) const {
    if (failure != nullptr) std::rethrow_exception(failure);
    return run_graph(rule.graph, slots_of(rule, inputs, cotangents));
  }
  // One for each output. The tangents are those of the sources; empty ones are zeros.
  std::vector<Tensor> tangents(const std::vector<Tensor>& inputs, std::span<const Tensor> of_sources) const {
    if (failure != nullptr) std::rethrow_exception(failure);
    const std::vector<Tensor> filled = with_zeros(of_sources, std::span(inputs).subspan(outputs.size(), sources));
    return run_graph(tangent_rule->graph, slots_of(*tangent_rule, inputs, filled));
  }

  bool batch(const BatchCall& call, std::vector<Tensor>& results) const override;

  void infer(const Call& call, OutputSpecs& specs) const override {
    for (int k = 0; k < static_cast<int>(outputs.size()); ++k) specs.add(call.input(k).dtype(), call.input(k).shape());
  }
  std::string difference(const Control& other) const override {
    return difference_of(rule, static_cast<const CustomNode&>(other).rule);
  }
  std::vector<const Subgraph*> parts() const override {
    std::vector<const Subgraph*> graphs = {&rule};
    if (tangent_rule) graphs.push_back(&*tangent_rule);
    return graphs;
  }
  AttributeValue form() const override {
    if (failure != nullptr) return {};
    return form_with(
        {{"outputs", static_cast<std::int64_t>(outputs.size())}, {"sources", static_cast<std::int64_t>(sources)}});
  }

 private:
  // The inputs of a rule: from those of the node and what is given to the rule.
  static std::vector<Tensor> slots_of(const Subgraph& part, const std::vector<Tensor>& inputs,
                                      std::span<const Tensor> given) {
    std::vector<Tensor> slots;
    for (const std::size_t slot : part.from) {
      slots.push_back(slot < inputs.size() ? inputs[slot] : given[slot - inputs.size()]);
    }
    return slots;
  }
};

void custom_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  const std::vector<Tensor> inputs = inputs_of(call);
  const auto& node = static_cast<const CustomNode&>(*call.attributes<ControlAttributes>().control);
  std::vector<Tensor> weights;
  for (std::size_t k = 0; k < node.outputs.size(); ++k) weights.push_back(call.cotangent(static_cast<int>(k)));
  std::vector<Tensor> gradients = node.gradients(inputs, weights);
  std::move(gradients.begin(), gradients.end(), cotangents.begin() + static_cast<std::ptrdiff_t>(node.outputs.size()));
}

void custom_jvp(const VjpCall& call, std::span<const Tensor> tangents, std::span<Tensor> of_outputs) {
  const std::vector<Tensor> inputs = inputs_of(call);
  const auto& node = static_cast<const CustomNode&>(*call.attributes<ControlAttributes>().control);
  std::vector<Tensor> found = node.tangents(inputs, tangents.subspan(node.outputs.size(), node.sources));
  std::move(found.begin(), found.end(), of_outputs.begin());
}

constexpr OpDef custom_op(Jvp jvp) {
  OpDef op = control_op("custom_gradient",
                        "The results of a function with a gradient of its own; made in traces alone.", false);
  op.vjp = custom_vjp;
  op.jvp = jvp;
  return op;
}
constinit const OpDef kCustomNode = custom_op(nullptr);
constinit const OpDef kCustomNodeWithTangents = custom_op(custom_jvp);

void check_gradient(const Tensor& gradient, std::size_t position, const Tensor& source) {
  if (!gradient.has_value()) return;
  check_live("custom_gradient", gradient);
  CAPSTAN_CHECK(gradient.dtype() == source.dtype(), DTypeError, "custom_gradient: gradient ", position, " is ",
                gradient.dtype(), ", its argument ", source.dtype());
  CAPSTAN_CHECK(gradient.shape() == source.shape(), ShapeError, "custom_gradient: gradient ", position, " has shape ",
                gradient.shape(), ", its argument ", source.shape());
}

void check_tangents(std::span<const Tensor> tangents, std::span<const Tensor> results) {
  CAPSTAN_CHECK(tangents.size() == results.size(), GradientError, "custom_gradient: expected ", results.size(),
                " tangents, not ", tangents.size());
  for (std::size_t k = 0; k < tangents.size(); ++k) {
    if (!tangents[k].has_value()) continue;
    check_live("custom_gradient", tangents[k]);
    CAPSTAN_CHECK(tangents[k].dtype() == results[k].dtype() && tangents[k].shape() == results[k].shape(), GradientError,
                  "custom_gradient: tangent ", k, " is ", describe(tangents[k]), ", its output ", describe(results[k]));
  }
}

// The copies of what a function gave while a trace is under way, and its rules for everybody who sees the trace.
std::vector<Tensor> trace_custom(std::span<const Tensor> results, std::span<const Tensor> sources,
                                 const CustomRule& given) {
  const auto node = std::make_shared<CustomNode>();
  node->op = given.jvp == nullptr ? &kCustomNode : &kCustomNodeWithTangents;
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
    tensors = given.vjp(tensors);
    for (std::size_t i = 0; i < tensors.size(); ++i) check_gradient(tensors[i], i, sources[i]);
    return nullptr;
  };
  std::vector<ControlParts::Argument> tangents;
  for (const Tensor& source : sources) {
    tangents.push_back({kCotangents + tangents.size(), {source.dtype(), source.shape()}});
  }
  auto tangent_body = [&](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
    tensors = given.jvp(tensors);
    return nullptr;
  };
  try {
    node->rule = parts.trace("rule", cotangents, detail::FunctionBody(body));
    CAPSTAN_CHECK(node->rule.written.empty(), GradientError,
                  "custom_gradient: in a traced function its rule cannot assign variables",
                  help("assign them in the function that it belongs to"));
    if (given.jvp != nullptr) {
      node->tangent_rule = parts.trace("tangents", tangents, detail::FunctionBody(tangent_body));
    }
  } catch (...) {
    node->failure = std::current_exception();
  }
  const auto settle = [&](Subgraph& part) {
    for (std::size_t& slot : part.from) slot = slot < kCotangents ? slot : slot - kCotangents + parts.size();
  };
  settle(node->rule);
  if (node->tangent_rule) settle(*node->tangent_rule);
  std::vector<bool> reached(parts.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const bool exists = node->failure != nullptr || node->rule.graph.results[i] != Graph::kNone;
    reached[results.size() + i] = exists && is_differentiable(sources[i].dtype());
  }
  node->paths.assign(results.size(), reached);
  return parts.finish(*node, {});
}

// --- Both ---

// The copies of what a function gave, which count as made by one op with these rules. `sources` are the tensors that it
// is differentiated by, and `inputs` what they were when they were read.
std::vector<Tensor> give_out(std::span<const Tensor> results, std::span<const Tensor> sources,
                             std::span<const ObservedInput> inputs, const CustomRule& rule) {
  if (context.tracer != nullptr) return trace_custom(results, sources, rule);
  std::vector<Tensor> outputs = copies(results);
  if (context.observers != nullptr) notify(context.observers, CustomCall{inputs, outputs, rule});
  return outputs;
}

// A graph of the node for all items: the inputs that have the axis of the items have it there, too.
std::vector<Batched> run_for_items(const Subgraph& part, const std::vector<Batched>& slots, std::int64_t size) {
  std::vector<Tensor> inputs;
  std::vector<bool> per_item;
  std::vector<Tensor> items;
  for (const std::size_t slot : part.from) {
    inputs.push_back(slots[slot].tensor);
    per_item.push_back(slots[slot].per_item);
    if (slots[slot].per_item) items.push_back(slots[slot].tensor);
  }
  return BatchedGraph(part.graph, std::move(inputs), per_item).run(std::move(items), size);
}

bool CustomNode::batch(const BatchCall& call, std::vector<Tensor>& results) const {
  if (tangent_rule || failure != nullptr) return false;
  std::vector<Batched> slots;
  for (int i = 0; i < call.input_count(); ++i) slots.push_back({call.input(i), call.is_batched(i)});
  std::vector<Tensor> copied;
  for (std::size_t k = 0; k < outputs.size(); ++k) copied.push_back(with_items(call, static_cast<int>(k)));
  std::vector<Tensor> by;
  for (std::size_t i = outputs.size(); i < outputs.size() + sources; ++i) {
    by.push_back(slots[i].tensor);
  }
  const auto kept = std::static_pointer_cast<const CustomNode>(shared_from_this());
  const CustomRule rule_now{[kept, slots, size = call.size](std::span<const Tensor> cotangents) {
    std::vector<Batched> all = slots;
    for (const Tensor& cotangent : cotangents) all.push_back({cotangent, true});
    std::vector<Tensor> gradients;
    for (const Batched& found : run_for_items(kept->rule, all, size)) {
      const Batched& source = slots[kept->outputs.size() + gradients.size()];
      Tensor gradient = found.tensor.has_value() ? with_axis(found, size) : Tensor();
      // What is the same for all items has the gradients of all.
      if (gradient.has_value() && !source.per_item) gradient = reduce_sum(gradient, 0);
      gradients.push_back(std::move(gradient));
    }
    return gradients;
  }};
  results = give_out(copied, by, observed(by), rule_now);
  return true;
}

}  // namespace

std::vector<Tensor> custom_gradient(const std::function<CustomGradientResult(std::span<const Tensor>)>& f,
                                    Operands arguments) {
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
  }
  std::vector<ObservedInput> inputs = observed(values);

  CustomGradientResult result;
  std::vector<Variable> captured;
  {
    const Holdings read(context.observers);
    result = f(values);
    for (const Held& h : read.held) {
      const bool is_argument = std::find(variables.begin(), variables.end(), h.variable.state()) != variables.end();
      if (h.variable.trainable() && !is_argument) captured.push_back(h.variable);
    }
  }
  CAPSTAN_CHECK(result.gradient != nullptr, ValueError, "custom_gradient: the function gives no gradient",
                help("set gradient, a function of the cotangents of the outputs"));
  CAPSTAN_CHECK(captured.empty() || result.variable_gradient != nullptr, GradientError,
                "custom_gradient: the function reads ", captured.size(), " trainable variables, the first \"",
                captured.empty() ? "" : captured[0].name(), "\", and gives no gradient for them",
                help("set variable_gradient, or pass the variables as arguments"));

  if (result.outputs.empty()) return {};

  const std::size_t argument_count = values.size();
  CustomRule rule{[result, captured, argument_count](std::span<const Tensor> cotangents) {
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
  if (result.jvp != nullptr) {
    CAPSTAN_CHECK(captured.empty(), GradientError, "custom_gradient: the function has a jvp and reads ",
                  captured.size(), " trainable variables beside its arguments, whose tangents it does not get",
                  help("pass the variables as arguments"));
    rule.jvp = [result, values](std::span<const Tensor> tangents) {
      std::vector<Tensor> found = result.jvp(with_zeros(tangents, values));
      check_tangents(found, result.outputs);
      return found;
    };
  }
  for (const Variable& variable : captured) values.push_back(current_value(*variable.state()));
  const std::vector<ObservedInput> more = observed(std::span(values).subspan(argument_count));
  inputs.insert(inputs.end(), more.begin(), more.end());
  return give_out(result.outputs, values, inputs, rule);
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
