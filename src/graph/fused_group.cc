#include "src/graph/fused_group.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "src/core/backend.h"
#include "src/core/thread_pool.h"
#include "src/graph/loops.h"
#include "src/kernels/reduce/reduce.h"

namespace capstan {

namespace {

using Access = FusedLoop::Access;
using Store = FusedLoop::Store;

constexpr std::size_t kPartialBytes = 64;  // of a sum, see FusedCall
constexpr std::int64_t kTile = 512;        // elements; a multiple of the partial sums
constexpr std::int64_t kPiece = 32768;     // elements of a task, as in run_loop
// What has a sum of its own: elements of a line, or rows.
constexpr std::int64_t kBlock = 1024;
constexpr std::int64_t kBlockRows = 256;
// A loop over fewer elements than these spends its time around them.
constexpr std::int64_t kNarrow = 256;
constexpr std::int64_t kWorthSpreading = 16384;

bool elements_are_equal(const Tensor& constant) {
  const auto* bytes = static_cast<const char*>(host_elements(constant));
  const std::size_t size = size_of(constant.dtype());
  return bytes != nullptr && constant.size() > 0 &&
         std::memcmp(bytes, bytes + size, at(constant.size() - 1) * size) == 0;
}

// p[0] becomes the sum of `count` vectors of `width` elements that follow each other, joined by halving.
template <class T>
void join(T* p, std::int64_t count, std::int64_t width) {
  if (count <= 1) return;
  const std::int64_t left = count / 2;
  T* const right = p + left * width;
  join(p, left, width);
  join(right, count - left, width);
  for (std::int64_t k = 0; k < width; ++k) p[k] += right[k];
}

// The sum of partial sums, by halves.
template <class T, std::size_t kCount = kPartialBytes / sizeof(T)>
T fold(const T* partial) {
  if constexpr (kCount == 1) {
    return partial[0];
  } else {
    T half[kCount / 2];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kCount / 2; ++k) half[k] = partial[k] + partial[k + kCount / 2];
    return fold<T, kCount / 2>(half);
  }
}

ReduceShape columns_of(std::int64_t rows, std::int64_t columns) {
  ReduceShape shape;
  shape.add(rows, true);
  shape.add(columns, false);
  return shape;
}

}  // namespace

FusedGroup::FusedGroup(const Graph& graph, std::span<const Graph::Node> nodes, const std::vector<bool>& leaves)
    : nodes_(nodes) {
  std::vector<std::int32_t> value_of(graph.values.size(), -1);
  // Inputs come first in the numbering of values, so they are collected first.
  std::vector<bool> made(graph.values.size());
  std::int64_t count = 0;
  for (const Graph::Node& node : nodes) {
    if (sum_of(graph, node)) continue;
    const Graph::ValueInfo& out = graph.values[at(node.outputs[0])];
    count = out.shape.size();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Graph::Value input = node.inputs[i];
      if (reads_shape_only(node, i) || made[at(input)]) continue;
      const Graph::ValueInfo& info = graph.values[at(input)];
      Placement placement = *placement_of(info.shape, out.shape);
      if (placement.columns != 0) columns_ = placement.columns;
      if (info.constant.has_value() && elements_are_equal(info.constant)) placement.access = Access::kScalar;
      if (value_of[at(input)] >= 0) continue;
      value_of[at(input)] = index(inputs_.size());
      inputs_.push_back(input);
      loop_.inputs.push_back({placement.access, info.dtype == DType::kBool});
      if (info.dtype != DType::kBool) loop_.dtype = info.dtype;
    }
    made[at(node.outputs[0])] = true;
  }
  std::vector<const Graph::Node*> sums;
  for (const Graph::Node& node : nodes) {
    if (const std::optional<SumOfNode> sum = sum_of(graph, node)) {
      if (sum->columns != 0) columns_ = sum->columns;
      sums.push_back(&node);
      continue;
    }
    const LoopOfOp loop = *loop_of(node);
    const Graph::Value out = node.outputs[0];
    FusedLoop::Node member{.code = &code_of(loop), .boolean = graph.values[at(out)].dtype == DType::kBool};
    std::size_t next = 0;
    for (int position = 0; position < 5; ++position) {
      if ((loop.positions >> position & 1) != 0) member.operands[position] = value_of[at(node.inputs[next++])];
    }
    if (loop.op->attributes != nullptr) {
      std::copy_n(loop.parameters, std::min<std::size_t>(5, loop.op->attributes->size / sizeof(double)),
                  member.parameters);
    }
    value_of[at(out)] = index(inputs_.size() + loop_.nodes.size());
    loop_.nodes.push_back(member);
    if (leaves[at(out)]) {
      loop_.outputs.push_back({value_of[at(out)], Store::kFull});
      outputs_.push_back(out);
    }
  }
  full_outputs_ = loop_.outputs.size();
  for (const Graph::Node* node : sums) add_sum(*sum_of(graph, *node), value_of[at(node->inputs[0])], node->outputs[0]);
  if (columns_ == 0) columns_ = count;
  flat_ = std::none_of(loop_.inputs.begin(), loop_.inputs.end(), [](const FusedLoop::Input& input) {
    return input.access == Access::kRow || input.access == Access::kColumn;
  });
  rows_ = count / columns_;
  const bool narrow = columns_ <= kNarrow / 2 && rows_ * columns_ >= kWorthSpreading;
  const bool turns = std::any_of(loop_.inputs.begin(), loop_.inputs.end(),
                                 [](const FusedLoop::Input& input) { return input.access == Access::kColumn; });
  if (narrow && !flat_ && !turns) rows_together_ = kNarrow / columns_;
  kernel_ = emit_fused_loop(loop_);
  if (kernel_ == nullptr) plan_tiles(nodes);
  is_one_call_ = kernel_ != nullptr && sums_.empty() && rows_together_ == 1 && !is_shared_out();
}

