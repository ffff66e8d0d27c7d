// map() and batches with calls on other threads.
#pragma once

#include <functional>

#include "src/data/stage.h"

namespace capstan::detail {

DatasetNodePtr parallel_mapped(const char* name, PartTypes types, DatasetNodePtr input, PartFunction function,
                               std::int64_t parallel_calls, std::optional<bool> deterministic);

// Makes the parts of one element from those of `count` elements of the input, which follow each other.
using GroupFunction = std::function<void(const Part* parts, std::int64_t count, Part* result)>;

// How many elements of the input a call gets.
struct Grouping {
  std::int64_t size = 1;
  bool drop_remainder = false;  // a last group that is not full
};

// A cursor that calls a function for groups of elements. An element that fails takes its group with it.
DatasetCursorPtr parallel_groups(const char* name, PartTypes types, DatasetCursorPtr input, GroupFunction join,
                                 const Grouping& grouping, std::int64_t parallel_calls,
                                 std::optional<bool> deterministic);

}  // namespace capstan::detail
