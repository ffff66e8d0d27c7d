// The page that says what the generated programs reach.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/nested/program.h"

namespace capstan::nested {

// How many programs `make test` runs.
constexpr unsigned kPrograms = 500;
std::vector<Program> all_programs();

// How often each transform is in a body of each other, with no third between them: [inside][around].
using Pairs = std::array<std::array<int, kTransforms>, kTransforms>;
Pairs pairs_of(const std::vector<Program>& programs);

std::string coverage_page(const std::vector<Program>& programs);
std::string coverage_page_path();

}  // namespace capstan::nested
