// What a node is made of takes its place.
//
// That is said by the op (src/core/op_for_programs.h), or by a node of control flow whose run can be traced: a function
// that is run again for its gradient, and that gradient. What the latter computes is what the former has computed, and
// must not be taken from there, or nothing would be saved: so this comes after the merge of duplicates, and the nodes
// get the number of a rerun, which keeps their loops apart from those of the first run. Draws are not made again: the
// log of the first run becomes the values themselves, which are kept.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "src/core/apply.h"
#include "src/graph/control.h"
#include "src/graph/graph.h"
#include "src/graph/shapes.h"
#include "src/graph/tracer.h"
#include "src/core/op_for_programs.h"

namespace capstan {

namespace {

using Value = Graph::Value;

class Expansions {
 public:
  explicit Expansions(Graph& graph) : graph_(graph), instead_(graph.values.size()) {
    std::iota(instead_.begin(), instead_.end(), 0);
    find_logs();
  }

  void run() {
    nodes_.reserve(graph_.nodes.size());
    for (Graph::Node& node : graph_.nodes) {
      for (Value& input : node.inputs) replace(input);
      const Control* const control = control_of(*node.op, node.attributes);
      const Unfolding unfolding = unfolding_of(node);
      const ExpandRule how = for_programs(*node.op).expand;
      const DType dtype = node.inputs.empty() ? DType::kBool : graph_.values[at(node.inputs[0])].dtype;
      if (unfolding.possible) {
        unfold(node, *control, unfolding);
      } else if (how != nullptr && (dtype == DType::kFloat32 || dtype == DType::kFloat64)) {
        splice(node,
               trace(node, {},
                     [&](const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                       how(inputs, node.attributes, outputs);
                     }),
               node.outputs, node.rerun);
      } else {
        nodes_.push_back(std::move(node));
      }
    }
    graph_.nodes = std::move(nodes_);
    for (Value& result : graph_.results) replace(result);
    for (Graph::Captured& captured : graph_.captured) replace(captured.written);
  }

 private:
  void replace(Value& value) const {
    if (value != Graph::kNone && at(value) < instead_.size()) value = instead_[at(value)];
  }

  static Unfolding unfolding_of(const Graph::Node& node) {
    const Control* const control = control_of(*node.op, node.attributes);
    return control == nullptr ? Unfolding() : control->unfolding(node.inputs.size());
  }

  // The logs of nodes that can be unfolded with all that read them.
  void find_logs() {
    for (const Graph::Node& node : graph_.nodes) {
      const Unfolding unfolding = unfolding_of(node);
      if (unfolding.possible && node.has_effect()) logs_[node.outputs[0]] = {};
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (!unfolding.possible || unfolding.log != static_cast<std::int64_t>(i)) logs_.erase(node.inputs[i]);
      }
    }
    graph_.for_each_result([&](Value value) { logs_.erase(value); });
  }

  // The graph of a run for inputs like those of the node and values like the others.
  template <class Run>
  Graph trace(const Graph::Node& node, std::span<const Value> others, const Run& run) const {
    GraphTracer tracer(std::string(node.op->name), false);
    std::vector<Tensor> inputs;
    const auto add = [&](Value value) {
      inputs.push_back(tracer.add_argument(graph_.values[at(value)].dtype, graph_.values[at(value)].shape));
    };
    for (const Value input : node.inputs) add(input);
    for (const Value other : others) add(other);
    std::vector<Tensor> outputs;
    run(inputs, outputs);
    return tracer.finish(outputs);
  }

  void unfold(Graph::Node& node, const Control& control, const Unfolding& unfolding) {
    const auto known = logs_.find(unfolding.log < 0 ? Graph::kNone : node.inputs[at(unfolding.log)]);
    const bool has_log = node.has_effect() && logs_.count(node.outputs[0]) != 0;
    if ((unfolding.log >= 0 && known == logs_.end()) || (node.has_effect() && !has_log)) {
      nodes_.push_back(std::move(node));
      return;
    }
    const std::vector<Value> draws = unfolding.log < 0 ? std::vector<Value>() : known->second;
    Graph part = trace(node, draws, [&](std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
      const auto own = inputs.begin() + static_cast<std::ptrdiff_t>(node.inputs.size());
      EffectLog log = EffectLog::again({own, inputs.end()});
      log.replay = unfolding.log >= 0;
      inputs.erase(own, inputs.end());
      outputs = control.run(std::move(inputs), log.replay || has_log ? &log : nullptr);
      // What it has drawn, as further results.
      if (has_log) outputs.insert(outputs.end(), log.values.begin(), log.values.end());
    });
    detach_shapes(part);
    fold_constants(part);
    simplify(part);
    merge_duplicates(part);
    expand(part);
    // The log itself is gone.
    std::vector<Value> outputs(node.outputs.begin() + (has_log ? 1 : 0), node.outputs.end());
    const std::size_t own = outputs.size();
    const Value log = has_log ? node.outputs[0] : Graph::kNone;
    for (std::size_t k = own; k < part.results.size(); ++k) {
      const Graph::ValueInfo& info = part.values[at(part.results[k])];
      outputs.push_back(add_value(info.dtype, info.shape));
    }
    node.inputs.insert(node.inputs.end(), draws.begin(), draws.end());
    splice(node, std::move(part), outputs, unfolding.again ? ++reruns_ : node.rerun);
    for (std::size_t k = own; k < outputs.size(); ++k) {
      replace(outputs[k]);
      logs_[log].push_back(outputs[k]);
    }
  }

  Value add_value(DType dtype, const Shape& shape, Tensor constant = {}) {
    instead_.push_back(static_cast<Value>(instead_.size()));
    return graph_.add_value(dtype, shape, std::move(constant));
  }

  // Appends the nodes of `part`; its results are `outputs`.
  void splice(const Graph::Node& node, Graph part, std::span<const Value> outputs, std::int32_t rerun) {
    std::vector<Value> as(part.values.size(), Graph::kNone);
    for (std::size_t i = 0; i < part.arguments.size(); ++i) as[at(part.arguments[i])] = node.inputs[i];
    for (std::size_t i = 0; i < part.results.size(); ++i) {
      Value& value = as[at(part.results[i])];
      if (value != Graph::kNone) {
        instead_[at(outputs[i])] = value;  // an input, or what is a result already
      } else {
        value = outputs[i];
        graph_.values[at(value)].constant = part.values[at(part.results[i])].constant;
      }
    }
    for (std::size_t v = 0; v < part.values.size(); ++v) {
      const Graph::ValueInfo& info = part.values[v];
      if (as[v] == Graph::kNone) as[v] = add_value(info.dtype, info.shape, info.constant);
    }
    const std::int32_t before = reruns_;
    for (Graph::Node& inner : part.nodes) {
      for (Value& input : inner.inputs) input = as[at(input)];
      for (Value& output : inner.outputs) output = as[at(output)];
      inner.rerun = inner.rerun == 0 ? rerun : before + inner.rerun;
      reruns_ = std::max(reruns_, inner.rerun);
      nodes_.push_back(std::move(inner));
    }
    for (auto& control : part.controls) graph_.controls.push_back(std::move(control));
  }

  Graph& graph_;
  std::vector<Graph::Node> nodes_;
  std::vector<Value> instead_;                // what stands for each value from now on
  std::map<Value, std::vector<Value>> logs_;  // by a log: what has been drawn
  std::int32_t reruns_ = 0;
};

}  // namespace

void expand(Graph& graph) { Expansions(graph).run(); }

}  // namespace capstan
