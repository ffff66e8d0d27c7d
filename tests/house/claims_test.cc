// What documents and comments name is there: files, identifiers, tests, commands, settings.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include "tests/house/code_blocks.h"
#include "tests/house/prose.h"

namespace capstan::house {
namespace {

// These speak of another library in the same form as of this one.
const std::set<std::string> kOfTensorFlow = {"docs/differences.md", "docs/conformance.md"};
// What is not there yet.
constexpr const char* kPlans = "docs/planned.md";

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '/' || c == '.' || c == '-' || c == '<' ||
         c == '*';
}

// The matches of the pattern that no character of a longer path or name precedes.
std::vector<std::string> names_in(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> names;
  for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end; ++i) {
    const auto at = static_cast<std::size_t>(i->position());
    if (at == 0 || !is_name_character(text[at - 1])) names.push_back(i->str());
  }
  return names;
}

std::string without_end(std::string path) {
  while (!path.empty() && (path.back() == '.' || path.back() == '/')) path.pop_back();
  return path;
}

// What a line says that is not there; empty if all is.
std::string missing_paths(const std::string& text) {
  static const std::regex path(R"((src|tests|include|docs|examples|tools|benchmarks|cmake|\.ci)/[\w./*<>-]*)");
  static const std::regex header(R"(capstan/[\w./*-]*\.h\b)");
  static const std::regex file(R"([\w-]*\w\.(h|cc|cmake|sh|py|md)\b)");
  // Files of users and of other projects.
  static const std::set<std::string> foreign = {"program.cc", "highway.h", "foreach_target.h"};
  std::string missing;
  for (const std::string& name : names_in(text, path)) {
    if (!exists(without_end(name)) && !exists(without_end(name) + ".cc")) missing += " " + name;
  }
  for (const std::string& name : names_in(text, header)) {
    if (!exists("include/" + name)) missing += " " + name;
  }
  for (const std::string& name : names_in(text, file)) {
    const auto has_name = [&](const std::string& one) { return one == name || one.ends_with("/" + name); };
    if (!foreign.contains(name) && std::none_of(paths().begin(), paths().end(), has_name)) missing += " " + name;
  }
  return missing;
}

TEST(Claims, EveryFileThatIsNamedIsThere) {
  EXPECT_EQ(missing_paths("see src/core/apply.cc, `tests/*/memory_test.cc` and `prose.h`; build/release/tests/x"), "");
  EXPECT_EQ(missing_paths("src/core/absent.cc `absent_test.cc` <capstan/absent.h>"),
            " src/core/absent.cc absent_test.cc");
  int lines = 0;
  for (const auto& all : {prose_of_documents(), prose_of_sources()}) {
    for (const Prose& prose : all) {
      ++lines;
      if (prose.path == "tests/house/claims_test.cc" || prose.path == kPlans) continue;
      EXPECT_EQ(missing_paths(prose.text), "") << prose.where() << ": " << prose.text;
    }
  }
  EXPECT_GT(lines, 1000) << "the prose was not found";
}

// `assert_*` are several names, `..._copy` as well.
bool is_in_code(const std::string& name) {
  static const std::regex number(R"(0x\w+|\d+)");
  static const std::set<std::string> foreign = {"addr2line", "Cfi", "PROGRAM"};
  const auto& words = words_of_code();
  if (words.contains(name) || foreign.contains(name) || std::regex_match(name, number)) return true;
  if (name.front() == '_')
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) { return word.ends_with(name); });
  const std::string start = name.substr(0, name.size() - 1);
  const auto next = words.lower_bound(start);
  return name.back() == '*' && next != words.end() && next->starts_with(start);
}

TEST(Claims, EveryNameInBackquotesIsInTheCode) {
  static const std::regex word(R"(\w{3,}\*?)");
  int names = 0;
  for (const auto& all : {prose_of_documents(), prose_of_sources()}) {
    for (const Prose& prose : all) {
      if (kOfTensorFlow.contains(prose.path) || prose.path == kPlans || prose.path.starts_with("tests/house/"))
        continue;
      for (const std::string& code : quoted(prose.text)) {
        for (std::sregex_iterator i(code.begin(), code.end(), word), end; i != end; ++i) {
          ++names;
          EXPECT_TRUE(is_in_code(i->str())) << prose.where() << ": `" << code << "`";
        }
      }
    }
  }
  EXPECT_GT(names, 1000) << "the names were not found";
}

TEST(Claims, EverySettingIsInTheCode) {
  static const std::regex setting(R"(CAPSTAN_[A-Z0-9_]+\b)");
  for (const auto& all : {prose_of_documents(), prose_of_sources()}) {
    for (const Prose& prose : all) {
      for (const std::string& name : names_in(prose.text, setting)) {
        EXPECT_TRUE(words_of_code().contains(name)) << prose.where() << ": " << name;
      }
    }
  }
}

// "Suite.Name" of every test.
const std::set<std::string>& tests() {
  static const std::set<std::string> all = [] {
    static const std::regex definition(R"(\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))");
    std::set<std::string> found;
    for (const SourceFile& file : source_files("tests")) {
      for (std::sregex_iterator i(file.text.begin(), file.text.end(), definition), end; i != end; ++i)
        found.insert(std::string((*i)[1]) + "." + std::string((*i)[2]));
    }
    return found;
  }();
  return all;
}

