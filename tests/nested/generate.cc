// Programs at random.
//
// A body mixes three things: the transform that is nested in it, something of its own parameters, and something of what
// it captures alone, such as sin(x): an expression of captured tensors only is what a library may take for a constant.
// Functions are smooth and bounded, so that derivatives of high order stay small.
#include "tests/nested/generate.h"

#include <algorithm>
#include <random>

#include "tests/nested/reference.h"

namespace capstan::nested {
namespace {

// What can be named: `near` are the parameters of the body itself, `far` what it captures.
struct Visible {
  std::vector<int> near;
  std::vector<int> far;
};

class Generator {
 public:
  explicit Generator(std::mt19937 random) : random_(random) {}

  // In hundredths, so that a program can be read.
  double number(int from, int to) { return (from + below(to - from)) / 100.0; }

  Expression root(std::vector<Op> chain) {
    const Visible leaves{{}, {kW, kX, kV, kA, kT, kU}};
    return body(leaves, std::move(chain));
  }

 private:
  std::mt19937 random_;
  int next_name_ = kFirstLocal;
  int next_table_ = kFirstLocalTable;

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  int pick(const std::vector<int>& names) {
    return names[static_cast<std::size_t>(below(static_cast<int>(names.size())))];
  }
  int new_name() { return next_name_++; }

  static std::vector<int> all(const Visible& visible) {
    std::vector<int> names = visible.far;
    names.insert(names.end(), visible.near.begin(), visible.near.end());
    return names;
  }
  // Inside of a body with these parameters.
  static Visible inside(const Visible& visible, std::vector<int> parameters) {
    return {std::move(parameters), all(visible)};
  }

  static Expression make(Node node) { return std::make_shared<const Node>(std::move(node)); }
  Expression constant(int from = 20, int to = 140) { return make({.op = Op::kNumber, .number = number(from, to)}); }
  Expression unary(Op op, Expression x) { return make({.op = op, .variant = below(4), .operands = {std::move(x)}}); }
  // In braces, the operands are made in order, whatever the compiler.
  struct Two {
    Op op;
    Expression a;
    Expression b;
  };
  Expression binary(Two two) {
    return make({.op = two.op, .variant = below(4), .operands = {std::move(two.a), std::move(two.b)}});
  }
  Expression read(int name) {
    if (!is_table(name)) return make({.op = Op::kRef, .name = name});
    const Op op = one_in(2) ? Op::kElement : Op::kGatherSum;
    return make({.op = op, .name = name, .index = {below(kTableSize), below(kTableSize)}, .variant = below(2)});
  }
  Expression smooth(Expression x) {
    constexpr std::array<Op, 5> kOps = {Op::kSin, Op::kSin, Op::kCos, Op::kTanh, Op::kSigmoid};
    return unary(kOps[static_cast<std::size_t>(below(kOps.size()))], std::move(x));
  }

  // A small expression of these names.
  Expression of(const std::vector<int>& names) {
    if (names.empty()) return constant();
    if (one_in(30)) return binary({Op::kMultiply, unary(Op::kStopGradient, read(pick(names))), read(pick(names))});
    switch (below(6)) {
      case 0:
        return smooth(read(pick(names)));
      case 1:
        return binary({Op::kMultiply, read(pick(names)), read(pick(names))});
      case 2:
        return binary({Op::kMultiply, smooth(read(pick(names))), read(pick(names))});
      case 3:
        return smooth(binary({Op::kMultiply, read(pick(names)), constant()}));
      case 4:
        return binary({Op::kDivide, read(pick(names)), read(pick(names))});
      default:
        return binary({one_in(2) ? Op::kAdd : Op::kSubtract, smooth(read(pick(names))), read(pick(names))});
    }
  }

  // A body that has the first transform of the chain in it and the rest in that.
  Expression body(const Visible& visible, std::vector<Op> chain) {
    if (one_in(5)) {
      const int name = new_name();
      Expression value = of(all(visible));
      Visible more = visible;
      (one_in(2) ? more.near : more.far).push_back(name);
      return make(
          {.op = Op::kLet, .operands = {std::move(value)}, .bodies = {{{name}, mixture(more, std::move(chain))}}});
    }
    const bool has_leaves = std::ranges::count(visible.far, kT) > 0;
    if (has_leaves && one_in(12)) {
      const int source = one_in(2) ? kT : kU;
      Expression inner = mixture({{source}, all(visible)}, {});
      const int table = next_table_;
      next_table_ += kTableSize;
      Visible more = visible;
      more.near.push_back(table);
      return make({.op = Op::kLetRows,
                   .name = source,
                   .bodies = {{{}, std::move(inner)}, {{table}, mixture(more, std::move(chain))}}});
    }
    return mixture(visible, std::move(chain));
  }

