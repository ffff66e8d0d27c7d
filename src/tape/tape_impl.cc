#include "src/tape/tape_impl.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/live.h"
#include "src/core/thread_end.h"

namespace capstan {

using detail::Block;
using detail::VariableState;

namespace {

constexpr int kMaxCachedTapes = 8;
constexpr std::size_t kMaxKeptChunks = 32;  // 1 MiB of records
constexpr std::size_t kMaxKeptSlots = std::size_t{1} << 16;

// Tapes of this thread that wait for reuse. Without a destructor, so that an access is one instruction.
struct TapeCache {
  TapeImpl* free[kMaxCachedTapes];
  int count;
  int limit;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local TapeCache cache = {{}, 0, kMaxCachedTapes};

// When the thread ends. A tape that outlives this (a static one) finds no room and is deleted.
void empty_cache() {
  cache.limit = 0;
  while (cache.count > 0) TapeImpl::destroy(cache.free[--cache.count]);
}

std::size_t hash(const Block* block) {
  return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(block) >> 6) * 0x9e3779b97f4a7c15ull >> 32);
}

void release_block(Block* block) noexcept {
  if (block != nullptr) detail::release(block);
}

}  // namespace

// --- Life ---

[[gnu::noinline]] TapeImpl* TapeImpl::new_tape() {
  at_thread_end(&empty_cache);
  return new TapeImpl;
}

TapeImpl* TapeImpl::create(const GradientTapeOptions& options) {
  TapeImpl* tape = cache.count > 0 ? cache.free[--cache.count] : new_tape();
  tape->owner_ = &context;
  tape->persistent = options.persistent;
  tape->watch_accessed_ = options.watch_accessed_variables;
  tape->consumed = false;
  tape->open();
  return tape;
}

void TapeImpl::destroy(TapeImpl* tape) noexcept {
  if (tape->owner_ != &context) [[unlikely]] {
    // Another thread's tape: while it records it is in that thread's context and must not go away.
    if (tape->recording) return;
  } else if (tape->recording) {
    tape->stop();
  }
  if (!tape->consumed) tape->clear();
  tape->clear_leaves();
  const bool small = tape->chunks_.size() <= kMaxKeptChunks && tape->scratch_.size() <= kMaxKeptSlots;
  if (cache.count >= cache.limit || !small) return retire(tape);
  cache.free[cache.count++] = tape;
}

[[gnu::cold, gnu::noinline]] void TapeImpl::retire(TapeImpl* tape) noexcept {
  const bool keep = cache.count < cache.limit;
  while (tape->chunks_.size() > (keep ? kMaxKeptChunks : 0)) {
    delete[] tape->chunks_.back();
    tape->chunks_.pop_back();
  }
  if (keep) {
    if (tape->scratch_.size() > kMaxKeptSlots) tape->scratch_ = {};
    cache.free[cache.count++] = tape;
    return;
  }
  for (RecordExtra* extra : tape->free_extras_) delete extra;
  delete tape;
}

void TapeImpl::clear() {
  while (count_ > 0) release_record(at(--count_));
  for (Watched& watched : watched_) release_block(std::exchange(watched.block, nullptr));
  watched_index_.clear();
  intervals_.clear();
  offset_ = 0;
  base_ = end_ = context.next_node;
}

void TapeImpl::clear_leaves() {
  for (const Watched& watched : watched_) {
    if (watched.variable != nullptr) detail::release(watched.variable);
  }
  watched_.clear();
  leaves_ = watched_results_ = 0;
}

[[gnu::cold, gnu::noinline]] void TapeImpl::throw_other_thread() {
  throw GradientError(detail::join("tape: this tape belongs to another thread",
                                   help("make a tape on each thread; tensors and variables can be shared")));
}

[[gnu::cold, gnu::noinline]] void TapeImpl::throw_used_up(std::string_view call) {
  throw GradientError(
      detail::join(call, ": this tape was already used",
                   help("a tape serves one gradient() call; write GradientTape tape({.persistent = true}) for more")));
}

