// What each op supports, found by trying, as the page docs/support-matrix.md.
#pragma once

#include <string>

namespace capstan::testing {

// The page as it should be.
std::string support_matrix();

// Where it is.
std::string support_matrix_path();

}  // namespace capstan::testing
