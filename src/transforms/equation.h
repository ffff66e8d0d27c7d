// Values that an equation defines: what fixed_point, root and odeint have in common.
//
// An equation says how it is solved, which takes numbers, and what the gradients of its solution are; both are plain
// code that calls a function. Outside of a trace that is the user's, and tapes get one record of the solution. In a
// trace the function is traced once, as the part of a node that solves the equation at every run; there the part is the
// function, and it runs as a program.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "src/transforms/uses.h"

namespace capstan {

enum class EquationKind : std::uint8_t { kFixedPoint, kRoot, kOdeint };

class Equation {
 public:
  // Of one tensor, or of a time and one.
  using Function = std::function<Tensor(std::span<const Tensor>)>;

  // The options are all that tells two equations of a kind apart.
  Equation(EquationKind kind, std::vector<double> options) : kind_(kind), options_(std::move(options)) {}
  virtual ~Equation() = default;

  // Computes the solution.
  virtual Tensor find(const Function& f, const Tensor& start) const = 0;
  // The gradients by the initial value, if it has one, and then by what the function uses.
  virtual std::vector<Tensor> gradients(const Function& f, const Parameters& parameters, const Tensor& solution,
                                        const Tensor& cotangent) const = 0;
  // Throws unless the function may give this for x.
  void check(const Tensor& result, const Tensor& x) const;
  virtual Shape shape_of(const Shape& start) const { return start; }

  EquationKind kind() const { return kind_; }
  std::string_view name() const;
  const std::vector<double>& options() const { return options_; }

  // These are set once, by whoever makes the object.
  bool start_counts = false;   // the initial value has a gradient, and f may use elsewhere what it does not at the end
  bool steps_count = false;    // tapes see how the solution is found, which is all there is to its gradients
  bool needs_numbers = false;  // gradients() is not for symbolic tensors

 private:
  EquationKind kind_;
  std::vector<double> options_;
};

// The solution. `start` is what the function is first called with; the initial value comes last.
Tensor solution_of(const std::shared_ptr<const Equation>& equation, const Equation::Function& f,
                   std::vector<Tensor> start);

}  // namespace capstan
