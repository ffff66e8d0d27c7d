// Which elements a pass has: repetition, beginnings and ends, shards, filters.
#include <algorithm>
#include <limits>
#include <string>
#include <unordered_set>

#include "src/core/allocator.h"
#include "src/data/stage.h"

namespace capstan::detail {

namespace {

// --- repeat ---

class RepeatCursor : public DatasetCursor {
 public:
  // A negative count is for ever.
  RepeatCursor(DatasetNodePtr from, std::int64_t count)
      : DatasetCursor(from->types), from_(std::move(from)), left_(count) {
    if (left_ != 0) open();
  }
  const char* name() const override { return "repeat"; }

  bool read_next(Part* element) override {
    return advance([&] { return cursor_->next(element); });
  }
  const RowTable* rows() const override { return cursor_ != nullptr ? cursor_->rows() : nullptr; }
  std::int64_t next_rows(std::int64_t count, std::int64_t* first) override {
    std::int64_t found = 0;
    advance([&] { return (found = cursor_->next_rows(count, first)) > 0; });
    return found;
  }

  void save(PositionWriter& position) override {
    position.number("left", left_);
    position.number("found", found_ ? 1 : 0);
    position.number("open", cursor_ != nullptr ? 1 : 0);
    if (cursor_ != nullptr) position.stage(*cursor_);
  }
  void restore(PositionReader& position) override {
    left_ = position.number("left");
    found_ = position.flag("found");
    const bool is_open = position.flag("open");
    if (is_open && cursor_ == nullptr) cursor_ = from_->open();
    if (is_open) position.stage(*cursor_);
  }

 private:
  void open() {
    // The cursor is made before the old one goes, so that an error leaves that.
    cursor_ = from_->open();
    found_ = false;
    if (left_ > 0) --left_;
  }
  template <class Step>
  bool advance(const Step& step) {
    while (cursor_ != nullptr) {
      try {
        if (step()) return found_ = true;
      } catch (...) {
        found_ = true;
        throw;
      }
      // A pass without an element is one of an empty dataset, and so are all that follow.
      if (left_ == 0 || !found_) return false;
      open();
    }
    return false;
  }

  DatasetNodePtr from_;
  std::int64_t left_;  // passes after this one
  bool found_ = false;
  DatasetCursorPtr cursor_;
};

class RepeatNode : public StageNode {
 public:
  RepeatNode(DatasetNodePtr from, std::int64_t count) : StageNode(std::move(from)), count_(count) {}
  // Too many to count are as many as can be counted.
  std::int64_t cardinality() const override {
    const std::int64_t one = input->cardinality();
    if (count_ == 0 || one == 0) return 0;
    if (count_ < 0 || one == kInfinite) return kInfinite;
    if (one == kUnknown) return kUnknown;
    std::int64_t all = 0;
    return __builtin_mul_overflow(one, count_, &all) ? INT64_MAX : all;
  }
  DatasetCursorPtr open() const override { return std::make_unique<RepeatCursor>(input, count_); }

 private:
  std::int64_t count_;
};

// --- take, skip, shard ---

// Elements `first`, `first + step` and so on; `most` of them, or all if that is negative.
class StepCursor : public StageCursor {
 public:
  StepCursor(PartTypes element, DatasetCursorPtr from, const char* name, std::int64_t first, std::int64_t step,
             std::int64_t most)
      : StageCursor(element, std::move(from)), name_(name), gap_(first), step_(step), left_(most) {}
  const char* name() const override { return name_; }

  bool read_next(Part* element) override {
    return advance([&] { return input->next(element); });
  }
  const RowTable* rows() const override { return input->rows(); }
  std::int64_t next_rows(std::int64_t count, std::int64_t* first) override {
    while (gap_ > 0 && left_ != 0) {
      const std::int64_t passed = input->next_rows(gap_, first);
      if (passed == 0) return 0;
      gap_ -= passed;
    }
    if (step_ > 1) count = 1;
    if (left_ >= 0) count = std::min(count, left_);
    if (count == 0) return 0;
    count = input->next_rows(count, first);
    gap_ = step_ - 1;
    if (left_ > 0) left_ -= count;
    return count;
  }

