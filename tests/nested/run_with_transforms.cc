#include "tests/nested/run_with_transforms.h"

#include <optional>
#include <utility>

#include "tests/nested/scope.h"

namespace capstan::nested {
namespace {

using Names = Scope<Tensor>;

// What every closure keeps.
struct Context {
  Leaves leaves;
  std::shared_ptr<KeptFunctions> functions;

  Tensor value(const Expression& e, const Names& names) const;
  // The value as a tensor of its own, that is not that of a name.
  Tensor own(const Expression& e, const Names& names) const {
    return may_alias(e) ? identity(value(e, names)) : value(e, names);
  }
  Tensor call(const Body& body, const Names& names, std::initializer_list<Tensor> arguments) const {
    return value(body.result, bind(body, names, arguments));
  }
  Tensor call_own(const Body& body, const Names& names, std::initializer_list<Tensor> arguments) const {
    return own(body.result, bind(body, names, arguments));
  }
  static Names bind(const Body& body, Names names, std::span<const Tensor> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) names = names.with(body.parameters[i], arguments[i]);
    return names;
  }

  Tensor tensor_of(int name, const Names& names) const;
  const Variable* variable_of(int name) const { return name == kV ? &leaves.v : name == kU ? &leaves.u : nullptr; }
  std::vector<Tensor> own_operands(const Node& node, const Names& names, std::size_t first = 0) const {
    std::vector<Tensor> all;
    for (std::size_t i = first; i < node.operands.size(); ++i) all.push_back(own(node.operands[i], names));
    return all;
  }
  Tensor rows_of(const Node& node, const Names& names, std::size_t first = 0) const {
    return stack(own_operands(node, names, first));
  }

  Tensor plain(const Node& node, const Names& names) const;
  Tensor tape(const Node& node, const Names& names, bool as_it_is = false) const;
  Tensor target_of(const Body& body, const Names& names) const;
  Tensor accumulator(const Node& node, const Names& names) const;
  Tensor function(const Node& node, const Names& names) const;
  Tensor choice(const Node& node, const Names& names) const;
  Tensor loop(const Node& node, const Names& names) const;
  Tensor mapped(const Node& node, const Names& names) const;
  Tensor matrix(const Node& node, const Names& names) const;
  Tensor custom(const Node& node, const Names& names) const;
  Tensor equation(const Node& node, const Names& names) const;
};

Tensor number(double value) { return constant(value, float64); }
Tensor table_weights() { return constant(std::vector<double>(kTableWeights.begin(), kTableWeights.end())); }
Tensor row_weights(std::size_t count) {
  return constant(std::vector<double>(kRowWeights.begin(), kRowWeights.begin() + static_cast<std::ptrdiff_t>(count)));
}
// The weights of rows and of the elements in each.
Tensor matrix_weights(std::int64_t rows, std::int64_t columns) {
  return expand_dims(row_weights(static_cast<std::size_t>(rows)), 1) *
         expand_dims(table_weights()(slice(0, columns)), 0);
}
Tensor or_zeros(const Tensor& gradient, const Shape& shape = {}) {
  return gradient.has_value() ? gradient : zeros(shape, float64);
}

// An operand that is computed for one op, and given up or lent to it.
class Value {
 public:
  Value(const Context& context, const Expression& e, const Names& names, bool lends) : lends_(lends) {
    if (e->op == Op::kNumber) {
      number_ = e->number;
    } else if (lends && e->op == Op::kRef) {
      variable_ = context.variable_of(e->name);
    }
    if (!number_ && variable_ == nullptr) tensor_ = context.value(e, names);
  }
  void make_tensor() {
    if (number_) tensor_ = number(*std::exchange(number_, std::nullopt));
  }
  bool is_number() const { return number_.has_value(); }
  Operand operand() {
    if (number_) return *number_;
    if (variable_ != nullptr) return *variable_;
    return lends_ ? Operand(std::as_const(tensor_)) : Operand(std::move(tensor_));
  }

