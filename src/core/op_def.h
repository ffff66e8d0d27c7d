// OpDef: all that the library knows of an operation, in one constant.
//
// There are three kinds. An *elementwise* op is a scalar formula and its derivative (src/ops/elementwise-inl.h
// makes the OpDef from them). A *structured* op spells out its parts: infer, kernel, vjp. A *composite* is a function
// of tensors written in other ops; it is here so that it can be called by name, documented and tested like any op.
//
// An op is found by its address, or by name through the registry (src/ops/registry.cc). Nothing is registered at run
// time; every OpDef is a constant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "capstan/tensor.h"
#include "src/core/attributes.h"
#include "src/core/cpu.h"
#include "src/core/execution.h"

namespace capstan {

struct OpDef;
struct FormulaCode;
struct OpForPrograms;

// The most inputs that an op with a fixed number of them has, and the most outputs of any op with a fixed number.
inline constexpr int kMaxInputs = 6;
inline constexpr std::int8_t kVariadic = -1;

// --- Elementwise loops ---

// One call of an elementwise loop. Positions whose bit in `scalars` is set repeat one element.
// Forward loops read in[0..inputs); vjp loops read in[0] = cotangent, in[1..3] = inputs, in[4] = output, as far as the
// formula reads them; the others may be null.
struct LoopArgs {
  void* out;
  const void* in[5];
  std::int64_t n;
  const double* parameters;  // the op's attributes, doubles only
  std::uint32_t scalars;
  bool accumulate;  // add to `out` instead of writing it
};
using Loop = void (*)(const LoopArgs&);

// The loops of one op for one instruction set; null where the dtype is not supported.
struct LoopTable {
  Loop forward[kDTypes];
  Loop vjp[3][kDTypes];
};

// Bits of what the derivative of one input reads: positions as in LoopArgs::in.
inline constexpr std::uint8_t kReadsCotangent = 1, kReadsInput0 = 2, kReadsInput1 = 4, kReadsInput2 = 8,
                              kReadsOutput = 16;

// --- Structured ops ---

// What a shape rule says of one output.
struct OutputSpec {
  DType dtype = DType::kFloat32;
  Shape shape;
};

// What a shape rule has computed of shapes and attributes and its kernel needs as well, so that it is computed once for
// a plain call, and once for all runs of a program. It holds no elements of operands and no addresses.
class Geometry {
 public:
  // Where it lies, what `make` returns is made: a copy would wait for the small writes before it.
  template <class Make>
  const auto& set(const Make& make) {
    using G = std::invoke_result_t<const Make&>;
    static_assert(std::is_trivially_copyable_v<G> && sizeof(G) <= kMostBytes && alignof(G) <= alignof(std::int64_t));
    size_ = sizeof(G);
    return *new (bytes_) G(make());
  }
  std::span<const std::byte> bytes() const { return {bytes_, size_}; }

 private:
  static constexpr std::size_t kMostBytes = 320;
  alignas(std::int64_t) std::byte bytes_[kMostBytes];
  std::size_t size_ = 0;
};

// A call whose operands are resolved.
struct Call {
  const OpDef& op;
  std::span<const TensorRef> inputs;
  const void* attribute_data;
  const void* geometry_data = nullptr;  // for the kernel: what infer has handed on
  const Execution& execution = kAlone;  // for the kernel

  const TensorRef& input(int i) const { return inputs[static_cast<std::size_t>(i)]; }
  int input_count() const { return static_cast<int>(inputs.size()); }
  template <class A>
  const A& attributes() const {
    return *static_cast<const A*>(attribute_data);
  }
  template <class G>
  const G& geometry() const {
    return *static_cast<const G*>(geometry_data);
  }
};

// The outputs of a structured op: allocated by the engine from the specs, filled by the kernel. A kernel may replace
// outputs[i] by a view of an input (see make_view in apply.h) if the op has the flag kReturnsViews; then the engine
// allocates nothing.
class OutputSpecs {
 public:
  void add(DType dtype, const Shape& shape) {
    if (count_ < kInline) {
      inline_[count_].dtype = dtype;
      inline_[count_].shape = shape;
    } else {
      more_.push_back({dtype, shape});
    }
    ++count_;
  }
  int size() const { return count_; }
  const OutputSpec& operator[](int i) const {
    return i < kInline ? inline_[i] : more_[static_cast<std::size_t>(i - kInline)];
  }
  // To the kernel, which has it as call.geometry<G>(): a G, or what a function returns.
  template <class G>
  const auto& hand_on(const G& geometry) {
    if constexpr (std::is_invocable_v<const G&>) {
      return geometry_.set(geometry);
    } else {
      return geometry_.set([&] { return geometry; });
    }
  }
  std::span<const std::byte> geometry() const { return geometry_.bytes(); }

