// Samples of every op: what its OpTest gives for structured ops, and what follows from the formula
// for elementwise ones.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "src/core/op_def.h"
#include "tests/op_samples/op_test.h"
#include "tests/support/compare.h"

namespace capstan::testing {

// A call that can be made.
struct Sample {
  std::string text;  // "add(float64[3, 4], float64[4])", for messages
  std::vector<Tensor> inputs;
  std::vector<bool> differentiable;  // per input: floating, and its gradient is one
  AttributeMap attributes;
};

// The dtypes that the op takes in its differentiable inputs.
std::vector<DType> dtypes_of(const OpDef& op);

// The samples whose call must succeed, with inputs of the dtype.
std::vector<Sample> samples_of(const OpDef& op, DType dtype);

// Samples so large that the work is split among threads; none for ops whose samples are all given
// by hand.
std::vector<Sample> large_samples_of(const OpDef& op, DType dtype);

// The samples whose call must throw, with the text that the message must contain.
struct ErrorSample {
  Sample sample;
  std::string error;
};
std::vector<ErrorSample> error_samples_of(const OpDef& op);

// What the slow reference says of a sample.
std::vector<Tensor> reference_outputs(const OpDef& op, const Sample& sample, DType dtype);

// How far outputs may be from it.
Tolerance reference_tolerance(const OpDef& op, DType dtype);

std::vector<Tensor> run(const OpDef& op, const Sample& sample);

// A call of the op with these inputs, and the gradients of the floating outputs by the differentiable inputs.
struct Results {
  std::vector<Tensor> outputs;
  std::vector<Tensor> gradients;

  auto fields() { return std::tie(outputs, gradients); }
};
Results run_and_differentiate(const OpDef& op, Sample sample, const std::vector<Tensor>& inputs);

// Whether two results agree but for the rounding of their dtype. NaN equals NaN, and a missing tensor another one.
bool is_close(const Tensor& a, const Tensor& b);

}  // namespace capstan::testing
