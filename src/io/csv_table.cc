// Tables as a whole.
//
// The types of the columns follow from the first records. Then the file is cut into pieces of whole records, which
// threads put into columns of these types, each for itself, and in the end the parts of each column are joined.
#include <algorithm>
#include <cmath>

#include "capstan/text_files.h"
#include "src/core/check.h"
#include "src/core/thread_pool.h"
#include "src/core/unfilled.h"
#include "src/io/csv_columns.h"
#include "src/io/csv_numbers.h"

namespace capstan::io {

namespace {

constexpr const char* kReader = "read_csv";

// The fields of a column so far.
using Elements = std::variant<std::vector<std::int32_t>, std::vector<std::int64_t>, std::vector<float>,
                              std::vector<double>, std::vector<std::string>>;

Elements elements_of(CsvType type) {
  switch (type) {
    case CsvType::kInt32:
      return std::vector<std::int32_t>();
    case CsvType::kInt64:
      return std::vector<std::int64_t>();
    case CsvType::kFloat32:
      return std::vector<float>();
    case CsvType::kFloat64:
      return std::vector<double>();
    case CsvType::kText:
      break;
  }
  return std::vector<std::string>();
}

// The first type that holds all fields that were seen.
class Inference {
 public:
  void see(std::string_view field) {
    while (type_ != CsvType::kText && !holds(field)) type_ = static_cast<CsvType>(static_cast<int>(type_) + 1);
    has_seen_ = true;
  }
  void see_missing() { has_missing_ = true; }

  // Without a field that says more, a column is of texts, unless numbers stand for what is missing.
  CsvColumn column(double missing_number) const {
    CsvType type = has_seen_ ? type_ : CsvType::kFloat32;
    const bool is_integer = missing_number == std::floor(missing_number) && std::abs(missing_number) < 0x1p31;
    if (has_missing_ && !is_integer && type < CsvType::kFloat32) type = CsvType::kFloat32;
    if (type == CsvType::kText) return {type, ""};
    if (type < CsvType::kFloat32) {
      if (!is_integer) return {type, std::nullopt};
      return {type, static_cast<std::int64_t>(missing_number)};
    }
    return {type, missing_number};
  }

 private:
  bool holds(std::string_view field) const {
    std::int32_t small = 0;
    std::int64_t large = 0;
    float narrow = 0;
    double wide = 0;
    switch (type_) {
      case CsvType::kInt32:
        return parse_number(field, small);
      case CsvType::kInt64:
        return parse_number(field, large);
      case CsvType::kFloat32:
        return parse_number(field, narrow);
      case CsvType::kFloat64:
        return parse_number(field, wide);
      case CsvType::kText:
        break;
    }
    return true;
  }

  CsvType type_ = CsvType::kInt32;
  bool has_seen_ = false, has_missing_ = false;
};

}  // namespace

// Fills a CsvTable.
class CsvTableReader {
 public:
  CsvTableReader(const std::string& path, const ReadCsvOptions& options)
      : options_(options),
        table_(open_table(kReader, path,
                          {options.header, options.field_delim, options.use_quote_delim, options.na_value,
                           options.select_cols, options.compression})) {
    CAPSTAN_CHECK(options.num_rows_for_inference >= 1, ValueError, kReader,
                  ": num_rows_for_inference must be at least 1, not ", options.num_rows_for_inference);
    result_.path_ = path;
    line_ = table_.records.line_count() + 1;
  }

  CsvTable read() {
    make_columns(look_at_first_records());
    while (read_batch()) {
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) result_.columns_.push_back({columns_[i].type, {}, {}});
    parallel_for(static_cast<std::int64_t>(columns_.size()),
                 [&](std::int64_t i) { finish(static_cast<std::size_t>(i)); });
    return std::move(result_);
  }

 private:
  // The records of a piece of the file.
  struct Rows {
    std::vector<Elements> columns;
    std::int64_t count = 0;
  };

  // A piece fits a core's cache, and is large beside what handing it over costs.
  static constexpr std::size_t kPiece = std::size_t{1} << 20;
  static constexpr std::size_t kPiecesPerThread = 4;

  bool is_missing(std::string_view field) const {
    return field.empty() || (!options_.na_value.empty() && field == options_.na_value);
  }

  // The pieces that the first records lie in are read again with all others.
  std::vector<Inference> look_at_first_records() {
    std::vector<Inference> inferences;
    std::size_t count = table_.has_selection ? table_.selected.size() : table_.header.size();
    std::int64_t seen = 0;
    std::uint64_t line = line_;
    while (seen < options_.num_rows_for_inference) {
      std::unique_ptr<CsvRecords> piece = table_.records.cut(kPiece);
      if (piece == nullptr) break;
      piece->restart(line);
      for (; seen < options_.num_rows_for_inference && piece->next(); ++seen) {
        if (count == 0) count = piece->fields().size();
        inferences.resize(count);
        for_each_field(table_, *piece, count, [&](std::size_t i, std::string_view field) {
          is_missing(field) ? inferences[i].see_missing() : inferences[i].see(field);
        });
      }
      line = piece->line_count() + 1;
      pieces_.push_back(std::move(piece));
    }
    inferences.resize(count);
    return inferences;
  }

  void make_columns(const std::vector<Inference>& inferences) {
    result_.names_ = names_of(table_, inferences.size());
    std::map<std::string, CsvColumn> given = options_.columns;
    for (std::size_t i = 0; i < result_.names_.size(); ++i) {
      const std::string& name = result_.names_[i];
      const auto found = options_.columns.find(name);
      is_given_.push_back(found != options_.columns.end());
      if (is_given_.back()) {
        check_column(kReader, found->second, name);
        columns_.push_back(found->second);
        given.erase(name);
      } else {
        columns_.push_back(inferences[i].column(options_.missing_number));
      }
    }
    CAPSTAN_CHECK(given.empty(), ValueError, kReader, ": there is no column ", in_quotes(given.begin()->first),
                  ", whose type is given\n  file: ", result_.path_);
  }

