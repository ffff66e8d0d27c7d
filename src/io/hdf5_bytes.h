// Numbers and checksums of HDF5 files.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/io/byte_source.h"

namespace capstan::io::hdf5 {

/// An address that is none.
inline constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

/// The bytes of a file, which come from it when they are looked at: weights are read to where they stay, and so only
/// the little that describes them is read here. Or bytes that are there already.
class Content {
 public:
  explicit Content(std::string_view bytes) : bytes_(bytes) {}
  /// `memory` is as long as the file; `source` can read at any place.
  Content(ByteSource& source, std::span<std::byte> memory);

  /// Not all of them need to be there yet.
  std::string_view bytes() const { return bytes_; }
  /// Makes these bytes be there, which are some of bytes(). Throws IoError if the file is shorter by now.
  void need(std::string_view part) const {
    if (source_ != nullptr) load(part);
  }
  /// The file, if not all bytes are there.
  ByteSource* source() const { return source_; }

 private:
  void load(std::string_view part) const;

  std::string_view bytes_;
  ByteSource* source_ = nullptr;
  std::byte* memory_ = nullptr;
  mutable std::vector<bool> is_there_;  // by pages
};

/// Little-endian numbers from a part of a file; what would be beyond its end is an error.
class Reader {
 public:
  /// Bytes that are there, or with `content` some of its bytes.
  Reader(const ByteSource& source, std::string_view bytes, const Content* content = nullptr)
      : source_(&source), bytes_(bytes), content_(content) {}

  std::uint64_t number(std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, take(size).data(), size);
    return value;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) source_->fail("a structure is cut off", kFetchAgain);
    const std::string_view taken = bytes_.substr(at_, size);
    if (content_ != nullptr) content_->need(taken);
    at_ += size;
    return taken;
  }
  void skip(std::uint64_t size) { take(size); }
  std::size_t left() const { return bytes_.size() - at_; }
  std::size_t at() const { return at_; }
  void expect(std::string_view signature, const char* what) {
    if (left() < signature.size() || take(signature.size()) != signature) {
      source_->fail(std::string(what) + " does not begin with " + in_quotes(signature), kFetchAgain);
    }
  }
  /// The checksum of all that has been read is next.
  void check_sum();

 private:
  const ByteSource* source_;
  std::string_view bytes_;
  const Content* content_;
  std::size_t at_ = 0;
};

/// Bob Jenkins's lookup3, the checksum of metadata.
std::uint32_t metadata_checksum(std::string_view bytes);

/// Fletcher's checksum as the filter for chunks has it.
std::uint32_t fletcher32(std::string_view bytes);

}  // namespace capstan::io::hdf5
