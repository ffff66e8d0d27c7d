// Words that comments and documents do without, because the field has plainer ones.
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "tests/house/prose.h"
#include "tests/house/source_tree.h"

namespace capstan::house {
namespace {

struct Word {
  std::regex pattern;  // of a line of prose
  const char* instead;
};

// From a reading of the whole tree: what engineers had to read twice.
const std::vector<Word> kWords = {
    {std::regex(R"(\bbehind\b)"), "after; of, for what a handle points to"},
    {std::regex(R"(\bstands?(?= (?!(in )?for\b)|[.,;:]))"), "is, are"},
    {std::regex(R"(\bthe begin\b)"), "the start"},
    {std::regex(R"(\bderivatives? by\b)"), "derivative with respect to"},
    {std::regex(R"(\bthe original\b(?!s))"), "TensorFlow, Keras"},
    {std::regex(R"(\bis due\b)"), "is expected"},
    {std::regex(R"(\b(has|have) not the\b)"), "does not have the"},
    {std::regex(R"(\bthe way (there|back)\b)"), "forward, inverse"},
};

std::string words_in(const Prose& prose) {
  // Names of code and quotations keep theirs.
  static const std::regex names(R"(`[^`]*`|"[^"]*"|<[^>]*>)");
  const std::string text = std::regex_replace(prose.text, names, "");
  std::string found;
  for (const Word& word : kWords) {
    if (std::regex_search(text, word.pattern))
      found += "\n" + prose.path + ":" + std::to_string(prose.line) + ": " + text + "\n  better: " + word.instead;
  }
  return found;
}

TEST(Words, OfTheFieldOnly) {
  std::string found;
  int lines = 0;
  std::vector<Prose> all = prose_of_sources();
  for (Prose& prose : prose_of_documents()) all.push_back(std::move(prose));
  for (const Prose& prose : all) {
    const bool is_product = prose.path.starts_with("src/") || prose.path.starts_with("include/");
    const bool is_document = prose.path.starts_with("docs/") || prose.path == "README.md";
    if (!is_product && !is_document) continue;
    ++lines;
    found += words_in(prose);
  }
  EXPECT_EQ(found, "");
  EXPECT_GT(lines, 10000) << "the prose was not found";
}

TEST(Words, AreFoundInProseButNotInNames) {
  EXPECT_NE(words_in({"a.cc", 1, "// The list stands here."}), "");
  EXPECT_NE(words_in({"a.cc", 1, "// what comes behind it"}), "");
  EXPECT_EQ(words_in({"a.cc", 1, "// It stands for a value, and `behind` is a name."}), "");
}

}  // namespace
}  // namespace capstan::house
