#include "src/saved_model/saved_graph.h"

#include <algorithm>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>

#include "capstan/error.h"
#include "src/core/check.h"
#include "src/saved_model/saved_control.h"
#include "src/saved_model/trace_ops.h"

namespace capstan::saved_model {

namespace {

constexpr std::size_t kAnyValue = std::numeric_limits<std::size_t>::max();

// Values as a file numbers them, with gaps, and as a graph does. Fails for what is made twice, or not yet.
class Values {
 public:
  explicit Values(const Reading& reading) : reading_(reading) {}

  std::size_t count() const { return places_.size(); }
  void define(std::size_t& value) {
    const auto [found, is_new] = places_.try_emplace(value, places_.size());
    if (!is_new) reading_.fail(detail::join("the value ", value, " of a graph is made twice"));
    value = found->second;
  }
  void find(std::size_t& value, const std::string& by) const {
    const auto found = places_.find(value);
    if (found == places_.end()) {
      reading_.fail(detail::join(by, " reads the value ", value, ", which nothing before it makes"));
    }
    value = found->second;
  }

 private:
  const Reading& reading_;
  std::unordered_map<std::size_t, std::size_t> places_;
};

}  // namespace

const AttributeValue& Reading::member(const AttributeValue& form, const char* key) const {
  const AttributeValue* const value = form.find(key);
  if (value == nullptr) fail(detail::join("a graph or node has no \"", key, "\""));
  return *value;
}

const std::vector<AttributeValue>& Reading::list(const AttributeValue& value, const char* what) const {
  if (value.kind != AttributeValue::Kind::kList) fail(detail::join(what, " is no list"));
  return value.list;
}

std::size_t Reading::number(const AttributeValue& value, std::size_t limit, const char* what) const {
  const bool fits = value.kind == AttributeValue::Kind::kInt && value.integer >= 0 &&
                    static_cast<std::uint64_t>(value.integer) < limit;
  if (!fits) fail(detail::join(what, " is ", value.to_string(), ", not a number below ", limit));
  return static_cast<std::size_t>(value.integer);
}

std::vector<std::size_t> Reading::numbers(const AttributeValue& value, std::size_t limit, const char* what) const {
  std::vector<std::size_t> numbers;
  for (const AttributeValue& item : list(value, what)) numbers.push_back(number(item, limit, what));
  return numbers;
}

SavedGraph::SavedGraph(const AttributeValue& form, const Reading& reading) {
  Values values(reading);
  inputs_ = reading.numbers(reading.member(form, "inputs"), kAnyValue, "an input of a graph");
  for (std::size_t& input : inputs_) values.define(input);
  for (const AttributeValue& item : reading.list(reading.member(form, "constants"), "the list of constants")) {
    const std::vector<AttributeValue>& pair = reading.list(item, "a constant");
    if (pair.size() != 2) reading.fail("a constant is no pair of numbers");
    constants_.emplace_back(reading.number(pair[0], kAnyValue, "the value of a constant"),
                            reading.number(pair[1], reading.constants, "the place of a constant"));
    values.define(constants_.back().first);
  }
  for (const AttributeValue& item : reading.list(reading.member(form, "nodes"), "the list of nodes")) {
    Node node = read_node(item, reading);
    for (std::size_t& input : node.inputs) values.find(input, node.name);
    for (std::size_t& output : node.outputs) values.define(output);
    nodes_.push_back(std::move(node));
  }
  for (const AttributeValue& item : reading.list(reading.member(form, "results"), "the list of results")) {
    const bool is_empty = item.kind == AttributeValue::Kind::kInt && item.integer == -1;
    results_.push_back(is_empty ? kEmpty : reading.number(item, kAnyValue, "a result of a graph"));
    if (!is_empty) values.find(results_.back(), "a result");
  }
  values_ = values.count();
}

SavedGraph::Node SavedGraph::read_node(const AttributeValue& form, const Reading& reading) const {
  const std::vector<AttributeValue>& parts = reading.list(form, "a node");
  const bool has_form = (parts.size() == 4 || parts.size() == 5) && parts[0].kind == AttributeValue::Kind::kString &&
                        parts[3].kind == AttributeValue::Kind::kMap;
  if (!has_form) reading.fail("a node is no list of a name, inputs, outputs, attributes and graphs");
  Node node{.name = parts[0].text,
            .op = {},
            .attributes = {},
            .form = {},
            .control = nullptr,
            .inputs = reading.numbers(parts[1], kAnyValue, "an input of a node"),
            .outputs = reading.numbers(parts[2], kAnyValue, "an output of a node")};
  if (parts.size() == 5) {
    node.control = SavedControl::read(node.name, parts[3], parts[4], node.inputs.size(), reading);
    return node;
  }
  if (is_trace_op(node.name)) {
    if (node.inputs.empty() || node.outputs.size() != 1) reading.fail(node.name + " has no input, or not one output");
    node.form = parts[3];
    return node;
  }
  if (!has_op(node.name)) reading.fail("there is no op \"" + node.name + "\"");
  try {
    node.op.emplace(node.name);
    node.attributes.emplace(*node.op);
    const std::span<const AttributeField> fields = node.op->fields();
    for (const auto& item : parts[3].items) {
      const std::string& key = item.first;
      const auto field = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == key; });
      if (field == fields.end()) reading.fail(node.name + " has no attribute \"" + key + "\"");
      node.attributes->put(static_cast<int>(field - fields.begin()), item.second);
    }
    node.attributes->data();  // throws if one is missing
  } catch (const ValueError& error) {
    reading.fail(error.what());
  }
  const int given = static_cast<int>(node.outputs.size());
  if (node.op->outputs() != -1 && node.op->outputs() != given) {
    reading.fail(detail::join(node.name, " gives ", node.op->outputs(), " tensors, not ", given));
  }
  return node;
}

std::vector<Tensor> SavedGraph::run_node(const Node& node, std::vector<Tensor> inputs,
                                         const Constants& constants) const {
  if (node.control != nullptr) return node.control->run(node.control, std::move(inputs), constants);
  if (!node.op) return {run_trace_op(node.name, inputs, node.form)};
  std::vector<Operand> operands(inputs.begin(), inputs.end());
  return call_all(*node.op, operands, *node.attributes);
}

std::vector<Tensor> SavedGraph::run(std::vector<Tensor> inputs, const Constants& constants) const {
  std::vector<Tensor> values(values_);
  for (std::size_t i = 0; i < inputs_.size(); ++i) values[inputs_[i]] = std::move(inputs[i]);
  for (const auto& [value, place] : constants_) values[value] = (*constants)[place];
  for (const Node& node : nodes_) {
    std::vector<Tensor> operands;
    for (const std::size_t input : node.inputs) operands.push_back(values[input]);
    std::vector<Tensor> outputs = run_node(node, std::move(operands), constants);
    CAPSTAN_CHECK(outputs.size() == node.outputs.size(), ValueError, node.name, ": it gives ", outputs.size(),
                  " tensors, and in the saved function ", node.outputs.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) values[node.outputs[k]] = std::move(outputs[k]);
  }
  std::vector<Tensor> results;
  for (const std::size_t result : results_) results.push_back(result == kEmpty ? Tensor() : values[result]);
  return results;
}

}  // namespace capstan::saved_model
