// What the rows of the table read an op and write nodes with.
#include <algorithm>
#include <utility>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"

#include "src/core/check.h"
#include "src/onnx/export.h"

namespace capstan::onnx {

Attribute attribute(std::string_view name, std::int64_t value) {
  return {.name = std::string(name), .number = {}, .integer = value};
}
Attribute attribute(std::string_view name, int value) { return attribute(name, std::int64_t{value}); }
Attribute attribute(std::string_view name, double value) { return {.name = std::string(name), .number = value}; }
Attribute attribute(std::string_view name, const char* value) {
  Attribute result{.name = std::string(name)};
  result.text = value;
  return result;
}
Attribute attribute(std::string_view name, std::vector<std::int64_t> value) {
  Attribute result{.name = std::string(name)};
  result.integers = std::move(value);
  return result;
}
Attribute attribute(std::string_view name, Tensor value) {
  Attribute result{.name = std::string(name)};
  result.tensor = std::move(value);
  return result;
}
Attribute attribute(std::string_view name, GraphProto value) {
  Attribute result{.name = std::string(name)};
  result.graph = std::make_shared<GraphProto>(std::move(value));
  return result;
}

// --- GraphMaker ---

std::string GraphMaker::fresh(const std::string& name) {
  if (taken_.emplace(name, 0).second) return name;
  for (;;) {
    std::string next = name + "_" + std::to_string(++taken_[name]);
    if (taken_.emplace(next, 0).second) return next;
  }
}

std::vector<std::string> GraphMaker::add_node(std::string_view op, std::vector<std::string> inputs,
                                              std::vector<Attribute> attributes, std::size_t outputs,
                                              const std::string& name) {
  NodeProto node{.op = std::string(op), .inputs = std::move(inputs), .attributes = std::move(attributes)};
  for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back(fresh(name));
  node.name = node.outputs[0];
  graph.nodes.push_back(node);
  return node.outputs;
}

std::string GraphMaker::add_tensor(const Tensor& tensor, const std::string& name) {
  std::string taken = fresh(name);
  graph.initializers.emplace_back(taken, tensor);
  shapes[taken] = tensor.shape();
  return taken;
}

std::string GraphMaker::add_integers(const std::vector<std::int64_t>& values) {
  std::string& name = integers_[values];
  if (name.empty()) name = add_tensor(constant(values, {static_cast<std::int64_t>(values.size())}), "integers");
  return name;
}

// --- OpCall ---

OpCall::OpCall(Exporter& exporter, std::size_t node, std::string_view onnx)
    : exporter_(exporter),
      node_(exporter.first_.nodes[node]),
      second_(exporter.second_ == nullptr ? nullptr : &exporter.second_->nodes[node]),
      onnx_(onnx) {}

void OpCall::refuse(const std::string& what) const { throw ValueError(detail::join("save_onnx: ", op(), ": ", what)); }

std::string OpCall::in(std::size_t i) const {
  std::string name = exporter_.name_of(node_.inputs[i]);
  if (name.empty()) {
    refuse(detail::join("operand ", i, " is a number that C++ computed from a length that is open",
                        help("take lengths from tensors: size(x), shape(x), reshape with -1, *_like")));
  }
  return name;
}

bool OpCall::is_used(std::size_t output) const {
  return exporter_.uses_[static_cast<std::size_t>(node_.outputs[output])] > 0;
}

const Shape& OpCall::second_shape(std::size_t i) const {
  return second_ == nullptr ? shape(i) : exporter_.second_->values[static_cast<std::size_t>(second_->inputs[i])].shape;
}
const Shape& OpCall::second_out_shape(std::size_t i) const {
  return second_ == nullptr ? out_shape(i)
                            : exporter_.second_->values[static_cast<std::size_t>(second_->outputs[i])].shape;
}
bool OpCall::is_fixed(std::size_t i, int axis) const { return shape(i)[axis] == second_shape(i)[axis]; }
bool OpCall::is_output_fixed(std::size_t i, int axis) const { return out_shape(i)[axis] == second_out_shape(i)[axis]; }

const Tensor* OpCall::known(std::size_t i) const {
  const Graph::Value value = node_.inputs[i];
  const Tensor* const tensor = exporter_.known(value);
  if (tensor == nullptr || exporter_.second_ == nullptr) return tensor;
  const Tensor* const other = exporter_.known_in_second(value);
  return other != nullptr && other->shape() == tensor->shape() ? tensor : nullptr;
}

std::optional<OpCall> OpCall::maker_of(std::size_t i, std::string_view op) const {
  const int by = exporter_.made_by_[static_cast<std::size_t>(node_.inputs[i])];
  if (by < 0 || exporter_.known(node_.inputs[i]) != nullptr) return std::nullopt;
  const auto node = static_cast<std::size_t>(by);
  if (exporter_.first_.nodes[node].op->name != op) return std::nullopt;
  return OpCall(exporter_, node, "");
}

std::vector<OpCall> OpCall::readers_of(std::size_t output) const {
  std::vector<OpCall> readers;
  const std::vector<Graph::Node>& nodes = exporter_.first_.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (is_among(nodes[i].inputs, node_.outputs[output])) readers.emplace_back(exporter_, i, "");
  }
  return readers;
}

