// From the formulas of a fused loop to a program of vector instructions.
#pragma once

#include <vector>

#include "src/emit/fused_loop.h"
#include "src/emit/program.h"

namespace capstan::emit {

// The program of a loop, and the instruction that computes each of its values: inputs, then nodes.
struct RecordedLoop {
  Program program;
  std::vector<int> values;
};
// `vector_bytes` is 64 or 32. If the program is refused, its values mean nothing.
RecordedLoop record_loop(const FusedLoop& loop, int vector_bytes);

}  // namespace capstan::emit
