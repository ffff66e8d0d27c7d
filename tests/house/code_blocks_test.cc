// The code blocks of documents. Those in C++ are compiled and run by documents/write_programs.cc; here are the others.
#include "tests/house/code_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>

#include "tests/house/prose.h"

namespace capstan::house {
namespace {

std::vector<CodeBlock> blocks_in(const std::string& language) {
  std::vector<CodeBlock> result;
  for (const SourceFile& document : documents()) {
    for (CodeBlock& block : code_blocks(document)) {
      if (block.language == language) result.push_back(std::move(block));
    }
  }
  return result;
}

std::string normal(const std::string& line) { return std::regex_replace(line, std::regex(R"(^\s+|\s+$)"), ""); }

TEST(CodeBlocks, AreFoundWithTheirNotes) {
  const auto blocks =
      code_blocks({"a.md", "text\n<!-- from src/x.cc -->\n```cpp\nint i;\n```\n  ```sh\n  make\n  ```\n"});
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].line, 4);
  EXPECT_EQ(blocks[0].lines, std::vector<std::string>{"int i;"});
  EXPECT_EQ(note_of(blocks[0], "from"), "src/x.cc");
  EXPECT_EQ(note_of(blocks[0], "prints"), "");
  EXPECT_EQ(blocks[1].language, "sh");
  EXPECT_EQ(blocks[1].lines, std::vector<std::string>{"make"});
}

TEST(CodeBlocks, AreFoundInHeaders) {
  const auto blocks = header_examples({"a.h",
                                       "/// Adds.\n///\n///     add(1, 2);\n///\n///     add(3, 4);\n///\n"
                                       "/// Errors.\n///     add();\nint add();\n"});
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].lines, (std::vector<std::string>{"add(1, 2);", "", "add(3, 4);"}));
  EXPECT_EQ(blocks[1].line, 8);
}

// A block whose note is "from FILE" has lines of that file, in their order; comments are its own.
TEST(CodeBlocks, FromSourcesAreInThem) {
  int found = 0;
  for (const CodeBlock& block : blocks_in("cpp")) {
    const std::string path = note_of(block, "from");
    if (path.empty()) continue;
    ++found;
    const std::vector<std::string> lines = SourceFile{path, without_comments(read_file(path))}.lines();
    auto at = lines.begin();
    for (std::size_t i = 0; i < block.lines.size(); ++i) {
      const std::string line = normal(without_comments(block.lines[i]));
      at = std::find_if(at, lines.end(), [&](const std::string& one) { return normal(one) == line; });
      ASSERT_NE(at, lines.end()) << block.path << ":" << block.line + static_cast<int>(i) << ": " << line
                                 << "\n  is no line of " << path << ", or is before the line above";
      ++at;
    }
  }
  EXPECT_GT(found, 0);
}

TEST(CodeBlocks, AreCompiledUnlessTheyAreCounted) {
  int left_out = 0;
  for (const CodeBlock& block : blocks_in("cpp")) left_out += note_of(block, "not compiled").empty() ? 0 : 1;
  EXPECT_EQ(left_out, 0) << "a block that cannot be compiled needs a reason, and this count";
}

// Each section of what surrounds blocks is of a file with blocks; few of these are not run, each for a reason.
TEST(CodeBlocks, AreRunUnlessTheyAreCounted) {
  static const std::regex head(R"re(^## ([\w./]+)(?: with "(.*)")?(, not run: .+)?$)re");
  int not_run = 0;
  std::smatch match;
  for (const std::string& line : SourceFile{"", read_file("tests/house/documents/surroundings.txt")}.lines()) {
    if (!line.starts_with("##")) continue;
    ASSERT_TRUE(std::regex_match(line, match, head)) << line;
    const SourceFile file{match[1], read_file(match[1])};
    const auto blocks = file.path.ends_with(".h") ? header_examples(file) : code_blocks(file);
    const auto is_meant = [&](const CodeBlock& block) {
      return std::any_of(block.lines.begin(), block.lines.end(),
                         [&](const std::string& code) { return code.find(match[2]) != std::string::npos; });
    };
    EXPECT_TRUE(std::any_of(blocks.begin(), blocks.end(), is_meant)) << "no block is meant by: " << line;
    not_run += match[3].matched ? 1 : 0;
  }
  EXPECT_EQ(not_run, 24);
}

// What the documents say to a project of one's own is what install_test.sh builds.
TEST(CodeBlocks, OfCMakeAreThoseOfTheForeignProject) {
  const std::string foreign = read_file("tests/house/foreign/CMakeLists.txt");
  static const std::regex name(R"(\bcapstan(?:::\w+)?\b)");
  int found = 0;
  for (const CodeBlock& block : blocks_in("cmake")) {
    for (const std::string& line : block.lines) {
      for (std::sregex_iterator i(line.begin(), line.end(), name), end; i != end; ++i) {
        ++found;
        EXPECT_NE(foreign.find(i->str()), std::string::npos) << block.path << ":" << block.line << ": " << line;
      }
    }
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace capstan::house
