#include "src/io/tensor_bundle.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>

#include "capstan/error.h"
#include "src/io/crc32c.h"
#include "src/io/file_sink.h"
#include "src/io/raw_array.h"
#include "src/io/table_file.h"
#include "src/io/tensor_list.h"
#include "src/io/wire.h"

namespace capstan::io {
namespace {

using wire::Field;
using wire::Message;

// Numbers of TensorFlow's DataType, and the names of tensor_list.h.
struct BundleType {
  std::uint64_t number;
  std::string_view name;
  std::uint64_t size;
};
constexpr std::uint64_t kText = 7;
constexpr BundleType kTypes[] = {{1, "F32", 4},  {2, "F64", 8},    {3, "I32", 4},  {4, "U8", 1},    {5, "I16", 2},
                                 {6, "I8", 1},   {8, "C64", 8},    {9, "I64", 8},  {10, "BOOL", 1}, {14, "BF16", 2},
                                 {17, "U16", 2}, {18, "C128", 16}, {19, "F16", 2}, {22, "U32", 4},  {23, "U64", 8}};

// BundleEntryProto.
struct Entry {
  std::string key;
  std::uint64_t type = 0;
  std::vector<std::int64_t> shape;
  std::uint64_t shard = 0, offset = 0, size = 0;
  std::uint32_t checksum = 0;
};

std::string data_path(const std::string& prefix, std::uint64_t shard, std::uint64_t shards) {
  char ending[64];
  std::snprintf(ending, sizeof ending, ".data-%05llu-of-%05llu", static_cast<unsigned long long>(shard),
                static_cast<unsigned long long>(shards));
  return prefix + ending;
}

// The checksum of lengths of texts with one more: short ones count with four bytes, long ones with eight.
std::uint32_t with_length(std::uint32_t sum, std::uint64_t length) {
  const auto four = static_cast<std::uint32_t>(length);
  return length == four ? crc32c(&four, sizeof four, sum) : crc32c(&length, sizeof length, sum);
}

class BundleReader {
 public:
  BundleReader(const std::string& reader, const std::string& prefix)
      : reader_(reader), prefix_(prefix), index_(open_plain_file(reader, prefix + ".index")) {}

  TensorBundle read() {
    const std::vector<std::byte> bytes = read_exactly(*index_, index_->most_bytes(), "index");
    std::map<std::string, std::string> table =
        parse_table(*index_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    const auto header = table.find("");
    if (header == table.end()) index_->fail("the index has no header");
    read_header(header->second);
    table.erase(header);
    std::vector<Entry> entries;
    for (const auto& [key, message] : table) entries.push_back(entry(key, message));
    // In the order in which they lie in the files.
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tuple(a.shard, a.offset, a.size) < std::tuple(b.shard, b.offset, b.size);
    });
    for (auto first = entries.begin(); first != entries.end();) {
      const auto end = std::find_if(first, entries.end(), [&](const Entry& one) { return one.shard != first->shard; });
      read_shard({first, end});
      first = end;
    }
    return std::move(bundle_);
  }

 private:
  // BundleHeaderProto: num_shards, endianness, version {producer, min_consumer, ...}.
  void read_header(const std::string& bytes) {
    Message message(reader_, index_->name(), bytes);
    while (const std::optional<Field> field = message.next()) {
      if (field->number == 1) {
        shards_ = number(message, *field);
      } else if (field->number == 2 && number(message, *field) != 0) {
        index_->fail("the checkpoint is big-endian", "write it on a little-endian machine");
      } else if (field->number == 3) {
        Message version = message.inside(*field);
        while (const std::optional<Field> part = version.next()) {
          if (part->number == 2 && number(version, *part) > 1) {
            index_->fail("readers have to be of version " + std::to_string(part->value) + "; this is one of version 1");
          }
        }
      }
    }
    if (shards_ > 99999) index_->fail("the checkpoint would have " + std::to_string(shards_) + " files");
  }

  static std::uint64_t number(const Message& message, const Field& field) {
    message.expect(field, wire::Kind::kVarint);
    return field.value;
  }

