// The reverse pass for a cotangent that is zero but for one example.
//
// The jacobian of a batch of outputs has a row for each element of each example, and the cotangent of a row is zero for
// all other examples. Where the reverse pass treats the examples apart, as layers of a network do, it can be run on the
// one example alone: that is as many times less work as there are examples. NaN and infinity of the others, which zero
// cotangents would spread, stay where they are.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/graph/graph.h"

namespace capstan {

// A graph and what it is run on; nothing for what differs from item to item.
struct Pullback {
  Graph graph;
  std::vector<Tensor> inputs;
};

// The same pass with other arguments: the cotangent of one example, [1, ...], and the number of the example, int64[1].
// Nothing if an op mixes the examples in a way that is not known here, or if a result has an axis of examples. `full`
// has the cotangent of all examples, of rank 1 or more, as its first argument.
std::optional<Pullback> pullback_of_row(const Pullback& full);

}  // namespace capstan
