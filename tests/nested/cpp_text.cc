// What is written here says the same as run_with_transforms.cc does, in the words of a user.
#include "tests/nested/cpp_text.h"

#include <algorithm>
#include <cstdio>

#include "tests/nested/generate.h"

namespace capstan::nested {
namespace {

std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  const std::string result = text;
  return result.find_first_of(".e") == std::string::npos ? result + ".0" : result;
}

std::string name(int of) {
  constexpr const char* kLeafNames[] = {"w", "x", "v", "a", "t", "", "", "u"};
  if (is_leaf(of)) return kLeafNames[of];
  if (is_table(of)) return "rows" + std::to_string((of - kFirstLocalTable) / kTableSize);
  return "p" + std::to_string(of - kFirstLocal);
}

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return text;
}

std::string numbers(std::span<const double> values) {
  std::vector<std::string> items;
  for (const double value : values) items.push_back(digits(value));
  return "constant(std::vector<double>{" + joined(items) + "})";
}

class Writer {
 public:
  // Collects the functions that are kept between calls; each is written under its place in the list.
  explicit Writer(std::vector<const Node*>& kept) : kept_(kept) {}

  std::string text(const Expression& e) const {
    const Node& node = *e;
    switch (node.op) {
      case Op::kNumber:
        return "constant(" + digits(node.number) + ", float64)";
      case Op::kRef:
        return node.name == kV ? "Tensor(v)" : name(node.name);
      case Op::kElement:
        if (node.variant % 2 == 1) return name(node.name) + "[" + std::to_string(node.index[0]) + "]";
        return "gather(" + name(node.name) + ", " + std::to_string(node.index[0]) + ")";
      case Op::kGatherSum: {
        const std::string i = std::to_string(node.index[0]);
        const std::string j = std::to_string(node.index[1]);
        return "reduce_sum(sin(gather(" + name(node.name) + ", constant({" + i + ", " + j + ", " + i + "}))))";
      }
      case Op::kStopGradient:
      case Op::kSin:
      case Op::kCos:
      case Op::kTanh:
      case Op::kSigmoid:
        return std::string(name_of(node.op)) + "(" + operand(node, 0, true) + ")";
      case Op::kAdd:
      case Op::kSubtract:
      case Op::kMultiply:
        return std::string(name_of(node.op)) + "(" + operand(node, 0, node.operands[1]->op == Op::kNumber) + ", " +
               operand(node, 1, false) + ")";
      case Op::kDivide:
        return "divide(" + operand(node, 0, false) + ", 1.5 + square(" + operand(node, 1, true) + "))";
      case Op::kLet:
        return block("const Tensor " + name(node.bodies[0].parameters[0]) + " = " + own(node.operands[0]) +
                     "; return " + text(node.bodies[0].result) + ";");
      case Op::kLetRows:
        return block("const Tensor " + name(node.bodies[1].parameters[0]) + " = " + tape(node, true) + "; return " +
                     text(node.bodies[1].result) + ";");
      case Op::kTape:
        return tape(node, false);
      case Op::kAccumulator:
        return accumulator(node);
      case Op::kJacobian:
      case Op::kHessian:
        return matrix(node);
      default:
        return call(node);
    }
  }

 private:
  std::vector<const Node*>& kept_;

  std::string own(const Expression& e) const { return may_alias(e) ? "identity(" + text(e) + ")" : text(e); }
  static std::string block(const std::string& statements) { return "[=] { " + statements + " }()"; }

