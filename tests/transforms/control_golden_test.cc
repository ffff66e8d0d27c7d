// Control flow and vectorized_map against TensorFlow's values, gradients and second order: the programs of
// tests/golden/control.json, which says in words what each computes.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/compare.h"
#include "tests/support/golden_json.h"

namespace capstan::testing {
namespace {

using List = std::vector<Tensor>;
using Program = std::function<List(const List&)>;

// `body` of a and the number of the iteration, so many times.
template <class Body>
Tensor repeat(int times, const Body& body, const Tensor& start) {
  return std::get<1>(while_loop([&](const Tensor& i, const Tensor&) { return i < times; },
                                [&](const Tensor& i, const Tensor& a) { return std::tuple(i + 1, body(a, i)); },
                                std::tuple(constant(0), start)));
}

Program square_or_negative() {
  return [](const List& in) {
    return List{cond(
        reduce_sum(in[0]) > 0, [&] { return in[0] * in[0]; }, [&] { return -in[0]; })};
  };
}

Program switch_of(int k) {
  return [k](const List& in) {
    const Tensor& x = in[0];
    return List{switch_case(constant(k), {[&] { return 2 * x; }, [&] { return x * x; }, [&] { return sin(x); }})};
  };
}

Program recurrent(bool reverse) {
  return [reverse](const List& in) {
    return List{scan([&](const Tensor& a, const Tensor& t) { return tanh(a * in[1] + t); }, in[0], in[2],
                     {.reverse = reverse})};
  };
}

Program folded(bool right) {
  return [right](const List& in) {
    const auto step = [](const Tensor& a, const Tensor& t) { return a / 2 + t * t; };
    const Tensor zero = constant(0.0, float64);
    return List{right ? foldr(step, in[0], zero) : foldl(step, in[0], zero)};
  };
}

const std::map<std::string, Program>& programs() {
  static const std::map<std::string, Program> all = {
      {"cond/square_or_negative", square_or_negative()},
      {"cond/vector", square_or_negative()},
      {"cond/two_results",
       [](const List& in) {
         const Tensor &x = in[0], &y = in[1];
         return cond(
             x > y,
             [&] {
               return List{x * y, x};
             },
             [&] {
               return List{x - y, y * y};
             });
       }},
      {"cond/other_branch_only",
       [](const List& in) {
         return List{cond(
             in[0] > 0, [&] { return in[0] * in[0]; }, [&] { return 3 * in[1]; })};
       }},
      {"cond/nested",
       [](const List& in) {
         const Tensor& x = in[0];
         return List{cond(
             x > 0,
             [&] {
               return cond(
                   x > 1, [&] { return pow(x, 3); }, [&] { return x * x; });
             },
             [&] { return exp(x); })};
       }},
      {"switch_case/branch_0", switch_of(0)},
      {"switch_case/branch_1", switch_of(1)},
      {"switch_case/branch_2", switch_of(2)},
      {"switch_case/branch_7", switch_of(7)},
      {"switch_case/branch_-1", switch_of(-1)},
      {"case/",
       [](const List& in) {
         const Tensor& x = in[0];
         return List{
             case_of({{x < 1, [&] { return 10 * x; }}, {x < 2, [&] { return 20 * x; }}}, [&] { return 30 * x; })};
       }},
      {"while_loop/doubling",
       [](const List& in) {
         return List{repeat(
             2, [](const Tensor& a, const Tensor&) { return 2 * a; }, in[0])};
       }},
      {"while_loop/squares_until_8",
       [](const List& in) {
         return List{while_loop([](const Tensor& a) { return a < 8; }, [](const Tensor& a) { return a * a; }, in[0])};
       }},
      {"while_loop/captured",
       [](const List& in) {
         return List{repeat(
             2, [&](const Tensor& a, const Tensor&) { return a * in[1]; }, in[0])};
       }},
      {"while_loop/newton_square_root",
       [](const List& in) {
         return List{repeat(
             6, [&](const Tensor& r, const Tensor&) { return (r + in[0] / r) / 2; }, in[0])};
       }},
      {"while_loop/no_iteration",
       [](const List& in) {
         return List{repeat(
             0, [](const Tensor& a, const Tensor&) { return 5 * a; }, in[0])};
       }},
      {"while_loop/maximum_iterations",
       [](const List& in) {
         return List{while_loop([](const Tensor&) { return true; }, [](const Tensor& a) { return 3 * a; }, in[0],
                                {.maximum_iterations = 3})};
       }},
      {"while_loop/two_variables",
       [](const List& in) {
         const auto [i, a, b] = while_loop(
             [](const Tensor& k, const Tensor&, const Tensor&) { return k < 5; },
             [](const Tensor& k, const Tensor& u, const Tensor& v) { return std::tuple(k + 1, v, u / 2 + v); },
             std::tuple(constant(0), in[0], in[1]));
         return List{a, b};
       }},
      {"while_loop/with_cond",
       [](const List& in) {
         return List{repeat(
             4,
             [&](const Tensor& a, const Tensor& i) {
               return cond(
                   equal(i % 2, 0), [&] { return a * in[0]; }, [&] { return sin(a); });
             },
             in[0])};
       }},
      {"while_loop/power_iteration",
       [](const List& in) {
         const auto times = [&](const Tensor& u) { return matvec(in[0], u); };
         const Tensor u = repeat(
             3,
             [&](const Tensor& v, const Tensor&) {
               const Tensor w = times(v);
               return w / norm(w);
             },
             in[1]);
         return List{reduce_sum(u * times(u))};
       }},
      {"scan/recurrent", recurrent(false)},
      {"scan/reverse", recurrent(true)},
      {"scan/running_product",
       [](const List& in) { return List{scan([](const Tensor& a, const Tensor& t) { return a * t; }, in[0])}; }},
      {"foldl/", folded(false)},
      {"foldr/", folded(true)},
      {"map_fn/two_inputs",
       [](const List& in) {
         return List{
             map_fn([](const Tensor& a, const Tensor& b) { return a * reduce_sum(b); }, std::tuple(in[0], in[1]))};
       }},
      {"map_fn/",
       [](const List& in) { return List{map_fn([](const Tensor& row) { return reduce_sum(row * row); }, in[0])}; }},
      {"vectorized_map/f64",
       [](const List& in) {
         return List{vectorized_map([](const Tensor& row) { return softmax(row) * row; }, in[0])};
       }},
      {"vectorized_map/matmul",
       [](const List& in) {
         return List{vectorized_map([](const Tensor& m) { return matmul(m, m, {.transpose_b = true}); }, in[0])};
       }},
      {"vectorized_map/shared",
       [](const List& in) { return List{vectorized_map([&](const Tensor& row) { return row * in[1]; }, in[0])}; }},
      {"grad_in_loop/",
       [](const List& in) {
         return List{map_fn(
             [](const Tensor& row) {
               GradientTape tape;
               tape.watch(row);
               return tape.gradient(reduce_sum(sin(row) * row), row);
             },
             in[0])};
       }},
  };
  return all;
}

// The program with the longest name that the case's begins with.
const Program* program_of(const std::string& name) {
  const Program* found = nullptr;
  for (const auto& [beginning, program] : programs()) {  // in the order of the alphabet: longer ones come later
    if (name.rfind(beginning, 0) == 0) found = &program;
  }
  return found;
}

// A missing tensor is zeros where `want` says so or nothing.
std::string differs(const Tensor& got, const Json& json, const Tensor& like, bool missing_is_zero) {
  const Tensor want = tensor_from_json(json);
  if (!want.has_value() && missing_is_zero) return !got.has_value() || all_zero(got) ? "" : "is not missing";
  if (!want.has_value()) return got.has_value() ? "is not missing" : "";
  if (!got.has_value() && missing_is_zero) return difference(zeros_like(like), want, golden_tolerance(want.dtype()));
  if (!got.has_value()) return "is missing";
  return difference(got, want, golden_tolerance(want.dtype()));
}

void check(const Json& json, const Program& program, bool graph) {
  List inputs, cotangents, weights;
  for (const Json& input : json["inputs"]) inputs.push_back(tensor_from_json(input));
  for (const Json& cotangent : json["cotangents"]) cotangents.push_back(tensor_from_json(cotangent));
  const auto where = json["name"].get<std::string>() + (graph ? " in a function" : "");
  // Whether what is missing in the one is zero in the other is told for one of both ways only.
  const bool zeros = graph != (json["program"].get<std::string>().find("compiled") != std::string::npos);

  GradientTape outer;
  outer.watch(inputs);
  outer.watch(cotangents);
  GradientTape tape;
  tape.watch(inputs);
  const List outputs = program(inputs);
  const List gradients = tape.gradient(outputs, inputs, {.output_gradients = cotangents});
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    EXPECT_EQ(differs(outputs[k], json["outputs"][k], outputs[k], false), "") << where << ", output " << k;
  }
  List targets;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    EXPECT_EQ(differs(gradients[k], json["gradients"][k], inputs[k], zeros), "") << where << ", gradient " << k;
  }
  if (!json.contains("second")) return;
  const Json& second = json["second"];
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (second["weights"][k].is_null() || !gradients[k].has_value()) continue;
    targets.push_back(gradients[k]);
    weights.push_back(tensor_from_json(second["weights"][k]));
  }
  const auto [by_inputs, by_cotangents] =
      outer.gradient(targets, std::tuple(inputs, cotangents), {.output_gradients = weights});
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    EXPECT_EQ(differs(by_inputs[k], second["gradients"][k], inputs[k], true), "") << where << ", second order " << k;
  }
  for (std::size_t k = 0; k < cotangents.size(); ++k) {
    EXPECT_EQ(differs(by_cotangents[k], second["cotangent_gradients"][k], cotangents[k], true), "")
        << where << ", second order by cotangent " << k;
  }
}

TEST(ControlFlowGolden, ValuesAndGradientsAreThoseOfTensorFlow) {
  const Json file = read_json(std::string(CAPSTAN_SOURCE_DIR) + "/tests/golden/control.json");
  int cases = 0;
  for (const Json& json : file["cases"]) {
    if (json.contains("error")) continue;
    const auto name = json["name"].get<std::string>();
    const Program* program = program_of(name);
    ASSERT_NE(program, nullptr) << name;
    ++cases;
    check(json, *program, false);
    auto compiled = function([&](const List& in) { return (*program)(in); });
    check(
        json, [&](const List& in) { return compiled(in); }, true);
  }
  EXPECT_EQ(cases, 45);
}

}  // namespace
}  // namespace capstan::testing
