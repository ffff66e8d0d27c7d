// Runs the blocks of documents as tests, one for each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cmath>
#include <cstdlib>
#include <regex>

#include "capstan/function.h"
#include "tests/house/documents/registered.h"

namespace capstan::house {
namespace {

class BlockTest : public testing::Test {
 public:
  BlockTest(void (*run)(), std::string prints) : run_(run), prints_(std::move(prints)) {}

  void TestBody() override {
    if (run_ == nullptr) GTEST_SKIP() << "compiled only";
    testing::internal::CaptureStdout();
    std::string thrown;
    try {
      run_();
    } catch (const std::exception& error) {
      thrown = error.what();
    }
    run_functions_eagerly(false);  // which a block may have changed
    const std::string output = testing::internal::GetCapturedStdout();
    if (HasFailure()) std::fputs(output.c_str(), stdout);  // the messages are in it
    EXPECT_EQ(thrown, "");
    std::size_t at = 0;
    for (std::size_t begin = 0; begin < prints_.size();) {
      const std::size_t end = std::min(prints_.find("; ", begin), prints_.size());
      const std::string text = prints_.substr(begin, end - begin);
      at = output.find(text, at);
      ASSERT_NE(at, std::string::npos) << "it does not print \"" << text << "\", but\n" << output;
      begin = end + 2;
    }
  }

 private:
  void (*run_)();
  std::string prints_;
};

std::vector<double> numbers_in(const std::string& text) {
  static const std::regex number(R"([-+]?\d+\.?\d*(e[-+]?\d+)?|[Tt]rue|[Ff]alse)");
  std::vector<double> numbers;
  for (std::sregex_iterator i(text.begin(), text.end(), number), end; i != end; ++i) {
    const std::string word = i->str();
    numbers.push_back(word == "true" || word == "True" ? 1 : std::strtod(word.c_str(), nullptr));
  }
  return numbers;
}

}  // namespace

Registered::Registered(const char* path, int line, void (*run)(), const char* prints) {
  const std::string name = std::string(path) + " line " + std::to_string(line);
  testing::RegisterTest("Documents", name.c_str(), nullptr, nullptr, path, line,
                        [run, prints]() -> testing::Test* { return new BlockTest(run, prints); });
}

void check_text(const std::string& printed, const std::string& type, std::string_view comment) {
  const std::string said(comment);
  if (said.front() == '"') {
    EXPECT_EQ("\"" + printed + "\"", said);
  } else if (said.ends_with(']') && std::isalpha(static_cast<unsigned char>(said.front())) != 0) {
    EXPECT_EQ(type, said);
  } else {
    const std::vector<double> expected = numbers_in(said), got = numbers_in(printed);
    ASSERT_EQ(got.size(), expected.size()) << printed << "\n  where the comment says " << said;
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], expected[i], 1e-6 * std::abs(expected[i]))
          << printed << "\n  where the comment says " << said;
  }
}

}  // namespace capstan::house
