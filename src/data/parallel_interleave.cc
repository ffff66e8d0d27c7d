// interleave() with threads that read ahead.
//
// The consumer does what the sequential interleave does, with inner datasets that fill small buffers by themselves. It
// pulls the input, and puts inner datasets that have no slot yet in a line, in the order of the input; a slot that is
// visited when it is empty takes the first of the line, which is the one that the sequential order has there. Workers
// serve whichever inner dataset has room, older ones first; one at a time serves each.
//
// With kAutotune the consumer reads the inner datasets itself, which is the sequential interleave, until elements take
// so long that a thread pays; others follow while it has to wait.
#include "src/data/parallel_interleave.h"

#include <condition_variable>
#include <algorithm>
#include <mutex>
#include <list>

#include "src/data/tuning.h"
#include "src/data/workers.h"

namespace capstan::detail {

namespace {

class ParallelInterleaveCursor : public StageCursor {
 public:
  ParallelInterleaveCursor(PartTypes element, DatasetCursorPtr from, const PartDataset& open, std::int64_t cycle_length,
                           std::int64_t block_length, std::int64_t parallel_calls, std::optional<bool> deterministic)
      : StageCursor(element, std::move(from)),
        open_(open),
        cycle_length_(cycle_length),
        block_length_(block_length),
        most_workers_(std::min(worker_count(parallel_calls), cycle_length)),
        deterministic_(in_order(deterministic)),
        room_(static_cast<std::size_t>(std::clamp<std::int64_t>(block_length, 2, kMostAhead))) {
    if (parallel_calls == kAutotune) budget_ = current_budget();
  }
  ~ParallelInterleaveCursor() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_.notify_all();
    threads_.join();
    for (const Inner& inner : inners_) {
      for (const Item& item : inner.items) release(item);
    }
  }
  const char* name() const override { return "interleave"; }

  bool read_next(Part* element) override {
    if (!threads_.started()) {
      if (budget_ != nullptr && !pays_) return time_here(element);
      start(budget_ != nullptr ? 1 : most_workers_);
    }
    bool may_add = budget_ != nullptr;
    for (;;) {
      fill_line();
      std::unique_lock lock(mutex_);
      if (!deterministic_) choose_ready(lock);
      // Slots that are empty after each other; a whole round of them is the end.
      std::size_t empty = 0;
      while (empty < slots_.size() + 1) {
        if (slot_ == slots_.size()) slots_.push_back(nullptr);
        if (slots_[slot_] == nullptr && !line_.empty()) {
          slots_[slot_] = line_.front();
          line_.pop_front();
          break;
        }
        if (slots_[slot_] != nullptr) break;
        if (!input_ended_) break;  // the line is filled first
        ++empty;
        advance();
      }
      Inner* const inner = slots_[slot_];
      if (inner == nullptr) {
        if (input_ended_) return false;
        continue;
      }
      // What the slot took left room in the line.
      lock.unlock();
      fill_line();
      lock.lock();
      if (std::exchange(may_add, false) && inner->items.empty() && !inner->ended) add_worker(lock);
      await(inner);
      wait_for_threads(ready_, lock, name(),
                       [&] { return !inner->items.empty() || inner->ended || failure_ != nullptr; });
      if (inner->items.empty() && !inner->ended) throw_failure(failure_, lock, work_);
      if (inner->items.empty()) {
        leave_slot(inner);
        advance();
        continue;
      }
      std::list<Item> taken = take(inner);
      lock.unlock();
      work_.notify_one();
      give(taken.front(), element);
      return true;
    }
  }

  void save(PositionWriter& position) override {
    std::unique_lock lock(mutex_);
    ++pauses_;
    ready_.wait(lock, [&] { return busy_ == 0; });
    try {
      save_inners(position);
    } catch (...) {
      --pauses_;
      work_.notify_all();
      throw;
    }
    --pauses_;
    work_.notify_all();
  }

