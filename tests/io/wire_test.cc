#include "src/io/wire.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

#include "capstan/error.h"
#include "tests/support/message_of.h"

namespace capstan::io::wire {
namespace {

using testing::message_of;

Message message(std::string_view bytes) { return {"reader", "file.pb", bytes}; }

TEST(Wire, WhatIsWrittenIsRead) {
  Writer writer;
  writer.varint(1, 300);
  writer.varint(2, std::numeric_limits<std::uint64_t>::max());
  writer.number(3, 1.5);
  writer.number(4, -2.5f);
  writer.bytes(536870911, "text");
  Message read = message(writer.text());
  const auto next = [&] { return read.next().value(); };
  Field field = next();
  EXPECT_EQ(field.number, 1u);
  EXPECT_EQ(field.kind, Kind::kVarint);
  EXPECT_EQ(field.value, 300u);
  EXPECT_EQ(next().value, std::numeric_limits<std::uint64_t>::max());
  field = next();
  EXPECT_EQ(field.kind, Kind::kFixed64);
  EXPECT_EQ(field.value, 0x3ff8000000000000u);
  field = next();
  EXPECT_EQ(field.kind, Kind::kFixed32);
  EXPECT_EQ(field.value, 0xc0200000u);
  field = next();
  EXPECT_EQ(field.number, 536870911u);
  EXPECT_EQ(field.bytes, "text");
  EXPECT_FALSE(read.next().has_value());
}

TEST(Wire, HasTheBytesOfTheFormat) {
  Writer writer;
  writer.number(1, 1.0);
  writer.bytes(3, "brain.Event:2");
  EXPECT_EQ(writer.text(), std::string("\x09\0\0\0\0\0\0\xf0\x3f\x1a\x0d"
                                       "brain.Event:2",
                                       24));
  Writer packed;
  const std::int64_t integers[] = {-1, 300};
  packed.packed(1, integers);
  EXPECT_EQ(packed.text(), "\x0a\x0c\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xac\x02");
}

TEST(Wire, EveryCutIsAnError) {
  Writer writer;
  writer.varint(1, 300);
  writer.number(2, 1.0);
  writer.number(3, 1.0f);
  writer.bytes(4, "abc");
  // The fields end here; anywhere else one is cut.
  const std::set<std::size_t> ends = {0, 3, 12, 17, 22};
  ASSERT_EQ(writer.text().size(), 22u);
  for (std::size_t size = 0; size <= writer.text().size(); ++size) {
    Message cut = message(std::string_view(writer.text()).substr(0, size));
    const auto read_all = [&] {
      while (cut.next()) continue;
    };
    if (ends.contains(size)) {
      EXPECT_NO_THROW(read_all()) << size;
    } else {
      EXPECT_THROW(read_all(), IoError) << size;
    }
  }
}

TEST(Wire, ErrorsNameFileAndPlace) {
  using namespace std::string_literals;
  EXPECT_EQ(message_of<IoError>([] { message("\x0a\x05xyz").next(); }),
            "reader: a field at byte 2 of a message should have 5 bytes, but only 3 are left\n  file: file.pb");
  EXPECT_NE(message_of<IoError>([] { message("\x0e").next(); }).find("wire type 6"), std::string::npos);
  EXPECT_NE(message_of<IoError>([] { message("\x0b").next(); }).find("wire type 3"), std::string::npos);
  EXPECT_NE(message_of<IoError>([] { message("\x00\x01"s).next(); }).find("number 0"), std::string::npos);
  EXPECT_NE(message_of<IoError>([] { message("\x08" + std::string(10, '\x80') + "\x01").next(); }).find("more than 10"),
            std::string::npos);
  // A length near 2^64.
  EXPECT_THROW(message("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").next(), IoError);
  EXPECT_EQ(message_of<IoError>([] {
              Message of_a_number = message("\x08\x01");
              static_cast<void>(of_a_number.inside(*of_a_number.next()));
            }),
            "reader: field 1 of a message has the wire type 0, not 2\n  file: file.pb");
}

}  // namespace
}  // namespace capstan::io::wire
