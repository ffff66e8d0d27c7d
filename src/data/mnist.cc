// The MNIST digits as tensors.
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