namespace {

const AttributeField* field_of(const Graph::Node& node, std::string_view name) {
  const AttributeType* const type = node.op->attributes;
  for (int i = 0; type != nullptr && i < type->field_count; ++i) {
    if (type->fields[i].name == name) return &type->fields[i];
  }
  return nullptr;
}

void append_integers(const AttributeValue& value, std::vector<std::int64_t>& integers) {
  if (value.kind == AttributeValue::Kind::kInt) integers.push_back(value.integer);
  for (const AttributeValue& item : value.list) append_integers(item, integers);
}

std::vector<std::int64_t> integers_in(const AttributeValue& value) {
  std::vector<std::int64_t> integers;
  append_integers(value, integers);
  return integers;
}

}  // namespace

AttributeValue OpCall::value(std::string_view name) const {
  const AttributeField* const field = field_of(node_, name);
  if (field == nullptr) refuse(detail::join("it has no attribute ", name));
  AttributeValue value = field->get(node_.attributes);
  if (value.to_string() != value_in_second(name).to_string()) depends(name);
  return value;
}

AttributeValue OpCall::value_in_first(std::string_view name) const {
  return field_of(node_, name)->get(node_.attributes);
}
AttributeValue OpCall::value_in_second(std::string_view name) const {
  return field_of(node_, name)->get((second_ == nullptr ? node_ : *second_).attributes);
}

void OpCall::depends(std::string_view name) const {
  refuse(detail::join("its ", name, " depends on a length that is open, it is ",
                      field_of(node_, name)->get(node_.attributes).to_string(), " and ",
                      value_in_second(name).to_string(),
                      help("take lengths from tensors: size(x), shape(x), reshape with -1, *_like")));
}

std::vector<std::int64_t> OpCall::integers(std::string_view name) const { return integers_in(value(name)); }

int OpCall::axis(std::string_view name, int rank) const {
  const std::int64_t axis = integer(name);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<std::int64_t> OpCall::axes(std::string_view name, int rank) const {
  const AttributeValue given = value(name);
  std::vector<std::int64_t> axes;
  if (!given.has_value()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  axes = integers_in(given);
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  return axes;
}

std::string OpCall::lengths(std::string_view name, std::optional<std::int64_t> copied, const Shape* like,
                            const Shape* second_like) const {
  const AttributeField* const field = field_of(node_, name);
  const std::vector<std::int64_t> first = integers_in(field->get(node_.attributes));
  const std::vector<std::int64_t> second = integers_in(value_in_second(name));
  if (first.size() != second.size()) depends(name);
  std::vector<std::int64_t> written = first;
  std::vector<std::size_t> differing;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i] == second[i]) {
      if (first[i] == -1 && copied == 1) written[i] = 1;  // -1 keeps a length, too
      continue;
    }
    if (copied && like != nullptr) {
      const int axis = static_cast<int>(i) + (*copied == 0 ? 0 : like->rank() - static_cast<int>(first.size()));
      if (axis >= 0 && axis < like->rank() && (*like)[axis] == first[i] && (*second_like)[axis] == second[i]) {
        written[i] = *copied;
        continue;
      }
    }
    differing.push_back(i);
  }
  if (differing.empty()) return exporter_.maker.add_integers(written);
  // A reshape may leave one length to be found.
  if (copied == 0 && differing.size() == 1 && std::find(first.begin(), first.end(), -1) == first.end()) {
    written[differing[0]] = -1;
    return exporter_.maker.add_integers(written);
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const bool is_open = std::find(differing.begin(), differing.end(), i) != differing.end();
    parts.push_back(is_open ? exporter_.length(first[i], second[i]) : exporter_.maker.add_integers({written[i]}));
    if (parts.back().empty()) {
      refuse(detail::join("its ", name, " depends on a length that is open, it has ", first[i], " and ", second[i],
                          " at place ", i, ", which cannot be computed from the inputs",
                          help("take lengths from tensors: size(x), shape(x), reshape with -1, *_like")));
    }
  }
  return node("Concat", parts, {attribute("axis", 0)});
}