  void restore(PositionReader& position) override {
    const std::vector<std::int64_t> at = position.numbers("at", 0);
    const std::vector<std::int64_t> states = position.numbers("states", 0, 2);
    const std::vector<std::int64_t> buffered = position.numbers("buffered", 0);
    const std::vector<Part> parts = position.parts("inputs", input->types);
    const std::vector<Part> items = position.parts("buffers", types);
    const std::size_t count = states.size();
    const std::vector<std::int64_t> slots = position.numbers("slots", -1, static_cast<std::int64_t>(count) - 1);
    const std::size_t width = input->types.size();
    if (at.size() != 4 || at[3] > 1 || at[2] >= block_length_ || buffered.size() != count ||
        parts.size() != count * width || static_cast<std::int64_t>(slots.size()) > cycle_length_ ||
        at[1] > std::min(static_cast<std::int64_t>(slots.size()), cycle_length_ - 1)) {
      position.refuse("at");
    }
    at_ = at[0];
    slot_ = static_cast<std::size_t>(at[1]);
    given_ = at[2];
    input_ended_ = at[3] == 1;
    std::vector<Inner*> all;
    auto from = items.begin();
    for (std::size_t i = 0; i < count; ++i) {
      Inner& inner = inners_.emplace_back();
      all.push_back(&inner);
      inner.parts.assign(parts.begin() + static_cast<std::ptrdiff_t>(i * width),
                         parts.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
      for (std::int64_t k = 0; k < buffered[i]; ++k) {
        const auto size = static_cast<std::ptrdiff_t>(types.size());
        if (items.end() - from < size) position.refuse("buffered");
        inner.items.push_back({{from, from + size}, nullptr, 0});
        from += size;
      }
      inner.ended = states[i] == kEnded;
      if (states[i] == kOpen) {
        inner.node = open_(inner.parts.data());
        inner.cursor = inner.node->open();
        position.stage(*inner.cursor, std::to_string(i) + "/");
      }
    }
    std::vector<char> has_slot(count, 0);
    for (const std::int64_t one : slots) {
      slots_.push_back(one < 0 ? nullptr : all[static_cast<std::size_t>(one)]);
      if (one >= 0 && has_slot[static_cast<std::size_t>(one)]++ != 0) position.refuse("slots");
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (has_slot[i] == 0) line_.push_back(all[i]);
    }
    StageCursor::restore(position);
  }

 private:
  static constexpr std::int64_t kMostAhead = 64;
  static constexpr int kWaits = 4;
  enum State : std::int64_t { kNew, kOpen, kEnded };

  struct Item {
    std::vector<Part> parts;
    std::exception_ptr error;
    std::int64_t bytes = 0;  // of the budget
  };
  struct Inner {
    std::vector<Part> parts;  // of the input
    std::int64_t number = 0;
    DatasetNodePtr node;
    DatasetCursorPtr cursor;
    std::list<Item> items;
    bool is_busy = false;
    bool is_unopened = false;  // its only item is the error that kept it from being opened
    bool ended = false;
  };

  void start(std::int64_t workers) {
    workers_ = workers;
    threads_.start(workers, [this] { work(); });
  }

  // If the consumer has to wait and has done so before.
  void add_worker(std::unique_lock<std::mutex>& lock) {
    if (workers_ == most_workers_ || ++waits_ < kWaits) return;
    waits_ = 0;
    lock.unlock();
    threads_.start(1, [this] { work(); });
    ++workers_;
    lock.lock();
  }

  bool time_here(Part* element) {
    if (!sampler_.is_next()) return read_here(element);
    sampler_.begin();
    const bool found = read_here(element);
    if (sampler_.end()) pays_ = sampler_.take_within() >= kWorthAThread;
    return found;
  }

  // What the sequential interleave does. There is no thread yet.
  bool read_here(Part* element) {
    // Slots that are empty after each other; a whole round of them is the end.
    for (std::size_t empty = 0; !input_ended_ || !line_.empty() || empty < slots_.size();) {
      if (slot_ == slots_.size()) slots_.push_back(nullptr);
      if (slots_[slot_] == nullptr) {
        if (line_.empty()) fill_line();
        if (line_.empty()) {
          ++empty;
          advance();
          continue;
        }
        slots_[slot_] = line_.front();
        line_.pop_front();
      }
      empty = 0;
      Inner* const inner = slots_[slot_];
      if (!inner->items.empty()) {  // of a position, or an error of the input
        std::list<Item> taken = take(inner);
        give(taken.front(), element);
        return true;
      }
      try {
        if (inner->cursor == nullptr && !inner->ended) open(inner);
      } catch (...) {
        leave_slot(inner);
        throw;
      }
      if (!inner->ended && inner->cursor->next(element)) {
        if (++given_ == block_length_) advance();
        return true;
      }
      leave_slot(inner);
      advance();
    }
    return false;
  }

  void open(Inner* inner) {
    inner->node = at_element(name(), inner->number, [&] { return open_(inner->parts.data()); });
    inner->cursor = inner->node->open();
  }

  // The first of its items; the position of the consumer moves on. The lock is held.
  std::list<Item> take(Inner* inner) {
    std::list<Item> taken;
    taken.splice(taken.begin(), inner->items, inner->items.begin());
    const Item& item = taken.front();
    release(item);
    if (inner->is_unopened) {
      leave_slot(inner);
    } else if (item.error == nullptr && ++given_ == block_length_) {
      advance();
    }
    return taken;
  }
  static void give(Item& item, Part* element) {
    if (item.error != nullptr) std::rethrow_exception(item.error);
    move_parts(item.parts.data(), item.parts.size(), element);
  }
  void release(const Item& item) {
    if (budget_ != nullptr) budget_->give_back(item.bytes);
  }

  void leave_slot(const Inner* inner) {
    inners_.remove_if([&](const Inner& one) { return &one == inner; });
    slots_[slot_] = nullptr;
  }

  // The one whose element is wanted may be read whatever the budget says. The lock is held.
  void await(const Inner* inner) {
    wanted_ = inner;
    if (budget_ != nullptr && inner->items.empty()) work_.notify_all();
  }

  // Pulls the input so that there is something to read for every worker.
  void fill_line() {
    const std::int64_t wanted = std::max<std::int64_t>(workers_, 1);
    while (!input_ended_ && static_cast<std::int64_t>(line_.size()) < wanted) {
      std::list<Inner> one(1);
      Inner& inner = one.front();
      std::list<Inner*> place{&inner};
      inner.parts.resize(input->types.size());
      inner.number = at_;
      try {
        if (!input->next(inner.parts.data())) {
          input_ended_ = true;
          return;
        }
        ++at_;
      } catch (...) {
        inner.items.push_back({{}, std::current_exception(), 0});
        inner.is_unopened = inner.ended = true;
      }
      {
        const std::lock_guard lock(mutex_);
        inners_.splice(inners_.end(), one);
        line_.splice(line_.end(), place);
      }
      work_.notify_one();
    }
  }

  // Moves on to a slot that has an element, or that ended, unless none has.
  void choose_ready(std::unique_lock<std::mutex>& lock) {
    const auto is_ready = [](const Inner* inner) {
      return inner != nullptr && (!inner->items.empty() || inner->ended);
    };
    // Slots that can be filled come first, so that as many are open as should be.
    for (std::size_t i = 0; i < slots_.size() && !line_.empty(); ++i) {
      if (slots_[i] != nullptr) continue;
      slots_[i] = line_.front();
      line_.pop_front();
    }
    while (static_cast<std::int64_t>(slots_.size()) < cycle_length_ && !line_.empty()) {
      slots_.push_back(line_.front());
      line_.pop_front();
    }
    const auto ready_slot = [&] { return std::find_if(slots_.begin(), slots_.end(), is_ready); };
    if (slot_ < slots_.size() && is_ready(slots_[slot_])) return;
    const bool any = std::any_of(slots_.begin(), slots_.end(), [](const Inner* inner) { return inner != nullptr; });
    if (!any) return;
    await(*std::find_if(slots_.begin(), slots_.end(), [](const Inner* inner) { return inner != nullptr; }));
    wait_for_threads(ready_, lock, name(), [&] { return ready_slot() != slots_.end() || failure_ != nullptr; });
    if (ready_slot() == slots_.end()) throw_failure(failure_, lock, work_);
    slot_ = static_cast<std::size_t>(ready_slot() - slots_.begin());
    given_ = 0;
  }

  void advance() {
    given_ = 0;
    const bool is_last = slot_ + 1 == static_cast<std::size_t>(cycle_length_) ||
                         (input_ended_ && line_.empty() && slot_ + 1 >= slots_.size());
    slot_ = is_last ? 0 : slot_ + 1;
  }

  Inner* next_to_serve() {
    for (Inner& inner : inners_) {
      if (inner.is_busy || inner.ended || inner.items.size() >= room_) continue;
      const bool is_wanted = &inner == wanted_ && inner.items.empty();
      if (is_wanted || budget_ == nullptr || budget_->has_room(last_bytes_)) return &inner;
    }
    return nullptr;
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      Inner* inner = nullptr;
      work_.wait(lock, [&] {
        return stopping_ || (pauses_ == 0 && failure_ == nullptr && (inner = next_to_serve()) != nullptr);
      });
      if (stopping_) return;
      inner->is_busy = true;
      ++busy_;
      lock.unlock();
      std::list<Item> one;
      try {
        one.emplace_back().parts.resize(types.size());
      } catch (...) {
        lock.lock();
        failure_ = std::current_exception();
        inner->is_busy = false;
        --busy_;
        ready_.notify_all();
        continue;
      }
      Item& item = one.front();
      bool found = true, is_unopened = false;
      try {
        if (inner->cursor == nullptr) {
          is_unopened = true;
          open(inner);
          is_unopened = false;
        }
        found = inner->cursor->next(item.parts.data());
      } catch (...) {
        item.error = std::current_exception();
      }
      lock.lock();
      if (found && budget_ != nullptr) {
        last_bytes_ = item.bytes = bytes_of(item.parts.data(), item.parts.size());
        budget_->take(item.bytes);
      }
      if (found) inner->items.splice(inner->items.end(), one);
      inner->ended = !found || is_unopened;
      inner->is_unopened = is_unopened;
      inner->is_busy = false;
      --busy_;
      ready_.notify_all();
    }
  }

