// The geometry that the forward convolution and the gradient of its input have in common.
//
// Both are one correlation: every output pixel is a sum over taps of a source pixel times a matrix
// [source channels, output channels]. In the gradient the source is the output's gradient and the
// matrices are transposed. What differs is which source pixel a tap reads: forward, row o and tap k
// read row o * stride - pad + k; backward they read row (o + pad - k) / stride where that is whole.
//
// A stride would make neighbouring output pixels read source pixels that are `stride` apart.
// Splitting columns into phases (column modulo stride) makes them neighbours again: forward the
// copied source is split, backward the output is. So within a phase a tap is a constant offset, and
// one inner loop serves all strides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/kernels/conv/conv2d.h"

namespace capstan {

struct Correlation {
  // One tap of an output phase: the kernel column and the position of its source pixel for the
  // phase's first output.
  struct ColumnTap {
    std::int64_t kernel_column;
    std::int64_t position;  // in pixels from the start of a copied row
  };
  struct Phase {  // its taps go from left to right
    std::int64_t first_column = 0;
    std::int64_t columns = 0;
    std::vector<ColumnTap> taps;
  };

  bool transposed = false;
  std::int64_t batch = 0;
  std::int64_t source_rows = 0, source_columns = 0, source_channels = 0;
  std::int64_t out_rows = 0, out_columns = 0, out_channels = 0;
  std::int64_t kernel_rows = 0, kernel_columns = 0;
  std::int64_t stride_rows = 1, pad_rows = 0;
  std::int64_t column_step = 1;    // distance of a phase's neighbours in the output
  std::int64_t source_phases = 1;  // into how many phases a copied source row is split
  std::int64_t left = 0;           // zero columns before the source (negative: columns left out)
  std::int64_t positions = 0;      // pixels of each source phase in a copied row
  std::vector<Phase> phases;

  std::int64_t row_pixels() const { return source_phases * positions; }

  // The source column of a pixel in a copied row, and whether there is one.
  std::int64_t column(std::int64_t position) const {
    return position % positions * source_phases + position / positions - left;
  }
  bool is_inside(std::int64_t position) const { return 0 <= column(position) && column(position) < source_columns; }

  // Whether the taps of a kernel row are three that read neighbours, the first one the leftmost.
  bool has_threes() const { return kernel_columns == 3 && source_phases == 1 && column_step == 1; }

  // The source rows of output row o: for steps j in [begin, end) kernel row residue + j * k_step()
  // reads source row base + j, backward base - j. Backward, only the kernel rows of one residue
  // modulo the stride contribute. Steps that would leave the source are not in the range.
  struct RowSteps {
    std::int64_t residue, base, begin, end;
  };
  std::int64_t residues() const { return transposed ? stride_rows : 1; }
  std::int64_t k_step() const { return transposed ? stride_rows : 1; }
  std::int64_t direction() const { return transposed ? -1 : 1; }

  // The number of kernel rows of a residue.
  std::int64_t steps(std::int64_t residue) const {
    return residue < kernel_rows ? (kernel_rows - residue + k_step() - 1) / k_step() : 0;
  }

  RowSteps row_steps(std::int64_t o) const {
    RowSteps row;
    if (transposed) {
      row.residue = (o + pad_rows) % stride_rows;
      row.base = (o + pad_rows) / stride_rows;
      row.begin = std::max<std::int64_t>(0, row.base - source_rows + 1);
      row.end = std::min(steps(row.residue), row.base + 1);
    } else {
      row.residue = 0;
      row.base = o * stride_rows - pad_rows;
      row.begin = std::max<std::int64_t>(0, -row.base);
      row.end = std::min(kernel_rows, source_rows - row.base);
    }
    row.end = std::max(row.begin, row.end);
    return row;
  }

  // Source rows [first, last), which contain all that the output rows [begin, end) read.
  void source_range(std::int64_t begin, std::int64_t end, std::int64_t* first, std::int64_t* last) const {
    if (transposed) {
      *first = (begin + pad_rows) / stride_rows - steps(0) + 1;
      *last = (end - 1 + pad_rows) / stride_rows + 1;
    } else {
      *first = begin * stride_rows - pad_rows;
      *last = (end - 1) * stride_rows - pad_rows + kernel_rows;
    }
    *first = std::clamp<std::int64_t>(*first, 0, source_rows);
    *last = std::clamp<std::int64_t>(*last, *first, source_rows);
  }

  // What a band of `rows` output rows reads of the source: number `part`, counted through the batch, `bands` per image.
  // Of none that follows the last it is empty.
  struct Part {
    std::int64_t first, elements;
  };
  [[gnu::noinline]] Part source_of(std::int64_t part, std::int64_t bands, std::int64_t rows) const {
    if (part >= batch * bands) return {0, 0};
    const std::int64_t begin = part % bands * rows, line = source_columns * source_channels;
    std::int64_t first, last;
    source_range(begin, std::min(out_rows, begin + rows), &first, &last);
    return {(part / bands * source_rows + first) * line, (last - first) * line};
  }

  static Correlation forward(const Conv2DShape& s) {
    Correlation c;
    c.batch = s.batch;
    c.source_rows = s.in_height, c.source_columns = s.in_width, c.source_channels = s.in_channels;
    c.out_rows = s.out_height, c.out_columns = s.out_width, c.out_channels = s.out_channels;
    c.kernel_rows = s.kernel_height, c.kernel_columns = s.kernel_width;
    c.stride_rows = s.stride_height, c.pad_rows = s.pad_top;
    c.source_phases = s.stride_width;
    c.left = s.pad_left;
    c.positions = s.out_width + std::max<std::int64_t>(s.kernel_width - 1, 0) / s.stride_width;
    Phase phase{0, s.out_width, {}};
    for (std::int64_t k = 0; k < s.kernel_width; ++k) {
      phase.taps.push_back({k, k % s.stride_width * c.positions + k / s.stride_width});
    }
    c.phases.push_back(std::move(phase));
    return c;
  }

  static Correlation backward(const Conv2DShape& s) {
    Correlation c;
    c.transposed = true;
    c.batch = s.batch;
    c.source_rows = s.out_height, c.source_columns = s.out_width, c.source_channels = s.out_channels;
    c.out_rows = s.in_height, c.out_columns = s.in_width, c.out_channels = s.in_channels;
    c.kernel_rows = s.kernel_height, c.kernel_columns = s.kernel_width;
    c.stride_rows = s.stride_height, c.pad_rows = s.pad_top;
    c.column_step = s.stride_width;
    std::int64_t lowest = 0, end = 0;
    for (std::int64_t r = 0; r < std::min(s.stride_width, s.in_width); ++r) {
      Phase phase{r, (s.in_width - r + s.stride_width - 1) / s.stride_width, {}};
      for (std::int64_t k = s.kernel_width - 1; k >= 0; --k) {
        const std::int64_t column = r + s.pad_left - k;
        if (column % s.stride_width != 0) continue;
        const std::int64_t position = column / s.stride_width;
        phase.taps.push_back({k, position});
        lowest = std::min(lowest, position);
        end = std::max(end, position + phase.columns);
      }
      c.phases.push_back(std::move(phase));
    }
    c.left = -lowest;
    c.positions = end - lowest;
    for (Phase& phase : c.phases) {
      for (ColumnTap& tap : phase.taps) tap.position -= lowest;
    }
    return c;
  }
};

}  // namespace capstan
