#include "src/onnx/export.h"

#include <algorithm>
#include <cstring>

#include "capstan/error.h"

#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/graph/shapes.h"
#include "src/onnx/transposes.h"

namespace capstan::onnx {

namespace {

// Ops that give the elements of what they are given in another form, so that a weight stays one.
constexpr std::string_view kViews[] = {"cast", "expand_dims", "reshape", "squeeze", "transpose"};
// Ops that give what they are given.
constexpr std::string_view kSame[] = {"identity", "read_variable", "stop_gradient"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether all elements of both are one number.
bool are_uniform(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.rank() != b.rank() || a.size() == 0 || b.size() == 0) return false;
  const std::size_t size = size_of(a.dtype());
  const auto* const first = static_cast<const std::byte*>(a.raw_data());
  for (const Tensor* x : {&a, &b}) {
    const auto* const bytes = static_cast<const std::byte*>(x->raw_data());
    for (std::size_t i = 0; i < static_cast<std::size_t>(x->size()); ++i) {
      if (std::memcmp(bytes + i * size, first, size) != 0) return false;
    }
  }
  return true;
}

bool is_control(std::string_view op) {
  const std::span<const ExportRow> rows = control_rows();
  return std::any_of(rows.begin(), rows.end(), [&](const ExportRow& row) { return row.op == op; });
}

const Control& control_in(const Graph::Node& node) {
  return *reinterpret_cast<const ControlAttributes*>(node.attributes)->control;
}

AttributeMap attributes_of(const Graph::Node& node) {
  AttributeMap map;
  if (node.op->attributes == nullptr) return map;
  for (int i = 0; i < node.op->attributes->field_count; ++i) {
    const AttributeField& field = node.op->attributes->fields[i];
    AttributeValue value = field.get(node.attributes);
    if (value.has_value()) map.emplace(field.name, std::move(value));
  }
  return map;
}

bool same_attributes(const Graph::Node& a, const Graph::Node& b) {
  const AttributeMap x = attributes_of(a), y = attributes_of(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& p, const auto& q) {
    return p.first == q.first && p.second.to_string() == q.second.to_string();
  });
}

}  // namespace

void check_alike(const Graph& a, const Graph& b) {
  constexpr std::string_view kHelp =
      "take lengths from tensors: size(x), shape(x), reshape with -1, *_like; or leave no length open";
  for (std::size_t i = 0; i < std::min(a.nodes.size(), b.nodes.size()); ++i) {
    const Graph::Node& x = a.nodes[i];
    const Graph::Node& y = b.nodes[i];
    CAPSTAN_CHECK(x.op == y.op && x.inputs == y.inputs && x.outputs == y.outputs, ValueError,
                  "save_onnx: what the function does depends on a length that is open: op ", i, " is ", x.op->name,
                  " and ", y.op->name, help(kHelp));
  }
  CAPSTAN_CHECK(a.nodes.size() == b.nodes.size() && a.values.size() == b.values.size() && a.results == b.results,
                ValueError, "save_onnx: what the function does depends on a length that is open: there are ",
                a.nodes.size(), " and ", b.nodes.size(), " ops", help(kHelp));
}

Exporter::Exporter(const Graph& first, const Graph* second, std::int64_t opset)
    : maker(*new GraphMaker(opset)), own_maker_(&maker), first_(first), second_(second) {
  prepare();
}

Exporter::Exporter(const Graph& first, const Graph* second, const Exporter& around)
    : maker(around.maker), first_(first), second_(second), open_(around.open_) {
  prepare();
}

void Exporter::prepare() {
  const std::size_t count = first_.values.size();
  names_.resize(count);
  known_.resize(count);
  hints_.resize(count);
  made_by_.resize(count, -1);
  uses_.resize(count, 0);
  for (std::size_t i = 0; i < first_.nodes.size(); ++i) {
    for (const Graph::Value output : first_.nodes[i].outputs) made_by_[at(output)] = static_cast<int>(i);
  }
  for (const Graph::Captured& captured : first_.captured) {
    known_[at(captured.value)] = captured.variable.value();
    const std::string& path = captured.variable.path();
    hints_[at(captured.value)] = path.empty() ? "variable" : path;
  }
}

