// Cursors and nodes: batches from cursors, errors of users' functions, numbers of elements.
//
// A batch of rows of tensors in memory never sees elements: it asks for numbers of rows, and gives a view if these
// follow each other. Otherwise elements are collected and joined.
#include <algorithm>
#include <cstring>
#include <new>
#include <span>

#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/context.h"
#include "src/core/named_errors.h"
#include "src/core/profiler.h"
#include "src/core/row_shape.h"
#include "src/core/seed_stream.h"
#include "src/core/thread_pool.h"
#include "capstan/ops/random.h"
#include "src/data/stage.h"

namespace capstan::detail {

DatasetCursor::~DatasetCursor() = default;
DatasetNode::~DatasetNode() = default;

namespace {

// Rows `first` to `first + count - 1`.
struct RowRun {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

Tensor view_of(const Tensor& tensor, const RowRun& run) {
  Shape shape = tensor.shape();
  shape.set(0, run.count);
  const std::int64_t row = tensor.dim(0) == 0 ? 0 : tensor.size() / tensor.dim(0);
  return make_view(tensor, shape, run.first * row);
}

// How many bytes are asked for ahead of the copy: enough for the memory to be busy, not so many that a cache near the
// core would lose them before they are read.
constexpr std::size_t kAhead = 2048;

// Asks for memory that is read next. Rows lie anywhere, so the hardware does not know which one follows. A short one is
// near enough for a core to begin by itself, and of a long one it sees the rest coming. Inlined in any case: g++ 12
// takes a function that does nothing else for one without effects, and removes its calls.
[[gnu::always_inline]] inline void ask_for(const std::byte* from, std::size_t size) {
  constexpr std::size_t kLine = 64, kLeast = 512, kMost = 4096;
  if (size < kLeast) return;
  for (std::size_t at = 0; at < std::min(size, kMost); at += kLine) __builtin_prefetch(from + at);
}

// Rows from memory to memory, on several threads if they are many: what one core can read at a time is far less than
// what the memory gives. A stage's own thread works beside a loop that needs the pool, and leaves it alone.
void copy_runs(const std::byte* from, std::size_t row_bytes, const std::vector<RowRun>& runs, std::int64_t count,
               std::byte* to) {
  constexpr std::size_t kTask = std::size_t{32} << 10, kWorthThreads = std::size_t{128} << 10;
  constexpr std::int64_t kBytesPerNanosecond = 10;  // of one core
  const auto copy = [&](std::size_t begin, std::size_t end, std::byte* out) {
    const auto bytes_of_run = [&](std::size_t run) { return static_cast<std::size_t>(runs[run].count) * row_bytes; };
    const auto begin_of_run = [&](std::size_t run) {
      return from + static_cast<std::size_t>(runs[run].first) * row_bytes;
    };
    std::size_t asked = begin + 1, ahead = 0;  // the first run that was not asked for, and the bytes before it
    for (std::size_t run = begin; run < end; ++run) {
      for (; asked < end && ahead < kAhead; ++asked) {
        ask_for(begin_of_run(asked), bytes_of_run(asked));
        ahead += bytes_of_run(asked);
      }
      std::memcpy(out, begin_of_run(run), bytes_of_run(run));
      out += bytes_of_run(run);
      if (run + 1 < asked) ahead -= bytes_of_run(run + 1);
    }
  };
  const std::size_t all = static_cast<std::size_t>(count) * row_bytes;
  const auto threads = static_cast<std::size_t>(thread_count());
  if (threads == 1 || all < kWorthThreads || on_stage_thread()) return copy(0, runs.size(), to);
  // Tasks are runs next to each other. Long runs do not come in such numbers that they would have to be cut.
  struct Task {
    std::size_t begin;
    std::byte* out;
  };
  std::vector<Task> tasks;
  std::size_t filled = kTask;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (filled >= kTask) {
      tasks.push_back({run, to});
      filled = 0;
    }
    const std::size_t bytes = static_cast<std::size_t>(runs[run].count) * row_bytes;
    filled += bytes;
    to += bytes;
  }
  const auto gain = static_cast<std::int64_t>(all - all / threads) / kBytesPerNanosecond;
  parallel_for_short(static_cast<std::int64_t>(tasks.size()), gain, [&](std::int64_t number) {
    const auto task = static_cast<std::size_t>(number);
    copy(tasks[task].begin, task + 1 < tasks.size() ? tasks[task + 1].begin : runs.size(), tasks[task].out);
  });
}

Tensor gathered(const Tensor& tensor, const std::vector<RowRun>& runs, std::int64_t count) {
  Shape shape = tensor.shape();
  const std::int64_t row = tensor.size() / tensor.dim(0);
  shape.set(0, count);
  const Tensor batch = new_tensor(tensor.dtype(), shape);
  const std::size_t bytes = static_cast<std::size_t>(row) * size_of(tensor.dtype());
  if (bytes == 0) return batch;
  const auto* from = static_cast<const std::byte*>(tensor.raw_data());
  copy_runs(from, bytes, runs, count, static_cast<std::byte*>(mutable_raw_data(batch)));
  return batch;
}

// A batch of up to `count` rows; returns how many there were.
std::int64_t batch_of_rows(DatasetCursor& cursor, const std::vector<Tensor>& tensors, std::int64_t count, Part* batch) {
  std::int64_t first = 0, length = 0, found = 0;
  std::vector<RowRun> runs;
  while (found < count && (length = cursor.next_rows(count - found, &first)) > 0) {
    found += length;
    if (!runs.empty() && runs.back().first + runs.back().count == first) {
      runs.back().count += length;
      continue;
    }
    // Written where it lies: a copy of a struct whose members have just been written waits for them.
    RowRun& run = runs.emplace_back();
    run.first = first;
    run.count = length;
  }
  if (found == 0) return 0;
  for (const Tensor& tensor : tensors) {
    *batch++ = {runs.size() == 1 ? view_of(tensor, runs[0]) : gathered(tensor, runs, found), nullptr};
  }
  return found;
}

// TensorFlow's stand-in for a process seed that nobody has set.
constexpr std::uint64_t kNoProcessSeed = 87654321;
constexpr std::uint64_t kSeedRange = 2147483647;

}  // namespace

bool on_stage_thread() { return context.is_dataset_stage; }
void mark_stage_thread() { context.is_dataset_stage = true; }

bool DatasetCursor::next(Part* element) {
  if (active_profiler() == nullptr) [[likely]]
    return read_next(element);
  const Span span(SpanKind::kStage, name());
  return read_next(element);
}

std::int64_t DatasetCursor::next_batch(std::int64_t count, Part* batch) {
  if (const RowTable* table = rows()) return batch_of_rows(*this, *table, count, batch);
  const std::size_t width = types.size();
  std::vector<Part> items;
  std::exception_ptr error;
  std::int64_t found = 0;
  for (bool more = true; more && found < count;) {
    items.resize(items.size() + width);
    try {
      more = next(items.data() + items.size() - width);
    } catch (...) {
      if (error == nullptr) error = std::current_exception();
    }
    if (more) ++found;
    if (!more || error != nullptr) items.resize(error != nullptr ? 0 : items.size() - width);
  }
  if (error != nullptr) std::rethrow_exception(error);
  const auto elements = static_cast<std::size_t>(found);
  for (std::size_t i = 0; i < width && found > 0; ++i) batch[i] = types[i]->batch({items.data() + i, elements, width});
  return found;
}

void read_row(const std::vector<Tensor>& tensors, std::int64_t row, Part* element) {
  for (const Tensor& tensor : tensors) {
    const Shape shape = row_shape(tensor.shape());
    *element++ = {make_view(tensor, shape, row * shape.size()), nullptr};
  }
}

void rethrow_at(const char* stage, std::int64_t element) {
  const ErrorLine line{stage, "element " + std::to_string(element)};
  try {
    throw;
  } catch (const Error&) {
    rethrow_with(std::span(&line, 1));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    std::throw_with_nested(Error(std::string(error.what()) + "\n  " + stage + ": element " + std::to_string(element)));
  }
}

StreamSeeds stream_seeds(Seed own) {
  // Without a seed of its own the order comes from the process's stream, so that set_seed decides it.
  if (!own) return {next_seed(), 0};
  StreamSeeds seeds{process_seed().value_or(kNoProcessSeed) % kSeedRange, *own % kSeedRange};
  if (seeds.seed == 0 && seeds.seed2 == 0) seeds.seed2 = kSeedRange;
  return seeds;
}

void throw_past_end() {
  throw IndexError(join("dataset: the iterator is past the last element",
                        help("compare it with end() before it is read or moved on")));
}

std::int64_t known_size(std::int64_t cardinality) {
  CAPSTAN_CHECK(cardinality != kInfinite, ValueError, "dataset: the dataset is infinite, it has no size",
                help("take() gives a finite one"));
  CAPSTAN_CHECK(cardinality >= 0, ValueError, "dataset: the number of elements is unknown",
                help("count them in a loop, or state it with assert_cardinality()"));
  return cardinality;
}

void check_finite(const char* what, std::int64_t cardinality) {
  CAPSTAN_CHECK(cardinality != kInfinite, ValueError, what, ": the dataset is infinite",
                help("take() gives a finite one"));
}

void throw_not_single(bool has_several) {
  fail<ValueError>("get_single_element: the dataset has ", has_several ? "more than one element" : "no element");
}

bool truth_of(const char* what, const Tensor& tensor) {
  CAPSTAN_CHECK(tensor.has_value() && tensor.dtype() == bool_ && tensor.rank() == 0, ValueError, what,
                ": the function gives no scalar bool", arguments({{"value", tensor}}));
  return tensor.item<bool>();
}

void check_state(const char* what, const Tensor& before, const Tensor& after) {
  if (!before.has_value() || !after.has_value()) return;
  CAPSTAN_CHECK(before.dtype() == after.dtype(), DTypeError, what, ": the dtype of the state changes from ",
                name_of(before.dtype()), " to ", name_of(after.dtype()));
}

}  // namespace capstan::detail
