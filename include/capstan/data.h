// Datasets: lazy, typed pipelines.
//
// A dataset describes a sequence of elements; every loop over it starts anew. An element is anything that can be
// copied, or a tuple of several such parts, which structured bindings take apart. Order is a function of the seeds
// alone, and TensorFlow's for the same seeds.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/dataset_conversions.h"
#include "capstan/dataset_nodes.h"
#include "capstan/dataset_options.h"
#include "capstan/dataset_parts.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

/// A sequence of elements with one part of each type in Ts: tensors, numbers, texts, structures of tensors (as
/// std::map<std::string, Tensor>), or any type that can be copied. Copies share; a dataset does not change.
///
///     auto train = from_tensor_slices(images, labels).shuffle(1024, {.seed = 1}).batch(32);
///     for (const auto& [x, y] : train) { ... }
///
/// Functions of users get the parts of an element as arguments; what they give is the new element, with the parts of a
/// pair or a tuple. They should give the same for the same arguments. A Capstan error that one throws reaches the loop
/// with a line that names the transformation and the element; another std::exception becomes an Error that says so,
/// with that one nested in it. The loop may go on after that element.
template <class... Ts>
class Dataset {
  static_assert(sizeof...(Ts) > 0, "an element has at least one part");
  static_assert((std::is_same_v<Ts, std::remove_cvref_t<Ts>> && ...), "parts are values");
  static_assert((std::is_copy_constructible_v<Ts> && ...), "parts can be copied");

 public:
  /// One part, or a tuple of several.
  using Element = std::conditional_t<sizeof...(Ts) == 1, std::tuple_element_t<0, std::tuple<Ts...>>, std::tuple<Ts...>>;

  explicit Dataset(detail::DatasetNodePtr node) : node_(std::move(node)) {}

  // --- Order and choice ---

  /// A buffer of `buffer_size` elements is kept full, and each output is drawn from it: a buffer as large as the
  /// dataset gives a uniform permutation, a smaller one a local disorder. Put it before batch() to shuffle examples,
  /// not batches. kUnknown stands for a buffer that holds all. Errors: ValueError for any other buffer_size < 1.
  Dataset shuffle(std::int64_t buffer_size, const ShuffleOptions& options = {}) const {
    return Dataset(detail::shuffled(node_, buffer_size, options.seed, options.reshuffle_each_iteration));
  }
  /// All elements `count` times, or for ever if count < 0; every pass shuffles anew.
  Dataset repeat(std::int64_t count = kInfinite) const { return Dataset(detail::repeated(node_, count)); }
  /// The first `count` elements; all if count < 0.
  Dataset take(std::int64_t count) const { return Dataset(detail::taken(node_, count)); }
  /// All but the first `count` elements; none if count < 0.
  Dataset skip(std::int64_t count) const { return Dataset(detail::skipped(node_, count)); }
  /// Every num_shards-th element from `index` on. Errors: ValueError unless 0 <= index < num_shards.
  Dataset shard(std::int64_t num_shards, std::int64_t index) const {
    return Dataset(detail::sharded(node_, num_shards, index));
  }
  /// The elements for which `keep` gives true.
  ///
  ///     auto even = datasets::range(10).filter([](std::int64_t x) { return x % 2 == 0; });
  template <class F>
  Dataset filter(F keep) const {
    return Dataset(detail::filtered(node_, detail::predicate<Ts...>("filter", std::move(keep))));
  }
  /// The elements before the first for which `keep` gives false.
  template <class F>
  Dataset take_while(F keep) const {
    return Dataset(detail::taken_while(node_, detail::predicate<Ts...>("take_while", std::move(keep))));
  }
  /// The first of equal elements: texts, or tensors and numbers of an integer dtype. Errors: DTypeError, in the loop,
  /// for tensors of other dtypes.
  Dataset unique() const {
    static_assert(sizeof...(Ts) == 1 && ((detail::TensorPart<Ts> || std::is_same_v<Ts, std::string>)&&...),
                  "unique takes texts and integers");
    static_assert((!std::is_floating_point_v<Ts> && ...), "unique takes texts and integers");
    return Dataset(detail::unique_of(node_));
  }
  /// Leaves out elements that fail.
  Dataset ignore_errors() const { return Dataset(detail::without_errors(node_)); }
  /// Says how many elements there are. Errors: ValueError, in the loop, if there are fewer, or when there is one more;
  /// ValueError for a negative number other than kInfinite and kUnknown.
  Dataset assert_cardinality(std::int64_t cardinality) const {
    return Dataset(detail::with_cardinality(node_, cardinality));
  }
  /// These elements, then those of the other one.
  Dataset concatenate(const Dataset& other) const { return Dataset(detail::concatenated(node_, other.node())); }
  /// Puts the number of each element before its parts, as int64.
  ///
  ///     for (const auto& [i, x, y] : from_tensor_slices(images, labels).enumerate()) { ... }
  Dataset<std::int64_t, Ts...> enumerate(std::int64_t start = 0) const {
    using Result = Dataset<std::int64_t, Ts...>;
    return Result(
        detail::zipped(Result::types(), {detail::counter_of(detail::part_types<std::int64_t>(), start, 1), node_}));
  }
  /// Puts the class of each element before its parts, and rejects elements so that classes occur as often as
  /// `target_dist` says. `class_of` gives the class of an element, from 0 on. The draws are no others than those of the
  /// seed, but not TensorFlow's. Errors: ValueError for distributions with negative numbers, other lengths than each
  /// other or the sum 0; IndexError, in the loop, for a class out of range.
  template <class F>
  Dataset<std::int64_t, Ts...> rejection_resample(F class_of, std::vector<double> target_dist,
                                                  const ResampleOptions& options = {}) const {
    using Result = Dataset<std::int64_t, Ts...>;
    return Result(detail::resampled(Result::types(), node_, detail::number_function<Ts...>(std::move(class_of)),
                                    std::move(target_dist), options.initial_dist, options.seed));
  }

