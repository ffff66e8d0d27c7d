#include "tests/nested/reference.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "tests/nested/jet.h"
#include "tests/nested/scope.h"

namespace capstan::nested {
namespace {

using Names = Scope<Jet>;

constexpr double kBound = 1e5;    // of every coefficient
constexpr double kMargin = 1e-4;  // from the border of a condition
constexpr int kIterations = 60;   // of a fixed point, to see where they lead
constexpr double kAround = 0.1;   // how far beside the way to a solution slopes are looked at
constexpr int kSamples = 8;
constexpr int kOdeSteps = 6;
constexpr double kOdeError = 1e-8;   // of half as many steps: 32 times that of the steps
constexpr double kSteepest = 0.6;    // of the slope of what a fixed point iterates
constexpr int kMostSteps = 400'000;  // products of coefficients, about
constexpr int kMostInfinitesimals = 9;

Names with_table(Names names, int table, const std::vector<Jet>& values) {
  for (int i = 0; i < kTableSize; ++i) names = names.with(table + i, values[static_cast<std::size_t>(i)]);
  return names;
}

class Evaluator {
 public:
  // Infinitesimals from `used` on are free.
  explicit Evaluator(int used) : used_(used) {}

  Jet operator()(const Expression& e, const Names& names) {
    const Jet result = evaluate(*e, names);
    steps_ += 1 << used_;
    if (steps_ > kMostSteps) throw Unsuitable("too long");
    if (!result.is_finite_and_below(kBound)) throw Unsuitable("too large");
    return result;
  }

 private:
  int used_;
  std::int64_t steps_ = 0;
  std::vector<int> choices_;  // that conditions have made

  // The derivative of f(names) by the value of a name. `found` becomes true if they are connected.
  template <class F>
  Jet derivative(const Names& names, int name, const F& f, const Jet& factor = Jet(1), bool* found = nullptr) {
    if (used_ >= kMostInfinitesimals) throw Unsuitable("too many derivatives");
    const int i = used_++;
    const Jet inner = f(names.with(name, *names.find(name) + factor * Jet::infinitesimal(i)));
    --used_;
    return inner.derivative(i, found);
  }

  Jet call(const Body& body, const Names& names, const std::vector<Jet>& arguments) {
    Names inner = names;
    for (std::size_t i = 0; i < arguments.size(); ++i) inner = inner.with(body.parameters[i], arguments[i]);
    return (*this)(body.result, inner);
  }

  std::vector<Jet> operands(const Node& node, const Names& names, std::size_t first = 0) {
    std::vector<Jet> values;
    for (std::size_t i = first; i < node.operands.size(); ++i) values.push_back((*this)(node.operands[i], names));
    return values;
  }

  // The derivatives by the elements of a table, or by the one value of another name.
  template <class F>
  std::vector<Jet> derivatives(const Names& names, int name, const F& f, bool* found = nullptr) {
    std::vector<Jet> all;
    for (int i = 0; i < length_of(name); ++i) all.push_back(derivative(names, name + i, f, Jet(1), found));
    return all;
  }

  static Jet weighted(const std::vector<Jet>& values, std::span<const double> weights) {
    Jet sum(0);
    for (std::size_t i = 0; i < values.size(); ++i) sum = sum + Jet(weights[i]) * values[i];
    return sum;
  }
  static Jet sum_of(const std::vector<Jet>& values) {
    Jet sum = values[0];
    for (std::size_t i = 1; i < values.size(); ++i) sum = sum + values[i];
    return sum;
  }

