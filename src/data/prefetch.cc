// Elements made ahead of the loop, on a thread.
//
// With kAutotune the thread is started once elements and the loop's own work take long enough, and two elements are
// ahead. Whenever the loop waits although the buffer has been full before, which means that elements come in bursts, it
// gets twice as large.
//
// The thread pulls and stores under the lock of the input, so a position, which takes both locks, finds every element
// in the input or in the buffer.
#include <condition_variable>
#include <algorithm>
#include <mutex>
#include <list>
#include <utility>

#include "src/data/tuning.h"
#include "src/data/workers.h"

namespace capstan::detail {

namespace {

class PrefetchCursor : public StageCursor {
 public:
  PrefetchCursor(PartTypes element, DatasetCursorPtr from, std::int64_t buffer_size)
      : StageCursor(element, std::move(from)), buffer_size_(static_cast<std::size_t>(buffer_size)) {
    if (buffer_size != kAutotune) return;
    buffer_size_ = kFirstSize;
    budget_ = current_budget();
  }
  ~PrefetchCursor() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_one();
    thread_.join();
    for (const Item& item : items_) release(item);
  }
  const char* name() const override { return "prefetch"; }

  bool read_next(Part* element) override {
    if (!thread_.started()) {
      if (budget_ != nullptr && !pays_) return read_here(element);
      thread_.start(1, [this] { work(); });
    }
    std::list<Item> taken;
    {
      std::unique_lock lock(mutex_);
      if (budget_ != nullptr && items_.empty() && std::exchange(was_full_, false)) {
        buffer_size_ = std::min(2 * buffer_size_, kMostAhead);
      }
      wait_for_threads(filled_, lock, name(), [&] { return !items_.empty() || failure_ != nullptr || ended_; });
      if (items_.empty() && failure_ != nullptr) throw_failure(failure_, lock, room_);
      if (items_.empty()) return false;
      taken.splice(taken.begin(), items_, items_.begin());
      release(taken.front());
    }
    room_.notify_one();
    Item& item = taken.front();
    if (item.error != nullptr) std::rethrow_exception(item.error);
    move_parts(item.parts.data(), item.parts.size(), element);
    return true;
  }

  void save(PositionWriter& position) override {
    const std::scoped_lock lock(input_mutex_, mutex_);
    std::vector<Part> parts;
    for (const Item& item : items_) {
      if (item.error != nullptr) {
        throw ValueError("save: prefetch holds an error of its input; read on before the position is saved");
      }
      parts.insert(parts.end(), item.parts.begin(), item.parts.end());
    }
    position.parts("buffer", types, parts);
    position.number("ended", ended_ ? 1 : 0);
    StageCursor::save(position);
  }
  void restore(PositionReader& position) override {
    const std::vector<Part> parts = position.parts("buffer", types);
    const auto width = static_cast<std::ptrdiff_t>(types.size());
    for (auto at = parts.begin(); at != parts.end(); at += width) items_.push_back({{at, at + width}, nullptr, 0});
    pays_ = pays_ || !items_.empty();
    ended_ = position.flag("ended");
    StageCursor::restore(position);
  }

 private:
  struct Item {
    std::vector<Part> parts;
    std::exception_ptr error;
    std::int64_t bytes = 0;  // of the budget
  };
  static constexpr std::size_t kFirstSize = 2, kMostAhead = 64;

  // On the thread of the loop, as long as another one would not pay.
  bool read_here(Part* element) {
    if (ended_) return false;
    if (!sampler_.is_next()) {
      ended_ = !input->next(element);
      return !ended_;
    }
    sampler_.begin();
    ended_ = !input->next(element);
    if (sampler_.end()) {
      const double between = sampler_.take_between();
      pays_ = sampler_.take_within() >= kWorthAThread && between >= kWorthOverlapping;
    }
    return !ended_;
  }

  // The lock is held.
  bool has_room() {
    if (items_.size() < buffer_size_) {
      return items_.empty() || budget_ == nullptr || budget_->has_room(items_.back().bytes);
    }
    was_full_ = true;
    return false;
  }
  void release(const Item& item) {
    if (budget_ != nullptr) budget_->give_back(item.bytes);
  }

  void work() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] { return stopping_ || ended_ || (failure_ == nullptr && has_room()); });
        if (stopping_ || ended_) return;
      }
      const std::lock_guard input_lock(input_mutex_);
      std::list<Item> one;
      std::exception_ptr failure;
      bool found = true;
      try {
        one.emplace_back().parts.resize(types.size());
      } catch (...) {
        failure = std::current_exception();
      }
      if (failure == nullptr) {
        try {
          found = input->next(one.front().parts.data());
        } catch (...) {
          one.front().error = std::current_exception();
        }
      }
      if (found && failure == nullptr && budget_ != nullptr) {
        Item& item = one.front();
        item.bytes = bytes_of(item.parts.data(), item.parts.size());
        budget_->take(item.bytes);
      }
      {
        const std::lock_guard lock(mutex_);
        failure_ = failure;
        ended_ = !found;
        if (found && failure == nullptr) items_.splice(items_.end(), one);
      }
      filled_.notify_one();
    }
  }

  BudgetPtr budget_;  // of kAutotune; else null
  Sampler sampler_;
  bool pays_ = false;  // the thread

  std::mutex input_mutex_;  // of the input; taken before the other one
  std::mutex mutex_;        // of what follows
  std::condition_variable room_, filled_;
  std::list<Item> items_;
  std::size_t buffer_size_;
  bool was_full_ = false;       // since it has grown
  std::exception_ptr failure_;  // of the thread's own, not of the input
  bool ended_ = false;
  bool stopping_ = false;
  Workers thread_;
};

}  // namespace

DatasetNodePtr prefetched(DatasetNodePtr input, std::int64_t buffer_size) {
  CAPSTAN_CHECK(buffer_size >= kAutotune, ValueError, "prefetch: buffer_size is ", buffer_size,
                help("0 is none, kAutotune chooses"));
  if (buffer_size == 0) return input;
  const std::int64_t size = input->cardinality();
  const PartTypes types = input->types;
  return make_stage<PrefetchCursor>(types, std::move(input), size, buffer_size);
}

}  // namespace capstan::detail