  // --- Batches ---

  /// Joins consecutive elements along a new first axis; the last batch may be short. Tensors and numbers become
  /// tensors, texts Texts, structures of tensors the same structure. An element that fails takes its batch with it.
  /// With parallel calls threads join the batches, which pays where elements are large. Errors: ValueError for
  /// batch_size < 1 or num_parallel_calls < -1; ShapeError, in the loop, for elements of different shapes.
  auto batch(std::int64_t batch_size, const BatchOptions& options = {}) const {
    using Result = typename detail::BatchDataset<Ts...>::type;
    return Result(detail::batched(Result::types(), node_, batch_size, options.drop_remainder,
                                  options.num_parallel_calls, options.deterministic));
  }
  /// The same for tensors of different lengths, which are filled up to the longest of the batch or to a given shape.
  /// Other parts than tensors are joined as by batch(). Errors: ValueError for batch_size < 1, or shapes or values that
  /// are not as many as the parts; in the loop, ShapeError for a tensor that is larger than its shape or has another
  /// rank, DTypeError for a value of another dtype.
  auto padded_batch(std::int64_t batch_size, const PaddedBatchOptions& options = {}) const {
    using Result = typename detail::BatchDataset<Ts...>::type;
    return Result(detail::padded(Result::types(), node_, batch_size, options.padded_shapes, options.padding_values,
                                 options.drop_remainder, -1, options.num_parallel_calls, options.deterministic));
  }
  /// The rows of each batch, one by one. Errors, in the loop: ShapeError for a scalar, or parts with different numbers
  /// of rows.
  auto unbatch() const {
    using Result = typename detail::ItemDataset<Ts...>::type;
    return Result(detail::unbatched(Result::types(), node_));
  }
  /// Batches of another size, or of the given sizes in turn, from the rows of these batches. Errors: ValueError for no
  /// sizes or one below 1.
  Dataset rebatch(std::vector<std::int64_t> sizes, const RebatchOptions& options = {}) const {
    return Dataset(detail::rebatched(types(), unbatch().node(), std::move(sizes), options.drop_remainder));
  }
  Dataset rebatch(std::int64_t size, const RebatchOptions& options = {}) const {
    return rebatch(std::vector<std::int64_t>{size}, options);
  }
  /// Windows of consecutive elements, each a dataset: window i has the elements i * shift, i * shift + stride, and so
  /// on, `size` of them. Errors: ValueError for size, shift or stride < 1.
  ///
  ///     auto pairs = datasets::range(7).window(2, {.shift = 1, .drop_remainder = true}).flat_map([](const auto&
  ///     window) {
  ///       return window.batch(2);
  ///     });
  Dataset<Dataset> window(std::int64_t size, const WindowOptions& options = {}) const {
    return Dataset<Dataset>(detail::windowed(
        Dataset<Dataset>::types(), node_, size, options.shift.value_or(size), options.stride, options.drop_remainder,
        [](detail::DatasetNodePtr window) { return detail::to_part<Dataset>(Dataset(std::move(window))); }));
  }
  /// Collects elements with the same `key`, an integer. As soon as there are `window_size` of them, or as many as a
  /// function says for the key, `reduce(key, window)` makes a dataset of them, whose elements follow; windows that are
  /// not full follow at the end, smaller keys first. Errors: ValueError for a window_size < 1.
  ///
  ///     auto by_parity = datasets::range(10).group_by_window([](std::int64_t x) { return x % 2; },
  ///                                                          [](std::int64_t, const auto& group) { return
  ///                                                          group.batch(5); }, 5);
  template <class Key, class Reduce>
  auto group_by_window(Key key, Reduce reduce, std::int64_t window_size) const {
    return group_by_window(std::move(key), std::move(reduce), [window_size](std::int64_t) { return window_size; });
  }
  template <class Key, class Reduce, std::invocable<std::int64_t> Size>
  auto group_by_window(Key key, Reduce reduce, Size window_size) const {
    using Result = std::remove_cvref_t<std::invoke_result_t<Reduce&, std::int64_t, const Dataset&>>;
    static_assert(detail::IsDataset<Result>::value, "group_by_window: `reduce` gives a dataset");
    return Result(detail::grouped(
        Result::types(), node_, detail::number_function<Ts...>(std::move(key)),
        [reduce = std::move(reduce)](std::int64_t k, detail::DatasetNodePtr window) mutable -> detail::DatasetNodePtr {
          return Result(reduce(k, Dataset(std::move(window)))).node();
        },
        [window_size = std::move(window_size)](std::int64_t k) mutable { return detail::as_integer(window_size(k)); }));
  }
  /// Batches of elements of about the same length. Bucket i has the elements with a length below boundaries[i] and not
  /// below the boundary before; one more has the longest. Each bucket has a batch size of its own. Errors: ValueError
  /// for boundaries that do not rise or batch_sizes that are not one more.
  ///
  ///     auto batches = sentences.bucket_by_sequence_length([](const Tensor& x) { return x.dim(0); }, {10, 20}, {64,
  ///     32, 16});
  template <class F>
  auto bucket_by_sequence_length(F length, std::vector<std::int64_t> boundaries, std::vector<std::int64_t> batch_sizes,
                                 const BucketOptions& options = {}) const {
    detail::check_buckets(boundaries, batch_sizes);
    const auto bucket_of = [length = std::move(length), boundaries, options](const Ts&... parts) mutable {
      return detail::bucket_of(boundaries, detail::as_integer(length(parts...)), options.pad_to_bucket_boundary);
    };
    const auto size_of = [batch_sizes](std::int64_t bucket) { return batch_sizes[static_cast<std::size_t>(bucket)]; };
    return group_by_window(
        bucket_of,
        [boundaries, size_of, options](std::int64_t bucket, const Dataset& group) {
          if (options.no_padding) return group.batch(size_of(bucket), {.drop_remainder = options.drop_remainder});
          using Result = typename detail::BatchDataset<Ts...>::type;
          const std::int64_t padded_to =
              options.pad_to_bucket_boundary ? boundaries[static_cast<std::size_t>(bucket)] - 1 : -1;
          return Result(detail::padded(Result::types(), group.node(), size_of(bucket), options.padded_shapes,
                                       options.padding_values, options.drop_remainder, padded_to));
        },
        size_of);
  }

