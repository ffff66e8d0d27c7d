#include "src/io/idx.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace capstan::io {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are swapped from big-endian");

// What a code stands for: the type that the array has, and the size of an element in the file.
struct IdxType {
  ElementType type;
  size_t size;
};

IdxType type_of(const ByteSource& source, uint8_t code) {
  switch (code) {
    case 0x08:
      return {ElementType::kUint8, 1};
    // Tensors have no narrow integers with a sign: these become int32, as those of .npy files do.
    case 0x09:
      return {ElementType::kInt32, 1};
    case 0x0b:
      return {ElementType::kInt32, 2};
    case 0x0c:
      return {ElementType::kInt32, 4};
    case 0x0d:
      return {ElementType::kFloat32, 4};
    case 0x0e:
      return {ElementType::kFloat64, 8};
    default:
      source.fail("element code " + std::to_string(code) +
                  " is not supported, expected 8 (uint8), 9 (int8), 11 (int16), 12 (int32), 13 (float32) or 14 "
                  "(float64)");
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

template <class Stored>
std::vector<std::byte> widened(const std::vector<std::byte>& data) {
  std::vector<std::byte> wide(data.size() / sizeof(Stored) * sizeof(int32_t));
  for (size_t i = 0; i < data.size() / sizeof(Stored); ++i) {
    Stored stored;
    std::memcpy(&stored, &data[i * sizeof(Stored)], sizeof(Stored));
    const int32_t value = stored;
    std::memcpy(&wide[i * sizeof value], &value, sizeof value);
  }
  return wide;
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
  const IdxType type = type_of(source, std::to_integer<uint8_t>(magic[2]));
  array.type = type.type;
  const auto rank = std::to_integer<size_t>(magic[3]);
  if (rank == 0 || rank > kMaxRank) {
    source.fail("rank " + std::to_string(rank) + " is not supported, expected 1 to " + std::to_string(kMaxRank));
  }

  const std::vector<std::byte> sizes = read_exactly(source, 4 * rank, "list of sizes");
  for (size_t axis = 0; axis < rank; ++axis) array.shape.push_back(big_endian_size(&sizes[4 * axis]));
  const auto count = checked_count(array.shape);
  if (!count || static_cast<uint64_t>(*count) > source.most_bytes() / type.size) {
    source.fail("the header announces " + array.description() + ", but the file cannot hold more than " +
                    std::to_string(source.most_bytes()) + " bytes",
                kFetchAgain);
  }
  array.data = read_exactly(source, static_cast<uint64_t>(*count) * type.size, "data");
  expect_end(source);
  swap_bytes(array.data, type.size);
  if (type.size == element_size(array.type)) return array;
  array.data = type.size == 1 ? widened<int8_t>(array.data) : widened<int16_t>(array.data);
  return array;
}

}  // namespace capstan::io
