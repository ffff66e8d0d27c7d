// Elements joined to batches, and batches taken apart.
#include <algorithm>
#include <cstring>
#include <utility>

#include "src/core/allocator.h"
#include "src/data/parallel_map.h"

namespace capstan::detail {

namespace {

std::int64_t number_of_batches(std::int64_t elements, std::int64_t batch_size, bool drop_remainder) {
  if (elements < 0) return elements;
  const std::int64_t whole = elements / batch_size;
  return drop_remainder || elements % batch_size == 0 ? whole : whole + 1;
}

void check_batch_size(const char* what, std::int64_t batch_size, const DatasetNode& input) {
  CAPSTAN_CHECK(batch_size >= 1, ValueError, what, ": batch_size must be at least 1, not ", batch_size);
  CAPSTAN_CHECK(batch_size < INT64_MAX || input.cardinality() != kInfinite, ValueError, what,
                ": a batch of all elements of an infinite dataset never ends");
}

// --- unbatch ---

class UnbatchCursor : public StageCursor {
 public:
  UnbatchCursor(PartTypes element, DatasetCursorPtr from) : StageCursor(element, std::move(from)) {}
  const char* name() const override { return "unbatch"; }
  bool read_next(Part* element) override {
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
    const std::size_t width = types.size();
    while (at_ == rows_.size()) {
      std::vector<Part> batch(width);
      if (!input->next(batch.data())) return false;
      take_apart(batch);
    }
    move_parts(rows_.data() + at_, width, element);
    at_ += width;
    return true;
  }
  // The next `count` rows as a batch, if they are a batch of the input. What this finds instead, read_next() gives.
  bool next_whole(std::int64_t count, Part* batch) {
    if (at_ != rows_.size() || failure_ != nullptr) return false;
    try {
      std::vector<Part> found(types.size());
      if (!input->next(found.data())) return false;
      bool is_whole = true;
      for (std::size_t i = 0; i < found.size() && is_whole; ++i) {
        const Tensor& tensor = found[i].tensor;
        is_whole = input->types[i]->is_tensor && types[i]->is_tensor && tensor.has_value() && tensor.rank() > 0 &&
                   tensor.dim(0) == count && !tensor.is_row_sparse();
      }
      if (!is_whole) {
        take_apart(found);
        return false;
      }
      move_parts(found.data(), found.size(), batch);
      return true;
    } catch (...) {
      failure_ = std::current_exception();
      return false;
    }
  }
  void save(PositionWriter& position) override {
    position.parts("rows", types, {rows_.begin() + static_cast<std::ptrdiff_t>(at_), rows_.end()});
    StageCursor::save(position);
  }
  void restore(PositionReader& position) override {
    rows_ = position.parts("rows", types);
    at_ = 0;
    StageCursor::restore(position);
  }

 private:
  void take_apart(const std::vector<Part>& batch) {
    const std::size_t width = types.size();
    std::vector<Part> rows;
    for (std::size_t part = 0; part < width; ++part) {
      std::vector<Part> column = input->types[part]->unbatch(batch[part]);
      if (part == 0) rows.resize(column.size() * width);
      CAPSTAN_CHECK(column.size() * width == rows.size(), ShapeError, "unbatch: numbers of rows differ, ",
                    rows.size() / width, " and ", column.size());
      for (std::size_t i = 0; i < column.size(); ++i) rows[i * width + part] = std::move(column[i]);
    }
    rows_ = std::move(rows);
    at_ = 0;
  }

  std::vector<Part> rows_;
  std::size_t at_ = 0;
  std::exception_ptr failure_;  // of next_whole()
};

// --- batch ---

class BatchCursor : public StageCursor {
 public:
  BatchCursor(PartTypes element, DatasetCursorPtr from, std::int64_t batch_size, bool drop_remainder)
      : StageCursor(element, std::move(from)),
        rows_(dynamic_cast<UnbatchCursor*>(input.get())),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder) {}
  const char* name() const override { return "batch"; }
  bool read_next(Part* element) override {
    // Batches that were taken apart need not be joined again.
    if (rows_ != nullptr && rows_->next_whole(batch_size_, element)) return true;
    const std::int64_t count = input->next_batch(batch_size_, element);
    return count == batch_size_ || (count > 0 && !drop_remainder_);
  }

