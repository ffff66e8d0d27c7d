#include "tests/nested/program.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace capstan::nested {
namespace {

constexpr const char* kNames[] = {"number",
                                  "ref",
                                  "element",
                                  "gather_sum",
                                  "stop_gradient",
                                  "sin",
                                  "cos",
                                  "tanh",
                                  "sigmoid",
                                  "add",
                                  "subtract",
                                  "multiply",
                                  "divide",
                                  "let",
                                  "let_rows",
                                  "tape",
                                  "accumulator",
                                  "function",
                                  "cond",
                                  "switch_case",
                                  "while_loop",
                                  "scan",
                                  "map_fn",
                                  "foldl",
                                  "vectorized_map",
                                  "per_example_gradients",
                                  "jacobian",
                                  "hessian",
                                  "recompute_grad",
                                  "custom_gradient",
                                  "fixed_point",
                                  "root",
                                  "odeint"};
static_assert(std::size(kNames) == static_cast<std::size_t>(Op::kOdeint) + 1);

template <class Visit>
void for_each_node(const Expression& e, const Visit& visit) {
  visit(*e);
  for (const Expression& operand : e->operands) for_each_node(operand, visit);
  for (const Body& body : e->bodies) for_each_node(body.result, visit);
}

}  // namespace

const char* name_of(Op op) { return kNames[static_cast<std::size_t>(op)]; }

int count_nodes(const Expression& e) {
  int count = 0;
  for_each_node(e, [&](const Node&) { ++count; });
  return count;
}

bool uses(const Expression& e, Op op) {
  bool found = false;
  for_each_node(e, [&](const Node& node) { found = found || node.op == op; });
  return found;
}

bool nests(const Expression& e, Op op) {
  bool found = false;
  for_each_node(e, [&](const Node& node) {
    if (node.op != op) return;
    for (const Body& body : node.bodies) found = found || uses(body.result, op);
  });
  return found;
}

bool captures_locals(const Expression& e) {
  std::set<int> bound;
  bool captures = false;
  for_each_node(e, [&](const Node& node) {
    // Names are unique and bound around what uses them, so a name is seen bound before it is seen used.
    for (const Body& body : node.bodies) bound.insert(body.parameters.begin(), body.parameters.end());
    if (node.name >= kFirstLocal && !bound.contains(node.name)) captures = true;
  });
  return captures;
}

std::vector<int> leaves_of(const Expression& e) {
  std::set<int> names;
  for_each_node(e, [&](const Node& node) {
    if (node.name >= 0 && is_leaf(node.name)) names.insert(node.name);
  });
  return {names.begin(), names.end()};
}

bool may_alias(const Expression& e) {
  switch (e->op) {
    case Op::kRef:
      return true;
    case Op::kLet:
    case Op::kFunction:
    case Op::kCond:
    case Op::kSwitchCase:
    case Op::kRecomputeGrad:
      return std::ranges::any_of(e->bodies, [](const Body& body) { return may_alias(body.result); });
    case Op::kLetRows:
      return may_alias(e->bodies[1].result);
    case Op::kCustomGradient:
      return may_alias(e->bodies[0].result);
    default:
      return false;
  }
}

}  // namespace capstan::nested