void TapeImpl::start() {
  CAPSTAN_CHECK(!recording, GradientError, "start: this tape is already recording");
  if (consumed) {
    CAPSTAN_CHECK(running == 0, GradientError, "start: this tape's gradient() is running");
    consumed = false;
    clear_leaves();
  }
  if (end_ != base_) {
    intervals_.push_back({base_, end_ - base_, offset_});
    offset_ += static_cast<Slot>(end_ - base_);
    base_ = end_;
  }
  open();
}

void TapeImpl::open() {
  // Numbers run out after hours of training; a new range can only begin while no tape records, or before the first.
  constexpr std::uint64_t kFewNumbers = std::uint64_t{1} << 31;
  if (context.nodes_end - context.next_node < kFewNumbers) [[unlikely]] {
    if (context.nodes_end == 0 || context.observers == context.guard) reserve_nodes();
  }
  base_ = context.next_node;
  recording = true;
  enter();
}

void TapeImpl::stop() {
  if (!recording) return;
  recording = false;
  leave();
  end_ = context.next_node;
}

void TapeImpl::use_up() {
  if (persistent) return;
  stop();
  consumed = true;
  clear();
}

void TapeImpl::reset() {
  CAPSTAN_CHECK(recording, GradientError, "reset: this tape is not recording");
  CAPSTAN_CHECK(running == 0, GradientError, "reset: this tape's gradient() is running");
  clear();
  clear_leaves();
}

// --- Leaves ---

constexpr std::size_t kFewBlocks = 8;

Slot TapeImpl::leaf_slot(const Block* block) const {
  if (watched_index_.empty()) {
    for (const Watched& watched : watched_) {
      if (watched.block == block) return watched.slot;
    }
    return kNoSlot;
  }
  const std::size_t mask = watched_index_.size() - 1;
  for (std::size_t i = hash(block) & mask; watched_index_[i] != 0; i = (i + 1) & mask) {
    const Watched& watched = watched_[watched_index_[i] - 1];
    if (watched.block == block) return watched.slot;
  }
  return kNoSlot;
}

Slot TapeImpl::slot_elsewhere(const Block* block, std::uint64_t node) const {
  if (node != 0) {
    for (std::size_t i = intervals_.size(); i-- > 0;) {
      const std::uint64_t k = node - intervals_[i].base;
      if (k < intervals_[i].length) return intervals_[i].offset + static_cast<Slot>(k) + 1;
    }
  }
  return (block->flags.load(std::memory_order_relaxed) & Block::kLeaf) != 0 ? leaf_slot(block) : kNoSlot;
}

void TapeImpl::index_block(std::uint32_t position) {
  const std::size_t mask = watched_index_.size() - 1;
  std::size_t i = hash(watched_[position].block) & mask;
  while (watched_index_[i] != 0) i = (i + 1) & mask;
  watched_index_[i] = position + 1;
}

// Brings the index up to date with one more block.
[[gnu::noinline]] void TapeImpl::index_newest() {
  const std::size_t size = watched_.size();
  if (2 * size > watched_index_.size()) {
    watched_index_.assign(std::bit_ceil(4 * size), 0);
    for (std::uint32_t k = 0; k < size; ++k) index_block(k);
  } else {
    index_block(static_cast<std::uint32_t>(size - 1));
  }
}

void TapeImpl::add_watched(Block* block, VariableState* variable, Slot slot) {
  watched_.push_back({block, variable, slot, count_});
  detail::retain(block);
  if (watched_.size() > kFewBlocks) index_newest();
  // The one write to a shared block: sticky, and atomic.
  if ((block->flags.load(std::memory_order_relaxed) & Block::kLeaf) == 0) block->flags.fetch_or(Block::kLeaf);
}

