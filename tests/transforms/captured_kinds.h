// Every way in which the library calls a function of the user's on tensors, with what it gives in plain numbers.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "capstan/capstan.h"

namespace capstan::testing {

using Map = std::function<Tensor(const Tensor&)>;  // of a float64 scalar
using Plain = std::function<double(double)>;

// g inside of something, applied to a scalar; and the same in numbers.
struct Nesting {
  std::string name;
  std::function<Tensor(const Map& g, const Tensor& e)> tensors;
  std::function<double(const Plain& g, double e)> numbers;
};

inline std::vector<Nesting> nestings() {
  const auto same = [](const Plain& g, double e) { return g(e); };
  const auto sum_of_rows = [](const Plain& g, double e) { return g(e) + 2 * g(2 * e); };
  const auto two_rows = [](const Tensor& e) { return stack({e, 2 * e}); };
  const auto one_example = [](const Tensor& e) { return expand_dims(e, 0); };
  return {
      {"plain", [](const Map& g, const Tensor& e) { return g(e); }, same},
      {"cond",
       [](const Map& g, const Tensor& e) {
         return cond(
             e > -100.0, [&] { return g(e); }, [&] { return 2 * e; });
       },
       same},
      {"switch_case",
       [](const Map& g, const Tensor& e) {
         return switch_case<Tensor>(cast(e > -100.0, int32), {[&] { return 3 * e; }, [&] { return g(e); }});
       },
       same},
      {"case_of",
       [](const Map& g, const Tensor& e) {
         return case_of<Tensor>({{e < -100.0, [&] { return 3 * e; }}}, [&] { return g(e); });
       },
       same},
      {"while_loop",
       [](const Map& g, const Tensor& e) {
         const auto below = [](const Tensor& i, const Tensor&) { return i < 2; };
         const auto body = [&](const Tensor& i, const Tensor& c) { return std::tuple(i + 1, g(c)); };
         return std::get<1>(while_loop(below, body, std::tuple(constant(0), e)));
       },
       [](const Plain& g, double e) { return g(g(e)); }},
      {"scan",
       [](const Map& g, const Tensor& e) {
         return scan([&](const Tensor& c, const Tensor& q) { return g(c) * q; }, constant({0.5, 2.0}, float64), e)[-1];
       },
       [](const Plain& g, double e) { return 2 * g(0.5 * g(e)); }},
      {"foldl",
       [](const Map& g, const Tensor& e) {
         return foldl([&](const Tensor& c, const Tensor& q) { return g(c) * q; }, constant({0.5, 2.0}, float64), e);
       },
       [](const Plain& g, double e) { return 2 * g(0.5 * g(e)); }},
      {"map_fn",
       [=](const Map& g, const Tensor& e) {
         return reduce_sum(map_fn([&](const Tensor& q) { return g(q); }, two_rows(e)) * constant({1.0, 2.0}, float64));
       },
       sum_of_rows},
      {"vectorized_map",
       [=](const Map& g, const Tensor& e) {
         return reduce_sum(vectorized_map([&](const Tensor& q) { return g(q); }, two_rows(e)) *
                           constant({1.0, 2.0}, float64));
       },
       sum_of_rows},
      {"per_example_gradients",  // of e * g(e) by a factor of 1
       [=](const Map& g, const Tensor& e) {
         const Tensor one = constant(1.0, float64);
         return reduce_sum(per_example_gradients([&](const Tensor& q) { return one * g(q); }, one_example(e), one));
       },
       same},
      {"tape",
       [](const Map& g, const Tensor& e) {
         const Tensor one = constant(1.0, float64);
         GradientTape tape;
         tape.watch(one);
         return tape.gradient(one * g(e), one);
       },
       same},
      {"accumulator",
       [](const Map& g, const Tensor& e) {
         const Tensor one = constant(1.0, float64);
         const ForwardAccumulator accumulator(one, constant(1.0, float64));
         return accumulator.jvp(one * g(e));
       },
       same},
      {"jacobian",
       [](const Map& g, const Tensor& e) {
         const Tensor ones = constant({1.0, 2.0}, float64);
         GradientTape tape;
         tape.watch(ones);
         return reduce_sum(tape.jacobian(ones * ones * g(e), ones));  // 2 g + 4 g
       },
       [](const Plain& g, double e) { return 6 * g(e); }},
      {"hessian",
       [](const Map& g, const Tensor& e) {
         return reduce_sum(
             hessian([&](const Tensor& a) { return reduce_sum(a * a) * g(e); }, constant({1.0}, float64)));
       },
       [](const Plain& g, double e) { return 2 * g(e); }},
      {"function", [](const Map& g, const Tensor& e) { return function([&](const Tensor& q) { return g(q); })(e); },
       same},
      {"recompute_grad", [](const Map& g, const Tensor& e) { return recompute_grad(g)(e); }, same},
      {"custom_gradient",  // of e * e, whose rule is g
       [](const Map& g, const Tensor& e) {
         GradientTape tape;
         tape.watch(e);
         const Tensor y = custom_gradient(
             [&](std::span<const Tensor> v) -> CustomGradientResult {
               return {.outputs = {v[0] * v[0]}, .gradient = [g, v = v[0]](std::span<const Tensor> c) {
                         return std::vector<Tensor>{c[0] * g(v)};
                       }};
             },
             {e})[0];
         return tape.gradient(y, e);
       },
       same},
      {"fixed_point",
       [](const Map& g, const Tensor& e) {
         return fixed_point([g, e](const Tensor& y) { return 0.2 * sin(g(y)) + e; }, zeros_like(e));
       },
       [](const Plain& g, double e) {
         double y = 0;
         for (int i = 0; i < 200; ++i) y = 0.2 * std::sin(g(y)) + e;
         return y;
       }},
      {"root",
       [](const Map& g, const Tensor& e) {
         return root([g, e](const Tensor& y) { return y + 0.2 * sin(g(y)) - e; }, zeros_like(e));
       },
       [](const Plain& g, double e) {
         double y = 0;
         for (int i = 0; i < 400; ++i) y = 0.5 * y + 0.5 * (e - 0.2 * std::sin(g(y)));
         return y;
       }},
      {"odeint",
       [](const Map& g, const Tensor& e) {
         OdeOptions options;
         options.relative = options.absolute = 1e-9;
         return odeint([g](const Tensor&, const Tensor& y) { return -0.5 * g(y); }, e, {0.0, 0.5}, options)[-1];
       },
       [](const Plain& g, double e) {
         const int steps = 100;
         const double h = 0.5 / steps;
         const auto f = [&](double y) { return -0.5 * g(y); };
         double y = e;
         for (int i = 0; i < steps; ++i) {
           const double a = f(y), b = f(y + h / 2 * a), c = f(y + h / 2 * b), d = f(y + h * c);
           y += h / 6 * (a + 2 * b + 2 * c + d);
         }
         return y;
       }},
  };
}

}  // namespace capstan::testing