  std::string operand(const Node& node, std::size_t i, bool as_tensor) const {
    const Expression& e = node.operands[i];
    const bool lends = node.has(i == 0 ? kLendsFirst : kLendsSecond);
    if (e->op == Op::kNumber && !as_tensor) return digits(e->number);
    if (e->op == Op::kRef) return lends ? name(e->name) : "Tensor(" + name(e->name) + ")";
    return lends ? "lent(" + text(e) + ")" : text(e);
  }
  std::vector<std::string> own_operands(const Node& node, std::size_t first = 0) const {
    std::vector<std::string> items;
    for (std::size_t i = first; i < node.operands.size(); ++i) items.push_back(own(node.operands[i]));
    return items;
  }
  std::string rows(const Node& node, std::size_t first = 0) const {
    return "stack({" + joined(own_operands(node, first)) + "})";
  }
  // A function with the parameters of the body.
  std::string lambda(const Body& body, bool own_result = false) const {
    std::vector<std::string> parameters;
    for (int parameter : body.parameters) parameters.push_back("const Tensor& " + name(parameter));
    return "[=](" + joined(parameters) + ") -> Tensor { return " + (own_result ? own(body.result) : text(body.result)) +
           "; }";
  }
  static std::string row_weights(std::size_t count) { return numbers(std::span(kRowWeights).first(count)); }
  static std::string matrix_weights(std::size_t count, std::size_t columns) {
    return "(expand_dims(" + row_weights(count) + ", 1) * expand_dims(" +
           numbers(std::span(kTableWeights).first(columns)) + ", 0))";
  }
  std::string target(const Body& body) const {
    const Node& node = *body.result;
    return node.op == Op::kTape && node.has(kSum) ? tape(node, true) : text(body.result);
  }

  std::string tape(const Node& node, bool as_it_is) const {
    const Body& body = node.bodies[0];
    std::string open = "GradientTape tape";
    if (node.has(kPersistent)) open += "({.persistent = true})";
    open += "; ";
    const bool fresh = !body.parameters.empty();
    const std::string source = name(fresh ? body.parameters[0] : node.name);
    if (fresh) {
      const std::string value = "const Tensor " + source + " = " + own(node.operands[0]) + "; ";
      open = node.has(kTapeFirst) ? open + value : value + open;
    }
    if (node.name != kV && node.name != kU) open += "tape.watch(" + source + "); ";
    const bool table = !fresh && is_table(node.name);
    std::string result = "or_zeros(tape.gradient(y, " + source + "), " + (table ? "{3}" : "{}") + ")";
    if (table && !as_it_is) {
      result =
          node.has(kSum) ? "reduce_sum(" + result + ")" : "reduce_sum(" + result + " * " + numbers(kTableWeights) + ")";
    }
    return block(open + "const Tensor y = " + target(body) + "; return " + result + ";");
  }

  std::string accumulator(const Node& node) const {
    const Body& body = node.bodies[0];
    std::string text = "const Tensor tangent = " + own(node.operands[0]) + "; ";
    const std::string source = name(body.parameters.empty() ? node.name : body.parameters[0]);
    if (!body.parameters.empty()) {
      text += "const Tensor " + source + " = " + own(node.operands[1]) + "; ";
    }
    const bool table = body.parameters.empty() && is_table(node.name);
    text += "const ForwardAccumulator accumulator(" + source + ", tangent" +
            (table ? " * " + numbers(kTableWeights) : std::string()) + "); const Tensor y = " + target(body) + "; ";
    return block(text + "return reduce_sum(or_zeros(accumulator.jvp(y), {}));");
  }

  std::string matrix(const Node& node) const {
    const Body& body = node.bodies[0];
    std::vector<std::string> results;
    for (const Body& one : node.bodies) results.push_back(own(one.result));
    const std::string all = "stack({" + joined(results) + "})";
    const auto count = node.bodies.size();
    if (body.parameters.empty()) {
      std::string text = "GradientTape tape; ";
      if (node.name != kV && node.name != kU) text += "tape.watch(" + name(node.name) + "); ";
      text += "const Tensor y = " + (node.has(kOfRows) ? target(body) : all) +
              "; const Tensor j = or_zeros(tape.jacobian(y, " + name(node.name) + "), {" + std::to_string(count) +
              (is_table(node.name) ? ", 3" : "") + "}); ";
      if (node.has(kOfRows)) return block(text + "return reduce_sum(j);");
      const std::size_t columns = is_table(node.name) ? 3 : 1;
      return block(text + "return reduce_sum(reshape(j, {" + std::to_string(count) + ", -1}) * " +
                   matrix_weights(count, columns) + ");");
    }
    std::string elements;
    for (int i = 0; i < 2; ++i) {
      const std::string number = std::to_string(i);
      elements += "const Tensor " + name(body.parameters[static_cast<std::size_t>(i)]) + " = " +
                  (node.has(kByGather) ? "gather(at, " + number + ")" : "at[" + number + "]") + "; ";
    }
    const bool hessian = node.op == Op::kHessian;
    return "reduce_sum(" + std::string(name_of(node.op)) + "([=](const Tensor& at) { " + elements + "return " +
           (hessian ? text(body.result) : all) + "; }, " + rows(node) + ") * " +
           matrix_weights(hessian ? 2 : count, 2) + ")";
  }

