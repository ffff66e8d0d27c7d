#include "src/core/step_loop.h"

#include <algorithm>
#include <cstring>

#include "src/core/thread_pool.h"

namespace capstan {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Elements per task of the thread pool.
constexpr std::int64_t kTask = 1 << 15;

// A step with all that its variables have in common.
class Run {
 public:
  Run(const StepLoop& loop, Elsewhere elsewhere, const void* const* numbers)
      : loop_(loop), elsewhere_(elsewhere), numbers_(numbers), bytes_(size_of(loop.dtype)) {}

  // The variables lie end to end, and that is cut into tasks.
  void run(std::span<const SteppedPart> parts) const {
    std::int64_t all = 0;
    std::int64_t changed = 0;  // elements that the step writes
    for (const SteppedPart& part : parts) {
      all += part.size;
      const bool few = elsewhere_ == Elsewhere::kNothing && part.is_rows && part.before[0] == nullptr;
      changed += few ? part.picked * part.width : part.size;
    }
    if (changed <= kTask) {
      for (const SteppedPart& part : parts) run_part(part, 0, part.size);
      return;
    }
    parallel_for((all + kTask - 1) / kTask, [&](std::int64_t task) {
      std::int64_t begin = task * kTask;
      std::int64_t end = std::min(all, begin + kTask);
      for (const SteppedPart& part : parts) {
        if (end <= 0) break;
        if (begin < part.size) run_part(part, std::max<std::int64_t>(0, begin), std::min(end, part.size));
        begin -= part.size;
        end -= part.size;
      }
    });
  }

 private:
  void run_part(const SteppedPart& part, std::int64_t begin, std::int64_t end) const {
    for (std::size_t k = 0; k < loop_.slots; ++k) {
      if (part.before[k] == nullptr || begin >= end) continue;
      std::memcpy(part.slots[k] + at(begin) * bytes_, part.before[k] + at(begin) * bytes_, at(end - begin) * bytes_);
    }
    if (part.is_rows) return run_rows(part, begin, end);
    run_range(part, begin, end - begin, part.gradient + at(begin) * bytes_);
  }

  // Along the rows of the gradient and what lies between them.
  void run_rows(const SteppedPart& part, std::int64_t begin, std::int64_t end) const {
    const std::int64_t* const last = part.rows + part.picked;
    const std::int64_t* row = std::lower_bound(part.rows, last, begin / part.width);
    while (begin < end) {
      const std::int64_t next = row == last ? end : std::clamp(*row * part.width, begin, end);
      if (next > begin && elsewhere_ == Elsewhere::kZeroGradient) run_range(part, begin, next - begin, nullptr);
      if (next == end) return;
      const std::int64_t stop = std::min((*row + 1) * part.width, end);
      const std::int64_t from = (row - part.rows) * part.width + (next - *row * part.width);
      run_range(part, next, stop - next, part.gradient + at(from) * bytes_);
      begin = stop;
      do ++row;
      while (row != last && row[0] == row[-1]);
    }
  }

  void run_range(const SteppedPart& part, std::int64_t begin, std::int64_t n, const std::byte* gradient) const {
    if (n <= 0) return;
    void* slots[kMostSlots];
    for (std::size_t k = 0; k < loop_.slots; ++k) slots[k] = part.slots[k] + at(begin) * bytes_;
    loop_.run(slots, gradient, numbers_, n);
  }

  const StepLoop& loop_;
  Elsewhere elsewhere_;
  const void* const* numbers_;
  std::size_t bytes_;
};

}  // namespace

void run_parts(const StepLoop& loop, Elsewhere elsewhere, const void* const* numbers,
               std::span<const SteppedPart> parts) {
  Run(loop, elsewhere, numbers).run(parts);
}

}  // namespace capstan
