#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "capstan/error.h"
#include "capstan/registry.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

AttributeValue read(std::string_view json) { return AttributeValue::from_json(json); }

TEST(Json, IsReadAndWrittenBack) {
  const std::string text =
      R"({"a": null, "b": [true, false, -3, 0.5, 1e-07], "c": {"d": "x\"y\\z"}, "e": [], "f": {}})";
  EXPECT_EQ(read(text).to_json(), text);
  EXPECT_EQ(read(" [ 1 ,\n\t2 ] ").to_json(), "[1, 2]");
  EXPECT_EQ(read("1.0").kind, AttributeValue::Kind::kFloat);
  EXPECT_EQ(read("10").kind, AttributeValue::Kind::kInt);
  EXPECT_EQ(read("10").number, 10);
}

TEST(Json, NumbersKeepTheirValues) {
  for (const double number : {0.1, 1e300, -2.5e-308, 123456789.125, std::nextafter(1.0, 2.0), 1e15}) {
    const AttributeValue back = read(AttributeValue(number).to_json());
    EXPECT_EQ(back.kind, AttributeValue::Kind::kFloat) << number;
    EXPECT_EQ(back.number, number);
  }
  constexpr auto kLarge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(read(AttributeValue(kLarge).to_json()).integer, kLarge);
  EXPECT_EQ(AttributeValue(std::numeric_limits<double>::infinity()).to_json(), "\"inf\"");
}

TEST(Json, TextsKeepTheirCharacters) {
  std::string text = "tab\t, newline\n, zero";
  text += '\0';
  text += "\x01, \xc3\xa4, \xf0\x9f\x8e\x88";
  EXPECT_EQ(read(AttributeValue(text).to_json()).text, text);
  EXPECT_EQ(read(R"("\u00e4\ud83c\udf88\/\b")").text, "\xc3\xa4\xf0\x9f\x8e\x88/\b");
}

TEST(Json, OfAMapTheLastValueOfAKeyCounts) {
  const AttributeValue value = read(R"({"a": 1, "b": 2, "a": 3})");
  EXPECT_EQ(value.to_json(), R"({"a": 3, "b": 2})");
  EXPECT_EQ(value.find("a")->integer, 3);
  EXPECT_EQ(value.find("c"), nullptr);
  EXPECT_EQ(value.to_string(), "{a: 3, b: 2}");
}

TEST(Json, WhatIsNotJsonIsRefusedWithThePlace) {
  EXPECT_EQ(message_of([] { read("[1, 2"); }), "from_json: there should be \",\" or \"]\" at position 5");
  EXPECT_EQ(message_of([] { read("{\"a\" 1}"); }), "from_json: there should be \":\" at position 5");
  EXPECT_EQ(message_of([] { read("[1] 2"); }), "from_json: there should be the end of the text at position 4");
  for (const char* text : {"", "nul", "tru", "+", "1.2.3", "[1,]", "{,}", "{1: 2}", "\"open", "\"\\q\"", "\"\\u12\"",
                           "'a'", "\"\\ud83cx\"", "\"\\udf88\"", "{\"a\":}", "]", "--1", "0x10", "NaN"}) {
    EXPECT_THROW(read(text), ValueError) << text;
  }
  EXPECT_THROW(read(std::string(100000, '[')), ValueError);
}

}  // namespace
}  // namespace capstan