 private:
  UnbatchCursor* rows_;  // the input, if it is one
  std::int64_t batch_size_;
  bool drop_remainder_;
};

// Batches that threads join.
struct Parallel {
  std::int64_t calls = 0;
  std::optional<bool> deterministic = {};
};

void check_calls(const char* what, const Parallel& parallel) {
  CAPSTAN_CHECK(parallel.calls >= kAutotune, ValueError, what, ": num_parallel_calls is ", parallel.calls,
                help("0 is none, kAutotune chooses"));
}

class BatchNode : public StageNode {
 public:
  BatchNode(PartTypes element, DatasetNodePtr from, std::int64_t batch_size, bool drop_remainder, Parallel parallel)
      : StageNode(element, std::move(from)),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder),
        parallel_(parallel) {}
  std::int64_t cardinality() const override {
    return number_of_batches(input->cardinality(), batch_size_, drop_remainder_);
  }
  std::int64_t rows_of_each() const override { return drop_remainder_ ? batch_size_ : kUnknown; }
  DatasetCursorPtr open() const override {
    DatasetCursorPtr elements = input->open();
    // Rows that follow each other need no thread: their batch is a view.
    if (parallel_.calls == 0 || (parallel_.calls == kAutotune && elements->rows() != nullptr)) {
      return std::make_unique<BatchCursor>(types, std::move(elements), batch_size_, drop_remainder_);
    }
    const PartTypes from = input->types;
    const auto join = [from](const Part* parts, std::int64_t count, Part* batch) {
      for (std::size_t i = 0; i < from.size(); ++i) {
        batch[i] = from[i]->batch({parts + i, static_cast<std::size_t>(count), from.size()});
      }
    };
    return parallel_groups("batch", types, std::move(elements), join, {batch_size_, drop_remainder_}, parallel_.calls,
                           parallel_.deterministic);
  }

 private:
  std::int64_t batch_size_;
  bool drop_remainder_;
  Parallel parallel_;
};

// --- padded_batch ---

struct Padding {
  std::vector<std::vector<std::int64_t>> shapes;  // of each part, -1 for the longest; or none
  std::vector<Tensor> values;                     // of each part, or none
  std::int64_t length = -1;                       // in place of -1
};

// Copies the elements of a tensor into the corner of a larger one.
void copy_into_corner(const Tensor& tensor, const Shape& shape, std::byte* to) {
  if (tensor.size() == 0) return;
  const std::size_t size = size_of(tensor.dtype());
  const auto* from = static_cast<const std::byte*>(tensor.raw_data());
  const int rank = tensor.rank();
  const std::int64_t run = rank == 0 ? 1 : tensor.dim(rank - 1);
  for (std::int64_t i = 0; i < tensor.size() / run; ++i) {
    // The place of run i in the larger shape.
    std::int64_t rest = i, place = 0, stride = rank == 0 ? 1 : shape[rank - 1];
    for (int axis = rank - 2; axis >= 0; --axis) {
      place += rest % tensor.dim(axis) * stride;
      rest /= tensor.dim(axis);
      stride *= shape[axis];
    }
    std::memcpy(to + static_cast<std::size_t>(place) * size, from + static_cast<std::size_t>(i * run) * size,
                static_cast<std::size_t>(run) * size);
  }
}

Tensor padded_tensor(const std::vector<Tensor>& items, const Padding& padding, std::size_t part) {
  const Tensor& first = items[0];
  const bool has_shape = !padding.shapes.empty();
  const int rank = has_shape ? static_cast<int>(padding.shapes[part].size()) : first.rank();
  Shape shape = {static_cast<std::int64_t>(items.size())};
  for (int axis = 0; axis < rank; ++axis) {
    std::int64_t length = has_shape ? padding.shapes[part][static_cast<std::size_t>(axis)] : -1;
    if (length < 0 && (has_shape || axis == 0)) length = padding.length;
    const bool is_given = length >= 0;
    for (const Tensor& item : items) {
      CAPSTAN_CHECK(item.rank() == rank && item.dtype() == first.dtype(), ShapeError, "padded_batch: an element is ",
                    describe(item), ", another ", describe(first), ", to be of rank ", rank);
      CAPSTAN_CHECK(!is_given || item.dim(axis) <= length, ShapeError,
                    "padded_batch: an element is larger than its shape, ", item.dim(axis), " and ", length,
                    " along axis ", axis);
      length = std::max(length, item.dim(axis));
    }
    shape.push_back(length);
  }
  const Tensor batch = new_tensor(first.dtype(), shape);
  const std::size_t size = size_of(first.dtype());
  auto* bytes = static_cast<std::byte*>(mutable_raw_data(batch));
  const std::size_t all = static_cast<std::size_t>(batch.size()) * size;
  const Tensor value = padding.values.empty() ? Tensor() : padding.values[part];
  if (value.has_value() && batch.size() > 0) {
    CAPSTAN_CHECK(value.dtype() == first.dtype(), DTypeError, "padded_batch: the padding value is ", describe(value),
                  ", the elements are ", describe(first));
    for (std::size_t at = 0; at < all; at += size) std::memcpy(bytes + at, value.raw_data(), size);
  } else if (all > 0) {
    std::memset(bytes, 0, all);
  }
  Shape row;
  for (int axis = 0; axis < rank; ++axis) row.push_back(shape[axis + 1]);
  for (std::size_t i = 0; i < items.size(); ++i) {
    copy_into_corner(items[i], row, bytes + i * static_cast<std::size_t>(row.size()) * size);
  }
  return batch;
}

