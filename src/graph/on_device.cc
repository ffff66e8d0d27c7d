// Programs on a device: the same steps over the same places, of another memory.
//
// A backend runs kernels and loops one by one. What the processor runs together, a kernel with a prologue, an epilogue
// and sums (accompanied.cc), runs one after the other here; only what a prologue makes needs memory that the program
// has not planned.
#include <algorithm>

#include "src/core/backend.h"
#include "src/graph/program.h"
#include "src/graph/tables.h"

namespace capstan {

// Passes look at constants of one element, so those of a device are brought to the host; a run has copies of its own.
void read_numbers(Graph& graph) {
  for (Graph::ValueInfo& info : graph.values) {
    if (info.constant.has_value() && info.constant.size() == 1) info.constant = copy_to_host(info.constant);
  }
}

Backend* backend_of_constants(const Graph& graph) {
  for (const Graph::ValueInfo& info : graph.values) {
    if (info.constant.has_value() && is_on_device(info.constant.block())) return backend_of(info.constant.block());
  }
  return nullptr;
}

void Program::run_step_on_device(const Step& step, Tables& tables) const {
  if (step.border >= 0) write_borders(step, tables);
  Backend& backend = *tables.backend;
  std::size_t next_in = at(step.first_input), next_out = at(step.first_output);
  const auto run_group = [&](std::int32_t number) {
    const FusedGroup& group = plan_.groups[at(number)];
    backend.run_group(group, tables.in.data() + next_in, tables.out.data() + next_out);
    next_in += group.inputs().size();
    next_out += group.outputs().size();
  };
  if (step.group >= 0) return run_group(step.group);
  const Graph::Node& node = *step.node;

  // In the order of join_steps(), in which the operands of the prologue are the last.
  std::vector<TensorRef> operands(tables.operands.begin() + step.first_input,
                                  tables.operands.begin() + step.first_input + step.inputs);
  operands.resize(std::min(operands.size(), node.inputs.size()));
  Tensor made;
  if (step.prologue >= 0) {
    const FusedGroup& group = plan_.groups[at(step.prologue)];
    const Graph::ValueInfo& info = plan_.graph.values[at(group.outputs()[0])];
    made = new_tensor_on(&backend, info.dtype, info.shape);
    void* const to = made.block()->data;
    backend.run_group(group, tables.in.data() + at(step.first_input + step.inputs) - group.inputs().size(), &to);
    operands[0] = made;
  }
  next_in += node.inputs.size();
  next_out += node.outputs.size();
  const std::span<Tensor> outputs(tables.outputs.data() + at(step.first_output), node.outputs.size());
  if (step.is_loop) return run_one_loop(node, operands, outputs[0]);
  const void* const attributes = node.op->attributes == nullptr ? nullptr : attributes_of(step, tables);
  call_kernel_on(backend, {*node.op, operands, attributes, node.geometry.data()}, outputs);
  if (step.epilogue >= 0) run_group(step.epilogue);
  if (step.sums != nullptr) {
    const Graph::Node& sums = *step.sums;
    const std::span<const TensorRef> summed(tables.operands.data() + next_in, sums.inputs.size());
    call_kernel_on(backend, {*sums.op, summed, sums.attributes, sums.geometry.data()},
                   std::span<Tensor>(tables.outputs.data() + next_out, sums.outputs.size()));
  }
  finish_step(step, tables);
}

}  // namespace capstan
