// Values that lie in others, or with others around them: reshapes, slices, paddings.
//
// The steps that would make them are none: a program finds their places when it is laid out. A view of what the arena
// holds has a place there; one of an argument or a result moves with that (Place::kView). What pads a value of the
// arena with one number is that value with a border, which all paddings by the same number share; so x[1:] and x[:-1]
// padded to the length of x, as differences between neighbours and their gradients have them, lie in one piece of
// memory. The step that makes the value writes the border, so whoever waits for the value has not to wait for anything
// else, in stages (stages.cc) as well.
//
// Only where the elements follow each other: leading rows, or borders along the first axis that counts. What leaves the
// run is a tensor that owns its elements or keeps what it views, so its kernel makes it.
#include <algorithm>
#include <complex>
#include <cstring>

#include "src/core/apply.h"
#include "src/core/backend.h"
#include "src/graph/arena.h"
#include "src/graph/layouts.h"
#include "src/graph/loops.h"
#include "src/graph/tables.h"
#include "src/kernels/array/strided_copy.h"

namespace capstan {

namespace {

using Step = ExecutionPlan::Step;
using Place = ExecutionPlan::Place;
using ValueState = ExecutionPlan::ValueState;
using Border = ExecutionPlan::Border;

std::optional<Layout> layout_of_step(const ExecutionPlan& plan, const Step& step) {
  if (step.group >= 0 || step.is_loop || step.renewed >= 0 || step.is_accompanied()) return std::nullopt;
  return layout_of_node(plan.graph, *step.node);
}

}  // namespace

// Where the view that a step makes begins in its operand, in bytes, if that is known now. What other ops see is a
// tensor that keeps the whole: they may make views of it, or be nodes of control flow.
std::optional<std::int64_t> distance_of_view(const ExecutionPlan& plan, const Step& step) {
  if (!step.makes_outputs || step.outputs != 1 || step.inputs == 0) return std::nullopt;
  const Graph::Value output = plan.outputs_of(step)[0];
  const Place base = plan.values[at(plan.inputs_of(step)[0])].place;
  if (base == Place::kPassing) return std::nullopt;
  if (base != Place::kArena) {
    for (const Step& other : plan.steps) {
      const std::span<const Graph::Value> inputs = plan.inputs_of(other);
      if (other.makes_outputs && is_among(inputs, output) && !layout_of_step(plan, other)) return std::nullopt;
    }
  }
  const std::optional<Layout> layout = layout_of_step(plan, step);
  if (!layout || layout->adds()) return std::nullopt;
  return layout->from * static_cast<std::int64_t>(size_of(plan.graph.values[at(output)].dtype));
}

// Values that are padded get a border with what pads them.
void find_borders(ExecutionPlan& plan, const std::vector<bool>& leaves) {
  std::vector<std::int32_t> border_of_value(plan.graph.values.size(), -1);
  for (Step& step : plan.steps) {
    if (step.makes_outputs || step.inputs == 0 || step.outputs != 1) continue;
    const Graph::Value inside = plan.inputs_of(step)[0];
    const Graph::Value padded = plan.outputs_of(step)[0];
    const ValueState& state = plan.values[at(inside)];
    if (state.place != Place::kArena || leaves[at(padded)] || state.output < 0) continue;
    const auto behind = [](std::int32_t p, const Step& other) { return p < other.first_output; };
    Step& maker = *(std::upper_bound(plan.steps.begin(), plan.steps.end(), state.output, behind) - 1);
    const std::optional<Layout> layout = layout_of_step(plan, step);
    if (!layout || maker.is_layout || maker.is_accompanied()) continue;
    const DType dtype = plan.graph.values[at(padded)].dtype;
    Tensor element = scalar(layout->fill, dtype);
    std::int32_t& number = border_of_value[at(inside)];
    const std::size_t size = size_of(dtype);
    if (number >= 0 && std::memcmp(plan.borders[at(number)].element.raw_data(), element.raw_data(), size) != 0)
      continue;
    if (number < 0) {
      number = index(plan.borders.size());
      const std::size_t bytes = at(plan.graph.values[at(inside)].shape.size()) * size;
      const std::byte zeros[sizeof(std::complex<double>)] = {};
      const bool is_zero = std::memcmp(element.raw_data(), zeros, size) == 0;
      plan.borders.push_back(
          {.inside = inside, .bytes = bytes, .is_zero = is_zero, .element = std::move(element), .next = maker.border});
      maker.border = number;
    }
    Border& border = plan.borders[at(number)];
    border.before = std::max(border.before, at(layout->before) * size);
    border.after = std::max(border.after, at(layout->after) * size);
    border.room = border.before == 0 ? 0 : Arena::rounded(border.before);
    step.is_layout = true;
    plan.values[at(padded)].offset = 0 - at(layout->before) * size;
    plan.last_read[at(inside)] = std::max(plan.last_read[at(inside)], plan.last_read[at(padded)]);
  }
}

const ExecutionPlan::Border* ExecutionPlan::border_of(Graph::Value value) const {
  const auto found = std::find_if(borders.begin(), borders.end(), [&](const Border& b) { return b.inside == value; });
  return found == borders.end() ? nullptr : &*found;
}

void Program::write_borders(const Step& step, const Tables& tables) const {
  auto* const arena = static_cast<std::byte*>(tables.arena.block()->data);
  for (std::int32_t b = step.border; b >= 0; b = plan_.borders[at(b)].next) {
    const ExecutionPlan::Border& border = plan_.borders[at(b)];
    const detail::Block* const element = border.element.block();
    const std::size_t size = size_of(element->dtype);
    const auto write = [&](std::byte* to, std::size_t bytes) {
      if (tables.backend != nullptr) {
        std::vector<std::byte> all(bytes);
        if (bytes > 0) fill_elements(all.data(), element->data, static_cast<std::int64_t>(bytes / size), size);
        tables.backend->write(to, all.data(), bytes);
      } else if (bytes == sizeof(float) && size == sizeof(float)) {
        std::memcpy(to, element->data, sizeof(float));
      } else if (border.is_zero) {
        std::memset(to, 0, bytes);
      } else if (bytes > 0) {
        fill_elements(to, element->data, static_cast<std::int64_t>(bytes / size), size);
      }
    };
    std::byte* const inside = arena + plan_.values[at(border.inside)].offset;
    write(inside - border.before, border.before);
    write(inside + border.bytes, border.after);
  }
}

}  // namespace capstan
