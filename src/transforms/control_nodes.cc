#include "src/transforms/control_nodes.h"

#include <algorithm>
#include <utility>

#include "capstan/forward.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/tape.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/row_shape.h"
#include "src/graph/gradient_paths.h"
#include "src/graph/shapes.h"
#include "src/graph/tracer.h"
#include "src/transforms/loop_gradient.h"
#include "src/transforms/row_stack.h"
#include "src/transforms/uses.h"

namespace capstan {

namespace {

// --- Gradients and tangents ---

const OpDef& op_of(ControlKind kind, bool effects);

// A derivative of another node. Its inputs are those of the other one, the log of that if it has effects, and what the
// derivative is taken along: a cotangent for each of some outputs, or a tangent for each of some inputs.
struct DerivativeNode : Control {
  std::shared_ptr<const Control> of;
  std::vector<std::size_t> sources;  // inputs
  std::vector<std::size_t> targets;  // outputs

  Unfolding unfolding(std::size_t inputs) const override {
    const std::size_t own = inputs - along() - (of->effects ? 1 : 0);
    Unfolding unfolding = of->unfolding(own);
    unfolding.again = true;
    if (of->effects) unfolding.log = static_cast<std::int64_t>(own);
    return unfolding;
  }
  // With what it is the derivative of; `node` is a new one of the same class.
  std::shared_ptr<const Control> complete(const std::shared_ptr<DerivativeNode>& node,
                                          std::span<const Shape> inputs) const {
    node->of = of->for_lengths(inputs.first(inputs.size() - along() - (of->effects ? 1 : 0)));
    if (node->of == nullptr) return nullptr;
    node->op = op;
    node->paths = paths;
    node->sources = sources;
    node->targets = targets;
    node->outputs = outputs;
    return node;
  }
  std::vector<const Subgraph*> parts() const override { return {}; }
  std::string details() const override { return "of=" + std::string(of->op->name); }
  std::string difference(const Control& other) const override {
    const auto& node = static_cast<const DerivativeNode&>(other);
    if (of->op != node.of->op || sources != node.sources || targets != node.targets) {
      return "it is the derivative of something else";
    }
    return of->difference(*node.of);
  }

 protected:
  // What a run has been given, taken apart.
  struct Given {
    std::vector<Tensor> inputs;
    std::vector<Tensor> along;
    EffectLog log;
    EffectLog* log_of_caller = nullptr;  // used instead
    std::vector<Tensor> watched;
  };
  Given take_apart(std::vector<Tensor> inputs, EffectLog* log) const {
    Given given;
    given.along.assign(inputs.end() - static_cast<std::ptrdiff_t>(along()), inputs.end());
    inputs.resize(inputs.size() - along());
    if (of->effects) {
      if (log == nullptr) given.log = unpack(inputs.back());
      inputs.pop_back();
    }
    given.log_of_caller = log;
    // Copies, so that each is a source of its own even if two inputs are one tensor; made before the tape, which would
    // take them for results of its own if an outer one records them.
    for (const std::size_t source : sources) {
      inputs[source] = identity(inputs[source]);
      given.watched.push_back(inputs[source]);
    }
    given.inputs = std::move(inputs);
    return given;
  }
  // How many tensors it is taken along.
  virtual std::size_t along() const = 0;
  std::vector<Tensor> run_targets(Given& given) const {
    EffectLog* const own = of->effects ? &given.log : nullptr;
    const std::vector<Tensor> outputs =
        of->run_again(std::move(given.inputs), given.log_of_caller != nullptr ? given.log_of_caller : own);
    std::vector<Tensor> reached;
    for (const std::size_t target : targets) reached.push_back(outputs[target]);
    return reached;
  }
};

std::vector<Tensor> dense(std::vector<Tensor> tensors) {
  for (Tensor& tensor : tensors) tensor = tensor.to_dense();
  return tensors;
}

struct GradientNode final : DerivativeNode {
  void infer(const Call& call, OutputSpecs& specs) const override {
    for (const std::size_t source : sources) {
      const TensorRef& input = call.input(static_cast<int>(source));
      specs.add(input.dtype(), input.shape());
    }
  }
  std::size_t along() const override { return targets.size(); }
  std::string name() const override { return "the gradient of " + of->name(); }
  std::shared_ptr<const Control> for_lengths(std::span<const Shape> inputs) const override {
    return complete(std::make_shared<GradientNode>(), inputs);
  }
  std::vector<Tensor> run(std::vector<Tensor> inputs, EffectLog* log) const override {
    if (const LoopGradient* const faster = of_loop_.now(*of, inputs, log, targets, sources)) {
      return faster->run(std::move(inputs));
    }
    Given given = take_apart(std::move(inputs), log);
    GradientTape tape({.persistent = false, .watch_accessed_variables = false});
    tape.watch(given.watched);
    const std::vector<Tensor> reached = run_targets(given);
    return dense(tape.gradient(
        reached, given.watched,
        {.output_gradients = std::move(given.along), .unconnected_gradients = UnconnectedGradients::kZero}));
  }

