// The tape: what a GradientTape holds.
//
// A tape is an append-only array of small records, one per op, in the order in which the ops ran. That is a topological
// order already, so the reverse pass (reverse.cc) is a loop over it.
//
// Identity. An op's output gets one process-unique number when it is recorded; a thread's numbers are consecutive, so a
// tape is an interval of numbers and "does this tape know the tensor" is a subtraction and a compare. Nested tapes
// share the numbers. Watched tensors and variables (leaves) are not numbered, because other threads may share their
// blocks; they are in a small table of the tape, which keeps them alive. A block carries only a sticky bit "some tape
// may know it as a leaf". Pausing ends an interval and resuming begins a new one.
//
// A tape may record an op that only its neighbour connects (the number is the neighbour's); that is harmless, because
// gradient() decides exactly what is connected by a mark from this tape's own leaves, and from what it was told to
// watch although it had a number already.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "capstan/tape.h"
#include "src/core/context.h"
#include "src/core/op_def.h"
#include "src/core/same_shape.h"
#include "src/core/variable_state.h"

namespace capstan {

// Where a tensor's cotangent is collected: 0 for "not known to this tape", 1, 2, ... for results of recorded ops and
// -1, -2, ... for leaves, so that a slot is a position in memory that has the leaves before the results.
using Slot = std::int32_t;
inline constexpr Slot kNoSlot = 0;
constexpr bool is_leaf(Slot slot) { return slot < 0; }

// What a record holds beyond its 64 bytes.
struct RecordExtra {
  alignas(16) std::byte attributes[64];
  // All inputs and saved values of an op with more than three inputs.
  std::vector<Slot> inputs;
  std::vector<detail::Block*> saved;
  // Saved values or stand-ins of the outputs of an op with several.
  std::vector<detail::Block*> outputs;
  TensorMap custom;  // the rule of a function that counts as one op
};

// One op that ran. Saved blocks are owned, except those of leaves, which the table of leaves keeps alive.
struct Record {
  const OpDef* op;
  Slot output;  // of the first output; the others follow
  Slot inputs[3];
  detail::Block* saved[3];  // values that the rule reads, or stand-ins where only the shape is needed
  detail::Block* saved_output;
  RecordExtra* extra;
};
static_assert(sizeof(Record) == 64);

// A tensor, or a value of a variable, that the tape watches. A variable has one slot but is here once for each
// value that was read.
struct Watched {
  detail::Block* block;             // null once the tape is used up
  detail::VariableState* variable;  // owned; null for a tensor, and for later values of a variable
  Slot slot;
  std::uint32_t since;  // how much the tape had recorded by then
};

// What a reverse pass knows of a slot.
struct SlotState {
  detail::Block* cotangent = nullptr;  // collected so far; owned
  std::uint32_t marks = 0;
};

class TapeImpl final : public Observer {
 public:
  // Tapes are recycled with their memory, because a training step opens a fresh one each time.
  static TapeImpl* create(const GradientTapeOptions& options);
  static void destroy(TapeImpl* tape) noexcept;

  // Observer.
  void record(const ObservedCall& call) override;
  void record(const CustomCall& call) override;
  void read(detail::VariableState& variable) override;
  bool knows(const detail::Block* block) const override { return slot_of(block, block->node) != kNoSlot; }

  void check_thread() const {
    if (owner_ != &context) [[unlikely]]
      throw_other_thread();
  }
  void start();
  void stop();
  void reset();
  void watch(const Tensor& tensor);
  void watch(const Variable& variable);
  std::vector<Variable> watched_variables() const;

  void gradient(std::span<const Source> targets, std::span<const Source> sources, std::span<Tensor> gradients,
                const GradientOptions& options);
  std::string explain(const Source& target, const Source& source) const;
  // Whether a gradient of this target can exist.
  bool knows_target(const Source& target) const { return slot_of_target(target) != kNoSlot; }
  // Throws GradientError if the tape has served its one call. `call` is for the message.
  void check_usable(std::string_view call) const {
    if (consumed) [[unlikely]]
      throw_used_up(call);
  }
  // The tape has served its one call, unless it is persistent.
  void use_up();

  bool recording = false;
  bool persistent = false;
  bool consumed = false;
  int running = 0;  // how many calls of gradient() are under way: a rule may make one

 private:
  friend class ReversePass;

  static constexpr std::uint32_t kChunkBits = 9;
  static constexpr std::uint32_t kChunkSize = 1u << kChunkBits;

