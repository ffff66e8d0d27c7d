// Data sets in folders, and windows of a series.
#include "capstan/directory_datasets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "capstan/capstan.h"
#include "src/datasets/numpy_shuffle.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;
using datasets::image_dataset_from_directory;
using datasets::text_dataset_from_directory;
using datasets::timeseries_dataset_from_array;
using testing::Json;
using testing::message_of;

using Numbers = std::vector<std::int64_t>;

// numpy.random.RandomState(seed).shuffle(list(range(n))), by NumPy 2.4.
TEST(NumpyShuffle, HasTheOrderOfNumpy) {
  const auto shuffled = [](std::int64_t count, std::uint32_t seed) {
    Numbers list;
    for (std::int64_t i = 0; i < count; ++i) list.push_back(i);
    detail::numpy_shuffle(list, seed);
    return list;
  };
  EXPECT_EQ(shuffled(10, 0), (Numbers{2, 8, 4, 9, 1, 6, 7, 3, 0, 5}));
  EXPECT_EQ(shuffled(7, 1234), (Numbers{2, 1, 6, 0, 4, 5, 3}));
  EXPECT_EQ(shuffled(1, 5), (Numbers{0}));
  EXPECT_EQ(shuffled(0, 5), Numbers());
}

TEST(ImageDirectory, IsReadAsKerasReadsIt) {
  const Json sample = testing::read_json(testing::sample_path("images/folder.json"));
  const auto data = image_dataset_from_directory(testing::sample_path("images/folder"),
                                                 {.batch_size = 2, .image_size = {4, 4}, .shuffle = false});
  EXPECT_EQ(data.class_names(), sample.at("class_names").get<std::vector<std::string>>());
  std::vector<std::string> files;
  for (const std::string& path : data.file_paths())
    files.push_back(fs::relative(path, testing::sample_path("images/folder")));
  EXPECT_EQ(files, sample.at("files").get<std::vector<std::string>>());
  std::size_t at = 0;
  for (const auto& [images, labels] : data) {
    EXPECT_EQ(labels.dtype(), int32);
    for (std::int64_t i = 0; i < images.dim(0); ++i, ++at) {
      const Json& want = sample.at("elements").at(at);
      EXPECT_EQ(images(i).to_vector<double>(), testing::tensor_from_json(want.at("image")).to_vector<double>());
      EXPECT_EQ(labels(i).item<std::int64_t>(), want.at("label").get<std::int64_t>());
    }
  }
  EXPECT_EQ(at, sample.at("elements").size());
}

TEST(ImageDirectory, HasModesSizesAndSubsets) {
  const std::string folder = testing::sample_path("images/folder");
  const auto one = [&](const datasets::ImageDirectoryOptions& options) {
    return *image_dataset_from_directory(folder, options).begin();
  };
  const auto [grey, rows] = one({.label_mode = "categorical", .color_mode = "grayscale", .image_size = {6, 3}});
  EXPECT_EQ(grey.shape(), (Shape{7, 6, 3, 1}));
  EXPECT_EQ(rows.shape(), (Shape{7, 3}));
  EXPECT_EQ(rows.dtype(), float32);
  const auto [other, labels] = one({.class_names = {"emu", "cat", "dog"}, .shuffle = false});
  EXPECT_EQ(other.shape(), (Shape{7, 256, 256, 3}));
  EXPECT_EQ(labels.to_vector<std::int64_t>(), (Numbers{0, 0, 1, 1, 2, 2, 2}));
  const auto [opaque, kept] = one({.color_mode = "rgba", .image_size = {4, 4}, .crop_to_aspect_ratio = true});
  EXPECT_EQ(opaque.dim(-1), 4);
  // Both subsets together are all files, once.
  std::vector<std::string> files;
  for (const std::string subset : {"training", "validation"}) {
    const auto part = image_dataset_from_directory(folder, {.seed = 7, .validation_split = 0.3, .subset = subset});
    EXPECT_EQ(part.file_paths().size(), subset == "training" ? 5U : 2U);
    files.insert(files.end(), part.file_paths().begin(), part.file_paths().end());
    EXPECT_EQ(part.class_names().size(), 3U);
  }
  std::sort(files.begin(), files.end());
  EXPECT_EQ(std::unique(files.begin(), files.end()), files.end());
  EXPECT_EQ(files.size(), 7U);
  // Labels go with their files, whatever the order is; another pass has another one.
  const auto shuffled = image_dataset_from_directory(folder, {.batch_size = 1, .image_size = {4, 4}, .seed = 5});
  const auto sorted = image_dataset_from_directory(folder, {.batch_size = 1, .image_size = {4, 4}, .shuffle = false});
  std::map<std::vector<double>, std::int64_t> label_of;
  for (const auto& [image, label] : sorted) label_of[image.to_vector<double>()] = label(0).item<std::int64_t>();
  int count = 0;
  for (const auto& [image, label] : shuffled.repeat(3)) {
    EXPECT_EQ(label(0).item<std::int64_t>(), label_of.at(image.to_vector<double>()));
    ++count;
  }
  EXPECT_EQ(count, 21);
}

