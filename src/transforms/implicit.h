// What the rules of implicitly defined values share.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "capstan/tape.h"
#include "src/transforms/uses.h"

namespace capstan {

// Throws TraceError, ValueError or DTypeError unless `x` is a value to compute with outside of a trace.
void check_solvable(std::string_view op, const Tensor& x);

// Throws unless what a function gave has the shape and dtype of its argument.
void check_same_type(std::string_view op, const Tensor& result, const Tensor& x);

// The largest magnitude; NaN if there is one.
double largest_magnitude(const Tensor& x);

// What a function uses, apart from the tensors that a run of it makes.
struct Parameters {
  std::vector<Tensor> captured;
  std::vector<Held> held;      // those that may have gradients
  std::vector<Held> all_held;  // for AsBefore

  Parameters() = default;
  explicit Parameters(Uses&& uses);
  std::vector<Variable> variables() const;
  // Lets a tape watch all, while the variables hold what they held.
  void watch(GradientTape& tape) const;
  std::size_t size() const { return captured.size() + held.size(); }

  // Shows tapes a result as made of these and of `arguments`; `gradients` gives one for each of the arguments and then
  // for each of these.
  Tensor record(
      Tensor result, const std::vector<Tensor>& arguments,
      const std::function<std::vector<Tensor>(const Tensor& result, const Tensor& cotangent)>& gradients) const;
};

}  // namespace capstan
