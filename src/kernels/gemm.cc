// How a matrix product is cut into register tiles.
//
// From outside to inside: blocks of columns and blocks of k, so that a block of B fits in the
// second cache; tasks, which are groups of rows and columns of C and what threads share out;
// panels, the columns that a tile is wide, whose part of B fits in the first cache; tiles. A large
// operand is packed, that is, copied into the order in which the tiles read it, if its rows lie so
// far apart that the processor cannot foresee the reads: a large B, and a large A that is stored
// transposed. Other A are read along their rows, where packing gains nothing. B stored transposed
// is always packed, since a tile needs its columns side by side. A small product takes the same
// way: all its blocks are one, and nothing is packed.
//
// Tasks divide C and never k, so threads share no sum.
#include "src/kernels/gemm.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "src/core/cpu.h"
#include "src/core/thread_pool.h"
#include "src/kernels/gemm_tiles.h"

namespace capstan {
namespace {

// Bytes along k in a block: the longer, the less often C is read and written.
constexpr std::int64_t kDepthBytes = 2048;
// Columns of a block; with the depth this bounds the packed B to 2 MiB.
constexpr std::int64_t kColumns = 1024;
// Tiles of rows in a task; with the depth this bounds the packed A to 224 KiB.
constexpr std::int64_t kTaskTiles = 8;
// Operands of at most this size stay in the second cache and are not packed.
constexpr std::int64_t kPackBytes = 256 * 1024;
// Tiles of rows that must share a panel of B before packing it pays.
constexpr std::int64_t kPackTiles = 6;
// From this depth on the next tile of C is fetched while a tile is computed.
constexpr std::int64_t kPrefetchDepth = 64;
// Below this many multiply-adds the pool costs more than it gains.
constexpr std::int64_t kParallelWork = 1'000'000;
// Tasks that a parallel product is cut into at least, so that two to eight threads end together.
constexpr std::int64_t kTasks = 8;
constexpr std::int64_t kPackTaskPanels = 4;

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Memory that a thread keeps for its next product.
class Scratch {
 public:
  constexpr Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::free(data_); }

