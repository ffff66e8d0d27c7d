// One walk over the nodes, in their order. A transpose is not written where it is; its output is noted as "that
// value with its axes in this order". An operator that can do its work on the value itself does so, and its output is
// noted alike. For any other operator the transpose is written right before it, once. A note of a note is one order,
// and one that changes nothing is the value.
#include "src/onnx/transposes.h"

#include <unordered_map>
#include <algorithm>
#include <numeric>
#include <set>

#include "capstan/ops/array.h"

namespace capstan::onnx {

namespace {

using Order = std::vector<int>;  // axis i of the result is axis order[i] of the source

bool is_identity(const Order& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int>(i)) return false;
  }
  return true;
}

Order inverse_of(const Order& order) {
  Order inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) inverse[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  return inverse;
}

// What becomes of the order if only these axes of the result are left.
Order order_of_rest(const Order& order, const std::vector<int>& kept) {
  std::vector<int> sources;
  for (const int axis : kept) sources.push_back(order[static_cast<std::size_t>(axis)]);
  std::vector<int> sorted = sources;
  std::sort(sorted.begin(), sorted.end());
  Order rest;
  for (const int source : sources) {
    rest.push_back(static_cast<int>(std::find(sorted.begin(), sorted.end(), source) - sorted.begin()));
  }
  return rest;
}

const std::set<std::string_view> kUnary = {
    "Abs",   "Acos",     "Acosh",      "Asin",        "Asinh",    "Atan",      "Atanh", "BitwiseNot", "Cast",
    "Ceil",  "Celu",     "Clip",       "Cos",         "Cosh",     "Elu",       "Erf",   "Exp",        "Floor",
    "IsInf", "IsNaN",    "HardSwish",  "HardSigmoid", "Identity", "LeakyRelu", "Log",   "Neg",        "Not",
    "Relu",  "Round",    "Reciprocal", "Selu",        "Shrink",   "Sigmoid",   "Sign",  "Sin",        "Sinh",
    "Sqrt",  "Softplus", "Softsign",   "Tan",         "Tanh"};
const std::set<std::string_view> kBroadcasting = {
    "Add",         "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater", "GreaterOrEqual", "Less",
    "LessOrEqual", "Max", "Min",        "Mod",       "Mul",        "Or",  "Pow",   "Sub",     "Where",          "Xor"};
const std::set<std::string_view> kReducing = {"ReduceL2",  "ReduceMax",  "ReduceMean",
                                              "ReduceMin", "ReduceProd", "ReduceSum"};
const std::set<std::string_view> kAlongAxis = {"Concat", "LogSoftmax", "Softmax", "Split"};

class Sinking {
 public:
  Sinking(GraphProto& graph, Shapes shapes) : graph_(graph), shapes_(std::move(shapes)) {
    for (std::size_t i = 0; i < graph.initializers.size(); ++i) weights_[graph.initializers[i].first] = i;
    for (const ValueProto& input : graph.inputs) taken_.insert(input.name);
    for (const auto& [name, tensor] : graph.initializers) taken_.insert(name);
    for (const NodeProto& node : graph.nodes) {
      for (const std::string& output : node.outputs) taken_.insert(output);
      count_readers(node);
    }
    for (const ValueProto& output : graph.outputs) ++readers_[output.name];
  }

  void run() {
    std::vector<NodeProto> nodes = std::move(graph_.nodes);
    for (NodeProto& node : nodes) {
      for (std::string& input : node.inputs) input = resolved(input);
      infer(node);
      if (node.op == "Transpose") {
        note_transpose(node);
      } else if (!sink(node)) {
        write(node);
      }
    }
    for (ValueProto& output : graph_.outputs) {
      output.name = resolved(output.name);
      materialise(output.name);
    }
    graph_.nodes = std::move(written_);
    remove_unused();
  }

 private:
  struct Note {
    std::string source;
    Order order;
    bool is_written = false;  // as a node, under its own name
  };

  void count_readers(const NodeProto& node) {
    for (const std::string& input : node.inputs) ++readers_[input];
    for (const Attribute& attribute : node.attributes) {
      if (attribute.graph == nullptr) continue;
      // A graph inside reads a value in the form that it has.
      for (const NodeProto& inner : attribute.graph->nodes) {
        count_readers(inner);
        count_readers(inner);
      }
    }
  }

