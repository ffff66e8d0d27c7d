// Programs that nest transforms, as trees of scalar expressions.
//
// An expression is plain arithmetic, or a transform of Capstan with operands, which are computed before, and bodies,
// which become its functions. A body sees its parameters and everything outside of it, so each capture is just a name.
// Two evaluators give the tree a meaning: run_with_transforms.h calls the library, reference.h computes the same
// numbers without it.
//
// Names are numbers. The first ones are the leaves of a program, by which it is differentiated:
//
//     w, x   watched constants          v   a variable         a   an argument of the whole program
//     t      a watched table [3]        u   a variable [3]
//
// A table takes three names, one for each element. All others are local: parameters and what a let binds. Names from
// kFirstLocalTable on are tables, whose values are row-sparse gradients.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace capstan::nested {

enum class Op : std::uint8_t {
  // Plain expressions.
  kNumber,     // number
  kRef,        // name
  kElement,    // element index[0] of the table `name`, by gather or, if variant is odd, by an index
  kGatherSum,  // sum of sin(gather(name, {i, j, i})), i and j being index
  kStopGradient,
  kSin,
  kCos,
  kTanh,
  kSigmoid,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,   // a / (1.5 + b * b)
  kLet,      // bodies[0] with its parameter as operands[0]
  kLetRows,  // bodies[1] with its parameter, a table, as the gradient of bodies[0] with respect to the table `name`
  // Transforms.
  kTape,         // derivative of bodies[0] by its parameter, given as operands[0], or by `name`
  kAccumulator,  // the same times operands[0], in forward mode; a parameter is operands[1]
  kFunction,     // bodies[0] of the operands
  kCond,         // operands[0] > number ? bodies[0] : bodies[1]
  kSwitchCase,   // bodies[floor(2 * operands[0] + 1)], the last one for any other number
  kWhileLoop,    // c = operands[0]; while (i++ < index[0] && bodies[1](c) < number) c = bodies[0](c)
  kScan,         // of bodies[0](c, row) over operands[1], ..., c beginning as operands[0]; a weighted sum
  kMapFn,        // of bodies[0](row) over the operands; a weighted sum
  kFoldl,        // as scan; what is left at the end
  kVectorizedMap,
  kPerExampleGradients,  // derivatives of bodies[0](row) by `name`, for the rows of the operands; a weighted sum
  kJacobian,             // of all bodies, by their two parameters, given as operands, or by `name`; a weighted sum
  kHessian,              // of bodies[0] by its two parameters, given as operands; a weighted sum
  kRecomputeGrad,        // bodies[0] of the operands
  kCustomGradient,       // bodies[0](operands[0]), whose derivative is said to be bodies[1](operands[0])
  kFixedPoint,           // x = 0.3 * tanh(bodies[0](x)), from operands[0]
  kRoot,                 // 0 = 1.5 x + 0.2 x^3 - 0.4 * sin(bodies[0](x)), from operands[0]
  kOdeint,               // y' = 0.5 * sin(bodies[0](t, y)) from y(0) = operands[0]; y(0.2), or y(0.1) - y(0.2)
};

constexpr Op kFirstTransform = Op::kTape;
constexpr int kTransforms = static_cast<int>(Op::kOdeint) - static_cast<int>(kFirstTransform) + 1;

constexpr bool is_transform(Op op) { return op >= kFirstTransform; }
constexpr int transform_number(Op op) { return static_cast<int>(op) - static_cast<int>(kFirstTransform); }
constexpr Op transform(int number) { return static_cast<Op>(static_cast<int>(kFirstTransform) + number); }
// "while_loop", "tape".
const char* name_of(Op op);

// How an operation is written; which bits mean something depends on it.
enum Variant : int {
  kLendsFirst = 1,   // plain ops: the first operand stays with the caller instead of being given up
  kLendsSecond = 2,  //            the second
  kPersistent = 1,   // tape: serves many gradients; function: is made once for all calls
  kTapeFirst = 2,    // tape: is opened before its source is computed; function: is called before with another argument
  kSum = 4,          // tape over a table: elements are added up, and the table is the target of a derivative around it
  kReverse = 1,      // scan
  kByGather = 1,     // hessian, jacobian: elements of the point come from gather
  kOfRows = 2,       // jacobian by `name`: the target is the row-sparse gradient that bodies[0] is
  kWithJvp = 1,      // custom_gradient: says its tangents itself
  kDirect = 1,       // odeint: differentiates the steps
  kTwoTimes = 2,     // odeint: the second result
};

struct Node;
using Expression = std::shared_ptr<const Node>;

struct Body {
  std::vector<int> parameters;
  Expression result;
};

struct Node {
  Op op = Op::kNumber;
  double number = 0;
  int name = -1;
  std::array<int, 2> index = {};
  int variant = 0;
  std::vector<Expression> operands = {};
  std::vector<Body> bodies = {};

  bool has(Variant bit) const { return (variant & bit) != 0; }
};

constexpr int kW = 0, kX = 1, kV = 2, kA = 3, kT = 4, kU = 7;
constexpr int kCoordinates = 10;
constexpr std::array<int, 6> kSources = {kW, kX, kV, kA, kT, kU};
constexpr int kFirstLocal = kCoordinates;
constexpr int kFirstLocalTable = 1000;
constexpr int kTableSize = 3;

constexpr bool is_table(int name) { return name == kT || name == kU || name >= kFirstLocalTable; }
constexpr bool is_leaf(int name) { return name < kFirstLocal; }
constexpr int length_of(int name) { return is_table(name) ? kTableSize : 1; }

struct Program {
  unsigned number = 0;
  Expression root;
  std::array<double, kCoordinates> leaves = {};
};

// What weighs the elements of a table, and those of a result of rows.
constexpr std::array<double, kTableSize> kTableWeights = {0.7, -0.4, 1.1};
constexpr std::array<double, 4> kRowWeights = {0.6, 1.2, -0.5, 0.9};

constexpr double kOdeEnd = 0.2;

int count_nodes(const Expression& e);
bool uses(const Expression& e, Op op);
// Whether one stands in the body of another, at any depth.
bool nests(const Expression& e, Op op);
// Whether something in it has a name that it does not bind itself, other than leaves.
bool captures_locals(const Expression& e);
// The names of leaves that stand in it.
std::vector<int> leaves_of(const Expression& e);
// Whether the value can be the tensor of a name itself, so that a tape that watches one would know the other.
bool may_alias(const Expression& e);

// Calls visit(inside, outside) for each transform in a body of another with no third between them.
template <class Visit>
void for_each_pair(const Expression& e, const Visit& visit, const Node* around = nullptr) {
  for (const Expression& operand : e->operands) for_each_pair(operand, visit, around);
  if (is_transform(e->op) && around != nullptr) visit(e->op, around->op);
  for (const Body& body : e->bodies) for_each_pair(body.result, visit, is_transform(e->op) ? e.get() : around);
}

}  // namespace capstan::nested