  // --- Functions of elements ---

  /// What `f` gives for each element, in order.
  ///
  ///     auto pixels = train.map([](const Tensor& x, const Tensor& y) { return std::pair(x / 255, y); },
  ///                             {.num_parallel_calls = 4});
  ///
  /// With parallel calls `f` runs on other threads, several at a time, and must not change what they share; at most
  /// twice as many elements as calls are made ahead. Errors: ValueError for num_parallel_calls < -1.
  template <class F>
  auto map(F f, const MapOptions& options = {}) const {
    using Value = std::invoke_result_t<F&, const Ts&...>;
    static_assert(!std::is_void_v<Value>, "map: the function gives the new element");
    using Result = detail::DatasetOf<Value>;
    return Result(detail::mapped(
        "map", Result::types(), node_,
        [f = std::move(f)](const detail::Part* parts, detail::Part* results) mutable {
          detail::write_parts(detail::call_with_parts<Ts...>(f, parts), results);
        },
        options.num_parallel_calls, options.deterministic));
  }
  /// map() of a function of tensors for `count` elements of the same shapes at once: vectorized_map, whose header has
  /// to be included, runs its ops on all of them, which pays for small elements. An element that fails takes those with
  /// it that are called together. Numbers are tensors for `f`, which gives a tensor or a structure of tensors.
  ///
  ///     auto pixels = images.map_vectorized(256, [](const Tensor& image) { return image / 255.0; });
  ///
  /// Errors: those of batch() and of vectorized_map.
  template <class F>
  auto map_vectorized(std::int64_t count, F f, const MapOptions& options = {}) const {
    const auto call = [f = std::move(f)](const auto&... batches) {
      return vectorized_map([&f](const auto& rows) { return std::apply(f, rows); }, std::tuple(batches...));
    };
    const auto batches = batch(count).map(call, options);
    using Result = decltype(batches.unbatch());
    return Result(detail::unbatched(Result::types(), batches.node(), cardinality()));
  }
  /// A running state: `f(state, parts...)` gives a pair or tuple of the next state and what belongs to the new element.
  /// Errors: DTypeError, in the loop, for a tensor of another dtype as the next state.
  ///
  ///     auto sums = datasets::range(5).scan(std::int64_t{0}, [](std::int64_t sum, std::int64_t x) {
  ///       return std::pair(sum + x, sum + x);
  ///     });
  template <class S, class F>
  auto scan(S initial, F f) const {
    using State = detail::PartValue<S>;
    using Value = std::remove_cvref_t<std::invoke_result_t<F&, const State&, const Ts&...>>;
    using Result = typename detail::ScanResult<Value>::type;
    return Result(detail::scanned(
        Result::types(), node_, detail::part_types<State>(), detail::to_part<State>(State(std::move(initial))),
        [f = std::move(f)](detail::Part* state, const detail::Part* parts, detail::Part* results) mutable {
          auto bound = [&](const Ts&... values) { return f(detail::from_part<State>(*state), values...); };
          Value value = detail::call_with_parts<Ts...>(bound, parts);
          State next = State(std::get<0>(value));
          detail::check_same_state<State>("scan", detail::from_part<State>(*state), next);
          detail::write_parts<1>(std::move(value), results);
          *state = detail::to_part<State>(std::move(next));
        }));
  }
  /// Reads all elements now: `f(state, parts...)` gives the next state; the last one is the result. Errors: ValueError
  /// for an infinite dataset; DTypeError for a tensor of another dtype as the next state.
  ///
  ///     std::int64_t sum = datasets::range(5).reduce(std::int64_t{0}, [](auto sum, auto x) { return sum + x; });
  template <class S, class F>
  S reduce(S initial, F f) const {
    detail::check_finite("reduce", cardinality());
    const detail::DatasetCursorPtr cursor = node_->open();
    std::array<detail::Part, sizeof...(Ts)> parts;
    while (cursor->next(parts.data())) {
      auto bound = [&](const Ts&... values) { return f(std::as_const(initial), values...); };
      S next = detail::call_with_parts<Ts...>(bound, parts.data());
      detail::check_same_state<S>("reduce", initial, next);
      initial = std::move(next);
    }
    return initial;
  }
  /// The elements of the datasets that `f` gives for each element, one dataset after the other.
  template <class F>
  auto flat_map(F f) const {
    return inner_elements("flat_map", std::move(f), {.cycle_length = 1, .block_length = 1});
  }
  /// The elements of the datasets that `f` gives, of `cycle_length` of them in turn, `block_length` from each at a
  /// time; one that ends makes room for the next. Errors: ValueError for lengths < 1 or num_parallel_calls beyond
  /// cycle_length.
  ///
  ///     auto lines = files.interleave([](const std::string& file) { return lines_of(file); }, {.cycle_length = 4});
  template <class F>
  auto interleave(F f, const InterleaveOptions& options = {}) const {
    return inner_elements("interleave", std::move(f), options);
  }

