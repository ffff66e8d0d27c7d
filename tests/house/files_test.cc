// What holds for every file and folder.
#include <gtest/gtest.h>

#include <set>
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

// What the tests compile is what is shipped.
TEST(Files, OfTheLibraryDoNotAskWhetherTheyAreTested) {
  for (const char* folder : {"include", "src"}) {
    for (const SourceFile& file : source_files(folder)) {
      EXPECT_EQ(file.text.find("CAPSTAN_TESTING"), std::string::npos)
          << file.path << ": samples and references of ops are in tests/op_samples";
    }
  }
}

TEST(Files, OfTheDesignIsAPageThatIsRead) {
  const SourceFile design{"", read_file("docs/design.md")};
  EXPECT_LE(design.lines().size(), 250u) << "plans belong into docs/planned.md, details beside the code";
}

TEST(Files, EveryFolderSaysWhatLivesThere) {
  std::set<std::string> folders = {"include/capstan", "tests", "examples", "benchmarks", "docs"};
  for (const SourceFile& file : source_files("src")) folders.insert(file.path.substr(0, file.path.find('/', 4)));
  for (const SourceFile& document : documents()) {
    const std::size_t end = document.path.rfind("/README.md");
    if (end == std::string::npos) continue;
    const std::string folder = document.path.substr(0, end);
    folders.erase(folder);
    const std::string first = document.text.substr(0, document.text.find('\n'));
    // What a formatter of C++ makes of a document does not start so.
    EXPECT_TRUE(first == "# " + folder || first.starts_with("# " + folder + ": ")) << folder << ": " << first;
  }
  for (const std::string& folder : folders) ADD_FAILURE() << folder << " has no README.md";
}

TEST(Files, EveryPageIsInTheList) {
  const std::string list = read_file("docs/README.md");
  for (const SourceFile& page : documents()) {
    const std::string name = page.path.substr(page.path.rfind('/') + 1);
    if (!page.path.starts_with("docs/") || name == "README.md") continue;
    EXPECT_NE(list.find("(" + name + ")"), std::string::npos) << page.path << " is not in docs/README.md";
  }
}

}  // namespace
}  // namespace capstan::house