std::int64_t FusedGroup::units_of_task() const {
  return rows_ > 1 ? std::max<std::int64_t>(1, kPiece / columns_) : kPiece;
}

bool FusedGroup::is_shared_out() const { return (rows_ > 1 ? rows_ : columns_) > 2 * units_of_task(); }

std::size_t FusedGroup::cost() const {
  int cost = 0;
  for (const FusedLoop::Node& node : loop_.nodes) cost += cost_of(node.code->steps);
  return at(cost);
}

// What has columns is summed from memory: from where the loop leaves it, or from a tile of its own.
void FusedGroup::add_sum(const SumOfNode& node, std::int32_t value, Graph::Value out) {
  Sum sum{node.columns, node.divisor, outputs_.size(), loop_.outputs.size()};
  const auto same = [&](const FusedLoop::Output& output) {
    return output.value == value && output.store == Store::kFull;
  };
  const auto end = loop_.outputs.begin() + static_cast<std::ptrdiff_t>(full_outputs_);
  const auto found = std::find_if(loop_.outputs.begin(), end, same);
  if (node.columns != 0 && found != end) {
    sum.from = static_cast<std::size_t>(found - loop_.outputs.begin());
  } else {
    loop_.outputs.push_back({value, node.columns == 0 ? Store::kSum : Store::kFull});
  }
  sums_.push_back(sum);
  outputs_.push_back(out);
}

bool FusedGroup::may_overwrite(std::size_t input, std::size_t output) const {
  if (output >= full_outputs_) return false;
  const FusedLoop::Input& in = loop_.inputs[input];
  const FusedLoop::Output& out = loop_.outputs[output];
  const auto node = static_cast<std::size_t>(out.value) - loop_.inputs.size();
  return in.access == Access::kFull && in.boolean == loop_.nodes[node].boolean;
}

void FusedGroup::run_in_parts(const void* const* inputs, void* const* outputs) const {
  if (rows_together_ == 1) return run_whole(inputs, outputs);
  run_whole(Operands(*this, inputs).get(), outputs);
}

