// The MNIST digits as they lie in a directory: four IDX files, or Keras's mnist.npz.
#pragma once

#include <string>

#include "src/io/raw_array.h"

namespace capstan::io {

/// uint8 throughout: images [n, 28, 28], labels [n] below 10, with the same n >= 1 for the two of a
/// pair.
struct MnistFiles {
  RawArray train_images, train_labels, test_images, test_labels;
};

/// Reads the digits from `directory`.
///
/// Looks for the IDX files first, in the spellings `train-images-idx3-ubyte` and
/// `train-images.idx3-ubyte`, plain or with `.gz`, and for `mnist.npz` if none of them is there.
/// Throws IoError, with the names it looked for, if files are missing, and if what they hold is not
/// as described at MnistFiles.
MnistFiles read_mnist(const std::string& directory);

}  // namespace capstan::io
