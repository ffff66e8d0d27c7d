// The formats of files that the program knows.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/tensor.h"

namespace capstan::cli {

// What a file holds.
struct Content {
  std::map<std::string, Tensor> tensors = {};
  // Beside the tensors: texts, numbers, counts, for people.
  std::vector<std::pair<std::string, std::string>> notes = {};
};

struct Format {
  std::string_view name;
  std::string_view description;
  // Ends of names of files; the first is shown.
  std::vector<std::string_view> endings;
  // Whether a file is of this format, from its path and its first bytes.
  bool (*is_one)(const std::string& path, std::string_view begin);
  // Throws IoError.
  Content (*read)(const std::string& path);
  // Null for a format that is only read. Throws IoError and ValueError.
  void (*write)(const std::string& path, const std::map<std::string, Tensor>& tensors);
};

std::span<const Format> formats();

// The format of a file that is there. Throws IoError if it cannot be read, or is of none of them.
const Format& format_of(const std::string& path);

// The format with this name, or, if that is empty, that of the path's end. Throws ValueError for one that is not
// written.
const Format& format_to_write(const std::string& name, const std::string& path);

}  // namespace capstan::cli
