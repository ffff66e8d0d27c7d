#pragma once
// The headers of programs that use the library: tests, examples and benchmarks, compiled once for each kind
// (cmake/CapstanSettings.cmake).
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "capstan/capstan.h"
