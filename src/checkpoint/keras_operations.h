// Where Keras has the layers of a model among its operations.
#pragma once

#include <cstddef>
#include <vector>

#include "capstan/layer.h"

namespace capstan::detail {

/// The place of each layer of a Sequential or functional model in Keras's list `_operations`, in the order of its
/// sublayers. A Sequential begins with an InputLayer there, and masks are made by operations of their own.
std::vector<std::size_t> operation_places(const Layer& model);

}  // namespace capstan::detail
