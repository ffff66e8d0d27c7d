// Makes a failing program small.
#pragma once

#include <functional>

#include "tests/nested/program.h"

namespace capstan::nested {

// The smallest program that was found for which `fails` still holds, by replacing parts with smaller ones, over and
// over.
Program shrink(const Program& program, const std::function<bool(const Program&)>& fails);

}  // namespace capstan::nested
