// Calls of all ops, from their samples, for what has to hold of every op that is exported.
#pragma once

#include <string>
#include <vector>

#include "capstan/registry.h"
#include "capstan/tensor.h"

namespace capstan::testing {

struct SampleCall {
  std::string op, name;  // the op and the number of its sample
  std::vector<Tensor> inputs;
  AttributeMap attributes;

  std::vector<Tensor> run(const std::vector<Tensor>& given) const { return call(op, given, attributes); }
};

/// Those samples of an op that can be called, in float32 where it takes that.
std::vector<SampleCall> sample_calls(std::string_view op);

}  // namespace capstan::testing
