// Columns of a table: which are read, and which fields they have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "capstan/text_files.h"
#include "src/io/csv_records.h"

namespace capstan::io {

/// A file with its header after it.
struct OpenTable {
  CsvRecords records;
  std::vector<std::string> header;    // empty without one
  std::vector<std::size_t> selected;  // rising; empty: all columns
  bool has_selection = false;
};

/// Opens a file in the name of `reader` and looks up the columns that are asked for.
OpenTable open_table(const std::string& reader, const std::string& path, const CsvOptions& options);

/// The names of `count` columns that are read.
std::vector<std::string> names_of(const OpenTable& table, std::size_t count);

/// Calls take(i, field) for each column that is read of the record that `records`, those of the table or a part of
/// them, are at. Throws IoError unless the record has as many fields as there are columns, or with a selection all
/// that are selected.
template <class Take>
void for_each_field(const OpenTable& table, const CsvRecords& records, std::size_t columns, const Take& take) {
  const std::vector<std::string_view>& fields = records.fields();
  if (!table.has_selection) {
    if (fields.size() != columns) {
      records.fail("the record has " + std::to_string(fields.size()) + " fields, expected " + std::to_string(columns));
    }
    for (std::size_t i = 0; i < columns; ++i) take(i, fields[i]);
    return;
  }
  for (std::size_t i = 0; i < columns; ++i) {
    if (table.selected[i] >= fields.size()) {
      records.fail("the record has " + std::to_string(fields.size()) + " fields, and no column " +
                   std::to_string(table.selected[i]));
    }
    take(i, fields[table.selected[i]]);
  }
}

/// "int32", "text"
const char* name_of(CsvType type);

/// Checks what stands for missing values, in the name of `reader`.
void check_column(const std::string& reader, const CsvColumn& column, std::string_view name);

}  // namespace capstan::io
