// The table of dependencies in README.md, tools/install_dependencies.sh, CMake and the #include lines say the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "tests/house/prose.h"

namespace capstan::house {
namespace {

// What the project is used with and does not need: found at run time, or for comparisons.
const std::set<std::string> kOptional = {"libdw1", "libtorch-dev"};

// Packages in the first group, with the command, header or library that the script looks for in the second.
std::map<std::string, std::string> installed() {
  static const std::regex entry(R"(^([a-z][\w+-]+) +(\S+)$)");
  std::map<std::string, std::string> result;
  std::smatch match;
  bool list = false;
  for (const std::string& line : SourceFile{"", read_file("tools/install_dependencies.sh")}.lines()) {
    if (line == "needed=\"" || line == "  needed+=\"") list = true;
    if (line == "\"") list = false;
    if (list && std::regex_match(line, match, entry)) result[match[1]] = match[2];
  }
  return result;
}

// The packages in the second column of the table.
std::set<std::string> in_readme() {
  static const std::regex row(R"(^\|[^|]*\|([^|]*)\|[^|]*\|[^|]*\|$)");
  std::set<std::string> result;
  std::smatch match;
  for (const std::string& line : SourceFile{"", read_file("README.md")}.lines()) {
    if (!std::regex_match(line, match, row)) continue;
    for (const std::string& package : quoted(match[1])) result.insert(package);
  }
  return result;
}

std::vector<Include> all_includes() {
  std::vector<Include> result;
  for (const char* folder : {"include", "src", "tests", "examples", "benchmarks"}) {
    for (const SourceFile& file : source_files(folder)) {
      for (const Include& include : includes(file)) result.push_back(include);
    }
  }
  return result;
}

bool is_header(const std::string& thing) { return std::regex_match(thing, std::regex(R"(.*\.(h|hh|hpp))")); }

TEST(Dependencies, OfTheReadmeAreThoseThatAreInstalled) {
  const auto needed = installed();
  const auto named = in_readme();
  ASSERT_GT(needed.size(), 10u);
  for (const auto& [package, thing] : needed) EXPECT_TRUE(named.contains(package)) << package << " is not in README.md";
  for (const std::string& package : named) {
    EXPECT_TRUE(needed.contains(package) || kOptional.contains(package))
        << package << " is in README.md and not in tools/install_dependencies.sh";
  }
}

TEST(Dependencies, AreUsed) {
  const auto everywhere = all_includes();
  std::string builds;
  for (const char* path : {"CMakePresets.json", "cmake/CapstanSettings.cmake", "cmake/CapstanInstall.cmake", "Makefile",
                           "tools/tidy.sh", "tools/format.sh", "tools/sources.sh", "tests/house/install_test.sh"})
    builds += read_file(path);
  std::string sources;
  for (const SourceFile& file : source_files("src")) sources += without_comments(file.text);
  for (const auto& [package, thing] : installed()) {
    if (is_header(thing)) {
      const bool used =
          std::any_of(everywhere.begin(), everywhere.end(), [&](const Include& i) { return i.name == thing; });
      EXPECT_TRUE(used) << package << ": no source includes " << thing;
    } else {
      static const std::map<std::string, std::string> names = {
          {"g++", "compiler"}, {"ninja", "Ninja"}, {"python3-config", "pip install"}, {"ensurepip.py", "-m venv"}};
      const auto name = names.find(thing);
      const std::string word = name == names.end() ? thing : name->second;
      EXPECT_TRUE(builds.find(word) != std::string::npos || sources.find(word) != std::string::npos)
          << package << ": nothing uses " << thing;
    }
  }
}

TEST(Dependencies, OfEveryIncludeAreInstalled) {
  // Of the peer program, which is built where it is installed, and of the Python module, which gets it from PyPI.
  std::set<std::string> provided = {"torch/", "nanobind/"};
  for (const auto& [package, thing] : installed()) {
    if (is_header(thing)) provided.insert(thing.substr(0, std::min(thing.find('/'), thing.size() - 1) + 1));
  }
  const auto is_own = [](const std::string& name) {
    if (name.starts_with("src/") || name.starts_with("tests/") || name.starts_with("capstan/")) return true;
    for (const char* from : {"", "examples/", "examples/mnist/"}) {
      if (paths().contains(from + name)) return true;
    }
    return false;
  };
  for (const Include& include : all_includes()) {
    const std::size_t slash = include.name.find('/');
    if (!is_header(include.name) || is_own(include.name)) continue;
    if (provided.contains(slash == std::string::npos ? include.name : include.name.substr(0, slash + 1))) continue;
    // What is left comes with the compiler and the C library.
    EXPECT_TRUE(include.name.starts_with("sys/") || slash == std::string::npos)
        << include.name << " belongs to no package of tools/install_dependencies.sh";
  }
}

TEST(Dependencies, ThatCMakeAsksForAreInstalled) {
  static const std::regex header(R"(capstan_need_header\((\w+) (\S+) (\S+)\))"),
      package(R"(apt-get install ([a-z][\w.+-]*))");
  const auto needed = installed();
  std::string all;
  for (const std::string& path : paths()) {
    if (path.ends_with("CMakeLists.txt") || path.ends_with(".cmake") ||
        (path.starts_with("tools/") && path.ends_with(".sh")))
      all += read_file(path);
  }
  const std::string dependencies = read_file("cmake/CapstanDependencies.cmake");
  int found = 0;
  for (std::sregex_iterator i(dependencies.begin(), dependencies.end(), header), end; i != end; ++i) {
    ++found;
    const auto one = needed.find((*i)[3]);
    ASSERT_NE(one, needed.end()) << (*i)[3];
    EXPECT_EQ(one->second, (*i)[2]) << (*i)[3];
    EXPECT_NE(all.find("${" + std::string((*i)[1]) + "}"), std::string::npos) << (*i)[1] << " is used nowhere";
  }
  EXPECT_GT(found, 3);
  for (std::sregex_iterator i(all.begin(), all.end(), package), end; i != end; ++i)
    EXPECT_TRUE(needed.contains((*i)[1]) || kOptional.contains((*i)[1])) << (*i)[1];
}

}  // namespace
}  // namespace capstan::house
