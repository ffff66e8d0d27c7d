#include "src/ops/examples.h"

namespace capstan {

std::optional<ExampleStep> by_element(const ExampleCall& call) {
  ExampleStep step;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.is_row(i)) continue;
    if (!call.is_same(i)) return std::nullopt;
    if (call.has_examples(i, call.output.rank())) step.cut |= 1u << i;
  }
  return step;
}

std::optional<ExampleStep> by_example(const ExampleCall& call) {
  ExampleStep step;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.is_row(i)) continue;
    if (!call.is_same(i) || !call.has_examples(i, call.inputs[i].rank())) return std::nullopt;
    step.cut |= 1u << i;
  }
  return step;
}

}  // namespace capstan
