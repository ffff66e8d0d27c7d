// Files: a table of a million rows of ten numbers, its lines, records, and files of weights.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include "capstan/capstan.h"

using namespace capstan;

namespace {

constexpr std::int64_t kRows = 1'000'000;
constexpr int kColumns = 10;

std::string folder() {
  const auto path = std::filesystem::temp_directory_path() / "capstan_files_benchmark";
  std::filesystem::create_directories(path);
  return path.string();
}

// Made once; peers/files.py reads it as well.
const std::string& table_path() {
  static const std::string path = [] {
    std::string name = folder() + "/table.csv";
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    std::ofstream file(name, std::ios::binary);
    for (int i = 0; i < kColumns; ++i) file << (i == 0 ? "c" : ",c") << i;
    file << "\n";
    char text[32];
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (int i = 0; i < kColumns; ++i) {
        if (i > 0) file << ',';
        file.write(text, std::snprintf(text, sizeof text, "%.6f", normal(random)));
      }
      file << '\n';
    }
    return name;
  }();
  return path;
}

void report(benchmark::State& state, std::int64_t items, const std::string& path) {
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * items);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(std::filesystem::file_size(path)));
}

void read_csv(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(io::read_csv(table_path()));
  report(state, kRows, table_path());
}

void csv_reader(benchmark::State& state) {
  for (auto _ : state) {
    io::CsvReader reader(table_path(), std::vector<io::CsvColumn>(kColumns), {.header = true});
    while (auto record = reader.next()) benchmark::DoNotOptimize(record);
  }
  report(state, kRows, table_path());
}

void csv_dataset(benchmark::State& state) {
  using Table = datasets::CsvDatasetOptions<float, float, float, float, float, float, float, float, float, float>;
  for (auto _ : state) {
    const auto rows = datasets::CsvDataset<float, float, float, float, float, float, float, float, float, float>(
        table_path(), Table{.header = true});
    for (const auto& row : rows.batch(256)) benchmark::DoNotOptimize(&row);
  }
  report(state, kRows, table_path());
}

void line_reader(benchmark::State& state) {
  for (auto _ : state) {
    io::LineReader reader(table_path());
    while (auto line = reader.next()) benchmark::DoNotOptimize(line);
  }
  report(state, kRows, table_path());
}

// 100 MB of records of one size. Nothing in them is alike, so that a compressing file system gains nothing.
constexpr std::int64_t kRecordBytes = 100'000'000;

std::string records_path(std::int64_t size) { return folder() + "/records_" + std::to_string(size); }

void write_records(std::int64_t size) {
  std::string record(static_cast<std::size_t>(size), 'x');
  std::mt19937_64 random(1);
  io::RecordWriter writer(records_path(size));
  for (std::int64_t i = 0; i < kRecordBytes / size; ++i) {
    record[static_cast<std::size_t>(i % size)] = static_cast<char>(random());
    writer.write(record);
  }
  writer.close();
}

void record_writer(benchmark::State& state) {
  for (auto _ : state) {
    // Where a file is replaced, the system first writes the new one to the disk.
    state.PauseTiming();
    std::filesystem::remove(records_path(state.range(0)));
    state.ResumeTiming();
    write_records(state.range(0));
  }
  report(state, kRecordBytes / state.range(0), records_path(state.range(0)));
}

void record_reader(benchmark::State& state) {
  write_records(state.range(0));
  for (auto _ : state) {
    io::RecordReader reader(records_path(state.range(0)));
    while (auto found = reader.next()) benchmark::DoNotOptimize(found);
  }
  report(state, kRecordBytes / state.range(0), records_path(state.range(0)));
}

void record_dataset(benchmark::State& state) {
  write_records(state.range(0));
  for (auto _ : state) {
    for (const std::string& found : datasets::TFRecordDataset(records_path(state.range(0)))) {
      benchmark::DoNotOptimize(found.data());
    }
  }
  report(state, kRecordBytes / state.range(0), records_path(state.range(0)));
}

// Weights of 1 GiB, 16 tensors; the file stays in the memory of the system.
const std::map<std::string, Tensor>& weights() {
  static const std::map<std::string, Tensor> tensors = [] {
    std::map<std::string, Tensor> made;
    for (int i = 0; i < 16; ++i) made.emplace("layer_" + std::to_string(i), ones({16, 1024, 1024}));
    return made;
  }();
  return tensors;
}

// Waits until the disk has the file.
void sync(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  if (file < 0 || ::fdatasync(file) != 0) std::abort();
  ::close(file);
}

void save_safetensors(benchmark::State& state) {
  const std::string path = folder() + "/weights.safetensors";
  for (auto _ : state) {
    io::save_safetensors(path, weights());
    if (state.range(0) != 0) sync(path);
  }
  report(state, 16, path);
}

void load_safetensors(benchmark::State& state) {
  const std::string path = folder() + "/weights.safetensors";
  io::save_safetensors(path, weights());
  for (auto _ : state) benchmark::DoNotOptimize(io::load_safetensors(path, {.map = state.range(0) != 0}));
  report(state, 16, path);
}

// A model of 100 MB of weights in the file of Keras; peers/files.py reads and writes the same.
const Sequential& large_model() {
  static const Sequential model(
      {layers::Dense(2560, {.input_shape = {2560}}), layers::Dense(2560), layers::Dense(2560), layers::Dense(2560)});
  return model;
}

void save_weights_h5(benchmark::State& state) {
  const std::string path = folder() + "/model.weights.h5";
  for (auto _ : state) {
    large_model().save_weights(path);
    // Where a file is replaced, the system first writes the new one to the disk.
    state.PauseTiming();
    if (state.range(0) == 0) std::filesystem::remove(path);
    state.ResumeTiming();
  }
  large_model().save_weights(path);
  report(state, 8, path);
}

void load_weights_h5(benchmark::State& state) {
  const std::string path = folder() + "/model.weights.h5";
  large_model().save_weights(path);
  for (auto _ : state) large_model().load_weights(path);
  report(state, 8, path);
}

// The same bytes to another file, by the system: the peer of saving.
void copy_file(benchmark::State& state) {
  const std::string path = folder() + "/weights.safetensors", copy = path + ".copy";
  io::save_safetensors(path, weights());
  std::string command = "cp ";
  command.append(path).append(" ").append(copy);
  for (auto _ : state) {
    if (std::system(command.c_str()) != 0) std::abort();
    if (state.range(0) != 0) sync(copy);
  }
  report(state, 16, path);
  std::filesystem::remove(copy);
}

}  // namespace

BENCHMARK(save_safetensors)->ArgName("sync")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(load_safetensors)->ArgName("map")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(save_weights_h5)->ArgName("replace")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(load_weights_h5)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(copy_file)->ArgName("sync")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(read_csv)->Unit(benchmark::kMillisecond)->MinTime(3);
BENCHMARK(csv_reader)->Unit(benchmark::kMillisecond)->MinTime(3);
BENCHMARK(csv_dataset)->Unit(benchmark::kMillisecond);
BENCHMARK(line_reader)->Unit(benchmark::kMillisecond);
BENCHMARK(record_writer)->Arg(100)->Arg(100'000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(record_reader)->Arg(100)->Arg(100'000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(record_dataset)->Arg(100)->Arg(100'000)->Unit(benchmark::kMillisecond)->UseRealTime();
