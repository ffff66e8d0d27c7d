// The inputs of workloads as tensors.
#pragma once

#include "benchmarks/protocol/protocol.h"
#include "capstan/capstan.h"

namespace capstan::benchmarks {

inline Tensor filled(const Shape& shape, int seed, double scale = 1.0) {
  return constant(fill_values(shape.size(), seed, scale), shape);
}

}  // namespace capstan::benchmarks
