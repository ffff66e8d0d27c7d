// How a matrix product is cut into register tiles.
//
// From outside to inside: tasks, which are groups of rows and columns of C and what threads share
// out; blocks of columns and of k, so that a block of B fits in the second cache; blocks of rows,
// whose part of A fits beside it; panels, the columns that a tile is wide, whose part of B stays in
// the first cache for all tiles of a block; tiles.
//
// A large operand is packed, that is, copied into the order in which the tiles read it, if its rows
// lie so far apart that the processor cannot foresee the reads: a large B, and a large A that is
// stored transposed. Other A are read along their rows, where packing gains nothing. B stored
// transposed is always packed, since a tile needs its columns side by side. A small product takes
// the same way: all its blocks are one, and nothing is packed.
//
// The gradient of a weight is a product with a long k, a sum of outer products of the rows of A, which is stored
// transposed, and of B. Reading the operands costs most there, so tasks are few and cut so that they read least.
//
// Tasks divide C and never k, so threads share no sum. Each packs for itself, even if that means
// packing twice: reading what another core has just written takes longer than packing.
#include "src/kernels/linalg/gemm.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "src/core/cpu.h"
#include "src/core/thread_pool.h"
#include "src/kernels/linalg/gemm_tiles.h"
#include "src/kernels/scratch.h"

namespace capstan {
namespace {

// Bytes along k in a block: the longer, the less often C is read and written.
constexpr std::int64_t kDepthBytes = 2048;
// Columns of a block; with the depth this bounds the packed B to 2 MiB.
constexpr std::int64_t kColumns = 1024;
// Tiles of rows in a block; with the depth this bounds the packed A to 224 KiB.
constexpr std::int64_t kBlockTiles = 8;
// Operands of at most this size stay in the second cache and are not packed.
constexpr std::int64_t kPackBytes = 256 * 1024;
// Of a sum of outer products, whose operands are read in the order in which they lie, rows of at most this size are not
// packed: the processor foresees reads that are as near, and a block of them stays in the second cache.
constexpr std::int64_t kRowBytes = 2048;
// The depth of its blocks: all of C is read and written for each, but A and B should stay in the second cache beside
// it.
constexpr std::int64_t kLongDepthBytes = 768;
// Tiles of rows that must share a panel of B before packing it pays.
constexpr std::int64_t kPackTiles = 6;
// From this depth on the next tile of C is fetched while a tile is computed.
constexpr std::int64_t kPrefetchDepth = 64;
// Up to this many panels the rows of A and C stream by, and are fetched a block ahead.
constexpr std::int64_t kStreamPanels = 16;
// Tasks of a parallel product: enough that several threads end together, and no more for large ones than that takes,
// since each reads operands that others read, too.
constexpr std::int64_t kLeastTasks = 8;
constexpr std::int64_t kTasksPerThread = 4;
constexpr std::int64_t kTaskWork = 8'000'000;

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// `count` things cut into `parts` parts whose sizes differ by at most one.
struct Cut {
  std::int64_t size = 0;
  std::int64_t larger = 0;  // the first parts have one more

  Cut() = default;
  Cut(std::int64_t count, std::int64_t parts)
      : size(parts == 1 ? count : count / parts), larger(parts == 1 ? 0 : count % parts) {}
  std::int64_t begin(std::int64_t part) const { return part * size + std::min(part, larger); }
};

// Memory that the block after this one reads or writes, fetched while this one is computed: by each of its tiles some
// lines, one in every step along k or less often. They are spread over all tiles, since lines on their way take places
// that the loads of a tile need, too.
template <class T>
class Next {
 public:
  struct Lines {
    const T* at = nullptr;
    std::int64_t step = 0;  // elements to what the next step fetches
  };