  Jet evaluate(const Node& node, const Names& names) {
    const auto operand = [&](std::size_t i) { return (*this)(node.operands[i], names); };
    switch (node.op) {
      case Op::kNumber:
        return Jet(node.number);
      case Op::kRef:
        return *names.find(node.name);
      case Op::kElement:
        return *names.find(node.name + node.index[0]);
      case Op::kGatherSum: {
        const Jet one = sin(*names.find(node.name + node.index[0]));
        return one + sin(*names.find(node.name + node.index[1])) + one;
      }
      case Op::kStopGradient:
        return Jet(operand(0).value());
      case Op::kSin:
        return sin(operand(0));
      case Op::kCos:
        return cos(operand(0));
      case Op::kTanh:
        return tanh(operand(0));
      case Op::kSigmoid:
        return sigmoid(operand(0));
      case Op::kAdd:
        return operand(0) + operand(1);
      case Op::kSubtract:
        return operand(0) - operand(1);
      case Op::kMultiply:
        return operand(0) * operand(1);
      case Op::kDivide: {
        const Jet a = operand(0);
        const Jet b = operand(1);
        return a * reciprocal(Jet(1.5) + b * b);
      }
      case Op::kLet:
      case Op::kFunction:
      case Op::kRecomputeGrad:
        return call(node.bodies[0], names, operands(node, names));
      case Op::kLetRows: {
        const auto f = [&](const Names& at) { return (*this)(node.bodies[0].result, at); };
        return (*this)(node.bodies[1].result,
                       with_table(names, node.bodies[1].parameters[0], derivatives(names, node.name, f)));
      }
      case Op::kCond: {
        const double value = operand(0).value();
        check_margin(value - node.number);
        return call(node.bodies[chosen(value > node.number ? 0 : 1)], names, {});
      }
      case Op::kSwitchCase: {
        const double at = 2 * operand(0).value() + 1;
        check_margin(at - std::round(at));
        const auto count = node.bodies.size();
        const bool is_last = at < 0 || at >= static_cast<double>(count);
        return call(node.bodies[chosen(is_last ? count - 1 : static_cast<std::size_t>(at))], names, {});
      }
      case Op::kWhileLoop: {
        Jet c = operand(0);
        int i = 0;
        for (;; ++i) {
          // At the end as well, since the loop asks for both: an equation in the condition has to have a solution
          // there.
          const double value = call(node.bodies[1], names, {c}).value();
          if (i == node.index[0]) break;
          check_margin(value - node.number);
          if (value >= node.number) break;
          c = call(node.bodies[0], names, {c});
        }
        chosen(static_cast<std::size_t>(i));
        return c;
      }
      case Op::kScan:
      case Op::kFoldl: {
        Jet c = operand(0);
        const std::vector<Jet> rows = operands(node, names, 1);
        std::vector<Jet> results(rows.size());
        const bool reverse = node.op == Op::kScan && node.has(kReverse);
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const std::size_t row = reverse ? rows.size() - 1 - i : i;
          results[row] = c = call(node.bodies[0], names, {c, rows[row]});
        }
        return node.op == Op::kScan ? weighted(results, kRowWeights) : c;
      }
      case Op::kMapFn:
      case Op::kVectorizedMap: {
        std::vector<Jet> results;
        for (const Jet& row : operands(node, names)) results.push_back(call(node.bodies[0], names, {row}));
        return weighted(results, kRowWeights);
      }
      default:
        return is_derivative(node.op) ? evaluate_derivative(node, names) : evaluate_equation(node, names);
    }
  }

  static bool is_derivative(Op op) {
    return op == Op::kTape || op == Op::kAccumulator || op == Op::kPerExampleGradients || op == Op::kJacobian ||
           op == Op::kHessian;
  }

  Jet evaluate_derivative(const Node& node, const Names& names) {
    const Body& body = node.bodies[0];
    const auto f = [&](const Names& at) { return (*this)(body.result, at); };
    switch (node.op) {
      case Op::kTape: {
        if (!body.parameters.empty()) {
          return derivative(names.with(body.parameters[0], (*this)(node.operands[0], names)), body.parameters[0], f);
        }
        const std::vector<Jet> all = derivatives(names, node.name, f);
        return is_table(node.name) && !node.has(kSum) ? weighted(all, kTableWeights) : sum_of(all);
      }
      case Op::kAccumulator: {
        const Jet tangent = (*this)(node.operands[0], names);
        if (!body.parameters.empty()) {
          return derivative(names.with(body.parameters[0], (*this)(node.operands[1], names)), body.parameters[0], f,
                            tangent);
        }
        bool found = false;
        const std::vector<Jet> all = derivatives(names, node.name, f, &found);
        if (!found) return Jet(0);
        return tangent * (is_table(node.name) ? weighted(all, kTableWeights) : all[0]);
      }
      case Op::kPerExampleGradients: {
        std::vector<Jet> results;
        for (const Jet& row : operands(node, names)) {
          const std::vector<Jet> all = derivatives(names.with(body.parameters[0], row), node.name, f);
          results.push_back(is_table(node.name) ? weighted(all, kTableWeights) : all[0]);
        }
        return weighted(results, kRowWeights);
      }
      case Op::kJacobian: {
        if (node.has(kOfRows)) return sum_of(derivatives(names, node.name, f));
        Jet sum(0);
        for (std::size_t row = 0; row < node.bodies.size(); ++row) {
          const auto one = [&](const Names& at) { return (*this)(node.bodies[row].result, at); };
          Names at = names;
          std::vector<Jet> all;
          if (body.parameters.empty()) {
            all = derivatives(at, node.name, one);
          } else {
            for (std::size_t i = 0; i < 2; ++i) at = at.with(body.parameters[i], (*this)(node.operands[i], names));
            for (std::size_t i = 0; i < 2; ++i) all.push_back(derivative(at, body.parameters[i], one));
          }
          sum = sum + Jet(kRowWeights[row]) * weighted(all, kTableWeights);
        }
        return sum;
      }
      default: {  // hessian
        Names at = names;
        for (std::size_t i = 0; i < 2; ++i) at = at.with(body.parameters[i], (*this)(node.operands[i], names));
        Jet sum(0);
        for (std::size_t i = 0; i < 2; ++i) {
          for (std::size_t j = 0; j < 2; ++j) {
            // Row i is the derivative of element i of the gradient.
            const auto first = [&](const Names& outer) { return derivative(outer, body.parameters[i], f); };
            sum = sum + Jet(kRowWeights[i] * kTableWeights[j]) * derivative(at, body.parameters[j], first);
          }
        }
        return sum;
      }
    }
  }

