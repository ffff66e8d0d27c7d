// Known data sets, read from files; their functions are in the library capstan_io.
#pragma once

#include <string>
#include <utility>

#include "capstan/tensor.h"

namespace capstan::datasets {

/// Training part and test part of a data set, each with images uint8 and labels uint8.
using ImageData = std::pair<std::pair<Tensor, Tensor>, std::pair<Tensor, Tensor>>;

}  // namespace capstan::datasets

namespace capstan::datasets::mnist {

/// Images uint8[n, 28, 28] and labels uint8[n] of the training part and of the test part.
using Data = ImageData;

/// Reads the MNIST digits from a directory that holds the four IDX files, plain or gzipped, or Keras's mnist.npz.
/// Nothing is downloaded. Errors: IoError, which names what is missing or wrong.
///
///     auto [train, test] = datasets::mnist::load_data("mnist");
///     auto [images, labels] = train;
CAPSTAN_EXPORT Data load_data(const std::string& directory);

}  // namespace capstan::datasets::mnist

namespace capstan::datasets::fashion_mnist {

/// Reads Zalando's pictures of clothes, which have the form of the MNIST digits, from a directory that holds the four
/// IDX files, plain or gzipped. Errors: IoError, which names what is missing or wrong.
///
///     auto [train, test] = datasets::fashion_mnist::load_data("fashion");
CAPSTAN_EXPORT ImageData load_data(const std::string& directory);

}  // namespace capstan::datasets::fashion_mnist

namespace capstan::datasets::cifar10 {

/// Reads the CIFAR-10 pictures, images uint8[n, 32, 32, 3] and labels uint8[n, 1] as in Keras, from a directory that
/// holds the files of their binary form: data_batch_1.bin to data_batch_5.bin and test_batch.bin. Errors: IoError for a
/// file that is missing, has another length than whole pictures, or has a label above 9.
///
///     auto [train, test] = datasets::cifar10::load_data("cifar-10-batches-bin");
CAPSTAN_EXPORT ImageData load_data(const std::string& directory);

}  // namespace capstan::datasets::cifar10

namespace capstan::datasets::cifar100 {

/// Reads the CIFAR-100 pictures in the same form from a directory that holds train.bin and test.bin. The labels are
/// those of the 100 classes, "fine", or of the 20 groups, "coarse". Errors: as for CIFAR-10; ValueError for another
/// mode.
///
///     auto [train, test] = datasets::cifar100::load_data("cifar-100-binary", "coarse");
CAPSTAN_EXPORT ImageData load_data(const std::string& directory, const std::string& label_mode = "fine");

}  // namespace capstan::datasets::cifar100