  /// What `f` gives for this dataset.
  template <class F>
  auto apply(F f) const {
    return f(*this);
  }
  /// Keeps the elements of the first whole pass in memory; later passes read these. A pass that stops early keeps
  /// nothing.
  Dataset cache() const { return Dataset(detail::cached(node_)); }
  /// The same in a file, which any pipeline that names it reads from then on, also in later runs, whatever its input.
  /// The first whole pass writes it and puts it into its place at the end; one that stops early or has an error leaves
  /// none. A position that is saved on the way keeps what is written so far, in a file beside it, for iterators that go
  /// on from there.
  ///
  ///     auto words = datasets::range(3).map([](std::int64_t i) { return std::to_string(i); }).cache("words.elements");
  ///
  /// Errors: ValueError for elements that cannot be written (see DatasetTraits); IoError, when a pass begins and in the
  /// loop, for a file that is damaged, has other elements or cannot be written. Part of capstan_io, as the next three.
  Dataset cache(const std::string& path) const {
    return Dataset(detail::cached_in_file(node_, {detail::kind_of_part<Ts>()...}, path));
  }
  /// The same in a folder, which is made if it is not there, under a key.
  ///
  ///     auto train = datasets::range(3).snapshot("snapshots", {.key = "train-1"});
  ///
  /// Errors: as cache(path); ValueError for a key with other characters, or shards beyond their range.
  Dataset snapshot(const std::string& folder, const SnapshotOptions& options = {}) const {
    return Dataset(detail::kept_in_folder(node_, {detail::kind_of_part<Ts>()...}, folder, options.key, options.shards));
  }
  /// Writes all elements to a file, whose old content is replaced at the end. Errors: ValueError for an infinite
  /// dataset and for elements that cannot be written; IoError if the file cannot be written.
  ///
  ///     datasets::range(3).save("numbers.elements");
  ///     auto numbers = Dataset<std::int64_t>::load("numbers.elements");
  void save(const std::string& path) const { detail::save_elements(node_, {detail::kind_of_part<Ts>()...}, path); }
  /// The elements of a file that save() or cache() wrote, or that is a snapshot. Errors: IoError for a file that is
  /// missing, damaged, or has elements of other types; in the loop, IoError for one that is damaged further on.
  static Dataset load(const std::string& path) {
    return Dataset(detail::saved_elements(types(), {detail::kind_of_part<Ts>()...}, path));
  }
  /// Makes up to `buffer_size` elements ahead of the loop, on a thread of its own that ends with the loop; 0 is none.
  /// kAutotune starts a thread if elements and loop take long enough, and makes two ahead, more if they come in bursts.
  /// Put it last. Errors: ValueError for buffer_size < -1.
  Dataset prefetch(std::int64_t buffer_size = kAutotune) const {
    return Dataset(detail::prefetched(node_, buffer_size));
  }
  /// Options of all stages so far; a later call counts more than an earlier one. Errors: ValueError for a negative
  /// number.
  Dataset with_options(const DatasetOptions& options) const {
    return Dataset(detail::with_settings(node_, options.autotune_bytes, options.deterministic));
  }

