// Elements of many datasets, some of which are open at a time. Reading ahead is in parallel_interleave.cc.
//
// The order is TensorFlow's: a slot gives up to `block_length` elements, then the next one does. A dataset that ends
// leaves its slot, which is filled when it is visited again; slots are skipped once the input has ended.
#include <algorithm>

#include "src/data/parallel_interleave.h"

namespace capstan::detail {

namespace {

class InterleaveCursor : public StageCursor {
 public:
  InterleaveCursor(PartTypes element, DatasetCursorPtr from, const char* name, const PartDataset& open,
                   std::int64_t cycle_length, std::int64_t block_length)
      : StageCursor(element, std::move(from)),
        name_(name),
        open_(open),
        cycle_length_(cycle_length),
        block_length_(block_length) {}
  const char* name() const override { return name_; }

  bool read_next(Part* element) override {
    // Slots that are empty after each other; a whole round of them is the end.
    for (std::size_t empty = 0; !ended_ || empty < slots_.size();) {
      if (slot_ == slots_.size()) slots_.emplace_back();
      Slot& slot = slots_[slot_];
      if (slot.cursor == nullptr && !ended_) fill(slot);
      if (slot.cursor != nullptr) {
        empty = 0;
        if (slot.cursor->next(element)) {
          if (++given_ == block_length_) advance();
          return true;
        }
        slot = Slot();
        advance();
      } else {
        ++empty;
        advance();
      }
    }
    return false;
  }

  void save(PositionWriter& position) override {
    std::vector<std::int64_t> open;
    std::vector<Part> parts;
    for (const Slot& slot : slots_) {
      open.push_back(slot.cursor != nullptr ? 1 : 0);
      parts.insert(parts.end(), slot.parts.begin(), slot.parts.end());
    }
    position.numbers("at", {at_, static_cast<std::int64_t>(slot_), given_, ended_ ? 1 : 0});
    position.numbers("open", open);
    position.parts("inputs", input->types, parts);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].cursor != nullptr) position.stage(*slots_[i].cursor, std::to_string(i) + "/");
    }
    StageCursor::save(position);
  }
  void restore(PositionReader& position) override {
    const std::vector<std::int64_t> at = position.numbers("at", 0);
    const std::vector<std::int64_t> open = position.numbers("open", 0, 1);
    const std::vector<Part> parts = position.parts("inputs", input->types);
    const auto count = static_cast<std::int64_t>(open.size());
    if (at.size() != 4 || count > cycle_length_ || at[1] > std::min(count, cycle_length_ - 1) ||
        at[2] >= block_length_ || at[3] > 1) {
      position.refuse("at");
    }
    at_ = at[0];
    slot_ = static_cast<std::size_t>(at[1]);
    given_ = at[2];
    ended_ = at[3] == 1;
    slots_.clear();
    slots_.resize(open.size());
    const auto width = static_cast<std::ptrdiff_t>(input->types.size());
    auto from = parts.begin();
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i] == 0) continue;
      if (parts.end() - from < width) position.refuse("inputs");
      Slot& slot = slots_[i];
      slot.parts.assign(from, from + width);
      from += width;
      slot.node = open_(slot.parts.data());
      slot.cursor = slot.node->open();
      position.stage(*slot.cursor, std::to_string(i) + "/");
    }
    StageCursor::restore(position);
  }

 private:
  struct Slot {
    std::vector<Part> parts;  // of the input, for positions
    DatasetNodePtr node;
    DatasetCursorPtr cursor;
  };

  void fill(Slot& slot) {
    std::vector<Part> parts(input->types.size());
    if (!input->next(parts.data())) {
      ended_ = true;
      return;
    }
    const std::int64_t number = at_++;
    slot.node = at_element(name_, number, [&] { return open_(parts.data()); });
    slot.cursor = slot.node->open();
    slot.parts = std::move(parts);
  }

  void advance() {
    given_ = 0;
    slot_ =
        slot_ + 1 == static_cast<std::size_t>(cycle_length_) || (ended_ && slot_ + 1 == slots_.size()) ? 0 : slot_ + 1;
  }

  const char* name_;
  PartDataset open_;
  std::int64_t cycle_length_, block_length_;
  std::vector<Slot> slots_;  // those that were visited
  std::size_t slot_ = 0;
  std::int64_t given_ = 0;  // elements in a row
  std::int64_t at_ = 0;     // elements of the input
  bool ended_ = false;      // the input
};

}  // namespace

DatasetNodePtr interleaved(const char* name, PartTypes types, DatasetNodePtr input, PartDataset open,
                           std::int64_t cycle_length, std::int64_t block_length, std::int64_t parallel_calls,
                           std::optional<bool> deterministic) {
  CAPSTAN_CHECK(cycle_length >= 1 && block_length >= 1, ValueError, name,
                ": cycle_length and block_length must be at least 1, not ", cycle_length, " and ", block_length);
  CAPSTAN_CHECK(parallel_calls >= kAutotune, ValueError, name, ": num_parallel_calls is ", parallel_calls,
                help("0 is none, kAutotune chooses"));
  CAPSTAN_CHECK(parallel_calls <= cycle_length, ValueError, name, ": num_parallel_calls ", parallel_calls,
                " is beyond the cycle_length ", cycle_length);
  if (parallel_calls == 0) {
    return make_stage<InterleaveCursor>(types, std::move(input), kUnknown, name, std::move(open), cycle_length,
                                        block_length);
  }
  return parallel_interleaved(types, std::move(input), std::move(open), cycle_length, block_length, parallel_calls,
                              deterministic);
}

}  // namespace capstan::detail