TEST(Claims, EveryTestThatIsNamedIsThere) {
  static const std::regex of_macro(R"(TEST\((\w+), (\w+)\))"), dotted(R"(^[A-Z]\w+\.[A-Z]\w+$)");
  int named = 0;
  for (const Prose& prose : prose_of_documents()) {
    for (const std::string& code : quoted(prose.text)) {
      std::smatch match;
      std::string name = std::regex_match(code, dotted) ? code : "";
      if (std::regex_search(code, match, of_macro)) name = std::string(match[1]) + "." + std::string(match[2]);
      if (name.empty()) continue;
      ++named;
      EXPECT_TRUE(tests().contains(name)) << prose.where() << ": " << name;
    }
  }
  EXPECT_GT(named, 0);
}

// The commands of documents: lines of ```sh blocks, and what is in backquotes.
std::vector<Prose> commands() {
  std::vector<Prose> result;
  for (const SourceFile& document : documents()) {
    for (const CodeBlock& block : code_blocks(document)) {
      for (std::size_t i = 0; block.language == "sh" && i < block.lines.size(); ++i)
        result.push_back({block.path, block.line + static_cast<int>(i), block.lines[i]});
    }
  }
  for (const Prose& prose : prose_of_documents()) {
    for (const std::string& code : quoted(prose.text)) result.push_back({prose.path, prose.line, code});
  }
  return result;
}

// What a command asks for that there is not; empty if all is there.
std::string missing_in_command(const std::string& command) {
  static const std::string makefile = read_file("Makefile"), presets = read_file("CMakePresets.json");
  static const std::regex make(R"(^make((?: [A-Z_]+=\S+)*) ([a-z-]+)(.*)$)"), variable(R"(\b([A-Z_]+)=)");
  static const std::regex preset(R"(--preset (\w+))"), target(R"(--target (\w+))"), label(R"(ctest .*-L (\w+))");
  static const std::regex program(R"(build/release/(tests|examples|benchmarks)/(\w+))");
  static const std::regex filter(R"(--gtest_filter='?\*?([\w.]+)\*?)");
  std::string missing;
  std::smatch match;
  if (std::regex_match(command, match, make)) {
    if (!std::regex_search(makefile, std::regex("(^|\n)([a-z -]* )?" + std::string(match[2]) + "( [a-z -]*)?:")))
      missing += " make " + std::string(match[2]);
    const std::string given = std::string(match[1]) + std::string(match[3]).substr(0, std::string(match[3]).find('#'));
    for (std::sregex_iterator i(given.begin(), given.end(), variable), end; i != end; ++i) {
      if (!std::regex_search(makefile, std::regex("\\$\\((if \\$\\()?" + std::string((*i)[1]) + "\\)")))
        missing += " " + i->str();
    }
  }
  const auto program_exists = [](const std::string& folder, const std::string& name) {
    const bool is_suite = folder == "tests" && name.ends_with("_tests");
    return is_suite ? exists("tests/" + name.substr(0, name.size() - 6))
                    : exists(folder + "/*" + name + ".cc") || exists(folder + "/*/*" + name + ".cc");
  };
  if (std::regex_search(command, match, preset) &&
      presets.find("\"name\": \"" + std::string(match[1]) + "\"") == std::string::npos)
    missing += " " + match.str();
  if (std::regex_search(command, match, target) && !program_exists("tests", match[1])) missing += " " + match.str();
  if (std::regex_search(command, match, label) && !exists("tests/" + std::string(match[1])))
    missing += " " + match.str();
  if (std::regex_search(command, match, program) && !program_exists(match[1], match[2])) missing += " " + match.str();
  if (std::regex_search(command, match, filter)) {
    const std::string part = match[1];
    const auto has_part = [&](const std::string& name) { return name.find(part) != std::string::npos; };
    if (std::none_of(tests().begin(), tests().end(), has_part) && !words_of_code().contains(part))
      missing += " " + match.str();
  }
  return missing;
}

TEST(Claims, EveryCommandCanBeGiven) {
  EXPECT_EQ(missing_in_command("make mnist DATA=folder"), "");
  EXPECT_EQ(missing_in_command("make mnist COLOUR=red"), " COLOUR=");
  EXPECT_EQ(missing_in_command("make tea"), " make tea");
  EXPECT_EQ(missing_in_command("cmake --build --preset release --target tape_tests"), "");
  EXPECT_EQ(missing_in_command("cmake --build --preset relaese --target tap_tests"),
            " --preset relaese --target tap_tests");
  EXPECT_EQ(missing_in_command("build/release/tests/tape_tests --gtest_filter='*NoSuchThing*'"),
            " --gtest_filter='*NoSuchThing*");
  int given = 0;
  for (const Prose& command : commands()) {
    given += command.text.starts_with("make ") ? 1 : 0;
    EXPECT_EQ(missing_in_command(command.text), "") << command.where() << ": " << command.text;
  }
  EXPECT_GT(given, 5) << "the commands were not found";
}

}  // namespace
}  // namespace capstan::house
