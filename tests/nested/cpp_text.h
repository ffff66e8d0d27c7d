// Programs as C++, to paste into a test.
#pragma once

#include <string>

#include "tests/nested/check.h"
#include "tests/nested/program.h"

namespace capstan::nested {

// A whole file: what it computes in this mode is printed, and `remark` is said in a comment.
std::string cpp_text(const Program& program, const Mode& mode, const std::string& remark);

}  // namespace capstan::nested
