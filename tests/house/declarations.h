// Reads the declarations of a public header, roughly: enough to ask whether each has a comment.
#pragma once

#include <string>
#include <vector>

#include "tests/house/source_tree.h"

namespace capstan::house {

struct Declaration {
  int line;
  std::string name;
  bool documented;  // a `///` stands in its paragraph, before it
};

// The functions and classes at the scope of a namespace other than `detail`. Members are not among
// them: many are accessors whose names say all.
//
// A paragraph of declarations, that is, lines without a blank one between them, shares its comment:
// what is said of the first of several overloads holds for all.
std::vector<Declaration> declarations(const SourceFile& header);

}  // namespace capstan::house