void TapeImpl::add_leaf(Block* block, VariableState* variable) {
  if (variable != nullptr) detail::retain(variable);
  add_watched(block, variable, -++leaves_);
}

Slot TapeImpl::variable_slot(const VariableState* variable) const {
  for (const Watched& watched : watched_) {
    if (watched.variable == variable) return watched.slot;
  }
  return kNoSlot;
}

Slot TapeImpl::slot_of(const Source& source) const {
  if (source.variable() != nullptr) return variable_slot(source.variable()->state());
  const Block* block = source.tensor()->block();
  return slot_of(block, block->node);
}

Slot TapeImpl::slot_of_target(const Source& target) const {
  const Slot slot = slot_of(target);
  if (slot != kNoSlot || target.variable() != nullptr || !target.tensor()->is_row_sparse()) return slot;
  const Block* const rows = target.tensor()->block()->sparse.values;
  return slot_of(rows, rows->node);
}

void TapeImpl::watch(const Tensor& tensor) {
  CAPSTAN_CHECK(tensor.has_value(), ValueError, "watch: this tensor is empty");
  check_live("watch", tensor);
  if (!takes_leaves()) return;
  Block* const block = tensor.block();
  // The rows of a row-sparse tensor are what ops see; if they are known, so is the tensor.
  const Block* const rows = tensor.is_row_sparse() ? block->sparse.values : block;
  const Slot slot = slot_of(rows, rows->node);
  if (slot == kNoSlot) {
    if (rows == block || leaf_slot(block) == kNoSlot) add_leaf(block, nullptr);
  } else if (!is_leaf(slot) && leaf_slot(rows) == kNoSlot) {
    // The number may be that of another tape, and nothing on this one leads to it: it counts as connected from now on.
    add_watched(const_cast<Block*>(rows), nullptr, slot);
    ++watched_results_;
  }
}

void TapeImpl::watch(const Variable& variable) {
  CAPSTAN_CHECK(variable.has_value(), ValueError, "watch: this variable's handle is empty");
  if (!takes_leaves()) return;
  VariableState* state = variable.state();
  const Slot known = variable_slot(state);
  if (known == kNoSlot) {
    add_leaf(current_value(*state).block(), state);
  } else if (leaf_slot(current_value(*state).block()) == kNoSlot) {
    add_watched(current_value(*state).block(), nullptr, known);
  }
}

void TapeImpl::read(VariableState& variable) {
  Block* block = current_value(variable).block();
  if ((block->flags.load(std::memory_order_relaxed) & Block::kLeaf) != 0 && leaf_slot(block) != kNoSlot) return;
  const Slot known = variable_slot(&variable);
  if (known != kNoSlot) {
    add_watched(block, nullptr, known);  // A value assigned since: the variable keeps its one slot.
  } else if (watch_accessed_ && variable.trainable) {
    add_leaf(block, &variable);
  }
}

std::vector<Variable> TapeImpl::watched_variables() const {
  std::vector<Variable> variables;
  for (const Watched& watched : watched_) {
    if (watched.variable != nullptr) variables.push_back(Variable::share(watched.variable));
  }
  std::sort(variables.begin(), variables.end(),
            [](const Variable& a, const Variable& b) { return a.state()->serial < b.state()->serial; });
  return variables;
}

// --- Recording ---

void TapeImpl::grow() { chunks_.push_back(new Record[kChunkSize]); }

[[gnu::noinline]] void TapeImpl::release_extra(RecordExtra* extra) {
  for (std::size_t i = 0; i < extra->saved.size(); ++i) {
    if (!is_leaf(extra->inputs[i])) release_block(extra->saved[i]);
  }
  for (Block* block : extra->outputs) release_block(block);
  extra->inputs.clear();
  extra->saved.clear();
  extra->outputs.clear();
  extra->custom = nullptr;
  free_extras_.push_back(extra);
}