  // --- Elements ---

  /// The number of elements, kInfinite, or kUnknown.
  std::int64_t cardinality() const { return node_->cardinality(); }
  /// The number of elements. Errors: ValueError for a dataset whose cardinality is infinite or unknown.
  std::int64_t size() const { return detail::known_size(cardinality()); }
  /// The only element. Errors: ValueError if there is none or are several.
  Element get_single_element() const {
    Iterator iterator = begin();
    std::optional<Element> element = iterator.next();
    if (!element) detail::throw_not_single(false);
    if (iterator.next()) detail::throw_not_single(true);
    return *std::move(element);
  }

  /// One pass over the elements. It reads an element when that is asked for; after an error it goes on after the
  /// element that failed. Its position can be saved and restored, also in an equal dataset that was made anew:
  ///
  ///     auto iterator = train.begin();
  ///     iterator.next();
  ///     DatasetPosition position = iterator.save();
  ///     auto another = train.begin();
  ///     another.restore(position);  // goes on with the second element
  ///
  /// Errors: IndexError for reading or moving one that has reached the end.
  class Iterator {
   public:
    using value_type = Element;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    explicit Iterator(detail::DatasetNodePtr node) : node_(std::move(node)), cursor_(node_->open()) {}

    /// The element at the iterator's place, which moves on; nothing at the end.
    std::optional<Element> next() {
      if (!read()) return std::nullopt;
      std::optional<Element> element(std::move(element_));
      element_.reset();
      return element;
    }
    const Element& operator*() const {
      if (!read()) [[unlikely]]
        detail::throw_past_end();
      return *element_;
    }
    Iterator& operator++() {
      if (!read()) [[unlikely]]
        detail::throw_past_end();
      element_.reset();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& a, std::default_sentinel_t) { return !a.read(); }

