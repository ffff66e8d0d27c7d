// What holds for every file and folder.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/house/source_tree.h"

namespace capstan::house {
namespace {

TEST(Files, HoldOneIdeaInFewerThan600Lines) {
  int files = 0;
  for (const char* folder : {"include", "src", "tests", "examples", "benchmarks"}) {
    for (const SourceFile& file : source_files(folder)) {
      ++files;
      EXPECT_LT(file.lines().size(), 600u) << file.path << " has more than one idea, or one too large";
    }
  }
  EXPECT_GT(files, 20) << "the sources were not found";
}

TEST(Files, EveryFolderSaysWhatLivesThere) {
  const std::filesystem::path root = CAPSTAN_SOURCE_DIR;
  std::vector<std::string> folders = {"include/capstan", "tests", "examples", "benchmarks", "docs"};
  for (const auto& entry : std::filesystem::directory_iterator(root / "src")) {
    if (entry.is_directory()) folders.push_back("src/" + entry.path().filename().string());
  }
  EXPECT_GE(folders.size(), 11u);
  for (const std::string& folder : folders) {
    EXPECT_TRUE(std::filesystem::exists(root / folder / "README.md")) << folder << " has no README.md";
  }
}

}  // namespace
}  // namespace capstan::house
