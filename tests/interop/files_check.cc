// Records, images and tables between Capstan and TensorFlow, Pillow and pandas: this side. files.py is the other; see
// README.md.
//
//     files_check write FOLDER    files, whose content the other side knows
//     files_check read FOLDER     reads files of the other side and compares
#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/interop/cases.h"
#include "tests/support/compare.h"

namespace capstan {
namespace {

using interop::Cases;
using interop::require;

constexpr int kExamples = 40;

io::Example example(int i) {
  std::string bytes;
  for (int k = 0; k < 7 * i; ++k) bytes += static_cast<char>(i + 11 * k);
  return {{"id", i},
          {"name", "exämple " + std::to_string(i)},
          {"bytes", bytes},
          {"floats", std::vector<float>{0.25F * static_cast<float>(i), -1.5F}},
          {"integers", std::vector<std::int64_t>{-i, std::int64_t{i} << 40, 7}}};
}

// Grey or coloured, changing slowly enough for JPEG: uint8[24, 32, channels].
Tensor picture(int channels) {
  const Tensor y = reshape(range(24), {24, 1, 1}), x = reshape(range(32), {1, 32, 1}), c = range(channels);
  return cast(y * 4 + x * 3 + c * 20, uint8);
}

const std::vector<const char*> kCompressions = {"", "GZIP", "ZLIB"};

void write(const std::string& folder) {
  for (const char* compression : kCompressions) {
    io::RecordWriter writer(folder + "/examples" + compression + ".tfrecord", {.compression = compression});
    for (int i = 0; i < kExamples; ++i) writer.write(example(i).serialize());
    writer.close();
  }
  for (const int channels : {1, 2, 3, 4}) {
    io::save_png(folder + "/" + std::to_string(channels) + ".png", picture(channels));
  }
  for (const int channels : {1, 3}) {
    io::save_jpeg(folder + "/" + std::to_string(channels) + ".jpg", picture(channels));
    io::save_jpeg(folder + "/" + std::to_string(channels) + "_all_colours.jpg", picture(channels),
                  {.quality = 100, .chroma_downsampling = false});
  }
  // A table: what a training writes.
  const Tensor x = reshape(cast(range(12), float32) / 12, {6, 2}), y = reduce_sum(x, {1}, {.keepdims = true});
  const Sequential model({layers::Dense(1, {.input_shape = {2}})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse", .metrics = {"mae"}});
  History history = model.fit(x, y,
                              {.epochs = 4,
                               .verbose = 0,
                               .callbacks = {callbacks::CSVLogger(folder + "/training.csv"),
                                             callbacks::CSVLogger(folder + "/training.tsv", {.separator = "\t"})}});
  std::map<std::string, Tensor> columns;
  for (const auto& [name, values] : history.history) columns.emplace(name, constant(values));
  io::save_npz(folder + "/training.npz", columns);
}

std::string compare_records(const std::string& path, const std::string& compression) {
  io::RecordReader reader(path, {.compression = compression});
  int count = 0;
  while (const std::optional<std::string> record = reader.next()) {
    require(io::Example::parse(*record) == example(count), "Example " + std::to_string(count) + " differs");
    ++count;
  }
  require(count == kExamples, std::to_string(count) + " records");
  return std::to_string(count) + " records";
}

// What Pillow decodes lies beside the image, as an array. Decoders of JPEG may differ by a level or two.
std::string compare_image(const std::string& path, int levels) {
  const Tensor wanted = io::load_npy(path + ".npy");
  const Tensor found = io::load_image(path, {.channels = static_cast<int>(wanted.dim(2))});
  require(found.shape() == wanted.shape(), "shape " + found.shape().to_string());
  const int apart = reduce_max(abs(cast(found, int32) - cast(wanted, int32))).item<int>();
  require(apart <= levels, "pixels are " + std::to_string(apart) + " levels apart");
  return std::to_string(apart) + " levels apart";
}

// Throws if a column has other numbers; NaN equals NaN.
void require_column(const io::CsvTable& table, const std::string& name, const Tensor& wanted) {
  const std::string difference = testing::difference(table.tensor(name), wanted, {0, 0});
  require(difference.empty(), name + ": " + difference);
}

std::string compare_table(const std::string& path, const std::string& delimiter) {
  const io::CsvTable table = io::read_csv(path, {.field_delim = delimiter,
                                                 .columns = {{"float64", {io::CsvType::kFloat64}}},
                                                 .missing_number = std::numeric_limits<double>::quiet_NaN()});
  const std::vector<std::string> names = {"int32", "int64", "float32", "float64", "text", "missing"};
  require(table.names() == names, "names of columns");
  const Tensor i = range(200), nan = constant(std::numeric_limits<float>::quiet_NaN());
  require_column(table, "int32", i * 3 - 100);
  require_column(table, "int64", cast(i, int64) * (std::int64_t{1} << 40));
  require_column(table, "float32", cast(i, float32) / 4);
  require_column(table, "float64", cast(i, float64) / 3);
  require_column(table, "missing", where(equal(floormod(i, 5), 0), nan, cast(i, float32) / 4));
  for (int row = 0; row < 200; ++row) {
    const std::string number = std::to_string(row);
    const std::string text = row % 2 == 0 ? "plain " + number : "a \"quoted\",\nline " + number;
    require(table.texts("text").at(static_cast<std::size_t>(row)) == text, "text " + number);
  }
  return std::to_string(table.row_count()) + " rows";
}

void read(const std::string& folder, Cases& cases) {
  for (const char* compression : kCompressions) {
    const std::string path = folder + "/examples" + compression + ".tfrecord";
    cases.run(std::string("TFRecord ") + compression, [&] { return compare_records(path, compression); });
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    const std::string ending = file.extension().string(), name = file.filename().string();
    if (ending == ".png") cases.run(name, [&] { return compare_image(file.string(), 0); });
    if (ending == ".jpg") cases.run(name, [&] { return compare_image(file.string(), 2); });
    if (ending == ".csv") cases.run(name, [&] { return compare_table(file.string(), ","); });
    if (ending == ".tsv") cases.run(name, [&] { return compare_table(file.string(), "\t"); });
  }
}

}  // namespace
}  // namespace capstan

int main(int count, char** arguments) {
  return capstan::interop::write_or_read(count, arguments, capstan::write, capstan::read);
}
