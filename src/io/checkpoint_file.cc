#include "src/io/checkpoint_file.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "capstan/io.h"
#include "src/io/crc32c.h"
#include "src/io/file_sink.h"
#include "src/io/tensor_list.h"

namespace capstan::io {
namespace {

constexpr std::string_view kCheckpointMagic = "CAPSTANC";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kAlignment = 64;

struct Beginning {
  char magic[8];
  std::uint32_t version;
  std::uint32_t zero;
  std::uint64_t list_length;
  std::uint32_t list_sum;
  std::uint32_t own_sum;
};
static_assert(sizeof(Beginning) == 32, "written as it lies in memory");
constexpr std::size_t kSummed = 28;

constexpr std::uint64_t aligned(std::uint64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

Beginning read_beginning(ByteSource& source) {
  Beginning beginning;
  const std::vector<std::byte> bytes = read_exactly(source, sizeof beginning, "beginning");
  std::memcpy(&beginning, bytes.data(), sizeof beginning);
  if (std::string_view(beginning.magic, kCheckpointMagic.size()) != kCheckpointMagic) {
    source.fail("not a checkpoint of Capstan, which begins with " + std::string(kCheckpointMagic));
  }
  if (beginning.own_sum != crc32c(bytes.data(), kSummed)) {
    source.fail("the checksum of the first " + std::to_string(sizeof beginning) + " bytes differs", kFetchAgain);
  }
  if (beginning.version != kVersion || beginning.zero != 0) {
    source.fail("version " + std::to_string(beginning.version) + " of the format is not supported, expected " +
                    std::to_string(kVersion),
                "read it with the version of Capstan that wrote it");
  }
  return beginning;
}

// Reads the bytes between two tensors, which are fewer than an alignment.
void skip_zeros(ByteSource& source, std::uint64_t count) {
  for (const std::byte value : read_exactly(source, count, "gap between tensors")) {
    if (value != std::byte{0}) source.fail("a byte between two tensors is not zero", kFetchAgain);
  }
}

}  // namespace

void write_checkpoint(const std::string& writer, const std::string& path, const CheckpointContent& content) {
  std::vector<Tensor> tensors;
  TensorList list;
  list.metadata = content.metadata;
  std::uint64_t end = 0;
  for (const auto& [name, given] : content.tensors) {
    const Tensor& tensor = tensors.emplace_back(writable(writer.c_str(), name, given));
    const std::span<const std::byte> bytes = bytes_of(tensor);
    ListedTensor& listed = list.tensors.emplace_back(listed_at(name, tensor, aligned(end)));
    listed.checksum = crc32c(bytes.data(), bytes.size());
    end = listed.end;
  }
  std::string text = tensor_list_text(list);
  text.resize(aligned(sizeof(Beginning) + text.size()) - sizeof(Beginning), ' ');
  Beginning beginning{{}, kVersion, 0, text.size(), crc32c(text.data(), text.size()), 0};
  std::memcpy(beginning.magic, kCheckpointMagic.data(), kCheckpointMagic.size());
  beginning.own_sum = crc32c(&beginning, kSummed);

  static constexpr std::array<std::byte, kAlignment> kZeros{};
  std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span(&beginning, 1)),
                                                    std::as_bytes(std::span(text))};
  end = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    pieces.push_back(std::span(kZeros).first(list.tensors[i].begin - end));
    pieces.push_back(bytes_of(tensors[i]));
    end = list.tensors[i].end;
  }
  write_file_durably(writer, path, pieces);
}

CheckpointContent read_checkpoint(const std::string& reader, const std::string& path) {
  const std::unique_ptr<ByteSource> source = open_plain_file(reader, path);
  const Beginning beginning = read_beginning(*source);
  const std::uint64_t rest = source->most_bytes() - sizeof beginning;
  if (beginning.list_length > rest) {
    source->fail("the list of tensors would be " + std::to_string(beginning.list_length) +
                     " bytes long, but the file has " + std::to_string(rest) + " more",
                 kFetchAgain);
  }
  const std::vector<std::byte> text = read_exactly(*source, beginning.list_length, "list of tensors");
  if (crc32c(text.data(), text.size()) != beginning.list_sum) {
    source->fail("the checksum of the list of tensors differs", kFetchAgain);
  }
  TensorList list = parse_tensor_list(*source, {reinterpret_cast<const char*>(text.data()), text.size()});
  const std::uint64_t data_size = rest - beginning.list_length;
  std::uint64_t end = 0;
  for (const ListedTensor& tensor : list.tensors) {
    check_listed(*source, tensor);
    if (tensor.begin != aligned(end) || !tensor.checksum) {
      source->fail("tensor " + in_quotes(tensor.name) + " is not where it should be, or has no checksum", kFetchAgain);
    }
    end = tensor.end;
  }
  if (end != data_size) {
    source->fail("the tensors take " + std::to_string(end) + " bytes, but the file has " + std::to_string(data_size) +
                     " behind their list",
                 kFetchAgain);
  }
  CheckpointContent content;
  content.metadata = std::move(list.metadata);
  end = 0;
  for (const ListedTensor& listed : list.tensors) {
    skip_zeros(*source, listed.begin - end);
    end = listed.end;
    content.tensors.emplace(listed.name, read_listed(*source, listed));
  }
  expect_end(*source);
  return content;
}

NamedArrays load_checkpoint(const std::string& path) {
  CheckpointContent content = read_checkpoint("load_checkpoint", path);
  NamedArrays arrays(path, "load_checkpoint");
  static_cast<std::map<std::string, Tensor>&>(arrays) = std::move(content.tensors);
  arrays.set_metadata(std::move(content.metadata));
  return arrays;
}

}  // namespace capstan::io
