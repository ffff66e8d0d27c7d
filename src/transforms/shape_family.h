// The calls of a function that differ in open lengths only, and the trace that serves them.
//
// How do we know that a trace does not depend on a length? The traces of two calls that differ in it are equal (see
// src/graph/shapes.h). With several open lengths a call is served without tracing if the difference between its lengths
// and those of the first call is a combination of differences that have been tried: what depends linearly on lengths
// and did not change in those does not change in this. So k lengths that vary independently need k + 1 traces, two
// lengths that are always equal count as one, and a length that never varies as none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/graph/graph.h"
#include "src/transforms/call_key.h"

namespace capstan {

// One trace as it was made.
struct RawTrace {
  Graph graph;
  std::shared_ptr<const void> structure;  // of the result, without its tensors
  CallKey values;                         // plain values in the result
  std::size_t argument_variables = 0;
};

class ShapeFamily {
 public:
  bool is_empty() const { return !is_traced_; }
  const RawTrace& first() const { return first_; }

  // Why each call needs a trace of its own; empty if none does.
  const std::string& dependence() const { return dependence_; }

  // Whether the first trace is right for these lengths.
  bool covers(const std::vector<std::int64_t>& lengths) const;

  // Takes note of another trace. If it differs from the first, they all depend on lengths.
  void add(const RawTrace& trace, const std::vector<std::int64_t>& lengths);

 private:
  std::vector<double> residual(const std::vector<std::int64_t>& lengths) const;

  RawTrace first_;
  std::vector<std::int64_t> tried_;         // the lengths of the first trace
  std::vector<std::vector<double>> basis_;  // orthonormal, of the differences that have been tried
  bool is_traced_ = false;
  std::string dependence_;
};

}  // namespace capstan
