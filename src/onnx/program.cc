#include "src/onnx/program.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/io/byte_source.h"

namespace capstan::onnx {
namespace {

using io::in_quotes;
using Names = std::unordered_set<std::string>;

// Everything that a graph names has to be made before, by it or by a graph around it; operators have to be known.
class Checker {
 public:
  Checker(const Origin& origin, std::int64_t opset) : origin_(origin), opset_(opset) {}

  void check(const GraphProto& graph, std::vector<const Names*>& around) {
    Names known;
    for (const ValueProto& input : graph.inputs) known.insert(input.name);
    for (const auto& [name, tensor] : graph.initializers) known.insert(name);
    around.push_back(&known);
    Names made_somewhere;
    for (const NodeProto& node : graph.nodes) made_somewhere.insert(node.outputs.begin(), node.outputs.end());
    const auto find = [&](const std::string& name) {
      return std::any_of(around.begin(), around.end(), [&](const Names* names) { return names->contains(name); });
    };
    for (const NodeProto& node : graph.nodes) {
      const bool is_standard = node.domain.empty() || node.domain == "ai.onnx";
      if (!is_standard || find_builder(node.op) == nullptr) {
        const std::string op = (is_standard ? "" : node.domain + ".") + node.op;
        if (std::find(unknown_.begin(), unknown_.end(), op) == unknown_.end()) unknown_.push_back(op);
      }
      for (const std::string& input : node.inputs) {
        if (input.empty() || find(input)) continue;
        if (made_somewhere.contains(input)) {
          origin_.fail(node.title() + " reads " + in_quotes(input) +
                       ", which is made by itself or by a later node: there is a cycle, or the nodes are not in order");
        }
        origin_.fail(node.title() + " reads " + in_quotes(input) + ", which nothing makes");
      }
      for (const Attribute& attribute : node.attributes) {
        if (attribute.graph != nullptr) check(*attribute.graph, around);
      }
      for (const std::string& output : node.outputs) {
        if (!output.empty() && !known.insert(output).second) {
          origin_.fail(node.title() + " makes " + in_quotes(output) + ", which is there already");
        }
      }
    }
    for (const ValueProto& output : graph.outputs) {
      if (!find(output.name)) origin_.fail("the output " + in_quotes(output.name) + " is made by nothing");
    }
    around.pop_back();
  }

  void report() const {
    if (unknown_.empty()) return;
    std::string list;
    for (const std::string& op : unknown_) list += (list.empty() ? "" : ", ") + in_quotes(op);
    origin_.fail("operators that are not supported in opset " + std::to_string(opset_) + ": " + list);
  }

 private:
  const Origin& origin_;
  std::int64_t opset_;
  std::vector<std::string> unknown_;
};

// How often each name is read: as the filters of a convolution, and in any other way.
void count_reads(const GraphProto& graph, std::unordered_map<std::string, int>& as_filter, Names& otherwise) {
  for (const NodeProto& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.op == "Conv" && i == 1) {
        ++as_filter[node.inputs[i]];
      } else {
        otherwise.insert(node.inputs[i]);
      }
    }
    for (const Attribute& attribute : node.attributes) {
      if (attribute.graph != nullptr) count_reads(*attribute.graph, as_filter, otherwise);
    }
  }
  for (const ValueProto& output : graph.outputs) otherwise.insert(output.name);
}

// What a node reads, graphs inside of it included.
void add_reads(const NodeProto& node, std::vector<std::string>& names) {
  names.insert(names.end(), node.inputs.begin(), node.inputs.end());
  for (const Attribute& attribute : node.attributes) {
    if (attribute.graph == nullptr) continue;
    for (const NodeProto& inside : attribute.graph->nodes) add_reads(inside, names);
    for (const ValueProto& output : attribute.graph->outputs) names.push_back(output.name);
  }
}

// For each node the values of its graph that nobody reads after it.
std::vector<std::vector<std::string>> last_reads(const GraphProto& graph) {
  std::unordered_map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    std::vector<std::string> names;
    add_reads(graph.nodes[i], names);
    for (const std::string& name : names) last[name] = i;
  }
  for (const ValueProto& output : graph.outputs) last.erase(output.name);
  std::vector<std::vector<std::string>> dead(graph.nodes.size());
  for (const auto& [name, at] : last) dead[at].push_back(name);
  return dead;
}

}  // namespace

std::vector<Value> run_nodes(const GraphProto& graph, std::int64_t opset, Scope& scope) {
  for (const auto& [name, tensor] : graph.initializers) scope.values.try_emplace(name, Value{tensor, false, false});
  const std::vector<std::vector<std::string>> dead = last_reads(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeProto& node = graph.nodes[i];
    NodeCall call(node, opset, scope);
    try {
      find_builder(node.op)(call);
      for (std::size_t k = call.outputs.size(); k < node.outputs.size(); ++k) {
        if (!node.outputs[k].empty()) not_supported("output " + std::to_string(k));
      }
    } catch (const Error&) {
      rethrow_with(std::vector<ErrorLine>{{"node", node.title()}});
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (!node.outputs[k].empty()) scope.values[node.outputs[k]] = std::move(call.outputs[k]);
    }
    for (const std::string& name : dead[i]) scope.values.erase(name);
  }
  std::vector<Value> results;
  for (const ValueProto& output : graph.outputs) {
    const Value* found = scope.find(output.name);
    CAPSTAN_CHECK(found != nullptr, ValueError, "onnx: there is no value \"", output.name, "\"");
    results.push_back(*found);
  }
  return results;
}

