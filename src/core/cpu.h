// Which instruction set the kernels use, decided once per process.
//
// Highway's own dispatch would add milliseconds to start-up (its library runs `cpuid` many times, which is slow in a
// virtual machine), so Capstan asks the compiler's runtime, which has done it already, and keeps constant tables with
// one entry per instruction set.
#pragma once

namespace capstan {

// The index into every kernel table. The order is that of the tables: slowest first.
enum InstructionSet : int { kPortable = 0, kAvx2 = 1, kAvx512 = 2, kInstructionSets = 3 };

// The best instruction set of this processor. CAPSTAN_INSTRUCTION_SET=portable|avx2|avx512 in the environment lowers it
// (never raises it), so that tests can compare all of them.
int instruction_set();

}  // namespace capstan
