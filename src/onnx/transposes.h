// Transposes of an ONNX graph meet and vanish.
#pragma once

#include "src/onnx/export.h"

namespace capstan::onnx {

/// Moves transposes down the graph, through the operators that do not care for the order of axes or can be told of
/// another one, until they meet their inverses or an operator that needs them, and removes what nothing reads. So a
/// network of convolutions has transposes at its ends only.
void sink_transposes(GraphProto& graph, Shapes shapes);

}  // namespace capstan::onnx