// A batch of elements with parts of these types.
void pad(PartTypes types, const Padding& padding, const Part* parts, std::int64_t count, Part* batch) {
  for (std::size_t part = 0; part < types.size(); ++part) {
    const PartType& type = *types[part];
    const PartColumn column{parts + part, static_cast<std::size_t>(count), types.size()};
    if (!type.is_tensor) {
      batch[part] = type.batch(column);
      continue;
    }
    std::vector<Tensor> items;
    for (std::size_t i = 0; i < column.count; ++i) items.push_back(readable("padded_batch", column[i].tensor));
    batch[part] = {padded_tensor(items, padding, part), nullptr};
  }
}

class PaddedBatchCursor : public StageCursor {
 public:
  PaddedBatchCursor(PartTypes element, DatasetCursorPtr from, std::int64_t batch_size, bool drop_remainder,
                    const Padding& padding)
      : StageCursor(element, std::move(from)),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder),
        padding_(padding) {}
  const char* name() const override { return "padded_batch"; }
  bool read_next(Part* element) override {
    const std::size_t width = input->types.size();
    std::vector<Part> parts;
    std::exception_ptr error;
    std::int64_t count = 0;
    while (count < batch_size_) {
      std::vector<Part> item(width);
      try {
        if (!input->next(item.data())) break;
        parts.insert(parts.end(), item.begin(), item.end());
      } catch (...) {
        // It takes its batch with it.
        if (error == nullptr) error = std::current_exception();
      }
      ++count;
    }
    if (error != nullptr) std::rethrow_exception(error);
    if (count == 0 || (count < batch_size_ && drop_remainder_)) return false;
    pad(input->types, padding_, parts.data(), count, element);
    return true;
  }

 private:
  std::int64_t batch_size_;
  bool drop_remainder_;
  Padding padding_;
};

class ParallelPaddedNode : public StageNode {
 public:
  ParallelPaddedNode(PartTypes element, DatasetNodePtr from, std::int64_t cardinality, Grouping grouping,
                     Padding padding, Parallel parallel)
      : StageNode(element, std::move(from)),
        cardinality_(cardinality),
        grouping_(grouping),
        padding_(std::move(padding)),
        parallel_(parallel) {}
  std::int64_t cardinality() const override { return cardinality_; }
  DatasetCursorPtr open() const override {
    const auto join = [from = input->types, padding = padding_](const Part* parts, std::int64_t count, Part* batch) {
      pad(from, padding, parts, count, batch);
    };
    return parallel_groups("padded_batch", types, input->open(), join, grouping_, parallel_.calls,
                           parallel_.deterministic);
  }

 private:
  std::int64_t cardinality_;
  Grouping grouping_;
  Padding padding_;
  Parallel parallel_;
};

// --- rebatch ---

class RebatchCursor : public StageCursor {
 public:
  RebatchCursor(PartTypes element, DatasetCursorPtr from, const std::vector<std::int64_t>& sizes, bool drop_remainder)
      : StageCursor(element, std::move(from)), sizes_(sizes), drop_remainder_(drop_remainder) {}
  const char* name() const override { return "rebatch"; }
  bool read_next(Part* element) override {
    const std::int64_t size = sizes_[at_];
    at_ = (at_ + 1) % sizes_.size();
    const std::int64_t count = input->next_batch(size, element);
    return count == size || (count > 0 && !drop_remainder_);
  }
  void save(PositionWriter& position) override {
    position.number("at", static_cast<std::int64_t>(at_));
    StageCursor::save(position);
  }
  void restore(PositionReader& position) override {
    at_ = static_cast<std::size_t>(position.number("at", 0, static_cast<std::int64_t>(sizes_.size()) - 1));
    StageCursor::restore(position);
  }

 private:
  std::vector<std::int64_t> sizes_;
  std::size_t at_ = 0;
  bool drop_remainder_;
};

std::int64_t number_of_rows(const DatasetNode& batches) {
  const std::int64_t count = batches.cardinality(), rows = batches.rows_of_each();
  if (count == 0 || rows < 0) return count == 0 ? 0 : kUnknown;
  std::int64_t all = 0;
  if (count < 0) return count;
  return __builtin_mul_overflow(count, rows, &all) ? INT64_MAX : all;
}

}  // namespace

