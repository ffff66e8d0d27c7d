#include "src/tape/tape_impl.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "src/core/apply.h"
#include "src/core/check.h"

namespace capstan {

using detail::Block;
using detail::VariableState;

namespace {

// Tapes of this thread that wait for reuse.
struct TapeCache {
  std::vector<TapeImpl*> free;
  ~TapeCache();
};
thread_local TapeCache cache;
constexpr std::size_t kMaxCachedTapes = 8;
constexpr std::size_t kMaxKeptChunks = 32;  // 1 MiB of records
constexpr std::size_t kMaxKeptSlots = std::size_t{1} << 16;

std::size_t hash(const Block* block) {
  return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(block) >> 6) * 0x9e3779b97f4a7c15ull >> 32);
}

void release_block(Block* block) noexcept {
  if (block != nullptr) detail::release(block);
}

}  // namespace

// --- Life ---

TapeImpl* TapeImpl::create(GradientTapeOptions options) {
  TapeImpl* tape = nullptr;
  if (!cache.free.empty()) {
    tape = cache.free.back();
    cache.free.pop_back();
  } else {
    tape = new TapeImpl;
  }
  tape->owner_ = &context;
  tape->persistent = options.persistent;
  tape->watch_accessed_ = options.watch_accessed_variables;
  tape->consumed = false;
  tape->start();
  return tape;
}

void TapeImpl::destroy(TapeImpl* tape) noexcept {
  if (tape->owner_ != &context) {
    // Another thread's tape: while it records it stands in that thread's context and must not go away.
    if (tape->recording) return;
  } else if (tape->recording) {
    tape->stop();
  }
  tape->clear();
  tape->clear_leaves();
  if (cache.free.size() < kMaxCachedTapes) {
    while (tape->chunks_.size() > kMaxKeptChunks) {
      delete[] tape->chunks_.back();
      tape->chunks_.pop_back();
    }
    if (tape->scratch_.cotangents.capacity() > kMaxKeptSlots) tape->scratch_ = {};
    cache.free.push_back(tape);
    return;
  }
  for (Record* chunk : tape->chunks_) delete[] chunk;
  for (RecordExtra* extra : tape->free_extras_) delete extra;
  delete tape;
}

TapeCache::~TapeCache() {
  const std::vector<TapeImpl*> tapes = std::move(free);
  free.clear();
  free.reserve(kMaxCachedTapes);
  for (TapeImpl* tape : tapes) {
    for (std::size_t i = 0; i < kMaxCachedTapes; ++i) free.push_back(nullptr);  // a full cache: destroy deletes
    TapeImpl::destroy(tape);
    free.clear();
  }
  // A tape that outlives this (a static one) finds the cache full and is deleted.
  free.assign(kMaxCachedTapes, nullptr);
}

void TapeImpl::clear() {
  for (std::uint32_t i = count_; i-- > 0;) release_record(at(i));
  count_ = 0;
  for (const TableEntry& entry : table_) detail::release(entry.block);
  table_.clear();
  table_index_.clear();
  intervals_.clear();
  offset_ = 0;
  base_ = context.next_node;
}

void TapeImpl::clear_leaves() {
  for (TapeLeaf& leaf : leaves_) {
    if (leaf.variable != nullptr) detail::release(leaf.variable);
  }
  leaves_.clear();
}

void TapeImpl::check_thread() const {
  CAPSTAN_CHECK(owner_ == &context, GradientError, "tape: this tape belongs to another thread",
                help("make a tape on each thread; tensors and variables can be shared"));
}

void TapeImpl::start() {
  CAPSTAN_CHECK(!recording, GradientError, "start: this tape is already recording");
  if (consumed) {
    CAPSTAN_CHECK(running == 0, GradientError, "start: this tape's gradient() is running");
    consumed = false;
    clear_leaves();
  }
  // Numbers run out after hours of training; a new range can only begin while no tape records, or before the first.
  constexpr std::uint64_t kFewNumbers = std::uint64_t{1} << 31;
  const bool few = context.nodes_end - context.next_node < kFewNumbers;
  if (context.nodes_end == 0 || (context.observers == nullptr && few)) reserve_nodes();
  base_ = context.next_node;
  recording = true;
  outer = context.observers;
  context.observers = this;
}

