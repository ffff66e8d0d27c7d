// What other passes ask of the short steps that run at once; see stages.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "src/graph/execution_plan.h"

namespace capstan {

// Whether a loop reads two short products, which may run at once if it is part of neither.
bool waits_for_another_short_product(const ExecutionPlan& plan, const ExecutionPlan::Step& loop,
                                     const ExecutionPlan::Step& product);

// By value: the task of the last stage that reads it which does, or kMostTasks if several do or a view is made of it
// that the plan of memory does not follow.
std::vector<std::int32_t> readers_in_stages(const ExecutionPlan& plan);

// Which steps of programs that are made from now on run at once: those that gain from it, unless told otherwise; for
// tests.
enum class Stages : std::uint8_t { kNone, kWorthwhile, kAll };
void stage_steps(Stages stages);

}  // namespace capstan
