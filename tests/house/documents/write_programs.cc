// write_programs OUTPUT...: writes the C++ blocks of all documents, and the examples in the comments of public headers,
// as functions into the given files, which are compiled and run as the tests `house/documents`.
//
// A block with a `main` is taken as it is, and may not return from it. Any other is the body of a function, after what
// surrounds it: the lines that surroundings.txt has for its file. Where the comment at the end of a line gives the
// value of its expression or variable (numbers, true or false, a type such as float32[2, 2], or a quoted text), the
// value is compared with it. A lone `...` is left out.
//
// Blocks of documents whose note says "not compiled" or "from FILE" are left to code_blocks_test.cc.
#include <cstdio>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/house/code_blocks.h"

namespace capstan::house {
namespace {

constexpr const char* kSurroundings = "tests/house/documents/surroundings.txt";

struct Surroundings {
  std::string path;
  std::string text_in_block;  // of the blocks that it serves; empty: of all others
  bool run;
  int line;  // of its first line
  std::string text = {};
};

std::vector<Surroundings> read_surroundings() {
  std::ifstream file(std::string(CAPSTAN_SOURCE_DIR) + "/" + kSurroundings);
  std::vector<Surroundings> result;
  static const std::regex head(R"re(^## ([\w./]+)(?: with "(.*)")?(, not run: .+)?$)re");
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::smatch match;
    if (std::regex_match(line, match, head)) {
      result.push_back({match[1], match[2], !match[3].matched, number + 1});
    } else if (!result.empty()) {
      result.back().text += line + "\n";
    }
  }
  return result;
}

Surroundings surroundings_of(const CodeBlock& block, const std::vector<Surroundings>& all) {
  std::string code;
  for (const std::string& line : block.lines) code += line + "\n";
  Surroundings found = {"", "", true, 0};
  for (const Surroundings& one : all) {
    const bool mentioned = one.text_in_block.empty() || code.find(one.text_in_block) != std::string::npos;
    if (one.path == block.path && mentioned) found = one;
  }
  return found;
}

// What the comment says of the value, as a C++ literal; empty if it is no value.
std::string value_in(const std::string& comment) {
  static const std::regex value(
      R"re([\[\]{},\s]*((true|false|-?\d+(\.\d+)?(e-?\d+)?)([\[\]{},\s]+|$))+|(float|int|uint|complex|bfloat|bool)\d*\[[-0-9, ]*\]|".*")re");
  if (!std::regex_match(comment, value)) return "";
  return "R\"_(" + comment + ")_\"";
}

// A line of a block as it is compiled, with a check of the value that its comment gives.
std::string with_check(const std::string& line) {
  static const std::regex dots(R"((^|[\s{])\.\.\.(?=$|[\s}]))");
  static const std::regex commented(R"(^(.*?);\s*//\s*(.*?)\s*$)");
  static const std::regex declaration(R"(^\s*(?:const )?\w+ (\w+)(?: = |\().*$)");
  const std::string code = std::regex_replace(line, dots, "$1");
  std::smatch match;
  if (!std::regex_match(code, match, commented)) return code;
  const std::string statement = match[1], value = value_in(match[2]);
  if (value.empty()) return code;
  std::smatch name;
  if (std::regex_match(statement, name, declaration))
    return statement + "; check_value(" + std::string(name[1]) + ", " + value + ");";
  return "check_value((" + statement + "), " + value + ");";
}

std::string function_of(const CodeBlock& block, const Surroundings& around, const std::string& name) {
  static const std::regex include(R"(^\s*#include .*$)");
  static const std::regex main_function(R"(^int main\(\) *\{)");
  std::string body;
  bool is_program = false;
  for (const std::string& line : block.lines) {
    is_program = is_program || std::regex_search(line, main_function);
    body += (std::regex_match(line, include) ? "" : with_check(line)) + "\n";
  }
  const std::string where = "#line " + std::to_string(block.line) + " \"" + block.path + "\"\n";
  if (is_program) {
    return "namespace " + name + "_program {\n" + where +
           std::regex_replace(body, std::regex("int main\\(\\)"), "void program()") + "}\nvoid " + name + "() { " +
           name + "_program::program(); }\n";
  }
  std::string text = "void " + name + "() {\n";
  if (!around.text.empty())
    text += "#line " + std::to_string(around.line) + " \"" + kSurroundings + "\"\n" + around.text;
  return text + "{\n" + where + body + "}\n}\n";
}

int write_programs(int files, char** names) {
  std::vector<CodeBlock> blocks;
  for (const SourceFile& document : documents()) {
    for (const CodeBlock& block : code_blocks(document)) {
      if (block.language == "cpp" && note_of(block, "not compiled").empty() && note_of(block, "from").empty())
        blocks.push_back(block);
    }
  }
  for (const SourceFile& header : source_files("include/capstan")) {
    for (const CodeBlock& block : header_examples(header)) blocks.push_back(block);
  }
  const std::vector<Surroundings> surroundings = read_surroundings();
  std::vector<std::string> texts(static_cast<std::size_t>(files));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const CodeBlock& block = blocks[i];
    const Surroundings around = surroundings_of(block, surroundings);
    std::string& text = texts[i % texts.size()];
    const std::string name = "block_" + std::to_string(i);
    text += function_of(block, around, name) + "const Registered " + name + "_registered(\"" + block.path + "\", " +
            std::to_string(block.line) + ", " + (around.run ? "&" + name : "nullptr") + ", R\"_(" +
            note_of(block, "prints") + ")_\");\n\n";
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::ofstream file(names[i], std::ios::binary);
    file << "// Written by write_programs.\n#include \"tests/house/documents/registered.h\"\n\n"
         << "using namespace capstan;\nusing capstan::house::check_value;\nusing capstan::house::Registered;\n\n"
         << "namespace {\n\n"
         << texts[i] << "}  // namespace\n";
    if (!file.flush()) {
      std::fprintf(stderr, "write_programs: cannot write %s\n", names[i]);
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace capstan::house

int main(int argc, char** argv) { return capstan::house::write_programs(argc - 1, argv + 1); }