 private:
  LazyLoopGradient of_loop_;
};

struct TangentNode final : DerivativeNode {
  void infer(const Call& call, OutputSpecs& specs) const override {
    OutputSpecs all;
    const std::size_t own = call.inputs.size() - sources.size() - (of->effects ? 1 : 0);
    of->infer({*of->op, call.inputs.first(own), call.attribute_data}, all);
    for (const std::size_t target : targets) {
      specs.add(all[static_cast<int>(target)].dtype, all[static_cast<int>(target)].shape);
    }
  }
  std::size_t along() const override { return sources.size(); }
  std::string name() const override { return "the tangent of " + of->name(); }
  std::shared_ptr<const Control> for_lengths(std::span<const Shape> inputs) const override {
    return complete(std::make_shared<TangentNode>(), inputs);
  }
  std::vector<Tensor> run(std::vector<Tensor> inputs, EffectLog* log) const override {
    Given given = take_apart(std::move(inputs), log);
    const ForwardAccumulator accumulator(given.watched, given.along);
    given.watched.clear();
    return dense(accumulator.jvp(run_targets(given), UnconnectedGradients::kZero));
  }
};

// The inputs of a derivative of a node, as far as they are those of the node; and which have a gradient of their own.
struct DerivativeInputs {
  std::vector<Tensor> tensors;
  std::vector<bool> differentiable;

