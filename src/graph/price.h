// What nodes cost, as far as passes have to know.
#pragma once

#include <optional>

#include "src/graph/graph.h"

namespace capstan {

// What costs about as much as to read its operands, what is paid by the number of products, and what runs where it
// is and once, or is not known.
enum class Price : std::uint8_t { kLight, kDense, kNever };

Price price_of(const Graph::Node& node);

// About how many nanoseconds a node takes on one thread. Nothing if it is not known, or so long that the kernel may
// share it out itself.
std::optional<double> short_time_of(const Graph& graph, const Graph::Node& node);
// The sum over all nodes, of which reshaping ones are next to free.
std::optional<double> short_time_of(const Graph& graph);

}  // namespace capstan
