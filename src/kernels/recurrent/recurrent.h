// What the kernels of recurrent layers share: how rows of a batch are cut into tasks, and the recurrent kernel in the
// order in which steps read it.
//
// A sequence is a chain of small products with one matrix. Packed once for all steps it is read side by side, and the
// columns that all gates of a few units need are together, so that the gates are computed while the sums of their
// products are in the first cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "src/kernels/linalg/gemm.h"

namespace capstan {

// Units whose gates are computed at once.
inline constexpr std::int64_t kBlockUnits = 16;
// Columns of a panel, which lie side by side.
inline constexpr std::int64_t kPanelColumns = 32;
// Sequences of a task: it goes through all steps, and tasks do not wait for each other.
inline constexpr std::int64_t kTaskSequences = 32;

inline std::int64_t sequence_tasks(std::int64_t batch) { return (batch + kTaskSequences - 1) / kTaskSequences; }

// `from` [rows, columns], whose rows are `step` apart, into panels of [rows, kPanelColumns]; the last may be narrower.
template <class T>
void pack_panels(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t step, std::int64_t column_step,
                 T* to) {
  for (std::int64_t first = 0; first < columns; first += kPanelColumns) {
    const std::int64_t width = std::min(kPanelColumns, columns - first);
    for (std::int64_t row = 0; row < rows; ++row, to += width) {
      const T* const source = from + row * step + first * column_step;
      for (std::int64_t i = 0; i < width; ++i) to[i] = source[i * column_step];
    }
  }
}

// Fetches elements into the second cache. What a step reads of the sequences lies far apart, one piece for each
// sequence, so nothing else foresees it.
template <class T>
void fetch(const T* from, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; i += 64 / static_cast<std::int64_t>(sizeof(T))) {
    __builtin_prefetch(from + i, 0, 2);
  }
}

// c [rows, columns] (+)= a [rows, depth] times what pack_panels made of [depth, columns]. Calls ahead(first, end) with
// shares of the rows before each panel, for what is read afterwards.
template <class T, class Ahead>
void multiply_panels(std::int64_t rows, std::int64_t columns, std::int64_t depth, const T* a, std::int64_t lda,
                     const T* packed, T* c, std::int64_t ldc, bool accumulate, const Ahead& ahead) {
  for (std::int64_t first = 0; first < columns; first += kPanelColumns) {
    ahead(rows * first / columns, rows * std::min(first + kPanelColumns, columns) / columns);
    const std::int64_t width = std::min(kPanelColumns, columns - first);
    gemm_serial({.m = rows, .n = width, .k = depth, .lda = lda, .ldb = width, .ldc = ldc, .accumulate = accumulate}, a,
                packed + first * depth, c + first);
  }
}

// A recurrent kernel [units, gates * units], the columns of a gate side by side: for each block of units the columns
// of its gates one after the other, in panels.
template <class T>
class GateBlocks {
 public:
  GateBlocks(std::int64_t units, std::int64_t gates, const T* kernel, T* memory)
      : units_(units), gates_(gates), memory_(memory) {
    for (std::int64_t first = 0; first < units; first += kBlockUnits) {
      const std::int64_t columns = width(first) * gates;
      T* to = memory + first * gates * units;
      for (std::int64_t panel = 0; panel < columns; panel += kPanelColumns) {
        const std::int64_t end = std::min(columns, panel + kPanelColumns);
        std::int64_t column[kPanelColumns];
        for (std::int64_t i = panel; i < end; ++i) {
          column[i - panel] = i / width(first) * units + first + i % width(first);
        }
        for (std::int64_t row = 0; row < units; ++row) {
          for (std::int64_t i = 0; i < end - panel; ++i) *to++ = kernel[row * gates * units + column[i]];
        }
      }
    }
  }
  static std::int64_t elements(std::int64_t units, std::int64_t gates) { return units * gates * units; }

  // The units of the block that begins with this one.
  std::int64_t width(std::int64_t first) const { return std::min(kBlockUnits, units_ - first); }
  // sums [rows, gates * width(first)], dense, of h [rows, units], whose rows are `step` apart.
  template <class Ahead>
  void multiply(std::int64_t first, std::int64_t rows, const T* h, std::int64_t step, T* sums,
                const Ahead& ahead) const {
    const std::int64_t columns = width(first) * gates_;
    multiply_panels(rows, columns, units_, h, step, memory_ + first * gates_ * units_, sums, columns, false, ahead);
  }

 private:
  std::int64_t units_;
  std::int64_t gates_;
  T* memory_;
};

// Elements from one row of states to the next: a few more than the row, since rows whose distance is a power of two
// share few sets of a cache.
constexpr std::int64_t padded_row(std::int64_t elements) { return elements + 16; }

}  // namespace capstan
