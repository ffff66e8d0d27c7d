// Records of tables, with the types of their columns given.
#include "capstan/text_files.h"
#include "src/core/check.h"
#include "src/io/csv_columns.h"
#include "src/io/csv_numbers.h"

namespace capstan::io {

struct CsvReader::State {
  OpenTable table;
  std::vector<CsvColumn> columns;
  std::vector<std::string> names;
  std::string na_value;

  CsvValue missing(std::size_t i) const {
    const CsvColumn& column = columns[i];
    if (!column.missing) table.records.fail("column \"" + names[i] + "\" is required, and its field is missing");
    if (column.type == CsvType::kText) return column.missing->text;
    if (column.type == CsvType::kInt32 || column.type == CsvType::kInt64) return column.missing->integer;
    return column.missing->number;
  }

  template <class T>
  T number(std::size_t i, std::string_view field) const {
    T value{};
    if (!parse_number(field, value)) {
      table.records.fail("column \"" + names[i] + "\" is " + in_quotes(field) + ", which is no " +
                         name_of(columns[i].type));
    }
    return value;
  }

  CsvValue value(std::size_t i, std::string_view field) const {
    if (field.empty() || (!na_value.empty() && field == na_value)) return missing(i);
    switch (columns[i].type) {
      case CsvType::kInt32:
        return std::int64_t{number<std::int32_t>(i, field)};
      case CsvType::kInt64:
        return number<std::int64_t>(i, field);
      case CsvType::kFloat32:
        return double{number<float>(i, field)};
      case CsvType::kFloat64:
        return number<double>(i, field);
      case CsvType::kText:
        break;
    }
    return std::string(field);
  }
};

CsvReader::CsvReader(const std::string& path, const std::vector<CsvColumn>& columns, const CsvOptions& options) {
  constexpr const char* kReader = "csv_reader";
  CAPSTAN_CHECK(!columns.empty(), ValueError, kReader, ": there are no columns");
  CAPSTAN_CHECK(options.select_cols.empty() || options.select_cols.size() == columns.size(), ValueError, kReader, ": ",
                columns.size(), " columns are described, and ", options.select_cols.size(), " selected");
  OpenTable table = open_table(kReader, path, options);
  std::vector<std::string> names = names_of(table, columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) check_column(kReader, columns[i], names[i]);
  state_.reset(new State{std::move(table), columns, std::move(names), options.na_value});
}
CsvReader::CsvReader(CsvReader&&) noexcept = default;
CsvReader& CsvReader::operator=(CsvReader&&) noexcept = default;
CsvReader::~CsvReader() = default;

const std::vector<std::string>& CsvReader::names() const {
  CAPSTAN_CHECK(state_ != nullptr, ValueError, "csv_reader: it was moved from");
  return state_->names;
}

std::optional<std::vector<CsvValue>> CsvReader::next() {
  CAPSTAN_CHECK(state_ != nullptr, ValueError, "csv_reader: it was moved from");
  if (!state_->table.records.next()) return std::nullopt;
  std::vector<CsvValue> values;
  values.reserve(state_->columns.size());
  for_each_field(state_->table, state_->table.records, state_->columns.size(),
                 [&](std::size_t i, std::string_view field) { values.push_back(state_->value(i, field)); });
  return values;
}

}  // namespace capstan::io
