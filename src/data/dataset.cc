// The core of datasets: nodes that open cursors.
//
// A node describes, a cursor walks. Elements are small arrays of tensor handles; nothing is copied until a batch is
// made, and a batch of consecutive rows of a tensor in memory is a view of it.
#include "capstan/data.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>

#include "capstan/ops/random.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/row_shape.h"
#include "src/data/word_stream.h"

namespace capstan::detail {

DatasetCursor::~DatasetCursor() = default;
DatasetNode::~DatasetNode() = default;

namespace {

// Rows [begin, begin + count) of a tensor, as a view.
Tensor rows_of(const Tensor& tensor, std::int64_t begin, std::int64_t count) {
  Shape shape = tensor.shape();
  shape.set(0, count);
  const std::int64_t row = tensor.dim(0) == 0 ? 0 : tensor.size() / tensor.dim(0);
  return make_view(tensor, shape, begin * row);
}

Tensor row_of(const Tensor& tensor, std::int64_t index) {
  const Shape shape = row_shape(tensor.shape());
  return make_view(tensor, shape, index * shape.size());
}

// Joins the same component of all elements along a new first axis.
Tensor join_rows(const std::vector<Tensor>& elements, std::size_t component, std::size_t width) {
  const std::size_t count = elements.size() / width;
  const Tensor& first = elements[component];
  const Tensor batch = new_tensor(first.dtype(), stacked_shape(static_cast<std::int64_t>(count), first.shape()));
  const std::size_t bytes = static_cast<std::size_t>(first.size()) * size_of(first.dtype());
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor& element = elements[i * width + component];
    CAPSTAN_CHECK(element.shape() == first.shape() && element.dtype() == first.dtype(), ShapeError, "batch: element ",
                  i, " is ", describe(element), ", the first ", describe(first));
    std::memcpy(static_cast<std::byte*>(mutable_raw_data(batch)) + i * bytes, element.raw_data(), bytes);
  }
  return batch;
}

// --- Slices of tensors ---

class SlicesNode : public DatasetNode {
 public:
  explicit SlicesNode(std::vector<Tensor> tensors) : tensors(std::move(tensors)) {
    width = static_cast<int>(this->tensors.size());
  }
  std::int64_t size() const override { return tensors[0].dim(0); }
  std::unique_ptr<DatasetCursor> open() const override;

  std::vector<Tensor> tensors;
};

class SlicesCursor : public DatasetCursor {
 public:
  explicit SlicesCursor(const SlicesNode& node) : tensors_(node.tensors), size_(node.size()) { width = node.width; }

  bool next(Tensor* element) override {
    if (at_ == size_) return false;
    for (std::size_t i = 0; i < tensors_.size(); ++i) element[i] = row_of(tensors_[i], at_);
    ++at_;
    return true;
  }

  std::int64_t next_run(std::int64_t count, Tensor* elements) override {
    count = std::min(count, size_ - at_);
    if (count == 0) return 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i) elements[i] = rows_of(tensors_[i], at_, count);
    at_ += count;
    return count;
  }

 private:
  std::vector<Tensor> tensors_;  // handles: a cursor may outlive the dataset
  std::int64_t size_;
  std::int64_t at_ = 0;
};

std::unique_ptr<DatasetCursor> SlicesNode::open() const { return std::make_unique<SlicesCursor>(*this); }

// --- Shuffling, in exactly the order of TensorFlow for the same seed ---

class ShuffleCursor : public DatasetCursor {
 public:
  ShuffleCursor(std::unique_ptr<DatasetCursor> input, std::int64_t buffer_size, WordStream generator)
      : input_(std::move(input)), buffer_size_(static_cast<std::size_t>(buffer_size)), generator_(generator) {
    width = input_->width;
  }

  bool next(Tensor* element) override {
    const auto n = static_cast<std::size_t>(width);
    while (input_ != nullptr && buffer_.size() < buffer_size_) {
      std::vector<Tensor> item(n);
      if (!input_->next(item.data())) {
        input_ = nullptr;
        break;
      }
      buffer_.push_back(std::move(item));
    }
    if (buffer_.empty()) return false;
    // The drawn element leaves; the oldest takes its place.
    const std::size_t drawn = generator_.next() % buffer_.size();
    std::swap(buffer_[drawn], buffer_.front());
    std::move(buffer_.front().begin(), buffer_.front().end(), element);
    buffer_.pop_front();
    return true;
  }

