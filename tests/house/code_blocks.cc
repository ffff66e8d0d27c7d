#include "tests/house/code_blocks.h"

#include <algorithm>
#include <regex>

namespace capstan::house {

std::vector<CodeBlock> code_blocks(const SourceFile& document) {
  static const std::regex fence(R"(^( *)```(\w*)\s*$)");
  static const std::regex comment(R"(^ *<!-- *(.*?) *--> *$)");
  std::vector<CodeBlock> blocks;
  bool inside = false;
  std::size_t indentation = 0;
  std::string note;
  int number = 0;
  for (const std::string& line : document.lines()) {
    ++number;
    std::smatch match;
    if (std::regex_match(line, match, fence)) {
      if (!inside) {
        blocks.push_back({document.path, number + 1, match[2], {}, note});
        indentation = static_cast<std::size_t>(match[1].length());
      }
      inside = !inside;
      note.clear();
    } else if (inside) {
      blocks.back().lines.push_back(line.substr(std::min(indentation, line.size())));
    } else {
      note = std::regex_match(line, match, comment) ? std::string(match[1]) : "";
    }
  }
  return blocks;
}

std::vector<CodeBlock> header_examples(const SourceFile& header) {
  static const std::regex example(R"(^\s*///     (.*)$)");
  static const std::regex gap(R"(^\s*///\s*$)");
  std::vector<CodeBlock> blocks;
  bool inside = false;
  int number = 0;
  for (const std::string& line : header.lines()) {
    ++number;
    std::smatch match;
    if (std::regex_match(line, match, example)) {
      if (!inside) blocks.push_back({header.path, number, "cpp", {}, ""});
      // A gap inside of an example is one of its lines.
      const auto length = static_cast<std::size_t>(number - blocks.back().line);
      blocks.back().lines.resize(length);
      blocks.back().lines.push_back(match[1]);
      inside = true;
    } else if (!std::regex_match(line, gap)) {
      inside = false;
    }
  }
  return blocks;
}

std::string note_of(const CodeBlock& block, const std::string& key) {
  if (block.note.rfind(key, 0) != 0) return "";
  const std::size_t begin = block.note.find_first_not_of(": ", key.size());
  return begin == std::string::npos ? "" : block.note.substr(begin);
}

}  // namespace capstan::house
