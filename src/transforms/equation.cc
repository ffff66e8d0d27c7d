// Solutions outside of traces, and the node that solves an equation in one.
//
// The rule of a node is the equation's, written in public functions: in a trace it is traced where the node is
// differentiated, so that it becomes part of the program, and gradients of gradients are what they are outside. An
// equation whose gradients need numbers gets a node for these as well, which runs at every call what runs outside: the
// gradient of a node (control_nodes.h) that has been given the solution and only records it.
#include "src/transforms/equation.h"

#include <algorithm>

#include "capstan/ops/math.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/graph/control.h"
#include "src/transforms/control_nodes.h"
#include "src/transforms/control_parts.h"

namespace capstan {

namespace {

void equation_vjp(const VjpCall& call, std::span<Tensor> cotangents);

constexpr OpDef equation_op(std::string_view name, bool effects) {
  OpDef op = control_op(name, "A value that an equation defines; made in traces alone.", effects);
  op.saves.outputs = effects ? 3 : 1;  // the solution, too
  op.vjp = equation_vjp;
  return op;
}
constinit const OpDef kOps[][2] = {{equation_op("fixed_point", false), equation_op("fixed_point", true)},
                                   {equation_op("root", false), equation_op("root", true)},
                                   {equation_op("odeint", false), equation_op("odeint", true)}};

// Shows tapes a solution as made by one op.
Tensor record(const std::shared_ptr<const Equation>& equation, Tensor solution, const Tensor& start,
              const Parameters& parameters,
              const std::function<std::vector<Tensor>(const Tensor&, const Tensor&)>& rule) {
  solution = copies(std::span(&solution, 1))[0];
  const std::size_t by_start = equation->start_counts ? 1 : 0;
  if (context.observers == nullptr || parameters.size() + by_start == 0) return solution;
  // The rule takes the solution as tapes know it, so that an outer one sees that it depends on the parameters.
  parameters.record(std::span(&solution, 1), std::span(&start, by_start),
                    [solution, rule](std::span<const Tensor> cotangents) { return rule(solution, cotangents[0]); });
  return solution;
}

// The same tensors, each its own, so that every one has its own gradient.
std::vector<Tensor> distinct(std::vector<Tensor> tensors) {
  for (auto tensor = tensors.begin(); tensor != tensors.end(); ++tensor) {
    const auto same = [&](const Tensor& before) { return before.block() == tensor->block(); };
    if (std::any_of(tensors.begin(), tensor, same)) *tensor = identity(*tensor);
  }
  return tensors;
}

// The first inputs are what the function is called with; the last of these is the initial value. The outputs are the
// solution, then the variables that the function writes.
struct EquationNode final : Control {
  std::shared_ptr<const Equation> equation;
  std::shared_ptr<const Subgraph> body;
  std::size_t starts = 1;
  bool is_solved = false;                      // the last input is the solution
  std::shared_ptr<const EquationNode> solved;  // the same, with one input more

  void complete(const std::vector<Tensor>& slots) {
    effects = body->has_effects() && !is_solved;
    op = &kOps[static_cast<std::size_t>(equation->kind())][effects ? 1 : 0];
    outputs.push_back({slots[starts - 1].dtype(), equation->shape_of(slots[starts - 1].shape())});
    paths.push_back(paths_of(*body, slots.size())[0]);
    std::fill_n(paths[0].begin(), starts, false);
    paths[0][starts - 1] = equation->start_counts;
    if (is_solved) return;
    const auto twin = std::make_shared<EquationNode>();
    twin->equation = equation;
    twin->body = body;
    twin->starts = starts;
    twin->is_solved = true;
    std::vector<Tensor> more = slots;
    more.push_back(slots[starts - 1]);
    twin->complete(more);
    solved = twin;
    for (const std::size_t slot : body->written) {
      outputs.push_back({slots[slot].dtype(), slots[slot].shape()});
      paths.emplace_back(slots.size());
    }
  }