DatasetNodePtr batched(PartTypes types, DatasetNodePtr input, std::int64_t batch_size, bool drop_remainder,
                       std::int64_t parallel_calls, std::optional<bool> deterministic) {
  check_batch_size("batch", batch_size, *input);
  const Parallel parallel{parallel_calls, deterministic};
  check_calls("batch", parallel);
  return std::make_shared<BatchNode>(types, std::move(input), batch_size, drop_remainder, parallel);
}

DatasetNodePtr padded(PartTypes types, DatasetNodePtr input, std::int64_t batch_size,
                      std::vector<std::vector<std::int64_t>> shapes, std::vector<Tensor> values, bool drop_remainder,
                      std::int64_t length, std::int64_t parallel_calls, std::optional<bool> deterministic) {
  check_batch_size("padded_batch", batch_size, *input);
  const Parallel parallel{parallel_calls, deterministic};
  check_calls("padded_batch", parallel);
  CAPSTAN_CHECK(shapes.empty() || shapes.size() == types.size(), ValueError, "padded_batch: there are ", shapes.size(),
                " shapes for ", types.size(), " parts of an element");
  CAPSTAN_CHECK(values.empty() || values.size() == types.size(), ValueError, "padded_batch: there are ", values.size(),
                " values for ", types.size(), " parts of an element");
  for (const std::vector<std::int64_t>& shape : shapes) {
    CAPSTAN_CHECK(shape.size() < static_cast<std::size_t>(kMaxRank), ShapeError, "padded_batch: a shape has ",
                  shape.size(), " axes, the most are ", kMaxRank - 1);
    for (const std::int64_t axis : shape) {
      CAPSTAN_CHECK(axis >= -1, ValueError, "padded_batch: a length is ", axis, help("-1 stands for the longest"));
    }
  }
  for (Tensor& value : values) {
    if (!value.has_value()) continue;
    value = readable("padded_batch", value);
    CAPSTAN_CHECK(value.size() == 1, ShapeError, "padded_batch: a padding value is no scalar",
                  arguments({{"value", value}}));
  }
  const std::int64_t size = number_of_batches(input->cardinality(), batch_size, drop_remainder);
  Padding padding{std::move(shapes), std::move(values), length};
  if (parallel_calls != 0) {
    return std::make_shared<ParallelPaddedNode>(types, std::move(input), size, Grouping{batch_size, drop_remainder},
                                                std::move(padding), parallel);
  }
  return make_stage<PaddedBatchCursor>(types, std::move(input), size, batch_size, drop_remainder, std::move(padding));
}

DatasetNodePtr unbatched(PartTypes types, DatasetNodePtr input, std::int64_t cardinality) {
  const std::int64_t size = cardinality != kUnknown ? cardinality : number_of_rows(*input);
  return make_stage<UnbatchCursor>(types, std::move(input), size);
}

DatasetNodePtr rebatched(PartTypes types, DatasetNodePtr rows, std::vector<std::int64_t> sizes, bool drop_remainder) {
  CAPSTAN_CHECK(!sizes.empty(), ValueError, "rebatch: there are no sizes");
  for (const std::int64_t size : sizes) check_batch_size("rebatch", size, *rows);
  return make_stage<RebatchCursor>(types, std::move(rows), kUnknown, std::move(sizes), drop_remainder);
}

void check_buckets(const std::vector<std::int64_t>& boundaries, const std::vector<std::int64_t>& batch_sizes) {
  CAPSTAN_CHECK(batch_sizes.size() == boundaries.size() + 1, ValueError,
                "bucket_by_sequence_length: ", boundaries.size(), " boundaries make ", boundaries.size() + 1,
                " buckets, but there are ", batch_sizes.size(), " batch sizes");
  for (std::size_t i = 1; i < boundaries.size(); ++i) {
    CAPSTAN_CHECK(boundaries[i] > boundaries[i - 1], ValueError, "bucket_by_sequence_length: boundaries do not rise, ",
                  boundaries[i - 1], " and ", boundaries[i]);
  }
  for (const std::int64_t size : batch_sizes) {
    CAPSTAN_CHECK(size >= 1, ValueError, "bucket_by_sequence_length: a batch size is ", size);
  }
}

std::int64_t bucket_of(const std::vector<std::int64_t>& boundaries, std::int64_t length, bool only_below_the_last) {
  const auto bucket = std::upper_bound(boundaries.begin(), boundaries.end(), length) - boundaries.begin();
  CAPSTAN_CHECK(!only_below_the_last || bucket < static_cast<std::ptrdiff_t>(boundaries.size()), ValueError,
                "bucket_by_sequence_length: an element of length ", length, " is beyond the last boundary",
                help("with pad_to_bucket_boundary every element is below the last boundary"));
  return bucket;
}

}  // namespace capstan::detail
