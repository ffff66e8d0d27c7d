// What rules for one example of a batch are made of (ExampleRule in src/core/op_for_programs.h); a rule is in the file
// of its op.
#pragma once

#include "src/core/op_for_programs.h"

namespace capstan {

// For elementwise ops that are linear in the rows: all other inputs are the same for all examples, and those with an
// axis of examples in that of the result are cut.
std::optional<ExampleStep> by_element(const ExampleCall& call);

// For ops that treat the items along the first axis of all inputs one by one.
std::optional<ExampleStep> by_example(const ExampleCall& call);
inline constexpr OpForPrograms kByExample{.example = by_example};

}  // namespace capstan