  // Null if there is no memory.
  void* get(std::size_t bytes) {
    if (bytes > bytes_) {
      constexpr std::size_t kPage = 4096;
      bytes = (bytes + kPage - 1) / kPage * kPage;
      std::free(data_);
      data_ = std::aligned_alloc(kPage, bytes);
      bytes_ = data_ == nullptr ? 0 : bytes;
    }
    return data_;
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// A task packs rows of A while the caller's packed B is in use, hence two.
[[gnu::tls_model("initial-exec")]] constinit thread_local Scratch scratch_a;
[[gnu::tls_model("initial-exec")]] constinit thread_local Scratch scratch_b;

// `count` things cut into `parts` parts whose sizes differ by at most one.
struct Cut {
  std::int64_t size;
  std::int64_t larger;  // the first parts have one more

  Cut(std::int64_t count, std::int64_t parts) : size(count / parts), larger(count % parts) {}
  std::int64_t begin(std::int64_t part) const { return part * size + std::min(part, larger); }
};

template <class T>
class Product {
 public:
  Product(int instruction_set, const GemmShape& shape, const T* a, const T* b, T* c)
      : kernels_(tile_kernels<T>(instruction_set)), shape_(shape), a_(a), b_(b), c_(c) {}

  void run(bool parallel) {
    if (shape_.m <= 0 || shape_.n <= 0) return;
    if (shape_.k <= 0) {
      if (!shape_.accumulate) clear();
      return;
    }
    if (shape_.n == 1 && shape_.m > 1 && shape_.transpose_a && shape_.ldc == 1) swap_operands();
    if (run_as_dots(parallel)) return;
    plan(parallel);
    run_blocks();
  }

 private:
  void clear() {
    for (std::int64_t i = 0; i < shape_.m; ++i) {
      std::memset(c_ + i * shape_.ldc, 0, static_cast<std::size_t>(shape_.n) * sizeof(T));
    }
  }

  // A column C = A B is the row C' = B' A'; a row needs no transposed store.
  void swap_operands() {
    std::swap(a_, b_);
    std::swap(shape_.m, shape_.n);
    std::swap(shape_.lda, shape_.ldb);
    const bool transpose_a = shape_.transpose_a;
    shape_.transpose_a = !shape_.transpose_b;
    shape_.transpose_b = !transpose_a;
    shape_.ldc = shape_.n;
  }

  // Products of a matrix and a vector whose sums run along the stored rows of the matrix.
  bool run_as_dots(bool parallel) {
    const bool column =
        shape_.n == 1 && !shape_.transpose_a && (shape_.transpose_b || shape_.ldb == 1);
    const bool row =
        shape_.m == 1 && shape_.transpose_b && (!shape_.transpose_a || shape_.lda == 1);
    if (!column && !row) return false;
    const std::int64_t rows = column ? shape_.m : shape_.n;
    const T* matrix = column ? a_ : b_;
    const T* x = column ? b_ : a_;
    const std::int64_t row_step = column ? shape_.lda : shape_.ldb;
    const std::int64_t c_step = column ? shape_.ldc : 1;
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      kernels_.dots(end - begin, shape_.k, matrix + begin * row_step, row_step, x,
                    c_ + begin * c_step, c_step, shape_.accumulate);
    };
    if (!parallel || rows * shape_.k < kParallelWork) {
      part(0, rows);
    } else {
      const std::int64_t tasks = std::min(rows, kTasks);
      const Cut cut(rows, tasks);
      parallel_for(tasks, [&](std::int64_t task) { part(cut.begin(task), cut.begin(task + 1)); });
    }
    return true;
  }

  // Decides about blocks and packing, from the shape alone.
  void plan(bool parallel) {
    const std::int64_t m = shape_.m, n = shape_.n, k = shape_.k;
    panel_ = kernels_.lanes *
             (m <= kernels_.flat_rows ? TileKernels<T>::kMostVectors : kernels_.vectors);
    tiles_ = divide_up(m, kernels_.rows);
    column_blocks_ = divide_up(n, kColumns);
    depth_blocks_ = divide_up(k, kDepthBytes / static_cast<std::int64_t>(sizeof(T)));
    constexpr std::int64_t kPackElements = kPackBytes / static_cast<std::int64_t>(sizeof(T));
    pack_b_ = shape_.transpose_b || (tiles_ >= kPackTiles && k * n > kPackElements);
    pack_a_ = shape_.transpose_a && n > panel_ && m * k > kPackElements;
    parallel_ = parallel && m * n * k >= kParallelWork;
    row_groups_ = divide_up(tiles_, kTaskTiles);
    if (parallel_) row_groups_ = std::max(row_groups_, std::min(tiles_, kTasks));
    // A row of C is contiguous, and A of a task is packed once: columns are cut only when rows do
    // not give enough tasks.
    column_groups_ = parallel_ ? divide_up(kTasks, row_groups_) : 1;
  }

  void run_blocks() {
    const Cut columns(divide_up(shape_.n, panel_), column_blocks_);
    const Cut steps(shape_.k, depth_blocks_);
    for (std::int64_t j = 0; j < column_blocks_; ++j) {
      const std::int64_t column = columns.begin(j) * panel_;
      const std::int64_t column_end = std::min(columns.begin(j + 1) * panel_, shape_.n);
      for (std::int64_t p = 0; p < depth_blocks_; ++p) {
        const std::int64_t step = steps.begin(p);
        run_block(column, column_end - column, step, steps.begin(p + 1) - step);
      }
    }
  }

  // The part of the product that `width` columns of B and `depth` steps of k give.
  void run_block(std::int64_t column, std::int64_t width, std::int64_t step, std::int64_t depth) {
    const std::int64_t panels = divide_up(width, panel_);
    Block block{column, width, step, depth, b_ + step * shape_.ldb + column, shape_.ldb, panel_};
    if (pack_b_) {
      const std::size_t bytes = static_cast<std::size_t>(panels * panel_ * depth) * sizeof(T);
      T* packed = static_cast<T*>(scratch_b.get(bytes));
      if (packed == nullptr) throw std::bad_alloc();
      pack_columns(block, panels, packed);
      block.b = packed;
      block.b_step = panel_;
      block.b_panel = panel_ * depth;
    }
    const std::int64_t groups = std::min(column_groups_, panels);
    const std::int64_t tasks = row_groups_ * groups;
    if (tasks == 1) return run_task(block, 0, tiles_, 0, panels);
    const Cut rows(tiles_, row_groups_);
    const Cut columns(panels, groups);
    const auto task = [&](std::int64_t index) {
      const std::int64_t i = index / groups, j = index % groups;
      run_task(block, rows.begin(i), rows.begin(i + 1), columns.begin(j), columns.begin(j + 1));
    };
    if (parallel_) {
      parallel_for(tasks, task);
    } else {
      for (std::int64_t index = 0; index < tasks; ++index) task(index);
    }
  }

  struct Block {
    std::int64_t column, width, step, depth;
    const T* b;
    std::int64_t b_step;
    std::int64_t b_panel;  // elements from one panel to the next
  };

  void pack_columns(const Block& block, std::int64_t panels, T* to) {
    const auto pack = [&](std::int64_t panel) {
      const std::int64_t column = block.column + panel * panel_;
      const std::int64_t width = std::min(panel_, block.width - panel * panel_);
      T* target = to + panel * panel_ * block.depth;
      if (shape_.transpose_b) {
        kernels_.transpose(block.depth, width, b_ + column * shape_.ldb + block.step, shape_.ldb,
                           target, panel_);
      } else {
        kernels_.copy(block.depth, width, b_ + block.step * shape_.ldb + column, shape_.ldb, target,
                      panel_);
      }
    };
    if (!parallel_ || panels < 2 * kPackTaskPanels) {
      for (std::int64_t panel = 0; panel < panels; ++panel) pack(panel);
      return;
    }
    parallel_for(divide_up(panels, kPackTaskPanels), [&](std::int64_t task) {
      const std::int64_t end = std::min(panels, (task + 1) * kPackTaskPanels);
      for (std::int64_t panel = task * kPackTaskPanels; panel < end; ++panel) pack(panel);
    });
  }

  // Computes tiles [tile_begin, tile_end) of rows by panels [panel_begin, panel_end) of columns.
  void run_task(const Block& block, std::int64_t tile_begin, std::int64_t tile_end,
                std::int64_t panel_begin, std::int64_t panel_end) {
    const Cut rows(shape_.m, tiles_);
    const std::int64_t depth = block.depth;
    const std::int64_t row_begin = rows.begin(tile_begin);
    T* packed = nullptr;
    if (pack_a_) {
      // Without memory the tiles read A where it is.
      const std::int64_t count = (rows.begin(tile_end) - row_begin) * depth;
      packed = static_cast<T*>(scratch_a.get(static_cast<std::size_t>(count) * sizeof(T)));
    }
    if (packed != nullptr) {
      for (std::int64_t tile = tile_begin; tile < tile_end; ++tile) {
        const std::int64_t row = rows.begin(tile), height = rows.begin(tile + 1) - row;
        kernels_.copy(depth, height, a_ + block.step * shape_.lda + row, shape_.lda,
                      packed + (row - row_begin) * depth, height);
      }
    }
    const bool unit_row = shape_.transpose_a;
    TileArguments<T> arguments;
    arguments.next_c = nullptr;
    arguments.depth = depth;
    arguments.b_step = block.b_step;
    arguments.c_row = shape_.ldc;
    arguments.accumulate = shape_.accumulate || block.step > 0;
    arguments.a_row = unit_row ? 1 : shape_.lda;
    for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
      const std::int64_t left = block.width - panel * panel_;
      arguments.columns = std::min(panel_, left);
      arguments.b = block.b + panel * block.b_panel;
      const std::int64_t vectors = divide_up(arguments.columns, kernels_.lanes);
      const bool partial = arguments.columns != vectors * kernels_.lanes;
      const auto& tiles = kernels_.tile[unit_row][partial][vectors - 1];
      for (std::int64_t tile = tile_begin; tile < tile_end; ++tile) {
        const std::int64_t row = rows.begin(tile), height = rows.begin(tile + 1) - row;
        if (packed != nullptr) {
          arguments.a = packed + (row - row_begin) * depth;
          arguments.a_step = height;
        } else if (shape_.transpose_a) {
          arguments.a = a_ + block.step * shape_.lda + row;
          arguments.a_step = shape_.lda;
        } else {
          arguments.a = a_ + row * shape_.lda + block.step;
          arguments.a_step = 1;
        }
        T* c = c_ + block.column + panel * panel_;
        arguments.c = c + row * shape_.ldc;
        if (depth >= kPrefetchDepth) {
          const bool below = tile + 1 < tile_end;
          const T* next =
              below ? c + (row + height) * shape_.ldc : c + panel_ + row_begin * shape_.ldc;
          arguments.next_c = below || panel + 1 < panel_end ? next : nullptr;
        }
        tiles[height - 1](arguments);
      }
    }
  }