  // Rows of so many elements, `step` apart.
  void add(const T* from, std::int64_t rows, std::int64_t elements, std::int64_t step) {
    if (elements == step) {
      parts_[count_++] = {from, 1, divide_up(rows * elements, kLineElements<T>), kLineElements<T>};
      return;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    const std::int64_t before = static_cast<std::int64_t>(address % kLineBytes / sizeof(T));
    const std::int64_t shift =
        step % kLineElements<T> == 0 ? 0 : kLineElements<T> - 1;  // rows begin anywhere in a line
    parts_[count_++] = {from - before, divide_up(before + elements + shift, kLineElements<T>), rows, step};
  }

  // For so many tiles of so many steps along k.
  void spread(std::int64_t tiles, std::int64_t steps) {
    if (count_ == 0) return;
    std::int64_t lines = 0;
    for (int i = 0; i < count_; ++i) lines += parts_[i].lines * parts_[i].rows;
    steps_ = steps;
    while (every_ < kSlowest && 2 * every_ * lines <= tiles * steps) every_ *= 2;
  }

  // What the next tile fetches; nothing if `at` is null.
  Lines take() {
    for (; first_ < count_; ++first_, row_ = 0) {
      const Part& part = parts_[first_];
      if (row_ >= part.rows) continue;
      const T* const at = part.at + line_ * kLineElements<T> + row_ * part.step;
      if (part.step == kLineElements<T>) {
        // Steps that stay in a line fetch nothing new.
        row_ += std::max<std::int64_t>(1, steps_ / every_);
        return {at, kLineElements<T> / every_};
      }
      // Rows apart are fetched by some of the tiles.
      if (turn_++ % every_ != 0) return {};
      if (++line_ == part.lines) {
        line_ = 0;
        row_ += steps_;
      }
      return {at, part.step};
    }
    return {};
  }

 private:
  static constexpr std::int64_t kSlowest = 4;

  // Not set before it is added: most products are small and add none.
  struct Part {
    const T* at;
    std::int64_t lines;  // side by side
    std::int64_t rows;
    std::int64_t step;
  };

  Part parts_[2];
  std::int64_t every_ = 1, steps_ = 0, turn_ = 0;
  std::int64_t line_ = 0, row_ = 0;
  int first_ = 0, count_ = 0;
};

template <class T>
class Product {
 public:
  Product(int instruction_set, const GemmShape& shape, const T* a, const T* b, T* c)
      : kernels_(tile_kernels<T>(instruction_set)), shape_(shape), a_(a), b_(b), c_(c) {}

  // Out of line, as are prepare() and run_task(): inlined they are there once for every way to run a product.
  [[gnu::noinline]] void run(bool parallel, const Execution& execution = kAlone) {
    if (!prepare(parallel)) return;
    if (!parallel || work() < kGemmParallelWork) {
      run_task(0, tiles_, 0, panels_);
    } else {
      run_parallel(execution);
    }
  }

  // Several, none of which is anything but tiles.
  static void run_together(std::span<Product> all) {
    std::int64_t work = 0;
    for (const Product& product : all) work += product.work();
    const std::int64_t wanted = tasks_of(work);
    const Product& first = all[0];
    const auto shares = [&](const Product& p) {
      return p.pack_b_ && !p.pack_a_ && p.b_ == first.b_ && p.panel_ == first.panel_;
    };
    if (wanted <= 2 * first.panels_ && std::all_of(all.begin(), all.end(), shares)) {
      // The parts that read the same columns of B follow each other.
      const std::int64_t groups = std::min(first.panels_, wanted);
      const Cut columns(first.panels_, groups);
      parallel_for(groups, [&](std::int64_t task) {
        Packed packed;
        for (Product& p : all) {
          p.run_task(0, p.tiles_, columns.begin(task), columns.begin(task + 1), &packed);
        }
      });
      return;
    }
    if (wanted == 1) {
      for (Product& p : all) p.run_task(0, p.tiles_, 0, p.panels_);
      return;
    }
    std::int64_t tasks = 0;
    for (Product& p : all) tasks += p.cut(std::max<std::int64_t>(1, divide_up(wanted * p.work(), work)));
    parallel_for(tasks, [&](std::int64_t task) {
      Product* p = all.data();
      for (; task >= p->groups(); ++p) task -= p->groups();
      p->run_group(task);
    });
  }

  // What has no tiles is computed here; true for the rest.
  [[gnu::noinline]] bool prepare(bool parallel) {
    if (shape_.m <= 0 || shape_.n <= 0) return false;
    if (shape_.k <= 0) {
      if (!shape_.accumulate) clear();
      return false;
    }
    if (shape_.n == 1 && shape_.m > 1 && shape_.transpose_a && shape_.ldc == 1) swap_operands();
    if (run_as_dots(parallel)) return false;
    plan();
    return true;
  }

