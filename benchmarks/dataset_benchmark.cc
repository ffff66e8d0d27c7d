// Datasets: what a batch costs beside the copy of its rows, and what threads give.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <thread>

#include "capstan/capstan.h"

namespace capstan {
namespace {

constexpr std::int64_t kExamples = 60000, kBatch = 64;

// As a network takes them, or as files have them.
const Tensor& images(DType dtype = float32) {
  static const Tensor tensor = random::uniform({kExamples, 28, 28}, 0, 1, float32, 1);
  static const Tensor bytes = cast(tensor * 255.0, uint8);
  return dtype == uint8 ? bytes : tensor;
}

// The rows of a batch in random order, into memory that is there: what cannot be avoided.
void copy(benchmark::State& state) {
  const std::size_t row = 28 * 28;
  std::vector<float> batch(kBatch * row);
  std::vector<std::int64_t> order = random_permutation(kExamples, 1);
  std::size_t at = 0;
  const float* from = images().data<float>();
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      std::memcpy(&batch[i * row], from + static_cast<std::size_t>(order[at]) * row, row * sizeof(float));
      at = (at + 1) % order.size();
    }
    benchmark::DoNotOptimize(batch.data());
  }
}
BENCHMARK(copy)->UseRealTime();

template <class D>
void run(benchmark::State& state, const D& dataset) {
  auto iterator = dataset.begin();
  for (auto _ : state) {
    auto element = iterator.next();
    if (!element) {
      state.PauseTiming();
      iterator = dataset.begin();
      element = iterator.next();
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(element);
  }
}

void shuffled_batches(benchmark::State& state) {
  run(state, from_tensor_slices(images()).shuffle(kExamples, {.seed = 1}).batch(kBatch).repeat());
}
BENCHMARK(shuffled_batches)->UseRealTime();

void shuffled_batches_ahead(benchmark::State& state) {
  run(state, from_tensor_slices(images()).shuffle(kExamples, {.seed = 1}).batch(kBatch).repeat().prefetch());
}
BENCHMARK(shuffled_batches_ahead)->UseRealTime();

void batches_in_order(benchmark::State& state) { run(state, from_tensor_slices(images()).batch(kBatch).repeat()); }
BENCHMARK(batches_in_order)->UseRealTime();

// Whole passes, in elements per second: what peers/tfdata_pipeline.py measures.
template <class D>
void run_passes(benchmark::State& state, const D& dataset, std::int64_t elements) {
  for (auto _ : state) {
    for (const auto& element : dataset) benchmark::DoNotOptimize(&element);
  }
  state.SetItemsProcessed(state.iterations() * elements);
}

void pipeline(benchmark::State& state, DType dtype) {
  run_passes(state, from_tensor_slices(images(dtype)).shuffle(kExamples).batch(kBatch).prefetch(), kExamples);
}
BENCHMARK_CAPTURE(pipeline, float32, float32)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pipeline, uint8, uint8)->UseRealTime()->Unit(benchmark::kMillisecond);

// A function of each image, alone and of so many at once.
void small_map(benchmark::State& state) {
  const auto rows = from_tensor_slices(images()).take(kExamples / 10);
  const auto scaled = [](const Tensor& image) { return image / 255.0 - 0.5; };
  if (state.range(0) == 1) {
    run_passes(state, rows.map(scaled).batch(kBatch), kExamples / 10);
  } else {
    run_passes(state, rows.map_vectorized(state.range(0), scaled).batch(kBatch), kExamples / 10);
  }
}
BENCHMARK(small_map)->Arg(1)->Arg(64)->Arg(512)->UseRealTime()->Unit(benchmark::kMillisecond);

// Batches of pictures, joined on so many threads.
void joined_batches(benchmark::State& state) {
  static const Tensor picture = random::uniform({3, 224, 224}, 0, 1, float32, 1);
  const auto pictures = from_tensors(picture).repeat(512);
  run_passes(state, pictures.batch(32, {.num_parallel_calls = state.range(0)}).prefetch(), 512);
}
BENCHMARK(joined_batches)->Arg(0)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// Images in a file: 188 MB. Written as they come, and read.
void file_cache(benchmark::State& state) {
  const std::string path = (std::filesystem::temp_directory_path() / "capstan_dataset_benchmark.elements").string();
  const auto rows = from_tensor_slices(images());
  if (state.range(0) == 0) {
    for (auto _ : state) rows.save(path);
    state.SetItemsProcessed(state.iterations() * kExamples);
  } else {
    rows.save(path);
    run_passes(state, Dataset<Tensor>::load(path), kExamples);
  }
  std::filesystem::remove(path);
}
BENCHMARK(file_cache)->ArgName("reads")->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

// A function that takes a millisecond, on so many threads, -1 for kAutotune: it waits, as reading a file does, or
// computes.
void waiting_map(benchmark::State& state) {
  const auto slow = [](std::int64_t x) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return x;
  };
  run(state, datasets::counter().map(slow, {.num_parallel_calls = state.range(0)}));
}
BENCHMARK(waiting_map)->Arg(0)->Arg(1)->Arg(2)->Arg(kAutotune)->UseRealTime();

void computing_map(benchmark::State& state) {
  const auto slow = [](std::int64_t x) {
    std::uint64_t word = static_cast<std::uint64_t>(x);
    for (int i = 0; i < 700000; ++i) word = word * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>(word);
  };
  run(state, datasets::counter().map(slow, {.num_parallel_calls = state.range(0)}));
}
BENCHMARK(computing_map)->Arg(0)->Arg(1)->Arg(2)->Arg(kAutotune)->UseRealTime();

// One that takes nothing, for which a thread would not pay.
void cheap_map(benchmark::State& state) {
  const auto twice = [](std::int64_t x) { return 2 * x; };
  run(state, datasets::counter().map(twice, {.num_parallel_calls = state.range(0)}));
}
BENCHMARK(cheap_map)->Arg(0)->Arg(1)->Arg(kAutotune)->UseRealTime();

void cheap_interleave(benchmark::State& state) {
  const auto open = [](std::int64_t x) { return datasets::range(x, x + 1000); };
  run(state, datasets::counter().interleave(open, {.cycle_length = 4, .num_parallel_calls = state.range(0)}));
}
BENCHMARK(cheap_interleave)->Arg(0)->Arg(1)->Arg(kAutotune)->UseRealTime();

void cheap_prefetch(benchmark::State& state) { run(state, datasets::counter().prefetch(state.range(0))); }
BENCHMARK(cheap_prefetch)->Arg(0)->Arg(2)->Arg(kAutotune)->UseRealTime();

}  // namespace
}  // namespace capstan
