#include "src/io/mnist_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "tests/io/file_samples.h"
#include "tests/support/temporary_directory.h"

namespace capstan::io {
namespace {

std::string images(uint32_t count, char fill) {
  return idx_bytes(0x08, {count, 28, 28}, std::string(count * 784, fill));
}

std::string labels(std::string_view values) { return idx_bytes(0x08, {static_cast<uint32_t>(values.size())}, values); }

const std::string kTrainLabels("\x00\x01\x09", 3);
const std::string kTestLabels("\x02\x03", 2);

void write_idx_set(const TemporaryDirectory& directory, std::string_view separator = "-", std::string_view ending = "",
                   const std::function<std::string(std::string)>& pack = {}) {
  auto write = [&](std::string stem, std::string_view kind, std::string content) {
    directory.write(stem.append(separator).append(kind).append(ending), pack ? pack(content) : content);
  };
  write("train-images", "idx3-ubyte", images(3, 'a'));
  write("train-labels", "idx1-ubyte", labels(kTrainLabels));
  write("t10k-images", "idx3-ubyte", images(2, 'b'));
  write("t10k-labels", "idx1-ubyte", labels(kTestLabels));
}

void expect_the_set(const MnistFiles& files) {
  EXPECT_EQ(files.train_images.description(), "uint8[3, 28, 28]");
  EXPECT_EQ(files.train_labels.description(), "uint8[3]");
  EXPECT_EQ(files.test_images.description(), "uint8[2, 28, 28]");
  EXPECT_EQ(files.test_labels.description(), "uint8[2]");
  EXPECT_EQ(files.train_images.values<uint8_t>()[0], 'a');
  EXPECT_EQ(files.train_labels.values<uint8_t>()[2], 9);
  EXPECT_EQ(files.test_images.values<uint8_t>()[0], 'b');
  EXPECT_EQ(files.test_labels.values<uint8_t>()[1], 3);
}

std::map<std::string, std::string> archive_members() {
  return {{"x_train.npy", npy_bytes("|u1", "(3, 28, 28)", std::string(3 * 784, 'a'))},
          {"y_train.npy", npy_bytes("|u1", "(3,)", kTrainLabels)},
          {"x_test.npy", npy_bytes("|u1", "(2, 28, 28)", std::string(2 * 784, 'b'))},
          {"y_test.npy", npy_bytes("|u1", "(2,)", kTestLabels)}};
}

TEST(ReadMnist, ReadsTheFourFilesInEachSpelling) {
  for (const char* separator : {"-", "."}) {
    TemporaryDirectory plain, packed;
    write_idx_set(plain, separator);
    expect_the_set(read_mnist(plain.path()));
    write_idx_set(packed, separator, ".gz", [](const std::string& content) { return gzipped(content); });
    expect_the_set(read_mnist(packed.path()));
  }
}

TEST(ReadMnist, ReadsTheArchiveOfKeras) {
  TemporaryDirectory directory;
  write_zip(directory.file("mnist.npz"), archive_members());
  expect_the_set(read_mnist(directory.path()));
}

TEST(ReadMnist, ListsTheNamesItLookedFor) {
  TemporaryDirectory directory;
  expect_io_error([&] { read_mnist(directory.path()); },
                  {"mnist: no digits are in this directory",
                   "\n  looked for: train-images-idx3-ubyte or train-images.idx3-ubyte, each also with .gz",
                   "\n  looked for: t10k-labels-idx1-ubyte", "\n  looked for: mnist.npz",
                   "\n  file: " + directory.path(), "\n  help: "});
  expect_io_error([] { read_mnist("/nowhere"); }, {"there is no such directory", "mnist.npz", "/nowhere"});
  const std::string file = directory.write("digits", "x");
  expect_io_error([&] { read_mnist(file); }, {"mnist: this is a file, not a directory"});
}

TEST(ReadMnist, NamesTheFileThatIsMissing) {
  TemporaryDirectory directory;
  write_idx_set(directory);
  std::filesystem::remove(directory.file("t10k-labels-idx1-ubyte"));
  expect_io_error([&] { read_mnist(directory.path()); },
                  {"3 of 4 files are in this directory, missing: t10k-labels-idx1-ubyte"});
}

TEST(ReadMnist, RefusesImagesOfAnotherSize) {
  TemporaryDirectory directory;
  write_idx_set(directory);
  const std::string path =
      directory.write("train-images-idx3-ubyte", idx_bytes(0x08, {3, 32, 32}, std::string(3 * 1024, 'a')));
  expect_io_error([&] { read_mnist(directory.path()); },
                  {"the images are uint8[3, 32, 32], expected uint8[n, 28, 28]", "\n  file: " + path});
}

TEST(ReadMnist, RefusesAnEmptySet) {
  TemporaryDirectory directory;
  write_idx_set(directory);
  directory.write("t10k-images-idx3-ubyte", images(0, 'a'));
  directory.write("t10k-labels-idx1-ubyte", labels(""));
  expect_io_error([&] { read_mnist(directory.path()); }, {"the images are uint8[0, 28, 28]", "n at least 1"});
}

TEST(ReadMnist, RefusesImagesInPlaceOfLabels) {
  TemporaryDirectory directory;
  write_idx_set(directory);
  directory.write("train-labels-idx1-ubyte", images(3, 'a'));
  expect_io_error([&] { read_mnist(directory.path()); }, {"the labels are uint8[3, 28, 28], expected uint8[n]"});
}

TEST(ReadMnist, RefusesCountsThatDiffer) {
  TemporaryDirectory directory;
  write_idx_set(directory);
  directory.write("train-labels-idx1-ubyte", labels(kTestLabels));
  expect_io_error([&] { read_mnist(directory.path()); }, {"the counts differ, 2 labels for 3 images"});
}

TEST(ReadMnist, RefusesLabelsThatAreNoDigits) {
  TemporaryDirectory directory;
  write_idx_set(directory);
  directory.write("t10k-labels-idx1-ubyte", labels("\x02\x0a"));
  expect_io_error([&] { read_mnist(directory.path()); }, {"label 1 is 10, expected 0 to 9"});
}

TEST(ReadMnist, NamesTheMemberThatIsMissingOrWrong) {
  TemporaryDirectory directory;
  auto members = archive_members();
  members.erase("y_test.npy");
  write_zip(directory.file("mnist.npz"), members);
  expect_io_error([&] { read_mnist(directory.path()); }, {"the archive lacks \"y_test\"", "mnist.npz"});

  members["y_test.npy"] = npy_bytes("<i8", "(2,)", bytes_of<int64_t>({1, 2}));
  write_zip(directory.file("mnist.npz"), members);
  expect_io_error([&] { read_mnist(directory.path()); },
                  {"the labels are int64[2], expected uint8[n]", "member \"y_test\""});
}

}  // namespace
}  // namespace capstan::io