  // `log` is that of the run of the node, if it has effects.
  DerivativeInputs(const Control& of, const std::vector<Tensor>& inputs, const Tensor& log) {
    for (const Tensor& input : inputs) add(input);
    if (of.effects) add(log);
  }
  void add(const Tensor& input) {
    tensors.push_back(input);
    differentiable.push_back(is_differentiable(input.dtype()));
  }
};

// Adds the node to the trace.
std::vector<Tensor> call_derivative(DerivativeNode& node, const Control& of, ControlKind kind,
                                    DerivativeInputs inputs) {
  node.of = of.shared_from_this();
  node.op = &op_of(kind, false);
  node.paths.assign(node.outputs.size(), inputs.differentiable);
  return call_control(node, std::move(inputs.tensors), nullptr, false);
}

}  // namespace

std::vector<Tensor> gradients_of_node(const Control& of, const std::vector<Tensor>& of_inputs, const Tensor& log,
                                      std::span<const Tensor> cotangents, const std::vector<bool>& needed) {
  auto node = std::make_shared<GradientNode>();
  DerivativeInputs inputs(of, of_inputs, log);
  for (std::size_t k = 0; k < cotangents.size(); ++k) {
    if (!cotangents[k].has_value() || !is_differentiable(of.outputs[k].dtype)) continue;
    node->targets.push_back(k);
    inputs.add(cotangents[k]);
  }
  for (std::size_t i = 0; i < of_inputs.size(); ++i) {
    const bool reached = std::any_of(node->targets.begin(), node->targets.end(),
                                     [&](std::size_t target) { return of.paths[target][i]; });
    if (!reached || !needed[i]) continue;
    node->sources.push_back(i);
    node->outputs.push_back({of_inputs[i].dtype(), of_inputs[i].shape()});
  }
  std::vector<Tensor> gradients(of_inputs.size());
  if (node->sources.empty()) return gradients;
  std::vector<Tensor> found = call_derivative(*node, of, ControlKind::kGradient, std::move(inputs));
  for (std::size_t k = 0; k < found.size(); ++k) gradients[node->sources[k]] = std::move(found[k]);
  return gradients;
}

std::vector<Tensor> inputs_of(const VjpCall& call) {
  const auto* const trace = dynamic_cast<const GraphTracer*>(context.tracer);
  const auto check = [&](const Tensor& tensor) {
    if (!is_symbolic(tensor.block()) || (trace != nullptr && trace->knows(tensor.block()))) return;
    detail::throw_symbolic("gradient", tensor.block());
  };
  std::vector<Tensor> inputs;
  for (int i = 0; i < call.input_count(); ++i) check(inputs.emplace_back(call.input(i)));
  check(call.output(0));
  return inputs;
}

namespace {

Tensor log_of(const VjpCall& call, const Control& of) { return of.effects ? call.output(0) : Tensor(); }

// The rule of every node of control flow.
void control_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  const std::vector<Tensor> inputs = inputs_of(call);
  const Control& of = *call.attributes<ControlAttributes>().control;
  const int first = of.effects ? 1 : 0;
  std::vector<bool> needed;
  for (int i = 0; i < call.input_count(); ++i) needed.push_back(call.needs(i));
  std::vector<Tensor> given;
  for (int k = 0; k < static_cast<int>(of.outputs.size()); ++k) {
    given.push_back(call.has_cotangent(first + k) ? call.cotangent(first + k) : Tensor());
  }
  std::vector<Tensor> gradients = gradients_of_node(of, inputs, log_of(call, of), given, needed);
  std::move(gradients.begin(), gradients.end(), cotangents.begin());
}

void control_jvp(const VjpCall& call, std::span<const Tensor> tangents, std::span<Tensor> of_outputs) {
  const std::vector<Tensor> of_inputs = inputs_of(call);
  const Control& of = *call.attributes<ControlAttributes>().control;
  const std::size_t first = of.effects ? 1 : 0;
  auto node = std::make_shared<TangentNode>();
  DerivativeInputs inputs(of, of_inputs, log_of(call, of));
  for (std::size_t i = 0; i < tangents.size(); ++i) {
    if (!tangents[i].has_value()) continue;
    node->sources.push_back(i);
    inputs.add(tangents[i]);
  }
  for (std::size_t k = 0; k < of.outputs.size(); ++k) {
    const bool reached = std::any_of(node->sources.begin(), node->sources.end(),
                                     [&](std::size_t source) { return of.paths[k][source]; });
    if (!reached || !is_differentiable(of.outputs[k].dtype)) continue;
    node->targets.push_back(k);
    node->outputs.push_back(of.outputs[k]);
  }
  if (node->targets.empty()) return;
  std::vector<Tensor> found = call_derivative(*node, of, ControlKind::kTangent, std::move(inputs));
  for (std::size_t k = 0; k < found.size(); ++k) of_outputs[first + node->targets[k]] = std::move(found[k]);
}

// --- Ops ---

constexpr OpDef flow_op(std::string_view name, bool effects) {
  OpDef op = control_op(name, "A node of control flow; made in traces alone.", effects);
  op.vjp = &control_vjp;
  op.jvp = &control_jvp;
  return op;
}

// The ops of a kind: without effects, and with them. Names are literals, which end in a null character.
struct ControlOps {
  ControlKind kind;
  const char* name;
  OpDef pure = flow_op(name, false);
  OpDef with_effects = flow_op(name, true);
};
constinit const ControlOps kControlOps[] = {{ControlKind::kCond, "cond"},
                                            {ControlKind::kSwitchCase, "switch_case"},
                                            {ControlKind::kCaseOf, "case_of"},
                                            {ControlKind::kWhileLoop, "while_loop"},
                                            {ControlKind::kScan, "scan"},
                                            {ControlKind::kMapFn, "map_fn"},
                                            {ControlKind::kFoldl, "foldl"},
                                            {ControlKind::kFoldr, "foldr"},
                                            {ControlKind::kGradient, "gradient"},
                                            {ControlKind::kTangent, "tangent"},
                                            {ControlKind::kRecompute, "recompute_grad"}};

const ControlOps& ops_of(ControlKind kind) {
  return *std::find_if(std::begin(kControlOps), std::end(kControlOps),
                       [kind](const ControlOps& ops) { return ops.kind == kind; });
}

const OpDef& op_of(ControlKind kind, bool effects) {
  const ControlOps& ops = ops_of(kind);
  return effects ? ops.with_effects : ops.pure;
}

// --- Parts ---

// Of the slots of a loop, those that a run of the body replaces. A tape needs what a variable held before.
std::vector<bool> replaced_slots(std::size_t slots, std::size_t carried, const Subgraph& body) {
  std::vector<bool> replaced(slots);
  std::fill_n(replaced.begin(), carried, true);
  for (const std::size_t slot : body.written) replaced[slot] = context.observers == nullptr;
  return replaced;
}

// Writes the values that a body gave for variables into their slots.
void store_written(const Subgraph& body, std::span<Tensor> values, std::vector<Tensor>& slots) {
  for (std::size_t k = 0; k < body.written.size(); ++k) {
    Tensor& slot = slots[body.written[k]];
    const bool observed = context.observers != nullptr && is_differentiable(values[k].dtype());
    slot = observed ? reread(values[k], slot) : std::move(values[k]);
  }
}

OutputSpec spec_of(const Graph& graph, Graph::Value value) {
  const Graph::ValueInfo& info = graph.values[static_cast<std::size_t>(value)];
  return {info.dtype, info.shape};
}

OutputSpec spec_of_input(const Subgraph& part, std::size_t input) {
  return spec_of(part.graph, part.graph.input(input));
}

// Adds the outputs for variables that a loop writes: no gradient flows through them.
void add_written(Control& control, const Subgraph& body, std::size_t slots) {
  for (const std::size_t slot : body.written) {
    const auto input = std::find(body.from.begin(), body.from.end(), slot) - body.from.begin();
    control.outputs.push_back(spec_of_input(body, static_cast<std::size_t>(input)));
    control.paths.emplace_back(slots);
  }
}

// What each carried value of a loop can depend on after any number of iterations.
Paths close_paths(const Paths& body, const std::vector<OutputSpec>& carried, std::size_t slots) {
  Paths paths;
  for (std::size_t k = 0; k < carried.size(); ++k) {
    paths.emplace_back(slots);
    paths[k][k] = is_differentiable(carried[k].dtype);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = 0; k < carried.size(); ++k) {
      for (std::size_t i = 0; i < slots; ++i) {
        if (!body[k][i]) continue;
        for (std::size_t j = 0; j < slots; ++j) {
          const bool reaches = i < carried.size() ? paths[i][j] : i == j;
          if (!reaches || paths[k][j]) continue;
          paths[k][j] = true;
          changed = true;
        }
      }
    }
  }
  return paths;
}

}  // namespace

