// The golden values of tests/golden/ops, one test per file. `golden_check` reads the same format
// and says more.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/golden/case_runner.h"

namespace capstan::testing {
namespace {

std::filesystem::path golden_directory() {
  return std::filesystem::path(CAPSTAN_SOURCE_DIR) / "tests" / "golden" / "ops";
}

std::vector<std::string> golden_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_directory())) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Golden : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Files, Golden, ::testing::ValuesIn(golden_files()),
                         [](const auto& info) { return info.param; });

TEST_P(Golden, CasesPass) {
  const Json file = read_json((golden_directory() / (GetParam() + ".json")).string());
  int passed = 0;
  for (const Json& json : file.at("cases")) {
    const CaseResult result = json.contains("nodes") ? run_program(json) : run_case(json);
    const auto name = json.at("name").get<std::string>();
    if (result.verdict == Verdict::kPassed) ++passed;
    if (result.verdict == Verdict::kFailed) ADD_FAILURE() << name << ": " << result.reason;
    if (result.verdict == Verdict::kLacking) ADD_FAILURE() << name << " lacks " << result.reason;
  }
  EXPECT_GT(passed, 0);
  if (GetParam() == "programs") {
    EXPECT_EQ(passed, static_cast<int>(file.at("cases").size()));
  }
}

TEST(GoldenFiles, CallAtLeastThreeHundredOpsOfTheLibrary) {
  std::set<std::string> known;
  for (const std::string& name : golden_files())
    known.merge(known_ops(read_json((golden_directory() / (name + ".json")).string())));
  EXPECT_GE(known.size(), 300u);
}

// A case that is wrong must fail: the comparison itself is tested here.
TEST(CaseRunner, FindsWrongNumbers) {
  const auto verdict = [](const char* text) { return run_case(Json::parse(text)).verdict; };
  const char* right = R"({"name": "a", "op": "math.square", "attrs": {},
      "inputs": [{"dtype": "float64", "shape": [2], "data": [2, 3]}],
      "outputs": [{"dtype": "float64", "shape": [2], "data": [4, 9]}],
      "cotangents": [{"dtype": "float64", "shape": [2], "data": [1, 2]}],
      "gradients": [{"dtype": "float64", "shape": [2], "data": [4, 12]}],
      "second": {"weights": [{"dtype": "float64", "shape": [2], "data": [1, 1]}],
                 "gradients": [{"dtype": "float64", "shape": [2], "data": [2, 4]}],
                 "cotangent_gradients": [{"dtype": "float64", "shape": [2], "data": [4, 6]}]}})";
  EXPECT_EQ(verdict(right), Verdict::kPassed) << run_case(Json::parse(right)).reason;
  const auto with = [&](const char* from, const char* to) {
    std::string text = right;
    text.replace(text.find(from), std::string(from).size(), to);
    return run_case(Json::parse(text)).verdict;
  };
  EXPECT_EQ(with("[4, 9]", "[4, 9.0000001]"), Verdict::kFailed);
  EXPECT_EQ(with("[4, 12]", "[4, 12.0000001]"), Verdict::kFailed);
  EXPECT_EQ(with("[2, 4]", "[2, 4.001]"), Verdict::kFailed);
  EXPECT_EQ(with("[4, 6]", "[4, 6.001]"), Verdict::kFailed);
  EXPECT_EQ(with("\"math.square\"", "\"math.no_such_op\""), Verdict::kLacking);
  EXPECT_EQ(with("\"attrs\": {}", "\"attrs\": {\"unknown\": 1}"), Verdict::kLacking);
  EXPECT_EQ(with("\"float64\"", "\"float16\""), Verdict::kLacking);
  EXPECT_EQ(with("\"name\"",
                 "\"error\": {\"type\": \"E\", \"stage\": \"forward\", \"category\": "
                 "\"bad_value\"}, \"name\""),
            Verdict::kFailed);
}

}  // namespace
}  // namespace capstan::testing
