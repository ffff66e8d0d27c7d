// The MNIST digits as tensors, and what has their form.
#include "capstan/datasets.h"
#include "src/io/mnist_files.h"
#include "src/io/to_tensor.h"

namespace capstan::datasets::mnist {

Data load_data(const std::string& directory) {
  const io::MnistFiles files = io::read_mnist(directory);
  return {
      {io::to_tensor("mnist", files.train_images, directory), io::to_tensor("mnist", files.train_labels, directory)},
      {io::to_tensor("mnist", files.test_images, directory), io::to_tensor("mnist", files.test_labels, directory)}};
}

}  // namespace capstan::datasets::mnist

namespace capstan::datasets::fashion_mnist {

ImageData load_data(const std::string& directory) { return mnist::load_data(directory); }

}  // namespace capstan::datasets::fashion_mnist
