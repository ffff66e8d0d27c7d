// Elements made ahead of the loop, on a thread.
//
// The thread pulls and stores under the lock of the input, so a position, which takes both locks, finds every element
// in the input or in the buffer.
#include <list>

#include "src/data/workers.h"

namespace capstan::detail {

namespace {

class PrefetchCursor : public StageCursor {
 public:
  PrefetchCursor(PartTypes element, DatasetCursorPtr from, std::int64_t buffer_size)
      : StageCursor(element, std::move(from)), buffer_size_(static_cast<std::size_t>(buffer_size)) {}
  ~PrefetchCursor() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_one();
    thread_.join();
  }
  const char* name() const override { return "prefetch"; }

  bool next(Part* element) override {
    if (!thread_.started()) thread_.start(1, [this] { work(); });
    std::list<Item> taken;
    {
      std::unique_lock lock(mutex_);
      filled_.wait(lock, [&] { return !items_.empty() || failure_ != nullptr || ended_; });
      if (items_.empty() && failure_ != nullptr) throw_failure(failure_, lock, room_);
      if (items_.empty()) return false;
      taken.splice(taken.begin(), items_, items_.begin());
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
    for (auto at = parts.begin(); at != parts.end(); at += width) items_.push_back({{at, at + width}, nullptr});
    ended_ = position.flag("ended");
    StageCursor::restore(position);
  }

 private:
  struct Item {
    std::vector<Part> parts;
    std::exception_ptr error;
  };

  void work() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] { return stopping_ || ended_ || (failure_ == nullptr && items_.size() < buffer_size_); });
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
      {
        const std::lock_guard lock(mutex_);
        failure_ = failure;
        ended_ = !found;
        if (found && failure == nullptr) items_.splice(items_.end(), one);
      }
      filled_.notify_one();
    }
  }

  std::size_t buffer_size_;
  std::mutex input_mutex_;  // of the input; taken before the other one
  std::mutex mutex_;        // of what follows
  std::condition_variable room_, filled_;
  std::list<Item> items_;
  std::exception_ptr failure_;  // of the thread's own, not of the input
  bool ended_ = false;
  bool stopping_ = false;
  Workers thread_;
};

}  // namespace

DatasetNodePtr prefetched(DatasetNodePtr input, std::int64_t buffer_size) {
  CAPSTAN_CHECK(buffer_size >= kAutotune, ValueError, "prefetch: buffer_size is ", buffer_size,
                help("0 is none, kAutotune stands for two"));
  if (buffer_size == 0) return input;
  if (buffer_size == kAutotune) buffer_size = 2;
  const std::int64_t size = input->cardinality();
  const PartTypes types = input->types;
  return make_stage<PrefetchCursor>(types, std::move(input), size, buffer_size);
}

}  // namespace capstan::detail
