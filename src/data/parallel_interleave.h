// interleave() with threads that read ahead.
#pragma once

#include "src/data/stage.h"

namespace capstan::detail {

DatasetNodePtr parallel_interleaved(PartTypes types, DatasetNodePtr input, PartDataset open, std::int64_t cycle_length,
                                    std::int64_t block_length, std::int64_t parallel_calls,
                                    std::optional<bool> deterministic);

}  // namespace capstan::detail
