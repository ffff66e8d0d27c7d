// Values defined by an equation: fixed points and roots.
//
// The solution is computed with tapes paused; one more run of f, at the solution, shows what it uses. Tapes get one
// record, from that to the solution. Its rule differentiates the equation: with x = f(x, p) and the Jacobian J of f by
// x, the cotangent of what f gives is u = (1 - J^T)^-1 g, and p gets u^T df/dp. The adjoint equation of a fixed point
// is a fixed point itself, that of a root a linear system, and the rule says both with public functions. So outer tapes
// differentiate the rule like any other code, and gradients of gradients are implicit ones as well.
#include "capstan/implicit.h"

#include <cmath>
#include <memory>

#include "capstan/ops/array.h"
#include "capstan/ops/decompositions.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/transforms/implicit.h"

namespace capstan {

void check_solvable(std::string_view op, const Tensor& x) {
  CAPSTAN_CHECK(context.tracer == nullptr, TraceError, op,
                ": how often it iterates depends on values, which a traced function does not have",
                help("call it outside of function(), or write the iterations with while_loop"));
  CAPSTAN_CHECK(x.has_value(), ValueError, op, ": the initial value is an empty tensor");
  CAPSTAN_CHECK(x.dtype() == DType::kFloat32 || x.dtype() == DType::kFloat64, DTypeError, op, ": the initial value is ",
                x.dtype(), ", not float32 or float64", arguments({{"initial value", x}}));
}

void check_same_type(std::string_view op, const Tensor& result, const Tensor& x) {
  CAPSTAN_CHECK(result.has_value(), ValueError, op, ": the function gives an empty tensor");
  CAPSTAN_CHECK(result.dtype() == x.dtype(), DTypeError, op, ": the function gives ", result.dtype(), " for ",
                x.dtype(), arguments({{"argument", x}, {"result", result}}));
  CAPSTAN_CHECK(result.shape() == x.shape(), ShapeError, op, ": the function gives shape ", result.shape(), " for ",
                x.shape(), arguments({{"argument", x}, {"result", result}}));
}

double largest_magnitude(const Tensor& x) {
  double largest = 0;
  for (const double number : x.to_vector<double>()) {
    if (!(std::abs(number) <= largest)) largest = std::abs(number);
  }
  return largest;
}

Parameters::Parameters(Uses&& uses) : captured(std::move(uses.captured)), all_held(std::move(uses.held)) {
  for (const Held& h : all_held) {
    if (is_differentiable(h.value.dtype())) held.push_back(h);
  }
}

std::vector<Variable> Parameters::variables() const {
  std::vector<Variable> variables;
  for (const Held& h : held) variables.push_back(h.variable);
  return variables;
}

void Parameters::watch(GradientTape& tape) const {
  tape.watch(captured);
  tape.watch(variables());
}

Tensor Parameters::record(Tensor result, const std::vector<Tensor>& arguments,
                          const std::function<std::vector<Tensor>(const Tensor&, const Tensor&)>& gradients) const {
  if (context.observers == nullptr || arguments.size() + size() == 0) return result;
  {
    const PauseObservers pause;
    result = identity(result);
  }
  std::vector<ObservedInput> inputs;
  const auto add = [&](const Tensor& tensor) { inputs.push_back({tensor.block(), tensor.block()->node}); };
  for (const Tensor& argument : arguments) add(argument);
  for (const Tensor& tensor : captured) add(tensor);
  for (const Held& h : held) add(h.value);
  // The rule takes the result as tapes know it, so that an outer one sees that it depends on the parameters.
  const CustomRule rule{
      [result, gradients](std::span<const Tensor> cotangents) { return gradients(result, cotangents[0]); }};
  notify(context.observers, CustomCall{inputs, std::span(&result, 1), rule});
  return result;
}

namespace {

using Function = std::function<Tensor(const Tensor&)>;

double tolerance_of(const ImplicitOptions& options, DType dtype) {
  return options.tolerance >= 0 ? options.tolerance : dtype == DType::kFloat64 ? 1e-13 : 1e-6;
}

// f at a solution, on a tape of its own.
struct Linearized {
  Tensor at;
  GradientTape tape;
  Tensor value;

  // The copy is made before the tape, which would take it for a result of its own if an outer one records it.
  Linearized(const Function& f, const Tensor& x, const Parameters& parameters)
      : at(identity(x)), tape({.persistent = true, .watch_accessed_variables = false}) {
    const AsBefore before(parameters.all_held);
    tape.watch(at);
    parameters.watch(tape);
    value = f(at);
    tape.stop();
  }

