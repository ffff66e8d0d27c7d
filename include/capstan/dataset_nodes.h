// What datasets are made of, without the types of their elements: nodes describe, cursors walk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capstan/dataset_parts.h"
#include "capstan/seed.h"

namespace capstan {

/// The cardinality of a dataset that never ends.
inline constexpr std::int64_t kInfinite = -1;
/// The cardinality of a dataset of which only a pass tells how many elements it has.
inline constexpr std::int64_t kUnknown = -2;
/// The library chooses a number, and measures while a pass runs: how many threads, and how many elements are made
/// ahead.
inline constexpr std::int64_t kAutotune = -1;

/// The position of an iterator, as tensors by name.
using DatasetPosition = std::map<std::string, Tensor>;

namespace detail {

class PositionWriter;
class PositionReader;
using RowTable = std::vector<Tensor>;

/// One pass over a dataset. After an error the next call goes on after the element that failed; after the end every
/// call says that it has ended. One thread at a time.
class CAPSTAN_EXPORT DatasetCursor {
 public:
  explicit DatasetCursor(PartTypes element) : types(element) {}
  virtual ~DatasetCursor();
  DatasetCursor(const DatasetCursor&) = delete;
  DatasetCursor& operator=(const DatasetCursor&) = delete;

  /// The transformation, for messages and positions.
  virtual const char* name() const = 0;
  /// Writes the parts of the next element; false at the end. A span of a profile, if there is one.
  bool next(Part* element);
  /// Tensors of which all elements are rows, or null. If there are some, next_rows() may stand in for next().
  /// They live as long as the dataset.
  virtual const RowTable* rows() const { return nullptr; }
  /// The next elements as rows that follow each other: the number of the first, and how many there are, at least one
  /// and at most `count`; 0 at the end.
  virtual std::int64_t next_rows(std::int64_t /*count*/, std::int64_t* /*first*/) { return 0; }
  /// Up to `count` elements joined to a batch; returns how many there were. An error takes them all.
  std::int64_t next_batch(std::int64_t count, Part* batch);
  /// What next() does.
  virtual bool read_next(Part* element) = 0;

  virtual void save(PositionWriter& position) = 0;
  virtual void restore(PositionReader& position) = 0;

  PartTypes types;
};
using DatasetCursorPtr = std::unique_ptr<DatasetCursor>;

/// Opens cursors. Immutable but for what passes share, such as seeds and caches.
class CAPSTAN_EXPORT DatasetNode {
 public:
  explicit DatasetNode(PartTypes element) : types(element) {}
  virtual ~DatasetNode();
  DatasetNode(const DatasetNode&) = delete;
  DatasetNode& operator=(const DatasetNode&) = delete;

  virtual DatasetCursorPtr open() const = 0;
  /// The number of elements, kInfinite or kUnknown.
  virtual std::int64_t cardinality() const = 0;
  /// The number of rows of every element, where that is known; else kUnknown.
  virtual std::int64_t rows_of_each() const { return kUnknown; }

