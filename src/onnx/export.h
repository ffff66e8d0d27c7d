// How ops of a traced graph become nodes of an ONNX graph.
//
// There is one table: the name of an op and a function that writes its nodes, with an OpCall to read the op's inputs
// and attributes from. A family of ops is a file, with a list at its end. Nodes have the library's layout: what ONNX
// has with the channels second gets transposes around it, which a pass removes where they meet (transposes.h).
//
// Open lengths. A trace is made of numbers, so a function whose batch is open is traced for two lengths. What is equal
// in both traces is a number of the model. Of what differs, lengths in the shapes of values need no word in ONNX, and
// those in a list of lengths are written as computations from the shape of an input; anything else that differs is an
// error that names the op. See OpCall::lengths.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capstan/registry.h"
#include "capstan/tensor.h"

#include "src/graph/control.h"
#include "src/graph/graph.h"
#include "src/onnx/proto.h"

namespace capstan::onnx {

/// Attributes of nodes.
Attribute attribute(std::string_view name, std::int64_t value);
Attribute attribute(std::string_view name, int value);
Attribute attribute(std::string_view name, double value);
Attribute attribute(std::string_view name, const char* value);
Attribute attribute(std::string_view name, std::vector<std::int64_t> value);
Attribute attribute(std::string_view name, Tensor value);
Attribute attribute(std::string_view name, GraphProto value);

/// The axes of an ONNX graph's values by name, as far as they are known.
using Shapes = std::unordered_map<std::string, Shape>;

/// An ONNX graph to which nodes are added one after the other.
class GraphMaker {
 public:
  explicit GraphMaker(std::int64_t opset) : opset_(opset) {}

  std::int64_t opset() const { return opset_; }
  /// A name that nothing has yet, beginning like this.
  std::string fresh(const std::string& name);
  /// A node with so many outputs, whose names begin like this.
  std::vector<std::string> add_node(std::string_view op, std::vector<std::string> inputs,
                                    std::vector<Attribute> attributes, std::size_t outputs, const std::string& name);
  /// An initializer. Those of few integers are there once.
  std::string add_tensor(const Tensor& tensor, const std::string& name);
  std::string add_integers(const std::vector<std::int64_t>& values);

  GraphProto graph;
  Shapes shapes;

 private:
  std::int64_t opset_;
  std::unordered_map<std::string, int> taken_;
  std::map<std::vector<std::int64_t>, std::string> integers_;
};

/// Throws ValueError unless two traces have the same ops, whatever their attributes.
void check_alike(const Graph& a, const Graph& b);

/// The traces of a function, and what of them is written so far.
class Exporter {
 public:
  /// A length of an input that is open, in both traces.
  struct OpenLength {
    std::string input;
    int axis = 0;
    std::int64_t first = 0, second = 0;
  };

  /// Without a second graph no length is open.
  Exporter(const Graph& first, const Graph* second, std::int64_t opset);
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  /// Writes everything: the inputs under these names, in the order of the arguments, and results under those. Throws
  /// ValueError for ops that are not known, all of them in one message, and for what depends on a length.
  GraphProto write(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

  GraphMaker& maker;

 private:
  friend class OpCall;

  /// Of a part of a node of another one. Weights go to the whole graph, nodes to where the maker is.
  Exporter(const Graph& first, const Graph* second, const Exporter& around);

  void prepare();
  void find_uses();
  void check() const;
  void add_missing(std::map<std::string_view, int>& missing) const;
  void add_input(Graph::Value value, const std::string& name);
  std::vector<std::string> write_part(const Graph::Node& node, const Subgraph& part, const Subgraph* second,
                                      std::span<const std::string> own);
  void write_node(std::size_t i);
  bool fold(std::size_t i);
  void describe_outputs(const std::vector<std::string>& outputs);
  /// The elements, if they are known when the function is exported.
  const Tensor* known(Graph::Value value) const;
  const Tensor* known_in_second(Graph::Value value) const;
  std::string name_of(Graph::Value value);
  std::string varying_constant(Graph::Value value);
  /// A length that is `first` and `second` in the two traces, as a tensor of one integer; empty: there is no way.
  std::string length(std::int64_t first, std::int64_t second);
  const Graph::ValueInfo& info(Graph::Value value) const { return first_.values[static_cast<std::size_t>(value)]; }

  std::unique_ptr<GraphMaker> own_maker_;  // of a whole graph
  const Graph& first_;
  const Graph* second_;
  std::vector<OpenLength> open_;
  std::vector<std::string> names_;  // by value; empty: has none yet
  std::vector<Tensor> known_;       // by value: of variables, and what follows from them by views
  std::vector<std::string> hints_;  // by value: a name for such a tensor
  std::vector<int> made_by_;        // by value: the node, or -1
  std::vector<int> uses_;           // by value
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> lengths_;
  // Of a part: what its values are outside.
  Exporter* around_ = nullptr;
  std::unordered_map<Graph::Value, Graph::Value> outside_;
};

/// One op that is written.
class OpCall {
 public:
  OpCall(Exporter& exporter, std::size_t node, std::string_view onnx);

  std::string_view op() const { return node_.op->name; }
  /// The ONNX operator of its row.
  std::string onnx() const { return std::string(onnx_); }
  std::int64_t opset() const { return exporter_.maker.opset(); }

