// The project's own files, for tests about how they are written.
#pragma once

#include <string>
#include <vector>

namespace capstan::house {

struct SourceFile {
  std::string path;  // from the root, with '/'
  std::string text;

  std::vector<std::string> lines() const;
};

// One #include line: the name between its quotes or angle brackets.
struct Include {
  int line;
  std::string name;
};

// The .h and .cc files below `folder`, sorted by path.
std::vector<SourceFile> source_files(const std::string& folder);

// The Markdown documents of the project, sorted by path.
std::vector<SourceFile> documents();

// The text of a file of the project.
std::string read_file(const std::string& path);

// The #include lines, without those in comments.
std::vector<Include> includes(const SourceFile& file);

}  // namespace capstan::house