  // The shape of what an elementwise operator gives, where nobody has said it.
  void infer(const NodeProto& node) {
    const bool is_unary = kUnary.contains(node.op);
    if (shapes_.contains(node.outputs[0]) || (!is_unary && !kBroadcasting.contains(node.op))) return;
    Shape result;
    for (std::size_t i = 0; i < (is_unary ? 1 : node.inputs.size()); ++i) {
      const auto found = shapes_.find(node.inputs[i]);
      if (found == shapes_.end()) return;
      Shape shape = found->second;
      if (shape.rank() < result.rank()) std::swap(shape, result);
      for (int axis = 1; axis <= result.rank(); ++axis) {
        if (shape[-axis] == 1) shape.set(-axis, result[-axis]);
      }
      result = shape;
    }
    shapes_[node.outputs[0]] = result;
  }

  std::string resolved(const std::string& name) const {
    const auto found = same_.find(name);
    return found == same_.end() ? name : found->second;
  }
  const Note* note_of(const std::string& name) const {
    const auto found = notes_.find(name);
    return found == notes_.end() ? nullptr : &found->second;
  }
  const Tensor* weight(const std::string& name) const {
    const auto found = weights_.find(name);
    return found == weights_.end() ? nullptr : &graph_.initializers[found->second].second;
  }
  // The integers of a weight that is a list of them.
  std::optional<std::vector<std::int64_t>> integers(const NodeProto& node, std::size_t input) const {
    if (input >= node.inputs.size()) return std::nullopt;
    const Tensor* const tensor = weight(node.inputs[input]);
    if (tensor == nullptr || tensor->dtype() != DType::kInt64) return std::nullopt;
    return tensor->to_vector<std::int64_t>();
  }

  std::string fresh(const std::string& name) {
    for (int i = 0;; ++i) {
      std::string next = name + "_t" + (i == 0 ? "" : std::to_string(i));
      if (taken_.insert(next).second) return next;
    }
  }
  std::string add_weight(const Tensor& tensor, const std::string& name) {
    std::string own = fresh(name);
    weights_[own] = graph_.initializers.size();
    graph_.initializers.emplace_back(own, tensor);
    shapes_[own] = tensor.shape();
    return own;
  }
  std::string add_integers(const std::vector<std::int64_t>& values) {
    return add_weight(constant(values, {static_cast<std::int64_t>(values.size())}), "integers");
  }

  void note(const std::string& name, const std::string& source, Order order) {
    if (is_identity(order)) {
      same_[name] = source;
    } else {
      notes_[name] = {source, std::move(order)};
    }
  }

  void note_transpose(const NodeProto& node) {
    const Attribute* const perm = node.find("perm");
    Order order(perm->integers.begin(), perm->integers.end());
    const Note* const before = note_of(node.inputs[0]);
    if (before == nullptr) return note(node.outputs[0], node.inputs[0], order);
    for (int& axis : order) axis = before->order[static_cast<std::size_t>(axis)];
    note(node.outputs[0], std::string(before->source), order);
  }

  // Writes the transpose that a note stands for, if there is one. A weight is transposed here.
  void materialise(const std::string& name) {
    const auto found = notes_.find(name);
    if (found == notes_.end() || found->second.is_written) return;
    found->second.is_written = true;
    const Note note = found->second;
    if (const Tensor* const tensor = weight(note.source)) {
      const Tensor turned = transpose(*tensor, note.order);
      weights_[name] = graph_.initializers.size();
      graph_.initializers.emplace_back(name, turned);
      return;
    }
    if (write_unsqueeze(name, note)) return;
    Attribute perm{.name = "perm"};
    perm.integers.assign(note.order.begin(), note.order.end());
    written_.push_back(
        {.name = name, .op = "Transpose", .inputs = {note.source}, .outputs = {name}, .attributes = {perm}});
  }

  // A transpose that moves axes of length 1 only, which the source has just got, puts them elsewhere.
  bool write_unsqueeze(const std::string& name, const Note& note) {
    const auto found = unsqueezes_.find(note.source);
    if (found == unsqueezes_.end()) return false;
    const auto& [from, axes] = found->second;
    std::vector<std::int64_t> places;
    int last = -1;
    for (std::size_t i = 0; i < note.order.size(); ++i) {
      if (std::find(axes.begin(), axes.end(), note.order[i]) != axes.end()) {
        places.push_back(static_cast<std::int64_t>(i));
      } else if (note.order[i] < last) {
        return false;
      } else {
        last = note.order[i];
      }
    }
    written_.push_back({.name = name, .op = "Unsqueeze", .inputs = {from, add_integers(places)}, .outputs = {name}});
    return true;
  }

