// Calls of ops that nobody chose: made from the samples of an op by changing lengths, dtypes, elements and attributes.
#pragma once

#include <string>
#include <vector>

#include "src/core/op_def.h"
#include "tests/ops/op_samples.h"
#include "tests/support/random.h"

namespace capstan::testing {

// All ops that have samples.
std::vector<const OpDef*> ops_with_samples();

// "add(float32[3], float32[4])"
std::string describe(const OpDef& op, const Sample& sample);

// A call that hardly makes sense: inputs of any dtype and shape, attributes of any kind, too many or too few of either.
Sample disturbed(const OpDef& op, Sample sample, Random& random);

// Draws calls of one op of which most work: other lengths where the sample has them, other elements, NaN, infinities
// and zeros of either sign among them, other attributes of the same kind.
class CallsOf {
 public:
  explicit CallsOf(const OpDef& op);
  bool empty() const { return samples_.empty(); }
  const std::vector<Sample>& samples() const { return samples_; }
  Sample next(Random& random) const;

 private:
  const OpDef& op_;
  std::vector<Sample> samples_;
};

}  // namespace capstan::testing
