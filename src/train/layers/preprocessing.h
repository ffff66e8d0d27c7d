// What preprocessing layers share.
#pragma once

#include <memory>
#include <utility>

#include "capstan/layers/preprocessing.h"
#include "src/core/check.h"
#include "src/train/layer_state.h"

namespace capstan::detail {

// The body of a handle, if it is of this class. Throws ValueError for another one and for an empty handle.
template <class Body>
std::shared_ptr<LayerBase> body_as(const Layer& layer) {
  std::shared_ptr<LayerBase> body = LayerState::of(layer).self.lock();
  CAPSTAN_CHECK(dynamic_cast<Body*>(body.get()) != nullptr, ValueError, Body::kName, ": the layer ", layer.name(),
                " is a ", layer.type_name());
  return body;
}

}  // namespace capstan::detail