  void write(NodeProto& node) {
    if (node.op == "Unsqueeze") {
      if (const auto axes = integers(node, 1)) unsqueezes_[node.outputs[0]] = {node.inputs[0], *axes};
    }
    for (const std::string& input : node.inputs) materialise(input);
    for (const Attribute& attribute : node.attributes) {
      if (attribute.graph != nullptr) settle(*attribute.graph);
    }
    written_.push_back(std::move(node));
  }

  // What a graph inside reads from this one is there under its name.
  void settle(const GraphProto& inner) {
    for (const NodeProto& node : inner.nodes) {
      for (const std::string& input : node.inputs) {
        materialise(input);
        const auto found = same_.find(input);
        if (found == same_.end()) continue;
        const std::string source = found->second;
        same_.erase(found);
        materialise(source);
        written_.push_back({.name = input, .op = "Identity", .inputs = {source}, .outputs = {input}});
      }
      for (const Attribute& attribute : node.attributes) {
        if (attribute.graph != nullptr) settle(*attribute.graph);
      }
    }
  }

  // Writes a node with other inputs, whose outputs are noted with this order.
  void write_sunk(NodeProto node, const Order& order) {
    for (std::string& output : node.outputs) {
      if (is_identity(order)) continue;
      const std::string name = output;
      output = fresh(name);
      note(name, output, order);
      if (const auto shape = shapes_.find(name); shape != shapes_.end()) {
        const Order inverse = inverse_of(order);
        Shape own;
        for (const int axis : inverse) own.push_back(shape->second[axis]);
        shapes_[output] = own;
      }
    }
    node.name = node.outputs[0];
    written_.push_back(std::move(node));
  }

  // --- The operators that take another order ---

