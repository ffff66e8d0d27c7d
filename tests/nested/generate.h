// Makes programs.
#pragma once

#include <vector>

#include "tests/nested/program.h"

namespace capstan::nested {

// A program from its number. The first kSystematic numbers nest every transform in every other (the first of a pair is
// inside the second), the others draw three. Not every program is suitable (see reference.h): `attempt` makes another
// one of the kind.
constexpr unsigned kSystematic = kTransforms * kTransforms;
Program generate(unsigned number, unsigned attempt);

// The first suitable one.
Program generate_suitable(unsigned number);

// One number for each element of a leaf, from the number of the program.
std::array<double, kCoordinates> direction_of(unsigned number);

}  // namespace capstan::nested
