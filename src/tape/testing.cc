// Gradients against central differences.
//
// The function is made scalar by fixed random weights, one per element of its result: L(x) = sum of
// f(x) * w. The tape's gradient of L is compared with a difference quotient of fourth order. For
// the second order the same comparison is made for D(x, w) = sum of dL/dx * v with fixed random v;
// as D is linear in w, its gradient for w also tests J v.
//
// No step size suits every function: a large one leaves the smooth neighbourhood of x, a small one
// drowns in rounding. An entry is right if the quotient agrees for one of several steps.
#include "capstan/testing.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <sstream>
#include <string>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"
#include "src/core/check.h"
#include "src/core/context.h"

namespace capstan {

namespace {

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

constexpr double kSteps[] = {1e-3, 1e-4, 1e-5, 1e-2};

// Numbers in [-1, 1], the same in each run. Not the library's own draws: their state belongs to the
// program.
class Numbers {
 public:
  double next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
  }
  std::vector<double> list(std::int64_t count) {
    std::vector<double> numbers(static_cast<std::size_t>(count));
    for (double& number : numbers) number = next();
    return numbers;
  }

 private:
  std::uint64_t state_ = 1;
};

// The numbers of a tensor; a complex one is a pair of them, so that the gradient's is that of both parts.
std::vector<double> numbers_of(const Tensor& x) {
  if (!is_complex(x.dtype())) return x.to_dense().to_vector<double>();
  std::vector<double> numbers;
  for (const std::complex<double>& z : x.to_dense().to_vector<std::complex<double>>()) {
    numbers.push_back(z.real());
    numbers.push_back(z.imag());
  }
  return numbers;
}
std::int64_t count_numbers(const Tensor& x) { return is_complex(x.dtype()) ? 2 * x.size() : x.size(); }
Tensor tensor_of(const std::vector<double>& numbers, const Tensor& like) {
  if (!is_complex(like.dtype())) return constant(numbers, like.shape());
  std::vector<std::complex<double>> values;
  for (std::size_t i = 0; i < numbers.size(); i += 2) values.emplace_back(numbers[i], numbers[i + 1]);
  return constant(values, like.shape());
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

std::string entry_name(const Tensor& x, std::int64_t i) {
  const Shape shape = x.shape();
  std::string text;
  std::string_view part;
  if (is_complex(x.dtype())) {
    part = i % 2 == 0 ? ", the real part," : ", the imaginary part,";
    i /= 2;
  }
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text.insert(0, std::to_string(i % shape[axis]) + (text.empty() ? "" : ", "));
    i /= shape[axis];
  }
  return "[" + text + "]" + std::string(part);
}

// A scalar function of tensors, with its gradient by a tape and by differences.
struct Check {
  const Function& f;
  const std::vector<Tensor>& inputs;
  double tolerance;
  const char* order;

  double value(const std::vector<Tensor>& at) const { return f(at).item<double>(); }

