// Files of elements: what a writer writes, and files with right checksums that say what is not so.
#include "src/io/element_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_directory.h"

namespace capstan::io {
namespace {

using namespace std::string_literals;
using capstan::testing::message_of;
using Parts = std::vector<ElementPart>;

class ElementFile : public ::testing::Test {
 protected:
  // What is wrong with a file of one part with these records behind the first; nothing in front of the file's name.
  std::string problem(const std::vector<std::string>& records,
                      const std::string& first = "hcapstan elements 1\n\1\1x"s) {
    std::string bytes = framed_record(first);
    for (const std::string& record : records) bytes += framed_record(record);
    const std::string path = directory_.write("file", bytes);
    const std::string text = message_of<IoError>([&] {
      ElementReader reader("load", path);
      Parts parts;
      while (reader.next(parts)) {
      }
    });
    const std::size_t end = text.find("\n  file: " + path);
    return text.substr(0, end);
  }
  static std::string end(std::int64_t count) {
    std::string record = "e"s + std::string(7, '\0');
    record.append(reinterpret_cast<const char*>(&count), sizeof count);
    return record;
  }

  TemporaryDirectory directory_;
};

TEST_F(ElementFile, IsReadAsItWasWritten) {
  const std::string path = directory_.file("file");
  ElementWriter writer("save", path, {"a", "b"});
  for (int i = 0; i < 20000; ++i) writer.add(Parts{{constant(i)}, {constant({1.5, 2.5}), constant(true)}});
  writer.flush();
  writer.add(Parts{{}, {zeros({3, 0})}});
  EXPECT_EQ(writer.count(), 20001);
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.finish();
  ElementReader reader("load", path);
  EXPECT_EQ(reader.kinds(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(reader.count(), 20001);
  Parts parts;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(reader.next(parts));
  EXPECT_EQ(parts[0][0].item<int>(), 99);
  EXPECT_EQ(parts[1][0].to_vector<double>(), (std::vector<double>{1.5, 2.5}));
  EXPECT_TRUE(reader.skip(19899));
  ASSERT_TRUE(reader.next(parts));
  EXPECT_EQ(parts[0][0].item<int>(), 19999);
  ASSERT_TRUE(reader.next(parts));
  EXPECT_TRUE(parts[0].empty());
  EXPECT_EQ(parts[1][0].shape(), (Shape{3, 0}));
  EXPECT_FALSE(reader.next(parts));
  EXPECT_FALSE(reader.next(parts));
  EXPECT_FALSE(ElementReader("load", path).skip(20002));
}

TEST_F(ElementFile, LeavesADraftThatIsKept) {
  const std::string path = directory_.file("file");
  std::int64_t mark = 0;
  {
    ElementWriter writer("save", path, {"a"});
    writer.add(Parts{{constant(1)}});
    writer.flush();
    writer.draft().keep(true);
    mark = writer.draft().mark();
  }
  const std::string draft = FileDraft::path_of(path, mark);
  EXPECT_NE(message_of<IoError>([&] { ElementReader("load", draft); }).find("the file has no end"), std::string::npos);
  ElementReader reader("load", draft, ElementReader::Form::kDraft);
  std::int64_t elements = 0;
  const std::string block(*reader.next_block(&elements));
  EXPECT_EQ(elements, 1);
  EXPECT_FALSE(reader.next_block(&elements));
  ElementWriter writer("save", path, {"a"});
  writer.add_block(block, elements);
  writer.finish();
  EXPECT_EQ(ElementReader("load", path).count(), 1);
}

TEST_F(ElementFile, SaysWhatDoesNotFit) {
  EXPECT_EQ(problem({"b\1\1\3\0x"s, end(1)}),
            "load: element 0: its block has 1 bytes left, which cannot hold a tensor of it");
  EXPECT_EQ(problem({"b\1\1\3"s, end(1)}), "load: element 0: its block ends within it");
  // One int32, as it should be.
  const std::string one = "b\1\1\3\0\7\0\0\0"s;
  EXPECT_EQ(problem({one, end(1)}), "nothing was thrown");
  EXPECT_EQ(problem({one, one, end(2)}), "nothing was thrown");
  EXPECT_EQ(problem({one, end(2)}), "load: element 1: the last record says 2 elements, and 1 were read");
  EXPECT_EQ(problem({one, end(1), end(1)}), "load: element 1: there is something behind the last record");
  EXPECT_EQ(problem({one}), "load: the file has no end, so it is cut off or damaged");
  EXPECT_EQ(problem({one, end(-1)}), "load: the file has no end, so it is cut off or damaged");
  EXPECT_EQ(problem({one + "x", end(1)}), "load: element 0: its block has bytes behind it");
  EXPECT_EQ(problem({"c"s + one, end(1)}), "load: element 0: expected a block of elements");
  EXPECT_EQ(problem({"b\0"s, end(0)}), "load: element 0: its block says 0 elements in 2 bytes");
  EXPECT_EQ(problem({"b\x7f\1\3\0\7\0\0\0"s, end(127)}), "load: element 0: its block says 127 elements in 9 bytes");
  EXPECT_EQ(problem({"b\2\1\3\0\7\0\0\0"s, end(2)}), "load: element 1: its block ends within it");
  EXPECT_EQ(problem({"b\1\1\x09\0\7\0\0\0"s, end(1)}), "load: element 0: dtype 9 is not known");
  EXPECT_EQ(problem({"b\1\1\3\x09"s, end(1)}), "load: element 0: a tensor has 9 axes, the most are 8");
  EXPECT_EQ(problem({"b\1\1\6\0\2"s, end(1)}), "load: element 0: a bool is neither 0 nor 1");
  EXPECT_EQ(problem({"b\1\1\3\1\x80\x80\x80\x80\x10"s, end(1)}), "load: element 0: an axis is 4294967296 long");
  EXPECT_EQ(problem({"b\1\1\3\1\xff\xff\xff\xff\x0f"s, end(1)}),
            "load: element 0: its block has 0 bytes left, which cannot hold a tensor of it");
  // No elements, and lengths beside that whose product no tensor has.
  EXPECT_EQ(problem({"b\1\1\3\3\x80\x80\x80\x80\x08\x80\x80\x80\x80\x08\0"s, end(1)}),
            "load: element 0: its block has 0 bytes left, which cannot hold a tensor of it");
  EXPECT_EQ(problem({"b\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, end(1)}),
            "load: element 0: its block ends within it");
  EXPECT_EQ(problem({"b\1"s + std::string(12, '\xff'), end(1)}), "load: element 0: a number is too long");
  EXPECT_EQ(problem({end(0)}, "hcapstan elements 2\n\1\1x"), "load: not a file of elements");
  EXPECT_EQ(problem({end(0)}, "hcapstan elements 1\n\1\1xy"), "load: the kinds of the parts are damaged");
  EXPECT_EQ(problem({end(0)}, "hcapstan elements 1\n\1\7x"), "load: element 0: its block ends within it");
}

}  // namespace
}  // namespace capstan::io
