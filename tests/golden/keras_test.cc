// The golden values of Keras in tests/golden/keras, one test per file. `golden_check` reads the same files and says
// more.
#include <set>
#include <algorithm>
#include <filesystem>

#include <gtest/gtest-spi.h>

#include "tests/golden/keras_cases.h"

namespace capstan::testing {
namespace {

std::filesystem::path folder() { return std::filesystem::path(CAPSTAN_SOURCE_DIR) / "tests/golden/keras"; }

class Keras : public ::testing::TestWithParam<const KerasFile*> {};

INSTANTIATE_TEST_SUITE_P(Files, Keras, ::testing::ValuesIn(KerasFile::all()),
                         [](const auto& info) { return info.param->name; });

TEST_P(Keras, CasesPass) {
  const KerasFile& file = *GetParam();
  const Json document = read_json((folder() / (file.name + ".json")).string());
  ASSERT_FALSE(document.at("cases").empty());
  std::set<std::string> seen;
  for (const Json& one : document.at("cases")) {
    const std::string name = case_name(one);
    SCOPED_TRACE(name);
    try {
      file.compare(document, one);
      EXPECT_EQ(file.lacking_key(name), "") << "this case runs, although it is said to be lacking";
    } catch (const Lacking& missing) {
      EXPECT_NE(file.lacking_key(name), "") << "lacking: " << missing.reason;
      seen.insert(file.lacking_key(name));
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  for (const auto& [name, reason] : file.lacking)
    EXPECT_TRUE(seen.contains(name)) << "no such case is lacking: " << name;
}

// Those that whole_models.json is compared with are read by its own runner.
TEST(KerasFiles, HaveAllOneThatRunsThem) {
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    const std::string name = entry.path().stem();
    const bool is_known = std::any_of(KerasFile::all().begin(), KerasFile::all().end(),
                                      [&](const auto* one) { return one->name == name; });
    EXPECT_TRUE(is_known || name == "whole_models_summed_rows") << name;
  }
}

// A case that is wrong must fail: the comparison itself is tested here.
TEST(KerasFiles, FindWrongNumbersAndFieldsThatAreNotCompared) {
  const auto failures = [](Json one) {
    ::testing::TestPartResultArray results;
    const ::testing::ScopedFakeTestPartResultReporter reporter(&results);
    for (const KerasFile* file : KerasFile::all()) {
      if (file->name == "schedules") file->compare({}, one);
    }
    return results.size();
  };
  const Json right = Json::parse(R"({"name": "a", "schedule": "ExponentialDecay", "steps": [10], "values": [0.05],
      "config": {"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5}})");
  EXPECT_EQ(failures(right), 0);
  Json wrong = right;
  wrong["values"] = {0.06};
  EXPECT_EQ(failures(wrong), 1);
  Json unknown = right;
  unknown["second_derivative"] = 1;
  EXPECT_EQ(failures(unknown), 1);
}

}  // namespace
}  // namespace capstan::testing
