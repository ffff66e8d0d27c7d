#include "tests/house/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace capstan::house {

std::vector<std::string> SourceFile::lines() const {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

std::vector<SourceFile> source_files(const std::string& folder) {
  const std::filesystem::path root = CAPSTAN_SOURCE_DIR;
  std::vector<SourceFile> files;
  if (!std::filesystem::exists(root / folder)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
    const std::string extension = entry.path().extension();
    if (!entry.is_regular_file() || (extension != ".h" && extension != ".cc")) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    files.push_back({std::filesystem::relative(entry.path(), root).generic_string(), text.str()});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

std::vector<Include> includes(const SourceFile& file) {
  static const std::regex pattern(R"(^\s*#\s*include\s*["<]([^">]+)[">])");
  std::vector<Include> result;
  int number = 0;
  for (const std::string& line : file.lines()) {
    ++number;
    std::smatch match;
    if (std::regex_search(line, match, pattern)) result.push_back({number, match[1]});
  }
  return result;
}

}  // namespace capstan::house