Reads reads_of(const OpDef& op, std::uint32_t needed) {
  if ((op.reads[0] | op.reads[1] | op.reads[2]) == 0) {
    return {op.inputs.count == kVariadic && op.saves.inputs != 0 ? ~0u : op.saves.inputs, op.saves.outputs};
  }
  std::uint32_t bits = 0;
  for (int i = 0; i < 3; ++i) {
    if ((needed >> i & 1) != 0) bits |= op.reads[i];
  }
  return {bits >> 1 & 7u, (bits & kReadsOutput) != 0 ? 1u : 0u};
}

namespace {

// The block to keep for an input: itself where its elements are read or a leaf is held anyway, else a stand-in. A
// symbolic tensor is its own stand-in: its lengths may be open.
Block* keep(Block* block, Slot slot, bool elements) {
  if (is_leaf(slot)) return block;  // not counted: the table holds it
  if (elements || (block->flags.load(std::memory_order_relaxed) & (Block::kShapeOnly | Block::kSymbolic)) != 0) {
    detail::retain(block);
    return block;
  }
  return shape_only(TensorRef(block)).release();
}

}  // namespace

void TapeImpl::record(const ObservedCall& call) {
  if (call.op.kind != OpKind::kElementwise) {
    record_structured(call);
  } else if (call.inputs.size() == 2) {
    record_elementwise<2>(call);
  } else if (call.inputs.size() == 1) {
    record_elementwise<1>(call);
  } else {
    record_elementwise<3>(call);
  }
}

void TapeImpl::number(std::span<Tensor> outputs) {
  // The first tape that records a call numbers its outputs; nobody else has seen the blocks yet.
  if (outputs[0].block()->node != 0) return;
  std::uint64_t node = next_nodes(static_cast<int>(outputs.size()));
  for (Tensor& output : outputs) output.block()->node = node++;
}

template <int N>
void TapeImpl::record_elementwise(const ObservedCall& call) {
  const ObservedInput* inputs = call.inputs.data();
  const OpDef& op = call.op;
  Record& r = append();
  std::uint32_t bits = 0;  // what the rules of the known inputs read
  const std::uint64_t length = context.next_node - base_;
  for (int i = 0; i < N; ++i) {
    const ObservedInput& input = inputs[i];
    r.inputs[i] = kNoSlot;
    if (!is_differentiable(input.block->dtype)) continue;  // An integer path ends here.
    if (i > 0 && input.block == inputs[i - 1].block) {     // A square, say: no need to look twice.
      r.inputs[i] = r.inputs[i - 1];
    } else {
      r.inputs[i] = input.node - base_ < length ? result_slot(input.node) : slot_elsewhere(input.block, input.node);
    }
    if (r.inputs[i] != kNoSlot) bits |= op.reads[i] | 0x100u;
  }
  if (bits == 0) return;
  Block* out = call.outputs[0].block();
  if (out->node == 0) out->node = next_nodes(1);
  r.op = &op;
  r.output = result_slot(out->node);
  r.extra = nullptr;
  r.saved_output = nullptr;
  for (int i = 0; i < 3; ++i) r.saved[i] = nullptr;
  for (int i = N; i < 3; ++i) r.inputs[i] = kNoSlot;
  for (int i = 0; i < N; ++i) {
    Block* block = inputs[i].block;
    const bool elements = (bits >> (i + 1) & 1) != 0;
    if (elements) {
      if (!is_leaf(r.inputs[i])) detail::retain(block);
      r.saved[i] = block;
    } else if (r.inputs[i] != kNoSlot && !keeps_shape(block, out)) {
      r.saved[i] = keep(block, r.inputs[i], false);
    }
  }
  if ((bits & kReadsOutput) != 0) {
    detail::retain(out);
    r.saved_output = out;
  }
  ++count_;
  if (op.attributes != nullptr) [[unlikely]] {
    r.extra = take_extra();
    std::memcpy(r.extra->attributes, call.attributes, op.attributes->size);
  }
}