  PartTypes types;
};
using DatasetNodePtr = std::shared_ptr<const DatasetNode>;

// Functions of users over parts.
using PartFunction = std::function<void(const Part* element, Part* result)>;
using PartPredicate = std::function<bool(const Part* element)>;
using PartNumber = std::function<std::int64_t(const Part* element)>;
using PartDataset = std::function<DatasetNodePtr(const Part* element)>;
using PartGenerator = std::function<bool(Part* element)>;

[[noreturn]] CAPSTAN_EXPORT void throw_past_end();
/// Errors: ValueError unless the number is finite and known.
CAPSTAN_EXPORT std::int64_t known_size(std::int64_t cardinality);
CAPSTAN_EXPORT void check_finite(const char* what, std::int64_t cardinality);
[[noreturn]] CAPSTAN_EXPORT void throw_not_single(bool has_several);
/// A predicate's tensor as a truth value.
CAPSTAN_EXPORT bool truth_of(const char* what, const Tensor& tensor);
CAPSTAN_EXPORT void check_state(const char* what, const Tensor& before, const Tensor& after);

CAPSTAN_EXPORT DatasetPosition save_position(DatasetCursor& cursor);
CAPSTAN_EXPORT DatasetPosition save_end();
/// False if the position is the end.
CAPSTAN_EXPORT bool restore_position(DatasetCursor& cursor, const DatasetPosition& position);

// Sources.
CAPSTAN_EXPORT DatasetNodePtr slices_of(std::vector<Tensor> tensors);
CAPSTAN_EXPORT DatasetNodePtr texts_of(const Texts& texts);
/// The parts of sources that must have the same numbers of rows.
CAPSTAN_EXPORT DatasetNodePtr equally_long(PartTypes types, std::vector<DatasetNodePtr> sources);
CAPSTAN_EXPORT DatasetNodePtr list_of(PartTypes types, std::vector<Part> parts);
CAPSTAN_EXPORT std::vector<Tensor> save_list(const DatasetNodePtr& list);
CAPSTAN_EXPORT DatasetNodePtr restore_list(PartTypes types, const std::vector<Tensor>& tensors);
CAPSTAN_EXPORT DatasetNodePtr range_of(PartTypes types, std::int64_t start, std::int64_t stop, std::int64_t step);
CAPSTAN_EXPORT DatasetNodePtr counter_of(PartTypes types, std::int64_t start, std::int64_t step);
CAPSTAN_EXPORT DatasetNodePtr random_words(PartTypes types, Seed seed, bool rerandomize);
CAPSTAN_EXPORT DatasetNodePtr generated(PartTypes types, std::function<PartGenerator()> open);

// Order and choice.
CAPSTAN_EXPORT DatasetNodePtr shuffled(DatasetNodePtr input, std::int64_t buffer_size, Seed seed, bool reshuffle);
CAPSTAN_EXPORT DatasetNodePtr repeated(DatasetNodePtr input, std::int64_t count);
CAPSTAN_EXPORT DatasetNodePtr taken(DatasetNodePtr input, std::int64_t count);
CAPSTAN_EXPORT DatasetNodePtr skipped(DatasetNodePtr input, std::int64_t count);
CAPSTAN_EXPORT DatasetNodePtr sharded(DatasetNodePtr input, std::int64_t num_shards, std::int64_t index);
CAPSTAN_EXPORT DatasetNodePtr filtered(DatasetNodePtr input, PartPredicate keep);
CAPSTAN_EXPORT DatasetNodePtr taken_while(DatasetNodePtr input, PartPredicate keep);
CAPSTAN_EXPORT DatasetNodePtr unique_of(DatasetNodePtr input);
CAPSTAN_EXPORT DatasetNodePtr without_errors(DatasetNodePtr input);
CAPSTAN_EXPORT DatasetNodePtr with_cardinality(DatasetNodePtr input, std::int64_t cardinality);
CAPSTAN_EXPORT DatasetNodePtr zipped(PartTypes types, std::vector<DatasetNodePtr> inputs);
CAPSTAN_EXPORT DatasetNodePtr concatenated(DatasetNodePtr first, DatasetNodePtr second);
CAPSTAN_EXPORT DatasetNodePtr chosen(std::vector<DatasetNodePtr> inputs, DatasetNodePtr choices, bool stop_on_empty);
CAPSTAN_EXPORT DatasetNodePtr sampled(std::vector<DatasetNodePtr> inputs, std::vector<double> weights, Seed seed,
                                      bool stop_on_empty, bool rerandomize);
CAPSTAN_EXPORT DatasetNodePtr resampled(PartTypes types, DatasetNodePtr input, PartNumber class_of,
                                        std::vector<double> target, std::vector<double> initial, Seed seed);

// Batches.
CAPSTAN_EXPORT DatasetNodePtr batched(PartTypes types, DatasetNodePtr input, std::int64_t batch_size,
                                      bool drop_remainder, std::int64_t parallel_calls = 0,
                                      std::optional<bool> deterministic = {});
/// `length` stands for each -1 in shapes, and for the first axis if there are no shapes; -1 is the longest in a batch.
CAPSTAN_EXPORT DatasetNodePtr padded(PartTypes types, DatasetNodePtr input, std::int64_t batch_size,
                                     std::vector<std::vector<std::int64_t>> shapes, std::vector<Tensor> values,
                                     bool drop_remainder, std::int64_t length = -1, std::int64_t parallel_calls = 0,
                                     std::optional<bool> deterministic = {});
/// With so many elements, if that is known; else it is found from the batches.
CAPSTAN_EXPORT DatasetNodePtr unbatched(PartTypes types, DatasetNodePtr input, std::int64_t cardinality = kUnknown);
/// Of rows.
CAPSTAN_EXPORT DatasetNodePtr rebatched(PartTypes types, DatasetNodePtr rows, std::vector<std::int64_t> sizes,
                                        bool drop_remainder);
CAPSTAN_EXPORT void check_buckets(const std::vector<std::int64_t>& boundaries,
                                  const std::vector<std::int64_t>& batch_sizes);
CAPSTAN_EXPORT std::int64_t bucket_of(const std::vector<std::int64_t>& boundaries, std::int64_t length,
                                      bool only_below_the_last);

/// Parts of consecutive elements as a dataset of its own, wrapped by a function into one part.
using PartWindow = std::function<Part(DatasetNodePtr window)>;
CAPSTAN_EXPORT DatasetNodePtr windowed(PartTypes types, DatasetNodePtr input, std::int64_t size, std::int64_t shift,
                                       std::int64_t stride, bool drop_remainder, PartWindow wrap);
CAPSTAN_EXPORT DatasetNodePtr grouped(PartTypes types, DatasetNodePtr input, PartNumber key,
                                      std::function<DatasetNodePtr(std::int64_t key, DatasetNodePtr window)> reduce,
                                      std::function<std::int64_t(std::int64_t key)> window_size);

// Functions of elements.
CAPSTAN_EXPORT DatasetNodePtr mapped(const char* name, PartTypes types, DatasetNodePtr input, PartFunction function,
                                     std::int64_t parallel_calls = 0, std::optional<bool> deterministic = {});
/// `function` gets the state and the element, and gives the next state and a result.
CAPSTAN_EXPORT DatasetNodePtr scanned(PartTypes types, DatasetNodePtr input, PartTypes state_types, Part initial,
                                      std::function<void(Part* state, const Part* element, Part* result)> function);
CAPSTAN_EXPORT DatasetNodePtr interleaved(const char* name, PartTypes types, DatasetNodePtr input, PartDataset open,
                                          std::int64_t cycle_length, std::int64_t block_length,
                                          std::int64_t parallel_calls, std::optional<bool> deterministic);
CAPSTAN_EXPORT DatasetNodePtr cached(DatasetNodePtr input);
CAPSTAN_EXPORT DatasetNodePtr prefetched(DatasetNodePtr input, std::int64_t buffer_size);
CAPSTAN_EXPORT DatasetNodePtr with_settings(DatasetNodePtr input, std::optional<std::int64_t> autotune_bytes,
                                            std::optional<bool> deterministic);

// Files of elements, whose parts are of these kinds; in the library capstan_io.
using PartKinds = std::vector<std::string>;
CAPSTAN_EXPORT DatasetNodePtr cached_in_file(DatasetNodePtr input, PartKinds kinds, const std::string& path);
CAPSTAN_EXPORT DatasetNodePtr kept_in_folder(DatasetNodePtr input, PartKinds kinds, const std::string& folder,
                                             const std::string& key, std::int64_t shards);
CAPSTAN_EXPORT void save_elements(const DatasetNodePtr& node, const PartKinds& kinds, const std::string& path);
CAPSTAN_EXPORT DatasetNodePtr saved_elements(PartTypes types, PartKinds kinds, const std::string& path);

}  // namespace detail
}  // namespace capstan
