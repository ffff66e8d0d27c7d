// Elementwise loops over broadcast inputs.
//
// A loop function knows one shape of work: a run of n elements in which each input either advances or repeats one
// element. Equal shapes and scalars are one such run. Anything else is cut into runs along the innermost axes, after
// neighbouring axes on which no input changes between "advances" and "repeats" are merged.
#include <algorithm>
#include <cstring>

#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/thread_pool.h"

namespace capstan {

using detail::Block;

namespace {

constexpr int kMaxLoopInputs = 5;

// Elements per task. Fixed, so that the split depends on the shape only.
constexpr std::int64_t kChunk = 32768;

// The axes of a broadcast, merged: an axis of `length`, along which input k advances by stride[k] elements.
struct MergedAxis {
  std::int64_t length;
  std::int64_t stride[kMaxLoopInputs];
};

struct Plan {
  int axes = 0;  // outermost first; the last one is the run
  MergedAxis axis[kMaxRank];
};

Plan make_plan(const Block* out, std::span<const Block* const> inputs) {
  // Strides of every input along the axes of the output; 0 where it repeats.
  Plan full;
  full.axes = out->rank;
  for (int i = 0; i < out->rank; ++i) full.axis[i].length = out->dims[i];
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    std::int64_t stride = 1;
    const Block* input = inputs[k];
    for (int i = out->rank - 1; i >= 0; --i) {
      const int axis = input == nullptr ? -1 : i - (out->rank - input->rank);
      const bool advances = axis >= 0 && input->dims[axis] != 1;
      full.axis[i].stride[k] = advances ? stride : 0;
      if (advances) stride *= input->dims[axis];
    }
  }
  Plan plan;
  for (int i = 0; i < full.axes; ++i) {
    const MergedAxis& next = full.axis[i];
    if (next.length == 1) continue;
    if (plan.axes > 0) {
      MergedAxis& last = plan.axis[plan.axes - 1];
      bool mergeable = true;
      for (std::size_t k = 0; k < inputs.size(); ++k) mergeable &= last.stride[k] == next.stride[k] * next.length;
      if (mergeable) {
        last.length *= next.length;
        std::copy_n(next.stride, inputs.size(), last.stride);
        continue;
      }
    }
    plan.axis[plan.axes++] = next;
  }
  return plan;
}

// The arguments for elements [begin, begin + n) of a contiguous run.
LoopArgs offset_args(const LoopArgs& args, std::size_t out_size, const std::size_t* sizes, int inputs,
                     std::int64_t begin, std::int64_t n) {
  LoopArgs part = args;
  part.out = static_cast<std::byte*>(args.out) + static_cast<std::size_t>(begin) * out_size;
  for (int k = 0; k < inputs; ++k) {
    if (args.in[k] != nullptr && (args.scalars >> k & 1) == 0) {
      part.in[k] = static_cast<const std::byte*>(args.in[k]) + static_cast<std::size_t>(begin) * sizes[k];
    }
  }
  part.n = n;
  return part;
}

}  // namespace

void run_loop(const ElementwiseRun& run, const Block* out, std::span<const Block* const> inputs) {
  if (out->count == 0) return;
  LoopArgs args;
  args.out = out->data;
  args.n = out->count;
  args.parameters = run.parameters;
  args.scalars = 0;
  args.accumulate = run.accumulate;
  bool one_run = true;
  unsigned seen = out->flags.load(std::memory_order_relaxed);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Block* input = inputs[k];
    args.in[k] = input == nullptr ? nullptr : input->data;
    if (input == nullptr) continue;
    seen |= input->flags.load(std::memory_order_relaxed);
    if (input->count == out->count) continue;
    if (input->count == 1) {
      args.scalars |= 1u << k;
    } else {
      one_run = false;
    }
  }
  CAPSTAN_CHECK((seen & Block::kOnDevice) == 0, ValueError,
                "an elementwise loop of the processor: an operand is in the memory of a device");
  if (one_run && out->count <= 2 * kChunk) [[likely]] {
    run.loop(args);
    return;
  }

  const int count = static_cast<int>(inputs.size());
  const std::size_t out_size = size_of(out->dtype);
  std::size_t sizes[kMaxLoopInputs] = {};
  for (int k = 0; k < count; ++k) {
    if (inputs[static_cast<std::size_t>(k)] != nullptr) sizes[k] = size_of(inputs[static_cast<std::size_t>(k)]->dtype);
  }
  if (one_run) {
    const std::int64_t chunks = (out->count + kChunk - 1) / kChunk;
    parallel_for(chunks, [&](std::int64_t chunk) {
      const std::int64_t begin = chunk * kChunk;
      run.loop(offset_args(args, out_size, sizes, count, begin, std::min(kChunk, out->count - begin)));
    });
    return;
  }

  const Plan plan = make_plan(out, inputs);
  const MergedAxis& inner = plan.axis[plan.axes - 1];
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < plan.axes; ++i) rows *= plan.axis[i].length;
  LoopArgs row_args = args;
  row_args.scalars = 0;
  for (int k = 0; k < count; ++k) row_args.scalars |= inner.stride[k] == 0 ? 1u << k : 0;
  row_args.n = inner.length;

  const auto run_rows = [&](std::int64_t first, std::int64_t last) {
    // Positions along the outer axes, advanced like the digits of a counter.
    std::int64_t position[kMaxRank] = {};
    std::int64_t offset[kMaxLoopInputs] = {};
    std::int64_t rest = first;
    for (int i = plan.axes - 2; i >= 0; --i) {
      position[i] = rest % plan.axis[i].length;
      rest /= plan.axis[i].length;
      for (int k = 0; k < count; ++k) offset[k] += position[i] * plan.axis[i].stride[k];
    }
    LoopArgs part = row_args;
    for (std::int64_t row = first; row < last; ++row) {
      part.out = static_cast<std::byte*>(args.out) + static_cast<std::size_t>(row * inner.length) * out_size;
      for (int k = 0; k < count; ++k) {
        if (args.in[k] != nullptr) {
          part.in[k] = static_cast<const std::byte*>(args.in[k]) + static_cast<std::size_t>(offset[k]) * sizes[k];
        }
      }
      run.loop(part);
      for (int i = plan.axes - 2; i >= 0; --i) {
        for (int k = 0; k < count; ++k) offset[k] += plan.axis[i].stride[k];
        if (++position[i] < plan.axis[i].length) break;
        for (int k = 0; k < count; ++k) offset[k] -= position[i] * plan.axis[i].stride[k];
        position[i] = 0;
      }
    }
  };
  const std::int64_t rows_per_task = std::max<std::int64_t>(1, kChunk / inner.length);
  const std::int64_t tasks = (rows + rows_per_task - 1) / rows_per_task;
  parallel_for(tasks,
               [&](std::int64_t task) { run_rows(task * rows_per_task, std::min(rows, (task + 1) * rows_per_task)); });
}

}  // namespace capstan
