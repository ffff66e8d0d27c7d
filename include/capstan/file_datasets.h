// Datasets of what files hold: lines, records, tables. Their functions are in the library capstan_io.
//
// Files are opened when a pass comes to them. One that is missing or damaged is an IoError at the iterator, at the
// element where it is; what was read before stays. The position of an iterator is the file and the number of elements
// that were read of it, which restoring reads again.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "capstan/data.h"
#include "capstan/seed.h"
#include "capstan/text_files.h"

namespace capstan::datasets {

/// The files that a dataset reads, in order: one path, several, or a dataset of paths.
class CAPSTAN_EXPORT FileList {
 public:
  FileList(const char* path) : FileList(std::string(path)) {}
  FileList(const std::string& path);
  FileList(const std::vector<std::string>& paths);
  FileList(std::initializer_list<std::string> paths) : FileList(std::vector<std::string>(paths)) {}
  FileList(const Dataset<std::string>& paths) : node_(paths.node()) {}
  const detail::DatasetNodePtr& node() const { return node_; }

 private:
  detail::DatasetNodePtr node_;
};

/// Options of list_files.
struct ListFilesOptions {
  bool shuffle = true;  ///< a new order in each pass; else sorted
  Seed seed = {};
};

/// The paths of the files that match a pattern, or any of several: tf.data.Dataset.list_files. In a pattern * stands
/// for any characters but '/', ? for one, [abc] for one of these. Errors: ValueError if nothing matches.
///
///     auto files = datasets::list_files("train/*.tfrecord", {.shuffle = false});
///     auto records = files.interleave([](const std::string& path) { return datasets::TFRecordDataset(path); },
///                                     {.cycle_length = 4});
CAPSTAN_EXPORT Dataset<std::string> list_files(const std::vector<std::string>& patterns,
                                               const ListFilesOptions& options = {});
CAPSTAN_EXPORT Dataset<std::string> list_files(const std::string& pattern, const ListFilesOptions& options = {});

/// Options of datasets of lines and records.
struct FileDatasetOptions {
  std::string compression_type = {};  ///< "": none, "GZIP" or "ZLIB"
  /// So many files are read at once, on threads, and their elements are interleaved, one of each in turn. None: one
  /// after the other.
  std::optional<std::int64_t> num_parallel_reads = {};
};

/// The lines of text files, without their ends: tf.data.TextLineDataset. Errors: ValueError for another compression or
/// fewer than one parallel read.
///
///     for (const std::string& line : datasets::TextLineDataset("poems.txt")) { ... }
CAPSTAN_EXPORT Dataset<std::string> TextLineDataset(const FileList& files, const FileDatasetOptions& options = {});

/// The records of TFRecord files: tf.data.TFRecordDataset. Errors: as TextLineDataset.
///
///     auto examples = datasets::TFRecordDataset("train.tfrecord").map(
///         [](const std::string& record) { return io::Example::parse(record)["x"].tensor(); });
CAPSTAN_EXPORT Dataset<std::string> TFRecordDataset(const FileList& files, const FileDatasetOptions& options = {});

/// Options of FixedLengthRecordDataset.
struct FixedLengthRecordOptions {
  std::int64_t header_bytes = 0;      ///< what is skipped at the start of each file
  std::int64_t footer_bytes = 0;      ///< and at its end
  std::string compression_type = {};  ///< "": none, "GZIP" or "ZLIB"
};

/// Records of one length: tf.data.FixedLengthRecordDataset. A file whose length does not fit is an IoError. Errors:
/// ValueError for a length below 1, a header or footer below 0, another compression.
///
///     auto images = datasets::FixedLengthRecordDataset("images.bin", 3072);
CAPSTAN_EXPORT Dataset<std::string> FixedLengthRecordDataset(const FileList& files, std::int64_t record_bytes,
                                                             const FixedLengthRecordOptions& options = {});

/// Options of CsvDataset: those of io::CsvReader, and what stands for missing fields.
template <class... Ts>
struct CsvDatasetOptions {
  /// A value for each column that may miss fields; in a column without one they are errors.
  std::tuple<std::optional<Ts>...> record_defaults = {};
  bool header = false;            ///< whether the first record has the names of the columns
  std::string field_delim = ",";  ///< one character
  bool use_quote_delim = true;    ///< whether "..." is a field, which may have delimiters and line ends, and "" for "
  std::string na_value = {};      ///< a missing value, beside the empty field
  std::vector<io::CsvKey> select_cols = {};  ///< columns by number or name, in rising order; all of them unless given
  std::string compression_type = {};
};

}  // namespace capstan::datasets