  bool sink(NodeProto& node) {
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(), [&](const auto& x) { return note_of(x); });
    if (!any) return false;
    if (kBroadcasting.contains(node.op)) return sink_broadcasting(node);
    if (node.op == "Concat") return sink_concat(node);
    const Note* const first = note_of(node.inputs[0]);
    if (first == nullptr) return false;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (note_of(node.inputs[i]) != nullptr) return false;
    }
    const Note note = *first;
    if (kUnary.contains(node.op)) {
      node.inputs[0] = note.source;
      write_sunk(node, note.order);
      return true;
    }
    if (node.op == "Shape") {
      const std::string shape = fresh(node.outputs[0]);
      written_.push_back({.name = shape, .op = "Shape", .inputs = {note.source}, .outputs = {shape}});
      const std::string places = add_integers({note.order.begin(), note.order.end()});
      written_.push_back({.name = node.name,
                          .op = "Gather",
                          .inputs = {shape, places},
                          .outputs = node.outputs,
                          .attributes = {attribute("axis", 0)}});
      return true;
    }
    if (kReducing.contains(node.op)) return sink_reducing(node, note);
    if (kAlongAxis.contains(node.op)) return sink_along(node, note);
    if (node.op == "Slice") return sink_slice(node, note);
    if (node.op == "Pad") return sink_pad(node, note);
    if (node.op == "Squeeze") return sink_squeeze(node, note);
    if (node.op == "Unsqueeze") return sink_unsqueeze(node, note);
    return false;
  }

  // The operand of an operator that works on sources in this order; nothing if there is no cheap way.
  std::optional<std::string> operand(const std::string& name, const Order& order, std::int64_t size) {
    if (const Note* const note = note_of(name)) {
      if (note->order == order) return note->source;
      return std::nullopt;
    }
    const auto found = shapes_.find(name);
    if (found == shapes_.end()) return std::nullopt;
    const Shape shape = found->second;
    const auto rank = static_cast<int>(order.size());
    if (shape.rank() > rank) return std::nullopt;
    if (shape.rank() == 0) return name;
    const Order inverse = inverse_of(order);
    if (const Tensor* const tensor = weight(name)) {
      Shape whole;
      for (int i = shape.rank(); i < rank; ++i) whole.push_back(1);
      for (const std::int64_t length : shape) whole.push_back(length);
      const Tensor turned = transpose(reshape(*tensor, whole), inverse);
      Shape trimmed;
      for (const std::int64_t length : turned.shape()) {
        if (trimmed.rank() > 0 || length != 1) trimmed.push_back(length);
      }
      const Tensor own = reshape(turned, trimmed);
      if (readers_[name] > 1) return add_weight(own, name);
      graph_.initializers[weights_[name]].second = own;
      shapes_[name] = trimmed;
      return name;
    }
    if (shape.size() * 4 > size) return std::nullopt;
    // Axes of length 1 in front, and then the order.
    std::string x = name;
    if (shape.rank() == 1) {
      const int place = order.back();
      std::vector<std::int64_t> axes;
      for (int i = place + 1; i < rank; ++i) axes.push_back(i - place);
      if (axes.empty()) return x;
      x = fresh(name);
      written_.push_back({.name = x, .op = "Unsqueeze", .inputs = {name, add_integers(axes)}, .outputs = {x}});
      return x;
    }
    if (shape.rank() < rank) {
      std::vector<std::int64_t> axes(static_cast<std::size_t>(rank - shape.rank()));
      std::iota(axes.begin(), axes.end(), 0);
      x = fresh(name);
      written_.push_back({.name = x, .op = "Unsqueeze", .inputs = {name, add_integers(axes)}, .outputs = {x}});
    }
    const std::string turned = fresh(name);
    Attribute perm{.name = "perm"};
    perm.integers.assign(inverse.begin(), inverse.end());
    written_.push_back({.name = turned, .op = "Transpose", .inputs = {x}, .outputs = {turned}, .attributes = {perm}});
    return turned;
  }

  bool sink_broadcasting(NodeProto& node) {
    // The order of the largest operand.
    const Note* chosen = nullptr;
    std::int64_t size = -1;
    for (const std::string& input : node.inputs) {
      const Note* const note = note_of(input);
      const auto shape = shapes_.find(input);
      if (note == nullptr || shape == shapes_.end() || shape->second.size() <= size) continue;
      chosen = note;
      size = shape->second.size();
    }
    if (chosen == nullptr) return false;
    const Order order = chosen->order;
    // First whether it can be done, for what is written stays.
    for (const std::string& input : node.inputs) {
      const auto shape = shapes_.find(input);
      if (shape == shapes_.end() || shape->second.rank() > static_cast<int>(order.size())) return false;
      const Note* const note = note_of(input);
      if (note != nullptr ? note->order != order
                          : weight(input) == nullptr && shape->second.rank() > 0 && shape->second.size() * 4 > size) {
        return false;
      }
    }
    for (std::string& input : node.inputs) input = *operand(input, order, size);
    write_sunk(node, order);
    return true;
  }

  bool sink_concat(NodeProto& node) {
    const Note* chosen = nullptr;
    for (const std::string& input : node.inputs) {
      const Note* const note = note_of(input);
      if (note == nullptr || (chosen != nullptr && note->order != chosen->order)) return false;
      chosen = note;
    }
    const Note note = *chosen;
    for (std::string& input : node.inputs) input = note_of(input)->source;
    return sink_axis(node, note.order);
  }

  bool sink_along(NodeProto& node, const Note& note) {
    node.inputs[0] = note.source;
    return sink_axis(node, note.order);
  }

  bool sink_axis(NodeProto& node, const Order& order) {
    for (Attribute& attribute : node.attributes) {
      if (attribute.name != "axis") continue;
      const std::int64_t axis = *attribute.integer;
      attribute.integer = order[static_cast<std::size_t>(axis < 0 ? axis + std::ssize(order) : axis)];
    }
    write_sunk(node, order);
    return true;
  }

  // Axes of the result as axes of the source, ascending; nothing unless they are a list that is known.
  std::optional<std::vector<std::int64_t>> source_axes(const NodeProto& node, const Order& order,
                                                       std::vector<int>& kept) {
    const auto axes = integers(node, 1);
    if (!axes) return std::nullopt;
    std::set<int> gone;
    for (const std::int64_t axis : *axes) gone.insert(static_cast<int>(axis < 0 ? axis + std::ssize(order) : axis));
    std::vector<std::int64_t> sources;
    for (const int axis : gone) sources.push_back(order[static_cast<std::size_t>(axis)]);
    std::sort(sources.begin(), sources.end());
    for (int i = 0; i < static_cast<int>(order.size()); ++i) {
      if (!gone.contains(i)) kept.push_back(i);
    }
    return sources;
  }

  bool sink_reducing(NodeProto& node, const Note& note) {
    std::vector<int> kept;
    const auto axes = source_axes(node, note.order, kept);
    if (!axes) return false;
    node.inputs = {note.source, add_integers(*axes)};
    const Attribute* const keepdims = node.find("keepdims");
    const bool keeps = keepdims == nullptr || keepdims->integer != 0;
    write_sunk(node, keeps ? note.order : order_of_rest(note.order, kept));
    return true;
  }

  bool sink_squeeze(NodeProto& node, const Note& note) {
    std::vector<int> kept;
    const auto axes = source_axes(node, note.order, kept);
    if (!axes) return false;
    node.inputs = {note.source, add_integers(*axes)};
    write_sunk(node, order_of_rest(note.order, kept));
    return true;
  }

  // The new axis is put before the one that it precedes in the result.
  bool sink_unsqueeze(NodeProto& node, const Note& note) {
    const auto axes = integers(node, 1);
    if (!axes || axes->size() != 1) return false;
    const auto rank = static_cast<std::int64_t>(note.order.size());
    const std::int64_t axis = (*axes)[0] < 0 ? (*axes)[0] + rank + 1 : (*axes)[0];
    const int place = axis == rank ? static_cast<int>(rank) : note.order[static_cast<std::size_t>(axis)];
    Order order = note.order;
    for (int& source : order) source += source >= place ? 1 : 0;
    order.insert(order.begin() + axis, place);
    node.inputs = {note.source, add_integers({place})};
    write_sunk(node, order);
    return true;
  }

  bool sink_slice(NodeProto& node, const Note& note) {
    auto axes = integers(node, 3);
    if (!axes) return false;
    for (std::int64_t& axis : *axes) {
      axis = note.order[static_cast<std::size_t>(axis < 0 ? axis + std::ssize(note.order) : axis)];
    }
    node.inputs[0] = note.source;
    node.inputs[3] = add_integers(*axes);
    write_sunk(node, note.order);
    return true;
  }

  bool sink_pad(NodeProto& node, const Note& note) {
    const auto pads = integers(node, 1);
    const std::size_t rank = note.order.size();
    if (!pads || pads->size() != 2 * rank || node.inputs.size() > 3) return false;
    std::vector<std::int64_t> own(2 * rank);
    for (std::size_t i = 0; i < rank; ++i) {
      const auto source = static_cast<std::size_t>(note.order[i]);
      own[source] = (*pads)[i];
      own[rank + source] = (*pads)[rank + i];
    }
    node.inputs[0] = note.source;
    node.inputs[1] = add_integers(own);
    write_sunk(node, note.order);
    return true;
  }

  // --- What nothing reads ---

  static void read_by(const NodeProto& node, std::set<std::string>& read) {
    read.insert(node.inputs.begin(), node.inputs.end());
    for (const Attribute& attribute : node.attributes) {
      if (attribute.graph == nullptr) continue;
      for (const NodeProto& inner : attribute.graph->nodes) read_by(inner, read);
    }
  }

  void remove_unused() {
    std::set<std::string> read;
    for (const ValueProto& output : graph_.outputs) read.insert(output.name);
    std::vector<NodeProto> kept;
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      const bool is_read = std::any_of(node->outputs.begin(), node->outputs.end(),
                                       [&](const std::string& output) { return read.contains(output); });
      if (!is_read) continue;
      // Outputs that nothing reads are left out.
      for (std::size_t i = 1; i < node->outputs.size(); ++i) {
        if (!read.contains(node->outputs[i]) && (node->op == "LSTM" || node->op == "GRU")) node->outputs[i] = "";
      }
      while (!node->outputs.empty() && node->outputs.back().empty()) node->outputs.pop_back();
      read_by(*node, read);
      kept.push_back(std::move(*node));
    }
    std::reverse(kept.begin(), kept.end());
    graph_.nodes = std::move(kept);
    std::erase_if(graph_.initializers, [&](const auto& weight) { return !read.contains(weight.first); });
  }

  GraphProto& graph_;
  Shapes shapes_;
  std::unordered_map<std::string, std::size_t> weights_;
  std::unordered_map<std::string, int> readers_;
  std::set<std::string> taken_;
  std::unordered_map<std::string, Note> notes_;
  std::unordered_map<std::string, std::string> same_;
  std::unordered_map<std::string, std::pair<std::string, std::vector<std::int64_t>>> unsqueezes_;  // what has got which
  std::vector<NodeProto> written_;
};

}  // namespace

void sink_transposes(GraphProto& graph, Shapes shapes) { Sinking(graph, std::move(shapes)).run(); }

}  // namespace capstan::onnx