  void save_inners(PositionWriter& position) {
    std::vector<std::int64_t> states, buffered, slots;
    std::vector<Part> parts, items;
    std::map<const Inner*, std::int64_t> numbers;
    for (const Inner& inner : inners_) {
      numbers.emplace(&inner, static_cast<std::int64_t>(numbers.size()));
      states.push_back(inner.ended ? kEnded : inner.cursor != nullptr ? kOpen : kNew);
      buffered.push_back(static_cast<std::int64_t>(inner.items.size()));
      parts.insert(parts.end(), inner.parts.begin(), inner.parts.end());
      for (const Item& item : inner.items) {
        if (item.error != nullptr) {
          throw ValueError("save: interleave holds an error; read on before the position is saved");
        }
        items.insert(items.end(), item.parts.begin(), item.parts.end());
      }
    }
    for (const Inner* inner : slots_) slots.push_back(inner != nullptr ? numbers.at(inner) : -1);
    position.numbers("at", {at_, static_cast<std::int64_t>(slot_), given_, input_ended_ ? 1 : 0});
    position.numbers("states", states);
    position.numbers("buffered", buffered);
    position.numbers("slots", slots);
    position.parts("inputs", input->types, parts);
    position.parts("buffers", types, items);
    for (const Inner& inner : inners_) {
      if (!inner.ended && inner.cursor != nullptr) {
        position.stage(*inner.cursor, std::to_string(numbers.at(&inner)) + "/");
      }
    }
    StageCursor::save(position);
  }

