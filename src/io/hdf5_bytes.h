// Numbers and checksums of HDF5 files.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "src/io/byte_source.h"

namespace capstan::io::hdf5 {

/// An address that is none.
inline constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

/// Little-endian numbers from a part of a file; what would be beyond its end is an error.
class Reader {
 public:
  Reader(const ByteSource& source, std::string_view bytes) : source_(&source), bytes_(bytes) {}

  std::uint64_t number(std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, take(size).data(), size);
    return value;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) source_->fail("a structure is cut off", kFetchAgain);
    const std::string_view taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
  }
  void skip(std::uint64_t size) { take(size); }
  std::size_t left() const { return bytes_.size() - at_; }
  std::size_t at() const { return at_; }
  void expect(std::string_view signature, const char* what) {
    if (left() < signature.size() || take(signature.size()) != signature) {
      source_->fail(std::string(what) + " does not begin with " + quoted(signature), kFetchAgain);
    }
  }

 private:
  const ByteSource* source_;
  std::string_view bytes_;
  std::size_t at_ = 0;
};

/// Bob Jenkins's lookup3, the checksum of metadata.
std::uint32_t metadata_checksum(std::string_view bytes);

/// Fletcher's checksum as the filter for chunks has it.
std::uint32_t fletcher32(std::string_view bytes);

}  // namespace capstan::io::hdf5
