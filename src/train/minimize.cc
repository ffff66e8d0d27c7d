// L-BFGS with a search along lines for the strong conditions of Wolfe.
//
// The search first steps out until a minimum lies between two points, and then narrows that interval (Nocedal and
// Wright, "Numerical Optimization", chapter 3). Steps within the interval are minima of the cubic through both ends,
// kept away from the ends; every third one halves it, so that it ends.
#include "capstan/minimize.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>

#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"
#include "src/core/check.h"

namespace capstan {
namespace optimizers {

std::span<const OptionField> LBFGSOptions::fields() {
  using O = LBFGSOptions;
  static constexpr OptionField all[] = {option<&O::max_iterations>("max_iterations").at_least(0),
                                        option<&O::gradient_tolerance>("gradient_tolerance").at_least(0),
                                        option<&O::memory>("memory").at_least(1),
                                        option<&O::decrease>("decrease").above(0),
                                        option<&O::curvature>("curvature").above(0),
                                        option<&O::max_line_evaluations>("max_line_evaluations").at_least(1)};
  return all;
}

namespace {

using Function = std::function<Tensor(const Tensor& x)>;

double dot(const Tensor& a, const Tensor& b) { return cast(reduce_sum(a * b), float64).item<double>(); }
double largest(const Tensor& x) { return x.size() == 0 ? 0 : cast(reduce_max(abs(x)), float64).item<double>(); }

// The function with its gradient.
struct Place {
  Tensor x, gradient;
  double value = 0;
};

struct Objective {
  const Function& f;
  int evaluations = 0;

  Place at(const Tensor& x) {
    ++evaluations;
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    CAPSTAN_CHECK(y.has_value() && y.shape().rank() == 0, ShapeError, "minimize: the function must give a scalar, not ",
                  y.has_value() ? y.shape() : Shape{0});
    CAPSTAN_CHECK(y.dtype() == x.dtype(), DTypeError, "minimize: x is ", x.dtype(), ", the function gives ", y.dtype());
    const Tensor gradient = tape.gradient(y, x);
    CAPSTAN_CHECK(gradient.has_value(), ValueError, "minimize: the function has no gradient for x",
                  help("tape.explain(y, x) says why"));
    return {x, gradient.to_dense(), cast(y, float64).item<double>()};
  }
};

bool is_finite_place(const Place& place) {
  return std::isfinite(place.value) && reduce_all(is_finite(place.gradient)).item<bool>();
}

// A point of a line.
struct Trial {
  double a = 0, value = 0, slope = 0;
  Place place;
  bool is_finite() const { return std::isfinite(value) && std::isfinite(slope); }
};

class LineSearch {
 public:
  LineSearch(Objective& objective, const LBFGSOptions& options, const Place& from, const Tensor& direction)
      : objective_(objective), options_(options), direction_(direction) {
    begin_ = {0, from.value, dot(from.gradient, direction), from};
    const double epsilon = from.x.dtype() == DType::kFloat64 ? std::numeric_limits<double>::epsilon()
                                                             : double{std::numeric_limits<float>::epsilon()};
    rounding_ = 10 * epsilon * std::abs(from.value);
  }

  // None if there is no lower value. Throws ValueError if no point tried has a finite value.
  std::optional<Trial> run(double first) {
    Trial before = begin_;
    double a = first, limit = std::numeric_limits<double>::infinity();
    while (left_ > 0) {
      const Trial now = at(a);
      if (!now.is_finite()) {
        limit = a;
        a = (before.a + a) / 2;
        continue;
      }
      if (is_good(now)) return now;
      if (is_too_high(now) || (before.a > 0 && now.value >= before.value)) return between(before, now);
      if (now.slope >= 0) return between(now, before);
      const double next = beyond(before, now);
      before = now;
      a = next < limit ? next : (now.a + limit) / 2;
    }
    return lower(before);
  }

 private:
  Trial at(double a) {
    --left_;
    Place place = objective_.at(begin_.place.x + direction_ * a);
    CAPSTAN_CHECK(place.value != -std::numeric_limits<double>::infinity(), ValueError,
                  "minimize: the function falls to minus infinity");
    // One that is not finite has no slope, even where the direction is zero.
    const double slope =
        is_finite_place(place) ? dot(place.gradient, direction_) : std::numeric_limits<double>::quiet_NaN();
    const double value = place.value;
    Trial trial{a, value, slope, std::move(place)};
    has_finite_ = has_finite_ || trial.is_finite();
    return trial;
  }

  bool is_too_high(const Trial& t) const { return !(t.value <= begin_.value + options_.decrease * t.a * begin_.slope); }

  bool is_good(const Trial& t) const {
    if (!(std::abs(t.slope) <= -options_.curvature * begin_.slope)) return false;
    const bool is_rounding =
        t.value <= begin_.value + rounding_ && t.slope <= (2 * options_.decrease - 1) * begin_.slope;
    return !is_too_high(t) || is_rounding;
  }

  // Where the slope would be zero if it went on changing as it did; further than the last, but not by far.
  static double beyond(const Trial& before, const Trial& now) {
    const double width = now.a - before.a;
    const double zero = now.a + width * now.slope / (before.slope - now.slope);
    const double farthest = now.a + 9 * width;
    return before.slope < now.slope ? std::clamp(zero, now.a + 0.1 * width, farthest) : farthest;
  }

