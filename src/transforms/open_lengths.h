// Functions traced for two lists of lengths, for those who write down one graph for open lengths: what a program
// computes from a length differs in the two.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "capstan/function.h"
#include "capstan/tensor_spec.h"
#include "src/graph/graph.h"

namespace capstan {

struct TwoTraces {
  std::shared_ptr<const ConcreteState> first, second;  // no second one if no length is open
};

using TraceForShapes = std::function<std::shared_ptr<const ConcreteState>(const std::vector<Shape>& shapes)>;

// Traces a function for specs. Several lengths are tried, since a function may not take them all, until `check` takes
// both graphs. Throws what the first trial threw; ValueError, in the name of `op`, for a spec without a rank.
CAPSTAN_EXPORT TwoTraces trace_open(const std::string& op, const std::vector<TensorSpec>& specs,
                                    const TraceForShapes& trace,
                                    const std::function<void(const Graph&, const Graph&)>& check);
// The same for a body, whose function has the name `op`.
CAPSTAN_EXPORT TwoTraces trace_open(const std::string& op, const std::vector<TensorSpec>& specs,
                                    const detail::FunctionBody& body,
                                    const std::function<void(const Graph&, const Graph&)>& check);

}  // namespace capstan