FusedGroup::Operands::Operands(const FusedGroup& group, const void* const* inputs) : inputs_(inputs) {
  if (group.rows_together_ == 1) return;
  const auto& kinds = group.loop_.inputs;
  std::size_t bytes = 0;
  for (const FusedLoop::Input& kind : kinds) bytes += kind.access == Access::kRow ? group.spread_bytes(kind) : 0;
  std::byte* to = scratch_.emplace(ScratchSlot::kSpread, bytes).as<std::byte>();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    spread_[i] = inputs[i];
    if (kinds[i].access != Access::kRow) continue;
    spread_[i] = to;
    const std::size_t row = group.spread_bytes(kinds[i]) / at(group.rows_together_);
    for (std::int64_t r = 0; r < group.rows_together_; ++r, to += row) std::memcpy(to, inputs[i], row);
  }
  inputs_ = spread_;
}

void FusedGroup::Ranges::run_to(std::int64_t begin, std::int64_t end, void* const* outputs) const {
  const std::int64_t unit = group_.rows_ > 1 ? group_.columns_ : 1;
  group_.run_part(operands_.get(), outputs, nullptr, begin / unit, (end - begin) / unit);
}

void FusedGroup::Ranges::run_to(std::int64_t begin, std::int64_t end, void* to) const {
  // Where the whole result would begin.
  const std::size_t skipped = at(begin) * group_.element_bytes(0);
  void* const whole = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(to) - skipped);
  run_to(begin, end, &whole);
}

std::size_t FusedGroup::spread_bytes(const FusedLoop::Input& input) const {
  return at(rows_together_ * columns_) * (input.boolean ? 1 : size());
}

void FusedGroup::run_whole(const void* const* inputs, void* const* outputs) const {
  const bool by_rows = rows_ > 1;
  const std::int64_t whole = by_rows ? rows_ : columns_;
  if (!sums_.empty()) return run_with_sums(inputs, outputs);
  if (!is_shared_out()) return run_piece(inputs, outputs, rows_, columns_);
  const std::int64_t length = units_of_task();
  parallel_for((whole + length - 1) / length, [&](std::int64_t task) {
    const std::int64_t begin = task * length;
    run_part(inputs, outputs, nullptr, begin, std::min(length, whole - begin));
  });
}

// In the order of src/kernels/reduce/reduce.h: blocks are joined by halving to the sum of a piece, and pieces are
// summed in the same way.
void FusedGroup::run_with_sums(const void* const* inputs, void* const* outputs) const {
  const bool by_rows = rows_ > 1;
  const std::int64_t whole = by_rows ? rows_ : columns_;
  const std::int64_t block = by_rows ? kBlockRows : kBlock;
  const std::int64_t wanted = by_rows ? std::max<std::int64_t>(1, kPiece / columns_) : kPiece;
  const std::int64_t piece = (wanted + block - 1) / block * block;
  const std::int64_t pieces = (whole + piece - 1) / piece;
  if (whole <= block) return run_one_block(inputs, outputs);
  const std::int64_t width = by_rows ? columns_ : 1;
  const std::size_t row_bytes = at(width) * size();

  // The sums of the pieces, of one sum after the other.
  const Scratch of_pieces(ScratchSlot::kCall, sums_.size() * at(pieces) * row_bytes);
  parallel_for(pieces, [&](std::int64_t task) {
    const std::int64_t end = std::min(whole, (task + 1) * piece);
    const std::int64_t blocks = (end - task * piece + block - 1) / block;
    // For each sum, those of the blocks, and what one block leaves for it.
    const std::size_t left_bytes = by_rows ? at(kBlockRows) * row_bytes : kPartialBytes;
    const std::size_t bytes = at(blocks) * row_bytes;
    const Scratch scratch(ScratchSlot::kTask, sums_.size() * (bytes + left_bytes));
    std::byte* const left = scratch.as<std::byte>();
    std::byte* const of_blocks = left + sums_.size() * left_bytes;
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t begin = task * piece + b * block;
      const std::int64_t n = std::min(block, end - begin);
      void* targets[kMaxSums];
      for (std::size_t k = 0; k < sums_.size(); ++k) targets[k] = left + k * left_bytes;
      run_part(inputs, outputs, targets, begin, n);
      for (std::size_t k = 0; k < sums_.size(); ++k) {
        std::byte* const to = of_blocks + k * bytes + at(b) * row_bytes;
        if (!by_rows && loop_.dtype == DType::kFloat32) {
          *reinterpret_cast<float*>(to) = fold(static_cast<const float*>(targets[k]));
        } else if (!by_rows) {
          *reinterpret_cast<double*>(to) = fold(static_cast<const double*>(targets[k]));
        } else {
          const bool leaves = sums_[k].from < full_outputs_;
          const void* rows =
              leaves ? static_cast<std::byte*>(outputs[sums_[k].from]) + at(begin * columns_) * size() : targets[k];
          reduce(Reduction::kSum, loop_.dtype, columns_of(n, columns_), rows, to);
        }
      }
    }
    for (std::size_t k = 0; k < sums_.size(); ++k) {
      std::byte* const sum = of_blocks + k * bytes;
      if (loop_.dtype == DType::kFloat32) {
        join(reinterpret_cast<float*>(sum), blocks, width);
      } else {
        join(reinterpret_cast<double*>(sum), blocks, width);
      }
      std::memcpy(of_pieces.as<std::byte>() + (k * at(pieces) + at(task)) * row_bytes, sum, row_bytes);
    }
  });
  for (std::size_t k = 0; k < sums_.size(); ++k) {
    void* const out = outputs[sums_[k].output];
    const std::byte* const from = of_pieces.as<std::byte>() + k * at(pieces) * row_bytes;
    reduce(Reduction::kSum, loop_.dtype, columns_of(pieces, width), from, out);
    divide(out, width, sums_[k].divisor);
  }
}