namespace {

// What a graph knows of a value, or null.
const Tensor* known_in(const Graph& graph, Graph::Value value) {
  const Graph::ValueInfo& info = graph.values[at(value)];
  for (const Tensor* tensor : {&info.constant, &info.known}) {
    if (tensor->has_value() && has_elements(*tensor)) return tensor;
  }
  return nullptr;
}

}  // namespace

const Tensor* Exporter::known(Graph::Value value) const {
  return known_[at(value)].has_value() ? &known_[at(value)] : known_in(first_, value);
}

const Tensor* Exporter::known_in_second(Graph::Value value) const {
  return second_ == nullptr || known_[at(value)].has_value() ? known(value) : known_in(*second_, value);
}

// What cannot be written at all.
void Exporter::check() const {
  for (const Graph::Captured& captured : first_.captured) {
    CAPSTAN_CHECK(captured.written == Graph::kNone || captured.written == captured.value, ValueError,
                  "save_onnx: it assigns the variable \"", captured.variable.path(), "\", which ONNX cannot say",
                  help("export what runs at inference, which changes no variable"));
  }
  for (std::size_t i = 0; i < first_.results.size(); ++i) {
    CAPSTAN_CHECK(first_.results[i] != Graph::kNone, ValueError, "save_onnx: result ", i, " is an empty tensor");
  }
  std::map<std::string_view, int> missing;
  add_missing(missing);
  if (missing.empty()) return;
  std::string list;
  for (const auto& [op, count] : missing) {
    list += detail::join(list.empty() ? "" : ", ", op, count > 1 ? detail::join(" (", count, " times)") : "");
  }
  throw ValueError(detail::join("save_onnx: these ops cannot be exported: ", list,
                                help("docs/onnx.md lists those that can; other ops have to run outside of the model")));
}

void Exporter::add_missing(std::map<std::string_view, int>& missing) const {
  for (const Graph::Node& node : first_.nodes) {
    const bool is_needed =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](auto v) { return uses_[at(v)] > 0; });
    if (!is_needed) continue;
    for (const Graph::Value value : node.outputs) {
      CAPSTAN_CHECK(!is_complex(info(value).dtype), ValueError, "save_onnx: ", node.op->name, " gives ",
                    info(value).dtype, ", and complex numbers cannot be exported");
    }
    if (is_one_of(kSame, node.op->name)) continue;
    if (find_row(node.op->name) == nullptr) {
      ++missing[node.op->name];
    } else if (is_control(node.op->name)) {
      for (const Subgraph* part : control_in(node).parts()) {
        Exporter inner(part->graph, nullptr, *this);
        inner.find_uses();
        inner.add_missing(missing);
      }
    }
  }
}

void Exporter::add_input(Graph::Value value, const std::string& name) {
  names_[at(value)] = maker.fresh(name);
  ValueProto input{.name = name, .type = type_number(info(value).dtype), .shape = std::vector<std::int64_t>()};
  const Shape& shape = info(value).shape;
  CAPSTAN_CHECK(!is_complex(info(value).dtype), ValueError, "save_onnx: the input \"", name, "\" is ",
                info(value).dtype, ", and complex numbers cannot be exported");
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t other = second_ == nullptr ? shape[axis] : second_->values[at(value)].shape[axis];
    std::string symbol;
    if (other != shape[axis]) {
      open_.push_back({name, axis, shape[axis], other});
      symbol = axis == 0 ? "batch" : name + "_" + std::to_string(axis);
    }
    input.shape->push_back(symbol.empty() ? shape[axis] : -1);
    input.lengths.push_back(symbol);
  }
  maker.graph.inputs.push_back(std::move(input));
  maker.shapes[name] = shape;
}

