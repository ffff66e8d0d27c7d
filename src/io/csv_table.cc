// Tables as a whole.
//
// The first records are read as texts, from which the types of the columns follow; these records and all others are
// then put into columns of these types, each field once.
#include <cmath>
#include <limits>

#include "capstan/text_files.h"
#include "src/core/check.h"
#include "src/io/csv_columns.h"

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
  }

  CsvTable read() {
    read_first_records();
    make_columns();
    for (const std::vector<std::string>& record : first_) {
      for (std::size_t i = 0; i < record.size(); ++i) add(i, record[i]);
      ++result_.rows_;
    }
    while (table_.records.next()) {
      for_each_field(table_, columns_.size(), [&](std::size_t i, std::string_view field) { add(i, field); });
      ++result_.rows_;
    }
    finish();
    return std::move(result_);
  }

 private:
  bool is_missing(std::string_view field) const {
    return field.empty() || (!options_.na_value.empty() && field == options_.na_value);
  }

  void read_first_records() {
    std::size_t count = table_.has_selection ? table_.selected.size() : table_.header.size();
    while (static_cast<std::int64_t>(first_.size()) < options_.num_rows_for_inference && table_.records.next()) {
      if (count == 0) count = table_.records.fields().size();
      first_.emplace_back();
      for_each_field(table_, count, [&](std::size_t, std::string_view field) { first_.back().emplace_back(field); });
      first_lines_.push_back(table_.records.line());
    }
    result_.names_ = names_of(table_, count);
  }

  void make_columns() {
    std::map<std::string, CsvColumn> given = options_.columns;
    for (std::size_t i = 0; i < result_.names_.size(); ++i) {
      const std::string& name = result_.names_[i];
      if (const auto found = options_.columns.find(name); found != options_.columns.end()) {
        check_column(kReader, found->second, name);
        columns_.push_back(found->second);
        given.erase(name);
        is_given_.push_back(true);
      } else {
        Inference inference;
        for (const std::vector<std::string>& record : first_) {
          is_missing(record[i]) ? inference.see_missing() : inference.see(record[i]);
        }
        columns_.push_back(inference.column(options_.missing_number));
        is_given_.push_back(false);
      }
      elements_.push_back(elements_of(columns_.back().type));
    }
    CAPSTAN_CHECK(given.empty(), ValueError, kReader, ": there is no column ", quoted(given.begin()->first),
                  ", whose type is given\n  file: ", result_.path_);
  }

  [[noreturn]] void refuse(std::size_t column, std::string_view field) const {
    const std::string name = "column " + quoted(result_.names_[column]);
    const std::string problem = is_missing(field) ? name + " is required, and its field is missing"
                                                  : name + " is " + quoted(field) + ", which is no " +
                                                        std::string(name_of(columns_[column].type));
    const std::string remedy =
        is_given_[column] ? "" : "its type was found out from the first records; give it in columns";
    // Of the first records the lines are noted.
    if (result_.rows_ < static_cast<std::int64_t>(first_.size())) {
      const std::uint64_t line = first_lines_[static_cast<std::size_t>(result_.rows_)];
      fail_file(kReader, "line " + std::to_string(line) + ": " + problem, result_.path_, remedy);
    }
    table_.records.fail(problem, remedy);
  }

  void add(std::size_t i, std::string_view field) {
    std::visit(
        [&](auto& elements) {
          using T = typename std::remove_reference_t<decltype(elements)>::value_type;
          if (is_missing(field)) {
            if (!columns_[i].missing) refuse(i, field);
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
            if (!parse_number(field, value)) refuse(i, field);
            elements.push_back(value);
          }
        },
        elements_[i]);
  }

  void finish() {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      result_.columns_.push_back({columns_[i].type, {}, {}});
      std::visit(
          [&](auto& elements) {
            using T = typename std::remove_reference_t<decltype(elements)>::value_type;
            if constexpr (std::is_same_v<T, std::string>) {
              result_.columns_.back().texts = std::move(elements);
            } else {
              result_.columns_.back().numbers = constant(std::span<const T>(elements));
            }
            elements = {};
          },
          elements_[i]);
    }
  }

  const ReadCsvOptions& options_;
  OpenTable table_;
  CsvTable result_;
  std::vector<std::vector<std::string>> first_;
  std::vector<std::uint64_t> first_lines_;
  std::vector<CsvColumn> columns_;
  std::vector<bool> is_given_;
  std::vector<Elements> elements_;
};

CsvTable read_csv(const std::string& path, const ReadCsvOptions& options) {
  return CsvTableReader(path, options).read();
}

const CsvTable::Column& CsvTable::column(const std::string& name) const {
  std::string all;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return columns_[i];
    all += (all.empty() ? "" : ", ") + quoted(names_[i]);
  }
  detail::fail<IndexError>("csv_table: there is no column ", quoted(name), "\n  columns: ", all, "\n  file: ", path_);
}

CsvType CsvTable::type(const std::string& name) const { return column(name).type; }

const Tensor& CsvTable::tensor(const std::string& name) const {
  const Column& found = column(name);
  CAPSTAN_CHECK(found.type != CsvType::kText, ValueError, "csv_table: column ", quoted(name),
                " has texts, not numbers");
  return found.numbers;
}

const std::vector<std::string>& CsvTable::texts(const std::string& name) const {
  const Column& found = column(name);
  CAPSTAN_CHECK(found.type == CsvType::kText, ValueError, "csv_table: column ", quoted(name), " has numbers, not texts",
                help("give columns its type, CsvType::kText"));
  return found.texts;
}

}  // namespace capstan::io