  void save(PositionWriter& position) override {
    position.number("gap", gap_);
    position.number("left", left_);
    StageCursor::save(position);
  }
  void restore(PositionReader& position) override {
    gap_ = position.number("gap");
    left_ = position.number("left");
    StageCursor::restore(position);
  }

 private:
  // An element that fails counts like any other.
  template <class Step>
  bool advance(const Step& step) {
    if (left_ == 0) return false;
    while (gap_ > 0) {
      --gap_;
      if (!step()) return false;
    }
    gap_ = step_ - 1;
    if (left_ > 0) --left_;
    return step();
  }

  const char* name_;
  std::int64_t gap_;  // elements before the next one
  std::int64_t step_;
  std::int64_t left_;
};

// --- filter, take_while ---

class FilterCursor : public CountingCursor {
 public:
  FilterCursor(PartTypes element, DatasetCursorPtr from, const PartPredicate& keep)
      : CountingCursor(element, std::move(from)), keep_(keep) {}
  const char* name() const override { return "filter"; }
  bool read_next(Part* element) override {
    while (input->next(element)) {
      const std::int64_t number = at++;
      if (at_element(name(), number, [&] { return keep_(element); })) return true;
    }
    return false;
  }

 private:
  PartPredicate keep_;
};

class TakeWhileCursor : public CountingCursor {
 public:
  TakeWhileCursor(PartTypes element, DatasetCursorPtr from, const PartPredicate& keep)
      : CountingCursor(element, std::move(from)), keep_(keep) {}
  const char* name() const override { return "take_while"; }
  bool read_next(Part* element) override {
    if (ended_ || !input->next(element)) return false;
    const std::int64_t number = at++;
    ended_ = !at_element(name(), number, [&] { return keep_(element); });
    return !ended_;
  }
  void save(PositionWriter& position) override {
    position.number("ended", ended_ ? 1 : 0);
    CountingCursor::save(position);
  }
  void restore(PositionReader& position) override {
    ended_ = position.flag("ended");
    CountingCursor::restore(position);
  }

 private:
  PartPredicate keep_;
  bool ended_ = false;
};

// --- unique ---

// What tells a part from others: its bytes, and for a tensor dtype and shape.
std::string key_of(const PartType& type, const Part& part) {
  if (!type.is_tensor) return object_of<std::string>(part);
  const Tensor tensor = readable("unique", part.tensor);
  CAPSTAN_CHECK(is_integer(tensor.dtype()), DTypeError, "unique: only texts and integers have equal ones, not ",
                describe(tensor));
  const std::size_t bytes = static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype());
  return describe(tensor) + std::string(static_cast<const char*>(tensor.raw_data()), bytes);
}

class UniqueCursor : public StageCursor {
 public:
  UniqueCursor(PartTypes element, DatasetCursorPtr from) : StageCursor(element, std::move(from)) {}
  const char* name() const override { return "unique"; }
  bool read_next(Part* element) override {
    while (input->next(element)) {
      if (!seen_.insert(key_of(*types[0], *element)).second) continue;
      given_.push_back(*element);
      return true;
    }
    return false;
  }
  void save(PositionWriter& position) override {
    position.parts("seen", types, given_);
    StageCursor::save(position);
  }
  void restore(PositionReader& position) override {
    given_ = position.parts("seen", types);
    for (const Part& part : given_) seen_.insert(key_of(*types[0], part));
    StageCursor::restore(position);
  }

 private:
  std::unordered_set<std::string> seen_;
  std::vector<Part> given_;
};

// --- ignore_errors, assert_cardinality ---

class IgnoreErrorsCursor : public StageCursor {
 public:
  IgnoreErrorsCursor(PartTypes element, DatasetCursorPtr from) : StageCursor(element, std::move(from)) {}
  const char* name() const override { return "ignore_errors"; }
  bool read_next(Part* element) override {
    for (;;) {
      try {
        return input->next(element);
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): that is what it is for
      }
    }
  }
};

