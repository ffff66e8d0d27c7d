#include "src/graph/cut.h"

#include <vector>

#include "src/graph/control.h"
#include "src/graph/gradient_paths.h"

namespace capstan {

Flow flow_between(const Graph& graph, std::size_t input, std::size_t result) {
  const auto at = [](Graph::Value value) { return static_cast<std::size_t>(value); };
  std::vector<Flow> flows(graph.values.size());
  flows[at(graph.input(input))].exists = true;
  for (const Graph::Node& node : graph.nodes) {
    const Control* const control = control_of(*node.op, node.attributes);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      Flow& output = flows[at(node.outputs[k])];
      const bool is_number = is_differentiable(graph.values[at(node.outputs[k])].dtype);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const Flow& in = flows[at(node.inputs[i])];
        if (!in.exists || reads_shape_only(node, i)) continue;
        bool leads = is_number && !has_flag(*node.op, kNotDifferentiable) && !(node.op == &kReread && i == 0);
        // The first output of a node with effects is their log.
        if (control != nullptr) leads = is_number && control->paths[k - (control->effects ? 1 : 0)][i];
        const OpDef* const cut = in.cut != nullptr ? in.cut : leads ? nullptr : node.op;
        output.cut = output.exists && output.cut == nullptr ? nullptr : cut;
        output.exists = true;
      }
    }
  }
  return flows[at(graph.results[result])];
}

}  // namespace capstan
