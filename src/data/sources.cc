// Sources in memory: rows of tensors, lists, ranges, random words, functions.
#include <algorithm>
#include <mutex>
#include <cstddef>
#include <limits>

#include "src/core/apply.h"
#include "src/data/stage.h"
#include "src/data/stream.h"

namespace capstan::detail {

namespace {

// --- Rows of tensors ---

using SharedTable = std::shared_ptr<const RowTable>;

class SlicesCursor : public DatasetCursor {
 public:
  SlicesCursor(PartTypes element, SharedTable tensors)
      : DatasetCursor(element), tensors_(std::move(tensors)), size_((*tensors_)[0].dim(0)) {}
  const char* name() const override { return "from_tensor_slices"; }

  bool read_next(Part* element) override {
    if (at_ == size_) return false;
    const std::int64_t row = at_++;
    read_row(*tensors_, row, element);
    return true;
  }
  const RowTable* rows() const override { return tensors_.get(); }
  std::int64_t next_rows(std::int64_t count, std::int64_t* first) override {
    *first = at_;
    count = std::min(count, size_ - at_);
    at_ += count;
    return count;
  }

  void save(PositionWriter& position) override { position.number("at", at_); }
  void restore(PositionReader& position) override { at_ = position.number("at", 0, size_); }

 private:
  SharedTable tensors_;  // a cursor may outlive the dataset
  std::int64_t size_;
  std::int64_t at_ = 0;
};

// The types of some tensors. A structure has any number of them, and tables of types live as long as the process.
PartTypes tensor_types(std::size_t count) {
  static std::mutex mutex;
  static std::map<std::size_t, std::vector<const PartType*>> tables;
  const std::lock_guard lock(mutex);
  return tables.try_emplace(count, count, &kTensorPart).first->second;
}

class SlicesNode : public DatasetNode {
 public:
  explicit SlicesNode(std::vector<Tensor> tensors)
      : DatasetNode(tensor_types(tensors.size())),
        tensors_(std::make_shared<std::vector<Tensor>>(std::move(tensors))) {}
  std::int64_t cardinality() const override { return (*tensors_)[0].dim(0); }
  DatasetCursorPtr open() const override { return std::make_unique<SlicesCursor>(types, tensors_); }

 private:
  SharedTable tensors_;
};

// --- Lists of elements ---

using PartList = std::shared_ptr<const std::vector<Part>>;

class ListCursor : public DatasetCursor {
 public:
  ListCursor(PartTypes element, PartList parts) : DatasetCursor(element), parts_(std::move(parts)) {}
  const char* name() const override { return "list"; }
  bool read_next(Part* element) override {
    if (at_ == parts_->size()) return false;
    std::copy_n(parts_->begin() + static_cast<std::ptrdiff_t>(at_), types.size(), element);
    at_ += types.size();
    return true;
  }
  void save(PositionWriter& position) override { position.number("at", static_cast<std::int64_t>(at_ / types.size())); }
  void restore(PositionReader& position) override {
    const auto size = static_cast<std::int64_t>(parts_->size() / types.size());
    at_ = static_cast<std::size_t>(position.number("at", 0, size)) * types.size();
  }

 private:
  PartList parts_;
  std::size_t at_ = 0;
};

class ListNode : public DatasetNode {
 public:
  ListNode(PartTypes element, std::vector<Part> parts)
      : DatasetNode(element), parts(std::make_shared<std::vector<Part>>(std::move(parts))) {}
  std::int64_t cardinality() const override { return static_cast<std::int64_t>(parts->size() / types.size()); }
  std::int64_t rows_of_each() const override {
    const bool is_one = parts->size() == 1 && types[0]->is_tensor && (*parts)[0].tensor.has_value();
    return is_one && (*parts)[0].tensor.rank() > 0 ? (*parts)[0].tensor.dim(0) : kUnknown;
  }
  DatasetCursorPtr open() const override { return std::make_unique<ListCursor>(types, parts); }

  PartList parts;
};

// --- Numbers ---

class RangeCursor : public DatasetCursor {
 public:
  RangeCursor(PartTypes element, std::uint64_t start, std::uint64_t step, std::uint64_t count)
      : DatasetCursor(element), start_(start), step_(step), count_(count) {}
  const char* name() const override { return "range"; }
  bool read_next(Part* element) override {
    if (at_ == count_) return false;
    // Unsigned, because a counter may pass the largest number.
    const std::uint64_t value = start_ + at_ * step_;
    ++at_;
    element[0] = {number_as_tensor(int64, &value), nullptr};
    return true;
  }
  void save(PositionWriter& position) override { position.number("at", static_cast<std::int64_t>(at_)); }
  void restore(PositionReader& position) override {
    at_ = static_cast<std::uint64_t>(position.number("at"));
    if (at_ > count_) position.refuse("at");
  }

 private:
  std::uint64_t start_, step_, count_;
  std::uint64_t at_ = 0;
};

class RangeNode : public DatasetNode {
 public:
  RangeNode(PartTypes element, std::int64_t start, std::int64_t step, std::uint64_t count)
      : DatasetNode(element),
        start_(static_cast<std::uint64_t>(start)),
        step_(static_cast<std::uint64_t>(step)),
        count_(count) {}
  // Too many to count are as many as can be counted.
  std::int64_t cardinality() const override {
    if (count_ == kEndless) return kInfinite;
    return count_ > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(count_);
  }
  DatasetCursorPtr open() const override { return std::make_unique<RangeCursor>(types, start_, step_, count_); }

