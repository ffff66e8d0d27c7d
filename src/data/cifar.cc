// The CIFAR pictures in their binary form: records of labels and of 1024 bytes for each of red, green and blue.
#include <filesystem>

#include "capstan/datasets.h"
#include "src/core/check.h"
#include "src/io/byte_source.h"
#include "src/io/to_tensor.h"

namespace capstan::datasets {

namespace {

constexpr std::size_t kPlane = 32 * 32;

// What a record has before the picture.
struct Form {
  const char* reader;
  std::size_t labels;  // how many
  std::size_t which;   // that which is wanted
  unsigned largest;    // that a label may be
};

std::pair<Tensor, Tensor> read(const Form& form, const std::string& directory, const std::vector<std::string>& names) {
  const std::size_t record = form.labels + 3 * kPlane;
  io::RawArray images{.type = io::ElementType::kUint8}, labels{.type = io::ElementType::kUint8};
  for (const std::string& name : names) {
    const std::unique_ptr<io::ByteSource> source =
        io::open_plain_file(form.reader, (std::filesystem::path(directory) / name).string());
    if (source->most_bytes() == 0 || source->most_bytes() % record != 0) {
      source->fail(
          "its " + std::to_string(source->most_bytes()) + " bytes are not whole records of " + std::to_string(record),
          io::kFetchAgain);
    }
    const std::vector<std::byte> bytes = io::read_exactly(*source, source->most_bytes(), "pictures");
    for (std::size_t at = 0; at < bytes.size(); at += record) {
      const std::byte label = bytes[at + form.which];
      if (std::to_integer<unsigned>(label) > form.largest) {
        source->fail("record " + std::to_string(at / record) + " has the label " +
                     std::to_string(std::to_integer<unsigned>(label)) + ", expected at most " +
                     std::to_string(form.largest));
      }
      labels.data.push_back(label);
      const std::byte* const planes = bytes.data() + at + form.labels;
      for (std::size_t i = 0; i < kPlane; ++i) {
        for (std::size_t colour = 0; colour < 3; ++colour) images.data.push_back(planes[colour * kPlane + i]);
      }
    }
  }
  const auto count = static_cast<std::int64_t>(labels.data.size());
  images.shape = {count, 32, 32, 3};
  labels.shape = {count, 1};
  return {io::to_tensor(form.reader, images, directory), io::to_tensor(form.reader, labels, directory)};
}

}  // namespace

ImageData cifar10::load_data(const std::string& directory) {
  const Form form{"cifar10", 1, 0, 9};
  return {read(form, directory,
               {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"}),
          read(form, directory, {"test_batch.bin"})};
}

ImageData cifar100::load_data(const std::string& directory, const std::string& label_mode) {
  const bool is_fine = label_mode == "fine";
  CAPSTAN_CHECK(is_fine || label_mode == "coarse", ValueError,
                "cifar100: label_mode must be \"fine\" or \"coarse\", not \"", label_mode, "\"");
  const Form form{"cifar100", 2, is_fine ? std::size_t{1} : std::size_t{0}, is_fine ? 99U : 19U};
  return {read(form, directory, {"train.bin"}), read(form, directory, {"test.bin"})};
}

}  // namespace capstan::datasets
