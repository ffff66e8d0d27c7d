#include "src/core/utf8.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(Utf8, KnowsWhatIsValid) {
  for (const char* text : {"", "abc", "zw\xc3\xb6lf \xe4\xb8\xad", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(utf8::is_valid(text)) << text;
  for (const char* text : {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff",
                           "\xe4\xb8", "\xf0\x80\x80\x80", "\xc3\x28"})
    EXPECT_FALSE(utf8::is_valid(text)) << text;
}

TEST(Utf8, CountsAndFindsCharacters) {
  const std::string text = "zw\xc3\xb6lf\xe4\xb8\xad";
  EXPECT_EQ(utf8::count(text), 6U);
  EXPECT_EQ(utf8::offset_of(text, 0), 0U);
  EXPECT_EQ(utf8::offset_of(text, 3), 4U);
  EXPECT_EQ(utf8::offset_of(text, 6), text.size());
  EXPECT_EQ(utf8::offset_of(text, 60), text.size());
  EXPECT_EQ(utf8::offset_of("", 1), 0U);
}

TEST(Utf8, WritesWhatItReads) {
  for (const unsigned code : {0x41U, 0x7fU, 0x80U, 0x7ffU, 0x800U, 0xd7ffU, 0xe000U, 0xffffU, 0x10000U, 0x10ffffU}) {
    std::string text;
    utf8::append(text, code);
    const utf8::Sequence sequence = utf8::sequence_at(text);
    EXPECT_TRUE(sequence.is_valid) << code;
    EXPECT_EQ(sequence.length, text.size()) << code;
  }
}

}  // namespace
}  // namespace capstan
