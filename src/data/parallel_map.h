// map() with calls on other threads.
#pragma once

#include "src/data/stage.h"

namespace capstan::detail {

DatasetNodePtr parallel_mapped(const char* name, PartTypes types, DatasetNodePtr input, PartFunction function,
                               std::int64_t parallel_calls, bool deterministic);

}  // namespace capstan::detail