 private:
  static constexpr int kInline = 1;
  OutputSpec inline_[kInline];
  std::vector<OutputSpec> more_;
  int count_ = 0;
  Geometry geometry_;
};
using Infer = void (*)(const Call& call, OutputSpecs& outputs);
using Kernel = void (*)(const Call& call, std::span<Tensor> outputs);

// What a vjp rule sees. Inputs and outputs that the op's Saves do not name are stand-ins without data: their shape and
// dtype can be used (sum_like, reshape_like, broadcast_like), their elements cannot.
class VjpCall {
 public:
  virtual const Tensor& input(int i) const = 0;
  virtual const Tensor& output(int i = 0) const = 0;
  // The cotangent of an output; zeros if nothing flowed into it.
  virtual const Tensor& cotangent(int i = 0) const = 0;
  virtual bool has_cotangent(int i) const = 0;
  // True if the cotangent of input i is asked for.
  virtual bool needs(int i) const = 0;
  virtual int input_count() const = 0;
  virtual const void* attribute_data() const = 0;
  template <class A>
  const A& attributes() const {
    return *static_cast<const A*>(attribute_data());
  }

 protected:
  ~VjpCall() = default;
};

// Writes the cotangents of the inputs that are needed; an entry left empty is a missing gradient. A rule is written in
// the library's own ops, so that gradients of gradients exist; it does not sum over broadcast axes (the reverse loop
// does: it sums a cotangent whose shape is larger than its input's).
using Vjp = void (*)(const VjpCall& call, std::span<Tensor> cotangents);

// Writes the tangents of the outputs, given those of the inputs; empty ones are missing. The call has no cotangents.
using Jvp = void (*)(const VjpCall& call, std::span<const Tensor> tangents, std::span<Tensor> of_outputs);

// Which values a vjp rule reads, by bits of input and output positions. For a variadic op bit 0 stands for all inputs.
struct Saves {
  std::uint16_t inputs = 0;
  std::uint16_t outputs = 0;
};

// What a batching rule sees: one call that stands for `size` calls, one for each item. An input that differs from item
// to item has one more axis in front, of that length; at least one does.
struct BatchCall {
  const OpDef& op;
  std::span<const Tensor> inputs;
  std::span<const std::uint8_t> batched;  // of each input: whether it has the axis
  std::int64_t size;
  const void* attribute_data;

  const Tensor& input(int i) const { return inputs[static_cast<std::size_t>(i)]; }
  bool is_batched(int i) const { return batched[static_cast<std::size_t>(i)] != 0; }
  int input_count() const { return static_cast<int>(inputs.size()); }
  // What the call of one item sees.
  int item_rank(int i) const { return input(i).rank() - (is_batched(i) ? 1 : 0); }
  template <class A>
  const A& attributes() const {
    return *static_cast<const A*>(attribute_data);
  }
};

// Computes the outputs of all items at once, each with the axis of the items in front, in the library's own ops.
// Returns false if it has no way for these inputs; then the items are computed one by one.
using BatchRule = bool (*)(const BatchCall& call, std::vector<Tensor>& outputs);

// A loop that an op runs: of the formula of `op`, or of its derivative for an input.
struct LoopOfOp {
  const OpDef* op;
  int input;                // -1: the formula itself
  std::uint32_t positions;  // what the operands are, by bits of LoopArgs::in
  const double* parameters;
};
using LoopOf = LoopOfOp (*)(const void* attributes);

// A composite: computes its outputs with other ops.
using Compose = void (*)(std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs);

// The inputs of an op by their names, comma separated ("a, b"), for errors and documentation; as many as there are
// names, or kVariadic: any number.
struct InputNames {
  constexpr InputNames(std::string_view list, std::int8_t number) : names(list), count(number) {}
  constexpr InputNames(std::string_view list)
      : InputNames(list, static_cast<std::int8_t>(list.empty() ? 0 : 1 + std::count(list.begin(), list.end(), ','))) {}
  constexpr InputNames(const char* list) : InputNames(std::string_view(list)) {}

