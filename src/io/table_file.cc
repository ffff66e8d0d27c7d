#include "src/io/table_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "src/io/crc32c.h"
#include "src/io/wire.h"

namespace capstan::io {
namespace {

using wire::append_varint;

constexpr std::uint64_t kTableMagic = 0xdb4775248b80fb57;
constexpr std::size_t kFooterBytes = 48, kTrailerBytes = 5;
constexpr std::size_t kBlockBytes = 1 << 18;  // after so many a writer begins another block
constexpr int kRestartInterval = 16;

template <class T>
T little_endian(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}
template <class T>
void append_little_endian(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Takes a number of seven bits a byte off the front of `bytes`; nothing if there is none.
std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if (byte < 0x80) return value;
  }
  return {};
}

// Where a block lies, without its trailer.
struct Place {
  std::uint64_t offset, size;
};

class TableReader {
 public:
  TableReader(const ByteSource& source, std::string_view bytes) : source_(source), bytes_(bytes) {}

  std::map<std::string, std::string> read() {
    if (bytes_.size() < kFooterBytes)
      fail("the index has " + std::to_string(bytes_.size()) + " bytes, expected 48 or more");
    std::string_view footer = bytes_.substr(bytes_.size() - kFooterBytes);
    if (little_endian<std::uint64_t>(footer.substr(40)) != kTableMagic) {
      fail("the index does not end with the magic number of a table");
    }
    place(footer, "the block of nothing");
    const Place index = place(footer, "the list of blocks");
    std::map<std::string, std::string> blocks, entries;
    read_block(index, blocks);
    std::uint64_t end = 0;
    for (const auto& [last_key, where] : blocks) {
      std::string_view rest = where;
      const Place block = place(rest, "a block");
      // Blocks follow each other, so that none is read twice.
      if (block.offset < end) fail("two blocks lie over each other");
      end = block.offset + block.size;
      read_block(block, entries);
    }
    return entries;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { source_.fail(problem, kFetchAgain); }

  Place place(std::string_view& bytes, const char* what) const {
    const std::optional<std::uint64_t> offset = take_varint(bytes);
    const std::optional<std::uint64_t> size = offset ? take_varint(bytes) : std::nullopt;
    if (!size) fail(std::string("the place of ") + what + " is cut off");
    const std::uint64_t most = bytes_.size() - kFooterBytes;
    if (*offset > most || *size > most - *offset || most - *offset - *size < kTrailerBytes) {
      fail(std::string(what) + " would lie beyond the end of the index");
    }
    return {*offset, *size};
  }

  // Adds the entries of a block, whose keys have to be greater than those that are there.
  void read_block(const Place& block, std::map<std::string, std::string>& entries) const {
    const std::string_view all = bytes_.substr(block.offset, block.size + kTrailerBytes);
    if (masked_crc32c(all.data(), block.size + 1) != little_endian<std::uint32_t>(all.substr(block.size + 1))) {
      fail("the checksum of the block at byte " + std::to_string(block.offset) + " differs");
    }
    if (all[block.size] != 0) fail("the block at byte " + std::to_string(block.offset) + " is compressed");
    if (block.size < 4) fail("a block is shorter than 4 bytes");
    const auto restarts = little_endian<std::uint32_t>(all.substr(block.size - 4));
    if (restarts > (block.size - 4) / 4) fail("a block says that it has " + std::to_string(restarts) + " whole keys");
    std::string_view rest = all.substr(0, block.size - 4 - 4 * std::uint64_t{restarts});
    std::string key;
    while (!rest.empty()) {
      const std::optional<std::uint64_t> shared = take_varint(rest);
      const std::optional<std::uint64_t> unshared = shared ? take_varint(rest) : std::nullopt;
      const std::optional<std::uint64_t> size = unshared ? take_varint(rest) : std::nullopt;
      if (!size || *shared > key.size() || *unshared > rest.size() || *size > rest.size() - *unshared) {
        fail("an entry of the block at byte " + std::to_string(block.offset) + " is cut off");
      }
      check_memory(*shared + *unshared + *size);
      key.resize(*shared);
      key.append(rest.substr(0, *unshared));
      if (!entries.empty() && key <= entries.rbegin()->first) {
        fail("the key " + in_quotes(key) + " stands behind " + in_quotes(entries.rbegin()->first));
      }
      entries.emplace_hint(entries.end(), key, rest.substr(*unshared, *size));
      rest.remove_prefix(*unshared + *size);
    }
  }

  // Keys that share much could take much more memory than the file.
  void check_memory(std::uint64_t bytes) const {
    taken_ += bytes;
    if (taken_ > 2 * bytes_.size() + (32 << 20))
      fail("the keys take more memory than a table of this size can ask for");
  }

  const ByteSource& source_;
  std::string_view bytes_;
  mutable std::uint64_t taken_ = 0;
};

class BlockWriter {
 public:
  void add(std::string_view key, std::string_view value) {
    std::size_t shared = 0;
    if (count_++ % kRestartInterval == 0) {
      restarts_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    } else {
      const auto [end, other] = std::mismatch(key.begin(), key.end(), last_.begin(), last_.end());
      shared = static_cast<std::size_t>(end - key.begin());
    }
    append_varint(bytes_, shared);
    append_varint(bytes_, key.size() - shared);
    append_varint(bytes_, value.size());
    bytes_.append(key.substr(shared)).append(value);
    last_ = key;
  }
  std::size_t size() const { return bytes_.size(); }
  const std::string& last_key() const { return last_; }

  // Puts the block after `file` and begins another one. The place is as an entry of the list of blocks has it.
  std::string finish(std::string& file) {
    if (restarts_.empty()) restarts_.push_back(0);
    for (const std::uint32_t restart : restarts_) append_little_endian(bytes_, restart);
    append_little_endian(bytes_, static_cast<std::uint32_t>(restarts_.size()));
    std::string place;
    append_varint(place, file.size());
    append_varint(place, bytes_.size());
    bytes_ += '\0';  // not compressed
    append_little_endian(bytes_, masked_crc32c(bytes_.data(), bytes_.size()));
    file += bytes_;
    *this = {};
    return place;
  }

 private:
  std::string bytes_ = {}, last_ = {};
  std::vector<std::uint32_t> restarts_ = {};
  int count_ = 0;
};

}  // namespace

std::map<std::string, std::string> parse_table(const ByteSource& source, std::string_view bytes) {
  return TableReader(source, bytes).read();
}

std::string table_bytes(const std::map<std::string, std::string>& entries) {
  std::string file;
  BlockWriter block, list;
  const auto finish_block = [&] {
    const std::string key = block.last_key();
    list.add(key, block.finish(file));
  };
  for (const auto& [key, value] : entries) {
    if (block.size() >= kBlockBytes) finish_block();
    block.add(key, value);
  }
  if (!entries.empty()) finish_block();
  std::string footer = BlockWriter().finish(file);
  footer += list.finish(file);
  footer.resize(kFooterBytes - sizeof kTableMagic, '\0');
  append_little_endian(footer, kTableMagic);
  return file + footer;
}

}  // namespace capstan::io
