// Elements of the first whole pass, kept for later ones.
#include <algorithm>
#include <mutex>

#include "src/data/stage.h"

namespace capstan::detail {

namespace {

using PartList = std::shared_ptr<const std::vector<Part>>;

// What the passes over one dataset share: the list, once a pass has been whole.
struct Cache {
  std::mutex mutex;
  PartList parts;
};

class CacheCursor : public DatasetCursor {
 public:
  CacheCursor(DatasetNodePtr from, std::shared_ptr<Cache> cache)
      : DatasetCursor(from->types), from_(std::move(from)), cache_(std::move(cache)) {
    {
      const std::lock_guard lock(cache_->mutex);
      replayed_ = cache_->parts;
    }
    // A pass that is not read draws no seeds.
    if (replayed_ == nullptr) input_ = from_->open();
  }
  const char* name() const override { return "cache"; }

  bool read_next(Part* element) override {
    const std::size_t width = types.size();
    if (replayed_ != nullptr) {
      if (at_ == replayed_->size()) return false;
      std::copy_n(replayed_->begin() + static_cast<std::ptrdiff_t>(at_), width, element);
      at_ += width;
      return true;
    }
    bool found = false;
    try {
      found = input_->next(element);
    } catch (...) {
      // A pass with an error is not whole.
      failed_ = true;
      throw;
    }
    if (found) {
      if (!failed_) collected_.insert(collected_.end(), element, element + width);
      return true;
    }
    if (!failed_ && !collected_.empty()) keep(std::move(collected_));
    collected_.clear();
    failed_ = true;
    return false;
  }

  // The elements are part of the position: in another process there is no cache.
  void save(PositionWriter& position) override {
    position.number("is_replayed", replayed_ != nullptr ? 1 : 0);
    position.number("failed", failed_ ? 1 : 0);
    position.number("at", static_cast<std::int64_t>(at_ / types.size()));
    position.parts("elements", types, replayed_ != nullptr ? *replayed_ : collected_);
    if (replayed_ == nullptr) position.stage(*input_);
  }
  void restore(PositionReader& position) override {
    const bool is_replayed = position.flag("is_replayed");
    failed_ = position.flag("failed");
    std::vector<Part> parts = position.parts("elements", types);
    at_ = static_cast<std::size_t>(position.number("at", 0, static_cast<std::int64_t>(parts.size() / types.size()))) *
          types.size();
    if (is_replayed) {
      replayed_ = keep(std::move(parts));
      if (at_ > replayed_->size()) position.refuse("at");
    } else {
      replayed_ = nullptr;
      collected_ = std::move(parts);
      if (input_ == nullptr) input_ = from_->open();
      position.stage(*input_);
    }
  }

 private:
  // Keeps the elements, unless another pass has been faster.
  PartList keep(std::vector<Part> parts) {
    const std::lock_guard lock(cache_->mutex);
    if (cache_->parts == nullptr) cache_->parts = std::make_shared<std::vector<Part>>(std::move(parts));
    return cache_->parts;
  }

  DatasetNodePtr from_;
  DatasetCursorPtr input_;
  std::shared_ptr<Cache> cache_;
  PartList replayed_;
  std::size_t at_ = 0;
  std::vector<Part> collected_;
  bool failed_ = false;  // or ended: nothing more is kept
};

class CacheNode : public StageNode {
 public:
  explicit CacheNode(DatasetNodePtr from) : StageNode(std::move(from)), cache_(std::make_shared<Cache>()) {}
  DatasetCursorPtr open() const override { return std::make_unique<CacheCursor>(input, cache_); }

 private:
  std::shared_ptr<Cache> cache_;
};

}  // namespace

DatasetNodePtr cached(DatasetNodePtr input) { return std::make_shared<CacheNode>(std::move(input)); }

}  // namespace capstan::detail
