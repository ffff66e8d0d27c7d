// The calls of a function that differ in open lengths only, and the trace that serves them.
//
// How do we know that a trace does not depend on a length? The traces of calls that differ in it are equal (see
// src/graph/shapes.h). Two lengths alone may agree by chance: half of 4 and half of 5 are 2 in integers, and both are
// below a limit. So the function is also traced for invented lengths far up and down the line through the two that came
// (probes), and a call is served without tracing only if
// - its lengths lie between the smallest and the largest that have been traced: what grows or falls with a length, as
//   quotients, products, limits and comparisons do, and is equal at both ends, is equal in between;
// - their difference to the first ones is a sum of multiples of differences that have been traced: what depends on a
//   remainder, or on a ratio of two lengths, is equal for these.
// Any other call is traced once more and widens what is known.
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
  std::vector<Tensor> captures;           // what its arguments after those of the call are
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

  // Lengths at the ends of the line through the first ones and these, as far as they lie outside of what is known.
  std::vector<std::vector<std::int64_t>> probes(const std::vector<std::int64_t>& lengths) const;

 private:
  using Lengths = std::vector<std::int64_t>;

  bool is_within(const Lengths& lengths) const;
  // Takes away what is a sum of multiples of known differences.
  Lengths rest_of(Lengths difference) const;
  void add_difference(Lengths difference);

  RawTrace first_;
  bool is_traced_ = false;
  Lengths tried_;              // the lengths of the first trace
  Lengths lowest_, highest_;   // of all traces
  std::vector<Lengths> rows_;  // a basis of the differences to the first, in echelon form
  std::string dependence_;
};

}  // namespace capstan