  // (d/dt) f(inputs + t * direction for input `which`), by a stencil of fourth order.
  double quotient(std::size_t which, const std::vector<double>& direction, double step) const {
    const std::vector<double> center = numbers_of(inputs[which]);
    const auto moved = [&](double t) {
      std::vector<double> values = center;
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += t * direction[i];
      std::vector<Tensor> at = inputs;
      at[which] = tensor_of(values, inputs[which]);
      return value(at);
    };
    return (8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (12 * step);
  }

  // Compares along one direction. `largest` and `size` say how large gradients and the value are,
  // for the smallest difference that means anything.
  void compare(std::size_t which, const std::vector<double>& direction, double by_tape, double largest, double size,
               const std::string& where) const {
    double best = 0;
    double best_error = HUGE_VAL;
    for (const double step : kSteps) {
      const double by_difference = quotient(which, direction, step);
      const double error = std::abs(by_difference - by_tape);
      const double allowed = tolerance * std::max({std::abs(by_difference), std::abs(by_tape), 0.01 * largest}) +
                             64 * 0x1p-52 * size / step;
      if (error <= allowed) return;
      if (!(error >= best_error)) {
        best = by_difference;
        best_error = error;
      }
    }
    std::ostringstream text;
    text.precision(12);
    text << "check_gradients: the gradient" << order << " of input " << which << " " << where << " is " << by_tape
         << ", by differences " << best;
    for (std::size_t i = 0; i < inputs.size(); ++i) text << "\n  input " << i << ": " << describe(inputs[i]);
    throw GradientError(text.str());
  }

  void run(int directions) const {
    GradientTape tape;
    tape.watch(inputs);
    const Tensor result = f(inputs);
    const std::vector<Tensor> gradients = tape.gradient(result, inputs);
    const double size = std::max(1.0, std::abs(result.item<double>()));
    Numbers numbers;
    for (std::size_t which = 0; which < inputs.size(); ++which) {
      const std::int64_t count = count_numbers(inputs[which]);
      std::vector<double> by_tape(static_cast<std::size_t>(count), 0.0);
      if (gradients[which].has_value()) {
        CAPSTAN_CHECK(
            gradients[which].shape() == inputs[which].shape() && gradients[which].dtype() == inputs[which].dtype(),
            GradientError, "check_gradients: the gradient", order, " of input ", which, " is ",
            describe(gradients[which]), ", the input ", describe(inputs[which]));
        by_tape = numbers_of(gradients[which]);
      }
      double largest = 0;
      for (const double entry : by_tape) largest = std::max(largest, std::abs(entry));
      if (count > 0 && directions > 0) {
        for (int i = 0; i < directions; ++i) {
          const std::vector<double> direction = numbers.list(count);
          compare(which, direction, dot(by_tape, direction), largest, size, "in direction " + std::to_string(i));
        }
        continue;
      }
      std::vector<double> direction(static_cast<std::size_t>(count), 0.0);
      for (std::int64_t i = 0; i < count; ++i) {
        direction[static_cast<std::size_t>(i)] = 1;
        compare(which, direction, by_tape[static_cast<std::size_t>(i)], largest, size,
                "at " + entry_name(inputs[which], i));
        direction[static_cast<std::size_t>(i)] = 0;
      }
    }
  }
};

Tensor weighted_sum(const Tensor& x, const Tensor& weights) { return real(reduce_sum(x * conj(weights))); }

}  // namespace

void check_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& inputs,
                     const GradientCheckOptions& options) {
  CAPSTAN_CHECK(options.order == 1 || options.order == 2, ValueError, "check_gradients: the order must be 1 or 2, not ",
                options.order);
  for (const Tensor& input : inputs) {
    CAPSTAN_CHECK(input.has_value(), ValueError, "check_gradients: an input is an empty tensor");
    CAPSTAN_CHECK(input.dtype() == float64 || input.dtype() == complex128, DTypeError,
                  "check_gradients: inputs must be float64 or complex128, not ", input.dtype(),
                  help("convert them with cast(x, float64)"));
  }
  const PauseObservers pause;
  const Tensor result = f(inputs);
  CAPSTAN_CHECK(result.has_value(), ValueError, "check_gradients: the function returned an empty tensor");
  CAPSTAN_CHECK(result.dtype() == float64 || result.dtype() == complex128, DTypeError,
                "check_gradients: the function must return float64 or complex128, not ", result.dtype());
  Numbers numbers;
  const Tensor weights = tensor_of(numbers.list(count_numbers(result)), result);
  const Function scalar = [&](const std::vector<Tensor>& at) { return weighted_sum(f(at), weights); };
  Check{scalar, inputs, options.first_order, ""}.run(options.directions);
  if (options.order == 1) return;

  std::vector<Tensor> tangents;
  for (const Tensor& input : inputs) tangents.push_back(tensor_of(numbers.list(count_numbers(input)), input));
  const Function derivative = [&](const std::vector<Tensor>& at) {
    const std::vector<Tensor> x(at.begin(), at.end() - 1);
    GradientTape tape;
    tape.watch(x);
    const std::vector<Tensor> gradients = tape.gradient(weighted_sum(f(x), at.back()), x);
    Tensor sum = constant(0.0, float64);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].has_value()) sum = sum + weighted_sum(gradients[i], tangents[i]);
    }
    return sum;
  };
  std::vector<Tensor> all = inputs;
  all.push_back(weights);
  Check{derivative, all, options.second_order, " of second order"}.run(options.directions);
}

}  // namespace capstan