void Exporter::find_uses() {
  for (const Graph::Value result : first_.results) {
    if (result != Graph::kNone) ++uses_[at(result)];
  }
  for (std::size_t i = first_.nodes.size(); i-- > 0;) {
    const Graph::Node& node = first_.nodes[i];
    // What is known follows from nothing.
    const bool is_needed = !node.is_known && std::any_of(node.outputs.begin(), node.outputs.end(), [&](auto value) {
      return uses_[at(value)] > 0 && known(value) == nullptr;
    });
    if (!is_needed) {
      for (const Graph::Value output : node.outputs) uses_[at(output)] = 0;
      continue;
    }
    for (const Graph::Value input : node.inputs) ++uses_[at(input)];
  }
}

GraphProto Exporter::write(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  find_uses();
  check();
  std::size_t next = 0;
  for (const Graph::Value argument : first_.arguments) {
    if (known(argument) == nullptr) add_input(argument, inputs[next++]);
  }
  for (const std::string& output : outputs) maker.fresh(output);
  for (std::size_t i = 0; i < first_.nodes.size(); ++i) write_node(i);
  describe_outputs(outputs);
  return std::move(maker.graph);
}

std::vector<std::string> Exporter::write_part(const Graph::Node& node, const Subgraph& part, const Subgraph* second,
                                              std::span<const std::string> own) {
  CAPSTAN_CHECK(part.written.empty(), ValueError, "save_onnx: ", node.op->name,
                ": it assigns a variable, which ONNX cannot say");
  if (second != nullptr) check_alike(part.graph, second->graph);
  Exporter inner(part.graph, second == nullptr ? nullptr : &second->graph, *this);
  inner.around_ = this;
  for (std::size_t i = 0; i < part.from.size(); ++i) {
    const Graph::Value value = part.graph.input(i);
    if (inner.info(value).known.has_value()) continue;
    const std::size_t slot = part.from[i];
    inner.known_[at(value)] = Tensor();
    if (slot < own.size()) {
      inner.names_[at(value)] = own[slot];
      maker.shapes[own[slot]] = inner.info(value).shape;
      continue;
    }
    const Graph::Value outside = node.inputs[slot];
    inner.outside_[value] = outside;
    if (const Tensor* const tensor = known(outside)) {
      const Tensor* const other = known_in_second(outside);
      if (other == tensor || (other != nullptr && equal_constants(*tensor, *other))) inner.known_[at(value)] = *tensor;
      inner.hints_[at(value)] = hints_[at(outside)];
    }
  }
  inner.find_uses();
  for (std::size_t i = 0; i < part.graph.nodes.size(); ++i) inner.write_node(i);
  std::vector<std::string> results;
  for (const Graph::Value result : part.graph.results) {
    results.push_back(result == Graph::kNone ? "" : inner.name_of(result));
  }
  return results;
}

void Exporter::write_node(std::size_t i) {
  const Graph::Node& node = first_.nodes[i];
  if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](auto value) { return uses_[at(value)] > 0; })) return;
  if (fold(i)) return;
  if (is_one_of(kSame, node.op->name)) {
    names_[at(node.outputs[0])] = name_of(node.inputs[0]);
    return;
  }
  const ExportRow& row = *find_row(node.op->name);
  OpCall call(*this, i, row.onnx);
  row.write(call);
}

// Gives what a view makes of a weight as a weight.
bool Exporter::fold(std::size_t i) {
  const Graph::Node& node = first_.nodes[i];
  const bool is_same = is_one_of(kSame, node.op->name);
  if (!is_same && !is_one_of(kViews, node.op->name)) return false;
  const Graph::Value from = node.inputs[0], to = node.outputs[0];
  const Tensor* const x = known(from);
  if (x == nullptr || node.inputs.size() != 1 || !names_[at(from)].empty()) return false;
  if (second_ != nullptr) {
    const Tensor* const other = known_in_second(from);
    if (other == nullptr || !equal_constants(*x, *other) || !same_attributes(node, second_->nodes[i])) return false;
  }
  known_[at(to)] = is_same ? *x : capstan::call(node.op->name, std::span(x, 1), attributes_of(node))[0];
  hints_[at(to)] = hints_[at(from)];
  return true;
}