std::string OpCall::lengths_of(const Shape& first, const Shape& second) const {
  std::vector<std::string> parts;
  if (first == second) return integers_of({first.begin(), first.end()});
  for (int i = 0; i < first.rank(); ++i) {
    parts.push_back(exporter_.length(first[i], second[i]));
    if (parts.back().empty()) {
      refuse(
          detail::join("it has lengths of ", first[i], " and ", second[i], " that cannot be computed from the inputs"));
    }
  }
  return node("Concat", parts, {attribute("axis", 0)});
}

std::string OpCall::shape_of(std::size_t i) const {
  if (shape(i) == second_shape(i)) return integers_of({shape(i).begin(), shape(i).end()});
  return node("Shape", {in(i)});
}

std::string OpCall::node(std::string_view op, std::vector<std::string> inputs,
                         std::vector<Attribute> attributes) const {
  return nodes(op, std::move(inputs), std::move(attributes), 1)[0];
}

std::vector<std::string> OpCall::nodes(std::string_view op, std::vector<std::string> inputs,
                                       std::vector<Attribute> attributes, std::size_t outputs) const {
  return exporter_.maker.add_node(op, std::move(inputs), std::move(attributes), outputs, std::string(node_.op->name));
}

std::string OpCall::scalar(double value, DType dtype) const {
  return exporter_.maker.add_tensor(cast(constant(value, float64), dtype), "constant");
}
std::string OpCall::tensor(const Tensor& value, const std::string& name) const {
  return exporter_.maker.add_tensor(value, name);
}

std::string OpCall::cast_to(const std::string& x, DType dtype) const {
  return node("Cast", {x}, {attribute("to", type_number(dtype))});
}

std::string OpCall::transposed(const std::string& x, const std::vector<int>& order) const {
  return node("Transpose", {x}, {attribute("perm", std::vector<std::int64_t>(order.begin(), order.end()))});
}

std::string OpCall::unsqueezed(const std::string& x, const std::vector<std::int64_t>& axes) const {
  return axes.empty() ? x : node("Unsqueeze", {x, integers_of(axes)});
}
std::string OpCall::squeezed(const std::string& x, const std::vector<std::int64_t>& axes) const {
  return axes.empty() ? x : node("Squeeze", {x, integers_of(axes)});
}

std::string OpCall::changed(std::size_t i, const Tensor& value) const {
  const std::string& hint = exporter_.hints_[static_cast<std::size_t>(node_.inputs[i])];
  return exporter_.maker.add_tensor(value, hint.empty() ? "constant" : hint);
}

const Control& OpCall::control() const {
  return *reinterpret_cast<const ControlAttributes*>(node_.attributes)->control;
}
const Control& OpCall::second_control() const {
  return second_ == nullptr ? control() : *reinterpret_cast<const ControlAttributes*>(second_->attributes)->control;
}

std::vector<std::string> OpCall::write_part(const Subgraph& part, const Subgraph& second,
                                            std::span<const std::string> own) const {
  return exporter_.write_part(node_, part, second_ == nullptr ? nullptr : &second, own);
}

void OpCall::give(const std::string& name) {
  const Graph::Value value = node_.outputs[given_++];
  exporter_.names_[static_cast<std::size_t>(value)] = name;
  exporter_.maker.shapes[name] = exporter_.info(value).shape;
}

}  // namespace capstan::onnx