TEST(ImageDirectory, GoesOnWhereItStood) {
  const auto data = image_dataset_from_directory(testing::sample_path("images/folder"),
                                                 {.batch_size = 2, .image_size = {4, 4}, .seed = 5});
  auto iterator = data.begin();
  iterator.next();
  const DatasetPosition position = iterator.save();
  auto again = image_dataset_from_directory(testing::sample_path("images/folder"),
                                            {.batch_size = 2, .image_size = {4, 4}, .seed = 5})
                   .begin();
  again.restore(position);
  while (const auto element = iterator.next()) {
    const auto other = again.next();
    ASSERT_TRUE(other.has_value());
    EXPECT_EQ(std::get<0>(*element).to_vector<double>(), std::get<0>(*other).to_vector<double>());
  }
  EXPECT_FALSE(again.next().has_value());
}

class Folders : public ::testing::Test {
 protected:
  void file(const std::string& name, const std::string& content) {
    const fs::path path = fs::path(directory_.path()) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
  }
  const std::string& folder() const { return directory_.path(); }
  io::TemporaryDirectory directory_;
};

TEST_F(Folders, OfTexts) {
  file("neg/2.txt", "bad");
  file("neg/1.txt", "worse\nstill");
  file("pos/deep/er/x.TXT", "good");
  file("pos/readme.md", "no text");
  const auto data = text_dataset_from_directory(folder(), {.label_mode = "binary", .max_length = 5, .shuffle = false});
  const auto [texts, labels] = *data.begin();
  EXPECT_EQ(texts.values(), (std::vector<std::string>{"worse", "bad", "good"}));
  EXPECT_EQ(labels.shape(), (Shape{3, 1}));
  EXPECT_EQ(labels.to_vector<double>(), (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(data.class_names(), (std::vector<std::string>{"neg", "pos"}));
  // Into a layer.
  layers::TextVectorization vectorization({.output_sequence_length = 2});
  vectorization.adapt(texts);
  EXPECT_EQ(vectorization(texts).shape(), (Shape{3, 2}));
}

TEST_F(Folders, ThatAreWrong) {
  const auto error = [&](const datasets::ImageDirectoryOptions& options = {}) {
    return message_of([&] { image_dataset_from_directory(folder(), options); });
  };
  EXPECT_NE(error().find("no files to read"), std::string::npos) << error();
  file("a/x.png", "no image");
  file("b/y.txt", "");
  EXPECT_NE(error({.label_mode = "one"}).find("\"one\""), std::string::npos);
  EXPECT_NE(error({.color_mode = "cmyk"}).find("\"cmyk\""), std::string::npos);
  EXPECT_NE(error({.batch_size = 0}).find("batch_size must be at least 1, not 0"), std::string::npos);
  EXPECT_NE(error({.class_names = {"a", "c"}}).find("class_names are a, c, but the folders are a, b"),
            std::string::npos);
  EXPECT_NE(error({.validation_split = 1.5}).find("1.5"), std::string::npos);
  EXPECT_NE(error({.validation_split = 0.5}).find("go together"), std::string::npos);
  EXPECT_NE(error({.subset = "training"}).find("go together"), std::string::npos);
  EXPECT_NE(error({.validation_split = 0.5, .subset = "both"}).find("\"both\""), std::string::npos);
  EXPECT_NE(error({.validation_split = 0.5, .subset = "training"}).find("needs a seed"), std::string::npos);
  EXPECT_NE(error({.interpolation = "magic"}).find("magic"), std::string::npos);
  EXPECT_NE(error({.image_size = {0, 4}}).find("0"), std::string::npos);
  // A damaged image is an error at its batch, which names it.
  const auto data = image_dataset_from_directory(folder(), {.shuffle = false});
  EXPECT_NE(message_of([&] { data.begin().next(); }).find("x.png"), std::string::npos);
  file("a/z.gif", "GIF89a");
  EXPECT_NE(error().find("z.gif"), std::string::npos);
  file("c/1.png", "");
  EXPECT_NE(error({.label_mode = "binary"}).find("but there are 3"), std::string::npos);
  EXPECT_NE(message_of<IoError>([] { image_dataset_from_directory("/nowhere"); }).find("/nowhere"), std::string::npos);
  EXPECT_NE(message_of([&] { text_dataset_from_directory(folder(), {.max_length = -1}); }).find("-1"),
            std::string::npos);
  // A link that leads back ends at a depth.
  fs::create_directory_symlink(folder(), folder() + "/b/back");
  EXPECT_EQ(text_dataset_from_directory(folder()).file_paths().size(), 1U);
  EXPECT_NE(message_of<IoError>([&] { text_dataset_from_directory(folder(), {.follow_links = true}); }).find("deep"),
            std::string::npos);
}

template <class D>
std::vector<std::vector<double>> batches_of(const D& data) {
  std::vector<std::vector<double>> result;
  for (const Tensor& batch : data) result.push_back(batch.template to_vector<double>());
  return result;
}

TEST(Timeseries, AreWindows) {
  const Tensor x = range(10.0f);
  using Batches = std::vector<std::vector<double>>;
  EXPECT_EQ(batches_of(timeseries_dataset_from_array(x, 3, {.sequence_stride = 3, .batch_size = 2})),
            (Batches{{0, 1, 2, 3, 4, 5}, {6, 7, 8}}));
  EXPECT_EQ(batches_of(timeseries_dataset_from_array(x, 3, {.sampling_rate = 4})), (Batches{{0, 4, 8, 1, 5, 9}}));
  EXPECT_EQ(batches_of(timeseries_dataset_from_array(x, 2, {.sequence_stride = 2, .start_index = 3, .end_index = 8})),
            (Batches{{3, 4, 5, 6}}));
  // Targets, of several features.
  const auto pairs = timeseries_dataset_from_array(reshape(range(12.0f), {6, 2}), range(10.0f, 14.0f), 2);
  const auto [windows, targets] = *pairs.begin();
  EXPECT_EQ(windows.shape(), (Shape{4, 2, 2}));
  EXPECT_EQ(targets.to_vector<double>(), (std::vector<double>{10, 11, 12, 13}));
  // Shuffled, every window is there once, with its target.
  int count = 0;
  for (const auto& [window, target] :
       timeseries_dataset_from_array(x, x + 100.0f, 3, {.batch_size = 1, .shuffle = true, .seed = 3})) {
    EXPECT_EQ(window.to_vector<double>()[0] + 100, target.to_vector<double>()[0]);
    ++count;
  }
  EXPECT_EQ(count, 8);
}

TEST(Timeseries, RefuseWhatDoesNotFit) {
  const Tensor x = range(10.0f);
  const auto error = [&](std::int64_t length, const datasets::TimeseriesOptions& options = {}) {
    return message_of([&] { timeseries_dataset_from_array(x, length, options); });
  };
  EXPECT_NE(error(0).find("sequence_length must be at least 1, not 0"), std::string::npos);
  EXPECT_NE(error(11).find("longer than the 10 steps"), std::string::npos);
  EXPECT_NE(error(INT64_MAX, {.sampling_rate = INT64_MAX}).find("longer"), std::string::npos);
  EXPECT_NE(error(2, {.sequence_stride = -1}).find("sequence_stride"), std::string::npos);
  EXPECT_NE(error(2, {.batch_size = 0}).find("batch_size"), std::string::npos);
  EXPECT_NE(error(2, {.start_index = 5, .end_index = 5}).find("start_index 5 and end_index 5"), std::string::npos);
  EXPECT_NE(error(2, {.end_index = 11}).find("11"), std::string::npos);
  EXPECT_THROW(timeseries_dataset_from_array(constant(1.0f), 1), ShapeError);
  EXPECT_THROW(timeseries_dataset_from_array(x, constant(1.0f), 1), ShapeError);
  EXPECT_EQ(batches_of(timeseries_dataset_from_array(x, 10, {.sequence_stride = INT64_MAX})).size(), 1U);
}

TEST_F(Folders, OfCifar) {
  std::string record(1, '\3');
  for (int plane = 0; plane < 3; ++plane) record += std::string(1024, static_cast<char>(10 * plane + 1));
  for (int i = 1; i <= 5; ++i) file("data_batch_" + std::to_string(i) + ".bin", record + record);
  file("test_batch.bin", record);
  const auto [train, test] = datasets::cifar10::load_data(folder());
  EXPECT_EQ(train.first.shape(), (Shape{10, 32, 32, 3}));
  EXPECT_EQ(train.second.shape(), (Shape{10, 1}));
  EXPECT_EQ(test.second.to_vector<std::int64_t>(), (Numbers{3}));
  EXPECT_EQ(test.first(0)(5)(7).to_vector<std::int64_t>(), (Numbers{1, 11, 21}));
  file("test_batch.bin", record + "x");
  EXPECT_NE(message_of<IoError>([&] { datasets::cifar10::load_data(folder()); }).find("3074 bytes"), std::string::npos);
  file("test_batch.bin", "\x0a" + record.substr(1));
  EXPECT_NE(message_of<IoError>([&] { datasets::cifar10::load_data(folder()); }).find("label 10"), std::string::npos);
  const std::string both = "\x12\x63" + record.substr(1);
  file("train.bin", both);
  file("test.bin", both);
  EXPECT_EQ(datasets::cifar100::load_data(folder()).first.second.to_vector<std::int64_t>(), (Numbers{99}));
  EXPECT_EQ(datasets::cifar100::load_data(folder(), "coarse").first.second.to_vector<std::int64_t>(), (Numbers{18}));
  EXPECT_THROW(datasets::cifar100::load_data(folder(), "rough"), ValueError);
  EXPECT_THROW(datasets::cifar100::load_data("/nowhere"), IoError);
  EXPECT_THROW(datasets::fashion_mnist::load_data("/nowhere"), IoError);
}

}  // namespace
}  // namespace capstan