 private:
  static constexpr std::int64_t kPackElements = kPackBytes / static_cast<std::int64_t>(sizeof(T));

  // The part of B that was packed last.
  struct Packed {
    std::int64_t panel = -1, step = -1;
    std::optional<Scratch> memory;
  };

  // Throws std::bad_alloc.
  static T* take(std::optional<Scratch>& memory, ScratchSlot slot, std::int64_t elements) {
    return memory.emplace(slot, static_cast<std::size_t>(elements) * sizeof(T)).template as<T>();
  }

  std::int64_t work() const { return shape_.m * shape_.n * shape_.k; }

  static std::int64_t tasks_of(std::int64_t work) {
    const std::int64_t threads = thread_count();
    if (threads == 1 || work < kGemmParallelWork) return 1;
    return std::clamp(work / kTaskWork, kLeastTasks, std::max(kLeastTasks, kTasksPerThread * threads));
  }

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
    const bool column = shape_.n == 1 && !shape_.transpose_a && (shape_.transpose_b || shape_.ldb == 1);
    const bool row = shape_.m == 1 && shape_.transpose_b && (!shape_.transpose_a || shape_.lda == 1);
    if (!column && !row) return false;
    const std::int64_t rows = column ? shape_.m : shape_.n;
    const T* matrix = column ? a_ : b_;
    const T* x = column ? b_ : a_;
    const std::int64_t row_step = column ? shape_.lda : shape_.ldb;
    const std::int64_t c_step = column ? shape_.ldc : 1;
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      kernels_.dots(end - begin, shape_.k, matrix + begin * row_step, row_step, x, c_ + begin * c_step, c_step,
                    shape_.accumulate);
    };
    if (!parallel || rows * shape_.k < kGemmParallelWork) {
      part(0, rows);
    } else {
      const std::int64_t tasks = std::min(rows, kLeastTasks);
      const Cut cut(rows, tasks);
      parallel_for(tasks, [&](std::int64_t task) { part(cut.begin(task), cut.begin(task + 1)); });
    }
    return true;
  }

  // Decides about tiles and packing, from the shape alone.
  void plan() {
    const std::int64_t m = shape_.m, n = shape_.n, k = shape_.k;
    const bool flat = m <= kernels_.flat_rows;
    panel_ = kernels_.lanes * (flat ? TileKernels<T>::kMostVectors : kernels_.vectors);
    panels_ = divide_up(n, panel_);
    tiles_ = divide_up(m, n <= kernels_.lanes ? kernels_.narrow_rows : kernels_.rows);
    rows_ = Cut(m, tiles_);
    pack_b_ = shape_.transpose_b || (tiles_ >= kPackTiles && k * n > kPackElements);
    pack_a_ = shape_.transpose_a && n > panel_ && m * k > kPackElements;
    long_ = shape_.transpose_a && n > panel_ && m * k > kPackElements;
    if (long_ && !shape_.transpose_b && std::max(m, n) <= kRowBytes / static_cast<std::int64_t>(sizeof(T))) {
      pack_a_ = pack_b_ = false;
    }
    stream_ = kernels_.stream != nullptr && k == TileKernels<T>::kStreamDepth && n <= kernels_.lanes &&
              !shape_.accumulate && !shape_.transpose_a && shape_.lda == k;
  }

  // Of all cuts into enough tasks the one that reads the fewest elements: what is cut along the rows reads B as often,
  // along the columns A, and what is packed is written and read once more, transposed against the order of its lines.
  // If no task has whole rows, whatever follows reads and writes C again. All is counted per step along k. Returns the
  // number of groups.
  std::int64_t cut(std::int64_t wanted) {
    // Sums of outer products are long for what they give: reading is what they wait for, so there is one for a thread.
    if (long_) wanted = std::min<std::int64_t>(wanted, thread_count());
    const std::int64_t a_reads = shape_.m * (pack_a_ ? 2 : 1);
    const std::int64_t b_reads = shape_.n * (!pack_b_ ? 1 : shape_.transpose_b ? 3 : 2);
    const std::int64_t again = 2 * shape_.m * shape_.n / shape_.k;
    std::int64_t fewest = 0;
    for (std::int64_t rows = 1; rows <= std::min(wanted, tiles_); ++rows) {
      const std::int64_t columns = std::min(panels_, divide_up(wanted, rows));
      const std::int64_t reads = rows * b_reads + columns * a_reads + (columns > 1 ? again : 0);
      if (rows * columns < std::min(wanted, panels_ * tiles_) || (fewest > 0 && reads >= fewest)) continue;
      fewest = reads;
      row_groups_ = rows;
      column_groups_ = columns;
    }
    return groups();
  }
  std::int64_t groups() const { return row_groups_ * column_groups_; }