// The same for a range of one block.
void FusedGroup::run_one_block(const void* const* inputs, void* const* outputs) const {
  const bool by_rows = rows_ > 1;
  void* targets[kMaxOutputs];
  std::copy_n(outputs, full_outputs_, targets);
  alignas(64) std::byte partials[kMaxSums * kPartialBytes];
  std::optional<Scratch> tiles;
  const std::size_t tile_bytes = at(rows_ * columns_) * size();
  if (by_rows) tiles.emplace(ScratchSlot::kTask, sums_.size() * tile_bytes);
  for (std::size_t k = 0; k < sums_.size(); ++k) {
    if (sums_[k].from < full_outputs_) continue;
    targets[sums_[k].from] = by_rows ? tiles->as<std::byte>() + k * tile_bytes : partials + k * kPartialBytes;
  }
  run_piece(inputs, targets, rows_, columns_);
  for (const Sum& sum : sums_) {
    void* const out = outputs[sum.output];
    if (by_rows) {
      reduce(Reduction::kSum, loop_.dtype, columns_of(rows_, columns_), targets[sum.from], out);
    } else if (loop_.dtype == DType::kFloat32) {
      *static_cast<float*>(out) = fold(static_cast<const float*>(targets[sum.from]));
    } else {
      *static_cast<double*>(out) = fold(static_cast<const double*>(targets[sum.from]));
    }
    divide(out, by_rows ? columns_ : 1, sum.divisor);
  }
}

void FusedGroup::divide(void* sums, std::int64_t count, std::int64_t divisor) const {
  if (divisor == 1) return;
  for (std::int64_t i = 0; i < count; ++i) {
    if (loop_.dtype == DType::kFloat32) {
      static_cast<float*>(sums)[i] /= static_cast<float>(divisor);
    } else {
      static_cast<double*>(sums)[i] /= static_cast<double>(divisor);
    }
  }
}

// Rows, or if there is one only columns, from `begin` on. What is summed goes to `sums`.
void FusedGroup::run_part(const void* const* inputs, void* const* outputs, void* const* sums, std::int64_t begin,
                          std::int64_t n) const {
  const bool by_rows = rows_ > 1;
  const std::int64_t first = by_rows ? begin * columns_ : begin;
  const void* in[kMaxInputs];
  void* out[kMaxOutputs];
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Access access = loop_.inputs[i].access;
    const bool moves = access == (by_rows ? Access::kColumn : Access::kRow);
    const std::int64_t distance = access == Access::kFull ? first : moves ? begin : 0;
    in[i] = static_cast<const std::byte*>(inputs[i]) + at(distance) * (loop_.inputs[i].boolean ? 1 : size());
  }
  for (std::size_t o = 0; o < full_outputs_; ++o) {
    out[o] = static_cast<std::byte*>(outputs[o]) + at(first) * element_bytes(o);
  }
  for (std::size_t k = 0; k < sums_.size(); ++k) {
    if (sums_[k].from >= full_outputs_) out[sums_[k].from] = sums[k];
  }
  run_piece(in, out, by_rows ? n : 1, by_rows ? columns_ : n);
}