Program::Program(Origin origin, ModelProto model, bool trainable)
    : origin_(std::move(origin)), model_(std::move(model)) {
  GraphProto& graph = model_.graph;
  Checker checker(origin_, model_.opset);
  std::vector<const Names*> around;
  checker.check(graph, around);
  checker.report();
  std::unordered_map<std::string, int> as_filter;
  Names otherwise, stored;
  count_reads(graph, as_filter, otherwise);
  for (auto& [name, tensor] : graph.initializers) {
    if (!stored.insert(name).second) origin_.fail("there are two initializers " + in_quotes(name));
    const bool is_filter = as_filter.contains(name) && !otherwise.contains(name) && tensor.rank() >= 3;
    Weight weight{name, is_filter ? transpose(tensor, filter_from_onnx(tensor.rank())) : tensor, {}, is_filter};
    tensor = Tensor();
    if (trainable && is_floating(weight.tensor.dtype())) {
      weight.variable = Variable(std::move(weight.tensor), {.name = name});
      weight.tensor = Tensor();
      variables_.push_back(weight.variable);
    }
    weights_.push_back(std::move(weight));
  }
  graph.initializers.clear();
  for (const ValueProto& input : graph.inputs) {
    if (stored.contains(input.name)) continue;
    if (input.type == 0) origin_.fail("the input " + in_quotes(input.name) + " is no tensor, which is not supported");
    const DType dtype = dtype_of(origin_, input.type, "the input " + in_quotes(input.name));
    if (input.shape) {
      inputs_.emplace_back(Shape(*input.shape), dtype, input.name);
    } else {
      inputs_.emplace_back(std::nullopt, dtype, input.name);
    }
  }
  for (const ValueProto& output : graph.outputs) output_names_.push_back(output.name);
}

std::vector<Tensor> Program::run(const std::vector<Tensor>& inputs) const {
  CAPSTAN_CHECK(inputs.size() == inputs_.size(), ValueError, "OnnxModel: called with ", inputs.size(),
                " inputs, but it takes ", inputs_.size());
  Scope scope;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorSpec& spec = inputs_[i];
    CAPSTAN_CHECK(inputs[i].has_value(), ValueError, "OnnxModel: the input \"", spec.name, "\" is an empty handle");
    CAPSTAN_CHECK(inputs[i].dtype() == spec.dtype, DTypeError, "OnnxModel: the input \"", spec.name, "\" is ",
                  describe(inputs[i]), ", but should be ", spec.to_string());
    CAPSTAN_CHECK(spec.fits(inputs[i].dtype(), inputs[i].shape()), ShapeError, "OnnxModel: the input \"", spec.name,
                  "\" is ", describe(inputs[i]), ", but should be ", spec.to_string());
    scope.values[spec.name] = {inputs[i], false, false};
  }
  for (const Weight& weight : weights_) {
    scope.values[weight.name] = {weight.variable.has_value() ? weight.variable.value() : weight.tensor, false,
                                 weight.is_filter};
  }
  std::vector<Tensor> results;
  for (const Value& value : run_nodes(model_.graph, model_.opset, scope)) results.push_back(onnx_layout(value));
  return results;
}

}  // namespace capstan::onnx

namespace capstan {

std::vector<Tensor> OnnxModel::operator()(const std::vector<Tensor>& inputs) const { return program_->run(inputs); }

Tensor OnnxModel::operator()(const Tensor& input) const {
  CAPSTAN_CHECK(output_names().size() == 1, ValueError, "OnnxModel: it gives ", output_names().size(),
                " outputs, not one", help("call it with a vector of inputs"));
  return program_->run({input})[0];
}

const std::vector<TensorSpec>& OnnxModel::inputs() const { return program_->inputs(); }
const std::vector<std::string>& OnnxModel::output_names() const { return program_->output_names(); }
const std::vector<Variable>& OnnxModel::variables() const { return program_->variables(); }
std::int64_t OnnxModel::opset() const { return program_->opset(); }

std::vector<Variable> OnnxModel::trainable_variables() const {
  std::vector<Variable> trainable;
  for (const Variable& variable : variables()) {
    if (variable.trainable()) trainable.push_back(variable);
  }
  return trainable;
}

const Variable& OnnxModel::variable(const std::string& name) const {
  for (const Variable& variable : variables()) {
    if (variable.name() == name) return variable;
  }
  throw ValueError("OnnxModel: there is no weight " + io::in_quotes(name));
}

OnnxModel load_onnx(const std::string& path, const LoadOnnxOptions& options) {
  const onnx::Origin origin{"load_onnx", path};
  const std::unique_ptr<io::ByteSource> source = io::open_plain_file(origin.reader, path);
  onnx::ModelProto model;
  {
    const std::vector<std::byte> bytes = io::read_exactly(*source, source->most_bytes(), "model");
    model = onnx::read_model(origin, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return OnnxModel(std::make_shared<const onnx::Program>(origin, std::move(model), options.trainable));
}

}  // namespace capstan
