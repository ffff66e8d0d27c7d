// Tables from text files whose values stand between commas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "capstan/error.h"
#include "capstan/tensor.h"

namespace examples {

/// A table: the texts of each column, by the name in the first line.
class Table {
 public:
  /// Reads a file whose values hold no commas, quotes or line ends. Errors: IoError for a file that is not there, or
  /// a line with another number of values than the first one.
  static Table read(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) throw capstan::IoError("table: cannot read " + path);
    Table table;
    const std::vector<std::string> names = split(line);
    while (std::getline(file, line)) {
      const std::vector<std::string> values = split(line);
      if (values.size() != names.size()) {
        throw capstan::IoError("table: a line of " + path + " has " + std::to_string(values.size()) +
                               " values instead of " + std::to_string(names.size()) + "\n  line: " + line);
      }
      for (std::size_t i = 0; i < names.size(); ++i) table.columns_[names[i]].push_back(values[i]);
      ++table.rows_;
    }
    return table;
  }

  std::size_t rows() const { return rows_; }

  /// Leaves out rows in which a column is empty.
  Table without_missing(const std::string& name) const {
    Table kept;
    for (const auto& [key, values] : columns_) {
      for (std::size_t i = 0; i < rows_; ++i) {
        if (!column(name)[i].empty()) kept.columns_[key].push_back(values[i]);
      }
      kept.rows_ = kept.columns_[key].size();
    }
    return kept;
  }

  /// Errors: IndexError for an unknown name.
  const std::vector<std::string>& column(const std::string& name) const {
    const auto found = columns_.find(name);
    if (found == columns_.end()) throw capstan::IndexError("table: there is no column " + name);
    return found->second;
  }

  /// Columns of numbers: float32 [rows, names]. Errors: ValueError for what is no number.
  capstan::Tensor numbers(const std::vector<std::string>& names) const {
    std::vector<float> values;
    for (std::size_t i = 0; i < rows_; ++i) {
      for (const std::string& name : names) values.push_back(number(column(name)[i], name));
    }
    return capstan::constant(values, {static_cast<std::int64_t>(rows_), static_cast<std::int64_t>(names.size())});
  }

 private:
  static std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> values(1);
    for (const char c : line) {
      if (c == ',') {
        values.emplace_back();
      } else if (c != '\r') {
        values.back() += c;
      }
    }
    return values;
  }

  static float number(const std::string& text, const std::string& name) {
    char* end = nullptr;
    const float value = std::strtof(text.c_str(), &end);
    if (text.empty() || *end != '\0') throw capstan::ValueError("table: " + name + " is no number: " + text);
    return value;
  }

  std::map<std::string, std::vector<std::string>> columns_;
  std::size_t rows_ = 0;
};

}  // namespace examples