    /// The position after the last element that was read, as tensors by name. Errors: ValueError for a transformation
    /// or a type whose state cannot be written, which it names.
    DatasetPosition save() const { return cursor_ == nullptr ? detail::save_end() : detail::save_position(*cursor_); }
    /// Goes on from a position. Errors: ValueError for one of another pipeline; then the iterator stays where it was.
    void restore(const DatasetPosition& position) {
      if (node_ == nullptr) detail::throw_past_end();
      detail::DatasetCursorPtr cursor = node_->open();
      if (!detail::restore_position(*cursor, position)) cursor = nullptr;
      cursor_ = std::move(cursor);
      element_.reset();
    }

   private:
    // Reads the element at the iterator's place, unless it has. Comparing needs that, so it is const.
    bool read() const {
      if (element_) return true;
      if (cursor_ == nullptr) return false;
      std::array<detail::Part, sizeof...(Ts)> parts;
      if (!cursor_->next(parts.data())) {
        cursor_ = nullptr;
        return false;
      }
      [&]<std::size_t... I>(std::index_sequence<I...>) { element_.emplace(detail::take_part<Ts>(parts[I])...); }
      (std::index_sequence_for<Ts...>());
      return true;
    }

    detail::DatasetNodePtr node_;
    mutable detail::DatasetCursorPtr cursor_;
    mutable std::optional<Element> element_;
  };
  Iterator begin() const { return Iterator(node_); }
  std::default_sentinel_t end() const { return {}; }

