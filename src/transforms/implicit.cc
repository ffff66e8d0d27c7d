// Values defined by an equation: fixed points and roots.
//
// The gradients are those of the equation: with x = f(x, p) and the Jacobian J of f by x, the cotangent of what f gives
// is u = (1 - J^T)^-1 g, and p gets u^T df/dp. The adjoint equation of a fixed point is a fixed point itself, that of a
// root a linear system, and the rules say both with public functions. So outer tapes differentiate a rule like any
// other code, traces trace it, and gradients of gradients are implicit ones as well.
#include "capstan/implicit.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "capstan/ops/array.h"
#include "capstan/ops/decompositions.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/named_errors.h"
#include "src/transforms/equation.h"

namespace capstan {

namespace {

using EquationFunction = Equation::Function;

// NaN if there is one.
double largest_magnitude(const Tensor& x) {
  double largest = 0;
  for (const double number : x.to_vector<double>()) {
    if (std::isnan(number)) return number;
    largest = std::max(largest, std::abs(number));
  }
  return largest;
}

// f at a point, on a tape of its own.
struct Linearized {
  Tensor at;
  GradientTape tape;
  Tensor value;

  // The copy is made before the tape, which would take it for a result of its own if an outer one records it.
  Linearized(const EquationFunction& f, const Tensor& x, const Parameters& parameters)
      : at(identity(x)), tape({.persistent = true, .watch_accessed_variables = false}) {
    const AsBefore before(parameters.all_held, !is_symbolic(at.block()));
    tape.watch(at);
    parameters.watch(tape);
    value = f(std::span(&at, 1));
    tape.stop();
  }

  // u^T J.
  Tensor pull_back(const Tensor& u) {
    return tape.gradient(value, at, {.output_gradients = {u}, .unconnected_gradients = UnconnectedGradients::kZero})
        .to_dense();
  }
  // u^T df/dp for each parameter.
  std::vector<Tensor> pull_back(const Tensor& u, const Parameters& parameters) {
    return parameters.gradients(tape, {value}, {}, {.output_gradients = {u}});
  }
  // J as a matrix.
  Tensor jacobian() {
    const Tensor all = tape.jacobian(
        value, at, {.unconnected_gradients = UnconnectedGradients::kZero, .experimental_use_pfor = false});
    return reshape(all, {at.size(), at.size()});
  }
};

class Iterated : public Equation {
 public:
  Iterated(EquationKind kind, const ImplicitOptions& options)
      : Equation(kind, {options.tolerance.value_or(-1), static_cast<double>(options.max_iterations)}),
        options_(options) {
    CAPSTAN_CHECK(!options.tolerance || *options.tolerance >= 0, ValueError, name(),
                  ": tolerance must not be negative, it is ", *options.tolerance);
  }

 protected:
  double tolerance(DType dtype) const { return options_.tolerance.value_or(dtype == DType::kFloat64 ? 1e-13 : 1e-6); }
  const ImplicitOptions options_;
};

class FixedPoint final : public Iterated {
 public:
  explicit FixedPoint(const ImplicitOptions& options) : Iterated(EquationKind::kFixedPoint, options) {}

  Tensor find(const EquationFunction& f, const Tensor& start) const override {
    const double allowed = tolerance(start.dtype());
    Tensor x = start;
    double change = HUGE_VAL;
    for (int iterations = 0; !(change <= allowed * (1 + largest_magnitude(x))); ++iterations) {
      CAPSTAN_CHECK(iterations < options_.max_iterations, ValueError, "fixed_point: not converged after ", iterations,
                    " iterations; the last one changed x by ", change, ", the tolerance is ", allowed,
                    help("f has to contract distances near the solution: mix f(x) with x, or start closer to it"));
      Tensor next = f(std::span(&x, 1));
      check(next, x);
      change = largest_magnitude(next - x);
      CAPSTAN_CHECK(std::isfinite(change), ValueError, "fixed_point: iteration ", iterations + 1,
                    " gives NaN or infinity");
      x = std::move(next);
    }
    return x;
  }
  std::vector<Tensor> gradients(const EquationFunction& f, const Parameters& parameters, const Tensor& solution,
                                const Tensor& g) const override {
    const auto linearized = std::make_shared<Linearized>(f, solution, parameters);
    const Tensor u =
        fixed_point([linearized, g](const Tensor& u) { return g + linearized->pull_back(u); }, g, options_);
    return linearized->pull_back(u, parameters);
  }
};

// What solves the linear equations of a step.
Tensor solved(const Tensor& matrix, const Tensor& right, bool transposed) {
  return with_errors_of("root", [&] { return solve(matrix, right, {.adjoint = transposed}); });
}

class Root final : public Iterated {
 public:
  explicit Root(const ImplicitOptions& options) : Iterated(EquationKind::kRoot, options) {}

  Tensor find(const EquationFunction& f, const Tensor& start) const override {
    const double allowed = tolerance(start.dtype());
    const std::int64_t n = start.size();
    Tensor x = start;
    double step = HUGE_VAL;
    for (int iterations = 0; n > 0 && !(step <= allowed * (1 + largest_magnitude(x))); ++iterations) {
      CAPSTAN_CHECK(iterations < options_.max_iterations, ValueError, "root: not converged after ", iterations,
                    " steps; the last one changed x by ", step, ", the tolerance is ", allowed,
                    help("start closer to the root"));
      Linearized at(f, x, {});
      check(at.value, x);
      const double residual = largest_magnitude(at.value);
      CAPSTAN_CHECK(std::isfinite(residual), ValueError, "root: step ", iterations, " leads to NaN or infinity");
      if (residual == 0) break;
      const Tensor direction = reshape_like(solved(at.jacobian(), reshape(-at.value, {n, 1}), false), x);
      double length = 1;
      Tensor next = x + direction;
      while (!(largest_magnitude(f(std::span(&next, 1))) <= residual) && length > 1e-6) {
        length /= 2;
        next = x + direction * length;
      }
      // As exact as rounding allows: no step, however small, improves on it.
      if (length <= 1e-6 && largest_magnitude(direction) <= 1e3 * allowed * (1 + largest_magnitude(x))) break;
      step = length * largest_magnitude(direction);
      CAPSTAN_CHECK(std::isfinite(step), ValueError, "root: the Jacobian is singular at step ", iterations);
      x = std::move(next);
    }
    return x;
  }
  std::vector<Tensor> gradients(const EquationFunction& f, const Parameters& parameters, const Tensor& solution,
                                const Tensor& g) const override {
    Linearized at(f, solution, parameters);
    const Tensor u = reshape_like(solved(at.jacobian(), reshape(-g, {g.size(), 1}), true), at.value);
    return at.pull_back(u, parameters);
  }
};

// As equations call functions.
EquationFunction of_one(const std::function<Tensor(const Tensor&)>& f) {
  if (f == nullptr) return nullptr;
  return [f](std::span<const Tensor> arguments) { return f(arguments[0]); };
}

}  // namespace

Tensor fixed_point(const std::function<Tensor(const Tensor&)>& f, const Tensor& x0, const ImplicitOptions& options) {
  return solution_of(std::make_shared<FixedPoint>(options), of_one(f), {x0});
}

Tensor root(const std::function<Tensor(const Tensor&)>& f, const Tensor& x0, const ImplicitOptions& options) {
  return solution_of(std::make_shared<Root>(options), of_one(f), {x0});
}

}  // namespace capstan
