// The public headers: what they include, and that everything in them says what it is for.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/house/code_blocks.h"
#include "tests/house/declarations.h"
#include "tests/house/prose.h"
#include "tests/house/source_tree.h"

namespace capstan::house {
namespace {

// Each costs a quarter of a second and more in every file of every user.
const std::set<std::string> kExpensive = {"chrono", "filesystem", "iostream", "regex",
                                          "thread", "random",     "ranges",   "fstream"};

TEST(PublicHeaders, IncludeNoExpensiveStandardHeader) {
  const auto headers = source_files("include/capstan");
  ASSERT_GE(headers.size(), 7u);
  for (const SourceFile& header : headers) {
    for (const Include& include : includes(header)) {
      EXPECT_EQ(kExpensive.count(include.name), 0u)
          << header.path << ":" << include.line << " includes <" << include.name << ">";
    }
  }
}

// The code of a header without defaults, and what is indented in the line before it: a declaration in a line.
std::vector<std::string> declared_lines(const SourceFile& header) {
  static const std::regex indented(R"(\s*\n +)"), value(R"( = (\{[^{}]*\}|[^,;(){}]*(\([^()]*\))?)(?=[,;)]))");
  const std::string joined = std::regex_replace(without_comments(header.text), indented, " ");
  return SourceFile{"", std::regex_replace(joined, value, "")}.lines();
}

// What is declared twice has two comments, and one of them will be wrong.
TEST(PublicHeaders, DeclareEveryFunctionOnce) {
  static const std::regex function(R"(^CAPSTAN_EXPORT [\w:<>]+ \w+\([^;{]*;$)");
  int count = 0;
  for (const SourceFile& header : source_files("include/capstan")) {
    std::string scope;
    std::set<std::string> found;
    for (const std::string& line : declared_lines(header)) {
      if (line.starts_with("namespace ")) scope = line;
      if (line.starts_with("}  ") || line.starts_with("} ")) scope.clear();
      if (!std::regex_match(line, function)) continue;
      ++count;
      EXPECT_TRUE(found.insert(scope + line).second) << header.path << " declares this twice: " << line;
    }
  }
  EXPECT_GT(count, 300) << "the declarations were not found";
}

// `f(x, true)` says nothing: what is on or off goes by its name, in a struct of options.
TEST(PublicHeaders, HaveNoBareBooleansAfterTensors) {
  static const std::regex bare(
      R"(\w+\([^;{]*\b(Operands?|Tensor|TensorList|Nest|Variable)(>?&| )[^;{]*,\s*bool \w+\s*[,)])");
  int count = 0;
  for (const SourceFile& header : source_files("include/capstan")) {
    bool is_detail = false;
    for (const std::string& line : declared_lines(header)) {
      if (line.starts_with("namespace ")) is_detail = line.find("detail") != std::string::npos;
      if (line.starts_with("}  // namespace")) is_detail = false;
      if (is_detail || line.find('(') == std::string::npos) continue;
      ++count;
      std::smatch found;
      EXPECT_FALSE(std::regex_search(line, found, bare)) << header.path << ": " << found.str();
    }
  }
  EXPECT_GT(count, 1000) << "the functions were not found";
}

TEST(PublicHeaders, HaveOneTypeForSeedsThatMayBeLeftOut) {
  static const std::regex other(R"(optional<(std::)?u?int\w*> \w*seed|\bint\w* (\w*_)?seed\b|uint64_t (\w*_)?seed =)");
  int count = 0;
  for (const SourceFile& header : source_files("include/capstan")) {
    for (const std::string& line : header.lines()) {
      if (line.find("Seed seed") != std::string::npos) ++count;
      const bool is_comment = line.find("//") < line.find("seed");
      EXPECT_FALSE(!is_comment && std::regex_search(line, other)) << header.path << ": " << line;
    }
  }
  EXPECT_GT(count, 30) << "the seeds were not found";
}

// Options may be kept longer than the text that they were given, and they are passed on from function to function.
TEST(PublicHeaders, OptionsOwnTheirTextsAndArePassedByReference) {
  static const std::regex options(R"(^struct (CAPSTAN_EXPORT )?\w*Options\b.*\{$)");
  static const std::regex borrowed(R"(^ +(std::string_view|const char\*|std::span<.*>) \w+( = .*)?;.*)");
  static const std::regex by_value(R"(.*[ (](\w+::)*\w*Options options( = \{.*)?[,)].*)");
  int structs = 0;
  for (const SourceFile& header : source_files("include/capstan")) {
    bool is_inside = false;
    int number = 0;
    for (const std::string& line : header.lines()) {
      ++number;
      if (std::regex_match(line, options)) ++structs, is_inside = true;
      if (line == "};") is_inside = false;
      EXPECT_FALSE(is_inside && std::regex_match(line, borrowed))
          << header.path << ":" << number << " borrows what the caller has: " << line;
      const bool is_comment = line.find("///") != std::string::npos;
      EXPECT_FALSE(!is_comment && std::regex_match(line, by_value)) << header.path << ":" << number << ": " << line;
    }
  }
  EXPECT_GT(structs, 50) << "the options were not found";
}

TEST(PublicHeaders, AreAllInTheUmbrella) {
  std::set<std::string> seen;
  std::vector<std::string> next = {"capstan/capstan.h"};
  while (!next.empty()) {
    const std::string name = next.back();
    next.pop_back();
    if (!seen.insert(name).second) continue;
    for (const Include& include : includes({"", read_file("include/" + name)})) {
      if (include.name.starts_with("capstan/")) next.push_back(include.name);
    }
  }
  for (const SourceFile& header : source_files("include"))
    EXPECT_TRUE(seen.contains(header.path.substr(8))) << header.path << " is not included by capstan/capstan.h";
}

TEST(PublicHeaders, AreIncludedOnce) {
  for (const char* folder : {"include/capstan", "src"}) {
    for (const SourceFile& file : source_files(folder)) {
      if (!file.path.ends_with(".h")) continue;
      // A file that Highway includes once per instruction set has a guard of its own.
      if (file.text.find("HWY_TARGET_TOGGLE") != std::string::npos) continue;
      EXPECT_NE(file.text.find("#pragma once\n"), std::string::npos) << file.path;
    }
  }
}

TEST(PublicHeaders, DocumentEveryFunctionAndClass) {
  int count = 0;
  std::string bare;
  for (const SourceFile& header : source_files("include/capstan")) {
    const auto found = declarations(header);
    std::set<std::string> documented;
    for (const Declaration& declaration : found) {
      if (declaration.documented) documented.insert(declaration.name);
    }
    for (const Declaration& declaration : found) {
      ++count;
      // One comment serves all overloads of a name.
      if (documented.count(declaration.name) != 0) continue;
      bare += "\n" + header.path + ":" + std::to_string(declaration.line) + ": " + declaration.name;
    }
  }
  EXPECT_EQ(bare, "") << "these have no /// comment";
  EXPECT_GT(count, 30) << "the declarations were not found";
}

// What the tables of options and streams call, not users.
const std::set<std::string> kWithoutExample = {"set_field",  "get_field",  "set_lengths", "get_lengths",
                                               "set_widths", "get_widths", "operator<<"};

// The examples are compiled and run: house/documents.
TEST(PublicHeaders, ShowEveryExportedFunctionInAnExample) {
  static const std::regex called(R"(\b(\w+)(<[^;()]*>)?\()");
  int count = 0;
  std::string bare;
  for (const SourceFile& header : source_files("include/capstan")) {
    std::set<std::string> shown;
    for (const CodeBlock& example : header_examples(header)) {
      for (const std::string& line : example.lines) {
        for (std::sregex_iterator i(line.begin(), line.end(), called), end; i != end; ++i) shown.insert((*i)[1]);
      }
    }
    const std::vector<std::string> lines = header.lines();
    for (const Declaration& declaration : declarations(header)) {
      const bool is_exported = lines[static_cast<std::size_t>(declaration.line) - 1].starts_with("CAPSTAN_EXPORT ");
      if (!is_exported || kWithoutExample.contains(declaration.name)) continue;
      ++count;
      if (!shown.contains(declaration.name))
        bare += "\n" + header.path + ":" + std::to_string(declaration.line) + ": " + declaration.name;
    }
  }
  EXPECT_EQ(bare, "") << "no example shows these";
  EXPECT_GT(count, 500) << "the declarations were not found";
}

std::string described(const std::string& text) {
  std::string result;
  for (const Declaration& declaration : declarations({"sample.h", text})) {
    result += declaration.name + (declaration.documented ? "+ " : "- ");
  }
  return result;
}

TEST(Declarations, AreFoundWithAndWithoutComment) {
  EXPECT_EQ(described("namespace capstan {\n\n/// Adds.\nTensor add(Operand a, Operand b = "
                      "{});\n\nint bare();\n}\n"),
            "add+ bare- ");
  EXPECT_EQ(described("/// Two overloads.\nvoid f(int a);\nvoid f(double a) { g(); }\n"), "f+ f+ ");
  EXPECT_EQ(described("// Not a documentation comment.\nvoid f();\n"), "f- ");
  EXPECT_EQ(described("template <class T, int n = 2>\n[[noreturn]] CAPSTAN_EXPORT void f(T x);\n"), "f- ");
}

TEST(Declarations, OfClassesWithoutTheirMembers) {
  EXPECT_EQ(described("/// A.\nclass CAPSTAN_EXPORT A : public B {\n public:\n  A();\n};\nint f();\n"), "A+ f+ ");
  EXPECT_EQ(described("struct S {\n  int f() const { return 1; }\n};\nclass T;\n"), "S- ");
}

TEST(Declarations, LeaveOutWhatIsHidden) {
  EXPECT_EQ(described("namespace detail {\nvoid f();\n}\n"), "");
  EXPECT_EQ(described("#define F(x) \\\n  void x();\nusing A = B;\nextern template int "
                      "A::item<int>() const;\n"),
            "");
  EXPECT_EQ(described("inline Tensor A::rows(int i) const { return f(i); }\ninline constexpr int kN = f(1);\n"), "");
  EXPECT_EQ(described("/// Operator.\nTensor operator+(Operand a, Operand b);\n"), "operator++ ");
}

}  // namespace
}  // namespace capstan::house