  std::vector<Tensor> run(std::vector<Tensor> slots, EffectLog* log) const override {
    const std::vector<Tensor> inputs = slots;
    const auto f = [&](std::span<const Tensor> arguments) { return call(slots, arguments, log); };
    const Tensor& start = inputs[starts - 1];
    std::vector<Tensor> given;
    if (equation->steps_count) {
      given.push_back(equation->find(f, start));
    } else {
      Tensor solution = is_solved ? inputs.back() : Tensor();
      if (!is_solved) {
        const PauseObservers pause;
        solution = equation->find(f, start);
      }
      const std::vector<bool> all(inputs.size(), true);
      const auto kept = std::static_pointer_cast<const EquationNode>(shared_from_this());
      Parameters parameters;
      for (const std::size_t i : sources(all)) parameters.captured.push_back(inputs[i]);
      given.push_back(record(equation, solution, start, parameters, [=](const Tensor& found, const Tensor& g) {
        const std::vector<Tensor> by_input = kept->gradients(inputs, Tensor(), found, g, all);
        std::vector<Tensor> gradients;
        if (kept->equation->start_counts) gradients.push_back(by_input[kept->starts - 1]);
        for (const std::size_t i : kept->sources(all)) gradients.push_back(by_input[i]);
        return gradients;
      }));
    }
    if (is_solved) return given;
    for (const std::size_t slot : body->written) given.push_back(slots[slot]);
    return given;
  }

  // One for each input, as far as they are needed and reached.
  std::vector<Tensor> gradients(const std::vector<Tensor>& inputs, const Tensor& log, const Tensor& solution,
                                const Tensor& cotangent, const std::vector<bool>& needed) const {
    if (equation->steps_count) return gradients_of_node(*this, inputs, log, std::span(&cotangent, 1), needed);
    const auto symbolic = [](const Tensor& tensor) { return is_symbolic(tensor.block()); };
    if (equation->needs_numbers && (symbolic(cotangent) || std::any_of(inputs.begin(), inputs.end(), symbolic))) {
      const EquationNode& node = is_solved ? *this : *solved;
      std::vector<Tensor> more = inputs;
      std::vector<bool> needed_more = needed;
      if (!is_solved) more.push_back(solution);
      needed_more.resize(more.size());
      std::vector<Tensor> found = gradients_of_node(node, more, Tensor(), std::span(&cotangent, 1), needed_more);
      found.resize(inputs.size());
      return found;
    }
    const auto kept = std::static_pointer_cast<const EquationNode>(shared_from_this());
    const std::vector<Tensor> own = distinct(inputs);
    const auto f = [kept, own](std::span<const Tensor> arguments) {
      std::vector<Tensor> slots = own;
      return kept->call(slots, arguments, nullptr);
    };
    Parameters parameters;
    for (const std::size_t i : sources(needed)) parameters.captured.push_back(own[i]);
    std::vector<Tensor> list = equation->gradients(f, parameters, solution, cotangent);
    std::vector<Tensor> found(inputs.size());
    std::size_t next = 0;
    if (equation->start_counts) found[starts - 1] = std::move(list[next++]);
    for (const std::size_t i : sources(needed)) found[i] = std::move(list[next++]);
    return found;
  }

  void infer(const Call& call, OutputSpecs& specs) const override {
    specs.add(outputs[0].dtype, equation->shape_of(call.input(static_cast<int>(starts) - 1).shape()));
    for (std::size_t k = 1; k < outputs.size(); ++k) specs.add(outputs[k].dtype, outputs[k].shape);
  }
  std::string difference(const Control& other) const override {
    const auto& node = static_cast<const EquationNode&>(other);
    return equation->options() != node.equation->options() ? "its options differ" : difference_of(*body, *node.body);
  }
  std::vector<const Subgraph*> parts() const override { return {body.get()}; }

 private:
  // What the function uses beside its arguments and may have gradients.
  std::vector<std::size_t> sources(const std::vector<bool>& needed) const {
    std::vector<std::size_t> found;
    for (std::size_t i = starts; i < paths[0].size(); ++i) {
      if (paths[0][i] && needed[i]) found.push_back(i);
    }
    return found;
  }
  // Calls the part; the slots get what it writes.
  Tensor call(std::vector<Tensor>& slots, std::span<const Tensor> arguments, EffectLog* log) const {
    std::copy(arguments.begin(), arguments.end(), slots.begin());
    std::vector<Tensor> values;
    body->run(slots, log, nullptr, values);
    for (std::size_t k = 0; k < body->written.size(); ++k) slots[body->written[k]] = std::move(values[k + 1]);
    return std::move(values[0]);
  }
};

void equation_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  const std::vector<Tensor> inputs = inputs_of(call);
  const auto& node = static_cast<const EquationNode&>(*call.attributes<ControlAttributes>().control);
  const int first = node.effects ? 1 : 0;
  if (!call.has_cotangent(first)) return;
  std::vector<bool> needed;
  for (int i = 0; i < call.input_count(); ++i) needed.push_back(call.needs(i));
  const Tensor log = node.effects ? call.output(0) : Tensor();
  std::vector<Tensor> found = node.gradients(inputs, log, call.output(first), call.cotangent(first), needed);
  std::move(found.begin(), found.end(), cotangents.begin());
}

struct Traced {
  std::shared_ptr<EquationNode> node = std::make_shared<EquationNode>();
  ControlParts parts;

