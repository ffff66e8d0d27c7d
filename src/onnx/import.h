// How a node of an ONNX graph becomes ops of the library.
//
// There is one table: the name of an operator and a function, its builder, that reads the node's inputs and attributes
// from a NodeCall and gives the outputs. Builders are written in public ops, so that gradients, traces and maps follow.
// A family of operators is a file, with a list at its end.
//
// Layouts. ONNX has images with the channels second, the library with the channels last. A value carries the layout in
// which it lies: convolutions, pools and normalisations take and give images with the channels last, elementwise ops
// keep whatever comes, and a builder that asks for a plain tensor (`tensor(i)`) gets ONNX's layout, transposed if need
// be. So a network of convolutions has one transpose at each end. The alternative, transposes around each convolution
// and a pass that cancels them, would need a graph; here there is none, since a call just runs.
//
// Shapes. What ONNX computes with shapes (Shape, Gather, Concat, Reshape) is computed at once: lengths are known in
// eager code and in traces, so `Shape` gives a constant, and ops on constants run when the function is traced.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/tensor.h"

#include "src/onnx/proto.h"

namespace capstan::onnx {

struct Value {
  Tensor tensor;
  bool channels_last = false;  // [batch, ..., channels], and [batch, channels, ...] in ONNX
  bool is_filter = false;      // [height, width, in, out], and [out, in, height, width] in ONNX
};

/// Values by name: those of a graph, and after them those of the graphs around it.
struct Scope {
  const Scope* around = nullptr;
  std::unordered_map<std::string, Value> values = {};

  const Value* find(const std::string& name) const;
};

/// An error that says that an operator exists, but not with these attributes, types or shapes.
[[noreturn]] void not_supported(const std::string& what);

/// One run of a node.
class NodeCall {
 public:
  NodeCall(const NodeProto& node, std::int64_t opset, const Scope& scope) : node_(node), opset_(opset), scope_(scope) {}

  const NodeProto& node() const { return node_; }
  std::int64_t opset() const { return opset_; }
  const Scope& scope() const { return scope_; }

  // Inputs.
  std::size_t input_count() const { return node_.inputs.size(); }
  bool has(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  const Value& value(std::size_t i) const;
  /// In ONNX's layout.
  Tensor tensor(std::size_t i) const;
  /// With the channels last; the rank is at least 3.
  Tensor channels_last(std::size_t i) const;
  /// The filters of a convolution with their places first: [height, width, in, out].
  Tensor filters(std::size_t i) const;
  /// The elements of an input that has to be known. Throws if a trace does not know them.
  std::vector<std::int64_t> integers_of(std::size_t i) const;
  std::int64_t integer_of(std::size_t i) const;
  std::vector<double> numbers_of(std::size_t i) const;
  std::vector<Tensor> tensors() const;

  // Attributes.
  bool has_attribute(std::string_view name) const { return node_.find(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::vector<std::int64_t> integers(std::string_view name, std::vector<std::int64_t> otherwise = {}) const;
  std::vector<double> numbers(std::string_view name) const;
  const GraphProto& graph(std::string_view name) const;
  DType dtype(std::string_view name, DType otherwise) const;
  /// An axis, counted from the front.
  int axis(std::int64_t axis, int rank) const;
  int axis_attribute(std::int64_t otherwise, int rank) const { return axis(integer("axis", otherwise), rank); }
  /// Axes that are an input from some opset on, and an attribute before.
  std::optional<std::vector<std::int64_t>> axes(std::size_t input) const;

  // Outputs, in order.
  bool wants(std::size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }
  void give(Tensor tensor, bool is_channels_last = false) {
    outputs.push_back({std::move(tensor), is_channels_last, false});
  }
  std::vector<Value> outputs;

 private:
  const NodeProto& node_;
  std::int64_t opset_;
  const Scope& scope_;
};

using Builder = void (*)(NodeCall& call);
struct Operator {
  std::string_view name;
  Builder build;
};

std::span<const Operator> elementwise_operators();
std::span<const Operator> logic_operators();
std::span<const Operator> shape_operators();
std::span<const Operator> index_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> product_operators();
std::span<const Operator> convolution_operators();
std::span<const Operator> pooling_operators();
std::span<const Operator> normalization_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> control_operators();
std::span<const Operator> resize_operators();
std::span<const Operator> attention_operators();
std::span<const Operator> affine_grid_operators();

/// The builder of an operator of the standard domain, or null.
Builder find_builder(std::string_view name);

/// Runs the nodes of a graph whose inputs are in `scope`, and returns the outputs.
std::vector<Value> run_nodes(const GraphProto& graph, std::int64_t opset, Scope& scope);

/// The axes of a tensor of this rank in the order that takes the channels from second to last, and back.
std::vector<int> to_last(int rank);
std::vector<int> to_second(int rank);
/// The same for filters.
std::vector<int> filter_to_onnx(int rank);
std::vector<int> filter_from_onnx(int rank);
Tensor onnx_layout(const Value& value);

}  // namespace capstan::onnx
