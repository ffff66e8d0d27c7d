// The messages of a log: summaries of one value, and the tensors in them.
//
// A Summary has values, each with a tag, a tensor, and which plugin of TensorBoard shows it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/graph_nodes.h"

namespace capstan::logs {

/// TensorProto messages.
std::string tensor_message(float value);
std::string tensor_message(std::span<const float> values);
/// float64 [rows, 3].
std::string tensor_message_of_rows(std::span<const double> values);
std::string tensor_message(std::span<const std::string> texts, std::span<const std::int64_t> shape);

struct Plugin {
  std::string_view name;
  std::string_view content = {};
};

/// A Summary message of one value.
std::string summary_message(std::string_view tag, const Plugin& plugin, std::string_view tensor,
                            std::string_view description = {});

/// A GraphDef message, with the types of results as attributes.
std::string graph_message(std::span<const GraphNode> nodes);

/// The buckets of a histogram, as TensorBoard's plugin makes them: left edge, right edge and count of each, one after
/// the other. The last bucket has its right edge. Without values everything is 0; of values that are all the same the
/// last bucket has the count. All values must be finite.
std::vector<double> histogram_buckets(std::span<const double> values, std::int64_t buckets);

}  // namespace capstan::logs
