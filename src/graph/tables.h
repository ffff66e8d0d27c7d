// What one run of a program works on.
#pragma once

#include <cstddef>
#include <vector>

#include "src/graph/program.h"

namespace capstan {

struct Program::Attributes {
  alignas(16) std::byte bytes[sizeof(Graph::Node::attributes)];
};

// All of it is found by position: no step looks anything up.
struct Program::Tables {
  Tensor arena;
  std::vector<Tensor> fixed;           // by value: constants and tensors of the arena
  std::vector<TensorRef> operands;     // of all steps, one after the other
  std::vector<const void*> in;         // their elements
  std::vector<Tensor> outputs;         // of all steps
  std::vector<void*> out;              // their elements
  std::vector<Attributes> attributes;  // of steps that write them anew
};

}  // namespace capstan
