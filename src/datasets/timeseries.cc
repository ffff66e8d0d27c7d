#include <algorithm>
#include <numeric>

#include "capstan/directory_datasets.h"
#include "capstan/index.h"
#include "capstan/ops/array.h"
#include "src/core/check.h"
#include "src/datasets/numpy_shuffle.h"
#include "src/io/byte_source.h"

namespace capstan::datasets {

namespace {

constexpr const char* kSeriesOwner = "timeseries_dataset_from_array";

// Where sequences begin, counted from start_index. `targets` is the number of targets, if there are some.
std::vector<std::int64_t> beginnings(const Tensor& data, std::optional<std::int64_t> targets,
                                     std::int64_t sequence_length, const TimeseriesOptions& options) {
  CAPSTAN_CHECK(data.rank() >= 1, ShapeError, kSeriesOwner, ": the series has no axis of time");
  for (const auto& [name, value] : {std::pair{"sequence_length", sequence_length},
                                    {"sequence_stride", options.sequence_stride},
                                    {"sampling_rate", options.sampling_rate},
                                    {"batch_size", options.batch_size}}) {
    CAPSTAN_CHECK(value >= 1, ValueError, kSeriesOwner, ": ", name, " must be at least 1, not ", value);
  }
  const std::int64_t steps = data.dim(0), end = options.end_index.value_or(steps);
  CAPSTAN_CHECK(options.start_index >= 0 && options.start_index < end && end <= steps, ValueError, kSeriesOwner,
                ": start_index ", options.start_index, " and end_index ", end, " do not lie in a series of ", steps,
                " steps");
  const std::int64_t inside = end - options.start_index;
  // Compared without a product that could overflow.
  const bool fits = (inside - 1) / options.sampling_rate >= sequence_length - 1;
  CAPSTAN_CHECK(fits, ValueError, kSeriesOwner, ": a sequence of ", sequence_length, " steps at a rate of ",
                options.sampling_rate, " is longer than the ", inside, " steps of the series");
  std::int64_t count = inside - (sequence_length - 1) * options.sampling_rate;
  if (targets) {
    CAPSTAN_CHECK(*targets > options.start_index, ValueError, kSeriesOwner, ": start_index ", options.start_index,
                  " is beyond the ", *targets, " targets");
    count = std::min(count, *targets - options.start_index);
  }
  std::vector<std::int64_t> result;
  for (std::int64_t at = 0; at < count; at += std::min(options.sequence_stride, count - at)) result.push_back(at);
  if (options.shuffle && options.seed) detail::numpy_shuffle(result, static_cast<std::uint32_t>(*options.seed));
  return result;
}

// The beginnings in the order of a pass.
Dataset<std::int64_t> ordered(const std::vector<std::int64_t>& places, const TimeseriesOptions& options) {
  const Dataset<std::int64_t> all = from_range(places);
  if (!options.shuffle) return all;
  const auto count = static_cast<std::int64_t>(places.size());
  return all.shuffle(options.seed ? std::min(8 * std::min(options.batch_size, count), count) : count,
                     {.seed = options.seed});
}

Tensor sequence_at(const Tensor& data, std::int64_t begin, std::int64_t length, std::int64_t rate) {
  return data(slice(begin, begin + (length - 1) * rate + 1, rate));
}

}  // namespace

Dataset<Tensor, Tensor> timeseries_dataset_from_array(const Tensor& data, const Tensor& targets,
                                                      std::int64_t sequence_length, const TimeseriesOptions& options) {
  CAPSTAN_CHECK(targets.rank() >= 1, ShapeError, kSeriesOwner, ": the targets have no axis of time");
  const auto pair_at = [=](std::int64_t at) {
    const std::int64_t begin = options.start_index + at;
    return std::tuple(sequence_at(data, begin, sequence_length, options.sampling_rate), targets(begin));
  };
  return ordered(beginnings(data, targets.dim(0), sequence_length, options), options)
      .map(pair_at)
      .batch(options.batch_size)
      .prefetch(kAutotune);
}

Dataset<Tensor> timeseries_dataset_from_array(const Tensor& data, std::int64_t sequence_length,
                                              const TimeseriesOptions& options) {
  return ordered(beginnings(data, {}, sequence_length, options), options)
      .map([=](std::int64_t at) {
        return sequence_at(data, options.start_index + at, sequence_length, options.sampling_rate);
      })
      .batch(options.batch_size)
      .prefetch(kAutotune);
}

}  // namespace capstan::datasets