  void run_group(std::int64_t group) {
    const Cut rows(tiles_, row_groups_);
    const Cut columns(panels_, column_groups_);
    const std::int64_t i = group / column_groups_, j = group % column_groups_;
    run_task(rows.begin(i), rows.begin(i + 1), columns.begin(j), columns.begin(j + 1));
  }

  void run_parallel(const Execution& execution) {
    cut(tasks_of(work()));
    if (column_groups_ == 1 && shape_.ldc == shape_.n && !shape_.accumulate) {
      epilogue_ = execution.take_epilogue(c_, shape_.m * shape_.n);
    }
    parallel_for(groups(), [&](std::int64_t group) { run_group(group); });
  }

  // Computes tiles [tile_begin, tile_end) of rows by panels [panel_begin, panel_end) of columns.
  // `packed` is not null if products with the same B come one after the other.
  [[gnu::noinline, gnu::noclone]] void run_task(std::int64_t tile_begin, std::int64_t tile_end,
                                                std::int64_t panel_begin, std::int64_t panel_end,
                                                Packed* packed = nullptr) {
    const std::int64_t depth = (long_ ? kLongDepthBytes : kDepthBytes) / static_cast<std::int64_t>(sizeof(T));
    const Cut steps(shape_.k, divide_up(shape_.k, depth));
    const bool one_block = (panel_end - panel_begin) * panel_ <= kColumns;
    const std::int64_t width = one_block ? panel_end - panel_begin : kColumns / panel_;
    for (std::int64_t panel = panel_begin; panel < panel_end; panel += width) {
      const std::int64_t end = std::min(panel + width, panel_end);
      for (std::int64_t step = 0, part = 1; step < shape_.k; step = steps.begin(part++)) {
        const bool finishes = end == panel_end && steps.begin(part) == shape_.k;
        run_block(tile_begin, tile_end, panel, end, step, steps.begin(part) - step, finishes ? epilogue_ : nullptr,
                  packed);
      }
    }
  }