  Jet evaluate_equation(const Node& node, const Names& names) {
    const Body& body = node.bodies[0];
    const Jet begin = (*this)(node.operands[0], names);
    switch (node.op) {
      case Op::kCustomGradient: {
        const auto f = [&](const auto& self, const Jet& at, bool with_slope) -> std::pair<Jet, Jet> {
          const auto again = [&](const Jet& inner, bool slope) { return self(self, inner, slope); };
          return {at.is_plain() ? call(body, names, {at}) : compose(at, again),
                  with_slope ? call(node.bodies[1], names, {at}) : Jet(0)};
        };
        return compose(begin, [&](const Jet& at, bool with_slope) { return f(f, at, with_slope); });
      }
      case Op::kFixedPoint: {
        const auto next = [&](const Names& at) { return Jet(0.3) * tanh((*this)(body.result, at)); };
        // Where a condition changes there is a jump, and another solution may lie behind it.
        const std::size_t before = choices_.size();
        std::vector<int> choices;
        double x = begin.value();
        for (int i = 0; i < kIterations; ++i) {
          choices_.resize(before);
          const double last = x;
          x = next(names.with(body.parameters[0], Jet(x))).value();
          const std::vector<int> made(choices_.begin() + static_cast<std::ptrdiff_t>(before), choices_.end());
          if (i == 0) choices = made;
          if (made != choices) throw Unsuitable("a jump in an equation");
          if (std::fabs(x - last) < 1e-14) break;
        }
        choices_.resize(before);
        const auto rest = [&](const Names& at) { return *at.find(body.parameters[0]) - next(at); };
        return solve(names, body.parameters[0], x, rest, [&](double slope) {
          if (std::fabs(1 - slope) > kSteepest) throw Unsuitable("not contracting");
        });
      }
      case Op::kRoot: {
        const auto rest = [&](const Names& at) {
          const Jet& x = *at.find(body.parameters[0]);
          return Jet(1.5) * x + Jet(0.2) * x * x * x - Jet(0.4) * sin((*this)(body.result, at));
        };
        return solve(names, body.parameters[0], begin.value(), rest, [&](double slope) {
          if (slope < 0.7) throw Unsuitable("more than one root");
        });
      }
      default: {  // odeint
        // Where a condition changes, the equation has a jump, and no method is exact.
        const std::size_t before = choices_.size();
        std::optional<std::vector<int>> choices;
        const auto f = [&](const Jet& t, const Jet& y) {
          choices_.resize(before);
          const Jet slope = Jet(0.5) * sin(call(body, names, {t, y}));
          const std::vector<int> made(choices_.begin() + static_cast<std::ptrdiff_t>(before), choices_.end());
          if (!choices) choices = made;
          if (made != *choices) throw Unsuitable("a jump in an equation");
          return slope;
        };
        const Jet middle = integrate_surely(f, begin, 0, kOdeEnd / 2);
        const Jet end = integrate_surely(f, middle, kOdeEnd / 2, kOdeEnd);
        return node.has(kTwoTimes) ? middle - end : end;
      }
    }
  }

  // The x at which rest(x) is zero, by Newton's method with the slope of the values: each step is right for one more
  // infinitesimal once the value is.
  template <class F, class Check>
  Jet solve(const Names& names, int name, double begin, const F& rest, const Check& check) {
    double x = begin;
    double slope = 1;
    int step = 0;
    for (double change = 1; std::fabs(change) > 1e-15 * (1 + std::fabs(x)); ++step) {
      if (step == 40) {
        if (std::fabs(change) > 1e-13) throw Unsuitable("no solution");
        break;
      }
      const Names at = names.with(name, Jet(x));
      slope = derivative(at, name, rest).value();
      check(slope);
      change = rest(at).value() / slope;
      x -= change;
    }
    // Around the way from the beginning to the solution as well: another method goes another way.
    const double low = std::min(begin, x) - kAround, high = std::max(begin, x) + kAround;
    for (int i = 0; i <= kSamples; ++i) {
      const Names at = names.with(name, Jet(low + (high - low) * i / kSamples));
      check(derivative(at, name, rest).value());
    }
    Jet solution(x);
    for (int i = 0; i <= used_; ++i) solution = solution - Jet(1 / slope) * rest(names.with(name, solution));
    return solution;
  }

