// What documents and comments say in words, and what there is for it to be true of.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/house/source_tree.h"

namespace capstan::house {

// One line of a document outside of its code, or the comment of one line of a source file.
struct Prose {
  std::string path;
  int line;
  std::string text;

  std::string where() const { return path + ":" + std::to_string(line); }
};
std::vector<Prose> prose_of(const SourceFile& file);

// Of all documents, and of the comments of all sources.
std::vector<Prose> prose_of_documents();
std::vector<Prose> prose_of_sources();

// What is between backquotes in a line.
std::vector<std::string> quoted(const std::string& text);

// The words of code: of C++ without its comments, and of whatever else builds, tests and installs the project.
const std::set<std::string>& words_of_code();

// A source without its comments.
std::string without_comments(const std::string& text);

// And without what its texts say: "" is left of each.
std::string without_comments_and_texts(const std::string& text);

// Every file of the project, from the root with '/', and every folder.
const std::set<std::string>& paths();

// Whether a path or, with `*` or `<...>` for any text, at least one, exists.
bool exists(const std::string& path);

}  // namespace capstan::house