  std::string call(const Node& node) const {
    const Body& body = node.bodies[0];
    const std::string arguments = joined(own_operands(node));
    switch (node.op) {
      case Op::kFunction: {
        std::string text;
        std::string f = "f";
        if (node.has(kPersistent)) {
          const auto place = std::ranges::find(kept_, &node);
          f = "kept" + std::to_string(place - kept_.begin());
          if (place == kept_.end()) kept_.push_back(&node);
          text = "auto f = " + f + "([=] { return " + lambda(body) + "; }); ";
        } else {
          text = "auto f = function(" + lambda(body) + "); ";
        }
        std::vector<std::string> names;
        std::vector<std::string> others;
        for (std::size_t i = 0; i < node.operands.size(); ++i) {
          names.push_back("argument" + std::to_string(i));
          others.push_back("0.5 * " + names.back());
          text += "const Tensor " + names.back() + " = " + own(node.operands[i]) + "; ";
        }
        if (node.has(kTapeFirst)) text += "f(" + joined(others) + "); ";
        return block(text + "return f(" + joined(names) + ");");
      }
      case Op::kRecomputeGrad:
        return "recompute_grad(" + lambda(body) + ")(" + arguments + ")";
      case Op::kCond:
        return "cond(" + arguments + " > " + digits(node.number) + ", " + lambda(body) + ", " + lambda(node.bodies[1]) +
               ")";
      case Op::kSwitchCase:
        return "switch_case(cast(floor(2.0 * " + arguments + " + 1.0), int32), {" + lambda(body) + ", " +
               lambda(node.bodies[1]) + ", " + lambda(node.bodies[2]) + "})";
      case Op::kWhileLoop:
        return "std::get<1>(while_loop([=](const Tensor& i, const Tensor& c) { return logical_and(i < " +
               std::to_string(node.index[0]) + ", " + lambda(node.bodies[1]) + "(c) < " + digits(node.number) +
               "); }, [=](const Tensor& i, const Tensor& c) { return std::tuple(i + 1, " + lambda(body, true) +
               "(c)); }, std::tuple(constant(0), " + arguments + ")))";
      case Op::kScan: {
        const std::string options = node.has(kReverse) ? ", {.reverse = true}" : "";
        return "reduce_sum(scan(" + lambda(body, true) + ", " + rows(node, 1) + ", " + own(node.operands[0]) + options +
               ") * " + row_weights(node.operands.size() - 1) + ")";
      }
      case Op::kFoldl:
        return "foldl(" + lambda(body, true) + ", " + rows(node, 1) + ", " + own(node.operands[0]) + ")";
      case Op::kMapFn:
      case Op::kVectorizedMap:
        return "reduce_sum(" + std::string(name_of(node.op)) + "(" + lambda(body, true) + ", " + rows(node) + ") * " +
               row_weights(node.operands.size()) + ")";
      case Op::kPerExampleGradients:
        return "reduce_sum(per_example_gradients(" + lambda(body, true) + ", " + rows(node) + ", " + name(node.name) +
               ") * " +
               (is_table(node.name) ? matrix_weights(node.operands.size(), kTableSize)
                                    : row_weights(node.operands.size())) +
               ")";
      case Op::kCustomGradient: {
        const std::string slope = "[=, x = in[0]](std::span<const Tensor> g) -> std::vector<Tensor> { return {g[0] * " +
                                  lambda(node.bodies[1]) + "(x)}; }";
        return "custom_gradient([=](std::span<const Tensor> in) -> CustomGradientResult { const auto slope = " + slope +
               "; return {.outputs = {" + lambda(body) + "(in[0])}, .gradient = slope" +
               (node.has(kWithJvp) ? ", .jvp = slope" : "") + "}; }, {" + arguments + "})[0]";
      }
      case Op::kFixedPoint:
        return "fixed_point([=](const Tensor& z) { return 0.3 * tanh(" + lambda(body) + "(z)); }, " + arguments + ")";
      case Op::kRoot:
        return "root([=](const Tensor& z) { return 1.5 * z + 0.2 * z * z * z - 0.4 * sin(" + lambda(body) +
               "(z)); }, " + arguments + ")";
      default: {  // odeint
        const std::string options = std::string("{.relative = 1e-10, .absolute = 1e-12") +
                                    (node.has(kDirect) ? ", .gradient = OdeGradient::kDirect" : "") + "}";
        return block("const Tensor y = odeint([=](const Tensor& time, const Tensor& state) { return 0.5 * sin(" +
                     lambda(body) + "(time, state)); }, " + arguments + ", {0.0, 0.1, 0.2}, " + options + "); return " +
                     (node.has(kTwoTimes) ? "y[1] - y[2]" : "y[2]") + ";");
      }
    }
  }
};