void TapeImpl::stop() {
  if (!recording) return;
  recording = false;
  Observer** link = &context.observers;
  while (*link != nullptr && *link != this) link = &(*link)->outer;
  if (*link == this) *link = outer;
  const std::uint64_t length = context.next_node - base_;
  if (length == 0) return;
  intervals_.push_back({base_, length, offset_});
  offset_ += static_cast<std::uint32_t>(length);
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
  if (table_.size() <= kFewBlocks) {
    for (const TableEntry& entry : table_) {
      if (entry.block == block) return kLeafSlot | entry.leaf;
    }
    return kNoSlot;
  }
  const std::size_t mask = table_index_.size() - 1;
  for (std::size_t i = hash(block) & mask; table_index_[i] != 0; i = (i + 1) & mask) {
    const TableEntry& entry = table_[table_index_[i] - 1];
    if (entry.block == block) return kLeafSlot | entry.leaf;
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
  const std::size_t mask = table_index_.size() - 1;
  std::size_t i = hash(table_[position].block) & mask;
  while (table_index_[i] != 0) i = (i + 1) & mask;
  table_index_[i] = position + 1;
}

void TapeImpl::map_block(Block* block, std::uint32_t leaf) {
  table_.push_back({block, leaf});
  detail::retain(block);
  const std::size_t size = table_.size();
  if (size > kFewBlocks) {
    if (2 * size > table_index_.size()) {
      table_index_.assign(std::bit_ceil(4 * size), 0);
      for (std::uint32_t k = 0; k < size; ++k) index_block(k);
    } else {
      index_block(static_cast<std::uint32_t>(size - 1));
    }
  }
  // The one write to a shared block: sticky, and atomic.
  if ((block->flags.load(std::memory_order_relaxed) & Block::kLeaf) == 0) block->flags.fetch_or(Block::kLeaf);
}

Slot TapeImpl::add_leaf(Block* block, VariableState* variable) {
  const auto leaf = static_cast<std::uint32_t>(leaves_.size());
  if (variable != nullptr) detail::retain(variable);
  leaves_.push_back({block, variable});
  map_block(block, leaf);
  return kLeafSlot | leaf;
}

Slot TapeImpl::variable_slot(const VariableState* variable) const {
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (leaves_[i].variable == variable) return kLeafSlot | static_cast<Slot>(i);
  }
  return kNoSlot;
}

Slot TapeImpl::slot_of(const Source& source) const {
  if (source.variable() != nullptr) return variable_slot(source.variable()->state());
  const Block* block = source.tensor()->block();
  return slot_of(block, block->node);
}

void TapeImpl::watch(const Tensor& tensor) {
  CAPSTAN_CHECK(tensor.has_value(), ValueError, "watch: this tensor is empty");
  if (!takes_leaves()) return;
  if (slot_of(tensor.block(), tensor.block()->node) == kNoSlot) add_leaf(tensor.block(), nullptr);
}

void TapeImpl::watch(const Variable& variable) {
  CAPSTAN_CHECK(variable.has_value(), ValueError, "watch: this variable's handle is empty");
  if (!takes_leaves()) return;
  VariableState* state = variable.state();
  const Slot known = variable_slot(state);
  if (known == kNoSlot) {
    add_leaf(state->value.block(), state);
  } else if (leaf_slot(state->value.block()) == kNoSlot) {
    map_block(state->value.block(), known & ~kLeafSlot);
  }
}

void TapeImpl::read(VariableState& variable) {
  Block* block = variable.value.block();
  if ((block->flags.load(std::memory_order_relaxed) & Block::kLeaf) != 0 && leaf_slot(block) != kNoSlot) return;
  const Slot known = variable_slot(&variable);
  if (known != kNoSlot) {
    map_block(block, known & ~kLeafSlot);  // A value assigned since: the variable keeps its one slot.
  } else if (watch_accessed_ && variable.trainable) {
    add_leaf(block, &variable);
  }
}

std::vector<Variable> TapeImpl::watched_variables() const {
  std::vector<Variable> variables;
  for (const TapeLeaf& leaf : leaves_) {
    if (leaf.variable != nullptr) variables.push_back(Variable::share(leaf.variable));
  }
  std::sort(variables.begin(), variables.end(),
            [](const Variable& a, const Variable& b) { return a.state()->serial < b.state()->serial; });
  return variables;
}

