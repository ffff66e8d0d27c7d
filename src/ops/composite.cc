#include "src/ops/composite.h"

#include <utility>

namespace capstan::detail {

std::vector<Tensor> list_of(std::span<const Operand> inputs) {
  std::vector<Tensor> tensors;
  for (const Operand& input : inputs) tensors.push_back(to_tensor(input));
  return tensors;
}

void put_tensor(std::vector<Tensor>& outputs, Tensor result) { outputs.push_back(std::move(result)); }

}  // namespace capstan::detail
