// Models as bytes. Weights are written from where they lie: a model has only one copy of them in memory.
#include <cstdint>
#include <deque>
#include <limits>
#include <span>

#include "capstan/error.h"

#include "src/core/check.h"
#include "src/io/file_sink.h"
#include "src/io/wire.h"
#include "src/onnx/proto.h"

namespace capstan::onnx {

namespace {

using io::wire::Kind;
using io::wire::Writer;

// Numbers of AttributeProto.AttributeType.
enum AttributeKind : std::uint64_t {
  kFloat = 1,
  kInteger = 2,
  kText = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kIntegers = 7,
  kTexts = 8
};

std::string_view elements_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw_data()),
          static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype())};
}

// A tensor without its elements.
std::string tensor_head(const Tensor& tensor, const std::string& name) {
  Writer writer;
  for (const std::int64_t length : tensor.shape()) writer.varint(1, static_cast<std::uint64_t>(length));
  writer.varint(2, static_cast<std::uint64_t>(type_number(tensor.dtype())));
  if (!name.empty()) writer.bytes(8, name);
  return writer.take();
}

std::string graph_bytes(const GraphProto& graph);

std::string attribute_bytes(const Attribute& attribute) {
  Writer writer;
  writer.bytes(1, attribute.name);
  AttributeKind kind = kIntegers;
  if (attribute.number) {
    kind = kFloat;
    writer.number(2, static_cast<float>(*attribute.number));
  } else if (attribute.integer) {
    kind = kInteger;
    writer.varint(3, static_cast<std::uint64_t>(*attribute.integer));
  } else if (attribute.tensor.has_value()) {
    kind = kTensor;
    Writer tensor;
    tensor.bytes(9, elements_of(attribute.tensor));
    writer.bytes(5, tensor_head(attribute.tensor, "") + tensor.text());
  } else if (attribute.graph != nullptr) {
    kind = kGraph;
    writer.bytes(6, graph_bytes(*attribute.graph));
  } else if (!attribute.numbers.empty()) {
    kind = kFloats;
    for (const double number : attribute.numbers) writer.number(7, static_cast<float>(number));
  } else if (!attribute.texts.empty()) {
    kind = kTexts;
    for (const std::string& text : attribute.texts) writer.bytes(9, text);
  } else if (!attribute.text.empty()) {
    kind = kText;
    writer.bytes(4, attribute.text);
  } else {
    for (const std::int64_t integer : attribute.integers) writer.varint(8, static_cast<std::uint64_t>(integer));
  }
  writer.varint(20, kind);
  return writer.take();
}

std::string node_bytes(const NodeProto& node) {
  Writer writer;
  for (const std::string& input : node.inputs) writer.bytes(1, input);
  for (const std::string& output : node.outputs) writer.bytes(2, output);
  writer.bytes(3, node.name);
  writer.bytes(4, node.op);
  for (const Attribute& attribute : node.attributes) writer.bytes(5, attribute_bytes(attribute));
  return writer.take();
}

std::string value_bytes(const ValueProto& value) {
  Writer tensor;
  tensor.varint(1, static_cast<std::uint64_t>(value.type));
  if (value.shape) {
    Writer shape;
    for (std::size_t i = 0; i < value.shape->size(); ++i) {
      Writer length;
      if ((*value.shape)[i] >= 0) {
        length.varint(1, static_cast<std::uint64_t>((*value.shape)[i]));
      } else if (i < value.lengths.size() && !value.lengths[i].empty()) {
        length.bytes(2, value.lengths[i]);
      }
      shape.bytes(1, length.text());
    }
    tensor.bytes(2, shape.text());
  }
  Writer type, writer;
  type.bytes(1, tensor.text());
  writer.bytes(1, value.name);
  writer.bytes(2, type.text());
  return writer.take();
}

// A graph without its initializers.
std::string graph_head(const GraphProto& graph) {
  Writer writer;
  for (const NodeProto& node : graph.nodes) writer.bytes(1, node_bytes(node));
  writer.bytes(2, graph.name);
  for (const ValueProto& input : graph.inputs) writer.bytes(11, value_bytes(input));
  for (const ValueProto& output : graph.outputs) writer.bytes(12, value_bytes(output));
  return writer.take();
}

// Graphs inside of nodes have no weights of their own.
std::string graph_bytes(const GraphProto& graph) { return graph_head(graph); }

void append_key(std::string& bytes, std::uint32_t number, std::size_t size) {
  io::wire::append_varint(bytes, number << 3 | static_cast<std::uint32_t>(Kind::kBytes));
  io::wire::append_varint(bytes, size);
}

// The version of the format that came with an opset.
std::uint64_t format_version(std::int64_t opset) {
  return opset < 19 ? 8 : opset < 21 ? 9 : opset < 23 ? 10 : opset < 24 ? 11 : 12;
}

}  // namespace

void write_model(const std::string& writer, const std::string& path, const ModelProto& model) {
  // Pieces of the graph: texts of this function, and elements.
  std::deque<std::string> texts;
  std::vector<std::span<const std::byte>> pieces;
  std::size_t size = 0;
  const auto add = [&](std::string_view piece) {
    pieces.push_back(std::as_bytes(std::span(piece.data(), piece.size())));
    size += piece.size();
  };
  texts.push_back(graph_head(model.graph));
  add(texts.back());
  for (const auto& [name, tensor] : model.graph.initializers) {
    const std::string_view elements = elements_of(tensor);
    std::string head = tensor_head(tensor, name);
    append_key(head, 9, elements.size());
    std::string& text = texts.emplace_back();
    append_key(text, 5, head.size() + elements.size());
    text += head;
    add(text);
    add(elements);
  }
  Writer begin, set;
  begin.varint(1, format_version(model.opset));
  begin.bytes(2, "capstan");
  if (!model.description.empty()) begin.bytes(6, model.description);
  set.bytes(1, "");
  set.varint(2, static_cast<std::uint64_t>(model.opset));
  begin.bytes(8, set.text());
  std::string head = begin.take();
  append_key(head, 7, size);
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  CAPSTAN_CHECK(head.size() + size <= kMost, ValueError, writer, ": the model takes ", head.size() + size,
                " bytes, and an ONNX file holds at most ", kMost);
  pieces.insert(pieces.begin(), std::as_bytes(std::span(head.data(), head.size())));
  io::write_file(writer, path, pieces);
}

}  // namespace capstan::onnx
