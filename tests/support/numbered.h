// Arrays of a file that belong together: "x0", "x1", ...
#pragma once

#include <string>
#include <vector>

#include "capstan/io.h"
#include "capstan/nest.h"

namespace capstan::testing {

inline std::vector<Tensor> numbered(const io::NamedArrays& arrays, const std::string& name) {
  std::vector<Tensor> list;
  while (arrays.contains(name + std::to_string(list.size()))) {
    list.push_back(arrays.at(name + std::to_string(list.size())));
  }
  return list;
}

// What a model takes: one tensor alone, or a list.
inline Nest nest_of(const std::vector<Tensor>& tensors) {
  return tensors.size() == 1 ? Nest(tensors[0]) : Nest(tensors);
}

}  // namespace capstan::testing