  // Reads some pieces, at once where there are threads; false at the end. A piece does not know its lines before those
  // before it are read, so the first that has a mistake is read a second time for the error.
  bool read_batch() {
    const auto most = kPiecesPerThread * static_cast<std::size_t>(thread_count());
    while (pieces_.size() < most) {
      std::unique_ptr<CsvRecords> piece = table_.records.cut(kPiece);
      if (piece == nullptr) break;
      pieces_.push_back(std::move(piece));
    }
    std::vector<std::optional<Rows>> batch(pieces_.size());
    parallel_for(static_cast<std::int64_t>(batch.size()), [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      try {
        pieces_[at]->restart(1);
        batch[at] = rows_of(*pieces_[at]);
      } catch (const IoError&) {  // NOLINT(bugprone-empty-catch): thrown again below, with its line
      }
    });
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!batch[i]) {
        pieces_[i]->restart(line_);
        batch[i] = rows_of(*pieces_[i]);
      }
      line_ += pieces_[i]->line_count();
      result_.rows_ += batch[i]->count;
      rows_.push_back(std::move(*batch[i]));
    }
    pieces_.clear();
    return !batch.empty();
  }

  Rows rows_of(CsvRecords& records) const {
    Rows rows;
    for (const CsvColumn& column : columns_) rows.columns.push_back(elements_of(column.type));
    while (records.next()) {
      for_each_field(table_, records, columns_.size(),
                     [&](std::size_t i, std::string_view field) { add(records, i, field, rows.columns[i]); });
      ++rows.count;
    }
    return rows;
  }

  void add(const CsvRecords& records, std::size_t i, std::string_view field, Elements& column) const {
    std::visit(
        [&](auto& elements) {
          using T = typename std::remove_reference_t<decltype(elements)>::value_type;
          if (is_missing(field)) {
            if (!columns_[i].missing) refuse(records, i, field);
            if constexpr (std::is_same_v<T, std::string>) {
              elements.push_back(columns_[i].missing->text);
            } else if constexpr (std::is_integral_v<T>) {
              elements.push_back(static_cast<T>(columns_[i].missing->integer));
            } else {
              elements.push_back(static_cast<T>(columns_[i].missing->number));
            }
          } else if constexpr (std::is_same_v<T, std::string>) {
            elements.emplace_back(field);
          } else {
            T value{};
            if (!parse_number(field, value)) refuse(records, i, field);
            elements.push_back(value);
          }
        },
        column);
  }

  [[noreturn]] void refuse(const CsvRecords& records, std::size_t column, std::string_view field) const {
    const std::string name = "column " + in_quotes(result_.names_[column]);
    records.fail(is_missing(field) ? name + " is required, and its field is missing"
                                   : name + " is " + in_quotes(field) + ", which is no " +
                                         std::string(name_of(columns_[column].type)),
                 is_given_[column] ? "" : "its type was found out from the first records; give it in columns");
  }

  // Puts the parts of a column together.
  void finish(std::size_t i) {
    CsvTable::Column& column = result_.columns_[i];
    const Elements kind = elements_of(column.type);
    std::visit(
        [&](const auto& none) {
          using Parts = std::remove_cvref_t<decltype(none)>;
          using T = typename Parts::value_type;
          T* at = nullptr;
          if constexpr (std::is_same_v<T, std::string>) {
            column.texts.resize(static_cast<std::size_t>(result_.rows_));
            at = column.texts.data();
          } else {
            column.numbers = detail::unfilled(kDTypeOf<T>, {result_.rows_});
            at = static_cast<T*>(const_cast<void*>(column.numbers.raw_data()));
          }
          for (Rows& rows : rows_) {
            auto& part = std::get<Parts>(rows.columns[i]);
            at = std::move(part.begin(), part.end(), at);
            part = {};
          }
        },
        kind);
  }

  const ReadCsvOptions& options_;
  OpenTable table_;
  CsvTable result_;
  std::vector<CsvColumn> columns_;
  std::vector<bool> is_given_;
  std::vector<std::unique_ptr<CsvRecords>> pieces_;  // cut off, and not in rows_ yet
  std::uint64_t line_ = 1;                           // of the first of them
  std::vector<Rows> rows_;
};

CsvTable read_csv(const std::string& path, const ReadCsvOptions& options) {
  return CsvTableReader(path, options).read();
}

const CsvTable::Column& CsvTable::column(const std::string& name) const {
  std::string all;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return columns_[i];
    all += (all.empty() ? "" : ", ") + in_quotes(names_[i]);
  }
  detail::fail<IndexError>("csv_table: there is no column ", in_quotes(name), "\n  columns: ", all,
                           "\n  file: ", path_);
}

CsvType CsvTable::type(const std::string& name) const { return column(name).type; }

const Tensor& CsvTable::tensor(const std::string& name) const {
  const Column& found = column(name);
  CAPSTAN_CHECK(found.type != CsvType::kText, ValueError, "csv_table: column ", in_quotes(name),
                " has texts, not numbers");
  return found.numbers;
}

const std::vector<std::string>& CsvTable::texts(const std::string& name) const {
  const Column& found = column(name);
  CAPSTAN_CHECK(found.type == CsvType::kText, ValueError, "csv_table: column ", in_quotes(name),
                " has numbers, not texts", help("give columns its type, CsvType::kText"));
  return found.texts;
}

}  // namespace capstan::io
