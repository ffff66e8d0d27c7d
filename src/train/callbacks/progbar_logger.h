// The callbacks of a run, with the one that shows it.
#pragma once

#include <vector>

#include "capstan/callbacks.h"

namespace capstan::detail {

// Adds a ProgbarLogger, unless there is one or nothing is to be shown.
std::vector<Callback> with_progress(std::vector<Callback> callbacks, int verbose);

}  // namespace capstan::detail
