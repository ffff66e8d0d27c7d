// What reads files, each as a function of bytes: for the fuzzers, and for the test that runs over their corpora.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace capstan::testing {

// A reader of one format.
struct FileReader {
  std::string_view name;  // also that of its folder in corpus/
  // Reads a file with these bytes, to its end. Throws IoError for what is no such file, and nothing else.
  void (*read)(std::span<const std::uint8_t> bytes);
};

std::span<const FileReader> file_readers();

// The reader of this name, or null.
const FileReader* find_file_reader(std::string_view name);

}  // namespace capstan::testing
