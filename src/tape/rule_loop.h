// The loops of an elementwise rule over raw memory: what they are given.
//
// A rule has one loop for each input, and all of them see the same cotangent and the same saved values, so the
// arguments are put together once per record.
#pragma once

#include "src/core/apply.h"
#include "src/core/backend.h"
#include "src/tape/tape_impl.h"

namespace capstan {

// The arguments of the loops of a record of an op of N inputs, but for what they write: the cotangent g of its result
// and the saved values that `reads` names. False if these are not one run of elements.
template <int N>
[[gnu::always_inline]] inline bool rule_args(const Record& r, const detail::Block* g, unsigned reads, LoopArgs& args) {
  args.n = g->count;
  args.parameters = r.extra == nullptr ? nullptr : reinterpret_cast<const double*>(r.extra->attributes);
  args.scalars = 0;
  bool one_run = g->count <= kDirectLoop && g->count > 0;
  const auto look = [&](int position, const detail::Block* input) {
    args.in[position] = nullptr;
    if ((reads >> position & 1) == 0) return;
    args.in[position] = input->data;
    one_run &= !is_on_device(input);
    if (input->count == g->count) return;
    args.scalars |= 1u << position;
    one_run &= input->count == 1;
  };
  args.in[0] = g->data;
  for (int k = 0; k < 3; ++k) look(k + 1, k < N ? r.saved[k] : nullptr);
  look(4, r.saved_output);
  return one_run;
}

// Whether a saved value is on a device, while the cotangent is not: a gradient function of a program may have made it.
[[gnu::noinline]] inline bool reads_device(const Record& r) {
  const auto is_there = [](const detail::Block* block) { return block != nullptr && is_on_device(block); };
  return is_there(r.saved[0]) || is_there(r.saved[1]) || is_there(r.saved[2]) || is_there(r.saved_output);
}

// Runs a loop that reads `reads` where the arguments are not one run.
[[gnu::noinline]] inline void run_broadcast_rule(const LoopArgs& args, Loop loop, const Record& r, unsigned reads,
                                                 const detail::Block* g, const detail::Block* out) {
  const detail::Block* const inputs[5] = {
      g, (reads & kReadsInput0) != 0 ? r.saved[0] : nullptr, (reads & kReadsInput1) != 0 ? r.saved[1] : nullptr,
      (reads & kReadsInput2) != 0 ? r.saved[2] : nullptr, (reads & kReadsOutput) != 0 ? r.saved_output : nullptr};
  run_loop({loop, args.parameters, args.accumulate}, out, inputs);
}

}  // namespace capstan
