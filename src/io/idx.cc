#include "src/io/idx.h"

#include <algorithm>
#include <bit>

namespace capstan::io {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are swapped from big-endian");

ElementType element_type(const ByteSource& source, uint8_t code) {
  switch (code) {
    case 0x08:
      return ElementType::kUint8;
    case 0x0c:
      return ElementType::kInt32;
    case 0x0d:
      return ElementType::kFloat32;
    case 0x0e:
      return ElementType::kFloat64;
    default:
      source.fail("element code " + std::to_string(code) +
                  " is not supported, expected 8 (uint8), 12 (int32), 13 (float32) or 14 (float64)");
  }
}

int64_t big_endian_size(const std::byte* bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<uint32_t>(bytes[i]);
  return value;
}

void swap_bytes(std::vector<std::byte>& data, size_t size) {
  if (size == 1) return;
  for (size_t at = 0; at + size <= data.size(); at += size) {
    std::reverse(data.begin() + at, data.begin() + at + size);
  }
}

}  // namespace

RawArray read_idx(const std::string& path) { return read_idx(*open_file("load_idx", path)); }

RawArray read_idx(ByteSource& source) {
  const std::vector<std::byte> magic = read_exactly(source, 4, "magic number");
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0}) {
    source.fail("an IDX file begins with two zero bytes, this one with " +
                    std::to_string(std::to_integer<int>(magic[0])) + " and " +
                    std::to_string(std::to_integer<int>(magic[1])),
                "give the path of an IDX file such as train-images-idx3-ubyte, plain or gzipped");
  }
  RawArray array;
  array.type = element_type(source, std::to_integer<uint8_t>(magic[2]));
  const auto rank = std::to_integer<size_t>(magic[3]);
  if (rank == 0 || rank > kMaxRank) {
    source.fail("rank " + std::to_string(rank) + " is not supported, expected 1 to " + std::to_string(kMaxRank));
  }

  const std::vector<std::byte> sizes = read_exactly(source, 4 * rank, "list of sizes");
  for (size_t axis = 0; axis < rank; ++axis) array.shape.push_back(big_endian_size(&sizes[4 * axis]));
  const auto count = checked_count(array.shape);
  const size_t size = element_size(array.type);
  if (!count || static_cast<uint64_t>(*count) > source.most_bytes() / size) {
    source.fail("the header announces " + array.description() + ", but the file cannot hold more than " +
                    std::to_string(source.most_bytes()) + " bytes",
                kFetchAgain);
  }
  array.data = read_exactly(source, static_cast<uint64_t>(*count) * size, "data");
  expect_end(source);
  swap_bytes(array.data, size);
  return array;
}

}  // namespace capstan::io
