// Values that lie in others or around them; see layouts.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/graph/execution_plan.h"

namespace capstan {

// Where the view that a step makes begins in its operand, in bytes, if that is known now.
std::optional<std::int64_t> distance_of_view(const ExecutionPlan& plan, const ExecutionPlan::Step& step);

// Gives values that are padded a border with what pads them. `leaves` tells which values leave the run.
void find_borders(ExecutionPlan& plan, const std::vector<bool>& leaves);

}  // namespace capstan
