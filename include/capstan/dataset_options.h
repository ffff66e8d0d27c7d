// The options of datasets' transformations and sources.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "capstan/dataset_nodes.h"
#include "capstan/seed.h"

namespace capstan {

/// Options of Dataset::shuffle.
struct ShuffleOptions {
  /// Without a seed the order comes from the process's stream; see set_seed. With one it is TensorFlow's, which also
  /// depends on the seed that set_seed was given, if it was called.
  Seed seed = {};
  /// Another order in every pass; otherwise always the same.
  bool reshuffle_each_iteration = true;
};

/// Options of Dataset::batch.
struct BatchOptions {
  /// Leaves out a last batch that is not full.
  bool drop_remainder = false;
  /// Batches that may be joined at the same time, on threads of their own; 0 joins one when it is asked for. As of
  /// MapOptions.
  std::int64_t num_parallel_calls = 0;
  /// False gives batches out as soon as they are done, in any order. Without it DatasetOptions::deterministic counts.
  std::optional<bool> deterministic = {};
};

/// Options of Dataset::rebatch.
struct RebatchOptions {
  /// Leaves out a last batch that is not full.
  bool drop_remainder = false;
};

/// Options of Dataset::padded_batch.
struct PaddedBatchOptions {
  /// The shape of each part of an element; -1 stands for the longest in the batch, which is also what no shapes mean.
  std::vector<std::vector<std::int64_t>> padded_shapes = {};
  /// What fills each part, a scalar of its dtype; an empty tensor, or none at all, stands for 0.
  std::vector<Tensor> padding_values = {};
  /// Leaves out a last batch that is not full.
  bool drop_remainder = false;
  /// As of BatchOptions.
  std::int64_t num_parallel_calls = 0;
  std::optional<bool> deterministic = {};
};

/// Options of Dataset::map.
struct MapOptions {
  /// Calls that may run at the same time, on threads of their own; 0 calls the function when an element is asked for.
  /// kAutotune starts none for a function that takes less than their work would, and else as many as keep the loop from
  /// waiting, at most num_threads(); more than 256 threads are not started.
  std::int64_t num_parallel_calls = 0;
  /// False gives elements out as soon as they are done, in any order. Without it DatasetOptions::deterministic counts.
  std::optional<bool> deterministic = {};
};

/// Options of Dataset::interleave.
struct InterleaveOptions {
  /// How many inner datasets are open at a time.
  std::int64_t cycle_length = 2;
  /// How many elements in a row come from one of them.
  std::int64_t block_length = 1;
  /// Threads that read from inner datasets ahead of the loop; 0 reads when an element is asked for. kAutotune starts
  /// none while elements take less than that costs, else as many as keep the loop from waiting, at most num_threads().
  std::int64_t num_parallel_calls = 0;
  /// False takes an element from any inner dataset that has one ready. Without it DatasetOptions::deterministic counts.
  std::optional<bool> deterministic = {};
};

/// Options of Dataset::snapshot.
struct SnapshotOptions {
  /// Tells the snapshots of one folder apart, such as "train-2": letters, digits, '-', '_' and '.'. A pipeline that
  /// gives other elements than before takes another key.
  std::string key = "elements";
  /// How many files have the elements, in turn, from 1 to 256. Several are read on threads, as interleave() with
  /// kAutotune does, in the order in which they were written.
  std::int64_t shards = 1;
};

/// Options of Dataset::with_options. What is not given is as it was.
struct DatasetOptions {
  /// What stages with kAutotune may hold ahead of the loop, together, in bytes of tensors. One element of each stage is
  /// always allowed. Without with_options() 256 MiB for each stage.
  std::optional<std::int64_t> autotune_bytes = {};
  /// Of all stages with threads whose own option `deterministic` is not given: false gives elements out as soon as they
  /// are done, in any order. Without with_options() true.
  std::optional<bool> deterministic = {};
};

/// Options of Dataset::window.
struct WindowOptions {
  /// How far a window starts after the one before; the size of a window unless given.
  std::optional<std::int64_t> shift = {};
  /// Every how many elements one belongs to the window.
  std::int64_t stride = 1;
  /// Leaves out windows at the end that are not full.
  bool drop_remainder = false;
};

/// Options of Dataset::bucket_by_sequence_length.
struct BucketOptions {
  /// As those of padded_batch.
  std::vector<std::vector<std::int64_t>> padded_shapes = {};
  std::vector<Tensor> padding_values = {};
  /// Pads to the boundary of the bucket less one, not to the longest element of the batch; elements beyond the last
  /// boundary are errors.
  bool pad_to_bucket_boundary = false;
  /// Elements of a batch have the same shape already.
  bool no_padding = false;
  /// Leaves out batches that are not full.
  bool drop_remainder = false;
};

/// Options of Dataset::rejection_resample.
struct ResampleOptions {
  /// How often each class occurs; estimated from the elements seen so far if not given.
  std::vector<double> initial_dist = {};
  Seed seed = {};
};

/// Options of datasets::random.
struct RandomOptions {
  Seed seed = {};
  /// Other numbers in every pass; otherwise always the same.
  bool rerandomize_each_iteration = false;
};

/// Options of sample_from_datasets.
struct SampleOptions {
  /// How likely each dataset is, all equally unless given. They need not add up to 1.
  std::vector<double> weights = {};
  Seed seed = {};
  /// Ends with the first dataset that ends; otherwise that one is left out from then on.
  bool stop_on_empty_dataset = false;
  /// Other choices in every pass; otherwise always the same.
  bool rerandomize_each_iteration = false;
};

/// Options of choose_from_datasets.
struct ChooseOptions {
  /// Ends when a dataset is chosen that has ended; otherwise that choice is left out.
  bool stop_on_empty_dataset = true;
};

}  // namespace capstan