class CountedCursor : public CountingCursor {
 public:
  CountedCursor(PartTypes element, DatasetCursorPtr from, std::int64_t count)
      : CountingCursor(element, std::move(from)), count_(count) {}
  const char* name() const override { return "assert_cardinality"; }
  bool read_next(Part* element) override {
    if (ended_) return false;
    const bool found = input->next(element);
    if (found) ++at;
    const bool wrong = count_ != kUnknown && (found ? count_ != kInfinite && at > count_ : at != count_);
    ended_ = !found || wrong;
    CAPSTAN_CHECK(!wrong, ValueError, "assert_cardinality: the dataset has ", found ? "more than " : "",
                  found ? count_ : at, " elements, not ",
                  count_ == kInfinite ? "infinitely many" : std::to_string(count_));
    return found;
  }
  void save(PositionWriter& position) override {
    position.number("ended", ended_ ? 1 : 0);
    CountingCursor::save(position);
  }
  void restore(PositionReader& position) override {
    ended_ = position.flag("ended");
    CountingCursor::restore(position);
  }

 private:
  std::int64_t count_;
  bool ended_ = false;
};

}  // namespace

DatasetNodePtr repeated(DatasetNodePtr input, std::int64_t count) {
  return std::make_shared<RepeatNode>(std::move(input), count);
}

DatasetNodePtr taken(DatasetNodePtr input, std::int64_t count) {
  const std::int64_t all = input->cardinality();
  std::int64_t size = count < 0 || (all >= 0 && all < count) ? all : count;
  if (count > 0 && all == kUnknown) size = kUnknown;
  const PartTypes types = input->types;
  return make_stage<StepCursor>(types, std::move(input), size, "take", std::int64_t{0}, std::int64_t{1}, count);
}

DatasetNodePtr skipped(DatasetNodePtr input, std::int64_t count) {
  const std::int64_t all = input->cardinality();
  const std::int64_t size = count < 0 ? 0 : all < 0 ? all : all - std::min(all, count);
  const PartTypes types = input->types;
  return make_stage<StepCursor>(types, std::move(input), size, "skip", std::max<std::int64_t>(0, count),
                                std::int64_t{1}, std::int64_t{count < 0 ? 0 : -1});
}

DatasetNodePtr sharded(DatasetNodePtr input, std::int64_t num_shards, std::int64_t index) {
  CAPSTAN_CHECK(num_shards >= 1, ValueError, "shard: num_shards must be at least 1, not ", num_shards);
  CAPSTAN_CHECK(index >= 0 && index < num_shards, ValueError, "shard: index ", index, " is not in [0, ", num_shards,
                ")");
  const std::int64_t all = input->cardinality();
  const std::int64_t size = all < 0 ? all : all / num_shards + (index < all % num_shards ? 1 : 0);
  const PartTypes types = input->types;
  return make_stage<StepCursor>(types, std::move(input), size, "shard", index, num_shards, std::int64_t{-1});
}

DatasetNodePtr filtered(DatasetNodePtr input, PartPredicate keep) {
  const PartTypes types = input->types;
  return make_stage<FilterCursor>(types, std::move(input), kUnknown, std::move(keep));
}

DatasetNodePtr taken_while(DatasetNodePtr input, PartPredicate keep) {
  const PartTypes types = input->types;
  return make_stage<TakeWhileCursor>(types, std::move(input), kUnknown, std::move(keep));
}

DatasetNodePtr unique_of(DatasetNodePtr input) {
  const PartTypes types = input->types;
  return make_stage<UniqueCursor>(types, std::move(input), kUnknown);
}

DatasetNodePtr without_errors(DatasetNodePtr input) {
  const PartTypes types = input->types;
  return make_stage<IgnoreErrorsCursor>(types, std::move(input), kUnknown);
}

DatasetNodePtr with_cardinality(DatasetNodePtr input, std::int64_t cardinality) {
  CAPSTAN_CHECK(cardinality >= kUnknown, ValueError, "assert_cardinality: no dataset has ", cardinality, " elements");
  const PartTypes types = input->types;
  return make_stage<CountedCursor>(types, std::move(input), cardinality, cardinality);
}

}  // namespace capstan::detail
