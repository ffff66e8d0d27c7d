#include "src/io/object_graph.h"

#include <optional>

#include "src/io/wire.h"

namespace capstan::io {
namespace {

using wire::Field;
using wire::Message;

// ObjectReference: node_id, local_name.
std::pair<std::string, std::size_t> read_child(Message message) {
  std::pair<std::string, std::size_t> child{{}, 0};
  while (const std::optional<Field> field = message.next()) {
    if (field->number == 1) {
      message.expect(*field, wire::Kind::kVarint);
      child.second = static_cast<std::size_t>(field->value);
    } else if (field->number == 2) {
      message.expect(*field, wire::Kind::kBytes);
      child.first = field->bytes;
    }
  }
  return child;
}

// SerializedTensor: name, full_name, checkpoint_key.
TrackableAttribute read_attribute(Message message) {
  TrackableAttribute attribute{.name = {}};
  while (const std::optional<Field> field = message.next()) {
    if (field->number < 1 || field->number > 3) continue;
    message.expect(*field, wire::Kind::kBytes);
    (field->number == 1 ? attribute.name : field->number == 2 ? attribute.full_name : attribute.key) = field->bytes;
  }
  return attribute;
}

TrackableNode read_node(Message message) {
  TrackableNode node;
  while (const std::optional<Field> field = message.next()) {
    if (field->number == 1) {
      node.children.push_back(read_child(message.inside(*field)));
    } else if (field->number == 2) {
      node.attributes.push_back(read_attribute(message.inside(*field)));
    }
  }
  return node;
}

std::string escaped(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '/') {
      text += ".S";
    } else {
      text.append(c == '.' ? 2 : 1, c);
    }
  }
  return text;
}

}  // namespace

std::vector<TrackableNode> parse_object_graph(const std::string& reader, const std::string& file,
                                              std::string_view bytes) {
  std::vector<TrackableNode> nodes;
  Message graph(reader, file, bytes);
  while (const std::optional<Field> node = graph.next()) {
    if (node->number == 1) nodes.push_back(read_node(graph.inside(*node)));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const auto& [name, child] : nodes[i].children) {
      if (child < nodes.size()) continue;
      graph.fail("object " + std::to_string(i) + " has a child of the number " + std::to_string(child) +
                 ", but the graph has " + std::to_string(nodes.size()) + " objects");
    }
  }
  return nodes;
}

void set_keys(std::vector<TrackableNode>& nodes) {
  std::vector<std::string> paths(nodes.size());
  std::vector<bool> seen(nodes.size());
  std::vector<std::size_t> queue = {0};
  seen.at(0) = true;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const std::size_t at = queue[next];
    for (TrackableAttribute& attribute : nodes[at].attributes) {
      attribute.key = paths[at] + (paths[at].empty() ? "" : "/") + ".ATTRIBUTES/" + attribute.name;
    }
    for (const auto& [name, child] : nodes[at].children) {
      if (seen.at(child)) continue;
      seen[child] = true;
      paths[child] = paths[at] + (paths[at].empty() ? "" : "/") + escaped(name);
      queue.push_back(child);
    }
  }
}

std::string object_graph_bytes(const std::vector<TrackableNode>& nodes) {
  wire::Writer graph;
  for (const TrackableNode& node : nodes) {
    wire::Writer message;
    for (const auto& [name, number] : node.children) {
      wire::Writer child;
      child.varint(1, number);
      child.bytes(2, name);
      message.bytes(1, child.text());
    }
    for (const TrackableAttribute& one : node.attributes) {
      wire::Writer attribute;
      attribute.bytes(1, one.name);
      attribute.bytes(2, one.full_name);
      attribute.bytes(3, one.key);
      message.bytes(2, attribute.text());
    }
    if (node.counts) {
      wire::Writer has_values;  // BoolValue
      has_values.varint(1, 1);
      message.bytes(5, has_values.text());
    }
    graph.bytes(1, message.text());
  }
  return graph.take();
}

}  // namespace capstan::io
