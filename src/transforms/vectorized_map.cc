#include "capstan/vectorized_map.h"

#include <utility>

#include "capstan/ops/array.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/row_shape.h"
#include "src/core/variable_state.h"
#include "src/graph/tracer.h"
#include "src/transforms/batching.h"

namespace capstan {

std::vector<Tensor> detail::run_vectorized(const FunctionBody& body, std::span<const Tensor> rows,
                                           std::shared_ptr<void>* structure) {
  Graph graph;
  std::vector<Tensor> inputs(rows.size());
  std::vector<bool> per_item(rows.size(), true);
  {
    GraphTracer tracer("vectorized_map", GraphTracer::ForItems{});
    std::vector<Tensor> tensors;
    for (const Tensor& row : rows) {
      tensors.push_back(tracer.add_argument(row.dtype(), row_shape(row.shape())));
    }
    *structure = body(tensors);
    graph = tracer.finish(tensors);
    for (const Tensor& capture : tracer.captures()) inputs.push_back(capture);
  }
  for (const Graph::Captured& captured : graph.captured) {
    VariableState& variable = *captured.variable.state();
    notify_read(variable);
    inputs.push_back(current_value(variable));
  }
  per_item.resize(inputs.size());
  tidy(graph);
  const std::int64_t count = rows[0].dim(0);
  const BatchedGraph batched(graph, std::move(inputs), per_item);
  std::vector<Batched> values = batched.run(std::vector<Tensor>(rows.begin(), rows.end()), count);
  std::vector<Tensor> results;
  for (std::size_t k = 0; k < graph.results.size(); ++k) {
    results.push_back(values[k].tensor.has_value() ? with_axis(values[k], count) : Tensor());
  }
  std::size_t next = graph.results.size();
  for (const Graph::Captured& captured : graph.captured) {
    if (captured.written == Graph::kNone) continue;
    Batched& written = values[next++];
    CAPSTAN_CHECK(!written.per_item, ValueError, "vectorized_map: the function assigns the variable \"",
                  captured.variable.name(), "\" something that differs from row to row",
                  help("return it, and assign what is to become of it behind the call"));
    Variable(captured.variable).assign(written.tensor);
  }
  return results;
}

void detail::check_loss(const char* call, const Tensor& loss) {
  CAPSTAN_CHECK(loss.has_value() && loss.rank() == 0, ShapeError, call, ": the function does not return a scalar",
                arguments({{"result", loss}}), help("reduce it, as with reduce_sum or reduce_mean"));
}

}  // namespace capstan