  static constexpr std::uint64_t kEndless = UINT64_MAX;

 private:
  std::uint64_t start_, step_, count_;
};

class RandomCursor : public DatasetCursor {
 public:
  RandomCursor(PartTypes element, PassStreamsPtr streams)
      : DatasetCursor(element), streams_(std::move(streams)), words_(streams_->open()) {}
  const char* name() const override { return "random"; }
  bool read_next(Part* element) override {
    const std::int64_t value = words_.next();
    element[0] = {number_as_tensor(int64, &value), nullptr};
    return true;
  }
  void save(PositionWriter& position) override { streams_->save(words_, position); }
  void restore(PositionReader& position) override { words_ = streams_->restore(position); }

 private:
  PassStreamsPtr streams_;
  WordStream words_;
};

class RandomNode : public DatasetNode {
 public:
  RandomNode(PartTypes element, StreamSeeds seeds, bool rerandomize)
      : DatasetNode(element), streams_(std::make_shared<PassStreams>(seeds.seed, seeds.seed2, rerandomize)) {}
  std::int64_t cardinality() const override { return kInfinite; }
  DatasetCursorPtr open() const override { return std::make_unique<RandomCursor>(types, streams_); }

 private:
  PassStreamsPtr streams_;
};

// --- Functions ---

class GeneratorCursor : public DatasetCursor {
 public:
  GeneratorCursor(PartTypes element, PartGenerator next) : DatasetCursor(element), next_(std::move(next)) {}
  const char* name() const override { return "from_generator"; }
  bool read_next(Part* element) override {
    if (next_ == nullptr) return false;
    const std::int64_t number = at_++;
    try {
      if (next_(element)) return true;
      next_ = nullptr;
      return false;
    } catch (...) {
      next_ = nullptr;
      rethrow_at(name(), number);
    }
  }
  void save(PositionWriter&) override {
    throw ValueError("save: from_generator has a state of its own, which cannot be written");
  }
  void restore(PositionReader&) override {
    throw ValueError("restore: from_generator has a state of its own, which cannot be read");
  }

 private:
  PartGenerator next_;
  std::int64_t at_ = 0;
};

class GeneratorNode : public DatasetNode {
 public:
  GeneratorNode(PartTypes element, std::function<PartGenerator()> open)
      : DatasetNode(element), open_(std::move(open)) {}
  std::int64_t cardinality() const override { return kUnknown; }
  DatasetCursorPtr open() const override { return std::make_unique<GeneratorCursor>(types, open_()); }

 private:
  std::function<PartGenerator()> open_;
};

}  // namespace

DatasetNodePtr slices_of(std::vector<Tensor> tensors) {
  CAPSTAN_CHECK(!tensors.empty(), ValueError, "from_tensor_slices: the structure has no tensors");
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

DatasetNodePtr texts_of(const Texts& texts) {
  CAPSTAN_CHECK(texts.rank() == 1, ShapeError, "from_tensor_slices: texts of rank ", texts.rank(), " are no list");
  std::vector<Part> parts;
  for (const std::string& text : texts.values()) parts.push_back(to_part<std::string>(text));
  return list_of(part_types<std::string>(), std::move(parts));
}

DatasetNodePtr equally_long(PartTypes types, std::vector<DatasetNodePtr> sources) {
  for (const DatasetNodePtr& source : sources) {
    CAPSTAN_CHECK(source->cardinality() == sources[0]->cardinality(), ShapeError,
                  "from_tensor_slices: numbers of rows differ, ", sources[0]->cardinality(), " and ",
                  source->cardinality());
  }
  return zipped(types, std::move(sources));
}

DatasetNodePtr list_of(PartTypes types, std::vector<Part> parts) {
  return std::make_shared<ListNode>(types, std::move(parts));
}

std::vector<Tensor> save_list(const DatasetNodePtr& list) {
  const auto* node = dynamic_cast<const ListNode*>(list.get());
  CAPSTAN_CHECK(node != nullptr, ValueError,
                "save: an element is a dataset other than a window, which cannot be written");
  return encode_parts("window", node->types, *node->parts);
}

DatasetNodePtr restore_list(PartTypes types, const std::vector<Tensor>& tensors) {
  return list_of(types, decode_parts(types, tensors));
}

DatasetNodePtr range_of(PartTypes types, std::int64_t start, std::int64_t stop, std::int64_t step) {
  CAPSTAN_CHECK(step != 0, ValueError, "range: the step is 0");
  // The distance of two int64 fits into a uint64, and so does the absolute value of a step.
  const auto a = static_cast<std::uint64_t>(start), b = static_cast<std::uint64_t>(stop);
  std::uint64_t count = 0;
  if (step > 0 && stop > start) count = (b - a - 1) / static_cast<std::uint64_t>(step) + 1;
  if (step < 0 && stop < start) count = (a - b - 1) / (0 - static_cast<std::uint64_t>(step)) + 1;
  return std::make_shared<RangeNode>(types, start, step, std::min(count, RangeNode::kEndless - 1));
}

DatasetNodePtr counter_of(PartTypes types, std::int64_t start, std::int64_t step) {
  return std::make_shared<RangeNode>(types, start, step, RangeNode::kEndless);
}

DatasetNodePtr random_words(PartTypes types, Seed seed, bool rerandomize) {
  return std::make_shared<RandomNode>(types, stream_seeds(seed), rerandomize);
}

DatasetNodePtr generated(PartTypes types, std::function<PartGenerator()> open) {
  return std::make_shared<GeneratorNode>(types, std::move(open));
}

}  // namespace capstan::detail
