#include "src/io/csv_columns.h"

#include <algorithm>

#include "src/core/check.h"
#include "src/io/compression.h"

namespace capstan::io {

OpenTable open_table(const std::string& reader, const std::string& path, const CsvOptions& options) {
  CAPSTAN_CHECK(options.field_delim.size() == 1 && options.field_delim[0] != '\n' && options.field_delim[0] != '\r' &&
                    !(options.use_quote_delim && options.field_delim[0] == '"'),
                ValueError, reader, ": field_delim must be one character, and no line end or quote, not ",
                in_quotes(options.field_delim));
  const Compression compression = compression_from(reader, options.compression);
  OpenTable table{CsvRecords(open_compressed(reader, path, compression),
                             {.delimiter = options.field_delim[0], .has_quotes = options.use_quote_delim}),
                  {},
                  {},
                  !options.select_cols.empty()};
  if (options.header && table.records.next()) {
    for (const std::string_view name : table.records.fields()) table.header.emplace_back(name);
  }
  for (const CsvKey& key : options.select_cols) {
    if (const auto* name = std::get_if<std::string>(&key)) {
      CAPSTAN_CHECK(options.header, ValueError, reader, ": column ", in_quotes(*name), " is selected by its name, but ",
                    "the options say that there is no header");
      const auto found = std::find(table.header.begin(), table.header.end(), *name);
      CAPSTAN_CHECK(found != table.header.end(), ValueError, reader, ": there is no column ", in_quotes(*name),
                    "\n  file: ", path);
      table.selected.push_back(static_cast<std::size_t>(found - table.header.begin()));
    } else {
      const std::int64_t number = std::get<std::int64_t>(key);
      CAPSTAN_CHECK(number >= 0, ValueError, reader, ": column ", number, " must not be negative");
      CAPSTAN_CHECK(table.header.empty() || static_cast<std::size_t>(number) < table.header.size(), ValueError, reader,
                    ": there is no column ", number, ", the header has ", table.header.size(), "\n  file: ", path);
      table.selected.push_back(static_cast<std::size_t>(number));
    }
    CAPSTAN_CHECK(table.selected.size() < 2 || table.selected[table.selected.size() - 2] < table.selected.back(),
                  ValueError, reader, ": select_cols must be in rising order, but column ", table.selected.back(),
                  " comes after column ", table.selected[table.selected.size() - 2]);
  }
  return table;
}

std::vector<std::string> names_of(const OpenTable& table, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t column = table.has_selection ? table.selected[i] : i;
    names.push_back(column < table.header.size() ? table.header[column] : std::to_string(column));
  }
  return names;
}

const char* name_of(CsvType type) {
  constexpr const char* kNames[] = {"int32", "int64", "float32", "float64", "text"};
  return kNames[static_cast<std::size_t>(type)];
}

void check_column(const std::string& reader, const CsvColumn& column, std::string_view name) {
  if (!column.missing) return;
  const AttributeValue& value = *column.missing;
  const bool is_text = value.kind == AttributeValue::Kind::kString;
  bool fits = false;
  switch (column.type) {
    case CsvType::kInt32:
      fits = value.kind == AttributeValue::Kind::kInt &&
             value.integer == static_cast<std::int64_t>(static_cast<std::int32_t>(value.integer));
      break;
    case CsvType::kInt64:
      fits = value.kind == AttributeValue::Kind::kInt;
      break;
    case CsvType::kFloat32:
    case CsvType::kFloat64:
      fits = value.is_number();
      break;
    case CsvType::kText:
      fits = is_text;
      break;
  }
  CAPSTAN_CHECK(fits, ValueError, reader, ": what stands for missing values of column ", in_quotes(name), ", ",
                value.to_string(), ", is no ", name_of(column.type));
}

}  // namespace capstan::io