  const detail::DatasetNodePtr& node() const { return node_; }
  static detail::PartTypes types() { return detail::part_types<Ts...>(); }

 private:
  template <class F>
  auto inner_elements(const char* name, F f, const InterleaveOptions& options) const {
    using Result = std::remove_cvref_t<std::invoke_result_t<F&, const Ts&...>>;
    static_assert(detail::IsDataset<Result>::value, "flat_map and interleave: the function gives a dataset");
    return Result(detail::interleaved(
        name, Result::types(), node_,
        [f = std::move(f)](const detail::Part* parts) mutable -> detail::DatasetNodePtr {
          return Result(detail::call_with_parts<Ts...>(f, parts)).node();
        },
        options.cycle_length, options.block_length, options.num_parallel_calls, options.deterministic));
  }

  detail::DatasetNodePtr node_;
};

/// The rows of one or several tensors or lists of texts: element i holds x[i] of each. Errors: ShapeError for a scalar,
/// or different numbers of rows; ValueError for an empty tensor; TraceError inside of a traced function.
///
///     auto train = from_tensor_slices(images, labels);
template <class... Sources>
requires(sizeof...(Sources) > 0 &&
         (detail::Sliceable<Sources> && ...)) auto from_tensor_slices(const Sources&... sources) {
  using Result = Dataset<detail::SliceOf<Sources>...>;
  if constexpr ((std::is_convertible_v<const Sources&, Tensor> && ...)) {
    std::vector<Tensor> list{Tensor(sources)...};
    return Result(detail::slices_of(std::move(list)));
  } else {
    return Result(detail::equally_long(Result::types(), {detail::slices_of_one(sources)...}));
  }
}
/// The same for a structure of tensors: element i is the structure of their rows.
///
///     auto rows = from_tensor_slices(std::map<std::string, Tensor>{{"image", images}, {"label", labels}});
template <detail::StructurePart T>
Dataset<T> from_tensor_slices(const T& structure) {
  const detail::DatasetNodePtr rows = detail::slices_of(detail::tensors_of_structure(structure));
  return Dataset<T>(detail::mapped(
      "from_tensor_slices", Dataset<T>::types(), rows, [structure](const detail::Part* parts, detail::Part* result) {
        std::size_t i = 0;
        *result = detail::to_part<T>(detail::rebuild(structure, [&] { return parts[i++].tensor; }));
      }));
}

/// One element with these parts.
///
///     from_tensors(images, labels).get_single_element();
template <class... Ts>
requires(sizeof...(Ts) > 0) Dataset<detail::PartValue<Ts>...> from_tensors(Ts... parts) {
  using Result = Dataset<detail::PartValue<Ts>...>;
  return Result(detail::list_of(Result::types(),
                                {detail::to_part<detail::PartValue<Ts>>(detail::as_part_value(std::move(parts)))...}));
}

/// The values of a range of C++, which are copied; pairs and tuples have several parts.
///
///     std::vector<std::string> names = {"a.png", "b.png"};
///     for (const std::string& name : from_range(names)) { ... }
template <class R>
requires requires(const R& range) {
  *range.begin();
  range.end();
}
auto from_range(const R& range) {
  using Value = std::remove_cvref_t<decltype(*range.begin())>;
  using Result = detail::DatasetOf<Value>;
  const std::size_t width = Result::types().size();
  std::vector<detail::Part> parts;
  for (const auto& value : range) {
    parts.resize(parts.size() + width);
    detail::write_parts(Value(value), parts.data() + (parts.size() - width));
  }
  return Result(detail::list_of(Result::types(), std::move(parts)));
}

