// Datasets: lazy, typed pipelines over tensors.
//
// A dataset describes a sequence of elements; every loop over it starts anew. Elements are tensors, or tuples of
// tensors that structured bindings take apart. Order is a function of the seeds alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/tensor.h"

namespace capstan {

namespace detail {

/// One pass over a dataset.
class CAPSTAN_EXPORT DatasetCursor {
 public:
  virtual ~DatasetCursor();
  /// Writes the next element's tensors; false at the end.
  virtual bool next(Tensor* element) = 0;
  /// Writes up to `count` elements joined along a new first axis; returns how many there were.
  virtual std::int64_t next_run(std::int64_t count, Tensor* elements);
  int width = 1;  ///< tensors per element
};

/// What a dataset is made of: it opens cursors. Immutable but for the seeds of reshuffling.
class CAPSTAN_EXPORT DatasetNode {
 public:
  virtual ~DatasetNode();
  virtual std::unique_ptr<DatasetCursor> open() const = 0;
  /// The number of elements.
  virtual std::int64_t size() const = 0;
  int width = 1;
};
using DatasetNodePtr = std::shared_ptr<const DatasetNode>;

[[noreturn]] CAPSTAN_EXPORT void throw_past_end();

CAPSTAN_EXPORT DatasetNodePtr slices_of(std::vector<Tensor> tensors);
CAPSTAN_EXPORT DatasetNodePtr shuffled(DatasetNodePtr input, std::int64_t buffer_size,
                                       std::optional<std::uint64_t> seed, bool reshuffle);
CAPSTAN_EXPORT DatasetNodePtr batched(DatasetNodePtr input, std::int64_t batch_size, bool drop_remainder);
CAPSTAN_EXPORT DatasetNodePtr repeated(DatasetNodePtr input, std::int64_t count);
CAPSTAN_EXPORT DatasetNodePtr part_of(DatasetNodePtr input, std::int64_t skip, std::int64_t take);

}  // namespace detail

/// Options of Dataset::shuffle.
struct ShuffleOptions {
  /// Without a seed the order comes from the process's stream; see set_seed.
  std::optional<std::uint64_t> seed = {};
  /// Another order in every pass; otherwise always the same.
  bool reshuffle_each_iteration = true;
};

/// Options of Dataset::batch.
struct BatchOptions {
  /// Leaves out a last batch that is not full.
  bool drop_remainder = false;
};

/// A sequence of elements of tensors, one Tensor per type in Ts.
///
///     auto train = from_tensor_slices(images, labels).shuffle(1024, {.seed = 1}).batch(32);
///     for (const auto& [x, y] : train) { ... }
template <class... Ts>
class Dataset {
  static_assert(sizeof...(Ts) > 0 && (std::is_same_v<Ts, Tensor> && ...));

 public:
  /// A tensor, or a tuple of several.
  using Element = std::conditional_t<sizeof...(Ts) == 1, std::tuple_element_t<0, std::tuple<Ts...>>, std::tuple<Ts...>>;

  explicit Dataset(detail::DatasetNodePtr node) : node_(std::move(node)) {}

  /// A buffer of `buffer_size` elements is kept full, and each output is drawn from it: a buffer as large as the
  /// dataset gives a uniform permutation, a smaller one a local disorder. Put it before batch() to shuffle examples,
  /// not batches. Errors: ValueError for buffer_size < 1.
  Dataset shuffle(std::int64_t buffer_size, ShuffleOptions options = {}) const {
    return Dataset(detail::shuffled(node_, buffer_size, options.seed, options.reshuffle_each_iteration));
  }
  /// Joins consecutive elements along a new first axis; the last batch may be short. Errors: ValueError for
  /// batch_size < 1; ShapeError, in the loop, for elements of different shapes.
  Dataset batch(std::int64_t batch_size, BatchOptions options = {}) const {
    return Dataset(detail::batched(node_, batch_size, options.drop_remainder));
  }
  /// All elements `count` times; every pass shuffles anew. Errors: ValueError for count < 0.
  Dataset repeat(std::int64_t count) const { return Dataset(detail::repeated(node_, count)); }
  /// The first `count` elements; all if count < 0.
  Dataset take(std::int64_t count) const { return Dataset(detail::part_of(node_, 0, count)); }
  /// All but the first `count` elements; none if count < 0.
  Dataset skip(std::int64_t count) const { return Dataset(detail::part_of(node_, count, -1)); }
  /// No-op: accepted for compatibility with tf.data.
  Dataset prefetch(std::int64_t) const { return *this; }
  Dataset prefetch() const { return *this; }

  /// The number of elements.
  std::int64_t size() const { return node_->size(); }

  /// One pass over the elements. Errors: IndexError for reading or moving one that has reached the end.
  class Iterator {
   public:
    using value_type = Element;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    explicit Iterator(std::unique_ptr<detail::DatasetCursor> cursor) : cursor_(std::move(cursor)) { ++*this; }
    const Element& operator*() const {
      if (cursor_ == nullptr) [[unlikely]]
        detail::throw_past_end();
      return element_;
    }
    Iterator& operator++() {
      if (cursor_ == nullptr) [[unlikely]]
        detail::throw_past_end();
      std::array<Tensor, sizeof...(Ts)> tensors;
      if (!cursor_->next(tensors.data())) {
        cursor_ = nullptr;
        return *this;
      }
      if constexpr (sizeof...(Ts) == 1) {
        element_ = std::move(tensors[0]);
      } else {
        element_ = std::tuple_cat(std::move(tensors));
      }
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& a, std::default_sentinel_t) { return a.cursor_ == nullptr; }

   private:
    std::unique_ptr<detail::DatasetCursor> cursor_;
    Element element_;
  };
  Iterator begin() const { return Iterator(node_->open()); }
  std::default_sentinel_t end() const { return {}; }

  const detail::DatasetNodePtr& node() const { return node_; }

 private:
  detail::DatasetNodePtr node_;
};

/// The rows of one or several tensors: element i holds x[i] of each. Errors: ShapeError for a scalar, or tensors with
/// different numbers of rows; ValueError for an empty tensor; TraceError inside of a traced function.
template <class... Tensors>
requires(sizeof...(Tensors) > 0 &&
         (std::is_convertible_v<const Tensors&, Tensor> && ...)) auto from_tensor_slices(const Tensors&... tensors) {
  std::vector<Tensor> list{Tensor(tensors)...};
  return Dataset<std::conditional_t<true, Tensor, Tensors>...>(detail::slices_of(std::move(list)));
}

}  // namespace capstan
