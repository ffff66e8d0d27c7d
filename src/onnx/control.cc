// If, Loop and Scan.
//
// Whatever decides is mostly known when a call runs, in a trace too: then the branch or the iterations just run. Of an
// If whose condition a trace does not know both branches become a node (cond), and a Loop of which a trace does not
// know when it ends becomes one from there on (while_loop), unless it collects.
#include "capstan/control_flow.h"
#include "capstan/dynamic.h"

#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"

#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/onnx/import.h"

namespace capstan::onnx {
namespace {

std::vector<Tensor> run_inside(const NodeCall& call, const GraphProto& graph, const std::vector<Tensor>& inputs) {
  CAPSTAN_CHECK(inputs.size() == graph.inputs.size(), ValueError, "onnx: the graph inside takes ", graph.inputs.size(),
                " inputs, not ", inputs.size());
  Scope scope{&call.scope(), {}};
  for (std::size_t i = 0; i < inputs.size(); ++i) scope.values[graph.inputs[i].name] = {inputs[i], false, false};
  std::vector<Tensor> results;
  for (const Value& value : run_nodes(graph, call.opset(), scope)) results.push_back(onnx_layout(value));
  return results;
}

void run_if(NodeCall& call) {
  const Tensor condition = reshape(call.tensor(0), {});
  const auto then = [&] { return run_inside(call, call.graph("then_branch"), {}); };
  const auto otherwise = [&] { return run_inside(call, call.graph("else_branch"), {}); };
  for (Tensor& result : cond(condition, then, otherwise)) call.give(std::move(result));
}

// The rest of a loop as a node: its variables are the number of the iteration, the condition, and what is carried on.
std::vector<Tensor> loop_on_values(const NodeCall& call, const GraphProto& body, std::int64_t limit,
                                   std::vector<Tensor> variables) {
  const auto goes_on = [&](std::span<const Tensor> now) {
    return std::vector<Tensor>{limit == INT64_MAX ? now[1] : logical_and(now[1], now[0] < limit)};
  };
  const auto iterate = [&](std::span<const Tensor> now) {
    std::vector<Tensor> next = run_inside(call, body, {now.begin(), now.end()});
    next[0] = reshape(next[0], {});
    next.insert(next.begin(), now[0] + 1);
    return next;
  };
  variables = dynamic::while_loop(goes_on, iterate, std::move(variables));
  variables.erase(variables.begin(), variables.begin() + 2);
  return variables;
}

void loop(NodeCall& call) {
  const GraphProto& body = call.graph("body");
  const std::int64_t limit = call.has(0) ? call.integer_of(0) : INT64_MAX;
  Tensor goes_on = call.has(1) ? reshape(call.tensor(1), {}) : constant(true);
  std::vector<Tensor> carried;
  for (std::size_t i = 2; i < call.input_count(); ++i) carried.push_back(call.tensor(i));
  CAPSTAN_CHECK(body.outputs.size() >= carried.size() + 1, ValueError, "onnx: the body gives ", body.outputs.size(),
                " outputs for ", carried.size(), " values that are carried on");
  std::vector<std::vector<Tensor>> collected(body.outputs.size() - carried.size() - 1);
  for (std::int64_t i = 0; i < limit; ++i) {
    std::vector<Tensor> inputs = {constant(std::vector<std::int64_t>{i}, Shape{}), goes_on};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    if (!has_elements(goes_on)) {
      if (!collected.empty()) not_supported("a loop that collects, whose end depends on the values of a trace");
      carried = loop_on_values(call, body, limit, std::move(inputs));
      break;
    }
    if (!goes_on.item<bool>()) break;
    std::vector<Tensor> results = run_inside(call, body, inputs);
    goes_on = reshape(results[0], {});
    for (std::size_t k = 0; k < carried.size(); ++k) carried[k] = results[k + 1];
    for (std::size_t k = 0; k < collected.size(); ++k) collected[k].push_back(results[k + 1 + carried.size()]);
  }
  for (Tensor& one : carried) call.give(std::move(one));
  for (const std::vector<Tensor>& rows : collected) {
    if (rows.empty()) not_supported("a loop that collects and has no iterations");
    call.give(stack(rows));
  }
}

void run_scan(NodeCall& call) {
  if (call.opset() < 9) not_supported("Scan before opset 9");
  const GraphProto& body = call.graph("body");
  const auto sliced = static_cast<std::size_t>(call.integer("num_scan_inputs"));
  CAPSTAN_CHECK(sliced >= 1 && sliced <= call.input_count() && body.outputs.size() >= call.input_count() - sliced,
                ValueError, "onnx: ", sliced, " of ", call.input_count(), " inputs cannot be scanned");
  const std::size_t states = call.input_count() - sliced, outputs = body.outputs.size() - states;
  const std::vector<std::int64_t> in_axes = call.integers("scan_input_axes", std::vector<std::int64_t>(sliced, 0));
  const std::vector<std::int64_t> in_back =
      call.integers("scan_input_directions", std::vector<std::int64_t>(sliced, 0));
  const std::vector<std::int64_t> out_axes = call.integers("scan_output_axes", std::vector<std::int64_t>(outputs, 0));
  const std::vector<std::int64_t> out_back =
      call.integers("scan_output_directions", std::vector<std::int64_t>(outputs, 0));
  CAPSTAN_CHECK(
      in_axes.size() == sliced && in_back.size() == sliced && out_axes.size() == outputs && out_back.size() == outputs,
      ValueError, "onnx: the axes or directions do not fit ", sliced, " inputs and ", outputs, " outputs");
  std::vector<Tensor> carried;
  for (std::size_t i = 0; i < states; ++i) carried.push_back(call.tensor(i));
  std::vector<std::vector<Tensor>> rows, collected(outputs);
  for (std::size_t i = 0; i < sliced; ++i) {
    const Tensor x = call.tensor(states + i);
    rows.push_back(unstack(x, call.axis(in_axes[i], x.rank())));
    if (in_back[i] != 0) std::reverse(rows[i].begin(), rows[i].end());
    CAPSTAN_CHECK(rows[i].size() == rows[0].size(), ShapeError, "onnx: inputs with ", rows[0].size(), " and ",
                  rows[i].size(), " rows");
  }
  for (std::size_t t = 0; t < rows[0].size(); ++t) {
    std::vector<Tensor> inputs = carried;
    for (const std::vector<Tensor>& one : rows) inputs.push_back(one[t]);
    const std::vector<Tensor> results = run_inside(call, body, inputs);
    for (std::size_t k = 0; k < states; ++k) carried[k] = results[k];
    for (std::size_t k = 0; k < outputs; ++k) collected[k].push_back(results[states + k]);
  }
  for (Tensor& one : carried) call.give(std::move(one));
  for (std::size_t k = 0; k < outputs; ++k) {
    if (collected[k].empty()) not_supported("a scan of no rows");
    if (out_back[k] != 0) std::reverse(collected[k].begin(), collected[k].end());
    call.give(stack(collected[k], call.axis(out_axes[k], collected[k][0].rank() + 1)));
  }
}

constexpr Operator kControlOperators[] = {
    {"If", run_if},
    {"Loop", loop},
    {"Scan", run_scan},
};

}  // namespace

std::span<const Operator> control_operators() { return kControlOperators; }

}  // namespace capstan::onnx