namespace capstan::detail {

/// Opens one file: a function that writes the parts of its next element, or returns false at its end.
using FileOpener = std::function<PartGenerator(const std::string& path)>;
CAPSTAN_EXPORT DatasetNodePtr read_files(const char* name, PartTypes types, DatasetNodePtr files, FileOpener open);

template <class T>
constexpr io::CsvType csv_type() {
  if constexpr (std::is_same_v<T, std::int32_t>) return io::CsvType::kInt32;
  if constexpr (std::is_same_v<T, std::int64_t>) return io::CsvType::kInt64;
  if constexpr (std::is_same_v<T, float>) return io::CsvType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return io::CsvType::kFloat64;
  if constexpr (std::is_same_v<T, std::string>) return io::CsvType::kText;
}
template <class T>
concept CsvField = std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, float> ||
    std::is_same_v<T, double> || std::is_same_v<T, std::string>;

template <class T>
io::CsvColumn csv_column(const std::optional<T>& missing) {
  if (!missing) return {csv_type<T>(), {}};
  if constexpr (std::is_integral_v<T>) return {csv_type<T>(), AttributeValue(std::int64_t{*missing})};
  if constexpr (std::is_floating_point_v<T>) return {csv_type<T>(), AttributeValue(double{*missing})};
  if constexpr (std::is_same_v<T, std::string>) return {csv_type<T>(), AttributeValue(*missing)};
}

template <class T>
T csv_value(io::CsvValue& value) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(std::get<std::int64_t>(value));
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(std::get<double>(value));
  if constexpr (std::is_same_v<T, std::string>) return std::get<std::string>(std::move(value));
}

}  // namespace capstan::detail

namespace capstan::datasets {

/// The records of tables, their columns of types std::int32_t, std::int64_t, float, double and std::string:
/// tf.data.experimental.CsvDataset. A record that is wrong is an IoError at its element, and the next can be read.
///
///     auto rows = datasets::CsvDataset<float, float, std::int32_t>("iris.csv", {.header = true, .select_cols = {0, 1,
///     4}}); auto pairs = rows.map([](float a, float b, std::int32_t c) { return std::tuple(constant({a, b}),
///     constant(c)); });
///
/// Errors, at the first element: as io::CsvReader.
template <detail::CsvField... Ts>
requires(sizeof...(Ts) > 0) Dataset<Ts...> CsvDataset(const FileList& files,
                                                      const CsvDatasetOptions<Ts...>& options = {}) {
  using Result = Dataset<Ts...>;
  const std::vector<io::CsvColumn> columns =
      std::apply([](const auto&... missing) { return std::vector<io::CsvColumn>{detail::csv_column(missing)...}; },
                 options.record_defaults);
  const io::CsvOptions table{.header = options.header,
                             .field_delim = options.field_delim,
                             .use_quote_delim = options.use_quote_delim,
                             .na_value = options.na_value,
                             .select_cols = options.select_cols,
                             .compression = options.compression_type};
  const detail::FileOpener open = [columns, table](const std::string& path) -> detail::PartGenerator {
    return [reader = std::make_shared<io::CsvReader>(path, columns, table)](detail::Part* element) {
      std::optional<std::vector<io::CsvValue>> record = reader->next();
      if (!record) return false;
      io::CsvValue* field = record->data();
      ((*element++ = detail::to_part<Ts>(detail::csv_value<Ts>(*field++))), ...);
      return true;
    };
  };
  return Result(detail::read_files("csv", Result::types(), files.node(), open));
}

}  // namespace capstan::datasets
