// What those who see calls as data know of an op, beside what it computes: passes over graphs, programs, the profiler,
// and jacobians that go example by example.
//
// An op that has any of it points to one constant (OpDef::programs). Nothing in it changes a gradient; a rule that says
// nothing of a call costs speed, never a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/core/op_def.h"

namespace capstan {

// --- Identities ---
//
// Calls that give the elements which they are given, such as x * 1. A rule looks at a call as a pattern (dtypes and
// shapes of operands, elements of constants, the calls that made the operands) and names a value that has the elements
// of the result, in their order. It holds for every element, with every bit: infinities, subnormal numbers and the sign
// of zeros; NaN payloads may differ. So x + 0 is no identity (-0 becomes 0), but x - 0 is. Gradients do not count:
// identities are for programs, which have none.
//
// A rule need not care about broadcasting: whoever asks it rejects a value of another number of elements, and an
// operand that is as large as the result is not stretched. Nor about the shape, which may be another one than that of
// the result.

// A graph, as a rule sees it.
class Expressions {
 public:
  using Value = std::int32_t;
  static constexpr Value kNone = -1;

  struct Call {
    const OpDef* op;
    std::span<const Value> inputs;
    Value result;
    const void* attributes;

    Value input(std::size_t i) const { return inputs[i]; }
  };

  virtual DType dtype(Value value) const = 0;
  virtual const Shape& shape(Value value) const = 0;
  // Empty if the value is not known before a run.
  virtual const Tensor& constant(Value value) const = 0;
  // The call whose only result a value is; null if there is none.
  virtual const Call* maker(Value value) const = 0;

 protected:
  ~Expressions() = default;
};

// The value with the elements of the call's result, or kNone.
using IdentityRule = Expressions::Value (*)(const Expressions& graph, const Expressions::Call& call);

// --- Expansions ---
//
// A kernel that ends in elementwise work keeps it from being fused with what follows. Such an op says what it is made
// of: sums and the like, which stay whole, and elementwise ops, in just the order of its kernel, so that the bits are
// the same. Only programs are written in these; gradients are those of the op.

// Computes the outputs of an op in other ops, for float32 and float64.
using ExpandRule = void (*)(std::span<const Tensor> inputs, const void* attributes, std::vector<Tensor>& outputs);

// --- Sums over rows ---
//
// Ops whose results are sums over the rows of an operand, for programs that take them while that operand is made.

class RowSums;  // src/kernels/row_sums.h

// What is done with the sums of a call: run(), or the chunks one by one and finish().
struct TakeRowSums {
  void (*take)(void* context, const RowSums& sums);
  void* context;
  void operator()(const RowSums& sums) const { take(context, sums); }
};

struct RowSumsRule {
  int input = -1;  // the operand that is summed: float32 or float64, [..., columns]
  // Has the sums of a call taken, and computes its outputs from them. Null: the op is none of these.
  void (*with_sums)(const Call& call, std::span<Tensor> outputs, const TakeRowSums& take) = nullptr;
};

// --- Cost ---

struct Cost {
  double multiply_adds = 0;
  // With fewer multiply-adds the kernel runs on one thread; 0 if that is not known.
  double one_thread_below = 0;
};
// Of a call with operands and results of these shapes. Only ops that are paid by products say it.
using CostRule = Cost (*)(std::span<const Shape> inputs, std::span<const Shape> outputs);

// --- One example of a batch ---
//
// The gradient of a result for one example is a pullback whose cotangent is zero in all other examples. A rule says how
// an op runs on that example alone (src/transforms/row_pullback.h).

// What a value of such a pullback is.
enum class Examples : std::uint8_t {
  kSame,  // does not depend on the cotangent
  kRow,   // has one example, of all those that it has in the full pass, where the others are zeros
  kFull,  // has no axis of examples, and depends on the cotangent
};

// A call, by its shapes in the full pass; at least one input is a row.
struct ExampleCall {
  std::span<const Examples> kinds;  // of the inputs
  std::span<const Shape> inputs;
  const Shape& output;
  std::int64_t examples;
  const void* attribute_data;

  bool is_row(std::size_t i) const { return kinds[i] == Examples::kRow; }
  bool is_same(std::size_t i) const { return kinds[i] == Examples::kSame; }
  // Whether the first of `rank` axes of input i is that of the examples.
  bool has_examples(std::size_t i, int rank) const {
    return inputs[i].rank() == rank && rank > 0 && inputs[i][0] == examples;
  }
};

// How the op runs on one example.
struct ExampleStep {
  std::uint32_t cut = 0;  // bit i: only the example is taken of input i
  Examples result = Examples::kRow;
};
// Nothing if there is no way for these inputs.
using ExampleRule = std::optional<ExampleStep> (*)(const ExampleCall& call);

// --- Heads in rows ---
//
// Ops over heads, [batch, heads, length, depth], that have a twin over heads that are side by side in rows, which
// needs no transposes around it (src/graph/attention_heads.cc).

struct HeadsInRows {
  const OpDef* op = nullptr;  // the twin; null: there is none
  std::size_t operands = 0;   // that have heads: the first ones, for others follow
  std::size_t parts = 0;      // the first of these, which may be parts of one value
  // Writes the twin's attributes, which are zeros: those of the op, which part each operand is, and whether the results
  // are the parts of one.
  void (*attributes)(const void* of, std::span<const int> parts, bool joined, void* to) = nullptr;
};

// --- All of it ---

struct OpForPrograms {
  IdentityRule identity = nullptr;
  ExpandRule expand = nullptr;
  RowSumsRule row_sums = {};
  CostRule cost = nullptr;
  ExampleRule example = nullptr;
  HeadsInRows heads_in_rows = {};
  // A program writes variables where they lie only if nothing can fail afterwards. Elementwise ops cannot, but for
  // those whose loops throw for some elements; other ops can, but for those that never do.
  bool refuses_elements = false;
  bool never_fails = false;
};

// For ops of which only an identity is known.
template <IdentityRule kRule>
inline constexpr OpForPrograms kWithIdentity{.identity = kRule};

// For ops of which only that is known.
inline constexpr OpForPrograms kNeverFails{.never_fails = true};

// What is known of the op, whether or not it has such a constant.
inline const OpForPrograms& for_programs(const OpDef& op) {
  static constexpr OpForPrograms kNothing;
  return op.programs == nullptr ? kNothing : *op.programs;
}

}  // namespace capstan
