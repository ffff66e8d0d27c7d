// The command line of examples/mnist: what it takes, and what it says to mistakes.
#include "examples/mnist/options.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace mnist {
namespace {

struct Parsed {
  std::optional<Options> options;
  int exit_code = 0;
  std::string errors;
};

Parsed parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "mnist");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  Parsed parsed;
  ::testing::internal::CaptureStderr();
  parsed.options = parse_options(static_cast<int>(argv.size()), argv.data(), &parsed.exit_code);
  parsed.errors = ::testing::internal::GetCapturedStderr();
  return parsed;
}

TEST(MnistOptions, AreReadInAnyOrder) {
  const Parsed parsed = parse({"--seed", "7", "--literal", "--eager", "--epochs", "0", "--data", "x", "--threads", "3",
                               "--train-digits", "64"});
  ASSERT_TRUE(parsed.options) << parsed.errors;
  EXPECT_EQ(parsed.options->seed, 7u);
  EXPECT_EQ(parsed.options->epochs, 0);
  EXPECT_EQ(parsed.options->threads, 3);
  EXPECT_EQ(parsed.options->train_digits, 64);
  EXPECT_EQ(parsed.options->data, "x");
  EXPECT_TRUE(parsed.options->literal);
  EXPECT_TRUE(parsed.options->eager);
  EXPECT_FALSE(parse({}).options->eager);
}

TEST(MnistOptions, SayWhatIsWrong) {
  const auto error = [](const std::vector<std::string>& arguments) {
    const Parsed parsed = parse(arguments);
    EXPECT_FALSE(parsed.options);
    EXPECT_EQ(parsed.exit_code, 2);
    return parsed.errors;
  };
  EXPECT_EQ(error({"--epoch", "3"}), "mnist: there is no option --epoch\n  help: mnist --help lists them\n");
  EXPECT_EQ(error({"digits"}),
            "mnist: there is no option digits\n  help: options begin with --, as in --data DIR; mnist --help lists "
            "them\n");
  EXPECT_EQ(error({"--epochs"}), "mnist: --epochs needs a value\n");
  EXPECT_EQ(error({"--epochs", "five"}), "mnist: --epochs must be a whole number from 0 to 100000, not \"five\"\n");
  EXPECT_EQ(error({"--epochs", "-1"}), "mnist: --epochs must be a whole number from 0 to 100000, not \"-1\"\n");
  EXPECT_EQ(error({"--threads", "0"}), "mnist: --threads must be a whole number from 1 to 4096, not \"0\"\n");
  EXPECT_EQ(error({"--seed", ""}), "mnist: --seed must be a whole number from 0 to 18446744073709551615, not \"\"\n");
}

// Before the training, not after it.
TEST(MnistOptions, FindThatThePictureCannotBeWritten) {
  const Parsed parsed = parse({"--picture", "/no/such/folder/mistakes.png"});
  EXPECT_FALSE(parsed.options);
  EXPECT_EQ(parsed.errors,
            "mnist: --picture: /no/such/folder/mistakes.png cannot be written, No such file or directory\n");
  const std::string good = ::testing::TempDir() + "mistakes_that_do_not_exist.png";
  EXPECT_TRUE(parse({"--picture", good}).options);
  EXPECT_FALSE(std::filesystem::exists(good));
}

}  // namespace
}  // namespace mnist
