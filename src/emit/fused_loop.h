// A fused loop: elementwise formulas over one range of elements, as data, and the machine code for it.
//
// The range has rows and columns. Every formula is evaluated once for each element, values that only other formulas
// read are never stored, and a sum over the range may be at the end. src/emit turns this into machine code with
// exactly the bits of the library's own loops; what it cannot emit, it refuses, and the caller runs those loops.
#pragma once

#include <cstdint>
#include <vector>

#include "capstan/dtype.h"
#include "src/core/micro.h"

namespace capstan {

// The formula of a node that changes nothing but the kind of its operand: a truth value becomes 0 or 1, a number
// becomes true where it is not zero.
inline constexpr MicroStep kConversionSteps[] = {{MicroOp::kInput, 0}};
inline constexpr MicroCode kConversion{kConversionSteps, 0};

struct FusedLoop {
  // Which element of an operand belongs to row r and column c.
  enum class Access : std::uint8_t {
    kFull,    // [r * columns + c]
    kRow,     // [c], the same for every row
    kColumn,  // [r], the same for every column
    kScalar,  // [0]
  };
  struct Input {
    Access access;
    bool boolean = false;  // bytes of 0 and 1; otherwise elements of `dtype`
  };
  struct Node {
    const MicroCode* code;                            // a constant: kernels are known by its address
    std::int32_t operands[5] = {-1, -1, -1, -1, -1};  // by position in LoopArgs::in, as in MicroOp::kInput: values
    double parameters[5] = {};                        // they become part of the code: other parameters, another kernel
    bool boolean = false;                             // the result is a truth value
  };
  enum class Store : std::uint8_t {
    kFull,  // [r * columns + c]; bytes of 0 and 1 for truth values
    kSum,   // the sum of all elements, in 64 bytes of partial sums: see FusedCall
  };
  struct Output {
    std::int32_t value;
    Store store;
  };

  DType dtype;  // float32 or float64
  // Values are numbered: the inputs, then the nodes. A node reads values before it.
  std::vector<Input> inputs;
  std::vector<Node> nodes;
  std::vector<Output> outputs;
};

// One run. A kSum output points to 64 bytes: partial sum k (of 16, or 8 in float64) is the sum, from zero and in the
// order of rows and columns, of the elements whose column has the remainder k.
// Operands need no alignment. An output may be the memory of a kFull input whose elements are as large; operands do not
// overlap otherwise. If no operand is kRow or kColumn, there is no loop over rows in the code:
// `rows` is 1, and `columns` the number of elements.
struct FusedCall {
  const void* const* inputs;
  void* const* outputs;
  std::int64_t rows;
  std::int64_t columns;
};
using FusedKernel = void (*)(const FusedCall& call);

// Machine code for the loop on this processor, or null: no emitter for it, a function without a vector form, no
// executable memory, too much code already, a loop that makes no sense, or emit_machine_code(false). Equal loops share
// one kernel; it lives as long as the process. The results have the bits of the library's own loops, but for what a NaN
// holds.
FusedKernel emit_fused_loop(const FusedLoop& loop);
// The same for an instruction set that this processor has.
FusedKernel emit_fused_loop(const FusedLoop& loop, int instruction_set);

// Whether a formula over elements of this type can be emitted at all.
bool can_emit(const MicroCode& code, DType dtype = DType::kFloat32);

// Whether emit_fused_loop emits from now on; kernels that exist are not affected. Initially false if the environment
// has CAPSTAN_EMIT=0, else true.
void emit_machine_code(bool emit);

}  // namespace capstan
