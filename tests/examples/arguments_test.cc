// The command lines of examples: what they take, and what they say to mistakes.
#include "examples/support/arguments.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace examples {
namespace {

Arguments parse(std::vector<std::string> given) {
  given.insert(given.begin(), "program");
  std::vector<char*> argv;
  for (std::string& argument : given) argv.push_back(argument.data());
  return {
      static_cast<int>(argv.size()), argv.data(), {"--data FILE  a text", "--epochs N   how often", "--fast  less"}};
}

TEST(Arguments, AreReadInAnyOrder) {
  const Arguments arguments = parse({"--fast", "--epochs", "7", "--data", "--x"});
  EXPECT_TRUE(arguments.has("--fast"));
  EXPECT_EQ(arguments.value("--data"), "--x");
  EXPECT_EQ(arguments.number("--epochs", 3), 7);
  EXPECT_FALSE(parse({}).has("--fast"));
  EXPECT_FALSE(parse({}).value("--data"));
  EXPECT_EQ(parse({}).number("--epochs", 3), 3);
}

TEST(Arguments, ThatAreWrongEndTheProgram) {
  EXPECT_EXIT(parse({"--dat", "x"}), ::testing::ExitedWithCode(1), "--dat is not known");
  EXPECT_EXIT(parse({"FILE"}), ::testing::ExitedWithCode(1), "FILE is not known");
  EXPECT_EXIT(parse({"--data"}), ::testing::ExitedWithCode(1), "--data needs a value");
  EXPECT_EXIT(parse({"--help"}), ::testing::ExitedWithCode(0), "");
  for (const char* number : {"0", "-3", "x", "1x", "", "1000001", "99999999999999999999"}) {
    EXPECT_EXIT(parse({"--epochs", number}).number("--epochs", 1), ::testing::ExitedWithCode(1), "is no number");
  }
}

TEST(Arguments, TellWhatNobodyCaught) {
  const auto fail = [] { throw std::runtime_error("there is no such file"); };
  const auto run = [&]() noexcept {
    const Arguments arguments = parse({});
    fail();
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(1), "there is no such file");
}

}  // namespace
}  // namespace examples
