// Machine code for a fused loop whose body has registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/emit/allocate.h"
#include "src/emit/fused_loop.h"
#include "src/emit/program.h"

namespace capstan::emit {

// The registers that the body may use; sums of the loop keep some of them.
Registers registers_for(const FusedLoop& loop, int instruction_set);
// Half of them.
Registers half_of(const Registers& registers);
Halves halves_of(const Registers& registers);

// Constants and then code, which knows no address.
struct Code {
  std::vector<std::uint8_t> bytes;
  std::size_t entry = 0;
};

// The function FusedKernel; empty if there is no assembler for this processor. With `halves`, the allocation uses half
// of the registers and no slot.
Code encode(const FusedLoop& loop, const Program& program, const Allocation& allocation, const Halves& halves,
            int instruction_set);

}  // namespace capstan::emit
