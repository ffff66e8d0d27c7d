// The code in documents and in the comments of public headers.
#pragma once

#include <string>
#include <vector>

#include "tests/house/source_tree.h"

namespace capstan::house {

struct CodeBlock {
  std::string path;
  int line;                        // of its first line of code
  std::string language;            // what is written after the fence; "cpp" in headers
  std::vector<std::string> lines;  // without the indentation of the block
  std::string note;                // the HTML comment on the line before the fence
};

// The fenced blocks of a Markdown document.
std::vector<CodeBlock> code_blocks(const SourceFile& document);

// The examples of a header: the lines that are indented by five spaces after `///`.
std::vector<CodeBlock> header_examples(const SourceFile& header);

// The text of a note "<!-- key: text -->" or "<!-- key text -->"; empty if the note has another key or none.
std::string note_of(const CodeBlock& block, const std::string& key);

}  // namespace capstan::house
