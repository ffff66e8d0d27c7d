// What preprocessing layers share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "capstan/layers/preprocessing.h"
#include "capstan/training.h"
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

// f(the inputs of each batch), of a whole pass or of its first steps.
template <class F>
void for_each_batch(const BatchSource& data, std::optional<std::int64_t> steps, const F& f) {
  const BatchSource::Pass next = data.open();
  for (std::int64_t step = 0; !steps || step < *steps; ++step) {
    const std::optional<Batch> batch = next();
    if (!batch) break;
    f(batch->x.tensor());
  }
}

// For a layer of texts that is called with a tensor.
[[noreturn]] inline void throw_takes_texts(const std::string& layer) {
  throw ValueError(join(layer, ": it takes texts, not tensors",
                        help("keep its own handle instead of a Layer, and call that in front of the model; "
                             "text_batches() does so for each batch of fit()")));
}

inline void check_not_sparse(std::string_view layer, bool sparse) {
  CAPSTAN_CHECK(!sparse, ValueError, layer, ": option \"sparse\" must be false: there are no sparse tensors");
}

}  // namespace capstan::detail