RecordExtra* TapeImpl::take_extra() {
  if (free_extras_.empty()) return new RecordExtra;
  RecordExtra* extra = free_extras_.back();
  free_extras_.pop_back();
  return extra;
}

void TapeImpl::record_structured(const ObservedCall& call) {
  constexpr std::size_t kInline = 3;
  const std::size_t n = call.inputs.size();
  Slot inline_slots[kInline] = {};
  std::vector<Slot> more_slots(n > kInline ? n : 0);
  Slot* slots = n > kInline ? more_slots.data() : inline_slots;
  std::uint32_t needed = 0;
  bool any = false;
  for (std::size_t i = 0; i < n; ++i) {
    const ObservedInput& input = call.inputs[i];
    if (!is_differentiable(input.block->dtype)) continue;
    slots[i] = slot_of(input.block, input.node);
    if (slots[i] == kNoSlot) continue;
    any = true;
    if (i < kInline) needed |= 1u << i;
  }
  if (!any || call.outputs.empty()) return;
  number(call.outputs);
  Record& r = append();
  r.op = &call.op;
  r.output = slot_of(call.outputs[0].block(), call.outputs[0].block()->node);
  r.saved_output = nullptr;
  r.extra = nullptr;
  for (std::size_t i = 0; i < kInline; ++i) {
    r.inputs[i] = inline_slots[i];
    r.saved[i] = nullptr;
  }
  ++count_;  // From here on the record is complete and can be released.

  const Reads reads = reads_of(call.op, needed);
  const std::uint32_t size = call.op.attributes == nullptr ? 0 : call.op.attributes->size;
  if (size > 0 || n > kInline || call.outputs.size() > 1) r.extra = take_extra();
  if (size > 0) std::memcpy(r.extra->attributes, call.attributes, size);
  Block** saved = r.saved;
  if (n > kInline) {
    r.extra->inputs = std::move(more_slots);
    r.extra->saved.assign(n, nullptr);
    slots = r.extra->inputs.data();
    saved = r.extra->saved.data();
  }
  for (std::size_t i = 0; i < n; ++i) {
    const bool elements = (reads.inputs >> std::min<std::size_t>(i, 31) & 1) != 0;
    saved[i] = keep(call.inputs[i].block, slots[i], elements);
  }
  if (call.outputs.size() > 1) {
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      const bool elements = (reads.outputs >> std::min<std::size_t>(i, 31) & 1) != 0;
      r.extra->outputs.push_back(keep(call.outputs[i].block(), kNoSlot, elements));
    }
  } else if (reads.outputs != 0) {
    r.saved_output = call.outputs[0].block();
    detail::retain(r.saved_output);
  }
}

void TapeImpl::record(const CustomCall& call) {
  const std::span<const ObservedInput> inputs = call.inputs;
  const std::span<Tensor> outputs = call.outputs;
  std::vector<Slot> slots;
  bool any = false;
  for (const ObservedInput& input : inputs) {
    slots.push_back(is_differentiable(input.block->dtype) ? slot_of(input.block, input.node) : kNoSlot);
    any |= slots.back() != kNoSlot;
  }
  if (!any) return;
  number(outputs);
  Record& r = append();
  r = {&kCustomGradient, slot_of(outputs[0].block(), outputs[0].block()->node), {}, {}, nullptr, take_extra()};
  ++count_;
  r.extra->inputs = std::move(slots);
  r.extra->saved.assign(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) r.extra->saved[i] = keep(inputs[i].block, r.extra->inputs[i], false);
  for (Tensor& output : outputs) r.extra->outputs.push_back(keep(output.block(), kNoSlot, false));
  r.extra->custom = call.rule.vjp;
}

constinit const OpDef kCustomGradient = {
    .name = "custom_gradient",
    .text = "A function with a gradient of its own; made by custom_gradient().",
    .kind = OpKind::kComposite,
    .outputs = kVariadic,
    .inputs = {"inputs", kVariadic},
};

}  // namespace capstan
