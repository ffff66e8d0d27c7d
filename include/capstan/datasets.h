// Known data sets, read from files; their functions are in the library capstan_io.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

namespace capstan::datasets {

/// Texts as numbers of words, and labels int64[n].
using WordData = std::pair<std::vector<std::vector<int>>, Tensor>;

/// Options of imdb::load_data and reuters::load_data. Words are numbered by how often they occur, the most frequent
/// one is 1.
struct WordOptions {
  std::optional<std::int64_t> num_words = {};  ///< words of this number, after index_from, and beyond are left out
  std::int64_t skip_top = 0;                   ///< so are those below this number
  std::optional<std::int64_t> maxlen = {};     ///< texts of so many words and more are left out
  std::uint32_t seed = 113;                    ///< of the order of the texts, which is Keras's
  std::optional<int> start_char = 1;           ///< is before each text
  std::optional<int> oov_char = 2;             ///< stands for each word that is left out
  int index_from = 3;                          ///< is added to the number of each word
};

}  // namespace capstan::datasets

namespace capstan::datasets::imdb {

/// Reads the IMDB reviews, with labels 1 for good ones and 0 for bad ones, from Keras's imdb.npz. Nothing is
/// downloaded, and nothing of the pickles in the file is run. As in Keras the largest number of all words counts as
/// left out unless num_words is given.
///
///     auto [train, test] = datasets::imdb::load_data("imdb.npz", {.num_words = 10000});
///     Tensor x = pad_sequences(train.first, {.maxlen = 256});
///
/// Errors: IoError for a file that is missing or damaged, or holds something else than lists of integers; ValueError if
/// no text is shorter than maxlen, and for a number of a word that does not fit 32 bits.
CAPSTAN_EXPORT std::pair<WordData, WordData> load_data(const std::string& path, const WordOptions& options = {});

}  // namespace capstan::datasets::imdb

namespace capstan::datasets::reuters {

/// Reads the Reuters newswires, with labels from 0 to 45, from Keras's reuters.npz. `test_split`, from 0 to 1, of them
/// are the test part.
///
///     auto [train, test] = datasets::reuters::load_data("reuters.npz", {.num_words = 1000}, 0.1);
///
/// Errors: as imdb::load_data; ValueError for a test_split that is not from 0 to 1.
CAPSTAN_EXPORT std::pair<WordData, WordData> load_data(const std::string& path, const WordOptions& options = {},
                                                       double test_split = 0.2);

}  // namespace capstan::datasets::reuters