 private:
  std::unique_ptr<DatasetCursor> input_;
  std::size_t buffer_size_;
  WordStream generator_;
  std::deque<std::vector<Tensor>> buffer_;
};

class ShuffleNode : public DatasetNode {
 public:
  ShuffleNode(DatasetNodePtr input, std::int64_t buffer_size, std::uint64_t seed, std::uint64_t seed2, bool reshuffle)
      : input_(std::move(input)),
        buffer_size_(buffer_size),
        seed_(seed),
        seed2_(seed2),
        reshuffle_(reshuffle),
        passes_(seed, seed2) {
    width = input_->width;
  }
  std::int64_t size() const override { return input_->size(); }
  std::unique_ptr<DatasetCursor> open() const override {
    WordStream generator(seed_, seed2_);
    if (reshuffle_) {
      const std::lock_guard lock(mutex_);
      const std::uint32_t a = passes_.next();
      const std::uint32_t b = passes_.next();
      generator = WordStream(a, b);
    }
    return std::make_unique<ShuffleCursor>(input_->open(), buffer_size_, generator);
  }

 private:
  DatasetNodePtr input_;
  std::int64_t buffer_size_;
  std::uint64_t seed_, seed2_;
  bool reshuffle_;
  mutable std::mutex mutex_;
  mutable WordStream passes_;  // gives every pass its seeds
};

// --- Batches ---

class BatchCursor : public DatasetCursor {
 public:
  BatchCursor(std::unique_ptr<DatasetCursor> input, std::int64_t batch_size, bool drop_remainder)
      : input_(std::move(input)), batch_size_(batch_size), drop_remainder_(drop_remainder) {
    width = input_->width;
  }
  bool next(Tensor* element) override {
    const std::int64_t count = input_->next_run(batch_size_, element);
    return count == batch_size_ || (count > 0 && !drop_remainder_);
  }

 private:
  std::unique_ptr<DatasetCursor> input_;
  std::int64_t batch_size_;
  bool drop_remainder_;
};

class BatchNode : public DatasetNode {
 public:
  BatchNode(DatasetNodePtr input, std::int64_t batch_size, bool drop_remainder)
      : input_(std::move(input)), batch_size_(batch_size), drop_remainder_(drop_remainder) {
    width = input_->width;
  }
  std::int64_t size() const override {
    const std::int64_t size = input_->size();
    const std::int64_t whole = size / batch_size_;
    return drop_remainder_ || size % batch_size_ == 0 ? whole : whole + 1;
  }
  std::unique_ptr<DatasetCursor> open() const override {
    return std::make_unique<BatchCursor>(input_->open(), batch_size_, drop_remainder_);
  }

 private:
  DatasetNodePtr input_;
  std::int64_t batch_size_;
  bool drop_remainder_;
};

// --- Repetition and parts ---

class RepeatCursor : public DatasetCursor {
 public:
  RepeatCursor(DatasetNodePtr input, std::int64_t count) : input_(std::move(input)), left_(count) {
    width = input_->width;
  }
  bool next(Tensor* element) override {
    for (;;) {
      if (cursor_ != nullptr && cursor_->next(element)) {
        found_ = true;
        return true;
      }
      // A pass without an element is one of an empty dataset, and so are all that follow.
      if (left_ == 0 || (cursor_ != nullptr && !found_)) return false;
      --left_;
      cursor_ = input_->open();
    }
  }

 private:
  DatasetNodePtr input_;
  std::int64_t left_;
  bool found_ = false;  // an element, so far
  std::unique_ptr<DatasetCursor> cursor_;
};

class RepeatNode : public DatasetNode {
 public:
  RepeatNode(DatasetNodePtr input, std::int64_t count) : input_(std::move(input)), count_(count) {
    width = input_->width;
  }
  // Too many to count are as many as can be counted.
  std::int64_t size() const override {
    std::int64_t size = 0;
    return __builtin_mul_overflow(input_->size(), count_, &size) ? INT64_MAX : size;
  }
  std::unique_ptr<DatasetCursor> open() const override { return std::make_unique<RepeatCursor>(input_, count_); }

 private:
  DatasetNodePtr input_;
  std::int64_t count_;
};

