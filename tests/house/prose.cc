#include "tests/house/prose.h"

#include <set>
#include <algorithm>
#include <filesystem>
#include <regex>

namespace capstan::house {
namespace {

bool is_document(const std::string& path) { return path.ends_with(".md"); }

// Where the comment of a line starts; npos if there is none. A literal that holds slashes is no comment.
std::size_t comment_of(const std::string& line) {
  bool literal = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && literal)
      ++i;
    else if (line[i] == '"')
      literal = !literal;
    else if (!literal && line.compare(i, 2, "//") == 0)
      return i;
  }
  return std::string::npos;
}

void add_words(const std::string& text, std::set<std::string>& words) {
  for (std::size_t i = 0; i < text.size();) {
    const auto is_word = [&](std::size_t at) {
      return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
    };
    std::size_t end = i;
    while (is_word(end)) ++end;
    if (end > i) words.insert(text.substr(i, end - i));
    i = end + 1;
  }
}

const std::vector<SourceFile>& sources() {
  static const std::vector<SourceFile> all = [] {
    std::vector<SourceFile> files;
    for (const char* folder : {"include", "src", "tests", "examples", "benchmarks"}) {
      for (SourceFile& file : source_files(folder)) files.push_back(std::move(file));
    }
    return files;
  }();
  return all;
}

}  // namespace

std::vector<Prose> prose_of(const SourceFile& file) {
  std::vector<Prose> result;
  bool code = false;
  int number = 0;
  for (const std::string& line : file.lines()) {
    ++number;
    if (is_document(file.path)) {
      const std::size_t first = line.find_first_not_of(' ');
      if (first != std::string::npos && line.compare(first, 3, "```") == 0)
        code = !code;
      else if (!code)
        result.push_back({file.path, number, line});
    } else if (const std::size_t at = comment_of(line); at != std::string::npos) {
      result.push_back({file.path, number, line.substr(at)});
    }
  }
  return result;
}

std::vector<Prose> prose_of_documents() {
  std::vector<Prose> result;
  for (const SourceFile& file : documents()) {
    for (Prose& prose : prose_of(file)) result.push_back(std::move(prose));
  }
  return result;
}

std::vector<Prose> prose_of_sources() {
  std::vector<Prose> result;
  for (const SourceFile& file : sources()) {
    for (Prose& prose : prose_of(file)) result.push_back(std::move(prose));
  }
  return result;
}

std::vector<std::string> quoted(const std::string& text) {
  std::vector<std::string> result;
  for (std::size_t begin = text.find('`'); begin != std::string::npos;) {
    const std::size_t end = text.find('`', begin + 1);
    if (end == std::string::npos) break;
    result.push_back(text.substr(begin + 1, end - begin - 1));
    begin = text.find('`', end + 1);
  }
  return result;
}

std::string without_comments(const std::string& text) {
  std::string result;
  for (const std::string& line : SourceFile{"", text}.lines()) result += line.substr(0, comment_of(line)) + "\n";
  return result;
}

std::string without_comments_and_texts(const std::string& text) {
  std::string code;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "//") == 0) {
      while (i < text.size() && text[i] != '\n') ++i;
      code += '\n';
    } else if (text.compare(i, 2, "R\"") == 0) {
      const std::size_t open = text.find('(', i);
      if (open == std::string::npos) return code;
      i = text.find(")" + text.substr(i + 2, open - i - 2) + "\"", open);
      if (i == std::string::npos) return code;
      i = text.find('"', i);
      code += "\"\"";
    } else if (text.compare(i, 3, "'\"'") == 0) {
      i += 2;
    } else if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\';
      code += "\"\"";
    } else {
      code += text[i];
    }
  }
  return code;
}

const std::set<std::string>& words_of_code() {
  static const std::set<std::string> all = [] {
    std::set<std::string> words;
    for (const SourceFile& file : sources()) {
      // The samples of these tests are no code.
      if (!file.path.starts_with("tests/house/")) add_words(without_comments(file.text), words);
    }
    static const std::regex other_code(
        R"(.*(\.cmake|\.in|\.sh|\.py|CMakeLists\.txt|CMakePresets\.json|Makefile|\.ci/run)|tests/golden/.*\.json)");
    for (const std::string& path : paths()) {
      add_words(path, words);
      if (std::regex_match(path, other_code)) add_words(read_file(path), words);
      if (path.starts_with("tests/")) add_words(path.substr(6) + "_tests", words);
    }
    return words;
  }();
  return all;
}

const std::set<std::string>& paths() {
  static const std::set<std::string> all = [] {
    const std::filesystem::path root = CAPSTAN_SOURCE_DIR;
    std::set<std::string> found;
    for (std::filesystem::recursive_directory_iterator i(root), end; i != end; ++i) {
      const std::string path = std::filesystem::relative(i->path(), root).generic_string();
      if (path == "build" || path == ".git") i.disable_recursion_pending();
      found.insert(path);
    }
    return found;
  }();
  return all;
}

bool exists(const std::string& path) {
  if (path.find_first_of("*<") == std::string::npos) return paths().contains(path);
  std::string pattern = std::regex_replace(path, std::regex(R"([.+])"), "\\$&");
  pattern = std::regex_replace(pattern, std::regex(R"(\*|<[^>]*>)"), "[^/]*");
  const std::regex any(pattern);
  return std::any_of(paths().begin(), paths().end(),
                     [&](const std::string& one) { return std::regex_match(one, any); });
}

}  // namespace capstan::house
