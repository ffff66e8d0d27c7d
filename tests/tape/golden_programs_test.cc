// Every case of tests/golden/tape.json: computed by TensorFlow, ported to C++.
#include <gtest/gtest.h>

#include <stdexcept>
#include <set>
#include <cctype>
#include <fstream>
#include <iterator>

#include "tests/tape/tape_programs.h"

namespace capstan::testing {
namespace {

const Json& golden() {
  static const Json json = read_json(CAPSTAN_SOURCE_DIR "/tests/golden/tape.json");
  return json;
}

const Programs& programs() {
  static const Programs all = [] {
    Programs list;
    for (Programs (*family)() :
         {basic_programs, higher_order_programs, target_programs, unconnected_programs, recording_programs,
          custom_gradient_programs, sparse_programs, variable_programs, jacobian_programs, hessian_programs,
          function_programs, training_programs, forward_programs}) {
      for (auto& [name, program] : family()) {
        if (!list.emplace(name, program).second) throw std::runtime_error("two programs " + name);
      }
    }
    return list;
  }();
  return all;
}

class GoldenProgram : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenProgram, GivesTheStoredResults) {
  for (const Json& item : golden().at("cases")) {
    if (item.at("name") != GetParam()) continue;
    Recorder recorder(item);
    programs().at(GetParam())(recorder);
    recorder.finish();
    return;
  }
  FAIL() << "no such case";
}

std::vector<std::string> ported() {
  std::vector<std::string> names;
  for (const auto& [name, program] : programs()) names.push_back(name);
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += c == '>' ? "_above_" : c == '-' ? "_minus_" : "_";
    }
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Tape, GoldenProgram, ::testing::ValuesIn(ported()), test_name);

// A case that nobody thought of would pass unseen.
TEST(GoldenPrograms, EveryCaseIsPortedOrLeftOutWithAReason) {
  const auto left_out = programs_left_out();
  std::set<std::string> names;
  for (const Json& item : golden().at("cases")) {
    const std::string name = item.at("name");
    names.insert(name);
    EXPECT_NE(programs().contains(name), left_out.contains(name)) << name;
  }
  for (const auto& [name, program] : programs()) EXPECT_TRUE(names.contains(name)) << name;
  for (const auto& [name, reason] : left_out) EXPECT_TRUE(names.contains(name) && !reason.empty()) << name;
}

TEST(GoldenPrograms, ThePageSaysWhatIsLeftOut) {
  std::ifstream file(CAPSTAN_SOURCE_DIR "/docs/conformance.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::size_t all = golden().at("cases").size(), left_out = programs_left_out().size();
  EXPECT_NE(page.find(std::to_string(all - left_out) + " of the " + std::to_string(all) + " are ported."), page.npos);
  for (const auto& [name, reason] : programs_left_out())
    EXPECT_NE(page.find("| `" + name + "` | "), page.npos) << name << " is not on the page";
}

}  // namespace
}  // namespace capstan::testing
