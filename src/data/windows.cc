// Windows and groups of elements, each a dataset in memory.
#include <algorithm>
#include <deque>
#include <map>

#include "src/data/stage.h"

namespace capstan::detail {

namespace {

// --- window ---

class WindowCursor : public StageCursor {
 public:
  WindowCursor(PartTypes element, DatasetCursorPtr from, std::int64_t size, std::int64_t shift, std::int64_t stride,
               bool drop_remainder, const PartWindow& wrap)
      : StageCursor(element, std::move(from)),
        size_(size),
        shift_(shift),
        stride_(stride),
        drop_remainder_(drop_remainder),
        wrap_(wrap) {}
  const char* name() const override { return "window"; }

  bool read_next(Part* element) override {
    const std::size_t width = input->types.size();
    // A window reaches over (size - 1) * stride + 1 elements; of too many to count there are not that many.
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(size_ - 1, stride_, &reach) || reach == INT64_MAX) reach = INT64_MAX - 1;
    ++reach;
    std::vector<Part> item(width);
    while (!ended_ && (gap_ > 0 || static_cast<std::int64_t>(buffer_.size()) < reach)) {
      if (!input->next(item.data())) {
        ended_ = true;
      } else if (gap_ > 0) {
        --gap_;
      } else {
        buffer_.push_back(item);
      }
    }
    const auto found = static_cast<std::int64_t>(buffer_.size());
    if (found == 0 || (found < reach && drop_remainder_)) return false;
    std::vector<Part> parts;
    for (std::int64_t i = 0, at = 0; i < size_ && at < found; ++i) {
      const std::vector<Part>& one = buffer_[static_cast<std::size_t>(at)];
      parts.insert(parts.end(), one.begin(), one.end());
      if (__builtin_add_overflow(at, stride_, &at)) break;
    }
    const std::int64_t gone = std::min(shift_, found);
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(gone));
    gap_ = shift_ - gone;
    element[0] = wrap_(list_of(input->types, std::move(parts)));
    return true;
  }

  void save(PositionWriter& position) override {
    std::vector<Part> parts;
    for (const std::vector<Part>& one : buffer_) parts.insert(parts.end(), one.begin(), one.end());
    position.parts("buffer", input->types, parts);
    position.number("gap", gap_);
    position.number("ended", ended_ ? 1 : 0);
    StageCursor::save(position);
  }
  void restore(PositionReader& position) override {
    const std::vector<Part> parts = position.parts("buffer", input->types);
    const auto width = static_cast<std::ptrdiff_t>(input->types.size());
    buffer_.clear();
    for (auto at = parts.begin(); at != parts.end(); at += width) buffer_.emplace_back(at, at + width);
    gap_ = position.number("gap", 0);
    ended_ = position.flag("ended");
    StageCursor::restore(position);
  }

 private:
  std::int64_t size_, shift_, stride_;
  bool drop_remainder_;
  PartWindow wrap_;
  std::deque<std::vector<Part>> buffer_;  // elements from the start of the next window on
  std::int64_t gap_ = 0;                  // elements before that
  bool ended_ = false;
};

// --- group_by_window ---

using ReduceFunction = std::function<DatasetNodePtr(std::int64_t key, DatasetNodePtr window)>;
using SizeFunction = std::function<std::int64_t(std::int64_t key)>;

class GroupCursor : public CountingCursor {
 public:
  GroupCursor(PartTypes element, DatasetCursorPtr from, const PartNumber& key, const ReduceFunction& reduce,
              const SizeFunction& window_size)
      : CountingCursor(element, std::move(from)), key_(key), reduce_(reduce), window_size_(window_size) {}
  const char* name() const override { return "group_by_window"; }

  bool read_next(Part* element) override {
    for (;;) {
      if (open_ != nullptr) {
        if (open_->next(element)) return true;
        close();
      }
      if (ended_) {
        if (groups_.empty()) return false;
        start(groups_.begin(), at);
        continue;
      }
      std::vector<Part> item(input->types.size());
      if (!input->next(item.data())) {
        ended_ = true;
        continue;
      }
      const std::int64_t number = at++;
      const std::int64_t key = at_element(name(), number, [&] { return key_(item.data()); });
      auto group = groups_.find(key);
      if (group == groups_.end()) {
        const std::int64_t size = at_element(name(), number, [&] { return window_size_(key); });
        CAPSTAN_CHECK(size >= 1, ValueError, "group_by_window: the window of key ", key, " has the size ", size);
        group = groups_.emplace(key, Group{size, {}}).first;
      }
      group->second.parts.insert(group->second.parts.end(), item.begin(), item.end());
      const auto found = static_cast<std::int64_t>(group->second.parts.size() / item.size());
      if (found == group->second.size) start(group, number);
    }
  }