  Expression mixture(const Visible& visible, std::vector<Op> chain) {
    const std::vector<int> everything = all(visible);
    const std::vector<int>& near = visible.near.empty() ? everything : visible.near;
    const std::vector<int>& far = visible.far.empty() ? everything : visible.far;
    if (chain.empty()) {
      switch (below(5)) {
        case 0:
          return binary({Op::kAdd, of(near), of(far)});
        case 1:
          return binary({Op::kMultiply, of(near), of(far)});
        case 2:
          return binary({Op::kMultiply, smooth(read(pick_or_any(near))), of(far)});
        case 3:
          return smooth(binary({Op::kMultiply, of(everything), of(near)}));
        default:
          return binary({Op::kAdd, binary({Op::kMultiply, of(near), of(everything)}), of(far)});
      }
    }
    Expression inner = nested(visible, std::move(chain));
    switch (below(6)) {
      case 0:
        return binary({Op::kMultiply, std::move(inner), of(near)});
      case 1:
        return binary({Op::kAdd, binary({Op::kMultiply, std::move(inner), of(near)}), of(far)});
      case 2:
        return binary({Op::kMultiply, smooth(binary({Op::kAdd, std::move(inner), of(near)})), of(far)});
      case 3:
        return binary({Op::kAdd, of(near), binary({Op::kMultiply, of(far), std::move(inner)})});
      case 4:
        return smooth(binary({Op::kAdd, of(near), std::move(inner)}));
      default:
        return binary({Op::kAdd, smooth(std::move(inner)), binary({Op::kMultiply, of(near), of(far)})});
    }
  }
  int pick_or_any(const std::vector<int>& names) { return names.empty() ? kW : pick(names); }

  std::vector<Expression> some(const Visible& visible, int count) {
    std::vector<Expression> list;
    for (int i = 0; i < count; ++i) list.push_back(of(all(visible)));
    return list;
  }

  // By what a derivative is taken: an existing name, or -1 for a new one.
  int source(const Visible& visible, bool needs_one) {
    const std::vector<int> names = all(visible);
    if (names.empty() || (!needs_one && one_in(2))) return -1;
    return one_in(3) ? (std::ranges::count(names, kT) > 0 ? (one_in(2) ? kT : kU) : pick(names)) : pick(names);
  }

  Expression nested(const Visible& visible, std::vector<Op> chain) {
    Node node{.op = chain.front()};
    chain.erase(chain.begin());
    const auto body_of = [&](std::vector<int> parameters) {
      Expression result = body(inside(visible, parameters), chain);
      node.bodies.push_back({std::move(parameters), std::move(result)});
    };
    // The chain goes on in one of the bodies only.
    const auto bodies_of = [&](int count, const std::vector<int>& parameters) {
      const int chosen = below(count);
      for (int i = 0; i < count; ++i) {
        node.bodies.push_back({parameters, body(inside(visible, parameters), i == chosen ? chain : std::vector<Op>())});
      }
    };
    const auto names = [&](int count) {
      std::vector<int> list;
      for (int i = 0; i < count; ++i) list.push_back(new_name());
      return list;
    };
    switch (node.op) {
      case Op::kTape:
      case Op::kAccumulator:
        derivative(node, visible, chain);
        break;
      case Op::kFunction:
      case Op::kRecomputeGrad: {
        const int count = 1 + below(2);
        node.operands = some(visible, count);
        body_of(names(count));
        if (node.op == Op::kFunction) {
          node.variant = below(4);
          // A function that is kept has traced the tensors that it captured at its first call.
          if (captures_locals(make(node))) node.variant &= ~kPersistent;
        }
        break;
      }
      case Op::kCond:
      case Op::kSwitchCase: {
        node.operands = some(visible, 1);
        node.number = number(10, 90);
        bodies_of(node.op == Op::kCond ? 2 : 3, {});
        // A branch may return what it captures as it is.
        if (one_in(5) && !all(visible).empty()) node.bodies[0].result = read(pick(all(visible)));
        break;
      }
      case Op::kWhileLoop:
        node.operands = some(visible, 1);
        node.number = number(50, 300);
        node.index[0] = 1 + below(3);
        if (one_in(4)) {
          const int c = new_name();
          node.bodies = {{{c}, body(inside(visible, {c}), {})}};
          const int d = new_name();
          node.bodies.push_back({{d}, body(inside(visible, {d}), chain)});
        } else {
          body_of(names(1));
          const int d = new_name();
          node.bodies.push_back({{d}, of({d})});
        }
        break;
      case Op::kScan:
      case Op::kFoldl:
        node.operands = some(visible, 2 + below(3));
        node.variant = below(2);
        body_of(names(2));
        break;
      case Op::kMapFn:
      case Op::kVectorizedMap:
        node.operands = some(visible, 1 + below(3));
        body_of(names(1));
        break;
      case Op::kPerExampleGradients: {
        node.operands = some(visible, 1 + below(3));
        node.name = source(visible, true);
        const int row = new_name();
        if (node.name < 0) return of({});  // nothing there is to differentiate by
        node.bodies = {{{row}, body(with_source(inside(visible, {row}), node.name), chain)}};
        break;
      }
      case Op::kJacobian:
        node.name = source(visible, false);
        if (node.name < 0) {
          node.operands = some(visible, 2);
          node.variant = below(2);
          bodies_of(1 + below(2), names(2));
        } else if (!chain.empty() && chain.front() == Op::kTape && one_in(2) &&
                   std::ranges::count(visible.far, kT) > 0) {
          node.variant = kOfRows;
          node.bodies = {{{}, rows_gradient(with_source(inside(visible, {}), node.name), rest(chain))}};
        } else {
          const int count = 1 + below(2);
          const int chosen = below(count);
          for (int i = 0; i < count; ++i) {
            node.bodies.push_back(
                {{}, body(with_source(inside(visible, {}), node.name), i == chosen ? chain : std::vector<Op>())});
          }
        }
        break;
      case Op::kHessian:
        node.operands = some(visible, 2);
        node.variant = below(2);
        body_of(names(2));
        break;
      case Op::kCustomGradient: {
        const int x = new_name();
        node.operands = some(visible, 1);
        node.variant = below(2);
        // The value depends on the argument alone, since the rule says nothing of anything else.
        const bool in_value = one_in(2);
        node.bodies = {{{x}, body({{x}, {}}, in_value ? chain : std::vector<Op>())}};
        node.bodies.push_back({{x}, body(inside(visible, {x}), in_value ? std::vector<Op>() : chain)});
        break;
      }
      case Op::kOdeint:
        node.operands = some(visible, 1);
        node.variant = below(4);
        body_of(names(2));
        break;
      default:  // fixed_point, root
        node.operands = some(visible, 1);
        body_of(names(1));
        break;
    }
    return make(std::move(node));
  }

