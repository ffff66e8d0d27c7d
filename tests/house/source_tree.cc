#include "tests/house/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace capstan::house {

std::vector<std::string> SourceFile::lines() const {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

namespace {

// The files below `folder` with one of the extensions, sorted by path; nothing of what is built or hidden.
std::vector<SourceFile> files_with(const std::string& folder, const std::set<std::string>& extensions) {
  const std::filesystem::path root = CAPSTAN_SOURCE_DIR;
  std::vector<SourceFile> files;
  if (!std::filesystem::exists(root / folder)) return files;
  for (std::filesystem::recursive_directory_iterator i(root / folder), end; i != end; ++i) {
    const std::string name = i->path().filename();
    if (i->is_directory() && (name == "build" || name.front() == '.')) i.disable_recursion_pending();
    if (!i->is_regular_file() || !extensions.contains(i->path().extension())) continue;
    const std::string path = std::filesystem::relative(i->path(), root).generic_string();
    files.push_back({path, read_file(path)});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(std::filesystem::path(CAPSTAN_SOURCE_DIR) / path).rdbuf();
  return text.str();
}

std::vector<SourceFile> source_files(const std::string& folder) { return files_with(folder, {".h", ".cc"}); }

std::vector<SourceFile> documents() { return files_with(".", {".md"}); }

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
