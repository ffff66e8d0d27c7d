#include "src/logs/event_message.h"

#include <algorithm>
#include <cmath>

#include "src/io/wire.h"

namespace capstan::logs {

namespace {

enum TensorType : std::uint64_t { kFloat = 1, kDouble = 2, kString = 7 };

// The first two fields of a TensorProto.
io::wire::Writer typed(TensorType type, std::span<const std::int64_t> shape) {
  io::wire::Writer sizes, tensor;
  for (const std::int64_t length : shape) {
    io::wire::Writer size;
    if (length != 0) size.varint(1, static_cast<std::uint64_t>(length));
    sizes.bytes(2, size.text());
  }
  tensor.varint(1, type);
  tensor.bytes(2, sizes.text());
  return tensor;
}

template <class T>
std::string numbers(TensorType type, std::span<const T> values, std::span<const std::int64_t> shape) {
  constexpr std::uint32_t kContent = 4;
  io::wire::Writer tensor = typed(type, shape);
  if (!values.empty()) {
    tensor.bytes(kContent, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  return tensor.take();
}

}  // namespace

std::string tensor_message(float value) { return numbers<float>(kFloat, {&value, 1}, {}); }

std::string tensor_message(std::span<const float> values) {
  const std::int64_t shape[] = {static_cast<std::int64_t>(values.size())};
  return numbers(kFloat, values, shape);
}

std::string tensor_message_of_rows(std::span<const double> values) {
  const std::int64_t shape[] = {static_cast<std::int64_t>(values.size() / 3), 3};
  return numbers(kDouble, values, shape);
}

std::string tensor_message(std::span<const std::string> texts, std::span<const std::int64_t> shape) {
  constexpr std::uint32_t kTexts = 8;
  io::wire::Writer tensor = typed(kString, shape);
  for (const std::string& text : texts) tensor.bytes(kTexts, text);
  return tensor.take();
}

std::string summary_message(std::string_view tag, const Plugin& plugin, std::string_view tensor,
                            std::string_view description) {
  io::wire::Writer named, metadata, value, message;
  named.bytes(1, plugin.name);
  if (!plugin.content.empty()) named.bytes(2, plugin.content);
  metadata.bytes(1, named.text());
  if (!description.empty()) metadata.bytes(3, description);
  value.bytes(1, tag);
  value.bytes(8, tensor);
  value.bytes(9, metadata.text());
  message.bytes(1, value.text());
  return message.take();
}

std::string graph_message(std::span<const GraphNode> nodes) {
  io::wire::Writer graph;
  for (const GraphNode& node : nodes) {
    io::wire::Writer message;
    message.bytes(1, node.name);
    message.bytes(2, node.op);
    for (const std::string& input : node.inputs) message.bytes(3, input);
    std::string types;
    for (const std::string& type : node.outputs) types += (types.empty() ? "" : ", ") + type;
    if (!types.empty()) {
      io::wire::Writer value, entry;
      value.bytes(2, types);
      entry.bytes(1, "outputs");
      entry.bytes(2, value.text());
      message.bytes(5, entry.text());
    }
    graph.bytes(1, message.text());
  }
  io::wire::Writer versions;
  constexpr std::uint64_t kProducer = 22;  // a version of graphs that every reader knows
  versions.varint(1, kProducer);
  graph.bytes(4, versions.text());
  return graph.take();
}

std::vector<double> histogram_buckets(std::span<const double> values, std::int64_t buckets) {
  const auto count = static_cast<std::size_t>(buckets);
  std::vector<double> rows(count * 3);
  if (values.empty()) return rows;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double low = *least, high = *most;
  if (low == high) {
    for (std::size_t i = 0; i < count; ++i) rows[3 * i] = rows[3 * i + 1] = high;
    rows.back() = static_cast<double>(values.size());
    return rows;
  }
  const auto parts = static_cast<double>(buckets);
  // The range of the largest numbers of both signs is no number, so then these are taken apart.
  const double range = high - low;
  const bool has_range = std::isfinite(range);
  const double width = has_range ? range / parts : high / parts - low / parts;
  const auto edge = [&](std::size_t i) {
    const auto place = static_cast<double>(i);
    return has_range ? low + width * place : std::lerp(low, high, place / parts);
  };
  for (std::size_t i = 0; i < count; ++i) {
    rows[3 * i] = i == 0 ? low : rows[3 * i - 2];
    rows[3 * i + 1] = i + 1 == count ? high : edge(i + 1);
  }
  for (const double value : values) {
    const double place = has_range ? (value - low) / width : value / width - low / width;
    // Also where the quotient is no number, since the width is too small to be one.
    const std::size_t bucket = place < parts ? static_cast<std::size_t>(place) : count - 1;
    rows[3 * bucket + 2] += 1;
  }
  return rows;
}

}  // namespace capstan::logs