  // The part that steps [step, step + depth) along k give. `epilogue` is not null if it finishes rows of C.
  void run_block(std::int64_t tile_begin, std::int64_t tile_end, std::int64_t panel_begin, std::int64_t panel_end,
                 std::int64_t step, std::int64_t depth, const Epilogue* epilogue, Packed* packed) {
    const T* b = b_ + step * shape_.ldb + panel_begin * panel_;
    Packed own;
    std::int64_t b_panel = panel_;  // elements from one panel to the next
    if (pack_b_) {
      b_panel = panel_ * depth;
      if (packed == nullptr) packed = &own;
      if (packed->panel != panel_begin || packed->step != step) {
        pack_columns(panel_begin, panel_end, step, depth, *packed);
        packed->panel = panel_begin;
        packed->step = step;
      }
      b = packed->memory->template as<T>();
    }
    TileArguments<T> arguments;
    arguments.depth = depth;
    arguments.b_step = pack_b_ ? panel_ : shape_.ldb;
    arguments.c_row = shape_.ldc;
    arguments.accumulate = shape_.accumulate || step > 0;
    // Rows of A and C that are read and written once.
    const bool streams = !shape_.transpose_a && shape_.lda == depth && shape_.ldc == shape_.n &&
                         panel_end - panel_begin == panels_ && panels_ <= kStreamPanels;
    const std::int64_t count = divide_up(tile_end - tile_begin, kBlockTiles);
    const Cut blocks(tile_end - tile_begin, count);
    for (std::int64_t block = 0; block < count; ++block) {
      const std::int64_t tile = tile_begin + blocks.begin(block), end = tile_begin + blocks.begin(block + 1);
      const std::int64_t after = block + 1 < count ? tile_begin + blocks.begin(block + 2) : end;
      Next<T> next;
      if (streams) {
        const std::int64_t row = rows_.begin(end), rows = rows_.begin(after) - row;
        next.add(a_ + row * shape_.lda, rows, shape_.lda, shape_.lda);
        next.add(c_ + row * shape_.ldc, rows, shape_.ldc, shape_.ldc);
      } else if (shape_.following > 0) {
        next.add(a_ + shape_.k * shape_.lda, shape_.following, shape_.lda, shape_.lda);
        next.add(b_ + shape_.k * shape_.ldb, shape_.following, shape_.ldb, shape_.ldb);
      } else if (long_) {
        // A part of the rows of A and B for the next steps along k.
        const std::int64_t after = step + depth;
        const Cut parts(std::min(depth, shape_.k - after), count);
        const std::int64_t first = after + parts.begin(block), rows = after + parts.begin(block + 1) - first;
        const std::int64_t row = rows_.begin(tile_begin), column = panel_begin * panel_;
        next.add(a_ + first * shape_.lda + row, rows, rows_.begin(tile_end) - row, shape_.lda);
        if (!pack_b_) {
          next.add(b_ + first * shape_.ldb + column, rows, std::min(panel_end * panel_, shape_.n) - column, shape_.ldb);
        }
      }
      next.spread((end - tile) * (panel_end - panel_begin), depth);
      std::optional<Scratch> rows_of_a;
      const T* packed_a = pack_a_ ? pack_rows(tile, end, step, depth, rows_of_a) : nullptr;
      for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
        arguments.b = b + (panel - panel_begin) * b_panel;
        run_panel(arguments, tile, end, panel, panel + 1 < panel_end, packed_a, step, next);
      }
      if (epilogue != nullptr) (*epilogue)(rows_.begin(tile) * shape_.n, rows_.begin(end) * shape_.n);
    }
  }

  // The tiles of one block of rows and one panel.
  void run_panel(TileArguments<T>& arguments, std::int64_t tile_begin, std::int64_t tile_end, std::int64_t panel,
                 bool more_panels, const T* packed_a, std::int64_t step, Next<T>& next) {
    const std::int64_t row_begin = rows_.begin(tile_begin);
    const bool unit_row = shape_.transpose_a;
    arguments.columns = std::min(panel_, shape_.n - panel * panel_);
    const std::int64_t vectors = divide_up(arguments.columns, kernels_.lanes);
    const bool partial = arguments.columns != vectors * kernels_.lanes;
    const auto& tiles = kernels_.tile[unit_row][partial][vectors - 1];
    // How far A's elements of the next row are, in A itself and as packed.
    const std::int64_t next_row = packed_a != nullptr ? arguments.depth : unit_row ? 1 : shape_.lda;
    arguments.a = packed_a != nullptr ? packed_a
                  : unit_row          ? a_ + step * shape_.lda + row_begin
                                      : a_ + row_begin * shape_.lda + step;
    arguments.a_row = unit_row ? 1 : shape_.lda;
    arguments.a_step = unit_row ? shape_.lda : 1;
    T* const first_c = c_ + panel * panel_ + row_begin * shape_.ldc;
    arguments.c = first_c;
    if (stream_) {
      const std::int64_t rows = rows_.begin(tile_end) - row_begin, rest = rows % kernels_.stream_rows;
      kernels_.stream(arguments, rows - rest);
      arguments.a += (rows - rest) * shape_.lda;
      arguments.c += (rows - rest) * shape_.ldc;
      arguments.next_c = nullptr;
      arguments.ahead = nullptr;
      if (rest > 0) tiles[rest - 1](arguments);
      return;
    }
    const bool prefetch = arguments.depth >= kPrefetchDepth;
    arguments.next_c = nullptr;
    for (std::int64_t tile = tile_begin; tile < tile_end; ++tile) {
      const std::int64_t height = rows_.size + (tile < rows_.larger ? 1 : 0);
      T* const next_c = arguments.c + height * shape_.ldc;
      if (packed_a != nullptr) arguments.a_step = height;
      if (prefetch) arguments.next_c = tile + 1 < tile_end ? next_c : more_panels ? first_c + panel_ : nullptr;
      const auto lines = next.take();
      arguments.ahead = lines.at;
      arguments.ahead_step = lines.step;
      tiles[height - 1](arguments);
      arguments.a += height * next_row;
      arguments.c = next_c;
    }
  }