 private:
  bool lends_;
  std::optional<double> number_;
  const Variable* variable_ = nullptr;
  Tensor tensor_;
};

Tensor Context::tensor_of(int name, const Names& names) const {
  switch (name) {
    case kW:
      return leaves.w;
    case kX:
      return leaves.x;
    case kV:
      return leaves.v.value();
    case kA:
      return leaves.a;
    case kT:
      return leaves.t;
    case kU:
      return leaves.u.value();
    default:
      return *names.find(name);
  }
}

Tensor Context::value(const Expression& e, const Names& names) const {
  switch (e->op) {
    case Op::kTape:
      return tape(*e, names);
    case Op::kAccumulator:
      return accumulator(*e, names);
    case Op::kFunction:
    case Op::kRecomputeGrad:
      return function(*e, names);
    case Op::kCond:
    case Op::kSwitchCase:
      return choice(*e, names);
    case Op::kWhileLoop:
    case Op::kScan:
    case Op::kFoldl:
      return loop(*e, names);
    case Op::kMapFn:
    case Op::kVectorizedMap:
    case Op::kPerExampleGradients:
      return mapped(*e, names);
    case Op::kJacobian:
    case Op::kHessian:
      return matrix(*e, names);
    case Op::kCustomGradient:
      return custom(*e, names);
    case Op::kFixedPoint:
    case Op::kRoot:
    case Op::kOdeint:
      return equation(*e, names);
    default:
      return plain(*e, names);
  }
}

Tensor Context::plain(const Node& node, const Names& names) const {
  switch (node.op) {
    case Op::kNumber:
      return number(node.number);
    case Op::kRef:
      return tensor_of(node.name, names);
    case Op::kElement: {
      if (node.variant % 2 == 1) return tensor_of(node.name, names)[node.index[0]];
      if (const Variable* variable = variable_of(node.name)) return gather(*variable, node.index[0]);
      return gather(tensor_of(node.name, names), node.index[0]);
    }
    case Op::kGatherSum: {
      const Tensor indices = constant({node.index[0], node.index[1], node.index[0]});
      if (const Variable* variable = variable_of(node.name)) return reduce_sum(sin(gather(*variable, indices)));
      return reduce_sum(sin(gather(tensor_of(node.name, names), indices)));
    }
    case Op::kLet:
      return call(node.bodies[0], names, {own(node.operands[0], names)});
    case Op::kLetRows:
      return call(node.bodies[1], names, {tape(node, names, true)});
    default:
      break;
  }
  Value first(*this, node.operands[0], names, node.has(kLendsFirst));
  if (node.operands.size() == 1) {
    first.make_tensor();
    const Operand x = first.operand();
    switch (node.op) {
      case Op::kStopGradient:
        return stop_gradient(x);
      case Op::kSin:
        return sin(x);
      case Op::kCos:
        return cos(x);
      case Op::kTanh:
        return tanh(x);
      default:
        return sigmoid(x);
    }
  }
  Value second(*this, node.operands[1], names, node.has(kLendsSecond));
  if (second.is_number()) first.make_tensor();
  switch (node.op) {
    case Op::kAdd:
      return add(first.operand(), second.operand());
    case Op::kSubtract:
      return subtract(first.operand(), second.operand());
    case Op::kMultiply:
      return multiply(first.operand(), second.operand());
    default: {
      second.make_tensor();
      return divide(first.operand(), 1.5 + square(second.operand()));
    }
  }
}

// What a derivative is taken of: a row-sparse gradient as it is, where the body is one.
Tensor Context::target_of(const Body& body, const Names& names) const {
  const Node& node = *body.result;
  return node.op == Op::kTape && node.has(kSum) ? tape(node, names, true) : value(body.result, names);
}

Tensor Context::tape(const Node& node, const Names& names, bool as_it_is) const {
  const Body& body = node.bodies[0];
  const GradientTapeOptions options{.persistent = node.has(kPersistent)};
  if (!body.parameters.empty()) {
    Tensor source;
    if (!node.has(kTapeFirst)) source = own(node.operands[0], names);
    GradientTape tape(options);
    if (node.has(kTapeFirst)) source = own(node.operands[0], names);
    tape.watch(source);
    const Tensor y = target_of(body, names.with(body.parameters[0], source));
    return or_zeros(tape.gradient(y, source));
  }
  Tensor gradient;
  GradientTape tape(options);
  if (const Variable* variable = variable_of(node.name)) {
    gradient = tape.gradient(target_of(body, names), *variable);
  } else {
    const Tensor source = tensor_of(node.name, names);
    tape.watch(source);
    gradient = tape.gradient(target_of(body, names), source);
  }
  if (!is_table(node.name)) return or_zeros(gradient);
  gradient = or_zeros(gradient, {kTableSize});
  if (as_it_is) return gradient;
  return node.has(kSum) ? reduce_sum(gradient) : reduce_sum(gradient * table_weights());
}

Tensor Context::accumulator(const Node& node, const Names& names) const {
  const Body& body = node.bodies[0];
  const Tensor tangent = own(node.operands[0], names);
  const auto sum = [](const Tensor& found) {
    return !found.has_value() ? number(0) : found.rank() == 0 ? found : reduce_sum(found);
  };
  if (!body.parameters.empty()) {
    const Tensor source = own(node.operands[1], names);
    const ForwardAccumulator accumulator(source, tangent);
    return sum(accumulator.jvp(target_of(body, names.with(body.parameters[0], source))));
  }
  const Tensor all = is_table(node.name) ? tangent * table_weights() : tangent;
  if (const Variable* variable = variable_of(node.name)) {
    const ForwardAccumulator accumulator(*variable, all);
    return sum(accumulator.jvp(target_of(body, names)));
  }
  const ForwardAccumulator accumulator(tensor_of(node.name, names), all);
  return sum(accumulator.jvp(target_of(body, names)));
}

Tensor Context::function(const Node& node, const Names& names) const {
  const std::vector<Tensor> arguments = own_operands(node, names);
  const std::function<Tensor(const std::vector<Tensor>&)> f = [context = *this, body = node.bodies[0],
                                                               names](const std::vector<Tensor>& in) {
    return context.value(body.result, bind(body, names, in));
  };
  if (node.op == Op::kRecomputeGrad) return recompute_grad(f)(arguments);
  const auto call_function = [&](auto& made) {
    if (node.has(kTapeFirst)) {
      std::vector<Tensor> others;
      for (const Tensor& argument : arguments) others.push_back(0.5 * argument);
      made(others);
    }
    return made(arguments);
  };
  if (node.has(kPersistent)) {
    auto at = functions->find(&node);
    if (at == functions->end()) at = functions->emplace(&node, capstan::function(f)).first;
    return call_function(at->second);
  }
  auto made = capstan::function(f);
  return call_function(made);
}

Tensor Context::choice(const Node& node, const Names& names) const {
  const auto branch = [&](const Body& body) {
    return std::function<Tensor()>([context = *this, body, names] { return context.value(body.result, names); });
  };
  const Tensor value = own(node.operands[0], names);
  if (node.op == Op::kCond) return cond(value > node.number, branch(node.bodies[0]), branch(node.bodies[1]));
  std::vector<std::function<Tensor()>> branches;
  for (const Body& body : node.bodies) branches.push_back(branch(body));
  return switch_case(cast(floor(2.0 * value + 1.0), int32), branches);
}

Tensor Context::loop(const Node& node, const Names& names) const {
  const Tensor begin = own(node.operands[0], names);
  if (node.op == Op::kWhileLoop) {
    const auto condition = [&](const Tensor& i, const Tensor& c) {
      return logical_and(i < node.index[0], call(node.bodies[1], names, {c}) < node.number);
    };
    const auto body = [&](const Tensor& i, const Tensor& c) {
      return std::tuple(i + 1, call_own(node.bodies[0], names, {c}));
    };
    return std::get<1>(while_loop(condition, body, std::tuple(constant(0), begin)));
  }
  const Tensor rows = rows_of(node, names, 1);
  const auto body = [&](const Tensor& c, const Tensor& row) { return call_own(node.bodies[0], names, {c, row}); };
  if (node.op == Op::kFoldl) return foldl(body, rows, begin);
  const Tensor all = scan(body, rows, begin, {.reverse = node.has(kReverse)});
  return reduce_sum(all * row_weights(node.operands.size() - 1));
}

Tensor Context::mapped(const Node& node, const Names& names) const {
  const Tensor rows = rows_of(node, names);
  const auto body = [&](const Tensor& row) { return call_own(node.bodies[0], names, {row}); };
  Tensor all;
  if (node.op == Op::kMapFn) {
    all = map_fn(body, rows);
  } else if (node.op == Op::kVectorizedMap) {
    all = vectorized_map(body, rows);
  } else if (const Variable* variable = variable_of(node.name)) {
    all = per_example_gradients(body, rows, *variable);
  } else {
    all = per_example_gradients(body, rows, tensor_of(node.name, names));
  }
  const auto count = static_cast<std::int64_t>(node.operands.size());
  return reduce_sum(all * (all.rank() == 2 ? matrix_weights(count, kTableSize) : row_weights(node.operands.size())));
}

Tensor Context::matrix(const Node& node, const Names& names) const {
  const Body& body = node.bodies[0];
  const auto all_results = [&](const Names& at) {
    std::vector<Tensor> results;
    for (const Body& one : node.bodies) results.push_back(own(one.result, at));
    return stack(results);
  };
  if (body.parameters.empty()) {
    Tensor jacobian;
    GradientTape tape;
    const auto target = [&] { return node.has(kOfRows) ? target_of(body, names) : all_results(names); };
    if (const Variable* variable = variable_of(node.name)) {
      jacobian = tape.jacobian(target(), *variable);
    } else {
      const Tensor source = tensor_of(node.name, names);
      tape.watch(source);
      jacobian = tape.jacobian(target(), source);
    }
    if (!jacobian.has_value()) return number(0);
    if (node.has(kOfRows)) return reduce_sum(jacobian);
    const auto count = static_cast<std::int64_t>(node.bodies.size());
    const Tensor flat = reshape(jacobian, {count, -1});
    return reduce_sum(flat * matrix_weights(count, flat.dim(1)));
  }
  const auto names_at = [&](const Tensor& point) {
    const auto element = [&](int i) { return node.has(kByGather) ? gather(point, i) : point[i]; };
    return names.with(body.parameters[0], element(0)).with(body.parameters[1], element(1));
  };
  const Tensor point = rows_of(node, names);
  if (node.op == Op::kJacobian) {
    const Tensor found = jacobian([&](const Tensor& at) { return all_results(names_at(at)); }, point);
    return reduce_sum(found * matrix_weights(static_cast<std::int64_t>(node.bodies.size()), 2));
  }
  const Tensor found = hessian([&](const Tensor& at) { return value(body.result, names_at(at)); }, point);
  return reduce_sum(found * matrix_weights(2, 2));
}

Tensor Context::custom(const Node& node, const Names& names) const {
  const auto f = [context = *this, value = node.bodies[0], slope = node.bodies[1], names,
                  with_jvp = node.has(kWithJvp)](std::span<const Tensor> in) {
    const auto times_slope = [context, slope, names, x = in[0]](std::span<const Tensor> g) {
      return std::vector<Tensor>{g[0] * context.call(slope, names, {x})};
    };
    CustomGradientResult result;
    result.outputs = {context.call(value, names, {in[0]})};
    result.gradient = times_slope;
    if (with_jvp) result.jvp = times_slope;
    return result;
  };
  return custom_gradient(f, {own(node.operands[0], names)})[0];
}

Tensor Context::equation(const Node& node, const Names& names) const {
  const Tensor begin = own(node.operands[0], names);
  const auto body = [context = *this, body = node.bodies[0], names](std::initializer_list<Tensor> in) {
    return context.call(body, names, in);
  };
  if (node.op == Op::kFixedPoint) {
    return fixed_point([body](const Tensor& x) { return 0.3 * tanh(body({x})); }, begin);
  }
  if (node.op == Op::kRoot) {
    return root([body](const Tensor& x) { return 1.5 * x + 0.2 * x * x * x - 0.4 * sin(body({x})); }, begin);
  }
  const OdeOptions options{.relative = 1e-10,
                           .absolute = 1e-12,
                           .gradient = node.has(kDirect) ? OdeGradient::kDirect : OdeGradient::kAdjoint};
  const Tensor y = odeint(
      [body](const Tensor& t, const Tensor& y) {
        return 0.5 * sin(body({t, y}));
      },
      begin, {0.0, kOdeEnd / 2, kOdeEnd}, options);
  return node.has(kTwoTimes) ? y[1] - y[2] : y[2];
}

}  // namespace

Leaves make_leaves(const Program& program) {
  const auto scalar = [&](int name) { return number(program.leaves[static_cast<std::size_t>(name)]); };
  const auto table = [&](int name) {
    const auto begin = program.leaves.begin() + name;
    return constant(std::vector<double>(begin, begin + kTableSize));
  };
  return {scalar(kW), scalar(kX), Variable(scalar(kV)), scalar(kA), table(kT), Variable(table(kU))};
}

Tensor evaluate(const Program& program, const Leaves& leaves, const Tensor& a,
                const std::shared_ptr<KeptFunctions>& functions) {
  Context context{leaves, functions};
  context.leaves.a = a;
  return context.value(program.root, {});
}

}  // namespace capstan::nested