// --- Recording ---

std::uint32_t TapeImpl::result_slots() const {
  return offset_ + (recording ? static_cast<std::uint32_t>(context.next_node - base_) : 0);
}

void TapeImpl::grow() { chunks_.push_back(new Record[kChunkSize]); }

void TapeImpl::release_record(Record& record) {
  for (int i = 0; i < 3; ++i) {
    Block* block = record.saved[i];
    if (block == nullptr) continue;
    record.saved[i] = nullptr;
    if ((record.inputs[i] & kLeafSlot) == 0) detail::release(block);
  }
  if (Block* block = record.saved_output) {
    record.saved_output = nullptr;
    detail::release(block);
  }
  if (RecordExtra* extra = std::exchange(record.extra, nullptr)) {
    for (std::size_t i = 0; i < extra->saved.size(); ++i) {
      if ((extra->inputs[i] & kLeafSlot) == 0) release_block(extra->saved[i]);
    }
    for (Block* block : extra->outputs) release_block(block);
    extra->inputs.clear();
    extra->saved.clear();
    extra->outputs.clear();
    extra->custom = nullptr;
    free_extras_.push_back(extra);
  }
}

namespace {

// What the rule of a structured op reads when the inputs with a bit in `needed` want a cotangent: bit 0 the cotangent,
// bits from 1 on the inputs' elements; the output's elements are told apart.
struct Reads {
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
};

Reads reads_of(const OpDef& op, std::uint32_t needed) {
  if ((op.reads[0] | op.reads[1] | op.reads[2]) == 0) {
    return {op.arity == kVariadic && op.saves.inputs != 0 ? ~0u : op.saves.inputs, op.saves.outputs};
  }
  std::uint32_t bits = 0;
  for (int i = 0; i < 3; ++i) {
    if ((needed >> i & 1) != 0) bits |= op.reads[i];
  }
  return {bits >> 1 & 7u, (bits & kReadsOutput) != 0 ? 1u : 0u};
}

// The block to keep for an input: itself where its elements are read or a leaf is held anyway, else a stand-in.
Block* keep(Block* block, Slot slot, bool elements) {
  if ((slot & kLeafSlot) != 0) return block;  // not counted: the table holds it
  if (elements || (block->flags.load(std::memory_order_relaxed) & Block::kShapeOnly) != 0) {
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
  Slot slots[3] = {};
  std::uint32_t bits = 0;  // what the rules of the known inputs read
  for (int i = 0; i < N; ++i) {
    if (!is_floating(inputs[i].block->dtype)) continue;  // An integer path ends here.
    slots[i] = slot_of(inputs[i].block, inputs[i].node);
    if (slots[i] != kNoSlot) bits |= op.reads[i] | 0x100u;
  }
  if (bits == 0) return;
  Block* out = call.outputs[0].block();
  if (out->node == 0) out->node = next_nodes(1);
  Record& r = append();
  r.op = &op;
  r.output = offset_ + static_cast<Slot>(out->node - base_) + 1;
  r.extra = nullptr;
  r.saved_output = nullptr;
  for (int i = 0; i < 3; ++i) {
    r.inputs[i] = slots[i];
    r.saved[i] = nullptr;
  }
  for (int i = 0; i < N; ++i) {
    Block* block = inputs[i].block;
    const bool elements = (bits >> (i + 1) & 1) != 0;
    if (elements) {
      if ((slots[i] & kLeafSlot) == 0) detail::retain(block);
      r.saved[i] = block;
    } else if (slots[i] != kNoSlot && !same_shape(block, out)) {
      r.saved[i] = keep(block, slots[i], false);
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
    if (!is_floating(input.block->dtype)) continue;
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

void TapeImpl::record_custom(std::span<const ObservedInput> inputs, std::span<Tensor> outputs, const CustomVjp& vjp) {
  std::vector<Slot> slots;
  bool any = false;
  for (const ObservedInput& input : inputs) {
    slots.push_back(is_floating(input.block->dtype) ? slot_of(input.block, input.node) : kNoSlot);
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
  r.extra->custom = vjp;
}

}  // namespace capstan