  const TileKernels<T>& kernels_;
  GemmShape shape_;
  const T* a_;
  const T* b_;
  T* c_;
  std::int64_t panel_ = 0;  // columns of a panel
  std::int64_t tiles_ = 0;  // tiles along the rows
  std::int64_t column_blocks_ = 0;
  std::int64_t depth_blocks_ = 0;
  std::int64_t row_groups_ = 0;
  std::int64_t column_groups_ = 0;
  bool pack_a_ = false;
  bool pack_b_ = false;
  bool parallel_ = false;
};

}  // namespace

void gemm(const GemmShape& shape, const float* a, const float* b, float* c) {
  Product<float>(instruction_set(), shape, a, b, c).run(true);
}
void gemm(const GemmShape& shape, const double* a, const double* b, double* c) {
  Product<double>(instruction_set(), shape, a, b, c).run(true);
}
void gemm_serial(const GemmShape& shape, const float* a, const float* b, float* c) {
  Product<float>(instruction_set(), shape, a, b, c).run(false);
}
void gemm_serial(const GemmShape& shape, const double* a, const double* b, double* c) {
  Product<double>(instruction_set(), shape, a, b, c).run(false);
}
void gemm_with(int instruction_set, bool parallel, const GemmShape& shape, const float* a,
               const float* b, float* c) {
  Product<float>(instruction_set, shape, a, b, c).run(parallel);
}
void gemm_with(int instruction_set, bool parallel, const GemmShape& shape, const double* a,
               const double* b, double* c) {
  Product<double>(instruction_set, shape, a, b, c).run(parallel);
}

}  // namespace capstan