  void save(PositionWriter& position) override {
    position.number("ended", ended_ ? 1 : 0);
    std::vector<std::int64_t> keys, sizes, counts;
    std::vector<Part> parts;
    for (const auto& [key, group] : groups_) {
      keys.push_back(key);
      sizes.push_back(group.size);
      counts.push_back(static_cast<std::int64_t>(group.parts.size()));
      parts.insert(parts.end(), group.parts.begin(), group.parts.end());
    }
    position.numbers("keys", keys);
    position.numbers("sizes", sizes);
    position.numbers("counts", counts);
    position.parts("groups", input->types, parts);
    position.number("open", open_ != nullptr ? 1 : 0);
    if (open_ != nullptr) {
      position.number("open_key", open_key_);
      position.parts("open_group", input->types, open_parts_);
      position.stage(*open_, "open/");
    }
    CountingCursor::save(position);
  }
  void restore(PositionReader& position) override {
    ended_ = position.flag("ended");
    const std::vector<std::int64_t> keys = position.numbers("keys");
    const std::vector<std::int64_t> sizes = position.numbers("sizes", 1);
    const std::vector<std::int64_t> counts = position.numbers("counts", 0);
    const std::vector<Part> parts = position.parts("groups", input->types);
    if (sizes.size() != keys.size() || counts.size() != keys.size()) position.refuse("keys");
    auto from = parts.begin();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (counts[i] > parts.end() - from) position.refuse("counts");
      groups_[keys[i]] = {sizes[i], {from, from + counts[i]}};
      from += counts[i];
    }
    if (position.flag("open")) {
      open_key_ = position.number("open_key");
      open_parts_ = position.parts("open_group", input->types);
      open_node_ = reduce_(open_key_, list_of(input->types, open_parts_));
      open_ = open_node_->open();
      position.stage(*open_, "open/");
    }
    CountingCursor::restore(position);
  }

 private:
  struct Group {
    std::int64_t size = 0;
    std::vector<Part> parts;
  };

  void start(std::map<std::int64_t, Group>::iterator group, std::int64_t number) {
    open_key_ = group->first;
    open_parts_ = std::move(group->second.parts);
    groups_.erase(group);
    open_node_ = at_element(name(), number, [&] { return reduce_(open_key_, list_of(input->types, open_parts_)); });
    open_ = open_node_->open();
  }
  void close() {
    open_ = nullptr;
    open_node_ = nullptr;
    open_parts_.clear();
  }

  PartNumber key_;
  ReduceFunction reduce_;
  SizeFunction window_size_;
  std::map<std::int64_t, Group> groups_;
  bool ended_ = false;
  // The group whose dataset is being read.
  std::int64_t open_key_ = 0;
  std::vector<Part> open_parts_;
  DatasetNodePtr open_node_;
  DatasetCursorPtr open_;
};

}  // namespace

DatasetNodePtr windowed(PartTypes types, DatasetNodePtr input, std::int64_t size, std::int64_t shift,
                        std::int64_t stride, bool drop_remainder, PartWindow wrap) {
  CAPSTAN_CHECK(size >= 1 && shift >= 1 && stride >= 1, ValueError,
                "window: size, shift and stride must be at least 1, not ", size, ", ", shift, " and ", stride);
  std::int64_t count = input->cardinality();
  if (count >= 0) {
    std::int64_t reach = 0;
    const bool is_beyond = __builtin_mul_overflow(size - 1, stride, &reach) || reach >= count;
    const std::int64_t starts = drop_remainder ? (is_beyond ? 0 : count - reach) : count;
    count = starts / shift + (starts % shift != 0 ? 1 : 0);
  }
  return make_stage<WindowCursor>(types, std::move(input), count, size, shift, stride, drop_remainder, std::move(wrap));
}

DatasetNodePtr grouped(PartTypes types, DatasetNodePtr input, PartNumber key, ReduceFunction reduce,
                       SizeFunction window_size) {
  return make_stage<GroupCursor>(types, std::move(input), kUnknown, std::move(key), std::move(reduce),
                                 std::move(window_size));
}

}  // namespace capstan::detail