std::string_view name_of(ControlKind kind) { return ops_of(kind).name; }

void check_case(std::int64_t number, std::int64_t count) {
  CAPSTAN_CHECK(number >= 0, ValueError, "case_of: more than one of the conditions holds, and they are exclusive");
  CAPSTAN_CHECK(number < count, ValueError, "case_of: none of the ", count, " conditions holds",
                help("give a function for all other cases as the last argument"));
}

// --- Branches ---

void Branches::complete(std::size_t slots) {
  effects = std::any_of(branches.begin(), branches.end(), [](const Subgraph& part) { return part.has_effects(); });
  op = &op_of(kind, effects);
  outputs.clear();
  paths.assign(results.size() + written.size(), std::vector<bool>(slots));
  for (const std::size_t result : results) {
    outputs.push_back(spec_of(branches[0].graph, branches[0].graph.results[result]));
  }
  for (const Subgraph& branch : branches) {
    const Paths& inner = paths_by_branch_.emplace_back(paths_of(branch, slots));
    for (std::size_t k = 0; k < results.size(); ++k) {
      for (std::size_t i = 0; i < slots; ++i) paths[k][i] = paths[k][i] || inner[results[k]][i];
    }
  }
  for (const std::size_t slot : written) {
    for (const Subgraph& branch : branches) {
      const auto input = std::find(branch.from.begin(), branch.from.end(), slot) - branch.from.begin();
      if (static_cast<std::size_t>(input) == branch.from.size()) continue;
      outputs.push_back(spec_of_input(branch, static_cast<std::size_t>(input)));
      break;
    }
  }
}

std::vector<const Subgraph*> Branches::parts() const {
  std::vector<const Subgraph*> parts;
  for (const Subgraph& branch : branches) parts.push_back(&branch);
  return parts;
}

std::size_t Branches::choose(const Tensor& selector) const {
  if (kind == ControlKind::kCond) return selector.item<bool>() ? 0 : 1;
  const auto number = selector.item<std::int64_t>();
  const auto count = static_cast<std::int64_t>(branches.size());
  if (kind == ControlKind::kSwitchCase)
    return static_cast<std::size_t>(number < 0 || number >= count ? count - 1 : number);
  check_case(number, count);
  return static_cast<std::size_t>(number);
}