  Traced(const std::shared_ptr<const Equation>& equation, const Equation::Function& f, const std::vector<Tensor>& start)
      : parts(equation->name(), start) {
    auto run = [&](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
      Tensor result = f(tensors);
      equation->check(result, tensors.back());
      tensors = {result};
      return nullptr;
    };
    node->equation = equation;
    node->starts = start.size();
    node->body =
        std::make_shared<const Subgraph>(parts.trace("f", parts.arguments(0, start.size()), detail::FunctionBody(run)));
    node->complete(parts.slots());
  }
};

Tensor solve_now(const std::shared_ptr<const Equation>& equation, const Equation::Function& f,
                 const std::vector<Tensor>& start) {
  if (context.observers == context.guard || equation->steps_count) return equation->find(f, start.back());
  Tensor solution;
  Parameters parameters;
  if (equation->start_counts) {
    const Tensor own = copies(start).back();
    Uses uses;
    solution = equation->find(f, own);
    parameters = Parameters(std::move(uses));
  } else {
    {
      const PauseObservers pause;
      solution = identity(equation->find(f, start.back()));
    }
    Uses uses;
    const Tensor result = f(std::span(&solution, 1));
    uses.note_results(std::span(&result, 1));
    parameters = Parameters(std::move(uses));
  }
  return record(equation, std::move(solution), start.back(), parameters, [=](const Tensor& found, const Tensor& g) {
    if (!equation->needs_numbers || !is_symbolic(g.block())) return equation->gradients(f, parameters, found, g);
    // Rows of a jacobian, all at once: the function is traced after all.
    Traced traced(equation, f, start);
    std::vector<Tensor> slots = traced.parts.slots();
    for (const Held& h : parameters.all_held) {
      const std::size_t slot = traced.parts.slot_of(h.variable);
      if (slot < slots.size()) slots[slot] = h.value;
    }
    const std::vector<Tensor> by_slot =
        traced.node->gradients(slots, Tensor(), found, g, std::vector<bool>(slots.size(), true));
    const auto of_slot = [&](std::size_t slot) { return slot < by_slot.size() ? by_slot[slot] : Tensor(); };
    std::vector<Tensor> gradients;
    if (equation->start_counts) gradients.push_back(by_slot[start.size() - 1]);
    for (const Tensor& tensor : parameters.captured) gradients.push_back(of_slot(traced.parts.slot_of(tensor)));
    for (const Held& h : parameters.held) gradients.push_back(of_slot(traced.parts.slot_of(h.variable)));
    return gradients;
  });
}

}  // namespace

std::string_view Equation::name() const { return kOps[static_cast<std::size_t>(kind_)][0].name; }

void Equation::check(const Tensor& result, const Tensor& x) const {
  CAPSTAN_CHECK(result.has_value(), ValueError, name(), ": the function gives an empty tensor");
  CAPSTAN_CHECK(result.dtype() == x.dtype(), DTypeError, name(), ": the function gives ", result.dtype(), " for ",
                x.dtype(), arguments({{"argument", x}, {"result", result}}));
  if (kind_ == EquationKind::kRoot) {
    CAPSTAN_CHECK(result.size() == x.size(), ShapeError, name(), ": the function gives ", result.size(),
                  " elements for ", x.size(), arguments({{"argument", x}, {"result", result}}));
    return;
  }
  CAPSTAN_CHECK(result.shape() == x.shape(), ShapeError, name(), ": the function gives shape ", result.shape(), " for ",
                x.shape(), arguments({{"argument", x}, {"result", result}}));
}

Tensor solution_of(const std::shared_ptr<const Equation>& equation, const Equation::Function& f,
                   std::vector<Tensor> start) {
  Tensor& x = start.back();
  CAPSTAN_CHECK(f != nullptr, ValueError, equation->name(), ": the function is empty");
  CAPSTAN_CHECK(x.has_value(), ValueError, equation->name(), ": the initial value is an empty tensor");
  CAPSTAN_CHECK(x.dtype() == DType::kFloat32 || x.dtype() == DType::kFloat64, DTypeError, equation->name(),
                ": the initial value is ", x.dtype(), ", not float32 or float64", arguments({{"initial value", x}}));
  x = x.to_dense();
  if (context.tracer == nullptr) return solve_now(equation, f, start);
  const Traced traced(equation, f, start);
  return traced.parts.finish(*traced.node, traced.node->body->written)[0];
}

}  // namespace capstan
