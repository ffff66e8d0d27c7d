// Solutions of ordinary differential equations, by the method of Dormand and Prince of order 5(4).
//
// J. R. Dormand, P. J. Prince, A family of embedded Runge-Kutta formulae, J. Comp. Appl. Math. 6 (1980). The state is a
// list of tensors, because the adjoint equation has several: y, its cotangent a with a' = -a^T df/dy, and one integral
// of -a^T df/dp for each parameter p; it runs from the last time to the first, takes up a cotangent at each, and begins
// every interval with the y of the forward pass, so that errors of its own do not grow. Steps are ops like any others:
// a tape that is not paused sees them, which is the direct gradient, and that of a gradient.
#include <algorithm>
#include <cmath>

#include "capstan/implicit.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/row_shape.h"
#include "src/transforms/equation.h"

namespace capstan {

namespace {

using EquationFunction = Equation::Function;
using State = std::vector<Tensor>;
using Field = std::function<State(double, const State&)>;

constexpr int kStages = 7;
constexpr double kTimes[kStages] = {0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1};
constexpr double kWeights[kStages][kStages - 1] = {
    {},
    {1. / 5},
    {3. / 40, 9. / 40},
    {44. / 45, -56. / 15, 32. / 9},
    {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
    {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
    {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}};  // the last stage is the result
// The result of order 5 less that of order 4.
constexpr double kErrors[kStages] = {71. / 57600, 0, -71. / 16695, 71. / 1920, -17253. / 339200, 22. / 525, -1. / 40};

Tensor weighted_sum(const std::vector<State>& slopes, std::size_t part, const double* weights, double h) {
  Tensor sum;
  for (std::size_t s = 0; s < slopes.size(); ++s) {
    if (weights[s] == 0) continue;
    const Tensor term = slopes[s][part] * (h * weights[s]);
    sum = sum.has_value() ? sum + term : term;
  }
  return sum;
}

// The root of the mean square of what each element is of what it may be.
double norm(const State& errors, const State& y, const State& next, const OdeOptions& options) {
  double sum = 0;
  double count = 0;
  for (std::size_t k = 0; k < errors.size(); ++k) {
    const Tensor allowed = options.absolute + options.relative * maximum(abs(y[k]), abs(next[k]));
    sum += reduce_sum(square(errors[k] / allowed)).item<double>();
    count += static_cast<double>(errors[k].size());
  }
  return count == 0 ? 0 : std::sqrt(sum / count);
}

// From one time to another. `h` is the length of the first step, or 0, and then that of the next.
State integrate(const Field& field, State y, double from, double to, double& h, const OdeOptions& options) {
  const double direction = to > from ? 1 : -1;
  std::vector<State> slopes = {field(from, y)};
  if (h == 0) {
    const PauseObservers pause;
    const double slope = norm(slopes[0], y, y, options);
    h = slope > 1e-5 ? 0.01 * std::max(norm(y, y, y, options), 1e-3) / slope : 1e-6;
    // A y of 0 says nothing of what y will be: a step that is too long is repeated.
    h = std::max(h, 1e-6 * std::abs(to - from));
  }
  double t = from;
  double length = std::min(std::abs(h), std::abs(to - from));
  for (int steps = 0; t != to; ++steps) {
    CAPSTAN_CHECK(steps < options.max_steps, ValueError, "odeint: more than ", options.max_steps,
                  " steps from t = ", from, " to ", to, ", and only at ", t,
                  help("the equation is stiff, or relative and absolute are too small for it"));
    const bool last = 1.001 * length >= std::abs(to - t);  // rather a little longer than a speck after it
    const double step = last ? to - t : direction * length;
    CAPSTAN_CHECK(std::abs(step) > 1e-15 * std::max(std::abs(from), std::abs(to)), ValueError,
                  "odeint: the steps become too small at t = ", t, help("the solution explodes or has a jump there"));
    slopes.resize(1);
    State next;
    for (int s = 1; s < kStages; ++s) {
      next.clear();
      for (std::size_t k = 0; k < y.size(); ++k) next.push_back(y[k] + weighted_sum(slopes, k, kWeights[s], step));
      slopes.push_back(field(t + kTimes[s] * step, next));
    }
    double error = 0;
    {
      const PauseObservers pause;
      State errors;
      for (std::size_t k = 0; k < y.size(); ++k) errors.push_back(weighted_sum(slopes, k, kErrors, step));
      error = norm(errors, y, next, options);
    }
    const double factor = std::isfinite(error) ? 0.9 * std::pow(std::max(error, 1e-10), -0.2) : 0.2;
    const bool accepted = error <= 1;  // false for NaN
    // A step that was cut to end at a time says nothing against longer ones.
    if (!accepted || !last) length *= std::clamp(factor, 0.2, 5.0);
    if (!accepted) {
      length = std::min(length, 0.9 * std::abs(step));
      continue;
    }
    t = last ? to : t + step;
    y = std::move(next);
    slopes[0] = std::move(slopes[kStages - 1]);
  }
  h = length;
  return y;
}

void check_times(const std::vector<double>& times) {
  CAPSTAN_CHECK(!times.empty(), ValueError, "odeint: there are no times");
  for (std::size_t i = 1; i < times.size(); ++i) {
    const bool moves = times[i] > times[i - 1] ? times[1] > times[0] : times[i] < times[i - 1] && times[1] < times[0];
    CAPSTAN_CHECK(moves, ValueError, "odeint: the times neither rise nor fall, ", times[i - 1], " and ", times[i],
                  " at ", i);
  }
}

class Odeint final : public Equation {
 public:
  Odeint(const std::vector<double>& times, const OdeOptions& options)
      : Equation(EquationKind::kOdeint, numbers_of(times, options)), times_(times), options_(options) {
    start_counts = needs_numbers = true;
    steps_count = options.gradient == OdeGradient::kDirect;
  }

  Shape shape_of(const Shape& start) const override {
    return stacked_shape(static_cast<std::int64_t>(times_.size()), start);
  }

  Tensor find(const EquationFunction& f, const Tensor& start) const override {
    const Field field = [&](double t, const State& y) {
      Tensor slope = slope_of(f, t, y[0]);
      check(slope, start);
      return State{std::move(slope)};
    };
    std::vector<Tensor> found = {start};
    double h = 0;
    for (std::size_t i = 1; i < times_.size(); ++i) {
      found.push_back(integrate(field, {found.back()}, times_[i - 1], times_[i], h, options_)[0]);
    }
    return stack(found);
  }

  std::vector<Tensor> gradients(const EquationFunction& f, const Parameters& parameters, const Tensor& solution,
                                const Tensor& g) const override {
    const Field field = [&](double t, const State& state) {
      const Tensor y = identity(state[0]);
      GradientTape tape({.persistent = false, .watch_accessed_variables = false});
      tape.watch(y);
      Tensor slope;
      {
        const AsBefore before(parameters.all_held, true);
        parameters.watch(tape);
        slope = slope_of(f, t, y);
      }
      State change = {slope};
      for (Tensor& gradient : parameters.gradients(tape, {slope}, {y}, {.output_gradients = {-state[1]}})) {
        const Tensor& like = state[change.size()];
        change.push_back(gradient.has_value() ? gradient.to_dense() : zeros_like(like));
      }
      return change;
    };
    const std::vector<Tensor> values = unstack(solution);
    const std::vector<Tensor> cotangents = unstack(g);
    State state = {values.back(), cotangents.back()};
    for (const Tensor& tensor : parameters.captured) state.push_back(zeros_like(tensor));
    for (const Held& held : parameters.held) state.push_back(zeros_like(held.value));
    double h = 0;
    for (std::size_t i = times_.size(); i-- > 1;) {
      state[0] = values[i];
      state = integrate(field, std::move(state), times_[i], times_[i - 1], h, options_);
      state[1] = state[1] + cotangents[i - 1];
    }
    return {state.begin() + 1, state.end()};
  }

 private:
  static std::vector<double> numbers_of(const std::vector<double>& times, const OdeOptions& options) {
    std::vector<double> numbers = {options.relative, options.absolute, static_cast<double>(options.max_steps),
                                   static_cast<double>(options.gradient)};
    numbers.insert(numbers.end(), times.begin(), times.end());
    return numbers;
  }
  static Tensor slope_of(const EquationFunction& f, double t, const Tensor& y) {
    const Tensor arguments[] = {scalar(t, y.dtype()), y};
    return f(arguments);
  }

  const std::vector<double> times_;
  const OdeOptions options_;
};

}  // namespace

Tensor odeint(const std::function<Tensor(const Tensor&, const Tensor&)>& f, const Tensor& y0,
              const std::vector<double>& times, const OdeOptions& given) {
  check_times(times);
  OdeOptions options = given;
  CAPSTAN_CHECK(options.relative >= 0 && options.absolute >= 0 && options.relative + options.absolute > 0, ValueError,
                "odeint: the errors allowed are relative ", options.relative, " and absolute ", options.absolute);
  if (y0.has_value() && y0.dtype() == DType::kFloat32) options.relative = std::max(options.relative, 1e-6);
  EquationFunction of_both;
  if (f != nullptr) of_both = [f](std::span<const Tensor> arguments) { return f(arguments[0], arguments[1]); };
  const DType dtype = y0.has_value() ? y0.dtype() : DType::kFloat64;
  return solution_of(std::make_shared<Odeint>(times, options), of_both, {scalar(times[0], dtype), y0});
}

}  // namespace capstan
