// What one run of a program works on.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "src/graph/program.h"

namespace capstan {

struct Program::Attributes {
  alignas(16) std::byte bytes[sizeof(Graph::Node::attributes)];
};

// All of it is found by position: no step looks anything up.
struct Program::Tables {
  Backend* backend = nullptr;  // whose device the run is on; null: the processor
  Tensor arena;
  std::vector<Tensor> fixed;           // by value: constants and tensors of the arena
  std::vector<TensorRef> operands;     // of all steps, one after the other
  std::vector<const void*> in;         // their elements
  std::vector<Tensor> outputs;         // of all steps
  std::vector<void*> out;              // their elements
  std::vector<Attributes> attributes;  // of steps that write them anew
};

// For every argument and result of every run.
inline void Program::set_operands(Tables& tables, Graph::Value value, detail::Block* block) const {
  const auto v = static_cast<std::size_t>(value);
  for (std::int32_t u = plan_.first_user[v]; u < plan_.first_user[v + 1]; ++u) {
    const auto position = static_cast<std::size_t>(plan_.users[static_cast<std::size_t>(u)]);
    tables.operands[position] = TensorRef(block);
    tables.in[position] = block->data;
  }
  if (plan_.first_view[v] != plan_.first_view[v + 1]) set_views(tables, value, block->data);
}

inline void Program::set_output(Tables& tables, std::int32_t position, Tensor tensor) const {
  const auto at = static_cast<std::size_t>(position);
  tables.out[at] = tensor.block()->data;
  tables.outputs[at] = std::move(tensor);
}

}  // namespace capstan