  // Inputs and outputs.
  std::size_t input_count() const { return node_.inputs.size(); }
  std::string in(std::size_t i) const;
  const Shape& shape(std::size_t i) const { return exporter_.info(node_.inputs[i]).shape; }
  DType dtype(std::size_t i = 0) const { return exporter_.info(node_.inputs[i]).dtype; }
  int rank(std::size_t i = 0) const { return shape(i).rank(); }
  std::size_t output_count() const { return node_.outputs.size(); }
  const Shape& out_shape(std::size_t i = 0) const { return exporter_.info(node_.outputs[i]).shape; }
  DType out_dtype(std::size_t i = 0) const { return exporter_.info(node_.outputs[i]).dtype; }
  bool is_used(std::size_t output) const;
  /// Whether an axis of an input, or of an output, has one length in the traces.
  bool is_fixed(std::size_t i, int axis) const;
  bool is_output_fixed(std::size_t i, int axis) const;
  /// The elements of an input, if they are known when the function is exported; else null.
  const Tensor* known(std::size_t i) const;
  /// The node that makes an input, if its op has this name; else nothing.
  std::optional<OpCall> maker_of(std::size_t i, std::string_view op) const;
  /// The nodes that read an output.
  std::vector<OpCall> readers_of(std::size_t output) const;
  bool reads_same(std::size_t i, const OpCall& other, std::size_t output) const {
    return node_.inputs[i] == other.node_.outputs[output];
  }

  // Attributes. Throws ValueError for one that differs in the traces, but for value_in_second.
  AttributeValue value(std::string_view name) const;
  AttributeValue value_in_second(std::string_view name) const;
  /// The first value, whatever the second is.
  AttributeValue value_in_first(std::string_view name) const;
  /// Throws ValueError: the attribute differs.
  [[noreturn]] void depends(std::string_view name) const;
  std::int64_t integer(std::string_view name) const { return value(name).integer; }
  double number(std::string_view name) const { return value(name).number; }
  bool truth(std::string_view name) const { return value(name).truth; }
  std::string text(std::string_view name) const { return value(name).text; }
  std::vector<std::int64_t> integers(std::string_view name) const;
  /// An axis, counted from the front.
  int axis(std::string_view name, int rank) const;
  /// All of them if none are given.
  std::vector<std::int64_t> axes(std::string_view name, int rank) const;

  /// A list of lengths that may differ in the traces, as a tensor of integers. Where `like` has the same length at the
  /// place, `copied` stands for it if that is given.
  std::string lengths(std::string_view name, std::optional<std::int64_t> copied = {}, const Shape* like = nullptr,
                      const Shape* second_like = nullptr) const;
  /// The lengths of an input, or of an output, as a tensor of integers.
  std::string shape_of(std::size_t i) const;
  const Shape& second_shape(std::size_t i) const;
  const Shape& second_out_shape(std::size_t i = 0) const;
  std::string lengths_of(const Shape& first, const Shape& second) const;

  // Nodes.
  std::string node(std::string_view op, std::vector<std::string> inputs, std::vector<Attribute> attributes = {}) const;
  std::vector<std::string> nodes(std::string_view op, std::vector<std::string> inputs,
                                 std::vector<Attribute> attributes, std::size_t outputs) const;
  /// A scalar of a dtype, by default that of input 0.
  std::string scalar(double value) const { return scalar(value, dtype(0)); }
  std::string scalar(double value, DType dtype) const;
  std::string integers_of(const std::vector<std::int64_t>& values) const {
    return exporter_.maker.add_integers(values);
  }
  std::string tensor(const Tensor& value, const std::string& name) const;
  /// A name for a value of a graph within the graph.
  std::string unused_name() const { return exporter_.maker.fresh(std::string(op())); }
  std::string cast_to(const std::string& x, DType dtype) const;
  std::string transposed(const std::string& x, const std::vector<int>& order) const;
  std::string unsqueezed(const std::string& x, const std::vector<std::int64_t>& axes) const;
  std::string squeezed(const std::string& x, const std::vector<std::int64_t>& axes) const;
  /// An input that is known, changed: an initializer under its name, if nothing else has that.
  std::string changed(std::size_t i, const Tensor& value) const;

  // Control flow.
  const Control& control() const;
  /// Writes the nodes of a part of control flow, whose first slots have these names, and gives the names of its
  /// results.
  std::vector<std::string> write_part(const Subgraph& part, const Subgraph& second,
                                      std::span<const std::string> own) const;
  const Control& second_control() const;
  /// What `write` adds, as a graph of its own.
  template <class Write>
  GraphProto graph_of(const Write& write) const {
    std::vector<NodeProto> outside = std::exchange(exporter_.maker.graph.nodes, {});
    GraphProto inside;
    write(inside);
    inside.nodes = std::exchange(exporter_.maker.graph.nodes, std::move(outside));
    return inside;
  }

  /// The next output.
  void give(const std::string& name);

  /// Throws ValueError: "save_onnx: op: what".
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  Exporter& exporter_;
  const Graph::Node& node_;
  const Graph::Node* second_;
  std::string_view onnx_;
  std::size_t given_ = 0;
};

struct ExportRow {
  std::string_view op;
  void (*write)(OpCall& call);
  std::string_view onnx = {};
};

std::span<const ExportRow> elementwise_rows();
std::span<const ExportRow> shape_rows();
std::span<const ExportRow> index_rows();
std::span<const ExportRow> reduction_rows();
std::span<const ExportRow> product_rows();
std::span<const ExportRow> image_rows();
std::span<const ExportRow> recurrent_rows();
std::span<const ExportRow> control_rows();

/// The row of an op, or null.
const ExportRow* find_row(std::string_view op);
/// All of them, in the order of names.
std::vector<std::string> exported_ops();

/// The node of one output that the row names, with the op's inputs.
void write_direct(OpCall& call);

}  // namespace capstan::onnx