  // The minimum of the cubic with these values and slopes.
  static double inside(const Trial& low, const Trial& high) {
    const double width = high.a - low.a;
    const double d1 = low.slope + high.slope - 3 * (high.value - low.value) / width;
    const double square = d1 * d1 - low.slope * high.slope;
    const double d2 = std::copysign(std::sqrt(square), width);
    const double part = 1 - (high.slope + d2 - d1) / (high.slope - low.slope + 2 * d2);
    if (!std::isfinite(part)) return low.a + width / 2;
    return low.a + width * std::clamp(part, 0.02, 0.98);
  }

  // `low` has the lowest value of all that are low enough, and its slope goes down towards `high`.
  std::optional<Trial> between(Trial low, Trial high) {
    for (int count = 1; left_ > 0; ++count) {
      const double a = count % 3 == 0 ? (low.a + high.a) / 2 : inside(low, high);
      if (a == low.a || a == high.a) break;
      Trial now = at(a);
      if (now.is_finite() && is_good(now)) return now;
      if (!now.is_finite() || is_too_high(now) || now.value >= low.value) {
        high = std::move(now);
        continue;
      }
      if (now.slope * (high.a - low.a) >= 0) high = std::move(low);
      low = std::move(now);
    }
    return lower(low);
  }

  std::optional<Trial> lower(const Trial& best) const {
    CAPSTAN_CHECK(has_finite_, ValueError,
                  "minimize: the function or its gradient is NaN or infinite at all points tried along a line");
    return best.a > 0 && best.value < begin_.value ? std::optional(best) : std::nullopt;
  }

  Objective& objective_;
  const LBFGSOptions& options_;
  const Tensor& direction_;
  Trial begin_;
  double rounding_;
  int left_ = options_.max_line_evaluations;
  bool has_finite_ = false;
};

// A step, and how the gradient changed with it.
struct Pair {
  Tensor step, change;
  double product;
};

// The gradient times the estimated inverse of the second derivatives, downwards.
Tensor direction_of(const std::deque<Pair>& pairs, const Tensor& gradient) {
  Tensor d = -gradient;
  std::vector<double> parts(pairs.size());
  for (std::size_t i = pairs.size(); i-- > 0;) {
    parts[i] = dot(pairs[i].step, d) / pairs[i].product;
    d = d - pairs[i].change * parts[i];
  }
  if (!pairs.empty()) d = d * (pairs.back().product / dot(pairs.back().change, pairs.back().change));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    d = d + pairs[i].step * (parts[i] - dot(pairs[i].change, d) / pairs[i].product);
  }
  return d;
}

}  // namespace

LBFGS::LBFGS(const LBFGSOptions& options) : options_(options) {
  const ClassInfo info{"minimizer", "", "LBFGS", "", LBFGSOptions::fields};
  check_options(info, &options_);
  CAPSTAN_CHECK(options.decrease < options.curvature && options.curvature < 1, ValueError,
                "LBFGS: decrease must be less than curvature, and that less than 1, but they are ", options.decrease,
                " and ", options.curvature);
}

Minimum LBFGS::minimize(const Function& f, const Tensor& x0) const {
  CAPSTAN_CHECK(x0.has_value() && (x0.dtype() == DType::kFloat32 || x0.dtype() == DType::kFloat64), DTypeError,
                "minimize: x0 must be float32 or float64");
  Objective objective{f};
  Place here = objective.at(x0);
  CAPSTAN_CHECK(std::isfinite(here.value), ValueError, "minimize: the function is ", here.value, " at the start");
  CAPSTAN_CHECK(is_finite_place(here), ValueError, "minimize: the gradient is NaN or infinite at the start");
  std::deque<Pair> pairs;
  int iterations = 0;
  const auto result = [&](MinimizeEnd end) {
    return Minimum{here.x, here.gradient, here.value, iterations, objective.evaluations, end};
  };
  while (largest(here.gradient) > options_.gradient_tolerance) {
    if (iterations == options_.max_iterations) return result(MinimizeEnd::kIterationLimit);
    ++iterations;
    Tensor direction = direction_of(pairs, here.gradient);
    // Rounding can turn it.
    if (!(dot(direction, here.gradient) < 0)) {
      pairs.clear();
      direction = -here.gradient;
    }
    const double first = pairs.empty() ? std::min(1.0, 1 / largest(here.gradient)) : 1.0;
    std::optional<Trial> next = LineSearch(objective, options_, here, direction).run(first);
    if (!next) {
      if (pairs.empty()) return result(MinimizeEnd::kNoProgress);
      pairs.clear();  // once more along the gradient
      continue;
    }
    Pair pair{next->place.x - here.x, next->place.gradient - here.gradient, 0};
    pair.product = dot(pair.step, pair.change);
    here = std::move(next->place);
    if (!(pair.product > 0) || !std::isfinite(1 / pair.product)) continue;
    pairs.push_back(std::move(pair));
    if (pairs.size() > static_cast<std::size_t>(options_.memory)) pairs.pop_front();
  }
  return result(MinimizeEnd::kConverged);
}

}  // namespace optimizers

Minimum minimize(const std::function<Tensor(const Tensor& x)>& f, const Tensor& x0,
                 const optimizers::LBFGSOptions& options) {
  return optimizers::LBFGS(options).minimize(f, x0);
}

}  // namespace capstan