  Entry entry(const std::string& key, const std::string& bytes) const {
    Message message(reader_, index_->name(), bytes);
    Entry result{.key = key};
    while (const std::optional<Field> field = message.next()) {
      switch (field->number) {
        case 1:
          result.type = number(message, *field);
          break;
        case 2:
          result.shape = shape(message.inside(*field), key);
          break;
        case 3:
          result.shard = number(message, *field);
          break;
        case 4:
          result.offset = number(message, *field);
          break;
        case 5:
          result.size = number(message, *field);
          break;
        case 6:
          message.expect(*field, wire::Kind::kFixed32);
          result.checksum = static_cast<std::uint32_t>(field->value);
          break;
        case 7:
          index_->fail("tensor " + in_quotes(key) + " is stored in slices, which is not supported");
        default:
          break;
      }
    }
    if (result.shard >= shards_) {
      index_->fail("tensor " + in_quotes(key) + " would lie in file " + std::to_string(result.shard) + " of " +
                   std::to_string(shards_));
    }
    return result;
  }

  std::vector<std::int64_t> shape(Message message, const std::string& key) const {
    std::vector<std::int64_t> lengths;
    while (const std::optional<Field> field = message.next()) {
      if (field->number != 2) continue;
      if (lengths.size() == kMaxRank) index_->fail("tensor " + in_quotes(key) + " has more than 8 axes");
      Message dim = message.inside(*field);
      lengths.push_back(0);
      while (const std::optional<Field> part = dim.next()) {
        if (part->number == 1) lengths.back() = static_cast<std::int64_t>(number(dim, *part));
      }
    }
    return lengths;
  }

  void read_shard(std::span<const Entry> entries) {
    const std::unique_ptr<ByteSource> source =
        open_plain_file(reader_, data_path(prefix_, entries.front().shard, shards_));
    std::uint64_t at = 0;
    for (const Entry& one : entries) {
      // Tensors without elements may be anywhere.
      if (one.size > 0 && one.offset < at) {
        source->fail("tensor " + in_quotes(one.key) + " begins at byte " + std::to_string(one.offset) +
                         ", where the one before it ends at " + std::to_string(at),
                     kFetchAgain);
      }
      if (one.offset > source->most_bytes() || one.size > source->most_bytes() - one.offset) {
        source->fail("tensor " + in_quotes(one.key) + " would end beyond the " + std::to_string(source->most_bytes()) +
                         " bytes of the file",
                     kFetchAgain);
      }
      if (one.size > 0) {
        skip(*source, one.offset - at);
        at = one.offset + one.size;
      }
      if (one.type == kText) {
        read_texts(*source, one);
      } else {
        read_tensor(*source, one);
      }
    }
  }

  static void skip(ByteSource& source, std::uint64_t bytes) {
    std::array<std::byte, 4096> buffer;
    while (bytes > 0) {
      const std::size_t part = std::min<std::uint64_t>(bytes, buffer.size());
      read_into(source, std::span(buffer).first(part), "elements");
      bytes -= part;
    }
  }

  void read_tensor(ByteSource& source, const Entry& one) {
    const auto* const type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                          [&](const BundleType& known) { return known.number == one.type; });
    if (type == std::end(kTypes)) {
      index_->fail("tensor " + in_quotes(one.key) + " has a type that is not known, number " +
                   std::to_string(one.type));
    }
    const ListedTensor listed{one.key, std::string(type->name), one.shape, 0, one.size, {}};
    check_listed(source, listed);
    const std::vector<std::byte> bytes = read_exactly(source, one.size, "elements");
    check_sum(source, one, mask_crc32c(crc32c(bytes.data(), bytes.size())));
    const std::unique_ptr<ByteSource> elements = open_memory(reader_, source.name(), bytes);
    bundle_.tensors.emplace(one.key, read_listed(*elements, listed));
  }

  // The lengths of the texts, their checksum, and the texts.
  void read_texts(ByteSource& source, const Entry& one) {
    const std::vector<std::byte> bytes = read_exactly(source, one.size, "texts");
    const std::optional<std::int64_t> count = checked_count(one.shape);
    if (!count || static_cast<std::uint64_t>(*count) > one.size) {
      source.fail("tensor " + in_quotes(one.key) + " has more texts than bytes");
    }
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    Message message(reader_, source.name(), all);
    std::vector<std::uint64_t> lengths;
    std::uint32_t sum = 0;
    std::uint64_t behind = 4;
    for (std::int64_t i = 0; i < *count; ++i) {
      const std::optional<std::uint64_t> length = message.next_varint();
      if (!length || *length > one.size || behind + *length > one.size) {
        source.fail("the texts of " + in_quotes(one.key) + " are cut off", kFetchAgain);
      }
      sum = with_length(sum, *length);
      behind += *length;
      lengths.push_back(*length);
    }
    const std::string_view rest = all.substr(all.size() - behind);
    std::uint32_t stored = 0;
    std::memcpy(&stored, rest.data(), sizeof stored);
    if (stored != mask_crc32c(sum)) source.fail("the checksum of the lengths of " + in_quotes(one.key) + " differs");
    check_sum(source, one, mask_crc32c(crc32c(rest.data(), rest.size(), sum)));
    std::size_t at = 4;
    std::vector<std::string>& texts = bundle_.texts[one.key];
    for (const std::uint64_t length : lengths) {
      texts.emplace_back(rest.substr(at, length));
      at += length;
    }
  }