  void pack_columns(std::int64_t panel_begin, std::int64_t panel_end, std::int64_t step, std::int64_t depth,
                    Packed& packed) {
    packed.memory.reset();  // Held by the thread, so that it can be taken again.
    T* to = take(packed.memory, ScratchSlot::kPackedB, (panel_end - panel_begin) * panel_ * depth);
    for (std::int64_t panel = panel_begin; panel < panel_end; ++panel, to += panel_ * depth) {
      const std::int64_t column = panel * panel_;
      const std::int64_t width = std::min(panel_, shape_.n - column);
      if (shape_.transpose_b) {
        kernels_.transpose(depth, width, b_ + column * shape_.ldb + step, shape_.ldb, to, panel_);
      } else {
        kernels_.copy(depth, width, b_ + step * shape_.ldb + column, shape_.ldb, to, panel_);
      }
    }
  }

  // Only for A stored transposed.
  const T* pack_rows(std::int64_t tile_begin, std::int64_t tile_end, std::int64_t step, std::int64_t depth,
                     std::optional<Scratch>& memory) {
    const std::int64_t row_begin = rows_.begin(tile_begin);
    T* const packed = take(memory, ScratchSlot::kPackedA, (rows_.begin(tile_end) - row_begin) * depth);
    for (std::int64_t tile = tile_begin; tile < tile_end; ++tile) {
      const std::int64_t row = rows_.begin(tile), height = rows_.begin(tile + 1) - row;
      kernels_.copy(depth, height, a_ + step * shape_.lda + row, shape_.lda, packed + (row - row_begin) * depth,
                    height);
    }
    return packed;
  }

  const TileKernels<T>& kernels_;
  GemmShape shape_;
  const T* a_;
  const T* b_;
  T* c_;
  std::int64_t panel_ = 0;  // columns of a panel
  std::int64_t panels_ = 0;
  std::int64_t tiles_ = 0;  // along the rows
  std::int64_t row_groups_ = 1, column_groups_ = 1;
  Cut rows_;  // the rows of each tile
  bool pack_a_ = false;
  bool pack_b_ = false;
  bool stream_ = false;
  bool long_ = false;                   // a sum of outer products, of a large A
  const Epilogue* epilogue_ = nullptr;  // of a product whose tasks have whole rows
};

}  // namespace

template <class T>
void gemm_together(std::span<const GemmItem> items) {
  std::vector<Product<T>> products;
  products.reserve(items.size());
  for (const GemmItem& item : items) {
    products.emplace_back(instruction_set(), item.shape, static_cast<const T*>(item.a), static_cast<const T*>(item.b),
                          static_cast<T*>(item.c));
    if (!products.back().prepare(true)) products.pop_back();
  }
  if (!products.empty()) Product<T>::run_together(products);
}
template void gemm_together<float>(std::span<const GemmItem> items);
template void gemm_together<double>(std::span<const GemmItem> items);

void gemm(const GemmShape& shape, const float* a, const float* b, float* c, const Execution& execution) {
  Product<float>(instruction_set(), shape, a, b, c).run(true, execution);
}
void gemm(const GemmShape& shape, const double* a, const double* b, double* c, const Execution& execution) {
  Product<double>(instruction_set(), shape, a, b, c).run(true, execution);
}
void gemm_serial(const GemmShape& shape, const float* a, const float* b, float* c) {
  Product<float>(instruction_set(), shape, a, b, c).run(false);
}
void gemm_serial(const GemmShape& shape, const double* a, const double* b, double* c) {
  Product<double>(instruction_set(), shape, a, b, c).run(false);
}
void gemm_with(int instruction_set, bool parallel, const GemmShape& shape, const float* a, const float* b, float* c) {
  Product<float>(instruction_set, shape, a, b, c).run(parallel);
}
void gemm_with(int instruction_set, bool parallel, const GemmShape& shape, const double* a, const double* b,
               double* c) {
  Product<double>(instruction_set, shape, a, b, c).run(parallel);
}

}  // namespace capstan
