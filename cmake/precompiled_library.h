#pragma once
// The headers that most files of the library include, compiled once for all of them (cmake/CapstanSettings.cmake).
// Reading them costs each file 0.4 s. What is here is changed rarely, or makes every file compile again anyway.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capstan/config.h"
#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/structure.h"
#include "capstan/variable.h"
#include "src/core/check.h"