namespace {

// Lets a result depend on what it would have read on paths that were not taken, as far as somebody knows it. Gradients
// of what it depends on by the path that was taken are there already; only their derivatives may not be.
void depend_on(Tensor& result, const std::vector<Tensor>& slots, const std::vector<bool>& not_taken,
               const std::vector<bool>& taken) {
  std::vector<Tensor> others;
  std::vector<Tensor> in_derivatives;
  const bool has_derivatives = context.observers->outer != nullptr;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!not_taken[i] || (taken[i] && !has_derivatives) || !is_known(slots[i].block())) continue;
    (taken[i] ? in_derivatives : others).push_back(slots[i]);
  }
  if (others.empty() && in_derivatives.empty()) return;
  result = also_depends_on(result, others, in_derivatives);
}

}  // namespace

std::vector<Tensor> Branches::run(std::vector<Tensor> slots, EffectLog* log) const {
  const std::size_t chosen = choose(slots[0]);
  const Subgraph& branch = branches[chosen];
  std::vector<Tensor> values;
  branch.run(slots, log, nullptr, values);
  std::vector<Tensor> given;
  for (const std::size_t result : results) given.push_back(std::move(values[result]));
  for (std::size_t k = 0; k < results.size() && context.observers != nullptr; ++k) {
    std::vector<bool> not_taken(slots.size());
    for (std::size_t b = 0; b < branches.size(); ++b) {
      for (std::size_t i = 0; i < slots.size() && b != chosen; ++i) {
        not_taken[i] = not_taken[i] || paths_by_branch_[b][results[k]][i];
      }
    }
    depend_on(given[k], slots, not_taken, paths_by_branch_[chosen][results[k]]);
  }
  for (const std::size_t slot : written) {
    const auto found = std::find(branch.written.begin(), branch.written.end(), slot);
    const auto position = static_cast<std::size_t>(found - branch.written.begin());
    given.push_back(found == branch.written.end() ? slots[slot] : values[branch.graph.results.size() + position]);
  }
  return given;
}

// --- Loops ---

void WhileLoop::complete(std::size_t slots) {
  effects = condition.has_effects() || body.has_effects();
  op = &op_of(ControlKind::kWhileLoop, effects);
  outputs.clear();
  for (std::size_t k = 0; k < count; ++k) outputs.push_back(spec_of(body.graph, body.graph.arguments[k]));
  paths = close_paths(paths_of(body, slots), outputs, slots);
  add_written(*this, body, slots);
}

std::vector<Tensor> WhileLoop::run(std::vector<Tensor> slots, EffectLog* log) const {
  if (can_repeat(loop(), slots, log)) return run_repeated(loop(), std::move(slots));
  const std::vector<Tensor> begin = context.observers == nullptr ? std::vector<Tensor>() : slots;
  const std::vector<bool> replaced = replaced_slots(slots.size(), count, body);
  std::vector<Tensor> values;
  std::int64_t iterations = 0;
  for (; iterations != limit; ++iterations) {
    condition.run(slots, log, nullptr, values);
    if (!values[0].item<bool>()) break;
    body.run(slots, log, &replaced, values);
    for (std::size_t k = 0; k < count; ++k) slots[k] = std::move(values[k]);
    store_written(body, std::span(values).subspan(count), slots);
  }
  // After so few iterations a variable may not have met all that it depends on after more.
  if (iterations < static_cast<std::int64_t>(count) && context.observers != nullptr) {
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<bool> itself(slots.size());
      itself[k] = iterations == 0;
      depend_on(slots[k], begin, paths[k], itself);
    }
  }
  std::vector<Tensor> given(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(count));
  for (const std::size_t slot : body.written) given.push_back(slots[slot]);
  return given;
}

void RowLoop::complete(std::size_t slots) {
  effects = body.has_effects();
  op = &op_of(kind, effects);
  outputs.clear();
  for (std::size_t k = 0; k < carried; ++k) outputs.push_back(spec_of(body.graph, body.graph.arguments[k]));
  const Paths inner = paths_of(body, slots);
  paths = close_paths(inner, outputs, slots);
  for (std::size_t k = carried; k < carried + collected; ++k) {
    const OutputSpec row = spec_of(body.graph, body.graph.results[k]);
    outputs.push_back({row.dtype, stacked_shape(rows, row.shape)});
    std::vector<bool> depends(slots);
    for (std::size_t i = 0; i < slots; ++i) {
      for (std::size_t j = 0; j < slots && inner[k][i]; ++j) {
        depends[j] = depends[j] || (i < carried ? paths[i][j] : i == j);
      }
    }
    paths.push_back(std::move(depends));
  }
  add_written(*this, body, slots);
}

