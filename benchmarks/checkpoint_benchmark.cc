// What a checkpoint costs: a model of 259 thousand weights with Adam, 3.1 MB, to the disk and back.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "capstan/checkpoint.h"
#include "capstan/models.h"
#include "capstan/ops/array.h"
#include "capstan/ops/random.h"

namespace {

using namespace capstan;

struct Training {
  Training()
      : model(
            {layers::Dense(289, {.activation = "relu", .input_shape = {784}}), layers::Dense(106), layers::Dense(10)}) {
    optimizer.build(model.trainable_variables());
    std::string pattern = (std::filesystem::temp_directory_path() / "capstan_benchmark_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    directory = pattern;
  }
  ~Training() {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }
  Checkpoint checkpoint() const { return Checkpoint({{"model", model}, {"optimizer", optimizer}}); }

  Sequential model;
  optimizers::Adam optimizer;
  std::string directory;
};

// With the bytes on the disk.
void write(benchmark::State& state) {
  const Training training;
  const Checkpoint checkpoint = training.checkpoint();
  for (auto _ : state) checkpoint.write(training.directory + "/checkpoint");
  state.counters["weights"] = static_cast<double>(training.model.count_params());
}
BENCHMARK(write)->Unit(benchmark::kMillisecond)->UseRealTime();

// How long a training waits if a thread of the manager writes.
void save_behind(benchmark::State& state) {
  const Training training;
  const Checkpoint checkpoint = training.checkpoint();
  CheckpointManager manager(checkpoint, training.directory, {.max_to_keep = 2, .asynchronous = true});
  for (auto _ : state) {
    manager.save();
    state.PauseTiming();
    manager.wait();
    state.ResumeTiming();
  }
}
BENCHMARK(save_behind)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(50);

// Twenty training steps on batches of 64, plain, and while a thread of the manager writes, which takes about as long.
void steps(benchmark::State& state) {
  const Training training;
  training.model.compile(
      {.optimizer = training.optimizer, .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  const Tensor x = random::stateless_uniform({64, 784}, {1, 2}), y = zeros({64}, int32);
  const Checkpoint checkpoint = training.checkpoint();
  CheckpointManager manager(checkpoint, training.directory, {.max_to_keep = 2, .asynchronous = true});
  training.model.train_on_batch(x, y);
  for (auto _ : state) {
    if (state.range(0) != 0) manager.save();
    for (int i = 0; i < 20; ++i) training.model.train_on_batch(x, y);
    state.PauseTiming();
    manager.wait();
    state.ResumeTiming();
  }
}
BENCHMARK(steps)->ArgName("saving")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();

void restore(benchmark::State& state) {
  const Training training;
  const Checkpoint checkpoint = training.checkpoint();
  const std::string path = checkpoint.write(training.directory + "/checkpoint");
  for (auto _ : state) checkpoint.restore(path).assert_consumed();
}
BENCHMARK(restore)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
