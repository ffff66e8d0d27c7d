// Registers for the instructions of a fused loop.
//
// The body of a loop is straight-line code, so one pass over it knows the next use of every value. When registers run
// out, the value whose next use is farthest goes to the stack, and not even there if it can be read again: constants,
// numbers that are the same for every element, inputs. So every program has a place, however large.
//
// This knows how many registers there are and which operands may be in memory; how an instruction is spelled is the
// encoder's business (encode.h).
#pragma once

#include <cstdint>
#include <vector>

#include "src/emit/fused_loop.h"
#include "src/emit/program.h"

namespace capstan::emit {

// What the allocator must know of an instruction set.
struct Registers {
  bool masks;      // masks have registers of their own; otherwise they are vectors
  int vectors;     // numbered from 0
  int first_mask;  // of those that serve
  int last_mask;
};

// Where an operand of a step is.
struct Place {
  enum class Kind : std::uint8_t {
    kNone,
    kRegister,
    kConstant,  // in the pool of the kernel, the same in every lane
    kFixed,     // on the stack, the same in every lane: an input of access kScalar or kColumn
    kSlot,      // on the stack, a whole vector or mask
    kZero,      // nowhere
  };
  Kind kind = Kind::kNone;
  int index = -1;

  bool operator==(const Place&) const = default;
};

// One step of the body, with registers.
struct Step {
  enum class Kind : std::uint8_t {
    kCompute,    // d = op(a, b, c); d is a, b or c for a multiply-add; only one operand is in memory
    kLoadInput,  // d = elements of input `bits`
    kLoad,       // d = what is at a, not in a register
    kMove,       // d = register a
    kSpill,      // slot d = register a
    kOutput,     // output `bits` takes a
  };
  Kind kind;
  VectorOp op = VectorOp::kAdd;
  bool mask = false;  // d, or a for kSpill and kOutput, is a mask
  Place d, a, b, c;
  std::uint64_t bits = 0;
};

struct Allocation {
  std::vector<Step> steps;
  std::vector<std::uint64_t> constants;
  int slots = 0;
};

// Long chains of operations leave a processor waiting, so two vectors take turns where they can: the second uses the
// registers from half of the file on.
struct Halves {
  int vectors = 0;  // what to add to the number of a register; 0: there is one vector at a time
  int masks = 0;
};

// `values` are the instructions of the loop's values (RecordedLoop::values). Without `spills`, it ends at the first
// value that has to go to the stack: if there are slots, the rest means nothing.
Allocation allocate(const FusedLoop& loop, const Program& program, const std::vector<int>& values,
                    const Registers& registers, bool spills = true);

}  // namespace capstan::emit