std::vector<Tensor> RowLoop::run(std::vector<Tensor> slots, EffectLog* log) const {
  if (can_repeat(loop(), slots, log)) return run_repeated(loop(), std::move(slots));
  std::vector<std::vector<Tensor>> slices;
  for (std::size_t k = 0; k < sliced; ++k) slices.push_back(unstack(slots[carried + k]));
  std::vector<RowStack> results(collected, RowStack(rows));
  std::vector<bool> replaced = replaced_slots(slots.size(), carried, body);
  std::fill_n(replaced.begin() + static_cast<std::ptrdiff_t>(carried), sliced, true);
  std::vector<Tensor> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto row = static_cast<std::size_t>(reverse ? rows - 1 - i : i);
    for (std::size_t k = 0; k < sliced; ++k) slots[carried + k] = std::move(slices[k][row]);
    body.run(slots, log, &replaced, values);
    for (std::size_t k = 0; k < carried; ++k) slots[k] = std::move(values[k]);
    for (std::size_t k = 0; k < collected; ++k) {
      results[k].put(static_cast<std::int64_t>(row), std::move(values[carried + k]));
    }
    store_written(body, std::span(values).subspan(carried + collected), slots);
  }
  std::vector<Tensor> given(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(carried));
  for (RowStack& result : results) given.push_back(result.finish());
  for (const std::size_t slot : body.written) given.push_back(slots[slot]);
  return given;
}

// --- Recomputation ---

void Recomputed::complete(std::size_t slots) {
  effects = body.has_effects();
  op = &op_of(ControlKind::kRecompute, effects);
  outputs.clear();
  for (const Graph::Value result : body.graph.results) outputs.push_back(spec_of(body.graph, result));
  paths = paths_of(body, slots);
  paths.resize(outputs.size());
  add_written(*this, body, slots);
}

// Draws have to be nodes of the body itself, for the log to name them.
Unfolding Recomputed::unfolding(std::size_t) const {
  return {.possible = std::none_of(body.graph.nodes.begin(), body.graph.nodes.end(), [](const Graph::Node& node) {
            return node.has_effect() && control_of(*node.op, node.attributes) != nullptr;
          })};
}

void Recomputed::infer(const Call& call, OutputSpecs& specs) const {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < body.graph.arguments.size(); ++i) {
    shapes.push_back(call.input(static_cast<int>(body.from[i])).shape());
  }
  const Graph graph = with_shapes(body.graph, shapes);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const bool is_result = k < graph.results.size();
    specs.add(outputs[k].dtype, is_result ? spec_of(graph, graph.results[k]).shape : outputs[k].shape);
  }
}

std::vector<Tensor> Recomputed::run_again(std::vector<Tensor> slots, EffectLog* log) const {
  std::vector<Tensor> values;
  body.run(slots, log, nullptr, values);
  return values;
}

std::vector<Tensor> Recomputed::run(std::vector<Tensor> slots, EffectLog* log) const {
  if (context.observers == context.guard) return run_again(std::move(slots), log);
  const std::vector<Tensor> inputs = slots;
  EffectLog own;
  EffectLog* const used = log == nullptr ? &own : log;
  const std::size_t results = body.graph.results.size();
  std::vector<Tensor> given;
  {
    const PauseObservers pause;
    given = run_again(std::move(slots), effects || log != nullptr ? used : nullptr);
    // A result may be an input; a record has outputs of its own.
    std::vector<Tensor> own_results = copies(std::span(given).first(results));
    std::move(own_results.begin(), own_results.end(), given.begin());
  }
  const Tensor packed = effects ? pack(*used) : Tensor();
  const CustomRule rule{[kept = shared_from_this(), inputs, packed](std::span<const Tensor> cotangents) {
    return gradients_of_node(*kept, inputs, packed, cotangents, std::vector<bool>(inputs.size(), true));
  }};
  notify(context.observers, CustomCall{observed(inputs), std::span(given).first(results), rule});
  return given;
}

}  // namespace capstan
