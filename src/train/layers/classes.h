// The layers of the library, one row each.
#pragma once

#include <vector>

#include "capstan/config.h"

namespace capstan::detail {

// core.h
const ClassInfo& dense_class();

}  // namespace capstan::detail
