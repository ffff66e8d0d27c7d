// Two traces of one function for other lengths: equal but for shapes, or not?
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "src/core/backend.h"
#include "src/core/check.h"
#include "src/graph/control.h"
#include "src/graph/shapes.h"

namespace capstan {

namespace {

using Value = Graph::Value;

bool equal_values(const AttributeValue& a, const AttributeValue& b) {
  if (a.kind != b.kind || a.truth != b.truth || a.integer != b.integer || a.text != b.text) return false;
  if (std::bit_cast<std::uint64_t>(a.number) != std::bit_cast<std::uint64_t>(b.number)) return false;
  return std::equal(a.list.begin(), a.list.end(), b.list.begin(), b.list.end(), equal_values);
}

// The name of the first attribute that differs, with both values; empty if none does.
std::string attribute_difference(const Graph::Node& a, const Graph::Node& b) {
  if (const Control* const control = control_of(*a.op, a.attributes)) {
    return control->difference(*control_of(*b.op, b.attributes));
  }
  const AttributeType* type = a.op->attributes;
  if (type == nullptr || a.renew || std::memcmp(a.attributes, b.attributes, type->size) == 0) return "";
  bool fields_say_all = type->field_count > 0;
  for (int i = 0; i < type->field_count; ++i) {
    const AttributeField& field = type->fields[i];
    const AttributeValue x = field.get(a.attributes);
    const AttributeValue y = field.get(b.attributes);
    if (!equal_values(x, y)) return detail::join(field.name, " is ", x.to_string(), " and ", y.to_string());
    fields_say_all &= field.type->set != nullptr;
  }
  // The bytes of equal fields differ in padding alone.
  return fields_say_all ? "" : "its attributes differ";
}

std::string constant_text(const Tensor& constant) {
  const bool shown = constant.size() == 1 && host_elements(constant) != nullptr && !is_complex(constant.dtype());
  return shown ? detail::join(constant.item<double>()) : detail::join("of ", constant.dtype(), constant.shape());
}

const Graph::ValueInfo& info_of(const Graph& graph, Value value) {
  return graph.values[static_cast<std::size_t>(value)];
}

// "multiply(float32[32, 4], float32[])"
std::string node_text(const Graph& graph, const Graph::Node& node) {
  std::string text(node.op->name);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Graph::ValueInfo& info = info_of(graph, node.inputs[i]);
    text += (i == 0 ? "(" : ", ") + describe(info.dtype, info.shape);
  }
  return text + (node.inputs.empty() ? "()" : ")");
}

std::string input_difference(const Graph& a, const Graph& b, const Graph::Node& x, const Graph::Node& y) {
  if (x.inputs.size() != y.inputs.size()) {
    return detail::join("it has ", x.inputs.size(), " and ", y.inputs.size(), " operands");
  }
  for (std::size_t i = 0; i < x.inputs.size(); ++i) {
    const Tensor& p = info_of(a, x.inputs[i]).constant;
    const Tensor& q = info_of(b, y.inputs[i]).constant;
    if (p.has_value() && q.has_value()) {
      if (!equal_constants(p, q)) {
        return detail::join("operand ", i, " is the constant ", constant_text(p), " and ", constant_text(q));
      }
    } else if (x.inputs[i] != y.inputs[i]) {
      return detail::join("operand ", i, " is another value");
    }
  }
  return "";
}

}  // namespace

bool equal_constants(const Tensor& a, const Tensor& b) {
  if (a.block() == b.block()) return true;
  if (a.is_row_sparse() || b.is_row_sparse()) return false;
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (is_on_device(a.block()) || is_on_device(b.block())) return equal_constants(copy_to_host(a), copy_to_host(b));
  if (a.raw_data() == nullptr || b.raw_data() == nullptr) return a.raw_data() == b.raw_data();
  return std::memcmp(a.raw_data(), b.raw_data(), static_cast<std::size_t>(a.size()) * size_of(a.dtype())) == 0;
}

std::string difference_of(const Subgraph& a, const Subgraph& b) {
  if (a.from != b.from || a.written != b.written) return "its " + a.name + " uses other values";
  std::string what = difference_of(a.graph, b.graph, 0);
  return what.empty() ? what : "in its " + a.name + ", " + what;
}

std::string difference_of(const Graph& a, const Graph& b, std::size_t argument_variables) {
  for (std::size_t i = 0; i < std::min(a.nodes.size(), b.nodes.size()); ++i) {
    const Graph::Node& x = a.nodes[i];
    const Graph::Node& y = b.nodes[i];
    if (x.op != y.op) return detail::join("op ", i, " is ", node_text(a, x), " and ", node_text(b, y));
    std::string what = attribute_difference(x, y);
    if (what.empty()) what = input_difference(a, b, x, y);
    if (what.empty() && (x.outputs != y.outputs || static_cast<bool>(x.renew) != static_cast<bool>(y.renew))) {
      what = "it gives other values";
    }
    if (!what.empty()) return detail::join("op ", i, ", ", node_text(a, x), ": ", what);
  }
  if (a.nodes.size() != b.nodes.size()) {
    return detail::join("there are ", a.nodes.size(), " and ", b.nodes.size(), " ops");
  }
  if (a.arguments.size() != b.arguments.size()) return "other tensors are used";
  if (a.captured.size() != b.captured.size()) return "other variables are used";
  for (std::size_t i = 0; i < a.captured.size(); ++i) {
    const Graph::Captured& x = a.captured[i];
    const Graph::Captured& y = b.captured[i];
    if (x.value != y.value || x.written != y.written || (i >= argument_variables && !(x.variable == y.variable))) {
      return "other variables are used";
    }
  }
  if (a.results.size() != b.results.size()) return "the number of results is another";
  for (std::size_t i = 0; i < a.results.size(); ++i) {
    if (a.results[i] == b.results[i]) continue;
    const bool constants = a.results[i] != Graph::kNone && b.results[i] != Graph::kNone &&
                           info_of(a, a.results[i]).constant.has_value() &&
                           info_of(b, b.results[i]).constant.has_value() &&
                           equal_constants(info_of(a, a.results[i]).constant, info_of(b, b.results[i]).constant);
    if (!constants) return detail::join("result ", i, " is another value");
  }
  for (std::size_t i = 0; i < std::min(a.values.size(), b.values.size()); ++i) {
    const Graph::ValueInfo& x = a.values[i];
    const Graph::ValueInfo& y = b.values[i];
    if (x.dtype != y.dtype) return detail::join("a value is ", x.dtype, " and ", y.dtype);
    if (x.constant.has_value() && y.constant.has_value() && !equal_constants(x.constant, y.constant)) {
      return detail::join("a constant is ", constant_text(x.constant), " and ", constant_text(y.constant));
    }
    if (x.known.has_value() && y.known.has_value() && !equal_constants(x.known, y.known)) {
      return detail::join("a tensor from outside, or what follows from it, is ", constant_text(x.known), " and ",
                          constant_text(y.known));
    }
  }
  return "";
}

}  // namespace capstan