  struct Interval {
    std::uint64_t base;
    std::uint64_t length;
    Slot offset;  // slots of the intervals before
  };

  Record& at(std::uint32_t i) const { return chunks_[i >> kChunkBits][i & (kChunkSize - 1)]; }
  [[noreturn]] static void throw_other_thread();
  [[noreturn]] static void throw_used_up(std::string_view call);
  static TapeImpl* new_tape();
  // Begins an interval.
  void open();
  // Keeps the tape for the next one of the thread, without what it needed more memory for than most, or deletes it.
  static void retire(TapeImpl* tape) noexcept;
  template <int N>
  void record_elementwise(const ObservedCall& call);
  void record_structured(const ObservedCall& call);
  void number(std::span<Tensor> outputs);
  RecordExtra* take_extra();
  // The next record, to be filled; it counts once count_ is raised.
  Record& append() {
    if ((count_ >> kChunkBits) == chunks_.size()) [[unlikely]]
      grow();
    return at(count_);
  }
  void grow();
  // Gives back what a record holds; the caller has lowered count_ below it.
  void release_record(const Record& record) {
    for (int i = 0; i < 3; ++i) {
      if (record.saved[i] != nullptr && !is_leaf(record.inputs[i])) detail::release(record.saved[i]);
    }
    if (record.saved_output != nullptr) detail::release(record.saved_output);
    if (record.extra != nullptr) [[unlikely]]
      release_extra(record.extra);
  }
  void release_extra(RecordExtra* extra);
  // Forgets records, watched blocks and intervals; keeps the memory.
  void clear();
  // And which variables were watched, which a used-up tape still answers.
  void clear_leaves();
  void index_block(std::uint32_t position);
  void index_newest();

  // The end of the newest interval.
  std::uint64_t end() const { return recording ? context.next_node : end_; }
  Slot result_slot(std::uint64_t node) const { return offset_ + static_cast<Slot>(node - base_) + 1; }
  Slot slot_of(const detail::Block* block, std::uint64_t node) const {
    if (node - base_ < end() - base_) return result_slot(node);
    return slot_elsewhere(block, node);
  }
  // As in TensorFlow, watching is without effect while no tape at all records on the thread.
  bool takes_leaves() const { return !consumed && (recording || context.observers != context.guard); }
  Slot slot_of(const Source& source) const;
  // The same of a target: a row-sparse one is made of its rows.
  Slot slot_of_target(const Source& target) const;
  Slot slot_elsewhere(const detail::Block* block, std::uint64_t node) const;
  Slot leaf_slot(const detail::Block* block) const;
  void add_leaf(detail::Block* block, detail::VariableState* variable);
  // Lets a slot stand for one more block.
  void add_watched(detail::Block* block, detail::VariableState* variable, Slot slot);
  Slot variable_slot(const detail::VariableState* variable) const;
  // The number of slots of recorded results; the last one's slot.
  Slot result_slots() const { return offset_ + static_cast<Slot>(end() - base_); }

  const Context* owner_ = nullptr;
  bool watch_accessed_ = true;
  // The newest interval, which is open while the tape records, and the slots before it.
  std::uint64_t base_ = 0;
  std::uint64_t end_ = 0;  // not valid while the tape records
  Slot offset_ = 0;
  std::vector<Interval> intervals_;  // those before, oldest first
  std::vector<Record*> chunks_;
  std::uint32_t count_ = 0;
  Slot leaves_ = 0;           // how many
  Slot watched_results_ = 0;  // how many of the watched tensors have the slot of a result
  // Few are found by looking at all of them, many through an index: open addressing, a power of two, positions + 1, 0
  // for empty.
  std::vector<Watched> watched_;
  std::vector<std::uint32_t> watched_index_;
  std::vector<RecordExtra*> free_extras_;
  std::vector<SlotState> scratch_;  // of the pass under way; kept for the next one, with every state empty
};

// The tape of a handle. Throws GradientError if the handle was moved from or the tape is another thread's.
[[noreturn]] void throw_moved_from();
inline TapeImpl& checked(TapeImpl* impl) {
  if (impl == nullptr) [[unlikely]]
    throw_moved_from();
  impl->check_thread();
  return *impl;
}

// The op of a record of a function that counts as one. It is never applied.
extern const OpDef kCustomGradient;

// What the rule of a structured op reads when the inputs with a bit in `needed` want a cotangent: the elements of
// inputs and outputs, by bits of their positions.
struct Reads {
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
};
Reads reads_of(const OpDef& op, std::uint32_t needed);

}  // namespace capstan
