// Each round tries, from the root to the leaves, to put something smaller in the place of a node: a number, one of its
// operands or bodies, an operation without some of its operands, the same written in the plainest way. What still fails
// is kept, and the next round starts with it, until no replacement fails any more.
#include "tests/nested/shrink.h"

#include <algorithm>

namespace capstan::nested {
namespace {

Expression make(Node node) { return std::make_shared<const Node>(std::move(node)); }

// Rough, but less always means easier to read.
int weight(const Expression& e) {
  int sum = e->op == Op::kNumber ? 1 : e->op == Op::kRef ? 2 : is_transform(e->op) ? 12 : 4;
  sum += (e->variant & 1) + (e->variant >> 1 & 1) + (e->variant >> 2 & 1);
  if (e->op == Op::kWhileLoop) sum += e->index[0];
  if (e->op == Op::kGatherSum) sum += 2;
  if (e->op == Op::kSigmoid || e->op == Op::kTanh || e->op == Op::kCos || e->op == Op::kDivide) sum += 1;
  for (const Expression& operand : e->operands) sum += weight(operand);
  for (const Body& body : e->bodies) sum += weight(body.result);
  return sum;
}

// Whether every local name is bound where it is used.
bool is_closed(const Expression& e, std::vector<int>& bound) {
  if (e->name >= kFirstLocal && std::ranges::find(bound, e->name) == bound.end()) return false;
  for (const Expression& operand : e->operands) {
    if (!is_closed(operand, bound)) return false;
  }
  for (const Body& body : e->bodies) {
    bound.insert(bound.end(), body.parameters.begin(), body.parameters.end());
    const bool closed = is_closed(body.result, bound);
    bound.resize(bound.size() - body.parameters.size());
    if (!closed) return false;
  }
  return true;
}

// The value of a custom gradient depends on its argument alone.
bool is_sound(const Expression& e) {
  if (e->op == Op::kCustomGradient) {
    std::vector<int> bound = e->bodies[0].parameters;
    if (!leaves_of(e->bodies[0].result).empty() || !is_closed(e->bodies[0].result, bound)) return false;
  }
  if (e->op == Op::kFunction && e->has(kPersistent) && captures_locals(e)) return false;
  if (e->has(kSum) && (e->op != Op::kTape || !is_table(e->name))) return false;
  if (e->op == Op::kJacobian && e->has(kOfRows) && e->operands.empty()) {
    const Node& target = *e->bodies[0].result;
    if (target.op != Op::kTape || !target.has(kSum)) return false;
  }
  return std::ranges::all_of(e->operands, is_sound) &&
         std::ranges::all_of(e->bodies, [](const Body& body) { return is_sound(body.result); });
}

std::vector<Expression> smaller(const Expression& e) {
  std::vector<Expression> list;
  if (e->op != Op::kNumber) list.push_back(make({.op = Op::kNumber, .number = 0.7}));
  for (const Expression& operand : e->operands) list.push_back(operand);
  for (const Body& body : e->bodies) list.push_back(body.result);
  if (e->op == Op::kElement || e->op == Op::kGatherSum) {
    for (int name : {kW, kV}) list.push_back(make({.op = Op::kRef, .name = name}));
    list.push_back(make({.op = Op::kElement, .name = kT}));
  }
  if (e->op == Op::kRef && e->name != kW) list.push_back(make({.op = Op::kRef, .name = kW}));
  if (e->op == Op::kRef && e->name >= kFirstLocal) list.push_back(make({.op = Op::kRef, .name = kV}));
  if (e->operands.size() == 2 && !is_transform(e->op)) {
    for (const Op op : {Op::kAdd, Op::kMultiply}) {
      if (e->op == op || e->op == Op::kAdd) continue;
      list.push_back(make({.op = op, .operands = e->operands}));
    }
  }
  if (e->operands.size() == 1 && !is_transform(e->op) && e->op != Op::kSin && e->op != Op::kLet) {
    list.push_back(make({.op = Op::kSin, .operands = e->operands}));
  }
  // A body with what it is given.
  if (is_transform(e->op) && !e->bodies.empty()) {
    const Body& body = e->bodies[0];
    if (body.parameters.size() == 1 && !e->operands.empty()) {
      list.push_back(make({.op = Op::kLet, .operands = {e->operands.back()}, .bodies = {body}}));
    }
  }
  for (int bit : {1, 2, 4}) {
    if ((e->variant & bit) == 0) continue;
    Node node = *e;
    node.variant &= ~bit;
    list.push_back(make(node));
  }
  if (e->op == Op::kWhileLoop && e->index[0] > 1) {
    Node node = *e;
    --node.index[0];
    list.push_back(make(node));
  }
  // Fewer rows, fewer bodies.
  const bool has_rows = e->op == Op::kMapFn || e->op == Op::kVectorizedMap || e->op == Op::kPerExampleGradients;
  if ((has_rows && e->operands.size() > 1) || ((e->op == Op::kScan || e->op == Op::kFoldl) && e->operands.size() > 2)) {
    Node node = *e;
    node.operands.pop_back();
    list.push_back(make(node));
  }
  if (e->op == Op::kJacobian && e->bodies.size() > 1) {
    for (std::size_t i = 0; i < 2; ++i) {
      Node node = *e;
      node.bodies = {e->bodies[i]};
      list.push_back(make(node));
    }
  }
  return list;
}

// Calls visit(whole) for the program with each smaller part in its place, until it says that it has found one.
template <class Visit>
bool for_each_smaller(const Expression& e, const Visit& visit) {
  for (const Expression& one : smaller(e)) {
    if (weight(one) < weight(e) && visit(one)) return true;
  }
  for (std::size_t i = 0; i < e->operands.size(); ++i) {
    const auto rebuild = [&](const Expression& part) {
      Node node = *e;
      node.operands[i] = part;
      return visit(make(std::move(node)));
    };
    if (for_each_smaller(e->operands[i], std::function<bool(const Expression&)>(rebuild))) return true;
  }
  for (std::size_t i = 0; i < e->bodies.size(); ++i) {
    const auto rebuild = [&](const Expression& part) {
      Node node = *e;
      node.bodies[i].result = part;
      return visit(make(std::move(node)));
    };
    if (for_each_smaller(e->bodies[i].result, std::function<bool(const Expression&)>(rebuild))) return true;
  }
  return false;
}

}  // namespace

Program shrink(const Program& program, const std::function<bool(const Program&)>& fails) {
  Program best = program;
  const std::function<bool(const Expression&)> keep = [&](const Expression& root) {
    std::vector<int> bound;
    if (!is_closed(root, bound) || !is_sound(root)) return false;
    Program one = best;
    one.root = root;
    if (!fails(one)) return false;
    best = std::move(one);
    return true;
  };
  for (;;) {
    const Expression before = best.root;
    if (!for_each_smaller(before, keep)) return best;
  }
}

}  // namespace capstan::nested