  static void check_sum(const ByteSource& source, const Entry& one, std::uint32_t sum) {
    if (sum != one.checksum) source.fail("the checksum of tensor " + in_quotes(one.key) + " differs", kFetchAgain);
  }

  const std::string& reader_;
  const std::string& prefix_;
  std::unique_ptr<ByteSource> index_;
  std::uint64_t shards_ = 0;
  TensorBundle bundle_;
};

std::string shape_message(const std::vector<std::int64_t>& shape) {
  wire::Writer message;
  for (const std::int64_t length : shape) {
    wire::Writer dim;
    dim.varint(1, static_cast<std::uint64_t>(length));
    message.bytes(2, dim.text());
  }
  return message.take();
}

std::string entry_message(std::uint64_t type, const std::vector<std::int64_t>& shape, std::uint64_t offset,
                          std::uint64_t size, std::uint32_t checksum) {
  wire::Writer message;
  message.varint(1, type);
  message.bytes(2, shape_message(shape));
  if (offset != 0) message.varint(4, offset);
  message.varint(5, size);
  message.fixed32(6, checksum);
  return message.take();
}

// The bytes of texts, and the checksum that their entry has.
std::pair<std::string, std::uint32_t> text_bytes(const std::vector<std::string>& texts) {
  std::string bytes;
  std::uint32_t sum = 0;
  for (const std::string& text : texts) {
    wire::append_varint(bytes, text.size());
    sum = with_length(sum, text.size());
  }
  const std::uint32_t masked = mask_crc32c(sum);
  std::string rest(reinterpret_cast<const char*>(&masked), sizeof masked);
  for (const std::string& text : texts) rest += text;
  return {bytes + rest, mask_crc32c(crc32c(rest.data(), rest.size(), sum))};
}

}  // namespace

TensorBundle read_tensor_bundle(const std::string& reader, const std::string& prefix) {
  return BundleReader(reader, prefix).read();
}

void write_tensor_bundle(const std::string& writer, const std::string& prefix, const TensorBundle& bundle) {
  std::map<std::string, std::string> table;
  wire::Writer header, version;
  header.varint(1, 1);
  version.varint(1, 1);
  header.bytes(3, version.text());
  table[""] = header.take();

  std::vector<Tensor> tensors;        // whose elements are pieces
  std::vector<std::string> contents;  // the same for texts
  std::vector<std::span<const std::byte>> pieces;
  tensors.reserve(bundle.tensors.size());
  contents.reserve(bundle.texts.size());
  std::uint64_t offset = 0;
  const auto add = [&](const std::string& key, std::uint64_t type, const std::vector<std::int64_t>& shape,
                       std::span<const std::byte> bytes, std::uint32_t checksum) {
    table[key] = entry_message(type, shape, offset, bytes.size(), checksum);
    pieces.push_back(bytes);
    offset += bytes.size();
  };
  for (const auto& [key, tensor] : bundle.tensors) {
    tensors.push_back(writable(writer.c_str(), key, tensor));
    const ListedTensor listed = listed_at(key, tensors.back(), 0);
    const auto* const type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                          [&](const BundleType& known) { return known.name == listed.dtype; });
    const std::span<const std::byte> bytes = bytes_of(tensors.back());
    add(key, type->number, listed.shape, bytes, mask_crc32c(crc32c(bytes.data(), bytes.size())));
  }
  for (const auto& [key, texts] : bundle.texts) {
    auto [bytes, checksum] = text_bytes(texts);
    contents.push_back(std::move(bytes));
    const std::vector<std::int64_t> shape =
        texts.size() == 1 ? std::vector<std::int64_t>() : std::vector{static_cast<std::int64_t>(texts.size())};
    add(key, kText, shape, std::as_bytes(std::span(contents.back())), checksum);
  }
  write_file_durably(writer, data_path(prefix, 0, 1), pieces);
  const std::string index = table_bytes(table);
  const std::span<const std::byte> index_bytes = std::as_bytes(std::span(index));
  write_file_durably(writer, prefix + ".index", std::span(&index_bytes, 1));
}

}  // namespace capstan::io
