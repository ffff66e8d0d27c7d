// Positions of iterators as tensors by name.
//
// Each cursor writes what it holds under its own name and those of the transformations after it, as in
// "batch/shuffle/slices/at", then lets its input write. A reader gives the same in the same order; what it has not, or
// has beside that, belongs to another pipeline. A position may come from a file, so numbers are read with the range
// that they must be in.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/dataset_nodes.h"

namespace capstan::detail {

class CAPSTAN_EXPORT PositionWriter {
 public:
  explicit PositionWriter(DatasetPosition& position) : position_(position) {}

  void number(std::string_view name, std::int64_t value);
  void numbers(std::string_view name, const std::vector<std::int64_t>& values);
  // Parts of any number of elements. Errors: ValueError for a type that cannot be written.
  void parts(std::string_view name, PartTypes types, const std::vector<Part>& parts);
  // What a cursor writes, under its name; `place` tells several inputs apart.
  void stage(DatasetCursor& cursor, const std::string& place = "");

 private:
  DatasetPosition& position_;
  std::string path_;
  std::string stage_;
};

class CAPSTAN_EXPORT PositionReader {
 public:
  explicit PositionReader(const DatasetPosition& position) : position_(position) {}

  std::int64_t number(std::string_view name, std::int64_t least = INT64_MIN, std::int64_t most = INT64_MAX);
  bool flag(std::string_view name) { return number(name, 0, 1) == 1; }
  std::vector<std::int64_t> numbers(std::string_view name, std::int64_t least = INT64_MIN,
                                    std::int64_t most = INT64_MAX);
  std::vector<Part> parts(std::string_view name, PartTypes types);
  void stage(DatasetCursor& cursor, const std::string& place = "");
  // Refuses a value of the current stage.
  [[noreturn]] void refuse(std::string_view name) const;
  // Errors: ValueError for what nobody has read.
  void check_all_read() const;

 private:
  const Tensor& at(const std::string& key);

  const DatasetPosition& position_;
  std::set<std::string> read_;
  std::string path_;
};

// Parts of elements as tensors, and back.
std::vector<Tensor> encode_parts(std::string_view stage, PartTypes types, const std::vector<Part>& parts);
std::vector<Part> decode_parts(PartTypes types, const std::vector<Tensor>& tensors);

CAPSTAN_EXPORT Tensor numbers_as_tensor(const std::vector<std::int64_t>& numbers);

}  // namespace capstan::detail
