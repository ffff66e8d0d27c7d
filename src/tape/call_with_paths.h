// Calls that count as one op and know along which paths gradients flow through them: explain() asks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "capstan/tensor.h"

namespace capstan {

class CallWithPaths {
 public:
  // What leads from an input to a result.
  struct Path {
    bool exists = false;        // the result is computed from the input
    std::string_view cut = {};  // an op without a gradient that every way passes through; empty if a gradient flows
  };

  virtual ~CallWithPaths() = default;
  virtual std::string_view name() const = 0;
  virtual Path path(std::size_t input, std::size_t result) const = 0;
  virtual std::vector<Tensor> gradients(std::span<const Tensor> cotangents) const = 0;
};

// Its rule, as a CustomRule has it.
struct RuleWithPaths {
  std::shared_ptr<const CallWithPaths> call;
  std::vector<Tensor> operator()(std::span<const Tensor> cotangents) const { return call->gradients(cotangents); }
};

}  // namespace capstan
