// CRC-32C, the checksum of checkpoints and of records.
//
// The polynomial is Castagnoli's (0x1EDC6F41), bits reflected, with ones before and after: that of iSCSI, ext4 and
// TensorFlow's files. It is not zlib's crc32, which has another polynomial. Processors with SSE4.2 have an instruction
// for it; others use tables for eight bytes at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace capstan::io {

/// The checksum of `size` bytes. `start` is that of the bytes before them, so that a sum can be made in parts:
/// `crc32c(b, n, crc32c(a, m))` is the sum of a and b.
std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t start = 0);

/// The same as TensorFlow stores it: rotated, and a constant added, since the sum of bytes that end with their own sum
/// does not depend on them.
std::uint32_t masked_crc32c(const void* data, std::size_t size);

/// A sum in this form.
constexpr std::uint32_t mask_crc32c(std::uint32_t sum) { return ((sum >> 15) | (sum << 17)) + 0xa282ead8U; }

/// The sum without the instruction, which tests compare.
std::uint32_t portable_crc32c(const void* data, std::size_t size, std::uint32_t start = 0);

}  // namespace capstan::io
