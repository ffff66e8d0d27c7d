#include "src/graph/fused_group.h"

#include <algorithm>
#include <cstring>

#include "src/core/thread_pool.h"
#include "src/graph/loops.h"
#include "src/kernels/scratch.h"

namespace capstan {

namespace {

using Access = FusedLoop::Access;
using Store = FusedLoop::Store;

constexpr std::size_t kPartialBytes = 64;  // of a sum, see FusedCall
constexpr std::int64_t kTile = 512;        // elements; a multiple of the partial sums
constexpr std::int64_t kPiece = 32768;     // elements of a task, as in run_loop
// What has partial sums of its own: elements of a line, as in src/kernels/reduce.h, or rows. The error grows with it.
constexpr std::int64_t kBlock = 1024;
constexpr std::int64_t kFewestRows = 8;
constexpr std::int64_t kMostRows = 256;

std::int32_t index(std::size_t i) { return static_cast<std::int32_t>(i); }
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

bool elements_are_equal(const Tensor& constant) {
  const auto* bytes = static_cast<const char*>(constant.raw_data());
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

// The sum of the partial sums of a block, and of those of all blocks, in the order of src/kernels/reduce.h.
template <class T>
T sum_of_blocks(T* partial, std::int64_t blocks) {
  constexpr std::int64_t kPartials = kPartialBytes / sizeof(T);
  for (std::int64_t b = 0; b < blocks; ++b) {
    T* sums = partial + b * kPartials;
    for (std::int64_t half = kPartials / 2; half > 0; half /= 2) {
      for (std::int64_t k = 0; k < half; ++k) sums[k] += sums[k + half];
    }
    partial[b] = sums[0];
  }
  join(partial, blocks, 1);
  return partial[0];
}

template <class T>
void finish(Store store, void* partial, std::int64_t pieces, std::int64_t columns, std::int64_t divisor, void* out) {
  T* sums = static_cast<T*>(partial);
  T* result = static_cast<T*>(out);
  const auto by = static_cast<T>(divisor);
  if (store == Store::kSum) {
    const T sum = sum_of_blocks(sums, pieces);
    *result = divisor == 1 ? sum : sum / by;
  } else {
    join(sums, pieces, columns);
    for (std::int64_t i = 0; i < columns; ++i) result[i] = divisor == 1 ? sums[i] : sums[i] / by;
  }
}

}  // namespace

FusedGroup::FusedGroup(const Graph& graph, std::span<const Graph::Node> nodes, const std::vector<bool>& leaves) {
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
      divisors_.push_back(1);
    }
  }
  for (const Graph::Node* node : sums) {
    const SumOfNode sum = *sum_of(graph, *node);
    loop_.outputs.push_back({value_of[at(node->inputs[0])], sum.store});
    outputs_.push_back(node->outputs[0]);
    divisors_.push_back(sum.divisor);
    sums_ = true;
  }
  const bool flat = std::none_of(loop_.inputs.begin(), loop_.inputs.end(),
                                 [](const FusedLoop::Input& input) {
                                   return input.access == Access::kRow || input.access == Access::kColumn;
                                 }) &&
                    std::none_of(loop_.outputs.begin(), loop_.outputs.end(),
                                 [](const FusedLoop::Output& output) { return output.store == Store::kColumnSums; });
  if (flat) columns_ = count;
  rows_ = count / columns_;
  kernel_ = emit_fused_loop(loop_);
  if (kernel_ == nullptr) plan_tiles(nodes);
}

bool FusedGroup::may_overwrite(std::size_t input, std::size_t output) const {
  const FusedLoop::Input& in = loop_.inputs[input];
  const FusedLoop::Output& out = loop_.outputs[output];
  const auto node = static_cast<std::size_t>(out.value) - loop_.inputs.size();
  return in.access == Access::kFull && out.store == Store::kFull && in.boolean == loop_.nodes[node].boolean;
}