std::size_t FusedGroup::element_bytes(std::size_t output) const {
  const auto node = static_cast<std::size_t>(loop_.outputs[output].value) - loop_.inputs.size();
  return loop_.nodes[node].boolean ? 1 : size();
}

void FusedGroup::run_piece(const void* const* inputs, void* const* outputs, std::int64_t rows,
                           std::int64_t columns) const {
  // If nothing repeats along rows they are one.
  if (flat_) return run_kernel({inputs, outputs, 1, rows * columns});
  if (rows_together_ == 1) return run_kernel({inputs, outputs, rows, columns});
  const std::int64_t whole = rows / rows_together_;
  if (whole > 0) run_kernel({inputs, outputs, whole, rows_together_ * columns});
  const std::int64_t left = rows - whole * rows_together_;
  if (left == 0) return;
  const void* in[kMaxInputs];
  void* out[kMaxOutputs];
  const std::size_t begin = at((rows - left) * columns);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const FusedLoop::Input& input = loop_.inputs[i];
    const std::size_t step = input.access == Access::kFull ? (input.boolean ? 1 : size()) : 0;
    in[i] = static_cast<const std::byte*>(inputs[i]) + begin * step;
  }
  for (std::size_t o = 0; o < loop_.outputs.size(); ++o) {
    out[o] = static_cast<std::byte*>(outputs[o]) + begin * element_bytes(o);
  }
  run_kernel({in, out, 1, left * columns});
}

void FusedGroup::run_kernel(const FusedCall& call) const {
  if (kernel_ != nullptr) {
    kernel_(call);
  } else {
    run_tiles(call);
  }
}

// --- Tiles ---

void FusedGroup::plan_tiles(std::span<const Graph::Node> nodes) {
  const std::size_t values = loop_.inputs.size() + loop_.nodes.size();
  std::vector<std::size_t> last(values, 0);  // the node that reads a value last
  for (std::size_t k = 0; k < loop_.nodes.size(); ++k) {
    for (const std::int32_t operand : loop_.nodes[k].operands) {
      if (operand >= 0) last[at(operand)] = k;
    }
  }
  for (const FusedLoop::Output& output : loop_.outputs) last[at(output.value)] = loop_.nodes.size();

  slot_.assign(values, -1);
  std::vector<std::int32_t> free;
  const auto take = [&] {
    if (free.empty()) return slots_++;
    const std::int32_t slot = free.back();
    free.pop_back();
    return slot;
  };
  // Operands that repeat along rows are spread over a tile.
  for (std::size_t i = 0; i < loop_.inputs.size(); ++i) {
    if (loop_.inputs[i].access == Access::kRow || loop_.inputs[i].access == Access::kColumn) slot_[i] = slots_++;
  }
  std::size_t k = 0;
  for (const Graph::Node& node : nodes) {
    const std::optional<LoopOfOp> loop = loop_of(node);
    if (!loop) continue;  // a sum
    TileStep step{function_of(*loop, loop_.dtype), 0};
    for (int position = 0; position < 5; ++position) {
      const std::int32_t operand = loop_.nodes[k].operands[position];
      if (operand >= 0 && at(operand) < loop_.inputs.size() && loop_.inputs[at(operand)].access == Access::kScalar) {
        step.scalars |= 1u << position;
      }
    }
    steps_.push_back(step);
    const std::size_t value = loop_.inputs.size() + k;
    slot_[value] = take();
    for (const std::int32_t operand : loop_.nodes[k].operands) {
      const bool inside = operand >= 0 && at(operand) >= loop_.inputs.size();
      if (!inside || last[at(operand)] != k) continue;
      if (std::find(free.begin(), free.end(), slot_[at(operand)]) == free.end()) free.push_back(slot_[at(operand)]);
    }
    ++k;
  }
}