class PartCursor : public DatasetCursor {
 public:
  PartCursor(std::unique_ptr<DatasetCursor> input, std::int64_t skip, std::int64_t take)
      : input_(std::move(input)), skip_(skip), take_(take) {
    width = input_->width;
  }
  bool next(Tensor* element) override {
    for (; skip_ > 0; --skip_) {
      if (!input_->next(element)) return false;
    }
    if (take_ == 0) return false;
    if (take_ > 0) --take_;
    return input_->next(element);
  }

 private:
  std::unique_ptr<DatasetCursor> input_;
  std::int64_t skip_, take_;
};

class PartNode : public DatasetNode {
 public:
  PartNode(DatasetNodePtr input, std::int64_t skip, std::int64_t take)
      : input_(std::move(input)), skip_(skip), take_(take) {
    width = input_->width;
  }
  std::int64_t size() const override {
    const std::int64_t rest = std::max<std::int64_t>(0, input_->size() - skip_);
    return take_ < 0 ? rest : std::min(take_, rest);
  }
  std::unique_ptr<DatasetCursor> open() const override {
    return std::make_unique<PartCursor>(input_->open(), skip_, take_);
  }

 private:
  DatasetNodePtr input_;
  std::int64_t skip_, take_;
};

// TensorFlow's stand-in for a process seed that nobody has set.
constexpr std::uint64_t kNoProcessSeed = 87654321;
constexpr std::uint64_t kSeedRange = 2147483647;

}  // namespace

std::int64_t DatasetCursor::next_run(std::int64_t count, Tensor* elements) {
  const auto n = static_cast<std::size_t>(width);
  std::vector<Tensor> items;
  std::int64_t found = 0;
  for (; found < count; ++found) {
    items.resize(items.size() + n);
    if (next(items.data() + items.size() - n)) continue;
    items.resize(items.size() - n);
    break;
  }
  for (std::size_t i = 0; i < n && found > 0; ++i) elements[i] = join_rows(items, i, n);
  return found;
}

void throw_past_end() {
  throw IndexError(join("dataset: the iterator is past the last element",
                        help("compare it with end() before it is read or moved on")));
}

DatasetNodePtr slices_of(std::vector<Tensor> tensors) {
  for (Tensor& tensor : tensors) {
    CAPSTAN_CHECK(tensor.has_value(), ValueError, "from_tensor_slices: a tensor is empty",
                  help("a missing gradient is an empty tensor; test it with has_value()"));
    if (is_symbolic(tensor.block())) throw_symbolic("from_tensor_slices", tensor.block());
    CAPSTAN_CHECK(tensor.rank() >= 1, ShapeError, "from_tensor_slices: a scalar has no rows",
                  arguments({{"tensor", tensor}}));
    tensor = tensor.to_dense();
    CAPSTAN_CHECK(tensor.dim(0) == tensors[0].dim(0), ShapeError, "from_tensor_slices: numbers of rows differ, ",
                  tensors[0].dim(0), " and ", tensor.dim(0));
  }
  return std::make_shared<SlicesNode>(std::move(tensors));
}

DatasetNodePtr shuffled(DatasetNodePtr input, std::int64_t buffer_size, std::optional<std::uint64_t> seed,
                        bool reshuffle) {
  CAPSTAN_CHECK(buffer_size >= 1, ValueError, "shuffle: buffer_size must be at least 1, not ", buffer_size);
  // Without a seed of its own the order comes from the process's stream, so that set_seed decides it.
  const std::uint64_t first = seed ? kNoProcessSeed : next_seed();
  const std::uint64_t second = seed ? *seed % kSeedRange : 0;
  return std::make_shared<ShuffleNode>(std::move(input), buffer_size, first, second, reshuffle);
}

DatasetNodePtr batched(DatasetNodePtr input, std::int64_t batch_size, bool drop_remainder) {
  CAPSTAN_CHECK(batch_size >= 1, ValueError, "batch: batch_size must be at least 1, not ", batch_size);
  return std::make_shared<BatchNode>(std::move(input), batch_size, drop_remainder);
}

DatasetNodePtr repeated(DatasetNodePtr input, std::int64_t count) {
  CAPSTAN_CHECK(count >= 0, ValueError, "repeat: count must not be negative, but is ", count);
  return std::make_shared<RepeatNode>(std::move(input), count);
}

DatasetNodePtr part_of(DatasetNodePtr input, std::int64_t skip, std::int64_t take) {
  if (skip < 0) take = 0;
  return std::make_shared<PartNode>(std::move(input), std::max<std::int64_t>(0, skip), take);
}

}  // namespace capstan::detail