  static std::vector<Op> rest(const std::vector<Op>& chain) { return {chain.begin() + 1, chain.end()}; }
  // What a derivative is taken by should be used.
  static Visible with_source(Visible visible, int name) {
    visible.near.push_back(name);
    return visible;
  }

  // A gradient with respect to a table, as it is.
  Expression rows_gradient(const Visible& visible, const std::vector<Op>& chain) {
    const int table = one_in(2) ? kT : kU;
    Visible more = with_source(visible, table);
    return make({.op = Op::kTape,
                 .name = table,
                 .variant = kSum | (below(2) * kPersistent),
                 .bodies = {{{}, body(more, chain)}}});
  }

  void derivative(Node& node, const Visible& visible, const std::vector<Op>& chain) {
    if (node.op == Op::kAccumulator) node.operands = some(visible, 1);
    node.variant = below(4);
    node.name = source(visible, false);
    Visible inner = visible;
    Body body_of;
    if (node.name < 0) {
      const int x = new_name();
      node.operands.push_back(of(all(visible)));
      body_of.parameters = {x};
      inner = inside(visible, {x});
    } else {
      inner = with_source(inside(visible, {}), node.name);
      if (node.op == Op::kTape && is_table(node.name) && one_in(2)) node.variant |= kSum;
    }
    const bool of_rows =
        !chain.empty() && chain.front() == Op::kTape && one_in(2) && std::ranges::count(visible.far, kT) > 0;
    body_of.result = of_rows ? rows_gradient(inner, rest(chain)) : body(inner, chain);
    node.bodies = {std::move(body_of)};
  }
};

std::mt19937 random_of(unsigned number, unsigned attempt) {
  std::seed_seq seed{number, attempt, 20u};
  return std::mt19937(seed);
}

}  // namespace

Program generate(unsigned number, unsigned attempt) {
  std::mt19937 random = random_of(number, attempt);
  std::vector<Op> chain;
  if (number < kSystematic) {
    chain = {transform(static_cast<int>(number % kTransforms)), transform(static_cast<int>(number / kTransforms))};
  } else {
    for (int i = 0; i < 3; ++i) chain.push_back(transform(static_cast<int>(random() % kTransforms)));
  }
  Program program;
  program.number = number;
  Generator generator(random);
  for (double& leaf : program.leaves) leaf = generator.number(30, 150);
  program.root = generator.root(std::move(chain));
  return program;
}

Program generate_suitable(unsigned number) {
  for (unsigned attempt = 0;; ++attempt) {
    Program program = generate(number, attempt);
    if (leaves_of(program.root).empty()) continue;
    try {
      evaluate_plainly(program, direction_of(number));
      return program;
    } catch (const Unsuitable&) {
      // Another one, then.
    }
  }
}

std::array<double, kCoordinates> direction_of(unsigned number) {
  std::mt19937 random = random_of(number, 1u << 31);
  std::array<double, kCoordinates> direction;
  for (double& one : direction) one = (static_cast<int>(random() % 200) - 100) / 100.0 + 0.005;
  return direction;
}

}  // namespace capstan::nested