// What is done with the program, as compute.cc does it.
const char* computation(Quantity quantity) {
  switch (quantity) {
    case Quantity::kValue:
      return "  return std::vector<Tensor>{program(a)};\n";
    case Quantity::kReverse:
      return "  GradientTape tape;\n  tape.watch({w, x, v, a, t, u});\n  const Tensor y = program(a);\n"
             "  return tape.gradient(y, {w, x, v, a, t, u});\n";
    case Quantity::kForward:
      return "  const ForwardAccumulator accumulator({w, x, v, a, t, u}, directions);\n"
             "  return std::vector<Tensor>{accumulator.jvp(program(a))};\n";
    case Quantity::kReverseOverReverse:
      return "  GradientTape outer;\n  outer.watch({w, x, v, a, t, u});\n  GradientTape inner;\n"
             "  inner.watch({w, x, v, a, t, u});\n  const Tensor y = program(a);\n  std::vector<Tensor> targets, "
             "weights;\n"
             "  const std::vector<Tensor> gradients = inner.gradient(y, {w, x, v, a, t, u});\n"
             "  for (std::size_t i = 0; i < gradients.size(); ++i) {\n    if (!gradients[i].has_value()) continue;\n"
             "    targets.push_back(gradients[i]);\n    weights.push_back(directions[i]);\n  }\n"
             "  return outer.gradient(targets, {w, x, v, a, t, u}, {.output_gradients = weights});\n";
    case Quantity::kForwardOverReverse:
      return "  const ForwardAccumulator accumulator({w, x, v, a, t, u}, directions);\n  GradientTape tape;\n"
             "  tape.watch({w, x, v, a, t, u});\n  const Tensor y = program(a);\n  std::vector<Tensor> result;\n"
             "  for (const Tensor& gradient : tape.gradient(y, {w, x, v, a, t, u}))\n"
             "    result.push_back(gradient.has_value() ? accumulator.jvp(gradient) : Tensor());\n  return result;\n";
    default:
      return "  GradientTape tape;\n  tape.watch({w, x, v, a, t, u});\n"
             "  const ForwardAccumulator accumulator({w, x, v, a, t, u}, directions);\n"
             "  const Tensor tangent = accumulator.jvp(program(a));\n"
             "  return tangent.has_value() ? tape.gradient(tangent, {w, x, v, a, t, u}) : std::vector<Tensor>(6);\n";
  }
}

}  // namespace

