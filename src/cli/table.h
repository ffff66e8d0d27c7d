// Rows of texts in columns.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace capstan::cli {

// The first column is aligned left, the others right.
inline void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + space : "  " + space + row[i];
    }
    std::printf("%s\n", line.c_str());
  }
}

// Names come from files: what is no printable ASCII or UTF-8 is shown as "?".
inline std::string printable(const std::string& text) {
  std::string result = text;
  for (char& letter : result) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20 || code == 0x7f) letter = '?';
  }
  return result;
}

}  // namespace capstan::cli
