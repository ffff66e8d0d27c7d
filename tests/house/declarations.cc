// A scanner that keeps a stack of braces and cuts the text at `;`, `{` and `}`. It is not a parser
// of C++: it knows the forms that the public headers use, and declarations_test in headers_test.cc
// holds it to them.
#include "tests/house/declarations.h"

#include <algorithm>
#include <cctype>
#include <regex>

namespace capstan::house {
namespace {

// The text with comments, preprocessor lines and the inside of string literals blanked; positions
// and lines stay.
std::string blank_out(const std::string& text) {
  std::string result = text;
  bool line_start = true;
  for (std::size_t i = 0; i < text.size();) {
    const auto blank_until = [&](std::size_t end) {
      for (; i < end && i < text.size(); ++i) {
        if (result[i] != '\n') result[i] = ' ';
      }
    };
    if (text.compare(i, 2, "//") == 0) {
      blank_until(text.find('\n', i));
    } else if (text.compare(i, 2, "/*") == 0) {
      blank_until(std::min(text.find("*/", i), text.size()) + 2);
    } else if (line_start && text[i] == '#') {
      std::size_t end = text.find('\n', i);
      while (end != std::string::npos && text[end - 1] == '\\') end = text.find('\n', end + 1);
      blank_until(end);
    } else if (text[i] == '"' ||
               (text[i] == '\'' && (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1]))))) {
      std::size_t end = i + 1;
      while (end < text.size() && text[end] != text[i]) end += text[end] == '\\' ? 2 : 1;
      blank_until(end + 1);
    } else {
      if (text[i] == '\n')
        line_start = true;
      else if (!std::isspace(static_cast<unsigned char>(text[i])))
        line_start = false;
      ++i;
    }
  }
  return result;
}

// Without attributes, export macros and template heads.
std::string core_of(std::string text) {
  static const std::regex noise(
      R"(\[\[[^\]]*\]\]|\bCAPSTAN_EXPORT\b|\balignas\s*\([^)]*\)|__attribute__\s*\(\([^)]*\)\))");
  text = std::regex_replace(text, noise, " ");
  const auto trim = [&text] { text.erase(0, std::min(text.find_first_not_of(" \n\t"), text.size())); };
  trim();
  while (text.rfind("template", 0) == 0) {
    std::size_t i = text.find('<');
    if (i == std::string::npos) break;
    int depth = 0;
    for (; i < text.size(); ++i) {
      if (text[i] == '<') ++depth;
      if (text[i] == '>' && --depth == 0) break;
    }
    text.erase(0, i + 1);
    trim();
    static const std::regex constraint(R"(^requires\s+[\w:]+(<[^;(){}]*?>)?\s)");
    text = std::regex_replace(text, constraint, "");
    trim();
  }
  return text;
}

// The declared function's name; empty if the text declares no function.
std::string function_name(const std::string& core) {
  static const std::regex other(
      R"(^(using|typedef|static_assert|extern\s+template|extern|namespace|friend|class|struct|union|enum|concept)\b)");
  if (std::regex_search(core, other)) return "";
  static const std::regex operator_name(R"(([\w:]*\boperator\s*(\(\)|\[\]|[^\s\w(]+|\s[\w:\s*&<>]+))\s*\()");
  std::smatch match;
  if (std::regex_search(core, match, operator_name)) return match[1];
  int angle = 0;
  for (std::size_t i = 0; i < core.size(); ++i) {
    if (core[i] == '<') ++angle;
    if (core[i] == '>') --angle;
    if (core[i] == '=') return "";  // a variable with an initialiser
    if (core[i] == '(' && angle == 0) {
      std::size_t end = i;
      while (end > 0 && std::isspace(static_cast<unsigned char>(core[end - 1]))) --end;
      std::size_t begin = end;
      const auto is_name = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':' || c == '~';
      };
      while (begin > 0 && is_name(core[begin - 1])) --begin;
      return core.substr(begin, end - begin);
    }
  }
  return "";
}

std::string class_name(const std::string& core) {
  static const std::regex pattern(R"(^(?:class|struct|union|enum(?:\s+class)?)\s+(\w+))");
  std::smatch match;
  return std::regex_search(core, match, pattern) ? std::string(match[1]) : "";
}

class Scanner {
 public:
  explicit Scanner(const SourceFile& header) : lines_(header.lines()), text_(blank_out(header.text)) {}

  std::vector<Declaration> scan() {
    int line = 1;
    int parentheses = 0;
    for (const char c : text_) {
      if (c == '(') ++parentheses;
      if (c == ')') --parentheses;
      if (parentheses == 0 && (c == ';' || c == '{' || c == '}')) {
        if (c == ';') end_of_declaration(false);
        if (c == '{') open();
        if (c == '}' && !hidden_.empty()) hidden_.pop_back();
        current_.clear();
      } else if (!current_.empty() || !std::isspace(static_cast<unsigned char>(c))) {
        if (current_.empty()) start_line_ = line;
        current_ += c;
      }
      if (c == '\n') ++line;
    }
    return std::move(found_);
  }

 private:
  bool hidden() const { return !hidden_.empty() && hidden_.back(); }

  void open() {
    static const std::regex name_space(R"(^(?:inline\s+)?namespace\s+([\w:]*))");
    std::smatch match;
    if (std::regex_search(current_, match, name_space)) {
      const std::string name = match[1];
      hidden_.push_back(hidden() || name == "detail" || name.ends_with("::detail"));
      return;
    }
    end_of_declaration(true);
    hidden_.push_back(true);
  }

  void end_of_declaration(bool with_body) {
    if (current_.empty() || hidden()) return;
    const std::string core = core_of(current_);
    std::string name = class_name(core);
    if (name.empty()) {
      name = function_name(core);
      // A qualified name defines what was declared, with its comment, elsewhere.
      if (name.find("::") != std::string::npos) return;
    } else if (!with_body) {
      return;  // it only announces a name
    }
    if (!name.empty()) found_.push_back({start_line_, name, documented()});
  }

  // Looks upwards through the paragraph of the declaration that starts at start_line_.
  bool documented() const {
    for (int line = start_line_; line > 0; --line) {
      const std::string& text = lines_[static_cast<std::size_t>(line - 1)];
      if (text.find_first_not_of(' ') == std::string::npos) return false;
      if (text.find("///") != std::string::npos) return true;
    }
    return false;
  }

  std::vector<std::string> lines_;
  std::string text_;
  std::vector<bool> hidden_;  // one entry per open brace: what stands in it is not public
  std::string current_;
  int start_line_ = 1;
  std::vector<Declaration> found_;
};

}  // namespace

std::vector<Declaration> declarations(const SourceFile& header) { return Scanner(header).scan(); }

}  // namespace capstan::house