std::string cpp_text(const Program& program, const Mode& mode, const std::string& remark) {
  std::vector<const Node*> kept;
  const std::string root = Writer(kept).text(program.root);
  const auto directions = direction_of(program.number);
  std::string text = "// Program " + std::to_string(program.number) + ", " + name_of(mode) + ": " + remark + "\n";
  text +=
      "#include <iostream>\n#include <optional>\n\n#include \"capstan/capstan.h\"\nusing namespace capstan;\n\n"
      "[[maybe_unused]] const Tensor& lent(const Tensor& tensor) { return tensor; }\n"
      "[[maybe_unused]] Tensor or_zeros(const Tensor& g, const Shape& shape) { return g.has_value() ? g : zeros(shape, "
      "float64); }\n\n"
      "void run() {\n";
  const auto leaf = [&](int of) {
    const std::span<const double> values = std::span(program.leaves).subspan(static_cast<std::size_t>(of));
    return is_table(of) ? numbers(values.first(kTableSize)) : "constant(" + digits(values[0]) + ", float64)";
  };
  for (int of : {kW, kX, kA, kT})
    text += "[[maybe_unused]] const Tensor " + name(of) + (of == kA ? "_value" : "") + " = " + leaf(of) + ";\n";
  for (int of : {kV, kU}) text += "[[maybe_unused]] const Variable " + name(of) + "(" + leaf(of) + ");\n";
  text += "[[maybe_unused]] const std::vector<Tensor> directions = {";
  std::vector<std::string> slices;
  for (int of : kSources) {
    const std::span<const double> values = std::span(directions).subspan(static_cast<std::size_t>(of));
    slices.push_back(is_table(of) ? numbers(values.first(kTableSize)) : "constant(" + digits(values[0]) + ", float64)");
  }
  text += joined(slices) + "};\n";
  for (std::size_t number = 0; number < kept.size(); ++number) {
    const Node* const node = kept[number];
    std::string parameters;
    for (std::size_t i = 0; i < node->operands.size(); ++i) parameters += i == 0 ? "const Tensor&" : ", const Tensor&";
    // The first call makes it, and later ones have it.
    text += "using Kept" + std::to_string(number) + " = Function<std::function<Tensor(" + parameters + ")>>;\n";
    text += "const auto memory" + std::to_string(number) + " = std::make_shared<std::optional<Kept" +
            std::to_string(number) + ">>();\nconst auto kept" + std::to_string(number) +
            " = [=](const auto& make) { if (!*memory" + std::to_string(number) + ") memory" + std::to_string(number) +
            "->emplace(std::function<Tensor(" + parameters + ")>(make()), FunctionOptions{}); return **memory" +
            std::to_string(number) + "; };\n";
  }
  text += "const auto plain = [=](const Tensor& a) -> Tensor {\n  return " + root + ";\n};\n";
  text += mode.place == Place::kAround ? "auto program = function(plain);\nprogram(a_value);\n"
                                       : "const auto& program = plain;\n";
  if (mode.place == Place::kEager && mode.quantity != Quantity::kValue) text += "program(a_value);\n";
  text += "const auto compute = [&](const Tensor& a) {\n" + std::string(computation(mode.quantity)) + "};\n";
  if (mode.place == Place::kInside) {
    text +=
        "auto traced = function([&](const Tensor& a) {\n  std::vector<Tensor> found;\n"
        "  for (const Tensor& one : compute(a)) found.push_back(one.has_value() ? one.to_dense() : "
        "constant(-12345.0));\n"
        "  return found;\n});\nfor (const Tensor& one : traced(a_value)) std::cout << one << \"\\n\";\n}\n";
  } else {
    text += "for (const Tensor& one : compute(a_value)) std::cout << one << \"\\n\";\n}\n";
  }
  return text + "\nint main() { run(); }\n";
}

}  // namespace capstan::nested