  // The method of Dormand and Prince, of order 5.
  template <class F>
  static Jet integrate(const F& f, Jet y, double from, double to, int steps) {
    constexpr double kTimes[] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1};
    constexpr double kFactors[6][5] = {{},
                                       {1.0 / 5},
                                       {3.0 / 40, 9.0 / 40},
                                       {44.0 / 45, -56.0 / 15, 32.0 / 9},
                                       {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
                                       {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656}};
    constexpr double kResult[] = {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84};
    const double h = (to - from) / steps;
    for (int step = 0; step < steps; ++step) {
      std::vector<Jet> slopes;
      for (int stage = 0; stage < 6; ++stage) {
        Jet at = y;
        for (int i = 0; i < stage; ++i) at = at + Jet(h * kFactors[stage][i]) * slopes[static_cast<std::size_t>(i)];
        slopes.push_back(f(Jet(from + h * (step + kTimes[stage])), at));
      }
      for (int i = 0; i < 6; ++i) {
        if (kResult[i] != 0) y = y + Jet(h * kResult[i]) * slopes[static_cast<std::size_t>(i)];
      }
    }
    return y;
  }

  // The same if its error, which half as many steps show, is too small to be seen.
  template <class F>
  Jet integrate_surely(const F& f, const Jet& y, double from, double to) {
    const Jet rough = integrate(f, y, from, to, kOdeSteps / 2);
    Jet end = integrate(f, y, from, to, kOdeSteps);
    for (unsigned bits = 0; bits < 1U << static_cast<unsigned>(used_); ++bits) {
      const double value = end.coefficient(bits);
      if (std::fabs(value - rough.coefficient(bits)) > kOdeError * (1 + std::fabs(value)))
        throw Unsuitable("too steep");
    }
    return end;
  }

  std::size_t chosen(std::size_t branch) {
    choices_.push_back(static_cast<int>(branch));
    return branch;
  }

  static void check_margin(double distance) {
    if (std::fabs(distance) < kMargin) throw Unsuitable("close to a border");
  }
};

Names names_of(const std::array<double, kCoordinates>& leaves) {
  Names names;
  for (int i = 0; i < kCoordinates; ++i) names = names.with(i, Jet(leaves[static_cast<std::size_t>(i)]));
  return names;
}

}  // namespace

double plain_value(const Program& program, const std::array<double, kCoordinates>& leaves) {
  return Evaluator(0)(program.root, names_of(leaves)).value();
}

Expected evaluate_plainly(const Program& program, const std::array<double, kCoordinates>& direction) {
  constexpr int kOuter = 0;
  constexpr int kInner = 1;
  constexpr unsigned kBoth = 3;
  Expected expected;
  // Infinitesimal `one` belongs to leaf `of`, the other one to the direction.
  const auto run = [&](int of, int one, int other) {
    Names names;
    for (int i = 0; i < kCoordinates; ++i) {
      const auto at = static_cast<std::size_t>(i);
      Jet leaf = Jet(program.leaves[at]) + Jet::infinitesimal(other, direction[at]);
      if (i == of) leaf = leaf + Jet::infinitesimal(one);
      names = names.with(i, leaf);
    }
    return Evaluator(2)(program.root, names);
  };
  expected.value = plain_value(program, program.leaves);
  for (int source : leaves_of(program.root)) {
    for (int i = source; i < source + length_of(source); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Jet inner_direction = run(i, kOuter, kInner);
      const Jet outer_direction = uses(program.root, Op::kCustomGradient) ? run(i, kInner, kOuter) : inner_direction;
      const auto coefficient = [](const Jet& y, unsigned bits) {
        return Derivative{y.coefficient(bits), y.is_present(bits)};
      };
      expected.gradient[at] = coefficient(inner_direction, 1u << kOuter);
      expected.along = coefficient(inner_direction, 1u << kInner);
      expected.of_along[at] = coefficient(inner_direction, kBoth);
      expected.along_gradient[at] = coefficient(outer_direction, kBoth);
    }
  }
  return expected;
}

}  // namespace capstan::nested
