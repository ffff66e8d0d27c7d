#include "src/io/npz.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/io/file_samples.h"
#include "tests/support/temporary_directory.h"

namespace capstan::io {
namespace {

std::map<std::string, std::string> two_members() {
  return {{"x.npy", npy_bytes("<f4", "(2, 2)", bytes_of<float>({1, 2, 3, 4}))},
          {"y.npy", npy_bytes("<i8", "(2,)", bytes_of<int64_t>({7, -8}))}};
}

TEST(ReadNpz, ReadsStoredAndDeflatedMembers) {
  TemporaryDirectory directory;
  for (const bool is_compressed : {false, true}) {
    const std::string path = directory.file("a.npz");
    write_zip(path, two_members(), is_compressed);
    const std::map<std::string, RawArray> arrays = read_npz(path);
    ASSERT_EQ(arrays.size(), 2u);
    EXPECT_EQ(arrays.at("x").description(), "float32[2, 2]");
    EXPECT_EQ(arrays.at("x").values<float>()[3], 4.0f);
    EXPECT_EQ(arrays.at("y").description(), "int64[2]");
    EXPECT_EQ(arrays.at("y").values<int64_t>()[1], -8);
  }
}

TEST(ReadNpz, LeavesOutWhatIsNoArray) {
  TemporaryDirectory directory;
  auto members = two_members();
  members["README.txt"] = "not an array";
  write_zip(directory.file("a.npz"), members);
  EXPECT_EQ(read_npz(directory.file("a.npz")).size(), 2u);
}

TEST(ReadNpz, ReadsWhatExpandsAThousandfold) {
  TemporaryDirectory directory;
  const size_t size = 20'000'000;
  const std::string shape = "(" + std::to_string(size) + ",)";
  write_zip(directory.file("a.npz"), {{"zeros.npy", npy_bytes("|u1", shape, std::string(size, '\0'))}});
  ASSERT_LT(std::filesystem::file_size(directory.file("a.npz")), size / 500);
  EXPECT_EQ(read_npz(directory.file("a.npz")).at("zeros").data.size(), size);
}

TEST(ReadNpz, RefusesWhatIsNoArchive) {
  TemporaryDirectory directory;
  const std::string path = directory.write("a.npz", "this is text, and more than a few bytes of it");
  expect_io_error([&] { read_npz(path); },
                  {"load_npz: cannot open the zip archive, it has no directory", "\n  file: " + path, "\n  help: "});
  expect_io_error([] { read_npz("/nowhere/a.npz"); }, {"cannot open the file", "/nowhere/a.npz"});
  expect_io_error([&] { read_npz(directory.path()); }, {"not a regular file"});
}

TEST(ReadNpz, NamesTheMemberThatIsWrong) {
  TemporaryDirectory directory;
  write_zip(directory.file("a.npz"), {{"x.npy", npy_bytes("|O", "(1,)", "pickle")}});
  expect_io_error([&] { read_npz(directory.file("a.npz")); },
                  {"load_npz: dtype \"|O\" is not supported", "a.npz, member \"x.npy\""});
}

TEST(ReadNpz, VerifiesTheChecksum) {
  TemporaryDirectory directory;
  write_zip(directory.file("a.npz"), two_members(), false);
  std::string bytes = content_of(directory.file("a.npz"));
  const size_t at = bytes.find(bytes_of<float>({1, 2, 3, 4}));
  ASSERT_NE(at, std::string::npos);
  bytes[at] ^= 1;
  directory.write("a.npz", bytes);
  expect_io_error([&] { read_npz(directory.file("a.npz")); },
                  {"the member is damaged, CRC error", "fetch the file again"});
}

TEST(ReadNpz, RefusesAMemberThatIsListedTwice) {
  TemporaryDirectory directory;
  auto members = two_members();
  members["z.npy"] = members["y.npy"];
  write_zip(directory.file("a.npz"), members, false);
  std::string bytes = content_of(directory.file("a.npz"));
  for (size_t at = bytes.find("z.npy"); at != std::string::npos; at = bytes.find("z.npy")) bytes[at] = 'y';
  directory.write("a.npz", bytes);
  expect_io_error([&] { read_npz(directory.file("a.npz")); }, {"the archive holds this member twice", "\"y.npy\""});
}

TEST(ReadNpz, RefusesMembersThatShareBytes) {
  TemporaryDirectory directory;
  write_zip(directory.file("a.npz"),
            {{"x.npy", npy_bytes("|u1", "(3000,)", std::string(3000, 'x'))},
             {"y.npy", npy_bytes("|u1", "(3000,)", std::string(3000, 'x'))}},
            false);
  std::string bytes = content_of(directory.file("a.npz"));
  // Cut the second member out and let its directory entry, 46 bytes before the name, point at the
  // first.
  const size_t second = bytes.find("PK\x03\x04", 4);
  const size_t entries = bytes.find("PK\x01\x02", second);
  ASSERT_NE(entries, std::string::npos);
  std::string shared = bytes.substr(0, second) + bytes.substr(entries);
  const size_t entry = shared.rfind("y.npy") - 46;
  ASSERT_EQ(shared.substr(entry, 4), "PK\x01\x02");
  shared.replace(entry + 42, 4, std::string(4, '\0'));
  const size_t end = shared.rfind("PK\x05\x06");
  for (int i = 0; i < 4; ++i) shared[end + 16 + i] = static_cast<char>(second >> 8 * i & 0xff);
  directory.write("a.npz", shared);
  expect_io_error([&] { read_npz(directory.file("a.npz")); }, {"the members claim more than the"});
}

TEST(ReadNpz, RefusesOtherCompression) {
  TemporaryDirectory directory;
  write_zip(directory.file("a.npz"), two_members(), false);
  std::string bytes = content_of(directory.file("a.npz"));
  for (size_t at = bytes.find("PK\x01\x02"); at != std::string::npos; at = bytes.find("PK\x01\x02", at + 1)) {
    bytes[at + 10] = 12;  // bzip2
  }
  directory.write("a.npz", bytes);
  expect_io_error([&] { read_npz(directory.file("a.npz")); },
                  {"compression method 12 is not supported, expected 0 or 8"});
}

TEST(ReadNpz, RefusesEncryptedMembers) {
  TemporaryDirectory directory;
  write_zip(directory.file("a.npz"), two_members(), false);
  std::string bytes = content_of(directory.file("a.npz"));
  for (size_t at = bytes.find("PK\x01\x02"); at != std::string::npos; at = bytes.find("PK\x01\x02", at + 1)) {
    bytes[at + 8] |= 1;
  }
  directory.write("a.npz", bytes);
  expect_io_error([&] { read_npz(directory.file("a.npz")); }, {"the member is encrypted"});
}

TEST(ReadNpz, GivesArraysOrAnIoErrorForDamagedArchives) {
  TemporaryDirectory directory;
  for (const bool is_compressed : {false, true}) {
    write_zip(directory.file("good.npz"), two_members(), is_compressed);
    const std::string content = content_of(directory.file("good.npz"));
    Mutator mutator(4);
    int errors = 0;
    for (int i = 0; i < 4000; ++i) {
      const std::string path = directory.write("damaged.npz", mutator.damaged(content));
      try {
        for (const auto& [key, array] : read_npz(path)) {
          ASSERT_EQ(array.data.size(), static_cast<size_t>(array.count()) * element_size(array.type)) << key;
        }
      } catch (const IoError&) {
        ++errors;
      }
    }
    EXPECT_GT(errors, 1000);
  }
}

TEST(ReadNpz, RefusesAMemberWhoseTwoHeadersDiffer) {
  const TemporaryDirectory directory;
  write_zip(directory.file("a.npz"), {{"x.npy", npy_bytes("<i4", "(1,)", bytes_of<int32_t>({1}))}}, false);
  std::ifstream file(directory.file("a.npz"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  // The first is that beside the data, the other in the directory of the archive.
  const size_t at = bytes.find("x.npy");
  ASSERT_LT(at, bytes.rfind("x.npy"));
  bytes[at] = 'y';
  const std::string path = directory.write("b.npz", bytes);
  expect_io_error([&] { read_npz(path); }, {"load_npz", "and the header of \"x.npy\" differ", path});
}

}  // namespace
}  // namespace capstan::io
