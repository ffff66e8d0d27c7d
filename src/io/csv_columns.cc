#include "src/io/csv_columns.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "src/core/check.h"
#include "src/io/compression.h"

namespace capstan::io {

OpenTable open_table(const std::string& reader, const std::string& path, const CsvOptions& options) {
  CAPSTAN_CHECK(options.field_delim.size() == 1 && options.field_delim[0] != '\n' && options.field_delim[0] != '\r' &&
                    !(options.use_quote_delim && options.field_delim[0] == '"'),
                ValueError, reader, ": field_delim must be one character, and no line end or quote, not ",
                quoted(options.field_delim));
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
      CAPSTAN_CHECK(options.header, ValueError, reader, ": column ", quoted(*name), " is selected by its name, but ",
                    "the options say that there is no header");
      const auto found = std::find(table.header.begin(), table.header.end(), *name);
      CAPSTAN_CHECK(found != table.header.end(), ValueError, reader, ": there is no column ", quoted(*name),
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

namespace {

// Numbers as "-12.345" whose digits make an integer that T holds exactly, over a power of ten that it holds exactly:
// one division gives the nearest T then. Most numbers in tables are of this kind, and it takes a third of the time.
// False for any other text.
template <class T>
bool parse_short_decimal(std::string_view field, T& value) {
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  constexpr std::uint64_t kMostDigits = std::uint64_t{1} << std::numeric_limits<T>::digits;
  constexpr std::size_t kMostPlaces = kIsFloat ? 10 : 15, kLongest = 18;
  static constexpr T kPowers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const char* at = field.data();
  const char* const end = at + field.size();
  if (field.size() > kLongest) return false;
  const bool is_negative = at != end && *at == '-';
  if (is_negative) ++at;
  const char* const first = at;
  const char* point = nullptr;
  std::uint64_t digits = 0;
  for (; at != end; ++at) {
    const auto digit = static_cast<unsigned>(*at - '0');
    if (digit < 10) {
      digits = digits * 10 + digit;
    } else if (*at == '.' && point == nullptr) {
      point = at;
    } else {
      return false;
    }
  }
  const std::size_t places = point == nullptr ? 0 : static_cast<std::size_t>(end - point - 1);
  const std::size_t count = static_cast<std::size_t>(end - first) - (point == nullptr ? 0 : 1);
  if (count == 0 || digits > kMostDigits || places > kMostPlaces) return false;
  const T size = static_cast<T>(digits) / kPowers[places];
  value = is_negative ? -size : size;
  return true;
}

}  // namespace

template <class T>
bool parse_number(std::string_view field, T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (parse_short_decimal(field, value)) return true;
  }
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!field.empty() && is_space(field.front())) field.remove_prefix(1);
  while (!field.empty() && is_space(field.back())) field.remove_suffix(1);
  // A plus is no part of a number for from_chars; one of two signs is none for anybody.
  if (field.size() > 1 && field[0] == '+' && field[1] != '-' && field[1] != '+') field.remove_prefix(1);
  const char* const end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (error == std::errc() && stop == end) return true;
  if constexpr (std::is_floating_point_v<T>) {
    // Also of numbers that are too small, which are 0.
    if (error == std::errc::result_out_of_range && stop == end) {
      const double wide = std::strtod(std::string(field).c_str(), nullptr);
      value = static_cast<T>(wide);
      return std::isfinite(value);
    }
  }
  return false;
}

template bool parse_number(std::string_view field, std::int32_t& value);
template bool parse_number(std::string_view field, std::int64_t& value);
template bool parse_number(std::string_view field, float& value);
template bool parse_number(std::string_view field, double& value);

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
  CAPSTAN_CHECK(fits, ValueError, reader, ": what stands for missing values of column ", quoted(name), ", ",
                value.to_string(), ", is no ", name_of(column.type));
}

}  // namespace capstan::io
