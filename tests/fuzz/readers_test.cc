// Every reader takes its corpus, and what is cut off or has a changed byte, without another error than IoError. What a
// sanitizer sees of it, the preset asan shows; the fuzzers go much further.
#include "tests/fuzz/readers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "capstan/error.h"

namespace capstan::testing {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> corpus_of(std::string_view reader) {
  const fs::path folder = fs::path(CAPSTAN_SOURCE_DIR) / "tests/fuzz/corpus" / reader;
  std::vector<fs::path> files;
  if (fs::is_directory(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::uint8_t> bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool loads(const FileReader& reader, const std::vector<std::uint8_t>& bytes) {
  try {
    reader.read(bytes);
    return true;
  } catch (const IoError&) {
    return false;
  }
}

class ReaderOfFiles : public ::testing::TestWithParam<FileReader> {};

TEST_P(ReaderOfFiles, TakesItsCorpusWholeAndDamaged) {
  const FileReader& reader = GetParam();
  const std::vector<fs::path> files = corpus_of(reader.name);
  ASSERT_FALSE(files.empty()) << "there is no corpus";
  int loaded = 0;
  for (const fs::path& path : files) {
    SCOPED_TRACE(path);
    const std::vector<std::uint8_t> bytes = bytes_of(path);
    if (loads(reader, bytes)) ++loaded;
    // At most some hundred variants of each file.
    const std::size_t step = bytes.size() / 256 + 1;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      loads(reader, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at)});
      for (const int change : {0x01, 0x80, 0xff}) {
        std::vector<std::uint8_t> changed = bytes;
        changed[at] = static_cast<std::uint8_t>(changed[at] ^ change);
        loads(reader, changed);
      }
    }
  }
  EXPECT_GT(loaded, 0) << "no file of the corpus is a right one";
}

INSTANTIATE_TEST_SUITE_P(Every, ReaderOfFiles, ::testing::ValuesIn(file_readers().begin(), file_readers().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace capstan::testing
