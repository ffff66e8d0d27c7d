// Text files: lines, and tables of values between commas.
//
// A file is untrusted: what is wrong in it is an IoError that names the file, the line and the column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "capstan/export.h"
#include "capstan/registry.h"
#include "capstan/tensor.h"

namespace capstan::io {

/// Options of LineReader.
struct LineReaderOptions {
  std::string compression = {};  ///< "": none, "GZIP" or "ZLIB"
};

/// Reads a file line by line: tf.data.TextLineDataset. Lines end with "\n", which is removed, as is every "\r" in them;
/// the last line needs no end. One thread at a time. Errors: ValueError for another compression; IoError if the file
/// cannot be read.
///
///     io::LineReader reader("names.txt");
///     while (std::optional<std::string> line = reader.next()) names.push_back(*line);
class CAPSTAN_EXPORT LineReader {
 public:
  explicit LineReader(const std::string& path, const LineReaderOptions& options = {});
  LineReader(LineReader&& other) noexcept;
  LineReader& operator=(LineReader&& other) noexcept;
  ~LineReader();

  /// The next line, or nothing at the end.
  std::optional<std::string> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What the fields of a column are.
enum class CsvType : std::uint8_t { kInt32, kInt64, kFloat32, kFloat64, kText };

/// A column of a table.
struct CsvColumn {
  CsvType type = CsvType::kFloat32;
  /// Stands where a field is empty or CsvOptions::na_value: a number or a text. Without it such a field is an error.
  std::optional<AttributeValue> missing = {};
};

/// A column by its number, from 0, or by its name in the header.
using CsvKey = std::variant<std::int64_t, std::string>;

/// How a table is written; options of CsvReader.
struct CsvOptions {
  bool header = false;            ///< whether the first record has the names of the columns
  std::string field_delim = ",";  ///< one character
  bool use_quote_delim = true;    ///< whether "..." is a field, which may have delimiters and line ends, and "" for "
  std::string na_value = {};      ///< a missing value, beside the empty field
  std::vector<CsvKey> select_cols = {};  ///< the columns that are read, in rising order; all of them unless given
  std::string compression = {};          ///< "": none, "GZIP" or "ZLIB"
};

/// A field: an integer, a floating number or a text.
using CsvValue = std::variant<std::int64_t, double, std::string>;

/// Reads a table record by record: tf.data.experimental.CsvDataset. A record ends with a line end outside of quotes;
/// spaces around numbers do not count. One thread at a time. Errors: ValueError for options that make no sense, as an
/// unknown name; IoError for a file that cannot be read.
///
///     using io::CsvType;
///     io::CsvReader reader("iris.csv", {{CsvType::kFloat32}, {CsvType::kInt32, 0}, {CsvType::kText}}, {.header =
///     true}); while (auto record = reader.next()) std::puts(std::get<std::string>(record->at(2)).c_str());
class CAPSTAN_EXPORT CsvReader {
 public:
  /// The columns that are read, each with its type.
  CsvReader(const std::string& path, const std::vector<CsvColumn>& columns, const CsvOptions& options = {});
  CsvReader(CsvReader&& other) noexcept;
  CsvReader& operator=(CsvReader&& other) noexcept;
  ~CsvReader();

  /// The next record, or nothing at the end. Errors: IoError for a field that is missing or not of its type, a number
  /// of fields that is not that of the columns, and quotes where none may be; after one the next record can be read,
  /// unless a quote was left open.
  std::optional<std::vector<CsvValue>> next();
  /// The names of the columns that are read: those of the header, or "0", "1", ...
  const std::vector<std::string>& names() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Options of read_csv.
struct ReadCsvOptions {
  bool header = true;
  std::string field_delim = ",";
  bool use_quote_delim = true;
  std::string na_value = {};
  std::vector<CsvKey> select_cols = {};
  std::string compression = {};
  /// Columns by name whose type is not to be found out; without a header the names are "0", "1", ...
  std::map<std::string, CsvColumn> columns = {};
  /// So many records are looked at to find out types: int32, int64, float32, float64 or text, the first that holds all
  /// fields of a column.
  std::int64_t num_rows_for_inference = 100;
  /// Stands for a missing number in columns whose type was found out; one with NaN, or another fraction, makes columns
  /// of integers with missing values floating.
  double missing_number = 0;
};

/// Columns of a file.
class CAPSTAN_EXPORT CsvTable {
 public:
  const std::vector<std::string>& names() const { return names_; }
  std::int64_t row_count() const { return rows_; }
  /// Errors, of these: IndexError for an unknown name, with those of all.
  CsvType type(const std::string& name) const;
  /// The numbers of a column, [rows]: int32, int64, float32 or float64. Errors: ValueError for a column of texts.
  const Tensor& tensor(const std::string& name) const;
  /// The texts of a column. Errors: ValueError for a column of numbers.
  const std::vector<std::string>& texts(const std::string& name) const;

 private:
  friend class CsvTableReader;
  struct Column {
    CsvType type;
    Tensor numbers;
    std::vector<std::string> texts;
  };
  const Column& column(const std::string& name) const;

  std::string path_;
  std::vector<std::string> names_;
  std::vector<Column> columns_;
  std::int64_t rows_ = 0;
};

/// Reads a table as a whole, by columns, and finds out their types from its first records. Errors: as of CsvReader,
/// also for a later field that is not of the type that was found out.
///
///     io::CsvTable table = io::read_csv("iris.csv");
///     Tensor x = stack(std::vector{table.tensor("sepal"), table.tensor("petal")}, 1);   // float32[rows, 2]
///     const std::vector<std::string>& species = table.texts("species");
CAPSTAN_EXPORT CsvTable read_csv(const std::string& path, const ReadCsvOptions& options = {});

}  // namespace capstan::io