void FusedGroup::run_tiles(const FusedCall& call) const {
  // Several whole rows to a tile, or a part of one.
  const std::int64_t width = std::min(call.columns, kTile);
  const std::int64_t height = std::clamp<std::int64_t>(kTile / width, 1, call.rows);
  const std::size_t slot_bytes = at(width * height) * sizeof(double);
  const Scratch scratch(ScratchSlot::kTask, std::max<std::size_t>(1, at(slots_)) * slot_bytes);
  const auto slot = [&](std::int32_t s) { return scratch.as<std::byte>() + at(s) * slot_bytes; };
  for (std::size_t o = 0; o < loop_.outputs.size(); ++o) {
    if (loop_.outputs[o].store == Store::kSum) std::memset(call.outputs[o], 0, kPartialBytes);
  }
  for (std::int64_t row = 0; row < call.rows; row += height) {
    const std::int64_t rows = std::min(height, call.rows - row);
    for (std::int64_t column = 0; column < call.columns; column += width) {
      const Tile tile{row, rows, column, std::min(width, call.columns - column), call.columns};
      run_tile(call, tile, slot);
    }
  }
}

template <class Slot>
void FusedGroup::run_tile(const FusedCall& call, const Tile& tile, const Slot& slot) const {
  const std::int64_t n = tile.rows * tile.columns;
  const std::int64_t first = tile.row * tile.stride + tile.column;
  const auto place = [&](std::int32_t value) -> const void* {
    if (at(value) >= loop_.inputs.size() || slot_[at(value)] >= 0) return slot(slot_[at(value)]);
    const FusedLoop::Input& input = loop_.inputs[at(value)];
    const std::size_t bytes = input.boolean ? 1 : size();
    const auto* memory = static_cast<const std::byte*>(call.inputs[value]);
    return input.access == Access::kFull ? memory + at(first) * bytes : memory;
  };
  for (std::size_t i = 0; i < loop_.inputs.size(); ++i) {
    if (slot_[i] < 0) continue;
    const std::size_t bytes = loop_.inputs[i].boolean ? 1 : size();
    const auto* memory = static_cast<const std::byte*>(call.inputs[i]);
    std::byte* to = slot(slot_[i]);
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      if (loop_.inputs[i].access == Access::kRow) {
        std::memcpy(to, memory + at(tile.column) * bytes, at(tile.columns) * bytes);
        to += at(tile.columns) * bytes;
      } else {
        for (std::int64_t c = 0; c < tile.columns; ++c, to += bytes)
          std::memcpy(to, memory + at(tile.row + r) * bytes, bytes);
      }
    }
  }
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const FusedLoop::Node& node = loop_.nodes[k];
    LoopArgs args{slot(slot_[loop_.inputs.size() + k]), {}, n, node.parameters, steps_[k].scalars, false};
    for (int position = 0; position < 5; ++position) {
      args.in[position] = node.operands[position] < 0 ? nullptr : place(node.operands[position]);
    }
    steps_[k].loop(args);
  }
  for (std::size_t o = 0; o < loop_.outputs.size(); ++o) {
    const FusedLoop::Output& output = loop_.outputs[o];
    const void* from = place(output.value);
    if (output.store == Store::kFull) {
      const std::size_t bytes = element_bytes(o);
      std::memcpy(static_cast<std::byte*>(call.outputs[o]) + at(first) * bytes, from, at(n) * bytes);
    } else if (loop_.dtype == DType::kFloat32) {
      add_sums<float>(tile, from, call.outputs[o]);
    } else {
      add_sums<double>(tile, from, call.outputs[o]);
    }
  }
}

template <class T>
void FusedGroup::add_sums(const Tile& tile, const void* from, void* to) {
  constexpr std::int64_t kPartials = kPartialBytes / sizeof(T);
  const T* values = static_cast<const T*>(from);
  T* sums = static_cast<T*>(to);
  for (std::int64_t c = 0; c < tile.columns; ++c) sums[(tile.column + c) % kPartials] += values[c];
}

}  // namespace capstan
