// Shuffling, in exactly the order of TensorFlow for the same seeds.
//
// A buffer is kept full; each output is drawn from it, and the oldest element takes the place of the one that leaves.
// Of rows of tensors in memory the buffer has the numbers only.
#include <algorithm>
#include <deque>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "src/data/stage.h"
#include "src/data/stream.h"

namespace capstan::detail {

namespace {

class ShuffleCursor : public StageCursor {
 public:
  ShuffleCursor(DatasetCursorPtr from, std::int64_t buffer_size, PassStreamsPtr streams)
      : StageCursor(std::move(from)),
        buffer_size_(static_cast<std::size_t>(buffer_size)),
        streams_(std::move(streams)),
        words_(streams_->open()),
        table_(input->rows()) {}
  const char* name() const override { return "shuffle"; }
  const RowTable* rows() const override { return table_; }

  bool read_next(Part* element) override {
    if (table_ != nullptr) {
      std::int64_t row = 0;
      if (next_rows(1, &row) == 0) return false;
      read_row(*table_, row, element);
      return true;
    }
    const std::size_t width = types.size();
    while (!ended_ && buffer_.size() / width < buffer_size_) {
      // Through parts of its own: an error must leave the buffer as it is.
      std::vector<Part> item(width);
      ended_ = !input->next(item.data());
      if (!ended_) std::move(item.begin(), item.end(), std::back_inserter(buffer_));
    }
    if (buffer_.empty()) return false;
    const std::size_t drawn = words_.next_below(buffer_.size() / width);
    for (std::size_t i = 0; i < width; ++i) {
      std::swap(buffer_[drawn * width + i], buffer_[i]);
      element[i] = std::move(buffer_[i]);
    }
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(width));
    return true;
  }

  std::int64_t next_rows(std::int64_t, std::int64_t* first) override {
    while (!ended_ && numbers_.size() - oldest_ < buffer_size_) fill_numbers();
    if (numbers_.size() == oldest_) return 0;
    std::int64_t& drawn = numbers_[oldest_ + words_.next_below(numbers_.size() - oldest_)];
    *first = std::exchange(drawn, numbers_[oldest_++]);
    return 1;
  }

  void save(PositionWriter& position) override {
    streams_->save(words_, position);
    position.number("ended", ended_ ? 1 : 0);
    position.numbers("rows", {numbers_.begin() + static_cast<std::ptrdiff_t>(oldest_), numbers_.end()});
    if (table_ == nullptr) position.parts("buffer", types, {buffer_.begin(), buffer_.end()});
    position.stage(*input);
  }
  void restore(PositionReader& position) override {
    words_ = streams_->restore(position);
    ended_ = position.flag("ended");
    numbers_ = position.numbers("rows", 0, table_ == nullptr ? -1 : (*table_)[0].dim(0) - 1);
    oldest_ = 0;
    if (table_ == nullptr) {
      std::vector<Part> parts = position.parts("buffer", types);
      buffer_.assign(std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
    }
    position.stage(*input);
  }

 private:
  // Takes numbers from the input, after those that are there. Numbers that were given out leave their places when they
  // are half of them, so that each is moved once on the average.
  void fill_numbers() {
    if (oldest_ > numbers_.size() / 2) {
      numbers_.erase(numbers_.begin(), numbers_.begin() + static_cast<std::ptrdiff_t>(oldest_));
      oldest_ = 0;
    }
    const std::size_t room = std::min<std::size_t>(buffer_size_ - (numbers_.size() - oldest_), INT64_MAX);
    std::int64_t row = 0;
    const std::int64_t count = input->next_rows(static_cast<std::int64_t>(room), &row);
    ended_ = count == 0;
    numbers_.resize(numbers_.size() + static_cast<std::size_t>(count));
    std::iota(numbers_.end() - count, numbers_.end(), row);
  }

  std::size_t buffer_size_;
  PassStreamsPtr streams_;
  WordStream words_;
  const RowTable* table_;
  bool ended_ = false;
  std::vector<std::int64_t> numbers_;  // of rows, oldest first
  std::size_t oldest_ = 0;             // the first of them that was not given out
  std::deque<Part> buffer_;            // parts of elements, oldest first
};

class ShuffleNode : public StageNode {
 public:
  ShuffleNode(DatasetNodePtr from, std::int64_t buffer_size, StreamSeeds seeds, bool reshuffle)
      : StageNode(std::move(from)),
        buffer_size_(buffer_size),
        streams_(std::make_shared<PassStreams>(seeds.seed, seeds.seed2, reshuffle)) {}
  DatasetCursorPtr open() const override {
    return std::make_unique<ShuffleCursor>(input->open(), buffer_size_, streams_);
  }

 private:
  std::int64_t buffer_size_;
  PassStreamsPtr streams_;
};

}  // namespace

DatasetNodePtr shuffled(DatasetNodePtr input, std::int64_t buffer_size, Seed seed, bool reshuffle) {
  CAPSTAN_CHECK(buffer_size >= 1 || buffer_size == kUnknown, ValueError,
                "shuffle: buffer_size must be at least 1, not ", buffer_size);
  if (buffer_size == kUnknown) buffer_size = INT64_MAX;
  CAPSTAN_CHECK(buffer_size < INT64_MAX || input->cardinality() != kInfinite, ValueError,
                "shuffle: a buffer that holds all elements of an infinite dataset never fills");
  return std::make_shared<ShuffleNode>(std::move(input), buffer_size, stream_seeds(seed), reshuffle);
}

}  // namespace capstan::detail