std::string Exporter::name_of(Graph::Value value) {
  std::string& name = names_[at(value)];
  if (!name.empty()) return name;
  if (const auto found = outside_.find(value); found != outside_.end()) return name = around_->name_of(found->second);
  const Tensor* const tensor = known(value);
  CAPSTAN_CHECK(tensor != nullptr, ValueError, "save_onnx: a value is read that nothing has made");
  const Tensor* const other = known_in_second(value);
  if (other != tensor && (other == nullptr || !equal_constants(*tensor, *other))) return name = varying_constant(value);
  return name = maker.add_tensor(*tensor, hints_[at(value)].empty() ? "constant" : hints_[at(value)]);
}

// A constant that C++ computed from an open length: that length, or as many equal numbers. Empty if it is anything
// else.
std::string Exporter::varying_constant(Graph::Value value) {
  const Tensor* const first = known(value);
  const Tensor* const second = known_in_second(value);
  if (second == nullptr) return "";
  if (are_uniform(*first, *second)) {
    std::vector<std::string> parts;
    for (int axis = 0; axis < first->rank(); ++axis) {
      parts.push_back(length(first->dim(axis), second->dim(axis)));
      if (parts.back().empty()) return "";
    }
    const std::string shape = maker.add_node("Concat", parts, {attribute("axis", 0)}, 1, "lengths")[0];
    const Tensor one = capstan::call("reshape", std::span(first, 1), {{"shape", AttributeValue(-1)}})[0];
    const Tensor element = capstan::call(
        "getitem", std::span(&one, 1), {{"index", std::vector<AttributeValue>{std::vector<AttributeValue>{0, 1}}}})[0];
    return maker.add_node("ConstantOfShape", {shape}, {attribute("value", element)}, 1, "constant")[0];
  }
  if (first->size() != 1 || second->size() != 1 || first->shape() != second->shape()) return "";
  const auto a = first->item<double>(), b = second->item<double>();
  const auto whole = static_cast<std::int64_t>(a), other = static_cast<std::int64_t>(b);
  if (static_cast<double>(whole) != a || static_cast<double>(other) != b) return "";
  std::string number = length(whole, other);
  if (number.empty()) return "";
  std::vector<std::int64_t> ones(static_cast<std::size_t>(first->rank()), 1);
  number = maker.add_node("Reshape", {number, maker.add_integers(ones)}, {}, 1, "length")[0];
  return maker.add_node("Cast", {number}, {attribute("to", type_number(first->dtype()))}, 1, "length")[0];
}

std::string Exporter::length(std::int64_t first, std::int64_t second) {
  if (first == second) return maker.add_integers({first});
  std::string& found = lengths_[{first, second}];
  if (!found.empty()) return found;
  // The length itself, a multiple of it, or that and a number, in this order.
  const OpenLength* best = nullptr;
  std::int64_t factor = 0, rest = 0;
  int best_rank = 3;
  for (const OpenLength& open : open_) {
    const std::int64_t change = open.second - open.first;
    if ((second - first) % change != 0) continue;
    const std::int64_t times = (second - first) / change;
    const std::int64_t plus = first - times * open.first;
    if (times <= 0) continue;
    const int rank = plus != 0 ? 2 : times != 1 ? 1 : 0;
    if (rank >= best_rank) continue;
    best = &open;
    best_rank = rank;
    factor = times;
    rest = plus;
  }
  if (best == nullptr) return "";
  const std::string shape = maker.add_node("Shape", {best->input}, {}, 1, "shape")[0];
  const std::string index = maker.add_integers({best->axis});
  std::string result = maker.add_node("Gather", {shape, index}, {attribute("axis", 0)}, 1, "length")[0];
  if (factor != 1) result = maker.add_node("Mul", {result, maker.add_integers({factor})}, {}, 1, "length")[0];
  if (rest != 0) result = maker.add_node("Add", {result, maker.add_integers({rest})}, {}, 1, "length")[0];
  return lengths_[{first, second}] = result;
}

