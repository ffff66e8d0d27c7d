// FusedGroup: a group of nodes as one loop over memory.
//
// On processors with an emitter it is machine code. Otherwise the library's own loops run one after the other over
// tiles that stay in the first cache, with the same bits. Large ranges are cut into pieces for the thread pool; where
// they are cut depends on the shape only, and what the pieces sum is added in their order.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/emit/fused_loop.h"
#include "src/graph/graph.h"
#include "src/graph/loops.h"
#include "src/kernels/scratch.h"

namespace capstan {

class FusedGroup {
 public:
  // The nodes of one group, side by side. `leaves` tells whether a value is read outside of it.
  FusedGroup(const Graph& graph, std::span<const Graph::Node> nodes, const std::vector<bool>& leaves);

  // What it reads and writes, in the order of the pointers that run() takes.
  const std::vector<Graph::Value>& inputs() const { return inputs_; }
  const std::vector<Graph::Value>& outputs() const { return outputs_; }
  // The nodes of the graph that it was made of.
  std::span<const Graph::Node> nodes() const { return nodes_; }
  // Instructions for an element.
  std::size_t cost() const;
  // Whether output o may lie where input i lies.
  bool may_overwrite(std::size_t input, std::size_t output) const;

  void run(const void* const* inputs, void* const* outputs) const {
    if (!is_one_call_) return run_in_parts(inputs, outputs);
    kernel_({inputs, outputs, flat_ ? 1 : rows_, flat_ ? rows_ * columns_ : columns_});
  }

  // Whether it can run on ranges of the elements of an input, in any order, each of whole rows of this length.
  bool can_follow(std::size_t input, std::int64_t columns) const {
    return loop_.inputs[input].access == FusedLoop::Access::kFull && can_precede(columns);
  }
  // The same for ranges of its results.
  bool can_precede(std::int64_t columns) const { return sums_.empty() && (rows_ == 1 || columns % columns_ == 0); }
  // A run on such ranges.
  class Ranges;

 private:
  static constexpr std::size_t kMaxInputs = 64;
  static constexpr std::size_t kMaxOutputs = 400;
  static constexpr std::size_t kMaxSums = 32;

  struct TileStep {
    Loop loop;
    std::uint32_t scalars;  // see LoopArgs
  };
  // A piece of the range: rows from `row` on, columns from `column` on, of rows of `stride` elements.
  struct Tile {
    std::int64_t row, rows, column, columns, stride;
  };

  // The operands as the loops read them: what repeats from row to row is spread over the rows that are run as one.
  class Operands {
   public:
    Operands(const FusedGroup& group, const void* const* inputs);
    const void* const* get() const { return inputs_; }

   private:
    const void* const* inputs_;
    const void* spread_[kMaxInputs];
    std::optional<Scratch> scratch_;
  };

  struct Sum {
    std::int64_t columns;  // 0: of all elements
    std::int64_t divisor;
    std::size_t output;  // position in outputs_
    std::size_t from;    // the output of loop_ that is summed
  };

  void add_sum(const SumOfNode& node, std::int32_t value, Graph::Value out);
  void run_in_parts(const void* const* inputs, void* const* outputs) const;
  void run_whole(const void* const* inputs, void* const* outputs) const;
  void run_kernel(const FusedCall& call) const;
  std::size_t spread_bytes(const FusedLoop::Input& input) const;
  void run_with_sums(const void* const* inputs, void* const* outputs) const;
  void run_one_block(const void* const* inputs, void* const* outputs) const;
  void divide(void* sums, std::int64_t count, std::int64_t divisor) const;
  void run_part(const void* const* inputs, void* const* outputs, void* const* sums, std::int64_t begin,
                std::int64_t n) const;
  void run_piece(const void* const* inputs, void* const* outputs, std::int64_t rows, std::int64_t columns) const;
  void plan_tiles(std::span<const Graph::Node> nodes);
  void run_tiles(const FusedCall& call) const;
  template <class Slot>
  void run_tile(const FusedCall& call, const Tile& tile, const Slot& slot) const;
  template <class T>
  static void add_sums(const Tile& tile, const void* from, void* to);

  // Rows, or elements if there is but one, of a task of the thread pool; and whether there are such tasks.
  std::int64_t units_of_task() const;
  bool is_shared_out() const;

  std::size_t size() const { return size_of(loop_.dtype); }
  std::size_t element_bytes(std::size_t output) const;

  std::span<const Graph::Node> nodes_;
  FusedLoop loop_;
  FusedKernel kernel_ = nullptr;
  std::vector<Graph::Value> inputs_;
  std::vector<Graph::Value> outputs_;
  std::size_t full_outputs_ = 0;  // the first of loop_.outputs and of outputs_: elements
  std::vector<Sum> sums_;         // the others
  std::int64_t rows_ = 1;
  std::int64_t columns_ = 0;
  bool flat_ = false;               // nothing repeats along rows
  bool is_one_call_ = false;        // of the kernel
  std::int64_t rows_together_ = 1;  // that are run as one
  // For tiles: the loop of each node, and where its result lies, in tiles.
  std::vector<TileStep> steps_;
  std::vector<std::int32_t> slot_;  // by value of loop_
  std::int32_t slots_ = 0;
};

// A run in parts: ranges of the elements, each of whole rows of its results.
class FusedGroup::Ranges {
 public:
  Ranges(const FusedGroup& group, const void* const* inputs, void* const* outputs)
      : group_(group), operands_(group, inputs), outputs_(outputs) {}

  void run(std::int64_t begin, std::int64_t end) const { run_to(begin, end, outputs_); }
  // The same for the one result, whose range begins at `to`.
  void run_to(std::int64_t begin, std::int64_t end, void* to) const;
  void run_all() const { group_.run_whole(operands_.get(), outputs_); }

 private:
  void run_to(std::int64_t begin, std::int64_t end, void* const* outputs) const;

  const FusedGroup& group_;
  const Operands operands_;
  void* const* outputs_;
};

}  // namespace capstan
