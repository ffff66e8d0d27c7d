// Known data sets, read from files; their functions are in the library capstan_io.
#pragma once

#include <string>
#include <utility>

#include "capstan/tensor.h"

namespace capstan::datasets::mnist {

/// Images uint8[n, 28, 28] and labels uint8[n] of the training part and of the test part.
using Data = std::pair<std::pair<Tensor, Tensor>, std::pair<Tensor, Tensor>>;

/// Reads the MNIST digits from a directory that holds the four IDX files, plain or gzipped, or Keras's mnist.npz.
/// Nothing is downloaded. Errors: IoError, which names what is missing or wrong.
///
///     auto [train, test] = datasets::mnist::load_data("mnist");
///     auto [images, labels] = train;
CAPSTAN_EXPORT Data load_data(const std::string& directory);

}  // namespace capstan::datasets::mnist