namespace {

void rename(GraphProto& graph, const std::string& from, const std::string& to) {
  for (NodeProto& node : graph.nodes) {
    for (std::string& input : node.inputs) {
      if (input == from) input = to;
    }
    for (std::string& output : node.outputs) {
      if (output == from) output = to;
    }
    for (Attribute& one : node.attributes) {
      if (one.graph == nullptr) continue;
      auto inner = std::make_shared<GraphProto>(*one.graph);
      rename(*inner, from, to);
      one.graph = std::move(inner);
    }
  }
}

}  // namespace

void Exporter::describe_outputs(const std::vector<std::string>& outputs) {
  for (std::size_t i = 0; i < first_.results.size(); ++i) {
    const Graph::Value value = first_.results[i];
    std::string name = name_of(value);
    CAPSTAN_CHECK(!name.empty(), ValueError, "save_onnx: result ", i, " is computed in C++ from a length that is open");
    ValueProto output{
        .name = std::move(name), .type = type_number(info(value).dtype), .shape = std::vector<std::int64_t>()};
    const Shape& shape = info(value).shape;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const std::int64_t other = second_ == nullptr ? shape[axis] : second_->values[at(value)].shape[axis];
      std::string symbol;
      int found = 0;
      for (const OpenLength& open : open_) {
        if (other == shape[axis] || open.first != shape[axis] || open.second != other) continue;
        const std::string is = open.axis == 0 ? "batch" : open.input + "_" + std::to_string(open.axis);
        if (is != symbol) ++found;
        symbol = is;
      }
      output.shape->push_back(other == shape[axis] ? shape[axis] : -1);
      output.lengths.push_back(found == 1 ? symbol : "");
    }
    maker.graph.outputs.push_back(std::move(output));
  }
  sink_transposes(maker.graph, maker.shapes);
  // What a result is called; an input, a weight or a result that is one already goes on under its own name.
  std::vector<std::string> own;
  for (const NodeProto& node : maker.graph.nodes) own.insert(own.end(), node.outputs.begin(), node.outputs.end());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::string& name = maker.graph.outputs[i].name;
    const auto made = std::find(own.begin(), own.end(), name);
    if (made != own.end()) {
      rename(maker.graph, name, outputs[i]);
      const std::string before = name;
      own.erase(made);
      for (std::size_t k = i + 1; k < outputs.size(); ++k) {
        if (maker.graph.outputs[k].name == before) maker.graph.outputs[k].name = outputs[i];
      }
    } else {
      maker.graph.nodes.push_back({.name = outputs[i], .op = "Identity", .inputs = {name}, .outputs = {outputs[i]}});
    }
    name = outputs[i];
  }
}

namespace {

const std::map<std::string_view, ExportRow>& rows() {
  static const std::map<std::string_view, ExportRow> all = [] {
    std::map<std::string_view, ExportRow> map;
    for (const std::span<const ExportRow> family : {elementwise_rows(), shape_rows(), index_rows(), reduction_rows(),
                                                    product_rows(), image_rows(), recurrent_rows(), control_rows()}) {
      for (const ExportRow& row : family) map.emplace(row.op, row);
    }
    return map;
  }();
  return all;
}

}  // namespace

const ExportRow* find_row(std::string_view op) {
  const auto found = rows().find(op);
  return found == rows().end() ? nullptr : &found->second;
}

std::vector<std::string> exported_ops() {
  std::vector<std::string> names(std::begin(kSame), std::end(kSame));
  for (const auto& [name, row] : rows()) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

void write_direct(OpCall& call) {
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < call.input_count(); ++i) inputs.push_back(call.in(i));
  call.give(call.node(call.onnx(), std::move(inputs)));
}

}  // namespace capstan::onnx