  PartDataset open_;
  std::int64_t cycle_length_, block_length_, most_workers_;
  bool deterministic_;
  std::size_t room_;  // elements that an inner dataset reads ahead
  BudgetPtr budget_;  // of kAutotune; else null
  Sampler sampler_;
  bool pays_ = false;  // a thread

  // The consumer's.
  std::int64_t at_ = 0;  // elements of the input
  bool input_ended_ = false;
  std::list<Inner*> line_;
  std::vector<Inner*> slots_;
  std::size_t slot_ = 0;
  std::int64_t given_ = 0;  // elements in a row
  std::int64_t workers_ = 0;
  int waits_ = 0;  // since there is another worker

  std::mutex mutex_;  // of what follows; a busy inner dataset is its worker's, but for its items and flags
  std::condition_variable work_, ready_;
  std::list<Inner> inners_;  // in the order of the input
  int busy_ = 0;
  int pauses_ = 0;
  const Inner* wanted_ = nullptr;  // by the consumer
  std::int64_t last_bytes_ = 0;    // of the element that was read last
  std::exception_ptr failure_;     // of the threads' own, not of an inner dataset
  bool stopping_ = false;
  Workers threads_;
};

}  // namespace

DatasetNodePtr parallel_interleaved(PartTypes types, DatasetNodePtr input, PartDataset open, std::int64_t cycle_length,
                                    std::int64_t block_length, std::int64_t parallel_calls,
                                    std::optional<bool> deterministic) {
  return make_stage<ParallelInterleaveCursor>(types, std::move(input), kUnknown, std::move(open), cycle_length,
                                              block_length, parallel_calls, deterministic);
}

}  // namespace capstan::detail
