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

// What a thread knows stands in its Context (src/core/context.h), and what a call needs is an argument. The list is
// closed: caches on hot paths, which their threads empty when they end (src/core/thread_end.h), and what has a
// destructor.
TEST(Files, OfTheLibraryHaveFewVariablesOfThreads) {
  const std::set<std::string> kFiles = {
      "src/core/context.h",        // what the thread is doing
      "src/core/context.cc",       // the same one
      "src/core/allocator.cc",     // lists of free memory
      "src/core/thread_end.cc",    // what the thread does when it ends
      "src/kernels/scratch.h",     // short-lived memory of kernels
      "src/kernels/scratch.cc",    // the same one
      "src/tape/tape_impl.cc",     // tapes that wait for reuse
      "src/transforms/spare.h",    // objects of calls that wait for reuse
      "src/transforms/profile.cc"  // what the thread knows of a profile
  };
  std::set<std::string> found;
  for (const char* folder : {"include", "src"}) {
    for (const SourceFile& file : source_files(folder)) {
      for (const std::string& line : file.lines()) {
        if (line.substr(0, line.find("//")).find("thread_local ") == std::string::npos) continue;
        EXPECT_TRUE(kFiles.contains(file.path)) << file.path << ": " << line;
        EXPECT_TRUE(found.insert(file.path).second) << file.path << " has two: " << line;
      }
    }
  }
  EXPECT_EQ(found, kFiles) << "files without a variable of threads";
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