void FusedGroup::run(const void* const* inputs, void* const* outputs) const {
  const bool by_rows = rows_ > 1;
  const std::int64_t whole = by_rows ? rows_ : columns_;
  if (!sums_) {
    const std::int64_t length = by_rows ? std::max<std::int64_t>(1, kPiece / columns_) : kPiece;
    if (whole <= 2 * length) return run_piece({inputs, outputs, rows_, columns_});
    parallel_for((whole + length - 1) / length, [&](std::int64_t task) {
      const std::int64_t begin = task * length;
      run_part(inputs, outputs, {}, begin, std::min(length, whole - begin));
    });
    return;
  }

  // A block for each partial result; several blocks to a task.
  const std::int64_t block = by_rows ? std::clamp(kPiece / columns_, kFewestRows, kMostRows) : kBlock;
  const std::int64_t blocks = (whole + block - 1) / block;
  std::size_t bytes = 0;
  for (std::size_t o = 0; o < loop_.outputs.size(); ++o) bytes += at(blocks) * partial_bytes(o);
  const Scratch scratch(ScratchSlot::kCall, bytes);
  auto* const memory = scratch.as<std::byte>();
  std::memset(memory, 0, bytes);
  const std::int64_t elements = by_rows ? block * columns_ : block;
  const std::int64_t together = std::max<std::int64_t>(1, kPiece / elements);
  const auto body = [&](std::int64_t task) {
    Partials partials{memory, blocks, 0};
    for (std::int64_t b = task * together; b < std::min(blocks, (task + 1) * together); ++b) {
      partials.block = b;
      run_part(inputs, outputs, partials, b * block, std::min(block, whole - b * block));
    }
  };
  if (blocks <= together) {
    body(0);
  } else {
    parallel_for((blocks + together - 1) / together, body);
  }
  std::byte* next = memory;
  for (std::size_t o = 0; o < loop_.outputs.size(); ++o) {
    const Store store = loop_.outputs[o].store;
    if (store == Store::kFull) continue;
    const auto done = loop_.dtype == DType::kFloat32 ? finish<float> : finish<double>;
    done(store, next, blocks, columns_, divisors_[o], outputs[o]);
    next += at(blocks) * partial_bytes(o);
  }
}

// Rows, or if there is one only columns, from `begin` on.
void FusedGroup::run_part(const void* const* inputs, void* const* outputs, const Partials& partials, std::int64_t begin,
                          std::int64_t n) const {
  const bool by_rows = rows_ > 1;
  const std::int64_t first = by_rows ? begin * columns_ : begin;
  const void* in[kMaxInputs];
  void* out[kMaxOutputs];
  std::byte* sums = partials.memory;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Access access = loop_.inputs[i].access;
    const bool moves = access == (by_rows ? Access::kColumn : Access::kRow);
    const std::int64_t distance = access == Access::kFull ? first : moves ? begin : 0;
    in[i] = static_cast<const std::byte*>(inputs[i]) + at(distance) * (loop_.inputs[i].boolean ? 1 : size());
  }
  for (std::size_t o = 0; o < loop_.outputs.size(); ++o) {
    if (loop_.outputs[o].store == Store::kFull) {
      out[o] = static_cast<std::byte*>(outputs[o]) + at(first) * element_bytes(o);
    } else {
      out[o] = sums + at(partials.block) * partial_bytes(o);
      sums += at(partials.blocks) * partial_bytes(o);
    }
  }
  run_piece({in, out, by_rows ? n : 1, by_rows ? columns_ : n});
}

std::size_t FusedGroup::element_bytes(std::size_t output) const {
  const auto node = static_cast<std::size_t>(loop_.outputs[output].value) - loop_.inputs.size();
  return loop_.nodes[node].boolean ? 1 : size();
}

std::size_t FusedGroup::partial_bytes(std::size_t output) const {
  const Store store = loop_.outputs[output].store;
  return store == Store::kFull ? 0 : store == Store::kSum ? kPartialBytes : at(columns_) * size();
}

void FusedGroup::run_piece(const FusedCall& call) const {
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
      add_sums<float>(output.store, tile, from, call.outputs[o]);
    } else {
      add_sums<double>(output.store, tile, from, call.outputs[o]);
    }
  }
}

template <class T>
void FusedGroup::add_sums(Store store, const Tile& tile, const void* from, void* to) {
  constexpr std::int64_t kPartials = kPartialBytes / sizeof(T);
  const T* values = static_cast<const T*>(from);
  T* sums = static_cast<T*>(to);
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    for (std::int64_t c = 0; c < tile.columns; ++c) {
      const std::int64_t column = tile.column + c;
      sums[store == Store::kSum ? column % kPartials : column] += *values++;
    }
  }
}

}  // namespace capstan
