#include "tests/fuzz/readers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "capstan/config.h"
#include "capstan/data.h"
#include "capstan/error.h"
#include "capstan/image_files.h"
#include "capstan/io.h"
#include "capstan/models.h"
#include "capstan/onnx.h"
#include "capstan/ops/array.h"
#include "capstan/records.h"
#include "capstan/text_files.h"
#include "capstan/torch_files.h"
#include "src/core/allocator.h"
#include "src/io/hdf5_file.h"
#include "src/io/object_graph.h"
#include "src/io/npy.h"
#include "src/io/pickle.h"
#include "src/io/record_frame.h"
#include "src/io/table_file.h"
#include "src/saved_model/file.h"

namespace capstan::testing {

namespace {

// The path of a file in memory with these bytes, until the next call.
std::string file_of(std::span<const std::uint8_t> bytes) {
  static const int file = ::memfd_create("fuzz", 0);
  const bool is_written = file >= 0 && ::ftruncate(file, 0) == 0 &&
                          ::pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  if (!is_written) std::abort();
  return "/proc/self/fd/" + std::to_string(file);
}

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <auto load>
void read_whole(std::span<const std::uint8_t> bytes) {
  load(file_of(bytes));
}

template <auto load>
void read_image(std::span<const std::uint8_t> bytes) {
  for (const int channels : {0, 1, 3}) load(file_of(bytes), {.channels = channels});
}

void read_safetensors(std::span<const std::uint8_t> bytes) {
  for (const bool map : {false, true}) io::load_safetensors(file_of(bytes), {.map = map});
}

// The functions of a saved model, whose tensors are those of a checkpoint.
void read_saved_functions(std::span<const std::uint8_t> bytes) {
  io::CheckpointContent content;
  content.metadata[saved_model::kGraphs] = text_of(bytes);
  for (std::size_t i = 0; i < 8; ++i) {
    content.tensors[saved_model::name_of_variable(i)] = zeros({2});
    content.tensors[saved_model::name_of_constant(i)] = zeros({2});
  }
  saved_model::read_functions("memory", content);
}

void read_records(std::span<const std::uint8_t> bytes) {
  io::RecordReader reader(file_of(bytes));
  while (reader.next()) {
  }
}

// Elements of a dataset. Checksums would keep what is changed from the reader, so they are made right.
void read_elements(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kFrame = io::RecordFrame::kHeader + io::RecordFrame::kFooter;
  std::vector<std::uint8_t> right(bytes.begin(), bytes.end());
  for (std::size_t at = 0; right.size() - at >= kFrame;) {
    std::uint64_t length = 0;
    std::memcpy(&length, right.data() + at, sizeof length);
    if (length > right.size() - at - kFrame) break;
    std::uint8_t* const record = right.data() + at + io::RecordFrame::kHeader;
    const io::RecordFrame frame({reinterpret_cast<const char*>(record), static_cast<std::size_t>(length)});
    std::memcpy(record - io::RecordFrame::kHeader, frame.header, io::RecordFrame::kHeader);
    std::memcpy(record + length, frame.footer, io::RecordFrame::kFooter);
    at += kFrame + length;
  }
  using Elements = Dataset<Tensor, std::int64_t, std::string, Texts, std::map<std::string, Tensor>>;
  auto iterator = Elements::load(file_of(right)).begin();
  while (iterator.next()) {
  }
}

void read_example(std::span<const std::uint8_t> bytes) { io::Example::parse(text_of(bytes)); }

void read_hdf5_file(std::span<const std::uint8_t> bytes) {
  const std::unique_ptr<io::ByteSource> source = io::open_memory("read_hdf5", "memory", std::as_bytes(bytes));
  io::read_hdf5(*source, std::as_bytes(bytes));
  // The same where tensors lie in the file's memory, whose end the sanitizer watches.
  const auto owner = std::make_shared<const std::vector<std::uint8_t>>(bytes.begin(), bytes.end());
  for (const auto& [name, tensor] : io::read_hdf5(*source, std::as_bytes(std::span(*owner)), owner)) tensor.to_string();
}

void read_lines(std::span<const std::uint8_t> bytes) {
  io::LineReader reader(file_of(bytes));
  while (reader.next()) {
  }
}

// A record that is wrong is passed over, unless a quote was left open, which is the end; a few, for exceptions take
// long.
void read_csv_records(std::span<const std::uint8_t> bytes) {
  using io::CsvType;
  io::CsvReader reader(file_of(bytes), {{CsvType::kInt32, 0}, {CsvType::kFloat32}, {CsvType::kText}},
                       {.na_value = "NA"});
  for (int wrong = 0; wrong < 16;) {
    try {
      if (!reader.next()) return;
    } catch (const IoError&) {
      ++wrong;
    }
  }
}

// The index of a checkpoint of TensorFlow.
void read_table(std::span<const std::uint8_t> bytes) {
  const std::unique_ptr<io::ByteSource> source = io::open_memory("read_table", "memory", std::as_bytes(bytes));
  io::parse_table(*source, text_of(bytes));
}

// What its objects are.
void read_object_graph(std::span<const std::uint8_t> bytes) {
  std::vector<io::TrackableNode> nodes = io::parse_object_graph("read_object_graph", "memory", text_of(bytes));
  if (io::parse_object_graph("", "", io::object_graph_bytes(nodes)).size() != nodes.size()) std::abort();
}

// Lists of integers, as Keras stores texts.
void read_lists(std::span<const std::uint8_t> bytes) {
  const std::unique_ptr<io::ByteSource> source = io::open_memory("read_npy", "memory", std::as_bytes(bytes));
  io::read_npy_lists(*source);
}

// What a file of PyTorch holds, without its archive.
void read_pickle(std::span<const std::uint8_t> bytes) {
  const std::unique_ptr<io::ByteSource> source = io::open_memory("read_pickle", "memory", std::as_bytes(bytes));
  io::parse_pickle(*source, std::as_bytes(bytes));
}

// The configurations in models' files are such texts.
void read_json(std::span<const std::uint8_t> bytes) {
  try {
    const std::string text = AttributeValue::from_json(text_of(bytes)).to_json();
    if (AttributeValue::from_json(text).to_json() != text) std::abort();
  } catch (const ValueError&) {
  }
}

// A model is made of a configuration as load_model() does, with less memory. What is wrong in it is an error of any
// kind of the library's.
void read_model(std::span<const std::uint8_t> bytes) {
  const AllocationBudget budget(std::int64_t{32} << 20);
  try {
    const AttributeValue config = AttributeValue::from_json(text_of(bytes));
    const Model model(layer_from(config));
    const std::string text = model.to_json();
    if (model_from_json(text).to_json() != text) std::abort();
    if (const AttributeValue* const compiled = config.find("compile_config")) model.compile_from_config(*compiled);
  } catch (const Error& error) {
    throw IoError(error.what());
  }
}

// A row for each; tests/fuzz/fuzz.cmake reads their names.
constexpr FileReader kReaders[] = {
    {"checkpoint", read_whole<io::load_checkpoint>},
    {"csv", read_csv_records},
    {"csv_table", [](std::span<const std::uint8_t> bytes) { io::read_csv(file_of(bytes)); }},
    {"elements", read_elements},
    {"example", read_example},
    {"hdf5", read_hdf5_file},
    {"idx", read_whole<io::load_idx>},
    {"jpeg", read_image<io::load_jpeg>},
    {"json", read_json},
    {"lines", read_lines},
    {"model", read_model},
    {"npy", read_whole<io::load_npy>},
    {"npy_lists", read_lists},
    {"npz", read_whole<io::load_npz>},
    {"object_graph", read_object_graph},
    {"onnx", [](std::span<const std::uint8_t> bytes) { load_onnx(file_of(bytes)); }},
    {"pickle", read_pickle},
    {"png", read_image<io::load_png>},
    {"records", read_records},
    {"safetensors", read_safetensors},
    {"saved_model", read_saved_functions},
    {"table", read_table},
    {"torch", read_whole<io::load_torch>},
};

}  // namespace

std::span<const FileReader> file_readers() { return kReaders; }

const FileReader* find_file_reader(std::string_view name) {
  for (const FileReader& reader : kReaders) {
    if (reader.name == name) return &reader;
  }
  return nullptr;
}

}  // namespace capstan::testing
