// Sums over the rows of an operand that are taken chunk by chunk.
//
// A chunk is a number of rows that depends on the shape only. Chunks may come in any order and on any thread, and what
// they give is joined in their order at the end; so a kernel that makes the operand can have each chunk summed as soon
// as its rows are there, while they are in cache (src/graph/epilogues.cc), with the bits of a call by itself.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/core/thread_pool.h"
#include "src/kernels/scratch.h"

namespace capstan {

class RowSums {
 public:
  RowSums(std::int64_t rows, std::int64_t columns, std::int64_t chunk_rows, std::size_t scratch_bytes)
      : rows_(rows),
        columns_(columns),
        chunk_rows_(chunk_rows),
        scratch_(ScratchSlot::kSums, scratch_bytes + static_cast<std::size_t>(chunks()) * sizeof(std::int64_t)) {}
  virtual ~RowSums() = default;
  RowSums(const RowSums&) = delete;
  RowSums& operator=(const RowSums&) = delete;

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t chunk_rows() const { return chunk_rows_; }
  std::int64_t chunks() const { return (rows_ + chunk_rows_ - 1) / chunk_rows_; }
  std::int64_t chunk_end(std::int64_t chunk) const { return std::min(rows_, (chunk + 1) * chunk_rows_); }

  virtual void add_chunk(std::int64_t chunk) const = 0;
  // Joins the chunks and writes the results.
  virtual void finish() const = 0;

  // For an operand whose rows come in ranges, each row once, on any threads: begins, and adds the chunks that are
  // complete with a range.
  void expect_rows() const {
    for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) missing()[chunk] = chunk_end(chunk) - chunk * chunk_rows_;
  }
  void add_rows(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t chunk = begin / chunk_rows_; chunk * chunk_rows_ < end; ++chunk) {
      const std::int64_t rows = std::min(end, chunk_end(chunk)) - std::max(begin, chunk * chunk_rows_);
      const std::atomic_ref<std::int64_t> missing_rows(missing()[chunk]);
      if (missing_rows.fetch_sub(rows, std::memory_order_acq_rel) == rows) add_chunk(chunk);
    }
  }

  // All of it, for an operand that lies in memory. The last come first: they are what is left in cache of whatever has
  // just been written from the first row to the last, and what follows finds the first.
  void run() const {
    constexpr std::int64_t kChunksPerTask = 8;
    parallel_for((chunks() + kChunksPerTask - 1) / kChunksPerTask, [&](std::int64_t task) {
      const std::int64_t end = chunks() - task * kChunksPerTask;
      for (std::int64_t chunk = end; chunk-- > std::max<std::int64_t>(end - kChunksPerTask, 0);) add_chunk(chunk);
    });
    finish();
  }

 protected:
  // After so many numbers of float64.
  template <class T>
  T* scratch(std::int64_t behind) const {
    return reinterpret_cast<T*>(scratch_.as<double>() + chunks() + behind);
  }

 private:
  // Rows of each chunk that have not come yet.
  std::int64_t* missing() const { return scratch_.as<std::int64_t>(); }

  std::int64_t rows_, columns_, chunk_rows_;
  Scratch scratch_;
};

}  // namespace capstan