/// The elements that a function gives, one at each call, until it gives nothing. `open` makes such a function for every
/// pass. One that throws has ended. Its position cannot be saved.
///
///     auto countdown = from_generator([] {
///       return [i = 3]() mutable -> std::optional<int> { return i > 0 ? std::optional(i--) : std::nullopt; };
///     });
template <std::invocable F>
auto from_generator(F open) {
  using Next = std::invoke_result_t<F&>;
  using Value = typename std::invoke_result_t<Next&>::value_type;
  using Result = detail::DatasetOf<Value>;
  return Result(detail::generated(Result::types(), [open = std::move(open)]() mutable -> detail::PartGenerator {
    return [next = open()](detail::Part* parts) mutable {
      std::optional<Value> value = next();
      if (!value) return false;
      detail::write_parts(*std::move(value), parts);
      return true;
    };
  }));
}

/// Elements with the parts of one element of each dataset; ends with the shortest.
///
///     for (const auto& [x, y] : zip(datasets::range(3), datasets::range(3, 6))) { ... }
template <class... Datasets>
requires(sizeof...(Datasets) > 0 && (detail::IsDataset<Datasets>::value && ...)) auto zip(const Datasets&... datasets) {
  using Result = typename detail::ZippedDatasets<Datasets...>::type;
  return Result(detail::zipped(Result::types(), {datasets.node()...}));
}

/// The next element of the dataset that `choices` names, number by number. Errors: IndexError for a number that names
/// no dataset; ValueError if 2^24 choices in a row, of a number that is infinite or unknown, name datasets that have
/// ended while another one has not.
///
///     auto turns = choose_from_datasets(std::vector{datasets::range(3), datasets::range(10, 13)},
///                                       datasets::range(2).repeat());
template <class... Ts, class Choice>
Dataset<Ts...> choose_from_datasets(const std::vector<Dataset<Ts...>>& datasets, const Dataset<Choice>& choices,
                                    const ChooseOptions& options = {}) {
  static_assert(detail::TensorPart<Choice>, "a choice is a number");
  return Dataset<Ts...>(detail::chosen(detail::nodes_of(datasets), choices.node(), options.stop_on_empty_dataset));
}

/// The next element of a dataset that is drawn each time, as TensorFlow does for the same seed. Errors: ValueError for
/// weights that are not as many as the datasets, negative, or all 0.
///
///     auto mixed = sample_from_datasets(std::vector{datasets::range(10), datasets::range(100)},
///                                       {.weights = {0.8, 0.2}, .seed = 1});
template <class... Ts>
Dataset<Ts...> sample_from_datasets(const std::vector<Dataset<Ts...>>& datasets, const SampleOptions& options = {}) {
  return Dataset<Ts...>(detail::sampled(detail::nodes_of(datasets), options.weights, options.seed,
                                        options.stop_on_empty_dataset, options.rerandomize_each_iteration));
}

namespace datasets {

/// 0, 1, ... stop - 1.
inline Dataset<std::int64_t> range(std::int64_t stop) {
  return Dataset<std::int64_t>(detail::range_of(Dataset<std::int64_t>::types(), 0, stop, 1));
}
/// start, start + step, ... before stop. Errors: ValueError for a step of 0.
inline Dataset<std::int64_t> range(std::int64_t start, std::int64_t stop, std::int64_t step = 1) {
  return Dataset<std::int64_t>(detail::range_of(Dataset<std::int64_t>::types(), start, stop, step));
}
/// start, start + step, ... without end; beyond the largest int64 it goes on with the smallest.
inline Dataset<std::int64_t> counter(std::int64_t start = 0, std::int64_t step = 1) {
  return Dataset<std::int64_t>(detail::counter_of(Dataset<std::int64_t>::types(), start, step));
}
/// The words of a stream of random numbers from 0 to 2^32 - 1, without end: those of TensorFlow for the same seed.
inline Dataset<std::int64_t> random(const RandomOptions& options = {}) {
  return Dataset<std::int64_t>(
      detail::random_words(Dataset<std::int64_t>::types(), options.seed, options.rerandomize_each_iteration));
}

}  // namespace datasets

}  // namespace capstan
