// Which instruction set the kernels use, decided once per process.
//
// Highway's own dispatch would add milliseconds to start-up (its library runs `cpuid` many times, which is slow in a
// virtual machine), so Capstan asks the compiler's runtime, which has done it already, and keeps constant tables with
// one entry per instruction set.
#pragma once

#include <atomic>

namespace capstan {

// The index into every kernel table. The order is that of the tables: slowest first.
enum InstructionSet : int { kPortable = 0, kAvx2 = 1, kAvx512 = 2, kInstructionSets = 3 };

// The best instruction set of this processor. CAPSTAN_INSTRUCTION_SET=portable|avx2|avx512 in the environment lowers it
// (never raises it), so that tests can compare all of them.
int instruction_set();

namespace detail {
// The answer, or -1 before the first call.
extern constinit std::atomic<int> chosen_instruction_set;
int choose_instruction_set();
}  // namespace detail

inline int instruction_set() {
  const int set = detail::chosen_instruction_set.load(std::memory_order_relaxed);
  return set >= 0 ? set : detail::choose_instruction_set();
}

}  // namespace capstan
