// golden_check DIR_OR_FILE...: compares the library with golden values of the original frameworks.
//
// Every case whose op the registry knows is run, and those of the files that Keras made; the program prints how many
// passed, failed and lack something, per file and in total, and the names and reasons of those that failed. Its exit
// status is 1 if any case failed.
#include <gtest/gtest-spi.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "capstan/registry.h"
#include "tests/golden/case_runner.h"
#include "tests/golden/keras_cases.h"

namespace {

using capstan::testing::CaseResult;
using capstan::testing::Json;
using capstan::testing::KerasFile;
using capstan::testing::Verdict;

constexpr const char* kUsage =
    "golden_check [options] DIR_OR_FILE...: compare ops, layers and trainings with golden values\n"
    "  --only OP    only cases of this op, or whose name is this\n"
    "  --verbose    also name the cases that lack something, with reasons\n"
    "  --list       list the ops of the files, and whether the library has them\n";

struct Options {
  std::vector<std::string> paths;
  std::string only;
  bool verbose = false;
  bool list = false;
};

struct Counts {
  int passed = 0;
  int failed = 0;
  int lacking = 0;
  int no_wish = 0;

  void add(const Counts& other) {
    passed += other.passed;
    failed += other.failed;
    lacking += other.lacking;
    no_wish += other.no_wish;
  }
};

// Files whose cases are told in words; the tests have them as code.
bool is_ported_by_hand(const std::string& family) {
  return family == "random" || family == "control" || family == "tape";
}

std::vector<std::filesystem::path> files_of(const std::vector<std::string>& paths) {
  std::set<std::filesystem::path> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.insert(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == ".json") files.insert(entry.path());
    }
  }
  return {files.begin(), files.end()};
}

bool is_selected(const Json& json, const std::string& only) {
  if (only.empty() || capstan::testing::case_name(json) == only) return true;
  return json.contains("op") &&
         (json.at("op") == only || capstan::testing::op_name(json.at("op").get<std::string>()) == only);
}

// What runs a file that Keras made, or null. Files of ops name their family; both frameworks have a random.json.
const KerasFile* keras_file(const std::string& name, const Json& document) {
  if (document.contains("family")) return nullptr;
  for (const KerasFile* file : KerasFile::all()) {
    if (file->name == name) return file;
  }
  return nullptr;
}

// Of a runner that is made of GoogleTest's checks: the first that fails.
CaseResult run_keras(const KerasFile& file, const Json& document, const Json& json) {
  testing::TestPartResultArray results;
  const testing::ScopedFakeTestPartResultReporter reporter(&results);
  try {
    file.compare(document, json);
  } catch (const capstan::testing::Lacking& lacking) {
    return {Verdict::kLacking, lacking.reason};
  } catch (const std::exception& error) {
    return {Verdict::kFailed, error.what()};
  }
  for (int i = 0; i < results.size(); ++i) {
    if (results.GetTestPartResult(i).failed()) return {Verdict::kFailed, results.GetTestPartResult(i).message()};
  }
  return {};
}

Counts check_file(const Json& file, const KerasFile* keras, const Options& options,
                  std::map<std::string, int>& reasons) {
  Counts counts;
  for (const Json& json : file.at("cases")) {
    if (!is_selected(json, options.only)) continue;
    const CaseResult result = keras != nullptr         ? run_keras(*keras, file, json)
                              : json.contains("nodes") ? capstan::testing::run_program(json)
                                                       : capstan::testing::run_case(json);
    const std::string name = capstan::testing::case_name(json);
    switch (result.verdict) {
      case Verdict::kPassed:
        ++counts.passed;
        break;
      case Verdict::kFailed:
        ++counts.failed;
        std::printf("FAILED %s: %s\n", name.c_str(), result.reason.c_str());
        break;
      case Verdict::kLacking:
        ++counts.lacking;
        ++reasons[result.reason];
        if (options.verbose) std::printf("lacking %s: %s\n", name.c_str(), result.reason.c_str());
        break;
      case Verdict::kNoWish:
        ++counts.no_wish;
        if (options.verbose) std::printf("no wish %s: %s\n", name.c_str(), result.reason.c_str());
        break;
    }
  }
  return counts;
}

void print_counts(const std::string& name, const Counts& counts) {
  std::printf("%-24s %5d passed %4d failed %5d lacking %3d no wish\n", name.c_str(), counts.passed, counts.failed,
              counts.lacking, counts.no_wish);
}

int run(const Options& options) {
  Counts total;
  std::map<std::string, int> reasons;
  std::set<std::string> known;
  for (const std::filesystem::path& path : files_of(options.paths)) {
    const Json file = capstan::testing::read_json(path.string());
    const KerasFile* const keras = keras_file(path.stem(), file);
    if (keras == nullptr && !file.contains("family")) {
      std::printf("%-24s skipped: nothing here runs its %zu cases\n", path.stem().c_str(), file.at("cases").size());
      continue;
    }
    if (keras == nullptr && is_ported_by_hand(file.at("family").get<std::string>())) {
      std::printf("%-24s skipped: its cases are told in words, see tests/\n", path.stem().c_str());
      continue;
    }
    if (keras == nullptr) known.merge(capstan::testing::known_ops(file));
    if (options.list) {
      std::set<std::string> names;
      for (const Json& json : file.at("cases")) {
        if (json.contains("op")) names.insert(json.at("op").get<std::string>());
      }
      for (const std::string& name : names) {
        std::printf("%-14s %-45s %s\n", path.stem().c_str(), name.c_str(),
                    capstan::has_op(capstan::testing::op_name(name)) ? "known" : "-");
      }
      continue;
    }
    const Counts counts = check_file(file, keras, options, reasons);
    print_counts(path.stem().string(), counts);
    total.add(counts);
  }
  if (options.list) return 0;
  std::printf("\nlacking, by reason\n");
  for (const auto& [reason, count] : reasons) {
    if (options.verbose || !reason.starts_with("op ")) std::printf("  %4d %s\n", count, reason.c_str());
  }
  int unknown = 0;
  for (const auto& [reason, count] : reasons) unknown += reason.starts_with("op ") ? count : 0;
  std::printf("  %4d unknown ops\n", unknown);
  std::printf("%zu ops of these files are known\n", known.size());
  print_counts("total", total);
  if (total.passed + total.failed + total.lacking + total.no_wish == 0) {
    std::fprintf(stderr, "golden_check: no case was found\n");
    return 2;
  }
  return total.failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--verbose") {
      options.verbose = true;
    } else if (argument == "--list") {
      options.list = true;
    } else if (argument == "--only" && i + 1 < argc) {
      options.only = argv[++i];
    } else if (argument == "--help") {
      std::fputs(kUsage, stdout);
      return 0;
    } else if (argument.starts_with("--")) {
      std::fprintf(stderr, "golden_check: unknown option %s\n%s", argument.c_str(), kUsage);
      return 2;
    } else {
      options.paths.push_back(argument);
    }
  }
  if (options.paths.empty()) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "golden_check: %s\n", error.what());
    return 2;
  }
}
