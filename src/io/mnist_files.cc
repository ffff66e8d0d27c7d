#include "src/io/mnist_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <vector>

#include "src/io/byte_source.h"
#include "src/io/idx.h"
#include "src/io/npz.h"

namespace capstan::io {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReader = "mnist";
constexpr int64_t kSide = 28;
constexpr int kClasses = 10;

// The files in the order of MnistFiles.
struct Part {
  const char* stem;    // "train-images"
  const char* suffix;  // what follows "-" or "."
  const char* key;     // the name in mnist.npz
};
constexpr std::array<Part, 4> kParts = {{{"train-images", "idx3-ubyte", "x_train"},
                                         {"train-labels", "idx1-ubyte", "y_train"},
                                         {"t10k-images", "idx3-ubyte", "x_test"},
                                         {"t10k-labels", "idx1-ubyte", "y_test"}}};

std::vector<std::string> spellings(const Part& part) {
  std::vector<std::string> names;
  for (const char* separator : {"-", "."}) {
    for (const char* ending : {"", ".gz"}) {
      names.push_back(std::string(part.stem) + separator + part.suffix + ending);
    }
  }
  return names;
}

// Empty if no spelling exists.
std::string find_part(const fs::path& directory, const Part& part) {
  std::error_code ignored;
  for (const std::string& name : spellings(part)) {
    if (fs::is_regular_file(directory / name, ignored)) return (directory / name).string();
  }
  return "";
}

[[noreturn]] void fail_missing(const std::string& directory, const std::string& problem) {
  std::string text = problem;
  for (const Part& part : kParts) {
    const std::vector<std::string> names = spellings(part);
    text += "\n  looked for: " + names[0] + " or " + names[2] + ", each also with .gz";
  }
  text += "\n  looked for: mnist.npz";
  fail_file(kReader, text, directory, "give the directory that holds the four IDX files, or Keras's mnist.npz");
}

void check_images(const RawArray& images, const std::string& where) {
  const bool right = images.type == ElementType::kUint8 && images.shape.size() == 3 && images.shape[0] > 0 &&
                     images.shape[1] == kSide && images.shape[2] == kSide;
  if (!right) {
    fail_file(kReader, "the images are " + images.description() + ", expected uint8[n, 28, 28] with n at least 1",
              where, "give the digits as published");
  }
}

void check_labels(const RawArray& labels, const RawArray& images, const std::string& where) {
  if (labels.type != ElementType::kUint8 || labels.shape.size() != 1) {
    fail_file(kReader, "the labels are " + labels.description() + ", expected uint8[n]", where,
              "give the digits as published");
  }
  if (labels.shape[0] != images.shape[0]) {
    fail_file(kReader,
              "the counts differ, " + std::to_string(labels.shape[0]) + " labels for " +
                  std::to_string(images.shape[0]) + " images",
              where, "take the images and the labels from the same set");
  }
  const auto values = labels.values<uint8_t>();
  const auto wrong = std::find_if(values.begin(), values.end(), [](uint8_t label) { return label >= kClasses; });
  if (wrong != values.end()) {
    fail_file(kReader,
              "label " + std::to_string(wrong - values.begin()) + " is " + std::to_string(*wrong) + ", expected 0 to 9",
              where);
  }
}

MnistFiles checked(std::array<RawArray, 4> arrays, const std::array<std::string, 4>& where) {
  for (size_t images : {0, 2}) {
    check_images(arrays[images], where[images]);
    check_labels(arrays[images + 1], arrays[images], where[images + 1]);
  }
  return {std::move(arrays[0]), std::move(arrays[1]), std::move(arrays[2]), std::move(arrays[3])};
}

MnistFiles read_archive(const std::string& path) {
  std::map<std::string, RawArray> members = read_npz(path);
  std::array<RawArray, 4> arrays;
  std::array<std::string, 4> where;
  for (size_t i = 0; i < kParts.size(); ++i) {
    const auto found = members.find(kParts[i].key);
    if (found == members.end()) {
      fail_file(
          kReader,
          std::string("the archive lacks \"") + kParts[i].key + "\", expected x_train, y_train, x_test and y_test",
          path, "give Keras's mnist.npz");
    }
    arrays[i] = std::move(found->second);
    where[i] = path + ", member \"" + kParts[i].key + "\"";
  }
  return checked(std::move(arrays), where);
}

}  // namespace

MnistFiles read_mnist(const std::string& directory) {
  std::error_code ignored;
  if (fs::is_regular_file(directory, ignored)) fail_missing(directory, "this is a file, not a directory");
  if (!fs::is_directory(directory, ignored)) fail_missing(directory, "there is no such directory");

  std::array<std::string, 4> paths;
  std::string missing;
  size_t found = 0;
  for (size_t i = 0; i < kParts.size(); ++i) {
    paths[i] = find_part(directory, kParts[i]);
    if (!paths[i].empty()) {
      ++found;
    } else {
      missing += (missing.empty() ? "" : ", ") + spellings(kParts[i])[0];
    }
  }
  if (found == 0) {
    const fs::path archive = fs::path(directory) / "mnist.npz";
    if (fs::is_regular_file(archive, ignored)) return read_archive(archive.string());
    fail_missing(directory, "no digits are in this directory");
  }
  if (found < kParts.size()) {
    fail_missing(directory, std::to_string(found) + " of 4 files are in this directory, missing: " + missing);
  }

  std::array<RawArray, 4> arrays;
  for (size_t i = 0; i < kParts.size(); ++i) arrays[i] = read_idx(paths[i]);
  return checked(std::move(arrays), paths);
}

}  // namespace capstan::io