  // u^T J.
  Tensor pull_back(const Tensor& u) {
    const Tensor product = tape.gradient(value, at, {.output_gradients = {u}});
    return product.has_value() ? product.to_dense() : zeros_like(at);
  }
  // u^T df/dp for each parameter.
  std::vector<Tensor> pull_back(const Tensor& u, const Parameters& parameters) {
    auto [gradients, of_variables] =
        tape.gradient(value, std::pair(parameters.captured, parameters.variables()), {.output_gradients = {u}});
    gradients.insert(gradients.end(), of_variables.begin(), of_variables.end());
    return gradients;
  }
  // J as a matrix.
  Tensor jacobian() {
    const std::int64_t n = at.size();
    std::vector<Tensor> rows;
    const Tensor identity_matrix = eye(n, n, at.dtype());
    for (std::int64_t i = 0; i < n; ++i) {
      const Tensor row = pull_back(reshape_like(identity_matrix(static_cast<int>(i)), value));
      rows.push_back(reshape(row, {n}));
    }
    return stack(rows);
  }
};

// A solution's record, whose rule gets u from the linearised equation.
template <class Adjoint>
Tensor record_solution(const Function& f, Tensor x, const Adjoint& adjoint) {
  if (context.observers == context.guard) return x;
  Parameters parameters;
  {
    Uses uses(std::span<const Tensor>(&x, 1));
    f(x);
    parameters = Parameters(std::move(uses));
  }
  return parameters.record(std::move(x), {}, [=](const Tensor& solution, const Tensor& g) {
    const auto linearized = std::make_shared<Linearized>(f, solution, parameters);
    return linearized->pull_back(adjoint(linearized, g), parameters);
  });
}

}  // namespace

Tensor fixed_point(const Function& f, const Tensor& x0, const ImplicitOptions& options) {
  check_solvable("fixed_point", x0);
  const double tolerance = tolerance_of(options, x0.dtype());
  Tensor x = x0.to_dense();
  double change = HUGE_VAL;
  int iterations = 0;
  {
    const PauseObservers pause;
    for (; !(change <= tolerance * (1 + largest_magnitude(x))); ++iterations) {
      CAPSTAN_CHECK(iterations < options.max_iterations, ValueError, "fixed_point: not converged after ", iterations,
                    " iterations; the last one changed x by ", change, ", the tolerance is ", tolerance,
                    help("f has to contract distances near the solution: mix f(x) with x, or start closer to it"));
      Tensor next = f(x);
      check_same_type("fixed_point", next, x);
      change = largest_magnitude(next - x);
      CAPSTAN_CHECK(std::isfinite(change), ValueError, "fixed_point: iteration ", iterations + 1,
                    " gives NaN or infinity");
      x = std::move(next);
    }
  }
  return record_solution(f, std::move(x), [options](const std::shared_ptr<Linearized>& linearized, const Tensor& g) {
    return fixed_point([linearized, g](const Tensor& u) { return g + linearized->pull_back(u); }, g, options);
  });
}

Tensor root(const Function& f, const Tensor& x0, const ImplicitOptions& options) {
  check_solvable("root", x0);
  const double tolerance = tolerance_of(options, x0.dtype());
  const std::int64_t n = x0.size();
  Tensor x = x0.to_dense();
  double step = HUGE_VAL;
  {
    const PauseObservers pause;
    for (int iterations = 0; n > 0 && !(step <= tolerance * (1 + largest_magnitude(x))); ++iterations) {
      CAPSTAN_CHECK(iterations < options.max_iterations, ValueError, "root: not converged after ", iterations,
                    " steps; the last one changed x by ", step, ", the tolerance is ", tolerance,
                    help("start closer to the root"));
      Linearized at(f, x, {});
      CAPSTAN_CHECK(at.value.has_value() && at.value.size() == n, ShapeError, "root: the function gives ",
                    at.value.has_value() ? at.value.size() : 0, " elements for ", n, arguments({{"x", x}}));
      const double residual = largest_magnitude(at.value);
      CAPSTAN_CHECK(std::isfinite(residual), ValueError, "root: step ", iterations, " leads to NaN or infinity");
      if (residual == 0) break;
      const Tensor direction = reshape_like(solve(at.jacobian(), reshape(-at.value, {n, 1})), x);
      double length = 1;
      Tensor next = x + direction;
      while (!(largest_magnitude(f(next)) <= residual) && length > 1e-6) {
        length /= 2;
        next = x + direction * length;
      }
      // As exact as rounding allows: no step, however small, improves on it.
      if (length <= 1e-6 && largest_magnitude(direction) <= 1e3 * tolerance * (1 + largest_magnitude(x))) break;
      step = length * largest_magnitude(direction);
      CAPSTAN_CHECK(std::isfinite(step), ValueError, "root: the Jacobian is singular at step ", iterations);
      x = std::move(next);
    }
  }
  return record_solution(f, std::move(x), [n](const std::shared_ptr<Linearized>& linearized, const Tensor& g) {
    return reshape_like(solve(linearized->jacobian(), reshape(-g, {n, 1}), true), linearized->value);
  });
}

}  // namespace capstan