  std::string_view names;
  std::int8_t count;
};

enum class OpKind : std::uint8_t { kElementwise, kStructured, kComposite };

enum OpFlags : std::uint16_t {
  kNoFlags = 0,
  kConditionFirst = 1,     // elementwise: input 0 is bool and has no gradient
  kBooleanResult = 2,      // elementwise: the result is bool
  kNotDifferentiable = 4,  // every gradient is missing
  kKeepsRowSparse = 8,     // unary and linear: a row-sparse cotangent stays one
  kReturnsViews = 16,      // the kernel makes its outputs itself (views, or data-dependent shapes)
  kStateful = 32,          // the result depends on more than the inputs: random draws
  kTakesAnyDTypes = 64,    // structured: inputs may differ in dtype; infer checks them
  kUpdatesInPlace = 128,   // structured: output i may be the buffer of input i, which the kernel then overwrites
  kReshapes = 256,         // the output is a view of all elements of input 0
  kSameForItems = 512,     // stateful: one run serves many items if their inputs are the same, unlike a draw
  // Structured: linear in the floating inputs (those that are no shapes), with nothing added; in all of them together,
  // as concat is, or in each by itself, as matmul is, if its rule for one reads the others. Tangents go through the op.
  kLinear = 1024,
  // Structured: what a program that is short of memory may compute twice; it costs about as much as to read the
  // operands, or is paid by the number of products.
  kCheapAgain = 2048,
  kCostlyAgain = 4096,
  kFinishesRows = 8192,  // structured: may run an epilogue on the rows it has finished (execution.h)
  kReadsRows = 16384,    // structured: uses a prologue of input 0, in float32 and float64 (execution.h)
  // Structured: the kernel calls ops and programs and looks at no element itself, so it serves tensors of any device.
  kCallsOps = 32768,
};

struct OpDef {
  std::string_view name;
  std::string_view text;  // one sentence for documentation
  OpKind kind = OpKind::kStructured;
  std::uint16_t flags = kNoFlags;
  std::int8_t outputs = 1;  // kVariadic: infer decides
  InputNames inputs = "x";

  const AttributeType* attributes = nullptr;  // null: none

  // Elementwise.
  const LoopTable* const* loops = nullptr;  // by instruction set
  std::uint8_t reads[3] = {};               // per input: what its derivative reads
  std::uint8_t passes = 0;                  // bit i: the cotangent of input i is the cotangent of the output itself
  const FormulaCode* formula = nullptr;     // over real numbers, as data

  // Structured.
  Infer infer = nullptr;
  Kernel kernel = nullptr;
  LoopOf loop = nullptr;  // the op is one elementwise loop, in traces
  Saves saves;
  std::uint16_t shape_inputs = 0;  // bit i: of input i only shape and dtype are read, never an element

  // Both: the rule in library ops. For elementwise ops it is made from the formula.
  Vjp vjp = nullptr;

  // Structured: where tangents do not have to follow from the rest (src/transforms/jvp.h); null for all but a few.
  Jvp jvp = nullptr;
  // Structured: a call for many items; src/ops/batching.h has the common rules. Elementwise ops need none. Null: the
  // items are computed one by one.
  BatchRule batch = nullptr;

  // Composite: what it is. Any other kind: what a call by name runs, if the public function does more than the op.
  Compose compose = nullptr;

  // What passes over graphs, lowering and the profiler know of the op (src/core/op_for_programs.h); null: nothing.
  const OpForPrograms* programs = nullptr;
};

// True for the dtypes whose loops are compiled for each instruction set; those of the others are in table 0.
constexpr bool has_vector_loops(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kFloat64; }

// The loops of an elementwise op for a dtype on this processor.
inline const LoopTable& loops_of(const OpDef& op, DType dtype) {
  return *op.loops[has_vector_loops(dtype) ? instruction_set() : 0];
}

constexpr bool has_flag(const OpDef& op, OpFlags flag) { return (op.flags & flag) != 0; }

}  // namespace capstan
