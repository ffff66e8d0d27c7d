#include "src/saved_model/graph_form.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "src/graph/control.h"
#include "src/ops/registry.h"
#include "src/saved_model/node_attributes.h"
#include "src/saved_model/trace_ops.h"

namespace capstan::saved_model {

namespace {

using Value = Graph::Value;

class Writer {
 public:
  Writer(const Graph& graph, Tables& tables, std::vector<std::string>& refused)
      : graph_(graph), tables_(tables), refused_(refused), needed_(graph.values.size()) {
    graph.for_each_result([this](Value value) { needed_[at(value)] = true; });
    for (std::size_t n = graph.nodes.size(); n-- > 0;) {
      const Graph::Node& node = graph.nodes[n];
      const bool is_read = std::any_of(node.outputs.begin(), node.outputs.end(),
                                       [&](Value output) { return needed_[at(output)] && !is_constant(output); });
      if (node.is_known || (!is_read && !node.has_effect())) continue;
      for (const Value input : node.inputs) needed_[at(input)] = true;
      nodes_.push_back(&node);
    }
    std::reverse(nodes_.begin(), nodes_.end());
  }

  AttributeValue write_function() {
    std::vector<AttributeValue> inputs, variables, writes;
    for (const Value argument : graph_.arguments) {
      if (!is_constant(argument)) inputs.push_back(number(argument));
    }
    std::vector<AttributeValue> given = results();
    for (const Graph::Captured& captured : graph_.captured) {
      inputs.push_back(number(captured.value));
      variables.emplace_back(tables_.number_of(captured.variable));
      if (captured.written != Graph::kNone) writes.push_back(variables.back());
    }
    AttributeValue form = write(std::move(inputs), std::move(given));
    form.set("variables", std::move(variables));
    form.set("writes", std::move(writes));
    return form;
  }

  AttributeValue write_part(const Subgraph& part) {
    std::vector<AttributeValue> inputs;
    std::vector<std::size_t> from;
    for (std::size_t i = 0; i < part.from.size(); ++i) {
      if (is_constant(graph_.input(i))) continue;
      inputs.push_back(number(graph_.input(i)));
      from.push_back(part.from[i]);
    }
    AttributeValue form = write(std::move(inputs), results());
    form.set("from", list_of(from));
    form.set("written", list_of(part.written));
    return form;
  }

 private:
  const Tensor& constant_of(Value value) const {
    const Graph::ValueInfo& info = graph_.values[at(value)];
    return info.constant.has_value() ? info.constant : info.known;
  }
  bool is_constant(Value value) const { return constant_of(value).has_value(); }

  // Of a value in the file; those that are constants are listed the first time.
  AttributeValue number(Value value) {
    if (value != Graph::kNone && is_constant(value) && std::exchange(is_listed_[value], true) == false) {
      constants_.emplace_back(
          std::vector<AttributeValue>{static_cast<std::int64_t>(value), tables_.number_of(constant_of(value))});
    }
    return static_cast<std::int64_t>(value);
  }

  // And then what variables hold at the end, of those that are written.
  std::vector<AttributeValue> results() {
    std::vector<AttributeValue> results;
    for (const Value result : graph_.results) results.push_back(number(result));
    for (const Graph::Captured& captured : graph_.captured) {
      if (captured.written != Graph::kNone) results.push_back(number(captured.written));
    }
    return results;
  }

  AttributeValue write(std::vector<AttributeValue> inputs, std::vector<AttributeValue> results) {
    std::vector<AttributeValue> nodes;
    for (const Graph::Node* node : nodes_) nodes.push_back(write(*node));
    AttributeValue form = AttributeValue::map();
    form.set("inputs", std::move(inputs));
    form.set("constants", std::move(constants_));
    form.set("nodes", std::move(nodes));
    form.set("results", std::move(results));
    return form;
  }

  AttributeValue write(const Graph::Node& node) {
    const Control* const control = control_of(*node.op, node.attributes);
    std::vector<AttributeValue> inputs, outputs;
    for (const Value input : node.inputs) inputs.push_back(number(input));
    for (const Value output : node.outputs) outputs.emplace_back(static_cast<std::int64_t>(output));
    // The log of effects is for gradients, which are refused.
    if (control != nullptr && control->effects) outputs.erase(outputs.begin());
    std::vector<AttributeValue> form = {std::string(node.op->name), std::move(inputs), std::move(outputs)};
    form.push_back(control != nullptr ? write_control(*control) : write_attributes(node));
    if (control != nullptr) {
      std::vector<AttributeValue> parts;
      for (const Subgraph* part : control->parts()) {
        parts.push_back(Writer(part->graph, tables_, refused_).write_part(*part));
      }
      form.emplace_back(std::move(parts));
    }
    return form;
  }

  AttributeValue write_control(const Control& control) {
    AttributeValue form = control.form();
    if (!form.has_value()) refuse(control.name());
    return form;
  }

  AttributeValue write_attributes(const Graph::Node& node) {
    if (is_trace_op(node.op->name)) return trace_op_form(node);
    if (find_op(node.op->name) != node.op || node.renew) refuse(std::string(node.op->name));
    return attributes_form(*node.op, node.attributes);
  }

  void refuse(std::string name) {
    if (std::find(refused_.begin(), refused_.end(), name) == refused_.end()) refused_.push_back(std::move(name));
  }

  const Graph& graph_;
  Tables& tables_;
  std::vector<std::string>& refused_;
  std::vector<bool> needed_;
  std::vector<const Graph::Node*> nodes_;  // that are written
  std::unordered_map<Value, bool> is_listed_;
  std::vector<AttributeValue> constants_;
};

}  // namespace

std::int64_t Tables::number_of(const Tensor& constant) {
  const auto [found, is_new] = numbers_.try_emplace(constant.block(), static_cast<std::int64_t>(constants.size()));
  if (is_new) constants.push_back(constant);
  return found->second;
}

std::int64_t Tables::number_of(const Variable& variable) {
  const auto [found, is_new] = numbers_.try_emplace(variable.state(), static_cast<std::int64_t>(variables.size()));
  if (is_new) variables.push_back(variable);
  return found->second;
}

AttributeValue form_of(const Graph& graph, Tables& tables, std::vector<std::string>& refused) {
  return Writer(graph, tables, refused).write_function();
}

}  // namespace capstan::saved_model
