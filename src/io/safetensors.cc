// The .safetensors format: the length of a header in eight bytes, the header (tensor_list.h), and the elements of all
// tensors, one after the other without gaps.
//
// Elements are read to where they stay, or lie in the mapped file. Mapping is not the default: a file that another
// process shortens would end this one.
#include <algorithm>
#include <cstring>

#include "capstan/error.h"
#include "capstan/io.h"
#include "src/core/check.h"
#include "src/core/utf8.h"
#include "src/io/file_sink.h"
#include "src/io/tensor_list.h"

namespace capstan::io {
namespace {

constexpr std::size_t kLengthBytes = 8;
// Beyond it the reference reader refuses files.
constexpr std::uint64_t kLongestHeader = 100'000'000;

void check_order(const ByteSource& source, std::span<const ListedTensor> tensors, std::uint64_t data_size) {
  std::uint64_t end = 0;
  for (const ListedTensor& tensor : tensors) {
    check_listed(source, tensor);
    if (tensor.begin != end) {
      source.fail("tensor " + in_quotes(tensor.name) + " begins at byte " + std::to_string(tensor.begin) +
                      " of the data, where the one before it ends at " + std::to_string(end),
                  kFetchAgain);
    }
    end = tensor.end;
  }
  if (end != data_size) {
    source.fail("the tensors take " + std::to_string(end) + " bytes, but the file has " + std::to_string(data_size) +
                    " behind its header",
                kFetchAgain);
  }
}

}  // namespace

NamedArrays load_safetensors(const std::string& path, const LoadSafetensorsOptions& options) {
  const std::unique_ptr<ByteSource> source =
      (options.map ? open_mapped_file : open_plain_file)("load_safetensors", path);
  std::uint64_t length = 0;
  const std::vector<std::byte> first = read_exactly(*source, kLengthBytes, "length of the header");
  std::memcpy(&length, first.data(), kLengthBytes);
  const std::uint64_t rest = source->most_bytes() - kLengthBytes;
  if (length > kLongestHeader || length > rest) {
    source->fail("the header would be " + std::to_string(length) + " bytes long, expected at most " +
                     std::to_string(std::min(rest, kLongestHeader)),
                 kFetchAgain);
  }
  const std::vector<std::byte> text = read_exactly(*source, length, "header");
  TensorList list = parse_tensor_list(*source, {reinterpret_cast<const char*>(text.data()), text.size()});
  // Where tensors have no elements, several begin at one place.
  std::sort(list.tensors.begin(), list.tensors.end(), [](const ListedTensor& a, const ListedTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_order(*source, list.tensors, rest - length);
  NamedArrays arrays(path, "load_safetensors");
  for (const ListedTensor& tensor : list.tensors) arrays.emplace(tensor.name, read_listed(*source, tensor));
  arrays.set_metadata(std::move(list.metadata));
  return arrays;
}

void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const SaveSafetensorsOptions& options) {
  constexpr const char* kWriter = "save_safetensors";
  std::vector<std::pair<std::string, Tensor>> order;
  for (const auto& [name, tensor] : tensors) {
    CAPSTAN_CHECK(name != "__metadata__", ValueError, kWriter, ": no tensor can have the name \"__metadata__\"");
    order.emplace_back(name, writable(kWriter, name, tensor));
  }
  // As the reference writer does it: wide elements first, so that all are aligned.
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return size_of(a.second.dtype()) > size_of(b.second.dtype()); });
  for (const auto& [key, text] : options.metadata) {
    CAPSTAN_CHECK(utf8::is_valid(key) && utf8::is_valid(text), ValueError, kWriter, ": the metadata ", in_quotes(key),
                  ": ", in_quotes(text), " is no UTF-8");
  }
  TensorList list;
  list.metadata = options.metadata;
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : order) {
    list.tensors.push_back(listed_at(name, tensor, end));
    end = list.tensors.back().end;
  }
  std::string header = tensor_list_text(list);
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = header.size();
  CAPSTAN_CHECK(length <= kLongestHeader, ValueError, kWriter, ": the list of ", tensors.size(), " tensors takes ",
                length, " bytes, and may take ", kLongestHeader);
  std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span(&length, 1)),
                                                    std::as_bytes(std::span(header))};
  for (const auto& [name, tensor] : order) pieces.push_back(bytes_of(tensor));
  write_file(kWriter, path, pieces);
}

}  // namespace capstan::io
