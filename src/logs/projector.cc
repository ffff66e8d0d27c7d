#include "src/logs/projector.h"

#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "src/core/check.h"
#include "src/io/file_sink.h"

namespace capstan::logs {

namespace {

constexpr const char* kProjectorWriter = "summary";

void write(const std::string& path, std::string_view text) {
  io::write_file(kProjectorWriter, path, std::as_bytes(std::span(text)));
}

// A name that is fit for a file, and another one for every other name.
std::string tensor_file_name(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    if (is_plain) {
      text += c;
    } else {
      text += '_';
      text += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
      text += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
    }
  }
  return text;
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + "\"";
}

std::string table_of(const Tensor& rows) {
  const std::vector<double> elements = rows.to_vector<double>();
  const auto size = static_cast<std::size_t>(rows.dim(1));
  std::string text;
  std::array<char, 32> number;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto end = std::to_chars(number.data(), number.data() + number.size(), static_cast<float>(elements[i])).ptr;
    text.append(number.data(), end);
    text += (i + 1) % size == 0 ? '\n' : '\t';
  }
  return text;
}

// One column has no line of names: TensorBoard would take it for a label.
std::string labels_of(std::string_view name, std::int64_t rows, const summary::EmbeddingOptions& options) {
  const Texts& labels = options.labels;
  const std::size_t columns = labels.rank() == 2 ? static_cast<std::size_t>(labels.shape()[1]) : 1;
  CAPSTAN_CHECK(labels.size() == static_cast<std::size_t>(rows), ValueError, "summary: the embedding \"", name,
                "\" has ", rows, " rows, and ", labels.size(), " labels");
  CAPSTAN_CHECK(columns == 1 ? options.columns.size() <= 1 : options.columns.size() == columns, ValueError,
                "summary: the labels of the embedding \"", name, "\" have ", columns, " columns, and ",
                options.columns.size(), " names of columns");
  std::string text;
  const auto add = [&](const std::string& label, bool is_last) {
    CAPSTAN_CHECK(label.find_first_of("\t\r\n") == std::string::npos, ValueError,
                  "summary: a label of the embedding \"", name, "\" has a tab or a line break");
    text += label;
    text += is_last ? '\n' : '\t';
  };
  if (columns > 1) {
    for (std::size_t i = 0; i < columns; ++i) add(options.columns[i], i + 1 == columns);
  }
  const std::vector<std::string>& values = labels.values();
  for (std::size_t i = 0; i < values.size(); ++i) add(values[i], (i + 1) % columns == 0);
  return text;
}

}  // namespace

void Projector::write(std::string_view name, const Tensor& rows, const summary::EmbeddingOptions& options) {
  CAPSTAN_CHECK(rows.rank() == 2 && rows.size() > 0, ShapeError, "summary: the embedding \"", name,
                "\" must be [rows, size], not ", describe(rows));
  CAPSTAN_CHECK(!is_complex(rows.dtype()), DTypeError, "summary: the embedding \"", name,
                "\" must be of real numbers, not ", describe(rows));
  const bool has_labels = options.labels.size() > 0;
  const std::string labels = has_labels ? labels_of(name, rows.dim(0), options) : "";
  const std::string file = tensor_file_name(name);
  Files& files = tables_[std::string(name)];
  files = {file + ".tsv", has_labels ? file + "_labels.tsv" : ""};
  const std::filesystem::path folder = folder_;
  logs::write((folder / files.rows).string(), table_of(rows));
  if (has_labels) logs::write((folder / files.labels).string(), labels);
  write_list();
}

void Projector::write_list() const {
  std::string text;
  for (const auto& [name, files] : tables_) {
    text += "embeddings {\n  tensor_name: " + in_quotes(name) + "\n  tensor_path: " + in_quotes(files.rows) + "\n";
    if (!files.labels.empty()) text += "  metadata_path: " + in_quotes(files.labels) + "\n";
    text += "}\n";
  }
  logs::write((std::filesystem::path(folder_) / "projector_config.pbtxt").string(), text);
}

}  // namespace capstan::logs
